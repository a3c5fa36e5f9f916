"""Limits and shares: the part of the reference implementation that decides which candidates quotas allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.novelty import CopyQuota, QueryVectors

_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]

MOST_QUOTAS = 64  # limits and shares in one call
SHARED, FILLED, HELD = 1, 2, 3  # stages in which a share, a limit with fill and a limit without fill hold


class PlaceRule(NamedTuple):
    """At most `capacity[label]` results per label in every `length` consecutive results, or in the first ones."""

    capacity: _Ints
    length: int
    first: bool = False  # only the first `length` results of the page


@dataclass(eq=False, slots=True)
class Quota:
    """At most `capacity[label]` and, where the candidates allow it, at least `least[label]` results for each label.

    Row r has the labels `labels[indptr[r]:indptr[r + 1]]`, numbers from 0. A quota holds in the first `stages` of the
    three stages of selection: 1 for a share, 2 for a limit that may be filled up, 3 for a limit that is never exceeded.
    `least` is None for no lower bounds; the capacities of a share that sum to the length of the page are lower bounds
    too. `places` is a rule on the same labels in the shown order.
    """

    indptr: _Ints
    labels: _Ints
    capacity: _Ints
    stages: int
    least: _Ints | None = None
    places: PlaceRule | None = None

    def of(self, row: int) -> _Ints:
        return self.labels[self.indptr[row] : self.indptr[row + 1]]

    def counter(self, rows: _Ints) -> LabelCounts:
        return LabelCounts(self, rows)

    def bounds(self, length: int) -> tuple[_Ints, _Ints]:
        """Return the smallest and the largest count of each label; targets that sum to the page are both."""
        high = np.minimum(self.capacity, length)
        if self.least is not None:
            return np.minimum(self.least, high), high
        exact = self.stages == SHARED and int(self.capacity.sum()) <= length
        return high if exact else np.zeros_like(high), high


AnyQuota = Quota | CopyQuota


class LabelCounts:
    """Results so far for each label of one quota, over the candidates `rows`."""

    def __init__(self, quota: Quota, rows: _Ints) -> None:
        self._quota, self._rows, self._counts = quota, rows, np.zeros(len(quota.capacity), np.int64)

    def allows(self, position: int, more: int = 0) -> bool:
        """Return whether the quota, with capacities raised by `more`, allows a further result."""
        labels = self._quota.of(int(self._rows[position]))
        return bool((self._counts[labels] < self._quota.capacity[labels] + more).all())

    def add(self, position: int) -> None:
        self._counts[self._quota.of(int(self._rows[position]))] += 1


class QuotaCounts:
    """What the results so far leave of each quota, over the candidates `rows`.

    Stage 0 holds all quotas, stage 1 all limits. Later stages raise the limits that may be filled by one each.
    """

    def __init__(self, quotas: Sequence[AnyQuota], rows: _Ints) -> None:
        self._quotas, self._counters = quotas, [quota.counter(rows) for quota in quotas]

    def allows(self, position: int, stage: int) -> bool:
        return all(
            counter.allows(position, max(stage - 1, 0) if quota.stages == FILLED else 0)
            for quota, counter in zip(self._quotas, self._counters, strict=True)
            if stage == 0 or quota.stages != SHARED
        )

    def allowed(self, positions: _Bools, stage: int) -> _Bools:
        """Return which of the positions the quotas allow."""
        if all(stage > 0 and quota.stages == SHARED for quota in self._quotas):
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


def may_fill(quotas: Sequence[AnyQuota]) -> bool:
    """Return whether a limit may be exceeded to complete the list."""
    return any(quota.stages == FILLED for quota in quotas)


def has_lower_bounds(quotas: Sequence[AnyQuota]) -> bool:
    """Return whether a quota asks for a smallest count."""
    return any(isinstance(quota, Quota) and quota.least is not None for quota in quotas)


def may_look_ahead(quotas: Sequence[AnyQuota]) -> bool:
    """Return whether quotas may need a plan: several of them that count labels, or a smallest count."""
    return has_lower_bounds(quotas) or sum(isinstance(quota, Quota) for quota in quotas) > 1


def without_fill(quotas: Sequence[AnyQuota]) -> tuple[AnyQuota, ...]:
    """Return the quotas with all limits held."""
    return tuple(replace(quota, stages=HELD) if quota.stages == FILLED else quota for quota in quotas)


def without_places(quotas: Sequence[AnyQuota]) -> tuple[AnyQuota, ...]:
    """Return the quotas without rules on places."""
    return tuple(replace(q, places=None) if isinstance(q, Quota) and q.places else q for q in quotas)
