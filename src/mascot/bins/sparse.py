"""Bins as explicit (bin, value) pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mascot.kernels.constants import CUTOFF
from mascot.kernels.native.pack import LABELS, PackedBins
from mascot.kernels.objective import Bools, Floats, Ints


@dataclass(eq=False, slots=True)
class SparseBins:
    """Explicit bins: row i has bins `indices[indptr[i]:indptr[i + 1]]` with `values` in (0, 1].

    `values` is None if every membership is 1. `labels` are the names of the bins, or None.
    """

    indptr: Ints
    indices: Ints
    values: Floats | None
    count: int  # bins
    labels: tuple[str, ...] | None = None

    @property
    def rows(self) -> int:
        return len(self.indptr) - 1

    def missing(self, rows: Ints | None = None) -> Bools:
        if rows is None:
            return np.diff(self.indptr) == 0
        return np.asarray(self.indptr[rows + 1] == self.indptr[rows])

    def name(self, bin_: int) -> str:
        return f"bin {bin_}" if self.labels is None else self.labels[bin_]

    def take(self, rows: Ints) -> SparseBins:
        starts = self.indptr[rows]
        counts = self.indptr[rows + 1] - starts
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts, out=indptr[1:])
        pairs = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
        values = None if self.values is None else self.values[pairs]
        return replace(self, indptr=indptr, indices=self.indices[pairs], values=values)

    def resolve(self) -> SparseBins:
        return self

    def sparse(self) -> SparseBins:
        return self

    def packed(self) -> PackedBins:
        return PackedBins(LABELS, indptr=self.indptr, indices=self.indices, values=self.values)

    def dense(self) -> Floats:
        """Return the rows as an N x bins matrix. For small problems only."""
        matrix = np.zeros((self.rows, self.count))
        owner = np.repeat(np.arange(self.rows), np.diff(self.indptr))
        matrix[owner, self.indices] = 1.0 if self.values is None else self.values
        return matrix

    def compact(self) -> tuple[SparseBins, Ints]:
        """Return the same rows over the bins that occur, in ascending order, and the numbers of those bins."""
        used = np.unique(self.indices)
        return replace(self, indices=np.searchsorted(used, self.indices), count=len(used), labels=None), used


def one_hot(codes: Ints, count: int, labels: tuple[str, ...]) -> SparseBins:
    """Return one whole bin per row; code -1 is a missing value."""
    if not len(codes) or codes.item(codes.argmin()) >= 0:  # faster than min
        return SparseBins(np.arange(len(codes) + 1), codes, None, count, labels)
    valued = codes >= 0
    indptr = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(valued, out=indptr[1:])
    return SparseBins(indptr, codes[valued].astype(np.int64), None, count, labels)


def from_pairs(row: Ints, bin_: Ints, value: Floats, rows: int, count: int) -> SparseBins:
    """Return sparse rows from (row, bin, value) triples sorted by row; memberships below the cutoff are dropped."""
    real = value >= CUTOFF
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[real], minlength=rows))]).astype(np.int64)
    return SparseBins(indptr, bin_[real], value[real], count)


def ranges(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return, for each i, the integers first[i] .. first[i] + counts[i] - 1, flattened, with their owner i."""
    ends = np.cumsum(counts)
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, first[owner] + np.arange(int(ends[-1]) if len(ends) else 0) - (ends - counts)[owner]
