"""Maximal marginal relevance on arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def greedy_mmr(rows: Floats, scores: Floats, strength: float, k: int, seen: Ints) -> Ints:
    """Take, k times, the largest (1 - strength) * r_i - strength * (largest similarity to those taken).

    Similarities are dot products of rows, min-max scaled to 0..1 over the whole N x N matrix of the
    query (all 0 where they are all equal). Where nothing was taken before, the highest score is first.

    Parameters
    ----------
    rows : array of shape [Q, N, D]
    scores : array of shape [Q, N]
        Raw scores.
    strength : float
    k : int
    seen : array of shape [Q, S]
        Positions taken before; -1 is no position, so rows may differ in length.

    Returns
    -------
    array of shape [Q, min(k, N)]
        Positions in the order they were taken; -1 where a query had fewer left.
    """
    queries, count, _ = rows.shape
    query_index = np.arange(queries)
    products = rows @ np.swapaxes(rows, -1, -2)
    lowest = products.min(axis=(1, 2))[:, None]
    span = products.max(axis=(1, 2))[:, None] - lowest
    span = np.where(span > 0, span, np.inf)
    factor = strength / span
    relevance = (1.0 - strength) * scores
    nearest = np.repeat(lowest, count, axis=1)  # product with the most similar one taken
    has_picks = np.zeros(queries, np.bool_)
    seen_count = seen.shape[1]
    steps = seen_count + min(k, count)
    picks = np.empty((queries, steps), np.int64)
    available = np.ones((queries, count), np.bool_)
    for step in range(steps):
        if step < seen_count:
            pick = seen[:, step]
        else:
            worth = np.where(has_picks[:, None], relevance - factor * (nearest - lowest), scores)
            pick = np.where(available, worth, -np.inf).argmax(axis=1)
            pick = np.where(available.any(axis=1), pick, -1)
        picks[:, step] = pick
        real = pick >= 0
        available[query_index[real], pick[real]] = False
        if step < steps - 1:
            # Summed row by row: BLAS would give equal candidates unequal similarities.
            product = np.einsum("qnd,qd->qn", rows, rows[query_index, pick])
            np.maximum(nearest, product, out=nearest, where=real[:, None])
            has_picks |= real
    return picks[:, seen_count:]
