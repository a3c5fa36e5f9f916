"""Reading columns: numbers, times and labels from whatever a table library hands over."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns
from mascot.errors import InputError
from mascot.memberships import Floats

# ISO 8601 and EXIF ("2019:07:14 18:05:33"); a time zone is read over: the clock on the wall counts.
_TIME = re.compile(
    r"\s*(\d{4})[-:](\d{2})[-:](\d{2})"
    r"(?:[T ]+(\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?[\s\0]*"
)


def as_array(column: Any) -> NDArray[Any]:
    """A numpy array of a list, or of a pandas, Polars or Arrow column."""
    if isinstance(column, np.ndarray):
        return column
    if hasattr(column, "to_pylist"):  # Arrow: its own to_numpy refuses nulls and chunks
        column = column.to_pylist()
    elif hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy())
    column = list(column)
    try:
        array = np.asarray(column)
    except ValueError:  # rows of several lengths: labels
        array = np.empty(0)
    if array.shape[:1] != (len(column),) or array.ndim != 1 or array.dtype.kind not in "biufMmUSO":
        array = np.empty(len(column), object)
        array[:] = column
    elif array.dtype.kind in "US" and not all(isinstance(value, (str, bytes)) for value in column):
        array = np.array(column, object)  # numpy turned None and numbers into text
    return array


def column_of(columns: Columns, name: str, owner: str) -> NDArray[Any]:
    if name not in columns:
        known = ", ".join(sorted(columns)) or "none"
        raise InputError(f"{owner} needs column {name!r}, got columns: {known}")
    return columns[name]


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and empty text."""
    if value is None or (isinstance(value, str) and not value.strip(" \0")):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def numbers(columns: Columns, name: str, owner: str) -> Floats:
    """A column as float64; what is missing becomes NaN, infinity and text are refused."""
    column = column_of(columns, name, owner)
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
    else:
        try:
            values = np.array([np.nan if is_missing(v) else float(v) for v in column.tolist()], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{owner} column {name!r} must hold numbers: {error}") from None
    if np.isinf(values).any():
        raise InputError(f"{owner} column {name!r} must be finite, got {values[np.isinf(values)][0]}")
    return values


def times(columns: Columns, name: str, owner: str) -> NDArray[np.datetime64]:
    """A column as datetime64[s] of local clock time; what is missing or impossible (month 0) becomes NaT."""
    column = column_of(columns, name, owner)
    if column.dtype.kind == "M":
        return column.astype("datetime64[s]")
    return np.array([_time(value, owner, name) for value in column], dtype="datetime64[s]")


def _time(value: Any, owner: str, name: str) -> np.datetime64:
    if is_missing(value):
        return np.datetime64("NaT", "s")
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[s]")
    if isinstance(value, datetime):
        return np.datetime64(value.replace(tzinfo=None, microsecond=0), "s")
    if isinstance(value, date):
        return np.datetime64(value, "s")
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InputError(f"{owner} column {name!r} must hold times (ISO, EXIF or datetime), got {value!r}")
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
        return np.datetime64(datetime(year, month, day, hour, minute, second), "s")
    except ValueError:  # cameras write "0000:00:00 00:00:00" for a clock that was never set
        return np.datetime64("NaT", "s")


def hours(columns: Columns, name: str, owner: str) -> Floats:
    """Hour of day, minutes as fractions, from times or from plain hours; NaN where missing."""
    column = column_of(columns, name, owner)
    if column.dtype.kind in "biuf" or _plain(column):
        return numbers(columns, name, owner) % 24
    if column.dtype.kind == "O" and all(isinstance(v, time) or is_missing(v) for v in column):
        return np.array([np.nan if is_missing(v) else v.hour + v.minute / 60 for v in column])
    moments = times(columns, name, owner)
    minutes = (moments - moments.astype("datetime64[D]")).astype("timedelta64[m]")
    return np.where(np.isnat(moments), np.nan, minutes.astype(np.float64) / 60)


def _plain(column: NDArray[Any]) -> bool:
    return column.dtype.kind == "O" and all(isinstance(v, (int, float)) or is_missing(v) for v in column)
