"""What every metric asks of its arrays; one sentence form: owner, rule, value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def axes(owner: str, shape: tuple[int, ...], named: str) -> None:
    """Refuse an empty array, or one without the named axes, for example ``"[Q, K]"``."""
    if len(shape) != named.count(",") + 1:
        raise ValueError(f"{owner} must have the axes {named}, got shape {shape}")
    if 0 in shape:
        raise ValueError(f"{owner} must not be empty, got shape {shape}")


def floats(owner: str, values: ArrayLike, named: str) -> Floats:
    """Finite numbers."""
    array = np.asarray(values, dtype=np.float64)
    axes(owner, array.shape, named)
    if not np.isfinite(array).all():
        raise ValueError(f"{owner} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def unit_interval(owner: str, values: ArrayLike, named: str) -> Floats:
    """Numbers from 0 to 1."""
    array = floats(owner, values, named)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ValueError(f"{owner} must be between 0 and 1, got {array[outside][0]}")
    return array


def integers(owner: str, values: ArrayLike, named: str) -> Ints:
    """Whole numbers: positions, bins, cluster labels."""
    array = np.asarray(values)
    axes(owner, array.shape, named)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{owner} must be integers, got {array.dtype}")
    return array.astype(np.int64)


def flags(owner: str, values: ArrayLike, named: str) -> Bools:
    """True and false, or 1 and 0."""
    array = np.asarray(values)
    axes(owner, array.shape, named)
    if array.dtype.kind == "b":
        return array.astype(np.bool_)
    other = (array != 0) & (array != 1)
    if other.any():
        raise ValueError(f"{owner} must be 0 or 1, got {array[other][0]}")
    return array.astype(np.bool_)


def cutoff(owner: str, k: int, shown: int) -> None:
    """Refuse a cutoff that the shown results cannot answer."""
    if not 1 <= k <= shown:
        raise ValueError(f"{owner} k must be between 1 and K={shown}, got {k}")


def same_length(owner: str, **arrays: NDArray[Any]) -> None:
    """Refuse arrays whose first axes differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"{owner} arrays must have the same length, got {told}")
