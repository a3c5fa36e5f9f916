"""Vectors, which are compared with one another and have no bins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mascot.bins.sparse import SparseBins
from mascot.errors import OptionError
from mascot.kernels.native.pack import VECTORS, PackedBins
from mascot.kernels.novelty import UnitRows
from mascot.kernels.reference import Bools, Floats, Ints

_SAFE = 1e-15, 1e15  # lengths whose squares float32 holds


@dataclass(frozen=True, eq=False, slots=True)
class VectorBins:
    """Vectors of N rows in float32, with their lengths. They take the place of `Bins` where vectors are compared."""

    unit: UnitRows
    copies: float  # cosine from which two rows are near-copies

    @property
    def rows(self) -> int:
        return len(self.unit.inverse)

    def missing(self, rows: Ints | None = None) -> Bools:
        return np.asarray((self.unit.inverse if rows is None else self.unit.inverse[rows]) == 0)

    def name(self, bin_: int) -> str:
        raise OptionError("Vectors have no bins to name")

    def take(self, rows: Ints) -> VectorBins:
        return replace(self, unit=self.unit.take(rows))

    def resolve(self) -> VectorBins:
        return self

    def sparse(self) -> SparseBins:
        raise OptionError("Vectors have no bins: use Clusters where an attribute must have some")

    def packed(self) -> PackedBins:
        return PackedBins(VECTORS, vectors=self.unit.vectors, inverse=self.unit.inverse)

    def cosines(self, point: VectorBins, rows: Ints | None, which: Ints | None = None) -> Floats:
        """Return the cosine of rows (default: all) and rows `which` of the point (default: its only row).

        The cosine of a missing vector is NaN.
        """
        taken = np.arange(self.rows) if rows is None else rows
        targets = point.unit.of(np.zeros(len(taken), np.int64) if which is None else which)
        cosines = (self.unit.of(taken) * targets).sum(axis=1)
        return np.where(self.missing(taken), np.nan, cosines)


def unit_rows(vectors: NDArray[np.floating]) -> UnitRows:
    """Return vectors in float32 with their lengths. NaN and zeros, which have no direction, are missing vectors."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        rows = np.ascontiguousarray(vectors, np.float32)
        lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
        unsafe = np.flatnonzero(~((lengths > _SAFE[0]) & (lengths < _SAFE[1])))
        if len(unsafe):  # missing, or out of the range of float32: scaled to length 1 in float64
            exact = vectors[unsafe].astype(np.float64)
            peaks = np.abs(exact).max(axis=1, keepdims=True, initial=0.0)
            exact /= np.where(peaks > 0, peaks, 1.0)
            exact /= np.sqrt((exact * exact).sum(axis=1, keepdims=True))
            rows, lengths = rows.copy(), lengths.copy()
            rows[unsafe], lengths[unsafe] = exact, np.where(np.isnan(exact).any(axis=1), np.inf, 1.0)
    return UnitRows(rows, 1 / lengths.astype(np.float64))
