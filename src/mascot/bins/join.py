"""Bins of several queries side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mascot.bins.axis import AxisBins
from mascot.bins.base import Bins
from mascot.bins.globe import GlobeBins
from mascot.bins.sparse import SparseBins


def join_bins(parts: Sequence[Bins]) -> Bins:
    """Return the rows of all parts, one part after the other.

    Kernels look at one query at a time, so bins of different parts may share numbers; names are taken from the parts.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, AxisBins) and all(isinstance(p, AxisBins) and p.axes == first.axes for p in parts):
        columns = zip(*(p.values for p in parts if isinstance(p, AxisBins)), strict=True)
        return replace(first, values=tuple(np.concatenate(column) for column in columns))
    if isinstance(first, GlobeBins) and all(isinstance(p, GlobeBins) and p.sigma_km == first.sigma_km for p in parts):
        globes = [p for p in parts if isinstance(p, GlobeBins)]
        return replace(first, lat=np.concatenate([p.lat for p in globes]), lon=np.concatenate([p.lon for p in globes]))
    rows = [part.sparse() for part in parts]
    starts = np.cumsum([0, *(len(part.indices) for part in rows)])
    all_ones = all(part.values is None for part in rows)
    return SparseBins(
        indptr=np.concatenate([[0], *(part.indptr[1:] + at for part, at in zip(rows, starts, strict=False))]),
        indices=np.concatenate([part.indices for part in rows]),
        values=None if all_ones else np.concatenate([_values(part) for part in rows]),
        count=max(part.count for part in rows),
    )


def _values(bins: SparseBins) -> np.ndarray:
    return np.ones(len(bins.indices)) if bins.values is None else bins.values
