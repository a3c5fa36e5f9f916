"""Feature rows to similarities: of all pairs, or of one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mascot.kernels.reference import Floats

_FEW_COLUMNS = 8  # up to here differences are as fast as a matrix product, and exact
_CLOSE = 1e-7  # squared distances below this share of the largest squared length are computed again, exactly
_PAIRS_AT_ONCE = 4096


def similarities(features: Floats, out: Floats | None = None) -> Floats:
    """Return S_ij = 1 / (1 + Euclidean distance of rows i and j) [N, N], the kernel of every DPP here.

    It is positive semi-definite for any rows [N, d], its diagonal is exactly 1, and two equal rows have similarity
    exactly 1.
    """
    matrix = np.empty((len(features), len(features))) if out is None else out
    _squared_distances(features, matrix)
    np.sqrt(matrix, out=matrix)
    matrix += 1.0
    return np.reciprocal(matrix, out=matrix)


class Similarity:
    """The same similarities, row by row: time and memory are linear in the number of rows [N, d]."""

    def __init__(self, rows: Floats) -> None:
        self._rows, self._lengths = rows, np.einsum("nd,nd->n", rows, rows)  # squared

    def of(self, position: int) -> Floats:
        """Return the similarities [N] of one row to all rows."""
        squared = self._lengths + self._lengths[position] - 2.0 * (self._rows @ self._rows[position])
        close = np.flatnonzero(squared <= _CLOSE * self._lengths.max())
        squared[close] = ((self._rows[close] - self._rows[position]) ** 2).sum(axis=-1)
        return np.asarray(1.0 / (1.0 + np.sqrt(squared)))


def joined(features: Sequence[Floats], signs: Floats, weights: Floats, vectors: Floats | None) -> Floats:
    """Return one row per candidate: [unit image vector, (s_j w_j / sum w) * features of each attribute j].

    With all weights 1 the factors are the published s_j / A. `features` are A arrays [N, d_j].
    """
    blocks = [] if vectors is None else [vectors]
    if len(weights):
        factors = signs * weights / weights.sum()
        blocks += [factor * block for factor, block in zip(factors, features, strict=True)]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=-1)


def _squared_distances(rows: Floats, squared: Floats) -> None:
    if rows.shape[-1] <= _FEW_COLUMNS:
        squared[...] = 0.0
        differences = np.empty_like(squared)
        for column in rows.T:
            np.subtract(column[:, None], column, out=differences)
            differences *= differences
            squared += differences
        return
    lengths = (rows * rows).sum(axis=-1)
    np.matmul(rows, rows.T, out=squared)
    squared *= -2.0
    squared += lengths[:, None]
    squared += lengths
    np.fill_diagonal(squared, 0.0)
    # |a|^2 + |b|^2 - 2ab cancels for near-equal rows: a copy would be at distance 1e-8 instead of 0.
    first, second = np.nonzero((squared <= _CLOSE * lengths.max()) & (squared != 0.0))
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        pairs = first[start : start + _PAIRS_AT_ONCE], second[start : start + _PAIRS_AT_ONCE]
        difference = rows[pairs[0]] - rows[pairs[1]]
        squared[pairs] = (difference * difference).sum(axis=-1)
