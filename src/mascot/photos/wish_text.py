"""Wishes about photographs: `{"focus": "place", "near": "Lisbon"}`, or `place=Lisbon` on the command line."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

import mascot as mc
from mascot import grammar
from mascot.attributes.attribute import Missing
from mascot.attributes.place import NamedPoint
from mascot.errors import OptionError, require
from mascot.photos.database.store import Store
from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.metadata.moments import PARTS_OF_DAY, SEASONS
from mascot.photos.photo import CALENDAR, NUMBERS
from mascot.photos.texts import fold, require_text

LOOKS = 12  # clusters of the visual descriptors
_TIMES: dict[str, Callable[..., Any]] = {"hour": mc.HourOfDay, "date": mc.Date, "weekday": mc.Weekday}
NAMES = ("place", "city", "country", *_TIMES, *CALENDAR, "season", "part_of_day", "moment", "camera", "lens", "folder",
         "look", "keywords", "title", "rating", "altitude", "width", "height", "size")  # fmt: skip
KINDS = {  # the fields of each kind of wish, after the name of the attribute
    "spread": ("weight",),
    "focus": ("near", "within", "weight"),
    "limit": ("n", "fill"),
    "share": ("shares",),
}
_PLURALS = {"city": "cities", "country": "countries", "keywords": "keywords", "lens": "lenses"}
_MAX_LABELS = 8  # labels in a message
_TWELVE_HOURS = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?\s?m\.?", re.IGNORECASE)


class Rows(Protocol):
    """Photographs in which the values of wishes are looked up."""

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        """Return the middle, as latitude and longitude, of the photographs of a city or country; see `middle`."""

    def labels(self, column: str) -> list[Any]:
        """Return the distinct labels of a column."""


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
    """The photographs of a library, as `Rows`."""

    def __init__(self, store: Store) -> None:
        self._run = store.connection.execute

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        condition, names = self.condition_of(column, value)
        return middle(self._run(f"SELECT country, lat, lon FROM photos WHERE {condition} ORDER BY id", names))

    def condition_of(self, column: str, value: str) -> tuple[str, list[str]]:
        """Return the SQL condition, with its values, that a photograph has a place in this city or country."""
        # Compared with the distinct labels: calling a Python function for every row is slow.
        names = [label for label in self.labels(column) if fold(label) == fold(value)]
        return f"{column} IN ({', '.join('?' * len(names))}) AND lat IS NOT NULL", names

    def label_of(self, column: str, value: str) -> Any:
        """Return the label that a value means; the value itself if no photograph has it."""
        return label_of(column, value, self)

    def labels(self, column: str) -> list[Any]:
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
        raise OptionError(f"photographs have no attribute {name!r}; attributes are {', '.join(NAMES)}")
    if name == "look":
        return mc.Clusters(LOOKS, column="look", missing=missing)
    if name == "place":
        return mc.Place(missing=missing)
    if name in _TIMES:
        return _TIMES[name]("taken", missing=missing)
    return (mc.Number if name in NUMBERS else mc.Category)(name, missing=missing)


def parse(kind: str, text: str, fill: bool = False) -> dict[str, Any]:
    """Return a wish as typed on the command line in the form that requests have.

    >>> parse("focus", "hour=18~1")
    {'focus': 'hour', 'near': '18', 'within': 1.0}
    """
    if kind == "limit":
        name, n = grammar.split_limit(text)
        return {"limit": name, "n": n} | ({"fill": True} if fill else {})
    if kind == "share":
        name, shares = grammar.split_share(text)
        return {"share": name, "shares": shares}
    name, value, weight = grammar.split(text)
    wish: dict[str, Any] = {kind: name}
    if value is not None:
        if kind == "spread":
            raise OptionError(f"--spread {text}: spread takes no value; use --focus {name}={value}")
        tilde, within = "", ""
        if name == "season" or not isinstance(attribute(name), mc.Category):  # a label may contain ~
            value, tilde, within = (part.strip() for part in value.partition("~"))
        wish |= {"near": value} | ({"within": _number(within, text)} if tilde else {})
    return wish if weight == 1 else wish | {"weight": weight}


def wish_of(wish: Mapping[str, Any], rows: Rows, missing: Missing = "last") -> mc.AnyWish:
    """Return the wish that a request describes; names and values are looked up in the photographs.

    `{"spread": "place"}`, `{"focus": "hour", "near": "6pm", "within": 1}`, `{"limit": "day", "n": 2, "fill": True}`
    or `{"share": "country", "shares": {"Portugal": 0.6}}`.
    """
    kind, name = _kind_of(wish)
    if isinstance(name, Mapping):  # an attribute with all of its parameters
        wish_object: mc.AnyWish = mc.from_dict(wish)
        return wish_object
    if kind in ("limit", "share"):
        if name == "place":
            raise OptionError("place has no values that could be counted: write city or country")
        if kind == "limit":
            return mc.Limit(attribute(name), wish.get("n", None), wish.get("fill", False))
        return _share(name, wish.get("shares"), rows)
    target, near = attribute(name, missing), wish.get("near")
    if near is not None:
        target, near = _target(name, near, rows, missing)
    return mc.Wish(target, 1 if kind == "spread" else -1, wish.get("weight", 1.0), near, wish.get("within"))


def _kind_of(wish: Any) -> tuple[str, Any]:
    """Return the kind of a wish and the name of its attribute, after a check of the names of its fields."""
    require(isinstance(wish, Mapping), "a wish", 'must be a dictionary such as {"spread": "place"}', wish)
    kinds = [kind for kind in KINDS if kind in wish]
    require(len(kinds) == 1, "a wish", f"must have exactly one of {', '.join(KINDS)}", dict(wish))
    for field in wish:
        if field != kinds[0] and field not in KINDS[kinds[0]]:
            raise OptionError(f"{kinds[0]} has no field {field!r}; its fields are {', '.join(KINDS[kinds[0]])}")
    name = wish[kinds[0]]
    require(isinstance(name, (str, Mapping)), kinds[0], "must name an attribute", name)
    return kinds[0], name


def _target(name: str, near: Any, rows: Rows, missing: Missing) -> tuple[Any, Any]:
    """Return the attribute of a focus and the value to be near, which is text as people write it, or a number."""
    if isinstance(near, str):
        require_text(near, name)
    target = attribute(name, missing)
    if name == "season" and str(near).casefold() not in SEASONS:
        rule = f"must be one of {', '.join(SEASONS)}, a month like july, or a day like 07-14"
        return mc.DayOfYear("taken", missing=missing), _value("season", str(near), f"season {rule}, got {near!r}")
    if isinstance(target, mc.Category):
        return target, _label(name, str(near), rows)
    if not isinstance(near, str):
        return target, tuple(near) if isinstance(near, list) else near
    if name == "place" and not _is_point(near):
        return target, _point(near, rows)
    if name == "hour":
        near = _on_24_hours(near)
    if name == "date" and re.fullmatch(r"\d{4}-\d{2}-\d{2}", near):
        near += "T12:00"  # noon: midnight is as near to the evening before
    return target, _value("number" if name in NUMBERS else name, near)


def _value(kind: str, text: str, message: str = "") -> Any:
    """Return the value that a text means for a kind of attribute."""
    try:
        return grammar.near_value(kind, text)
    except ValueError as error:
        raise OptionError(message or f"{kind}={text}: {error}") from None


def _share(name: str, target_shares: Any, rows: Rows) -> mc.Share:
    """Return target shares. A value that no photograph has is kept: the explanation reports that it is missing."""
    counted = attribute(name)
    if not isinstance(target_shares, Mapping):
        return mc.Share(counted, target_shares)  # which refuses it
    shares: dict[str, Any] = {}
    for value, part in target_shares.items():
        require_text(str(value), name)
        label = _counted_label(name, counted, str(value), rows)
        shares[label] = shares[label] + part if label in shares else part
    return mc.Share(counted, shares)


def _counted_label(name: str, counted: Any, value: str, rows: Rows) -> str:
    """Return the label under which a share counts a value."""
    if isinstance(counted, mc.Category):
        return str(label_of(name, value, rows))
    if name == "hour":
        return f"{int(_value('hour', _on_24_hours(value))) % 24}:00"
    return str(_value("weekday", value)).capitalize() if name == "weekday" else value


def _number(text: str, owner: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{owner}: write VALUE~WITHIN, WITHIN a number such as 50, got {text!r}") from None


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


def _point(name: str, rows: Rows) -> NamedPoint:
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
        raise OptionError(f"no place is called {name!r}: write a city, 'city, country', or latitude,longitude")
    return NamedPoint(*point, name)


def label_of(name: str, value: str, rows: Rows) -> Any:
    """Return the label in the library that a value means; the value itself if no photograph has it."""
    label = _find_label(name, value, sorted(rows.labels(name), key=_numbers_first))
    return value if label is None else label


def _label(name: str, value: str, rows: Rows) -> Any:
    """Return the label in the library that matches a value; raise `OptionError` if there is none."""
    labels = sorted(rows.labels(name), key=_numbers_first)
    label = _find_label(name, value, labels)
    if label is not None:
        return label
    close = _close(value, labels) if len(labels) > _MAX_LABELS else []
    known = f"similar values: {_label_list(close)}" if close else f"values: {_label_list(labels) or 'none'}"
    raise OptionError(f"no photograph has {name} {value!r}; {known}")


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
        raise OptionError(f"{value!r} matches several {_PLURALS.get(name, f'{name}s')}: {_label_list(near)}")
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
