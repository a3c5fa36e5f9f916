"""Limits and shares: the part of the reference implementation that decides which candidates quotas allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.novelty import CopyQuota, QueryVectors

_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]

MOST_QUOTAS = 64  # limits and shares in one call
STAGES = 3  # of selection: all quotas hold, then all but shares, then only limits without fill
_FILLED, _HELD = 2, 3  # stages in which a limit with and a limit without fill holds


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `capacity[label]` and, where the candidates allow it, at least `least[label]` results for each label.

    Row r has the labels `labels[indptr[r]:indptr[r + 1]]`, numbers from 0. A quota holds in the first `stages` of the
    three stages of selection: 1 for a share, 2 for a limit that may be filled up, 3 for a limit that is never exceeded.
    """

    indptr: _Ints
    labels: _Ints
    capacity: _Ints
    stages: int
    least: _Ints | None = None

    def of(self, row: int) -> _Ints:
        return self.labels[self.indptr[row] : self.indptr[row + 1]]

    def counter(self, rows: _Ints) -> LabelCounts:
        return LabelCounts(self, rows)


AnyQuota = Quota | CopyQuota


class LabelCounts:
    """Results so far for each label of one quota, over the candidates `rows`."""

    def __init__(self, quota: Quota, rows: _Ints) -> None:
        self._quota, self._rows, self._counts = quota, rows, np.zeros(len(quota.capacity), np.int64)

    def allows(self, position: int) -> bool:
        labels = self._quota.of(int(self._rows[position]))
        return bool((self._counts[labels] < self._quota.capacity[labels]).all())

    def add(self, position: int) -> None:
        self._counts[self._quota.of(int(self._rows[position]))] += 1


class QuotaCounts:
    """What the results so far leave of each quota, over the candidates `rows`."""

    def __init__(self, quotas: Sequence[AnyQuota], rows: _Ints) -> None:
        self._quotas, self._counters = quotas, [quota.counter(rows) for quota in quotas]

    def allows(self, position: int, stage: int) -> bool:
        return all(
            stage >= quota.stages or counter.allows(position)
            for quota, counter in zip(self._quotas, self._counters, strict=True)
        )

    def allowed(self, positions: _Bools, stage: int) -> _Bools:
        """Return which of the positions the quotas allow."""
        if all(stage >= quota.stages for quota in self._quotas):
            return positions
        return np.array([bool(free) and self.allows(i, stage) for i, free in enumerate(positions)])

    def add(self, position: int) -> None:
        for counter in self._counters:
            counter.add(position)


def select_protected(
    order: _Ints, count: int, already: _Ints, k: int, quotas: QuotaCounts, spread_vectors: Sequence[QueryVectors] = ()
) -> _Ints:
    """Return the first `count` positions of `order` that the quotas allow, less those that are in `already`.

    Near-copies of a protected candidate, in vectors that are to be spread, are passed over.
    """
    positions: list[int] = []
    for position in order:
        if count <= 0 or len(positions) >= k:
            break
        fresh = position not in already
        if fresh and not quotas.allows(int(position), 0):
            continue
        if fresh and any(vectors.resembles(int(position), positions) for vectors in spread_vectors):
            continue
        count -= 1
        if fresh:
            positions.append(int(position))
            quotas.add(int(position))
    return np.array(positions, np.int64)


def select_stages(
    protected: _Ints, already: _Ints, count: int, k: int, quotas: QuotaCounts, choose: Callable[[_Bools], int]
) -> tuple[_Ints, int]:
    """Return up to k of `count` positions, the protected ones first, and how many stages the quotas needed.

    `choose(allowed)` returns the best of the allowed candidates. It is called once for each result.
    """
    positions: list[int] = []
    free = np.ones(count, bool)
    free[already] = False
    stage, length = 0, min(k, count - len(already))
    while len(positions) < length:
        if len(positions) < len(protected):
            allowed = np.zeros(count, bool)
            allowed[protected[len(positions)]] = True
        else:
            allowed = quotas.allowed(free, stage)
            if allowed is not free and not allowed.any():
                if stage == STAGES - 1:
                    break
                stage += 1
                continue
        best = choose(allowed)
        positions.append(best)
        free[best] = False
        quotas.add(best)
    return np.array(positions, np.int64), stage + 1


def may_fill(quotas: Sequence[AnyQuota]) -> bool:
    """Return whether a limit may be exceeded to complete the list."""
    return any(quota.stages == _FILLED for quota in quotas)


def without_fill(quotas: Sequence[AnyQuota]) -> tuple[AnyQuota, ...]:
    """Return the quotas with all limits held."""
    return tuple(replace(quota, stages=_HELD) if quota.stages == _FILLED else quota for quota in quotas)


def only_labels(quotas: Sequence[AnyQuota]) -> tuple[Quota, ...]:
    """Return quotas that count labels, for a backend that does not compare vectors: others were refused before."""
    assert all(isinstance(quota, Quota) for quota in quotas)
    return tuple(quota for quota in quotas if isinstance(quota, Quota))
