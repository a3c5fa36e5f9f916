"""Wishes about photographs: `{"focus": "place", "near": "Lisbon"}`, or `place=Lisbon` on the command line."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

import mascot as mc
from mascot import grammar
from mascot.attributes.attribute import Missing
from mascot.attributes.place import NamedPoint
from mascot.errors import OptionError, require
from mascot.photos.database.store import Store
from mascot.photos.files.texts import fold, require_text
from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.metadata.moments import PARTS_OF_DAY, SEASONS
from mascot.photos.metadata.sun import LIGHTS
from mascot.photos.photo import CALENDAR, NUMBERS
from mascot.photos.sentences.dates import date_at
from mascot.photos.sentences.sentence_parser import LETTERS, PLURALS
from mascot.photos.sentences.vocabulary import Vocabulary
from mascot.removed import instead
from mascot.wishes import AnyWish

_TIMES: dict[str, Callable[..., Any]] = {"hour": mc.HourOfDay, "date": mc.Date, "weekday": mc.Weekday}
NAMES = ("place", "city", "country", *_TIMES, *CALENDAR, "season", "part_of_day", "light", "moment", "camera", "lens",
         "folder", "look", "keywords", "title", "rating", "altitude", "width", "height", "size")  # fmt: skip
_MAX_LABELS = 8  # labels in a message
_TWELVE_HOURS = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?\s?m\.?", re.IGNORECASE)


def middle(points: Iterable[tuple[Any, float, float]]) -> tuple[float, float] | None:
    """Return the middle on the globe of points (country, latitude, longitude) in the country with the most points.

    There is a Cambridge in England and one in Massachusetts, and their middle is in the ocean.
    """
    countries: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for country, lat, lon in points:
        countries[country].append((lat, lon))
    if not countries:
        return None
    lats, lons = np.radians(max(countries.values(), key=len)).T
    # On the sphere: the middle of 179° and -179° is not 0°.
    east, north, up = ((np.cos(lats) * np.cos(lons)).mean(), (np.cos(lats) * np.sin(lons)).mean(), np.sin(lats).mean())
    return float(np.degrees(np.arctan2(up, np.hypot(east, north)))), float(np.degrees(np.arctan2(north, east)))


class StoredRows:
    """The photographs of a library, in which the values of wishes are looked up."""

    def __init__(self, store: Store) -> None:
        self._run = store.connection.execute

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        """Return the middle, as latitude and longitude, of the photographs of a city or country; see `middle`."""
        condition, names = self.condition_of(column, value)
        return middle(self._run(f"SELECT country, lat, lon FROM photos WHERE {condition} ORDER BY id", names))

    def condition_of(self, column: str, value: str) -> tuple[str, list[str]]:
        """Return the SQL condition, with its values, that a photograph has a place in this city or country."""
        # Compared with the distinct labels: calling a Python function for every row is slow.
        names = [label for label in self.labels(column) if fold(label) == fold(value)]
        return f"{column} IN ({', '.join('?' * len(names))}) AND lat IS NOT NULL", names

    def labels(self, column: str) -> list[Any]:
        """Return the distinct labels of a column."""
        if column == "light":
            return list(LIGHTS)
        if column == "keywords":
            query = "SELECT DISTINCT value FROM photos, json_each(keywords) WHERE value IS NOT NULL"
        elif column in CALENDAR:
            query = f"SELECT DISTINCT substr(taken, 1, {CALENDAR[column]}) FROM photos WHERE taken IS NOT NULL"
        else:
            query = f"SELECT DISTINCT {column} FROM photos WHERE {column} IS NOT NULL"
        return [row[0] for row in self._run(query)]


def attribute(name: str, missing: Missing = "last") -> Any:
    """Return the attribute of a name, one of `NAMES`."""
    if name not in NAMES:
        raise OptionError(f"photographs have no attribute {name!r}; attributes are {', '.join(NAMES)}{instead(name)}")
    if name == "look":
        return mc.Vectors("look", missing=missing, name="look")
    if name == "place":
        return mc.Place(missing=missing)
    if name in _TIMES:
        return _TIMES[name]("taken", missing=missing)
    return (mc.Number if name in NUMBERS else mc.Category)(name, missing=missing)


class PhotoResolver:
    """Resolves the names and values in wishes about photographs; see `mascot.grammar.Resolver`."""

    def __init__(self, rows: StoredRows) -> None:
        self._rows = rows

    def attribute(self, name: str, near: Any, missing: Missing) -> Any:
        if name == "season" and near is not None and str(near).casefold() not in SEASONS:
            return mc.DayOfYear("taken", missing=missing)  # near a month or a day
        return attribute(name, missing)

    def near(self, name: str, attribute: Any, text: str) -> Any:
        require_text(text, name)
        if isinstance(attribute, mc.Category):
            return _label(name, text, self._rows)
        if name == "place" and not _is_point(text):
            return _point(text, self._rows)
        if name == "date" and re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return f"{_value(name, text)}T12:00"  # noon: midnight is as near to the evening before
        if name == "date" and (day := _middle_day(text)) is not None:
            return f"{day}T12:00"
        return _value("number" if name in NUMBERS else name, text)

    def counted(self, name: str) -> Any:
        if name == "place":
            raise OptionError("place has no values that could be counted: write city or country")
        return mc.Category(name) if name in NUMBERS else attribute(name)

    def label(self, name: str, attribute: Any, text: str) -> str:
        require_text(text, name)
        if isinstance(attribute, mc.Category):
            return str(self.label_of(name, text))
        if name == "hour":
            return grammar.clock_hour(_value("hour", text))
        return str(_value("weekday", text)).capitalize() if name == "weekday" else text

    def label_of(self, column: str, value: str) -> Any:
        """Return the label in the library that a value means; the value itself if no photograph has it."""
        label = _find_label(column, value, sorted(self._rows.labels(column), key=_numbers_first))
        return value if label is None else label


def parse(kind: str, text: str, fill: bool = False, count_missing: bool = False) -> dict[str, Any]:
    """Return a wish as typed on the command line in the form that requests have.

    >>> parse("focus", "hour=18~1")
    {'focus': 'hour', 'near': '18', 'within': 1.0}
    """
    if kind == "limit":
        name, parameters = grammar.split_limit(text, fill)
        return {"limit": name} | parameters | ({"missing": "value"} if count_missing else {})
    if kind == "share":
        name, parameters = grammar.split_share(text)
        return {"share": name} | parameters
    if kind == "at_least":
        name, counts, first = grammar.split_at_least(text)
        return {"at_least": name, "counts": counts} | ({} if first is None else {"first": first})
    name, near, weight = grammar.split(text)
    wish: dict[str, Any] = {kind: name}
    if near is not None:
        if kind == "spread":
            raise OptionError(f"--spread takes no value; use --focus {text.strip()}")
        within = None
        if name == "season" or not isinstance(attribute(name), mc.Category):  # a label may contain a tilde
            near, within = grammar.split_within(name, near)
        wish |= {"near": near} | ({} if within is None else {"within": within})
    return wish if weight == 1 else wish | {"weight": weight}


def wish_of(wish: Mapping[str, Any], resolver: PhotoResolver, missing: Missing = "last") -> AnyWish:
    """Return the wish that a request describes; names and values are looked up in the photographs.

    `{"spread": "place"}`, `{"focus": "hour", "near": "6pm", "within": 1}`, `{"limit": "day", "n": 2, "fill": True}`,
    `{"at_least": "country", "counts": {"Portugal": 3}}` or `{"share": "country", "shares": {"Portugal": 0.6}}`. If
    `missing` is "drop", limits too drop photographs without a value. Attributes may also be dictionaries as for
    `from_dict`.
    """
    require(isinstance(wish, Mapping), "a wish", 'must be a dictionary such as {"spread": "place"}', wish)
    parts = dict(wish)
    for kind in ("spread", "focus"):
        if isinstance(wish.get(kind), str):
            near = wish.get("near")
            parts[kind] = resolver.attribute(wish[kind], near, missing)
            if near is not None and (isinstance(near, str) or isinstance(parts[kind], mc.Category)):
                parts["near"] = resolver.near(wish[kind], parts[kind], str(near))
    for kind, numbers in (("limit", "n"), ("at_least", "counts"), ("share", "shares")):
        if isinstance(wish.get(kind), str):
            parts[kind] = grammar.counted(wish[kind], resolver)
            if numbers in wish:
                parts[numbers] = grammar.labelled(wish[kind], parts[kind], wish[numbers], resolver)
    if "limit" in wish and missing == "drop" and wish.get("missing", "ignore") == "ignore":
        parts["missing"] = "drop"
    result: AnyWish = mc.from_dict(parts)
    return result


def _value(kind: str, text: str) -> Any:
    """Return the value that a text means for a kind of attribute."""
    spelling = _on_24_hours(text) if kind == "hour" else text
    try:
        return grammar.near_value(kind, spelling)
    except ValueError as error:
        if kind == "season":
            rule = f"must be one of {', '.join(SEASONS)}, a month like july, or a day like 07-14"
            raise OptionError(f"season {rule}, got {text!r}") from None
        raise OptionError(f"{kind}={text}: {error}") from None


def _middle_day(text: str) -> date | None:
    """Return the day in the middle of those that words such as `summer 2019` name; None if they name no such days."""
    lexemes = Vocabulary().lexemes(text)
    span = date_at("".join(LETTERS[lexeme.role] for lexeme in lexemes), lexemes, 0, date.today())
    if span is None or span.first is None or span.last is None:
        return None
    if span.end < len(lexemes) or re.fullmatch(r"[\d-]+", text):
        return None
    if span.season is not None:  # its second month, of the year in which it begins
        return date(span.first.year, 4, 15) + timedelta(days=91 * SEASONS.index(span.season))
    return span.first + (span.last - span.first) / 2


def _on_24_hours(value: str) -> str:
    """Convert `6pm` to 18:00 and `6:30 a.m.` to 6:30; return other times unchanged."""
    clock = _TWELVE_HOURS.fullmatch(value)
    if clock and 1 <= int(clock[1]) <= 12:
        return f"{int(clock[1]) % 12 + (12 if clock[3] in 'pP' else 0)}:{clock[2] or '00'}"
    if not re.fullmatch(r"[\d.:]+", value):
        raise OptionError(f"hour must be like 18, 18:30 or 6pm, got {value!r}")
    return value


def place_meant(name: str, store: Store) -> str | None:
    """Return the place that a name means: `Cambridge, US`. None if it is obvious, or not a name.

    It is obvious if the library has photographs of only one city of that name.
    """
    if _is_point(name):
        return None
    condition, names = StoredRows(store).condition_of("city", name)
    query = f"SELECT city, country FROM photos WHERE {condition} GROUP BY country ORDER BY count(*) DESC, min(id)"
    cities = store.connection.execute(query, names).fetchall()
    if cities:
        return None if len(cities) == 1 else f"{cities[0][0]}, {cities[0][1]}"
    city = gazetteer().find(name)
    if city is not None:
        return f"{city.name}, {city.country}"
    return f"the middle of the photographs of {gazetteer().country_name(gazetteer().country(name) or name)}"


def _is_point(value: str) -> bool:
    return all(part.strip().replace(".", "", 1).lstrip("-+").isdigit() for part in value.split(",")) and "," in value


def _point(name: str, rows: StoredRows) -> NamedPoint:
    """Return the point of a city in the library, a city of the world, or a country in the library."""
    # Cities in the library come first: with photographs of Cambridge in Massachusetts, that one is meant.
    point = rows.middle("city", name)
    city = gazetteer().find(name) if point is None else None
    if city is not None:
        return NamedPoint(city.lat, city.lon, city.name)
    if point is None:
        code = gazetteer().country(name)
        point = None if code is None else rows.middle("country", code)
    if point is None:
        close = _close(name, sorted(rows.labels("city")))
        hint = (
            f"did you mean {_label_list(close)}?" if close else "write a city, 'city, country', or latitude,longitude"
        )
        raise OptionError(f"no place is called {name!r}: {hint}")
    return NamedPoint(*point, name)


def _label(name: str, value: str, rows: StoredRows) -> Any:
    """Return the label in the library that matches a value; raise `OptionError` if there is none."""
    labels = sorted(rows.labels(name), key=_numbers_first)
    label = _find_label(name, value, labels)
    if label is not None:
        return label
    close = _close(value, labels) if len(labels) > _MAX_LABELS else []
    advice = f"similar values: {_label_list(close)}" if close else f"values: {_label_list(labels) or 'none'}"
    raise OptionError(f"no photograph has {name} {value!r}; {advice}")


def _find_label(name: str, value: str, labels: list[Any]) -> Any:
    """Return the label that matches a value; None if there is none."""
    if name == "country":
        value = gazetteer().country(value) or value
    if name == "part_of_day" and value.casefold() not in PARTS_OF_DAY:
        raise OptionError(f"part_of_day must be one of {', '.join(PARTS_OF_DAY)}, got {value!r}")
    for label in (*(label for label in labels if str(label) == value), *labels):
        if fold(str(label)) == fold(value):
            return label
    if name == "city":
        city = gazetteer().find(value)
        if city is not None and city.name in labels:
            return city.name
    near = [label for label in labels if fold(value) in fold(str(label))]
    if len(near) > 1:
        raise OptionError(f"{value!r} matches several {PLURALS.get(name, f'{name}s')}: {_label_list(near)}")
    return near[0] if near else None


def _close(value: str, labels: list[Any]) -> list[Any]:
    """Return labels whose spelling, as a whole or in one word, is similar to a value, the most similar first."""
    labels_by_spelling: dict[str, list[Any]] = defaultdict(list)
    for label in labels:
        folded = fold(str(label))
        for part in {folded, *folded.split()}:
            labels_by_spelling[part].append(label)
    near = difflib.get_close_matches(fold(value), labels_by_spelling, _MAX_LABELS)
    return list(dict.fromkeys(label for part in near for label in labels_by_spelling[part]))


def _numbers_first(label: Any) -> tuple[bool, float, str]:
    return (False, label, "") if isinstance(label, (int, float)) else (True, 0, str(label))


def _label_list(labels: list[Any]) -> str:
    more = f" and {len(labels) - _MAX_LABELS} more" if len(labels) > _MAX_LABELS else ""
    return ", ".join(str(label) for label in labels[:_MAX_LABELS]) + more
