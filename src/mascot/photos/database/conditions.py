"""The filters of a search request as conditions in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mascot.errors import OptionError, check_one_of
from mascot.photos.files.texts import fold
from mascot.photos.metadata.gazetteer import gazetteer
from mascot.photos.metadata.moments import easter_days
from mascot.photos.metadata.sun import LIGHT_COLUMNS, LIGHTS

LabelOf = Callable[[str, str], Any]  # returns the label of a column that a value means: `PT` for Portugal
Condition = tuple[str, list[Any]]  # an SQL expression, and the values of its question marks
_DAYS, _YEARLY = re.compile(r"\d{4}(-\d\d(-\d\d)?)?"), re.compile(r"\d\d(-\d\d)?")
_EASTERS = range(1980, 2060)
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")  # as SQLite numbers them


def _inside(box: tuple[float, float, float, float], _: LabelOf) -> Condition:
    south, west, north, east = box
    across = "lon BETWEEN ? AND ?" if west <= east else "(lon >= ? OR lon <= ?)"  # around the 180th meridian
    return f"lat BETWEEN ? AND ? AND {across}", [south, north, west, east]


def within(folder: str) -> Condition:
    """Return the condition that a photograph lies in a folder of the library or below it."""
    if folder == ".":
        return "1", []
    name = f"{fold(folder)}/"
    return "substr(fold(folder) || '/', 1, ?) = ?", [len(name), name]


def _in_folder(name: str, _: LabelOf) -> Condition:
    return within(name.rstrip("/")) if name.endswith("/") else ("instr(fold(folder), fold(?)) > 0", [name])


def _any_of(condition: Callable[[str, LabelOf], Condition]) -> Callable[[str, LabelOf], Condition]:
    """Return the filter that one of several values applies, or with `not` that none does: `not Portugal or Spain`."""

    def joined(text: str, label_of: LabelOf) -> Condition:
        negated = text[:4].casefold() == "not "
        values = [value.strip() for value in (text[4:] if negated else text).split(" or ")]
        parts = [condition(value, label_of) for value in values if value]
        either = " OR ".join(f"({part})" for part, _ in parts) or "FALSE"
        bound_values = [value for _, more in parts for value in more]
        return f"NOT coalesce({either}, FALSE)" if negated else f"({either})", bound_values

    return joined


def _labelled(column: str) -> Callable[[str, LabelOf], Condition]:
    """Return the filter of a column with labels."""
    return _any_of(lambda value, label_of: (f"{column} = ?", [label_of(column, value)]))


def _on_date(value: str, _label_of: LabelOf) -> Condition:
    if value == "easter":
        dates = [day.isoformat() for year in _EASTERS for day in easter_days(year)]
        return f"substr(taken, 1, 10) IN ({', '.join('?' * len(dates))})", dates
    first, _, last = value.partition("..")
    last = last or first
    pattern = next((each for each in (_DAYS, _YEARLY) if each.fullmatch(first) and each.fullmatch(last)), None)
    if pattern is None:
        raise OptionError(f"date must be like 2019, 2019-07, 2017..2018, 07, 12-24..12-26 or easter, got {value!r}")
    day = "taken" if pattern is _DAYS else "substr(taken, 6)"
    joint = "AND" if first <= last else "OR"  # from December to January
    return f"{day} >= ? {joint} {day} <= ?", [first, f"{last}\uffff"]


def _on_weekday(value: str, _: LabelOf) -> Condition:
    weekday = value.casefold()
    check_one_of("weekday", weekday, *_WEEKDAYS, "weekend")
    numbers = "'0', '6'" if weekday == "weekend" else f"'{_WEEKDAYS.index(weekday)}'"
    return f"strftime('%w', taken) IN ({numbers})", []


def _in_light(value: str, _: LabelOf) -> Condition:
    light = value.casefold()
    check_one_of("light", light, *LIGHTS)
    return f"instr(light({', '.join(LIGHT_COLUMNS)}), ?) > 0", [light]


def _at_place(value: str, _: LabelOf) -> Condition:
    words = "words(coalesce(title, '') || ' ' || coalesce(caption, '') || ' ' || keywords || ' ' || path)"
    condition = f"city = ? COLLATE NOCASE OR country = ? OR (city IS NULL AND instr({words}, words(?)) > 0)"
    return condition, [value, gazetteer().country(value), value]


def _named(name: str, _: LabelOf) -> Condition:
    fold = "lower" if name.isascii() else "fold"
    return f"instr({fold}(iif(folder = '.', path, substr(path, length(folder) + 2))), {fold}(?)) > 0", [name]


# The filters: for each field the SQL condition, with its values. A new filter is a field above and a line here.
CONDITIONS: dict[str, Callable[[Any, LabelOf], Condition]] = {
    "since": lambda day, _: ("taken >= ?", [day]),
    "until": lambda day, _: ("taken <= ?", [f"{day}\uffff"]),  # every time of that day, month or year is below it
    **{column: _labelled(column) for column in ("country", "city", "camera", "season", "part_of_day")},
    "place": _any_of(_at_place),
    "date": _any_of(_on_date),
    "weekday": _any_of(_on_weekday),
    "light": _any_of(_in_light),
    "name": _named,
    "rating": lambda rating, _: ("rating >= ?", [rating]),
    "folder": _in_folder,
    "box": _inside,
}
