"""Read numbers, times, labels and vectors from the columns of any table library."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.bins import Floats
from mascot.errors import InputError, OptionError, is_number, quoted
from mascot.serialize import Value

LARGEST_NUMBER = 1e150  # squares of differences stay finite
_UNIX_SECONDS = (1e8, 1e11)  # 1973 to 5138; milliseconds are a thousand times as many

# ISO 8601, also without separators; EXIF ("2019:07:14 18:05:33"); PostgreSQL ("2019-07-14 18:05:33+00").
# Time zones are ignored: local clock time counts.
_TIME = re.compile(
    r"\s*(?=\d{4}[-:]|\d{8}[Tt])(\d{4})[-:]?(\d{2})[-:]?(\d{2})"
    r"(?:[Tt ]+(\d{2})(?::?(\d{2})(?::?(\d{2})(?:[.,]\d+)?)?)?(?:\s*[+-]\d{2})?)?"
    r"\s*(?:[Zz]|[+-]\d{2}:?\d{2})?[\s\0]*"
)
_NO_DAY = re.compile(r"\s*(\d{4})(?:(-\d{2})|(\d{2})(\d{2}))?\s*")  # a year, a month, or eight digits
_CLOCK = re.compile(r"\s*(\d{1,2}):(\d{2})(?::\d{2}(?:[.,]\d+)?)?\s*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?\s*")


def as_array(column: Any) -> NDArray[Any]:
    """Return a list, or a pandas, Polars or Arrow column, as a numpy array. Masked values are missing."""
    if isinstance(column, np.ma.MaskedArray):
        return _unmasked(column)
    if isinstance(column, np.ndarray):
        return column
    if hasattr(column, "to_pylist"):  # Arrow: its own to_numpy refuses nulls and chunks
        column = column.to_pylist()
    elif hasattr(column, "to_numpy"):
        if getattr(getattr(column, "dtype", None), "time_zone", None):  # Polars would turn to UTC
            column = column.dt.replace_time_zone(None)
        return np.asarray(column.to_numpy())
    elif hasattr(column, "__array__"):
        return np.asarray(column)
    if not isinstance(column, Iterable):
        raise InputError(f"a column must be a list or an array of values, got {column!r}")
    column = list(column)
    try:
        array = np.asarray(column)
    except ValueError:  # rows of several lengths: labels
        return as_objects(column)
    if array.shape != (len(column),) or array.dtype.kind not in "biufMmUSO":
        return as_objects(column)
    if array.dtype.kind in "US" and not all(isinstance(value, (str, bytes)) for value in column):
        return as_objects(column)  # numpy converted None and numbers to text
    return array


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return an array of dtype object with these values; lists stay lists."""
    array = np.empty(len(values), object)
    for row, value in enumerate(values):  # one by one: numpy would take lists of one length for a matrix
        array[row] = value
    return array


def _unmasked(column: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    hidden = np.ma.getmaskarray(column)
    if not hidden.any():
        return np.asarray(column)
    array = np.array(column, dtype=None if column.dtype.kind in "fMm" else object)
    array[hidden] = "NaT" if column.dtype.kind in "Mm" else np.nan if column.dtype.kind == "f" else None
    return array


def column_of(columns: Columns, name: str, owner: str) -> NDArray[Any]:
    if name not in columns:
        available = ", ".join(sorted(columns)) or "none"
        raise InputError(f"{owner} needs column {name!r}, got columns: {available}")
    return columns[name]


def _single(columns: Columns, name: str, owner: str) -> NDArray[Any]:
    """Return a column that has one value per row."""
    column = column_of(columns, name, owner)
    if column.ndim != 1:
        raise InputError(f"{owner} column {name!r} must hold one value each, got {' x '.join(map(str, column.shape))}")
    return column


def cells(column: NDArray[Any]) -> list[Any]:
    """Return the values as Python objects."""
    if column.dtype.kind == "M":
        column = column.astype("datetime64[us]")  # a finer one would become a number
    return column.tolist()


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT, pandas.NA, masked, or empty text."""
    if value is None or (isinstance(value, str) and not value.strip(" \0")):
        return True
    unequal = value != value
    if unequal is False:
        return False
    return bool(unequal) if isinstance(unequal, (bool, np.bool_)) else unequal is value  # pandas.NA is NA again


def printable(value: Any) -> Any:
    """Return a value as messages show it: 5 and not np.int64(5)."""
    if isinstance(value, tuple):
        return tuple(printable(part) for part in value)
    return value.item() if isinstance(value, np.generic) else value


def numbers(columns: Columns, name: str, owner: str) -> Floats:
    """Return a column as float64; missing values become NaN, infinity and text are refused."""
    return numbers_within(columns, name, owner)[0]


def numbers_within(columns: Columns, name: str, owner: str) -> tuple[Floats, float, float, bool]:
    """Return a column as float64, its lowest and highest value, and whether any is missing."""
    column = _single(columns, name, owner)
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
    else:
        try:
            values = np.array([np.nan if is_missing(v) else float(printable(v)) for v in column.tolist()], np.float64)
        except OverflowError:
            raise InputError(f"{owner} column {name!r} must lie within -1e150..1e150, got a larger integer") from None
        except (TypeError, ValueError) as error:
            raise InputError(f"{owner} column {name!r} must hold numbers: {error}") from None
    if not len(values):
        return values, 0.0, 0.0, False
    low, high = values.item(values.argmin()), values.item(values.argmax())  # faster than min and max
    missing = low != low  # NaN if any is
    if missing:
        low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        if low != low:
            low = high = 0.0  # all are
    largest = max(-low, high)
    if not largest <= LARGEST_NUMBER:
        rule = "must be finite" if math.isinf(largest) else "must lie within -1e150..1e150"
        raise InputError(f"{owner} column {name!r} {rule}, got {values[np.abs(values) == largest][0]}")
    return values, low, high, missing


def times(columns: Columns, name: str, owner: str) -> NDArray[np.datetime64]:
    """Return a column as datetime64[s] in local time; missing and impossible values (month 0) become NaT."""
    column = _numeric(_single(columns, name, owner))
    if column.dtype.kind == "M":
        return column.astype("datetime64[s]")
    unix = unix_times(column) if column.dtype.kind in "iuf" else None
    if unix is not None:
        return unix
    return np.array([_moment(value, owner, name) for value in column.tolist()], dtype="datetime64[s]")


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
    if _no_time(value):
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[s]").item()
    if isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, value.hour, value.minute, value.second)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        rule = "must hold times (ISO, EXIF or datetime)"
        raise InputError(f"{owner} column {name!r} {rule}, got {quoted(printable(value))}{_remedy(value)}")
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        return datetime(year, month, day, hour, minute, second)
    except ValueError:  # cameras write "0000:00:00 00:00:00" for a clock that was never set
        return None


def _remedy(value: Any) -> str:
    """Return the end of an error message: what to write instead of an incomplete time."""
    match = _NO_DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return ""
    year, month, *month_and_day = match.groups()
    if month_and_day[0]:
        return f": eight digits may be any number, write {'-'.join([year, *month_and_day])}"
    return f": a {'month' if month else 'year'} alone is not a time, write a day like {year}{month or '-07'}-14"


def _no_time(value: Any) -> bool:
    """Return whether a value is missing, or EXIF's blank date "    :  :     :  :  "."""
    return is_missing(value) or (isinstance(value, str) and not value.strip(" :\0"))


def hours(columns: Columns, name: str, owner: str) -> Floats:
    """Return hours of the day, minutes as fractions, from times or from plain hours; NaN where missing."""
    column = _numeric(_single(columns, name, owner))
    if column.dtype.kind in "biuf":
        values, low, high, _ = numbers_within(columns, name, owner)
        if low < 0 or high > 24:
            unix = unix_times(column)
            if unix is not None:
                return hours({name: unix}, name, owner)
            raise _beyond_a_day(values[(values < 0) | (values > 24)][0], owner, name)
        return values if high < 24 else values % 24
    if column.dtype.kind == "M":
        moments = times(columns, name, owner)
        minutes = (moments - moments.astype("datetime64[D]")).astype("timedelta64[m]")
        return np.where(np.isnat(moments), np.nan, minutes.astype(np.float64) / 60)
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


class ColumnAttribute(Value):
    """Base class of attributes that read one column of numbers or times."""

    __slots__ = ()
    column: str
    missing: Missing
    name: str
    read: Callable[[Columns, str, str], NDArray[Any]]  # the column by its name, for an owner
    near: str  # what a named value must be

    def __post_init__(self) -> None:
        check_missing(type(self).__name__, self.missing)
        object.__setattr__(self, "name", self.name or self.column)

    def _values(self, columns: Columns) -> NDArray[Any]:
        return self.read(columns, self.column, type(self).__name__)

    def point(self, value: Any) -> dict[str, Any]:
        """Return a named value as a column with one value; raise if it cannot be read."""
        with suppress(InputError):
            if not np.isnan(self._values({self.column: as_array([value])})[0]):
                return {self.column: value}
        remedy = _remedy(value) if self.read is times else ""
        raise OptionError(f"{type(self).__name__} near must be {self.near}, got {printable(value)!r}{remedy}")


def vectors_of(rows: Any, owner: str) -> Floats:
    """Return rows of numbers of one length as an N x D array of float64, or float32; a missing row is NaN.

    Text and infinity raise. Arrays of other shapes are returned unchanged: the caller checks the shape.
    """
    if isinstance(rows, (list, tuple)):
        with suppress(TypeError, ValueError):  # some are missing, or of another length
            rows = np.asarray(rows, np.float64)
    elif hasattr(rows, "to_pylist") and hasattr(rows, "to_numpy"):  # Arrow
        rows = rows.to_numpy(zero_copy_only=False)
    array = as_array(rows)
    if array.dtype.kind == "O":
        array = _stacked(array, owner)
    elif array.dtype.kind not in "biuf":
        raise InputError(f"{owner} must hold vectors of numbers, got {array.dtype}")
    array = array.astype(np.float32 if array.dtype in (np.float16, np.float32) else np.float64, copy=False)
    flat = array.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        if array.flags.c_contiguous and np.isfinite(flat @ flat):  # a fifth of the time of the check below
            return array
    infinite = np.isinf(array)
    if infinite.any():
        raise InputError(f"{owner} must be finite, got {array[infinite][0]}")
    return array


def _stacked(rows: NDArray[Any], owner: str) -> Floats:
    vectors = [None if is_missing(row) else _vector(row, owner) for row in rows]
    size = next((len(row) for row in vectors if row is not None), 1)
    for at, row in enumerate(vectors):
        if row is not None and len(row) != size:
            raise InputError(f"{owner} must hold vectors of one length, got {len(row)} numbers at {at}, {size} before")
    return np.array([np.full(size, np.nan) if row is None else row for row in vectors])


def _vector(row: Any, owner: str) -> Floats:
    with suppress(TypeError, ValueError):
        vector = np.asarray(row, np.float64)
        if vector.ndim == 1:
            return vector
    raise InputError(f"{owner} must hold vectors, N x D numbers, got {printable(row)!r:.60}")
