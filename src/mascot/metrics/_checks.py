"""Checks of the arrays that metrics take. Every message names the owner, the rule and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mascot.errors import InputError, is_whole, require

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def axes(owner: str, shape: tuple[int, ...], layout: str) -> None:
    """Refuse an empty array, or one whose axes are not those of `layout`, for example ``"[Q, K]"``."""
    if len(shape) != layout.count(",") + 1:
        raise InputError(f"{owner} must have the axes {layout}, got shape {shape}")
    if 0 in shape:
        raise InputError(f"{owner} must not be empty, got shape {shape}")


def _array(owner: str, values: ArrayLike, kind: type[np.float64] | None = None) -> NDArray[Any]:
    try:
        return np.asarray(values, dtype=kind)
    except (TypeError, ValueError) as error:
        raise InputError(f"{owner} must be an array of numbers: {error}") from None


def floats(owner: str, values: ArrayLike, layout: str) -> Floats:
    """Return the values as finite numbers."""
    array = _array(owner, values, np.float64)
    axes(owner, array.shape, layout)
    if not np.isfinite(array).all():
        raise InputError(f"{owner} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def unit_interval(owner: str, values: ArrayLike, layout: str) -> Floats:
    """Return the values as numbers from 0 to 1."""
    array = floats(owner, values, layout)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise InputError(f"{owner} must be between 0 and 1, got {array[outside][0]}")
    return array


def integers(owner: str, values: ArrayLike, layout: str) -> Ints:
    """Return the values as integers: positions, bins, cluster labels."""
    array = _array(owner, values)
    axes(owner, array.shape, layout)
    if array.dtype.kind not in "iu":
        raise InputError(f"{owner} must be integers, got {array.dtype}")
    return array.astype(np.int64)


def flags(owner: str, values: ArrayLike, layout: str) -> Bools:
    """Return the values as booleans; 1 and 0 are accepted."""
    array = _array(owner, values)
    axes(owner, array.shape, layout)
    if array.dtype.kind == "b":
        return array.astype(np.bool_)
    other = (array != 0) & (array != 1)
    if other.any():
        raise InputError(f"{owner} must be 0 or 1, got {array[other][0]}")
    return array.astype(np.bool_)


def cutoff(owner: str, k: int, count: int) -> None:
    """Refuse a cutoff beyond the number of results."""
    require(is_whole(k) and 1 <= k <= count, f"{owner} k", f"must be a whole number between 1 and K={count}", k)


def same_length(owner: str, **arrays: NDArray[Any]) -> None:
    """Refuse arrays whose first axes differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"{owner} arrays must have the same length, got {text}")
