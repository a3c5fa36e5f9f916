"""Determinantal point processes: the kernel L of a query, and the greedy set of largest determinant."""

from __future__ import annotations

import numpy as np

from mascot.kernels.reference import Floats, Ints

_LARGEST_EXPONENT = 200.0  # of a quality; L holds products of two, and Cholesky updates square those
_ROUNDING = 1e-10  # a marginal variance below this share of the diagonal is rounding: the candidate is a copy
_TIE = 1e-10  # variances this close are a tie: eigenvectors leave equal candidates some 1e-13 apart
_RELEASED_EPSILON = 1e-10


def ensemble(similarity: Floats, scores: Floats, theta: float) -> Floats:
    """Return L = diag(alpha) S diag(alpha) with quality alpha_i = exp(theta / (2 (1 - theta)) * r_i), r raw.

    S is [..., N, N], scores [..., N], 0 <= theta < 1. Scores whose quality would overflow (or all underflow) are
    shifted by a constant first: that scales all of L, which does not change the exact greedy selection.
    """
    exponents = theta / (2.0 * (1.0 - theta)) * scores
    largest = exponents.max(axis=-1, keepdims=True)
    exponents = exponents - (largest - np.clip(largest, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
    quality = np.exp(exponents)
    kernel: Floats = similarity * quality[..., :, None]
    kernel *= quality[..., None, :]
    return kernel


def greedy_map(kernels: Floats, scores: Floats, k: int, seen: Ints, released: bool = False) -> Ints:
    """Return the greedy maximum-a-posteriori set of each DPP, by incremental Cholesky (Chen et al., 2018).

    Every step takes the candidate i with the largest marginal variance d_i^2 = det L[Y+i] / det L[Y];
    ties go to the lowest position. With c_i the row of i in the Cholesky factor of the chosen set Y,
    taking j updates

        e_i = (L_ji - c_j . c_i) / d_j,    c_i <- [c_i, e_i],    d_i^2 <- d_i^2 - e_i^2.

    The first step takes the largest diagonal entry, whatever its sign. Once no marginal variance is
    positive, the highest raw score is taken instead. Seen candidates count as taken before the first
    step, so a second page continues the first. Returns positions [Q, min(k, N)]; -1 where a query had fewer left.

    Parameters
    ----------
    kernels, scores
        L [Q, N, N] of each query, and raw scores [Q, N], for filling up.
    seen
        [Q, S] positions taken before, in their order; -1 is no position, so rows may differ in length.
    released
        Divide by d_j^2 + 1e-10 in place of d_j, as the published experiments did. Repulsion is then
        weaker where the entries of L exceed 1, the values are no longer determinants, and the scale
        of the scores matters.
    """
    queries, count, _ = kernels.shape
    query_index = np.arange(queries)
    # The last column of both stands for no position, -1: it has no value, and selecting it changes nothing.
    variance = np.full((queries, count + 1), -np.inf)  # -inf: taken, or no longer positive
    variance[:, :count] = np.diagonal(kernels, axis1=1, axis2=2)
    floor = _ROUNDING * np.abs(variance)
    spare_scores = np.full((queries, count + 1), -np.inf)  # scores of the candidates not selected yet
    spare_scores[:, :count] = scores
    seen_count = seen.shape[1]
    steps = seen_count + min(k, count)
    factors = np.zeros((queries, steps, count))
    picks = np.empty((queries, steps), np.int64)
    for step in range(steps):
        pick = seen[:, step] if step < seen_count else _pick(variance, spare_scores)
        picks[:, step] = pick
        pick_variance = variance[query_index, pick]
        variance[query_index, pick] = -np.inf
        spare_scores[query_index, pick] = -np.inf
        if step + 1 < steps and pick_variance.max() > 0:
            # A pick without positive variance updates nothing.
            pick_variance = np.where(pick_variance > 0, pick_variance, np.inf)
            divisor = pick_variance + _RELEASED_EPSILON if released else np.sqrt(pick_variance)
            # Products are summed candidate by candidate: BLAS would give equal candidates unequal sums.
            explained = (factors[query_index, :step, pick][:, :, None] * factors[:, :step]).sum(axis=1)
            update = (kernels[query_index, pick] - explained) / divisor[:, None]
            factors[:, step] = update
            variance[:, :count] -= update * update
        # From the first pick on, which is selected whatever its variance.
        variance[~(variance > floor) & (pick >= 0)[:, None]] = -np.inf
    return picks[:, seen_count:]


def _pick(variance: Floats, spare: Floats) -> Ints:
    """Return the position of the largest variance, else of the highest score; -1 where no candidate is left."""
    best = variance.max(axis=1)
    pick = (variance >= (best - _TIE * np.abs(best))[:, None]).argmax(axis=1)
    if best.min() == -np.inf:
        by_score = np.where(spare.max(axis=1) == -np.inf, -1, spare.argmax(axis=1))
        pick = np.where(best == -np.inf, by_score, pick)
    return np.asarray(pick)
