"""Bins as arrays and JSON, and back. What is read is checked: a damaged file must not reach a kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.bins.axis import Axis, AxisBins
from mascot.bins.distance import SMALLEST
from mascot.bins.globe import GlobeBins
from mascot.bins.membership import Bins
from mascot.bins.sparse import SparseBins
from mascot.bins.vector_bins import VectorBins
from mascot.errors import InputError, is_number, is_whole
from mascot.kernels.constants import SPACING

_LARGEST = 1e150  # numbers, widths and their inverses
_MOST_BINS = 4_000_000  # of one attribute
_WIDTHS_KM = 0.001, 100_000.0


def describe_bins(bins: Bins, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Add the arrays of the bins to `arrays` and return their other fields."""
    if isinstance(bins, AxisBins):
        for axis, values in enumerate(bins.values):
            arrays[f"{name}.{axis}"] = values
        return {"kind": "axis", "axes": [asdict(axis) for axis in bins.axes], "unit": bins.unit}
    if isinstance(bins, GlobeBins):
        arrays[f"{name}.lat"], arrays[f"{name}.lon"] = bins.lat, bins.lon
        return {"kind": "globe", "sigma_km": bins.sigma_km}
    if isinstance(bins, VectorBins):
        arrays[f"{name}.vectors"] = bins.vectors
        return {"kind": "vectors", "copies": bins.copies}
    pairs = bins.sparse()
    arrays[f"{name}.indptr"], arrays[f"{name}.indices"] = pairs.indptr, pairs.indices
    if pairs.values is not None:
        arrays[f"{name}.values"] = pairs.values
    return {"kind": "sparse", "count": pairs.count, "labels": pairs.labels}


def restore_bins(described: Mapping[str, Any], name: str, arrays: Mapping[str, Any], rows: int) -> Bins:
    """Return the bins that `describe_bins` described; raise an `InputError` if they are not bins of so many rows."""
    kind = described["kind"]
    if kind == "axis":
        axes = tuple(map(_axis, described["axes"]))
        grid = described["unit"] == "degrees"
        valid = len(axes) == 2 and all(axis.step for axis in axes) if grid else len(axes) == 1
        check_saved(valid, f"{name} has axes that do not fit its unit")
        check_saved(described["unit"] in SMALLEST, f"{name} has an unknown unit")
        columns = tuple(_numbers(arrays, f"{name}.{axis}", rows, _LARGEST) for axis in range(len(axes)))
        for axis, values in zip(axes, columns, strict=True):
            _check_axis(axis, values, name)
        check_saved(math.prod(axis.count for axis in axes) <= _MOST_BINS, f"{name} has too many bins")
        return AxisBins(axes, columns, described["unit"])
    if kind == "globe":
        sigma = described["sigma_km"]
        valid = is_number(sigma) and (sigma == 0 or _WIDTHS_KM[0] <= abs(sigma) <= _WIDTHS_KM[1])
        check_saved(valid, f"{name} has an impossible width")
        lat, lon = _numbers(arrays, f"{name}.lat", rows, math.pi / 2), _numbers(arrays, f"{name}.lon", rows, math.pi)
        return GlobeBins(lat, lon, float(sigma))
    if kind == "vectors":
        copies, vectors = described["copies"], saved_array(arrays, f"{name}.vectors", "f", 2, rows)
        check_saved(is_number(copies) and -1 <= copies <= 1, f"{name} has an impossible cosine")
        check_saved(vectors.shape[1] >= 1 and not np.isinf(vectors).any(), f"{name}.vectors is not a set of vectors")
        return VectorBins(vectors.astype(np.float32), float(copies))
    check_saved(kind == "sparse", f"{name} is of an unknown kind")
    return _restore_sparse(described["count"], described["labels"], name, arrays, rows)


def _restore_sparse(count: Any, labels: Any, name: str, arrays: Mapping[str, Any], rows: int) -> SparseBins:
    check_saved(is_whole(count) and 1 <= count < 1 << 31, f"{name} has an impossible number of bins")
    if labels is not None:
        texts = isinstance(labels, Sequence) and all(isinstance(label, str) for label in labels)
        check_saved(texts and max(len(labels), 1) == count, f"{name} has labels that are not those of its bins")
    indptr = saved_array(arrays, f"{name}.indptr", "i", 1, rows + 1).astype(np.int64)
    indices = saved_array(arrays, f"{name}.indices", "i", 1).astype(np.int64)
    ends = indptr[0] == 0 and indptr[-1] == len(indices)
    check_saved(bool(ends and (np.diff(indptr) >= 0).all()), f"{name}.indptr does not divide the indices into rows")
    within = not len(indices) or 0 <= indices.min() <= indices.max() < count
    check_saved(bool(within), f"{name}.indices must lie in 0..{count - 1}")
    if np.diff(indptr).max(initial=0) > 1:
        pairs = np.repeat(np.arange(rows), np.diff(indptr)) * count + indices
        check_saved(len(np.unique(pairs)) == len(pairs), f"{name}.indices has a bin twice in one row")
    values = None
    if f"{name}.values" in arrays:
        values = saved_array(arrays, f"{name}.values", "f", 1, len(indices)).astype(np.float64)
        check_saved(bool(((values >= 0) & (values <= 1)).all()), f"{name}.values must lie in 0..1")
    return SparseBins(indptr, indices, values, count, None if labels is None else tuple(labels))


def _axis(described: Mapping[str, Any]) -> Axis:
    fields: Any = {key: field if key == "count" else float(field) for key, field in described.items()}
    return Axis(**fields)


def _check_axis(axis: Axis, values: NDArray[Any], name: str) -> None:
    """Raise unless an axis is one that an attribute can make."""
    fields = (axis.start, axis.step, axis.sigma, axis.period, axis.smallest)
    numbers = all(is_number(field) and abs(field) <= _LARGEST for field in fields) and is_whole(axis.count)
    unbounded = axis.floor == -math.inf and axis.ceiling == math.inf and axis.origin == 0
    check_saved(numbers and unbounded, f"{name} has an impossible axis")
    check_saved(axis.step >= 0 and axis.period >= 0 and axis.smallest >= 0, f"{name} has an axis below 0")
    check_saved(axis.sigma == 0 or abs(axis.sigma) >= 1 / _LARGEST, f"{name} has an axis without width")
    if axis.step > 0:
        closed = axis.period == 0 or math.isclose(axis.step * axis.count, axis.period)
        valid = 1e-12 <= axis.sigma / axis.step <= 1e12 and axis.count >= 1 and closed
    else:
        width = float(np.fmax.reduce(values, initial=-_LARGEST) - np.fmin.reduce(values, initial=_LARGEST))
        valid = axis.count == axis.period == 0 and width <= _MOST_BINS * SPACING * (abs(axis.sigma) or math.inf)
    check_saved(valid, f"{name} has an axis that does not fit its values")


def _numbers(arrays: Mapping[str, Any], name: str, rows: int, largest: float) -> NDArray[np.float64]:
    """Return a column of numbers; NaN is a missing value."""
    values = saved_array(arrays, name, "f", 1, rows).astype(np.float64)
    check_saved(not (np.abs(values) > largest).any(), f"{name} must lie within -{largest:g}..{largest:g}")
    return values


def saved_array(arrays: Mapping[str, Any], name: str, kind: str, axes: int, rows: int | None = None) -> NDArray[Any]:
    """Return an array of a file; raise unless its kind of numbers, its dimensions and its length are as expected."""
    check_saved(name in arrays, f"{name} is missing")
    array = np.ascontiguousarray(arrays[name])
    valid = array.dtype.kind == kind and array.ndim == axes and (rows is None or len(array) == rows)
    check_saved(valid, f"{name} has type {array.dtype} and shape {array.shape}")
    return array


def check_saved(holds: bool, reason: str) -> None:
    """Raise an `InputError` with this reason unless the condition holds."""
    if not holds:
        raise InputError(reason)
