"""Read times from columns: datetimes, text in ISO, EXIF and PostgreSQL form, and Unix times.

A time has a local clock and, if it states a time zone, an offset from UTC. `times` and `hours` return the local clock,
`instants` returns UTC. A time without a time zone is taken as UTC.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns
from mascot.attributes.columns import are_texts, is_missing, numbers_within, printable, single
from mascot.bins import Floats
from mascot.errors import InputError, is_number, quoted

_UNIX_SECONDS = (1e8, 1e11)  # 1973 to 5138; milliseconds are a thousand times as many

# ISO 8601, also without separators; EXIF ("2019:07:14 18:05:33"); PostgreSQL ("2019-07-14 18:05:33+00").
_TIME = re.compile(
    r"\s*(?=\d{4}[-:]|\d{8}[Tt])(\d{4})[-:]?(\d{2})[-:]?(\d{2})"
    r"(?:[Tt ]+(\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,]\d+)?)?)?(?:\s*([+-]\d{2}))?)?"
    r"\s*([Zz]|[+-]\d{2}:?\d{2})?[\s\0]*"
)
_AFTER_SECONDS = re.compile(r"(?:[.,]\d+)?\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?[\s\0]*")
_NO_DAY = re.compile(r"\s*(\d{4})(?:(-\d{2})|(\d{2})(\d{2}))?\s*")  # a year, a month, or eight digits
_CLOCK = re.compile(r"\s*(\d{1,2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?\s*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?\s*")
_FEW = 8  # values that are read faster one by one
_EPOCH = "1970-01-01 00:00:00"  # in place of a missing value
_FORM = "0000-00-00 00:00:00"  # of texts that are read all at once; 0 stands for a digit, and a T for the space


class _Moments(NamedTuple):
    """The local clock of each row as datetime64[s], and its offset from UTC in seconds."""

    clock: NDArray[np.datetime64]
    offset: NDArray[np.int64] | int = 0


def times(columns: Columns, name: str, owner: str) -> NDArray[np.datetime64]:
    """Return a column as datetime64[s] in local time; missing and impossible values (month 0) become NaT."""
    return _moments(columns, name, owner).clock


def instants(columns: Columns, name: str, owner: str) -> NDArray[np.datetime64]:
    """Return a column as datetime64[s] in UTC; missing and impossible values become NaT."""
    moments = _moments(columns, name, owner)
    return np.asarray(moments.clock - np.asarray(moments.offset, "timedelta64[s]"))


def _moments(columns: Columns, name: str, owner: str) -> _Moments:
    column = _numeric(single(columns, name, owner))
    if column.dtype.kind == "M":
        return _Moments(column.astype("datetime64[s]"))
    unix = unix_times(column) if column.dtype.kind in "iuf" else None
    if unix is not None:
        return _Moments(unix)
    values = column.tolist()
    iso = _iso_moments(values)
    if iso is not None:
        return iso
    moments = [_moment(value, owner, name) for value in values]
    offsets = [moment.utcoffset() if moment is not None else None for moment in moments]
    clock = [None if moment is None else moment.replace(tzinfo=None) for moment in moments]
    seconds = [0 if offset is None else int(offset.total_seconds()) for offset in offsets]
    return _Moments(np.array(clock, "datetime64[s]"), np.array(seconds, np.int64))


def _iso_moments(values: list[Any]) -> _Moments | None:
    """Return ISO texts of one form, read all at once; None if there are values of another form, or too few."""
    if len(values) < _FEW or not are_texts(values):
        return None
    length = 10 if {len(value) for value in values if value} == {10} else 19
    texts = [value or _EPOCH for value in values]
    heads = np.array(texts, f"U{length}")
    codes = heads.view(np.uint32).reshape(-1, length)
    shape = np.where(codes - ord("0") < 10, ord("0"), codes)  # unsigned: characters before "0" become large
    shape[shape == ord("T")] = ord(" ")
    tails = [text[length:] for text in texts] if length > 10 else [""] * len(texts)
    matches = {tail: _AFTER_SECONDS.fullmatch(tail) for tail in set(tails)}
    if (shape != np.array([_FORM[:length]]).view(np.uint32)).any() or not all(matches.values()):
        return None
    try:
        clock = heads.astype("datetime64[s]")
        seconds = {tail: _offset(match[1]).total_seconds() for tail, match in matches.items() if match is not None}
    except ValueError:  # an impossible value, which is missing
        return None
    if clock.size and clock.min() < np.datetime64("0001-01-01"):
        return None
    if not all(values):
        clock[[not value for value in values]] = "NaT"
    return _Moments(clock, np.array([seconds[tail] for tail in tails], np.int64))


def _offset(zone: str | None) -> timedelta:
    """Return the offset from UTC of "Z", "+09", "+0900" or "+09:00"; raise `ValueError` beyond a day."""
    if not zone or zone in "Zz":
        return timedelta()
    size = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))
    return timezone(-size if zone[0] == "-" else size).utcoffset(None)


def _numeric(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of Python numbers and missing values as float64; any other column unchanged."""
    if column.dtype.kind != "O":
        return column
    values = column.tolist()
    if not all(is_missing(value) or is_number(value) for value in values):
        return column
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in values])
    except OverflowError:  # an integer beyond every float is not a time, and the reader of times says so
        return column


def unix_times(column: NDArray[Any]) -> NDArray[np.datetime64] | None:
    """Return a column of Unix seconds or milliseconds as UTC times; None if the numbers are neither."""
    values = column.astype(np.float64)
    real = values[~np.isnan(values)]
    if not len(real):
        return np.full(len(values), "NaT", "datetime64[s]")
    low, high = _UNIX_SECONDS
    for unit in (1.0, 1000.0):
        if (real >= low * unit).all() and (real < high * unit).all():
            seconds = np.nan_to_num(values / unit).astype(np.int64).astype("datetime64[s]")
            return np.where(np.isnan(values), np.datetime64("NaT"), seconds).astype("datetime64[s]")
    return None


def _moment(value: Any, owner: str, name: str) -> datetime | None:
    """Return one time, with its time zone if it states one; None if it is missing or impossible."""
    if _no_time(value):
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[s]").item()
    if isinstance(value, datetime):
        offset = value.utcoffset()
        zone = None if offset is None else timezone(offset)
        return datetime(value.year, value.month, value.day, value.hour, value.minute, value.second, tzinfo=zone)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        rule = "must hold times (ISO, EXIF or datetime)"
        raise InputError(f"{owner} column {name!r} {rule}, got {quoted(printable(value))}{remedy_for(value)}")
    try:
        *parts, short_zone, long_zone = match.groups()
        year, month, day, hour, minute, second = (int(part or 0) for part in parts)
        stated = long_zone or short_zone
        zone = timezone(_offset(stated)) if stated else None
        return datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:  # cameras write "0000:00:00 00:00:00" for a clock that was never set
        return None


def remedy_for(value: Any) -> str:
    """Return the end of an error message: what to write instead of an incomplete time."""
    if is_number(value):
        return ": numbers are Unix times from 1973 on, all in seconds or all in milliseconds"
    match = _NO_DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return ""
    year, month, *month_and_day = match.groups()
    if month_and_day[0]:
        return f": eight digits may be any number, write {'-'.join([year, *month_and_day])}"
    return f": a {'month' if month else 'year'} alone is not a time, write a day like {year}{month or '-07'}-14"


def is_time(value: Any) -> bool:
    """Return whether a value is text that is read as a time."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _no_time(value: Any) -> bool:
    """Return whether a value is missing, or EXIF's blank date "    :  :     :  :  "."""
    return is_missing(value) or (isinstance(value, str) and not value.strip(" :\0"))


def hours(columns: Columns, name: str, owner: str) -> Floats:
    """Return hours of the day, minutes as fractions, from times or from plain hours; NaN where missing."""
    column = _numeric(single(columns, name, owner))
    if column.dtype.kind in "biuf":
        values, low, high, _ = numbers_within(columns, name, owner)
        if low < 0 or high > 24:
            unix = unix_times(column)
            if unix is not None:
                return hours({name: unix}, name, owner)
            raise _beyond_a_day(values[(values < 0) | (values > 24)][0], owner, name)
        return values if high < 24 else values % 24
    moments = _Moments(column.astype("datetime64[s]")) if column.dtype.kind == "M" else _iso_moments(column.tolist())
    if moments is not None:
        minutes = (moments.clock - moments.clock.astype("datetime64[D]")).astype("timedelta64[m]")
        return np.where(np.isnat(moments.clock), np.nan, minutes.astype(np.float64) / 60)
    return np.array([_hour(value, owner, name) for value in column.tolist()], np.float64)


def _hour(value: Any, owner: str, name: str) -> float:
    if _no_time(value):
        return np.nan
    if isinstance(value, (int, float, np.integer, np.floating, Decimal)):
        if not 0 <= value <= 24:
            raise _beyond_a_day(float(value), owner, name)
        return float(value) % 24
    clock = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if clock is not None:
        hour, minute = int(clock[1]), int(clock[2])
        return (hour + minute / 60) % 24 if minute < 60 and hour + minute / 60 <= 24 else np.nan
    moment = value if isinstance(value, time) else _moment(value, owner, name)
    return np.nan if moment is None else moment.hour + moment.minute / 60


def _beyond_a_day(value: float, owner: str, name: str) -> InputError:
    rule = "must hold times, Unix seconds or milliseconds, or plain hours in 0..24"
    return InputError(f"{owner} column {name!r} {rule}, got {value:.15g}")
