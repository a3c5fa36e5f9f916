"""The reference implementation: what MASCOT selects, in numpy and float64, written to be read.

Gains closer together than `TIE` of the query's scale are equal, and equal gains go to the lowest position. Rounding
therefore never decides: bursts, mirrored places and one-hot bins tie exactly here and in every other backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import EPSILON, FENCE, FEW

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STAGES = 3  # of selection: all quotas hold, then all but shares, then only limits without fill


@dataclass(slots=True)
class Selection:
    """What was selected for Q queries; -1 pads where a query has fewer than k results."""

    positions: Ints  # [Q, k] in the order of selection
    ranked: Ints  # [Q, k] the same positions, best first
    strengths: Floats  # [Q] the strength that was used (searched for, where `keep` was asked for)
    multipliers: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [Q, A] worth of one unit of coverage
    tops: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [Q, A] largest first-step coverage
    rooms: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [Q, A] share of a bin that one result covers
    stages: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # [Q] stages the quotas needed
    protect: int = 0  # how many by relevance were selected first
    pinned: int = 0  # how many the caller selected, before all others

    def only(self, q: int) -> Selection:
        """Return one query's selection, without padding."""
        count, own = int((self.positions[q] >= 0).sum()), slice(q, q + 1)  # a slice of an empty array is empty
        return replace(
            self, positions=self.positions[own, :count], ranked=self.ranked[own, :count], strengths=self.strengths[own],
            multipliers=self.multipliers[own], tops=self.tops[own], rooms=self.rooms[own], stages=self.stages[own],
        )  # fmt: skip

    def after(self, pinned: Ints, count: int) -> Selection:
        """Return one query's pinned positions and, behind them, at most `count` of those selected."""
        picks, arranged = (row[0][row[0] >= 0][:count] for row in (self.positions, self.ranked))
        positions, ranked = np.concatenate([pinned, picks])[None], np.concatenate([pinned, arranged])[None]
        return replace(self, positions=positions, ranked=ranked, pinned=len(pinned))


def inner_range(scores: Floats) -> tuple[float, float]:
    """Return the lowest and highest score that is not a far outlier.

    A score is a far outlier when it lies more than ten interquartile ranges outside the quartiles. Half scores are
    compared, because the range of finite scores may not be finite.
    """
    low, high = float(scores.min()), float(scores.max())
    count = len(scores)
    if count < FEW:
        return low, high
    halves = np.sort(scores) / 2
    first, third = float(halves[(count - 1) // 4]), float(halves[3 * (count - 1) // 4])  # floats overflow silently
    fence = FENCE * (third - first)
    if not fence > 0:
        return low, high
    inside = scores[(scores / 2 >= first - fence) & (scores / 2 <= third + fence)]
    return float(inside.min()), float(inside.max())


def normalized(scores: Floats, robust: bool = False) -> Floats:
    """Return scores rescaled to 0..1: (r - low) / (high - low + 1e-8).

    With `robust`, far outliers count as the outermost of the other scores.
    """
    low, high = inner_range(scores) if robust else (float(scores.min()), float(scores.max()))
    return np.asarray((np.clip(scores, low, high) / 2 - low / 2) / (high / 2 - low / 2 + EPSILON / 2))


def by_relevance(relevance: Floats, scores: Floats) -> Ints:
    """Return positions, best first: by relevance, then by score, then by position."""
    return np.lexsort((-scores, -relevance)).astype(np.int64)


def peak_relevance(membership: Floats, relevance: Floats) -> Floats:
    """Return the query weight of each bin: the largest membership times relevance, omega[u] = max_j p[j,u] r[j]."""
    return np.asarray(np.maximum((membership * relevance[:, None]).max(axis=0), 0.0))


def mean_membership(membership: Floats, missing: Bools) -> Floats:
    """Return what a candidate of unknown value covers if its value is drawn from the others'."""
    valued = membership[~missing]
    return np.asarray(valued.mean(axis=0)) if len(valued) else np.zeros(membership.shape[1])


def room(membership: Floats, k: int) -> float:
    """Return how much of a bin one whole membership covers, so that an even list of k results fills every bin.

    In an even list a bin gets `results_per_bin` results: each covers that part of it, or all of it.
    """
    peaks = float(membership.max(axis=0, initial=0.0).sum())
    if peaks <= 0:
        return 1.0
    results_per_bin = k * float(membership.sum()) / len(membership) / peaks
    return 1.0 if results_per_bin <= 1 else 1 / results_per_bin


def covered(state: Floats, membership: Floats, fade: float | Floats = 1.0) -> Floats:
    """Return what is left to cover in each bin after these rows: state * prod_i (1 - fade * p[i])."""
    for row in membership:
        state = state * (1 - fade * row)
    return state


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `capacity[label]` results for each label.

    Row r has the labels `labels[indptr[r]:indptr[r + 1]]`, numbers from 0. A quota holds in the first `stages` of the
    three stages of selection: 1 for a share, 2 for a limit that may be filled up, 3 for a limit that is never exceeded.
    """

    indptr: Ints
    labels: Ints
    capacity: Ints
    stages: int

    def of(self, row: int) -> Ints:
        return self.labels[self.indptr[row] : self.indptr[row + 1]]


class QuotaCounts:
    """Results so far for each label of each quota, over the candidates `rows`."""

    def __init__(self, quotas: Sequence[Quota], rows: Ints) -> None:
        self._quotas, self._rows = quotas, rows
        self._counts = [np.zeros(len(quota.capacity), np.int64) for quota in quotas]

    def allows(self, position: int, stage: int) -> bool:
        row = int(self._rows[position])
        return all(
            stage >= quota.stages or bool((counts[quota.of(row)] < quota.capacity[quota.of(row)]).all())
            for quota, counts in zip(self._quotas, self._counts, strict=True)
        )

    def allowed(self, positions: Bools, stage: int) -> Bools:
        """Return which of the positions the quotas allow."""
        if all(stage >= quota.stages for quota in self._quotas):
            return positions
        return np.array([bool(free) and self.allows(i, stage) for i, free in enumerate(positions)])

    def add(self, position: int) -> None:
        for quota, counts in zip(self._quotas, self._counts, strict=True):
            counts[quota.of(int(self._rows[position]))] += 1


def protected(order: Ints, count: int, seen: Ints, k: int, quotas: QuotaCounts) -> Ints:
    """Return the first `count` positions of `order` that the quotas allow; of those the ones not yet seen."""
    heads: list[int] = []
    for position in order:
        if count <= 0 or len(heads) >= k:
            break
        fresh = position not in seen
        if fresh and not quotas.allows(int(position), 0):
            continue
        count -= 1
        if fresh:
            heads.append(int(position))
            quotas.add(int(position))
    return np.array(heads, np.int64)


def select_stages(
    heads: Ints, closed: Ints, count: int, k: int, quotas: QuotaCounts, choose: Callable[[Bools], int]
) -> tuple[Ints, int]:
    """Return up to k positions, the heads first, and how many stages the quotas needed.

    `choose(open)` returns the best of the open candidates and is told of every choice by being called once each.
    """
    positions: list[int] = []
    selected = np.zeros(count, bool)
    selected[closed] = True
    stage = 0
    while len(positions) < min(k, count - len(closed)):
        if len(positions) < len(heads):
            allowed = np.zeros(count, bool)
            allowed[heads[len(positions)]] = True
        else:
            allowed = quotas.allowed(~selected, stage)
            if not allowed.any():
                if stage == STAGES - 1:
                    break
                stage += 1
                continue
        best = choose(allowed)
        positions.append(best)
        selected[best] = True
        quotas.add(best)
    return np.array(positions, np.int64), stage + 1


def greedy(
    base: Floats, membership: Floats, state: Floats, fade: Floats, heads: Ints, closed: Ints, k: int, tie: float,
    quotas: QuotaCounts,
) -> tuple[Ints, int]:  # fmt: skip
    """Return k positions, each with the largest base + sum_u membership * state, and the stages that were needed.

    `base` [N] is the gain that no choice changes, `state` [U] the worth of what is left to cover, negative where
    covering costs, `fade` [U] how much of a bin a whole membership [N, U] covers. `heads` are chosen first and count
    towards k; `closed` may not be chosen; gains closer than `tie` are equal.
    """
    remaining = state.copy()

    def choose(allowed: Bools) -> int:
        # Row sums, not a matrix product: BLAS gives equal rows different sums.
        gains = np.where(allowed, base + (membership * remaining).sum(axis=1), -np.inf)
        best = int(np.argmax(gains >= gains.max() - tie))
        remaining[:] = remaining * (1 - fade * membership[best])
        return best

    return select_stages(heads, closed, len(base), k, quotas, choose)
