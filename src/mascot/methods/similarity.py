"""Feature rows to similarities: of all pairs, or of one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mascot.kernels.reference import Floats

_FEW_COLUMNS = 8  # up to here differences are as fast as a matrix product, and exact
_CLOSE = 1e-7  # squared distances below this share of the largest squared length are computed again, exactly
_PAIRS_AT_ONCE = 4096


class Similarity:
    """Similarities S_ij = 1 / (1 + Euclidean distance of rows i and j) of rows [N, d], the kernel of every DPP here.

    S is positive semi-definite, its diagonal is exactly 1, and two equal rows have similarity exactly 1.
    """

    def __init__(self, rows: Floats) -> None:
        self._rows, self._squares = rows, (rows * rows).sum(axis=-1)

    def of(self, start: int, end: int) -> Floats:
        """Return the similarities [end - start, N] of some rows to all rows."""
        rows, near = self._rows, self._rows[start:end]
        if rows.shape[-1] <= _FEW_COLUMNS:
            squared = np.zeros((len(near), len(rows)))
            for column in rows.T:
                squared += (column[start:end, None] - column) ** 2
        else:
            squared = near @ rows.T
            squared *= -2.0
            squared += self._squares[start:end, None]
            squared += self._squares
            # |a|^2 + |b|^2 - 2ab cancels for near-equal rows: a copy would be at distance 1e-8 instead of 0.
            first, second = np.nonzero(squared <= _CLOSE * self._squares.max())
            for at in range(0, len(first), _PAIRS_AT_ONCE):
                pairs = first[at : at + _PAIRS_AT_ONCE], second[at : at + _PAIRS_AT_ONCE]
                squared[pairs] = ((near[pairs[0]] - rows[pairs[1]]) ** 2).sum(axis=-1)
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
