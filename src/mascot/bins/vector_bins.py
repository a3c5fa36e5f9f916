"""Vectors, which are compared with one another and have no bins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.bins.sparse import SparseBins
from mascot.errors import OptionError
from mascot.kernels.counters import unit_vectors
from mascot.kernels.native.pack import VECTORS, PackedBins
from mascot.kernels.objective import Bools, Floats, Ints

_SAFE = 1e-30, 1e30  # largest numbers of vectors that float32 holds with all digits


@dataclass(frozen=True, eq=False, slots=True)
class VectorBins:
    """Vectors of N rows in float32, in the place of bins. NaN and zeros, which have no direction, are missing."""

    vectors: NDArray[np.float32]  # [N, D]
    copies: float = 1.0  # cosine from which two rows are near-copies

    @property
    def rows(self) -> int:
        return len(self.vectors)

    def missing(self, rows: Ints | None = None) -> Bools:
        return np.asarray(~unit_vectors(self.vectors if rows is None else self.vectors[rows]).any(axis=1))

    def name(self, bin_: int) -> str:
        raise OptionError("Vectors have no bins to name")

    def take(self, rows: Ints) -> VectorBins:
        return replace(self, vectors=self.vectors[rows])

    def resolve(self) -> VectorBins:
        return self

    def sparse(self) -> SparseBins:
        raise OptionError("Vectors have no bins: use Clusters where an attribute must have some")

    def packed(self) -> PackedBins:
        return PackedBins(VECTORS, vectors=self.vectors, copies=self.copies)

    def cosines(self, point: VectorBins, rows: Ints | None, which: Ints | None = None) -> Floats:
        """Return the cosine of rows (default: all) and rows `which` of the point (default: its only row).

        The cosine of a missing vector is NaN.
        """
        unit, targets = unit_vectors(self.vectors if rows is None else self.vectors[rows]), unit_vectors(point.vectors)
        cosines = (unit * (targets[:1] if which is None else targets[which])).sum(axis=1)
        return np.where(unit.any(axis=1), cosines, np.nan)


def single_precision(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return vectors [N, D] in float32. Rows whose numbers are too large or too small for it are scaled first."""
    if vectors.dtype != np.float32:
        peaks = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
        unsafe = (peaks > _SAFE[1]) | ((peaks < _SAFE[0]) & (peaks > 0))
        if unsafe.any():
            vectors = np.where(unsafe, vectors / np.where(unsafe, peaks, 1.0), vectors)
    return np.ascontiguousarray(vectors, np.float32)
