"""The law: what MASCOT selects, in numpy and float64, written to be read.

Gains closer together than `TIE` of the query's scale are equal, and equal gains go to the lowest position.
So rounding never decides: bursts, mirrored places and one-hot bins tie exactly here and in every other backend.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TIE = 1e-10


def normalized(scores: Floats) -> Floats:
    """Scores between 0 and 1: (r - min) / (max - min + 1e-8)."""
    low = scores.min()
    return np.asarray((scores - low) / (scores.max() - low + 1e-8))


def peak_relevance(membership: Floats, relevance: Floats) -> Floats:
    """Query weight of each bin: the largest membership times relevance, omega[u] = max_j p[j,u] r[j]."""
    return np.asarray(np.maximum((membership * relevance[:, None]).max(axis=0), 0.0))


def mean_membership(membership: Floats, missing: Bools) -> Floats:
    """What a candidate of unknown value covers if its value is drawn from the others'."""
    known = membership[~missing]
    return np.asarray(known.mean(axis=0)) if len(known) else np.zeros(membership.shape[1])


def covered(state: Floats, membership: Floats) -> Floats:
    """What is left to cover in each bin after these rows: state * prod_i (1 - p[i])."""
    for row in membership:
        state = state * (1 - row)
    return state


def greedy(base: Floats, membership: Floats, state: Floats, chosen: Ints, closed: Ints, k: int, tie: float) -> Ints:
    """Choose k rows, one after the other, each with the largest base + sum_u membership * state.

    Parameters
    ----------
    base : [N] gain that no choice changes
    membership : [N, U]
    state : [U] worth of what is left to cover, negative where covering costs
    chosen : rows chosen beforehand, in this order; they count towards k, the state already knows them
    closed : rows that may not be chosen
    tie : gains this close are equal
    """
    positions = [int(i) for i in chosen[:k]]
    shut = np.zeros(len(base), bool)
    shut[closed] = shut[positions] = True
    while len(positions) < min(k, len(base) - len(closed)):
        # Row sums, not a matrix product: BLAS gives equal rows different sums.
        gains = np.where(shut, -np.inf, base + (membership * state).sum(axis=1))
        best = int(np.argmax(gains >= gains.max() - tie))
        positions.append(best)
        shut[best] = True
        state = state * (1 - membership[best])
    return np.array(positions, dtype=np.int64)
