"""Words about photographs to wishes: `place=Lisbon`, `hour=18`, `camera`, `look`."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

import mascot as mc
from mascot import words
from mascot.attributes.place import NamedPoint
from mascot.photos.gazetteer import gazetteer
from mascot.photos.photo import CALENDAR
from mascot.photos.seasons import PARTS_OF_DAY, SEASONS
from mascot.photos.store import Store
from mascot.photos.texts import fold, require_text

LOOKS = 12  # clusters of the visual descriptors
_NUMBERS = ("altitude", "width", "height", "size")
_LABELS = ("camera", "lens", "folder", "moment", "city", "country", "part_of_day", "rating", "keywords", "title",
           *CALENDAR)  # fmt: skip
_TIMES = ("hour", "date", "weekday")
NAMES = ("place", "city", "country", *_TIMES, *CALENDAR, "season", "part_of_day", "moment", "camera", "lens", "folder",
         "look", "keywords", "title", "rating", *_NUMBERS)  # fmt: skip
_TOLD = 8  # labels that a message names
_OF_TWELVE = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?\s?m\.?", re.IGNORECASE)


class Rows(Protocol):
    """Photographs that a value in words is looked up in."""

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        """The middle, as latitude and longitude, of those whose city or country is this; of namesakes see `middle`."""

    def labels(self, column: str) -> list[Any]:
        """Every label of a column, once."""


def middle(points: Iterable[tuple[Any, float, float]]) -> tuple[float, float] | None:
    """The middle on the globe of these points (country, latitude, longitude); of several countries that with most.

    There is a Cambridge in England and one in Massachusetts, and nothing of either halfway between.
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


class _Stored:
    """The rows of a library."""

    def __init__(self, store: Store) -> None:
        self._run = store.connection.execute

    def middle(self, column: str, value: str) -> tuple[float, float] | None:
        named, names = self.named(column, value)
        return middle(self._run(f"SELECT country, lat, lon FROM photos WHERE {named} ORDER BY id", names))

    def named(self, column: str, value: str) -> tuple[str, list[str]]:
        """The condition, with its values, that a photograph has a place whose city or country reads like this."""
        # Looked for among the labels: a function of ours called for every row takes its time.
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
    """The attribute a plain word means. Words: `NAMES`."""
    rule: dict[str, Any] = {"missing": missing}
    if name == "look":
        return mc.Clusters(LOOKS, column="look", **rule)
    if name in _NUMBERS:
        return mc.Number(name, **rule)
    if name == "season" or name in _LABELS:
        return mc.Category(name, **rule)
    if name == "place" or name in _TIMES:
        return words.spread(name, missing).attribute  # type: ignore[arg-type]
    raise mc.OptionError(f"no attribute of photographs is called {name!r}; there are {', '.join(NAMES)}")


def wish(text: str, sign: int, store: Store | Rows, missing: str = "last") -> mc.Wish:
    """A wish as typed: NAME[=VALUE[~WITHIN]][*WEIGHT], sign 1 to spread and -1 to focus."""
    name, value, weight = words.split(text)
    return made_wish(name, value, weight, sign, store, missing)


def made_wish(
    name: str, value: str | None, weight: float, sign: int, store: Store | Rows, missing: str = "last"
) -> mc.Wish:
    """The same from its parts; the value as people write it, with `~WITHIN` behind one that has distances."""
    rows = _rows(store)
    if value is None:
        return mc.Wish(attribute(name, missing), sign, weight)
    require_text(value, name)
    if sign > 0:
        raise mc.OptionError(f"{name}={value}: spread has no place to be near, only focus does")
    near, tilde, distance = (part.strip() for part in value.partition("~"))
    if name == "place" and not _is_point(near):
        within = _number(distance, f"{name}={value}") if tilde else None
        return mc.Wish(attribute(name, missing), sign, weight, _point(near, rows), within)
    if name == "season" and value.casefold() not in SEASONS:
        try:
            return replace(words.focus(f"season={value}", missing), weight=weight)  # type: ignore[arg-type]
        except mc.OptionError:
            raise mc.OptionError(
                f"season must be one of {', '.join(SEASONS)}, a month like july, or a day like 07-14, got {value!r}"
            ) from None
    parsed = attribute(name, missing)
    if isinstance(parsed, mc.Category):
        return mc.Wish(parsed, sign, weight, _label(name, value, rows))  # a label may hold ~ itself
    if isinstance(parsed, mc.Number):
        return replace(words.focus(f"number:{name}={value}", missing), weight=weight)  # type: ignore[arg-type]
    if name == "hour":
        near = _on_24_hours(near)
    if name == "date" and re.fullmatch(r"\d{4}-\d{2}-\d{2}", near):
        near += "T12:00"  # its middle: midnight is as near to the evening before
    return replace(words.focus(f"{name}={near}{tilde}{distance}", missing), weight=weight)  # type: ignore[arg-type]


def limit(text: str, fill: bool = False) -> mc.Limit:
    """Parse a limit: `city=1`, `date=2` (per calendar day), `moment=1`."""
    name, n = words.split_limit(text)
    return made_limit(name, n, fill)


def made_limit(name: str, n: int, fill: bool = False) -> mc.Limit:
    """The same from its parts."""
    return mc.Limit(_countable(name), n, fill)


def share(text: str, store: Store | Rows) -> mc.Share:
    """Parse target shares, the values as people write them: `country=Portugal:60%,ES:40%`, `hour=6pm:0.5`.

    A value that no photograph has stays as it is: the explanation of the results says that it was not there.
    """
    name, typed = words.split_share(text)
    return made_share(name, typed, store)


def made_share(name: str, typed: Mapping[str, float], store: Store | Rows) -> mc.Share:
    """The same from its parts."""
    counted, rows = _countable(name), _rows(store)
    shares: dict[str, float] = defaultdict(float)
    for value, part in typed.items():
        require_text(value, name)
        shares[_counted_value(name, counted, value, rows)] += part
    return mc.Share(counted, dict(shares))


def _countable(name: str) -> Any:
    if name == "place":
        raise mc.OptionError("place has no values that could be counted: write city or country")
    return attribute(name)


def _counted_value(name: str, counted: Any, value: str, rows: Rows) -> str:
    """Return the value by the name under which a limit or share counts it."""
    if isinstance(counted, mc.Category):
        label = _spelt_label(name, value, rows)
        return value if label is None else str(label)
    if name == "hour":
        return f"{int(words.focus(f'hour={_on_24_hours(value)}').near) % 24}:00"
    if name == "weekday":
        return str(words.focus(f"weekday={value}").near).capitalize()
    return value


def _rows(store: Store | Rows) -> Rows:
    return _Stored(store) if isinstance(store, Store) else store


def _number(text: str, owner: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise mc.OptionError(f"{owner}: write VALUE~WITHIN, WITHIN a number such as 50, got {text!r}") from None


def _on_24_hours(value: str) -> str:
    """`6pm` is 18:00, `6:30 a.m.` 6:30; anything else as it is."""
    clock = _OF_TWELVE.fullmatch(value)
    if clock and 1 <= int(clock[1]) <= 12:
        return f"{int(clock[1]) % 12 + (12 if clock[3] in 'pP' else 0)}:{clock[2] or '00'}"
    if not re.fullmatch(r"[\d.:]+", value):
        raise mc.OptionError(f"hour must be like 18, 18:30 or 6pm, got {value!r}")
    return value


def place_meant(text: str, store: Store) -> str | None:
    """The place that a wish as typed took a name for: `Cambridge, US`. None where that is plain or no name.

    It is plain where the library has photographs of a city of that name, and of only one.
    """
    name, value, _ = words.split(text)
    value = None if value is None else value.partition("~")[0].strip()
    if name != "place" or value is None or _is_point(value):
        return None
    named, names = _Stored(store).named("city", value)
    query = f"SELECT city, country FROM photos WHERE {named} GROUP BY country ORDER BY count(*) DESC, min(id)"
    own = store.connection.execute(query, names).fetchall()
    if own:
        return None if len(own) == 1 else f"{own[0][0]}, {own[0][1]}"
    city = gazetteer().find(value)
    if city is not None:
        return f"{city.name}, {city.country}"
    return f"the middle of the photographs of {gazetteer().country_name(gazetteer().country(value) or value)}"


def _is_point(value: str) -> bool:
    return all(part.strip().replace(".", "", 1).lstrip("-+").isdigit() for part in value.split(",")) and "," in value


def _point(name: str, rows: Rows) -> NamedPoint:
    """A city of the library, of the world, or a country of the library."""
    # The library's own cities come first: who photographed Cambridge in Massachusetts means that one.
    own = rows.middle("city", name)
    if own is not None:
        return NamedPoint(*own, name)
    city = gazetteer().find(name)
    if city is not None:
        return NamedPoint(city.lat, city.lon, city.name)
    code = gazetteer().country(name)
    own = None if code is None else rows.middle("country", code)
    if own is not None:
        return NamedPoint(*own, name)
    raise mc.OptionError(f"no place is called {name!r}: write a city, 'city, country', or latitude,longitude")


def _label(name: str, value: str, rows: Rows) -> Any:
    """The label in the library that a value spells."""
    label = _spelt_label(name, value, rows)
    if label is not None:
        return label
    labels = sorted(rows.labels(name), key=_numbers_first)
    close = _close(value, labels) if len(labels) > _TOLD else []
    if close:
        raise mc.OptionError(f"no photograph has {name} {value!r}; nearest are: {_some(close)}")
    raise mc.OptionError(f"no photograph has {name} {value!r}; there are: {_some(labels) or 'none'}")


def _spelt_label(name: str, value: str, rows: Rows) -> Any:
    """The same, None where there is none."""
    if name == "country":
        value = gazetteer().country(value) or value
    if name == "part_of_day" and value.casefold() not in PARTS_OF_DAY:
        raise mc.OptionError(f"part_of_day must be one of {', '.join(PARTS_OF_DAY)}, got {value!r}")
    labels = sorted(rows.labels(name), key=_numbers_first)
    for same in (lambda label: str(label) == value, lambda label: fold(str(label)) == fold(value)):
        for label in labels:
            if same(label):
                return label
    if name == "city":
        city = gazetteer().find(value)
        if city is not None and city.name in labels:
            return city.name
    near = [label for label in labels if fold(value) in fold(str(label))]
    if len(near) > 1:
        raise mc.OptionError(f"several of {name} hold {value!r}, say which: {_some(near)}")
    return near[0] if near else None


def _close(value: str, labels: list[Any]) -> list[Any]:
    """Labels that are spelt nearly like a value, whole or in one of their words, the nearest first."""
    spelt: dict[str, list[Any]] = defaultdict(list)
    for label in labels:
        whole = fold(str(label))
        for part in {whole, *whole.split()}:
            spelt[part].append(label)
    near = difflib.get_close_matches(fold(value), spelt, _TOLD)
    return list(dict.fromkeys(label for part in near for label in spelt[part]))


def _numbers_first(label: Any) -> tuple[bool, float, str]:
    return (False, label, "") if isinstance(label, (int, float)) else (True, 0, str(label))


def _some(labels: list[Any]) -> str:
    more = f" and {len(labels) - _TOLD} more" if len(labels) > _TOLD else ""
    return ", ".join(str(label) for label in labels[:_TOLD]) + more
