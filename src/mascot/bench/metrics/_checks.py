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


def _array(owner: str, values: ArrayLike, layout: str, kind: type[np.float64] | None = None) -> NDArray[Any]:
    try:
        array = np.asarray(values, dtype=kind)
    except (TypeError, ValueError) as error:
        raise InputError(f"{owner} must be an array of numbers: {error}") from None
    axes(owner, array.shape, layout)
    return array


def floats(owner: str, values: ArrayLike, layout: str, low: float | None = None, high: float | None = None) -> Floats:
    """Return the values as finite numbers, not below `low` nor above `high`."""
    array = _array(owner, values, layout, np.float64)
    _refuse(owner, array, ~np.isfinite(array), "must be finite")
    if low is not None:
        rule = f"must be >= {low}" if high is None else f"must be between {low} and {high}"
        _refuse(owner, array, (array < low) | (array > (np.inf if high is None else high)), rule)
    return array


def integers(owner: str, values: ArrayLike, layout: str) -> Ints:
    """Return the values as integers: positions, bins, cluster labels."""
    array = _array(owner, values, layout)
    if array.dtype.kind not in "iu":
        raise InputError(f"{owner} must be integers, got {array.dtype}")
    return array.astype(np.int64)


def positions(owner: str, values: ArrayLike, layout: str, count: int) -> Ints:
    """Return the values as positions among N = `count` rows."""
    array = integers(owner, values, layout)
    _refuse(owner, array, (array < 0) | (array >= count), f"must be between 0 and N-1={count - 1}")
    return array


def flags(owner: str, values: ArrayLike, layout: str) -> Bools:
    """Return the values as booleans; 1 and 0 are accepted."""
    array = _array(owner, values, layout)
    _refuse(owner, array, (array != 0) & (array != 1), "must be 0 or 1")
    return array.astype(np.bool_)


def _refuse(owner: str, array: NDArray[Any], wrong: Bools, rule: str) -> None:
    if wrong.any():
        raise InputError(f"{owner} {rule}, got {array[wrong][0]}")


def cutoff(owner: str, k: int, count: int) -> None:
    """Refuse a cutoff beyond the number of results."""
    require(is_whole(k) and 1 <= k <= count, f"{owner} k", f"must be a whole number between 1 and K={count}", k)


def same_length(owner: str, **arrays: NDArray[Any]) -> None:
    """Refuse arrays whose first axes differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"{owner} arrays must have the same length, got {text}")
