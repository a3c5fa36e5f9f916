"""What the baselines compare: features joined to one row per candidate, and similarities of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mascot.bench.datasets.dataset import Floats

_FEW_COLUMNS = 8  # up to here differences are as fast as a matrix product, and exact
_CLOSE = 1e-7  # squared distances below this share of the largest squared length are computed again, exactly
_PAIRS_AT_ONCE = 4096


def joined_features(problem: Any, q: int) -> Floats:
    """Return [unit image vector, (s_j w_j / sum w) * features of each attribute j] of one query's candidates.

    With all weights 1 the factors are the published s_j / A.
    """
    vectors = problem.unit_vectors_of(q)
    blocks = [] if vectors is None else [vectors]
    factors = problem.signs * problem.weights / problem.weights.sum()
    blocks += [factor * features for factor, features in zip(factors, problem.features_of(q), strict=True)]
    return np.concatenate(blocks, axis=1)


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
