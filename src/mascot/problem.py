"""What a method sees of one query, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.memberships import Membership
from mascot.packing import Packed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _no_features() -> tuple[Floats, ...]:
    return ()


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Problem:
    """One query: scores, and for each wish its direction, weight, bins and features.

    Bins and features are functions, because coverage needs only the first and the similarity
    methods need only the second. Arrays are trusted: they were checked where they came in.
    """

    scores: Floats  # [N], higher is better
    signs: Floats  # [A], +1 spread, -1 focus
    weights: Floats  # [A], > 0
    memberships: Callable[[], tuple[Membership, ...]]  # A memberships of N rows (N + 1 where focus has a point)
    features: Callable[[], tuple[Floats, ...]] = _no_features  # A arrays [N, d]; a missing value is a zero row
    vectors: Floats | None = None  # [N, D] unit rows, where the candidates have vectors
    seen: Ints = field(default_factory=_none)  # positions shown on earlier pages
    rules: tuple[str, ...] = ()  # [A], what a missing value gets: "last" or "neutral"
    backend: str = "auto"  # "numpy", "numba", or whichever answers first


@dataclass(frozen=True, slots=True)
class Queries:
    """Many queries over one corpus: query q has the rows `rows[ptr[q]:ptr[q+1]]` with their scores."""

    ptr: Ints  # [Q + 1]
    rows: Ints  # [T], rows of the memberships
    scores: Floats  # [T]
    signs: Floats  # [A]
    weights: Floats  # [A]
    rules: tuple[str, ...]  # [A]
    memberships: tuple[Membership, ...]  # A memberships of the corpus
    near: Ints  # [Q, A], the row a focus starts from, or -1
    seen_ptr: Ints  # [Q + 1]
    seen: Ints  # positions within the query, shown on earlier pages
    packed: Packed | None = None  # the memberships as arrays, where they are used again and again

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @classmethod
    def of(cls, problem: Problem) -> Queries:
        """A batch of one."""
        count = len(problem.scores)
        members = problem.memberships()
        return cls(
            ptr=np.array([0, count]),
            rows=np.arange(count),
            scores=problem.scores,
            signs=problem.signs,
            weights=problem.weights,
            rules=problem.rules,
            memberships=members,
            near=np.array([[count if member.rows > count else -1 for member in members]], np.int64),
            seen_ptr=np.array([0, len(problem.seen)]),
            seen=problem.seen,
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """Positions in the order they were chosen, and the order they are shown in."""

    positions: Ints  # [k], in the order of choice
    shown: Ints  # [k], the same positions, best first
    strength: float  # the strength that was used (found, where `keep` was asked for)
    multipliers: Floats = field(default_factory=lambda: np.empty(0))  # [A], what one unit of coverage is worth
    tops: Floats = field(default_factory=lambda: np.empty(0))  # [A], largest first-step coverage
    protect: int = 0  # how many by relevance were chosen beforehand


@dataclass(frozen=True, slots=True)
class Selections:
    """The selections of a batch as arrays; -1 pads where a query has fewer than k candidates.

    There may be fewer than k places where no query has as many candidates.
    """

    positions: Ints  # [Q, k]
    shown: Ints  # [Q, k]
    strengths: Floats  # [Q]
    multipliers: Floats  # [Q, A]
    tops: Floats  # [Q, A]
    protect: int = 0

    def __getitem__(self, q: int) -> Selection:
        found = int((self.positions[q] >= 0).sum())
        return Selection(
            self.positions[q, :found],
            self.shown[q, :found],
            float(self.strengths[q]),
            self.multipliers[q],
            self.tops[q],
            self.protect,
        )


class Method(Protocol):
    """Anything that chooses k of a problem's candidates. Methods are frozen dataclasses."""

    def select(self, problem: Problem, k: int) -> Selection: ...

    def to_dict(self) -> dict[str, Any]: ...
