"""Vectors, which are compared with one another and have no bins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mascot.bins.sparse import SparseBins
from mascot.errors import OptionError
from mascot.kernels.native.pack import VECTORS, PackedBins
from mascot.kernels.novelty import UnitRows, cosine_range
from mascot.kernels.reference import Bools, Floats, Ints

_SAMPLE = 48  # candidates of a query whose cosines set the scale
_SAFE = 1e-15, 1e15  # lengths whose squares float32 holds


@dataclass(frozen=True, eq=False, slots=True)
class VectorBins:
    """Vectors of N rows in float32, with their lengths. They take the place of `Bins` where vectors are compared."""

    unit: UnitRows
    copies: float  # cosine from which two rows are near-copies
    ranges: Floats | None = None  # [Q, 2] the cosines of each query's candidates that count as 0 and as 1

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

    def only(self, q: int) -> VectorBins:
        """Return the vectors with the range of one query."""
        return replace(self, ranges=None if self.ranges is None else self.ranges[q : q + 1])

    def range_of(self, q: int) -> tuple[float, float]:
        """Return the cosines of one query's candidates that count as 0 and as 1."""
        assert self.ranges is not None
        return float(self.ranges[q, 0]), float(self.ranges[q, 1])

    def packed(self) -> PackedBins:
        return PackedBins(VECTORS, vectors=self.unit.vectors, inverse=self.unit.inverse, ranges=self.ranges)

    def cosines(self, point: VectorBins, rows: Ints | None, which: Ints | None = None) -> Floats:
        """Return the cosine of rows (default: all) and rows `which` of the point (default: its only row).

        The cosine of a missing vector is NaN.
        """
        taken = np.arange(self.rows) if rows is None else rows
        targets = point.unit.of(np.zeros(len(taken), np.int64) if which is None else which)
        cosines = (self.unit.of(taken) * targets).sum(axis=1)
        return np.where(self.missing(taken), np.nan, cosines)

    def scaled_for(self, ptr: Ints, rows: Ints | None, scores: Floats) -> VectorBins:
        """Return the vectors with the range of cosines of each query.

        It is the range of a sample of the candidates, evenly spaced by rank, so that its cost does not depend on N.
        """
        ranges = np.empty((len(ptr) - 1, 2))
        for q, (start, end) in enumerate(zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)):
            order = np.argsort(-scores[start:end], kind="stable") + start
            ranked = order if rows is None else rows[order]
            ranked = ranked[self.unit.inverse[ranked] > 0]
            sample = ranked[np.arange(min(_SAMPLE, len(ranked))) * len(ranked) // min(_SAMPLE, max(len(ranked), 1))]
            ranges[q] = cosine_range(self.unit.of(sample))
        return replace(self, ranges=ranges)


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
