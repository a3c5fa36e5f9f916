"""Determinantal point processes: the kernel L of a query, and the greedy set of largest determinant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mascot.bench.datasets.dataset import Floats, Ints

_LARGEST_EXPONENT = 200.0  # of a quality; L holds products of two, and Cholesky updates square those
_ROUNDING = 1e-10  # a marginal variance below this share of the diagonal is rounding: the candidate is a copy
_TIE = 1e-10  # variances this close are a tie: eigenvectors leave equal candidates some 1e-13 apart
_RELEASED_EPSILON = 1e-10


def qualities(scores: Floats, theta: float) -> Floats:
    """Return quality alpha_i = exp(theta / (2 (1 - theta)) * r_i) of scores r [N], 0 <= theta < 1.

    Scores whose quality would overflow (or all underflow) are shifted by a constant first: that scales all of L, which
    does not change the exact greedy selection.
    """
    exponents = theta / (2.0 * (1.0 - theta)) * scores
    largest = exponents.max()
    return np.asarray(np.exp(exponents - (largest - np.clip(largest, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))))


def greedy_map(
    row: Callable[[int], Floats], diagonal: Floats, scores: Floats, k: int, already: Ints, released: bool
) -> Ints:
    """Return the greedy maximum-a-posteriori set of a DPP, by incremental Cholesky (Chen et al., 2018).

    `row` returns a row of L, which is needed only for candidates that are taken, and `diagonal` is that of L.
    Every step takes the candidate i with the largest marginal variance d_i^2 = det L[Y+i] / det L[Y];
    ties go to the lowest position. With c_i the row of i in the Cholesky factor of the chosen set Y,
    taking j updates

        e_i = (L_ji - c_j . c_i) / d_j,    c_i <- [c_i, e_i],    d_i^2 <- d_i^2 - e_i^2.

    The first step takes the largest diagonal entry, whatever its sign. Once no marginal variance is
    positive, the highest raw score is taken instead. Candidates in `already` count as taken before the first
    step, so a second page continues the first.

    With `released`, divide by d_j^2 + 1e-10 in place of d_j, as the published experiments did. Repulsion is then
    weaker where the entries of L exceed 1, the values are no longer determinants, and the scale of the scores matters.
    """
    variance = diagonal.copy()  # -inf: taken, or no longer positive
    floor = _ROUNDING * np.abs(variance)
    spare_scores = scores.copy()  # of the candidates not selected yet
    steps = min(len(already) + k, len(scores))
    factors = np.zeros((steps, len(scores)))
    picks = np.empty(steps, np.int64)
    for step in range(steps):
        pick = int(already[step]) if step < len(already) else _pick(variance, spare_scores)
        picks[step], pick_variance = pick, variance[pick]
        variance[pick] = spare_scores[pick] = -np.inf
        if step + 1 < steps and pick_variance > 0:  # a pick without positive variance updates nothing
            divisor = pick_variance + _RELEASED_EPSILON if released else np.sqrt(pick_variance)
            # Products are summed candidate by candidate: BLAS would give equal candidates unequal sums.
            explained = (factors[:step, pick, None] * factors[:step]).sum(axis=0)
            factors[step] = (row(pick) - explained) / divisor
            variance -= factors[step] * factors[step]
        # From the first pick on, which is selected whatever its variance.
        variance[~(variance > floor)] = -np.inf
    return picks[len(already) :]


def _pick(variance: Floats, spare_scores: Floats) -> int:
    """Return the position of the largest variance or, if none is left, of the highest score."""
    best = variance.max()
    if best == -np.inf:
        return int(spare_scores.argmax())
    return int((variance >= best - _TIE * np.abs(best)).argmax())
