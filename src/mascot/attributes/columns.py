"""Read numbers, labels and vectors from the columns of any table library."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.attributes.nested import values_of
from mascot.bins import Floats
from mascot.errors import InputError, OptionError
from mascot.serialize import Value

LARGEST_NUMBER = 1e150  # squares of differences stay finite


def as_array(column: Any) -> NDArray[Any]:
    """Return a list, or a pandas, Polars or Arrow column, as a numpy array. Masked values are missing."""
    if isinstance(column, np.ma.MaskedArray):
        return _unmasked(column)
    if isinstance(column, np.ndarray):
        return column
    if hasattr(column, "to_pylist"):  # Arrow: its own to_numpy refuses nulls and chunks
        column = column.to_pylist()
    elif hasattr(column, "to_numpy"):
        dtype = getattr(column, "dtype", None)
        if not getattr(dtype, "time_zone", None) and not hasattr(dtype, "to_schema"):
            return np.asarray(column.to_numpy())
        column = column.to_list()  # Polars: times keep their time zone, and structs become dictionaries
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
    """Return a column by its name, or by a path into a column of dictionaries: `geo.lat` is the `lat` of `geo`."""
    if name in columns:
        return columns[name]
    if isinstance(name, str) and "." in name:
        stems = [stem for stem in columns if name.startswith(f"{stem}.") and columns[stem].dtype.kind == "O"]
        rows = [dict(zip(stems, row, strict=True)) for row in zip(*(columns[stem] for stem in stems), strict=True)]
        values = values_of(rows, name)
        if any(value is not None for value in values):
            return as_array(values)
    available = ", ".join(sorted(map(str, columns))) or "none"
    first = {stem: values[0] for stem, values in columns.items() if len(values)}
    outer = [stem for stem, value in first.items() if isinstance(value, Mapping) and name in value]
    remedy = f"; a field of {outer[0]!r} is written {f'{outer[0]}.{name}'!r}" if outer else ""
    raise InputError(f"{owner} needs column {name!r}, got columns: {available}{remedy}")


def single(columns: Columns, name: str, owner: str) -> NDArray[Any]:
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


def are_texts(values: Iterable[Any]) -> bool:
    """Return whether all values are text or None."""
    types = list(map(type, values))
    return types.count(str) == len(types) or set(types) <= {str, type(None)}  # counting is faster


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
    column = single(columns, name, owner)
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


class ColumnAttribute(Value):
    """Base class of attributes that read one column of numbers or times."""

    __slots__ = ()
    column: str
    missing: Missing
    name: str
    read: Callable[[Columns, str, str], NDArray[Any]]  # the column by its name, for an owner
    near: str  # what a named value must be
    remedy: Callable[[Any], str] = staticmethod(lambda value: "")  # the end of the message if it is not

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
        rule = f"{type(self).__name__} near must be {self.near}"
        raise OptionError(f"{rule}, got {printable(value)!r}{self.remedy(value)}")


def vectors_of(rows: Any, owner: str) -> Floats:
    """Return rows of numbers of one length as an N x D array of float64, or float32; a missing row is NaN.

    Text and infinity raise. Arrays of other shapes are returned unchanged: the caller checks the shape.
    """
    if hasattr(rows, "to_pylist") and hasattr(rows, "to_numpy"):  # Arrow
        rows = rows.to_numpy(zero_copy_only=False)
    array = as_objects(rows) if isinstance(rows, (list, tuple)) else as_array(rows)
    if array.dtype.kind == "O":
        array = _stacked(array.tolist(), owner)
    elif array.dtype.kind not in "biuf":
        raise InputError(f"{owner} must hold vectors of numbers, got {array.dtype}")
    array = array.astype(np.float32 if array.dtype in (np.float16, np.float32) else np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(array.sum()):  # faster than the check below
            return array
    infinite = np.isinf(array)
    if infinite.any():
        raise InputError(f"{owner} must be finite, got {array[infinite][0]}")
    return array


def _stacked(rows: list[Any], owner: str) -> Floats:
    size: int = next((len(row) for row in rows if hasattr(row, "__len__")), 1)
    packed = struct.Struct(f"{size}d")  # converts lists of floats twice as fast as numpy
    matrix = np.full((len(rows), size), np.nan)
    for at, row in enumerate(rows):
        is_single = not hasattr(row, "__len__")
        if is_single and is_missing(row):
            continue
        if is_single or isinstance(row, (str, bytes, Mapping)) or getattr(row, "ndim", 1) != 1:
            raise InputError(f"{owner} must hold vectors, N x D numbers, got {printable(row)!r:.60}")
        if len(row) != size:
            raise InputError(f"{owner} must hold vectors of one length, got {len(row)} numbers at {at}, {size} before")
        try:
            if isinstance(row, np.ndarray):
                matrix[at] = row
            else:
                packed.pack_into(matrix.data, at * packed.size, *row)
        except (struct.error, TypeError, ValueError, OverflowError):
            raise InputError(f"{owner} must hold vectors, N x D numbers, got {row!r:.60}") from None
    return matrix
