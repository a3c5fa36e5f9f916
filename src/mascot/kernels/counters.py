"""Rules of a page: counters that say which candidates may stand at a place.

A rule on labels (`LabelRule`) allows so many results per label: on the page, in every few consecutive results, or among
the first ones. A rule on near-copies (`CopyRule`) allows so many results that resemble a candidate. Rules hold for all
rows of a corpus; their counters are those of one query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import COPY_TOLERANCE
from mascot.kernels.objective import Bools, Floats, Ints

MOST_RULES = 64  # in one call
SHARED, FILLED, HELD = 1, 2, 3  # a share gives way first, then limits with fill, and other limits never


@dataclass(eq=False, slots=True)
class LabelRule:
    """At most `capacity[label]` and, where the candidates allow it, at least `least[label]` results for each label.

    Row r has the labels `labels[indptr[r]:indptr[r + 1]]`, numbers from 0. `gives` is what the rule does at a place
    where no candidate is allowed. `least` is None for no smallest counts; the capacities of a share that sum to the
    length of the page are smallest counts too.
    """

    indptr: Ints
    labels: Ints
    capacity: Ints
    gives: int
    least: Ints | None = None
    window: int = 0  # the capacities hold in every so many consecutive results; 0: on the page
    first: int = 0  # the capacities hold among so many results at the top; 0: on the page
    session: bool = False  # the results of earlier pages count

    def of(self, row: int) -> Ints:
        return self.labels[self.indptr[row] : self.indptr[row + 1]]

    def on_page(self, length: int) -> Ints:
        """Return the largest count of each label in a page of so many results."""
        if self.window:
            return self.capacity * (length // self.window) + np.minimum(self.capacity, length % self.window)
        return self.capacity + max(length - self.first, 0) if self.first else self.capacity

    def counter(self, rows: Ints) -> LabelCounter:
        return LabelCounter(self, rows)


@dataclass(frozen=True, eq=False, slots=True)
class CopyRule:
    """At most `n` results that are near-copies of a candidate: a further near-copy of them is not allowed.

    Near-copies have a cosine of at least `threshold`. A missing vector is not limited.
    """

    vectors: NDArray[np.float32]  # [R, D]
    threshold: float
    n: int
    gives: int
    session: bool = False

    def counter(self, rows: Ints) -> CopyCounter:
        return CopyCounter(self, unit_vectors(self.vectors[rows]))


Rule = LabelRule | CopyRule


class Counter(Protocol):
    """What the results so far leave of one rule, for the N candidates of a query."""

    @property
    def rule(self) -> Rule: ...

    def begin(self, before: Sequence[int], pinned: Mapping[int, int]) -> None:
        """Forget all results but those of earlier pages, by their rows, and the pinned ones, by their places."""

    @property
    def is_placed(self) -> bool:
        """Whether the rule is about places in the shown order, and not about the whole page."""

    def allowed(self, place: int, level: int = 0, planned: bool = False) -> Bools | None:
        """Return which candidates may stand at a place; None: all of them.

        Level 0 holds all rules, level 1 all limits; every level from 2 on allows one result more in a limit with fill.
        A plan decides on labels of the whole page if it is `planned`.
        """

    def add(self, i: int, place: int) -> None: ...

    def alike(self, i: int) -> Bools:
        """Return which candidates count for the rule as candidate i does."""

    def urgency(self, kind: str, free: Bools) -> Floats:
        """Return how urgent each candidate is, so that a page becomes full."""


def extra(gives: int, level: int) -> int:
    """Return how many results more than its capacity a rule allows at a level; -1: as many as there are."""
    return -1 if gives == SHARED and level > 0 else level - 1 if gives == FILLED and level > 1 else 0


class LabelCounter:
    """How many results have each label: on the page, and at which places."""

    def __init__(self, rule: LabelRule, rows: Ints) -> None:
        self.rule, self.is_placed, begin = rule, rule.window > 0 or rule.first > 0, rule.indptr[rows]
        sizes = rule.indptr[rows + 1] - begin
        self.ends = np.concatenate([[0], np.cumsum(sizes)])
        self.owner = np.repeat(np.arange(len(rows)), sizes)
        self.labels = rule.labels[np.repeat(begin - self.ends[:-1], sizes) + np.arange(len(self.owner))]

    def of(self, i: int) -> Ints:
        """Return the labels of candidate i."""
        return self.labels[self.ends[i] : self.ends[i + 1]]

    def alike(self, i: int) -> Bools:
        """Return which candidates have the labels of candidate i."""
        own, count = self.of(i), len(self.ends) - 1
        shared = np.bincount(self.owner, np.isin(self.labels, own), minlength=count)
        return np.asarray((shared == len(own)) & (np.diff(self.ends) == len(own)))

    def urgency(self, kind: str, free: Bools) -> Floats:
        """Return how urgent each candidate is: because its value is "needed", or because it is "crowded"."""
        rule, urgency = self.rule, np.zeros(len(free))
        if kind == "needed":
            exact = rule.gives == SHARED and rule.least is None
            worth = (self.counts < (rule.capacity if exact else rule.least if rule.least is not None else 0)) * 1.0
        else:
            crowd = np.bincount(self.labels[free[self.owner]], minlength=len(rule.capacity))
            worth = crowd / np.maximum(rule.capacity, 0.5) * self.is_placed
        np.maximum.at(urgency, self.owner, worth[self.labels])
        return urgency

    def begin(self, before: Sequence[int], pinned: Mapping[int, int]) -> None:
        rule, self.counts = self.rule, np.zeros(len(self.rule.capacity), np.int64)
        self.slots = {place: self.of(i) for place, i in pinned.items()}
        if rule.window:
            self.slots |= {place: rule.of(row) for place, row in enumerate(before, -len(before))}
        counted = [self.of(i) for place, i in pinned.items() if not rule.first or place < rule.first]
        counted += [rule.of(row) for row in before] if rule.session and not self.is_placed else []
        for labels in counted:
            self.counts[labels] += 1

    def allowed(self, place: int, level: int = 0, planned: bool = False) -> Bools | None:
        rule, more = self.rule, extra(self.rule.gives, level)
        if rule.least is not None and rule.first:
            needed = np.maximum(rule.least - self.counts, 0)
            is_due = level == 0 and rule.first - int(needed.sum()) <= place < rule.first
            return np.isin(np.arange(len(self.ends) - 1), self.owner[needed[self.labels] > 0]) if is_due else None
        if more < 0 or (rule.first and place >= rule.first) or (planned and not self.is_placed):
            return None
        counts = self.in_windows(place) if rule.window else self.counts
        full = counts >= rule.capacity + more
        if not full.any():
            return None
        mask = np.ones(len(self.ends) - 1, bool)
        mask[self.owner[full[self.labels]]] = False
        return mask

    def bounds(self, length: int) -> tuple[Ints, Ints]:
        """Return the smallest and the largest count of each label in `length` results, less what is counted already."""
        rule, n = self.rule, self.rule.on_page(length)
        high = np.minimum(np.maximum(n - self.counts, 0), length)
        if rule.least is not None:
            return np.minimum(np.maximum(rule.least - self.counts, 0), high), high
        exact = rule.gives == SHARED and int(np.maximum(n - self.counts, 0).sum()) <= length
        return high if exact else np.zeros_like(high), high

    def in_windows(self, place: int) -> Ints:
        """Return for each label how many results it has in the window around a place that has most of them."""
        window, most = self.rule.window, np.zeros_like(self.counts)
        near = {p: labels for p, labels in self.slots.items() if place - window < p < place + window}
        starts = sorted({*(p for p in near if p <= place), place})
        for start in starts if max(near, default=0) > place else starts[:1]:  # results behind it are pinned
            parts = [labels for p, labels in near.items() if start <= p < start + window]
            labels = np.concatenate([np.empty(0, np.int64), *parts])
            most = np.maximum(most, np.bincount(labels, minlength=len(most)))
        return most

    def add(self, i: int, place: int) -> None:
        labels = self.of(i)
        if self.rule.window:
            self.slots[place] = labels
        if not self.rule.first or place < self.rule.first:
            self.counts[labels] += 1


class CopyCounter:
    """How many results so far are near-copies of each candidate."""

    is_placed = False

    def __init__(self, rule: CopyRule, unit: Floats) -> None:
        self.rule, self.unit = rule, unit

    def begin(self, before: Sequence[int], pinned: Mapping[int, int]) -> None:
        self.copies = np.zeros(len(self.unit), np.int64)
        earlier = unit_vectors(self.rule.vectors[list(before) if self.rule.session else []])
        for vector in [*earlier, *(self.unit[i] for i in pinned.values())]:
            self.add_vector(vector)

    def allowed(self, place: int, level: int = 0, planned: bool = False) -> Bools | None:
        return self.copies < self.rule.n + extra(self.rule.gives, level)

    def alike(self, i: int) -> Bools:
        return np.ones(len(self.unit), bool)

    def urgency(self, kind: str, free: Bools) -> Floats:
        return np.zeros(len(free))

    def add(self, i: int, place: int) -> None:
        self.add_vector(self.unit[i])

    def add_vector(self, vector: Floats) -> None:
        near = (self.unit * vector).sum(axis=1) >= self.rule.threshold - COPY_TOLERANCE
        self.copies += near & self.unit.any(axis=1) & vector.any()


def unit_vectors(vectors: NDArray[np.float32]) -> Floats:
    """Return vectors [N, D] scaled to length 1, in float64. A missing vector, NaN or zeros, becomes a row of zeros."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    nonzero = lengths > 0
    return np.where(nonzero, exact, 0.0) / np.where(nonzero, lengths, 1.0)
