"""Parse wishes about photographs: `place=Lisbon`, `hour=18`, `camera`, `look`."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

import mascot as mc
from mascot import grammar
from mascot.attributes.place import NamedPoint
from mascot.photos.database.store import Store
from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.metadata.moments import PARTS_OF_DAY, SEASONS
from mascot.photos.photo import CALENDAR, NUMBERS
from mascot.photos.texts import fold, require_text

LOOKS = 12  # clusters of the visual descriptors
_TIMES = ("hour", "date", "weekday")
NAMES = ("place", "city", "country", *_TIMES, *CALENDAR, "season", "part_of_day", "moment", "camera", "lens", "folder",
         "look", "keywords", "title", "rating", "altitude", "width", "height", "size")  # fmt: skip
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


class _StoredRows:
    """The rows of a library."""

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

    def labels(self, column: str) -> list[Any]:
        if column == "keywords":
            query = "SELECT DISTINCT value FROM photos, json_each(keywords) WHERE value IS NOT NULL"
        elif column in CALENDAR:
            query = f"SELECT DISTINCT substr(taken, 1, {CALENDAR[column]}) FROM photos WHERE taken IS NOT NULL"
        else:
            query = f"SELECT DISTINCT {column} FROM photos WHERE {column} IS NOT NULL"
        return [row[0] for row in self._run(query)]


def attribute(name: str, missing: str = "last") -> Any:
    """Return the attribute of a name, one of `NAMES`."""
    if name not in NAMES:
        raise mc.OptionError(f"no attribute of photographs is called {name!r}; there are {', '.join(NAMES)}")
    rule: dict[str, Any] = {"missing": missing}
    if name == "look":
        return mc.Clusters(LOOKS, column="look", **rule)
    if name == "place" or name in _TIMES:
        return grammar.spread(name, **rule).attribute
    return (mc.Number if name in NUMBERS else mc.Category)(name, **rule)


def wish(name: str, value: str | None, weight: float, sign: int, store: Store | Rows, missing: str = "last") -> mc.Wish:
    """Return a wish from its parts, as `grammar.split` returns them; sign 1 is spread, -1 is focus.

    The value is as people write it, with `~WITHIN` if it has distances.
    """
    rule: dict[str, Any] = {"missing": missing}
    if value is None:
        return mc.Wish(attribute(name, missing), sign, weight)
    require_text(value, name)
    if sign > 0:
        raise mc.OptionError(f"{name}={value}: spread has no place to be near, only focus does")
    near, tilde, distance = (part.strip() for part in value.partition("~"))
    if name == "place" and not _is_point(near):
        within = _number(distance, f"{name}={value}") if tilde else None
        return mc.Wish(attribute(name, missing), sign, weight, _point(near, _rows(store)), within)
    if name == "season" and value.casefold() not in SEASONS:
        try:
            return replace(grammar.focus(f"season={value}", **rule), weight=weight)
        except mc.OptionError:
            raise mc.OptionError(
                f"season must be one of {', '.join(SEASONS)}, a month like july, or a day like 07-14, got {value!r}"
            ) from None
    parsed_attribute = attribute(name, missing)
    if isinstance(parsed_attribute, mc.Category):
        return mc.Wish(parsed_attribute, sign, weight, _label(name, value, _rows(store)))  # a label may contain ~
    if isinstance(parsed_attribute, mc.Number):
        return replace(grammar.focus(f"number:{name}={value}", **rule), weight=weight)
    if name == "hour":
        near = _on_24_hours(near)
    if name == "date" and re.fullmatch(r"\d{4}-\d{2}-\d{2}", near):
        near += "T12:00"  # noon: midnight is as near to the evening before
    return replace(grammar.focus(f"{name}={near}{tilde}{distance}", **rule), weight=weight)


def limit(name: str, n: int, fill: bool = False) -> mc.Limit:
    """Return a limit: of a city, a date (per calendar day), a moment."""
    return mc.Limit(_countable(name), n, fill)


def share(name: str, target_shares: Mapping[str, float], store: Store | Rows) -> mc.Share:
    """Return target shares; the values are as people write them: `Portugal` or `PT`, `6pm`.

    A value that no photograph has is kept: the explanation of the results reports that it is missing.
    """
    counted_attribute, rows = _countable(name), _rows(store)
    shares: dict[str, float] = defaultdict(float)
    for value, part in target_shares.items():
        require_text(value, name)
        shares[_counted_label(name, counted_attribute, value, rows)] += part
    return mc.Share(counted_attribute, dict(shares))


def _countable(name: str) -> Any:
    if name == "place":
        raise mc.OptionError("place has no values that could be counted: write city or country")
    return attribute(name)


def _counted_label(name: str, counted_attribute: Any, value: str, rows: Rows) -> str:
    """Return the value by the name under which a limit or share counts it."""
    if isinstance(counted_attribute, mc.Category):
        label = _find_label(name, value, sorted(rows.labels(name), key=_numbers_first))
        return value if label is None else str(label)
    if name == "hour":
        return f"{int(grammar.focus(f'hour={_on_24_hours(value)}').near) % 24}:00"
    if name == "weekday":
        return str(grammar.focus(f"weekday={value}").near).capitalize()
    return value


def _rows(store: Store | Rows) -> Rows:
    return _StoredRows(store) if isinstance(store, Store) else store


def _number(text: str, owner: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise mc.OptionError(f"{owner}: write VALUE~WITHIN, WITHIN a number such as 50, got {text!r}") from None


def _on_24_hours(value: str) -> str:
    """Convert `6pm` to 18:00 and `6:30 a.m.` to 6:30; return other times unchanged."""
    clock = _TWELVE_HOURS.fullmatch(value)
    if clock and 1 <= int(clock[1]) <= 12:
        return f"{int(clock[1]) % 12 + (12 if clock[3] in 'pP' else 0)}:{clock[2] or '00'}"
    if not re.fullmatch(r"[\d.:]+", value):
        raise mc.OptionError(f"hour must be like 18, 18:30 or 6pm, got {value!r}")
    return value


def place_meant(text: str, store: Store) -> str | None:
    """Return the place that the name in a wish means: `Cambridge, US`. None if it is obvious, or not a name.

    It is obvious if the library has photographs of one city of that name only.
    """
    name, value, _ = grammar.split(text)
    value = None if value is None else value.partition("~")[0].strip()
    if name != "place" or value is None or _is_point(value):
        return None
    condition, names = _StoredRows(store).condition_of("city", value)
    query = f"SELECT city, country FROM photos WHERE {condition} GROUP BY country ORDER BY count(*) DESC, min(id)"
    cities = store.connection.execute(query, names).fetchall()
    if cities:
        return None if len(cities) == 1 else f"{cities[0][0]}, {cities[0][1]}"
    city = gazetteer().find(value)
    if city is not None:
        return f"{city.name}, {city.country}"
    return f"the middle of the photographs of {gazetteer().country_name(gazetteer().country(value) or value)}"


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
        raise mc.OptionError(f"no place is called {name!r}: write a city, 'city, country', or latitude,longitude")
    return NamedPoint(*point, name)


def _label(name: str, value: str, rows: Rows) -> Any:
    """Return the label in the library that matches a value; raise `OptionError` if there is none."""
    labels = sorted(rows.labels(name), key=_numbers_first)
    label = _find_label(name, value, labels)
    if label is not None:
        return label
    close = _close(value, labels) if len(labels) > _MAX_LABELS else []
    candidates = f"nearest are: {_label_list(close)}" if close else f"there are: {_label_list(labels) or 'none'}"
    raise mc.OptionError(f"no photograph has {name} {value!r}; {candidates}")


def _find_label(name: str, value: str, labels: list[Any]) -> Any:
    """Return the label that matches a value; None if there is none."""
    if name == "country":
        value = gazetteer().country(value) or value
    if name == "part_of_day" and value.casefold() not in PARTS_OF_DAY:
        raise mc.OptionError(f"part_of_day must be one of {', '.join(PARTS_OF_DAY)}, got {value!r}")
    for label in (*(label for label in labels if str(label) == value), *labels):
        if fold(str(label)) == fold(value):
            return label
    if name == "city":
        city = gazetteer().find(value)
        if city is not None and city.name in labels:
            return city.name
    near = [label for label in labels if fold(value) in fold(str(label))]
    if len(near) > 1:
        raise mc.OptionError(f"several of {name} hold {value!r}, say which: {_label_list(near)}")
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
