"""What a method takes (`Problem`) and returns (`Selection`): plain arrays for Q queries; one query is Q = 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Attribute, Columns, as_matrix
from mascot.bins import Bins, Bools, Floats, Ints
from mascot.errors import InputError, OptionError
from mascot.kernels.reference import Quota, QuotaCounts, select_stages
from mascot.kernels.reference import Selection as Selection

NO_POSITIONS = np.empty(0, np.int64)


@dataclass(slots=True)
class Table:
    """Columns and vectors of the rows that queries draw their candidates from."""

    columns: Columns
    vectors: NDArray[np.floating[Any]] | None = None

    @property
    def floats(self) -> Floats | None:
        """The vectors in float64."""
        return None if self.vectors is None else self.vectors.astype(np.float64, copy=False)

    def take(self, rows: Ints) -> Table:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Table(columns, None if self.vectors is None else self.vectors[rows])


@dataclass(slots=True)
class Problem:
    """Q queries: scores, and for each coverage wish its direction, weight and bins.

    Arrays are trusted: they were checked where they came in.
    """

    ptr: Ints  # [Q + 1]: query q has the candidates ptr[q] .. ptr[q + 1]
    scores: Floats  # [T], higher is better; a named focus is part of them
    bins: tuple[Bins, ...]  # of the A wishes
    signs: Floats  # [A], +1 spread, -1 focus
    weights: Floats  # [A], > 0
    rules: tuple[str, ...]  # [A], what a missing value gets: "last" or "neutral"
    attributes: tuple[Attribute, ...]  # [A]
    tables: tuple[Table, ...]  # one that all queries share, or one per query
    rows: Ints | None = None  # [T] rows of the bins; None: candidate t is row t
    seen_ptr: Ints | None = None  # [Q + 1]; None: nothing was seen
    seen: Ints | None = None  # positions within a query that earlier pages showed
    remaining: Ints | None = None  # [T] positions among all candidates of a query, where some were left out
    quotas: tuple[Quota, ...] = ()  # at most so many results per label; rows as for the bins
    named_weight: float = 0.0  # weight of the named focuses that are part of the scores
    aimed: bool = False  # the scores are steered by a named focus, outliers already handled
    backend: str = "auto"
    threads: int | None = None

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def longest(self) -> int:
        """The number of candidates of the longest query."""
        return int(self.ptr[1]) if len(self.ptr) == 2 else int((self.ptr[1:] - self.ptr[:-1]).max(initial=0))

    def rows_of(self, q: int) -> Ints:
        start, end = int(self.ptr[q]), int(self.ptr[q + 1])
        return np.arange(start, end) if self.rows is None else self.rows[start:end]

    def scores_of(self, q: int) -> Floats:
        return self.scores[self.ptr[q] : self.ptr[q + 1]]

    def seen_of(self, q: int) -> Ints:
        if self.seen is None or self.seen_ptr is None:
            return NO_POSITIONS
        return self.seen[self.seen_ptr[q] : self.seen_ptr[q + 1]]

    def table_of(self, q: int) -> Table:
        """Return columns and vectors of one query's candidates."""
        if len(self.tables) > 1:
            return self.tables[q]
        (table,) = self.tables
        return table if len(self) == 1 and self.rows is None else table.take(self.rows_of(q))

    def comparable(self, q: int) -> bool:
        """Return whether one query's candidates have attributes or vectors to compare them by."""
        return len(self.signs) > 0 or self.tables[q if len(self.tables) > 1 else 0].vectors is not None

    def counts_of(self, q: int) -> QuotaCounts:
        return QuotaCounts(self.quotas, self.rows_of(q))

    def only(self, q: int) -> Problem:
        """Return one query as a problem of its own, without its table."""
        rows, seen, remaining = self.rows_of(q), self.seen_of(q), self.remaining
        return replace(
            self, ptr=np.array([0, len(rows)]), scores=self.scores_of(q), rows=rows, tables=(),
            seen_ptr=np.array([0, len(seen)]), seen=seen,
            remaining=None if remaining is None else remaining[self.ptr[q] : self.ptr[q + 1]],
        )  # fmt: skip

    def features_of(self, q: int) -> tuple[Floats, ...]:
        """Return one query's features of each attribute: [N, d] arrays, in which a missing value is a row of zeros."""
        table = self.table_of(q)
        return tuple(_features(attribute, table, len(self.scores_of(q))) for attribute in self.attributes)

    def unit_vectors_of(self, q: int) -> Floats | None:
        """Return one query's vectors scaled to length 1; a missing vector is a row of zeros."""
        vectors = self.table_of(q).floats
        if vectors is None:
            return None
        length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        unit = vectors / np.where(length > 0, length, 1.0)[:, None]
        unit[np.isnan(length)] = 0.0
        return np.asarray(unit)


class Method(Protocol):
    """Anything that selects k of each query's candidates. Methods are frozen dataclasses."""

    def select(self, problem: Problem, k: int) -> Selection: ...

    def to_dict(self) -> dict[str, Any]: ...


def select_each(
    problem: Problem, k: int, strength: float, choose: Callable[[int, int], Ints] | None = None
) -> Selection:
    """Select query by query: `choose(q, k)` returns at most k positions of one; without it relevance decides.

    So it does at strength 0, and for queries that have neither attributes nor vectors to compare by.
    """
    picks = []
    for q in range(len(problem)):
        steered = strength > 0 and len(problem.scores_of(q)) > 0 and problem.comparable(q)
        picks.append(choose(q, k) if choose is not None and steered else best_positions(problem, q, k))
    positions = np.full((len(picks), max(map(len, picks), default=0)), -1, np.int64)
    for row, pick in zip(positions, picks, strict=True):
        row[: len(pick)] = pick
    return Selection(positions, positions, np.where(np.diff(problem.ptr) > 0, strength, 0.0))


def best_positions(problem: Problem, q: int, k: int) -> Ints:
    """Return one query's k highest scores that the quotas allow."""
    scores, seen = problem.scores_of(q), problem.seen_of(q)
    order = np.argsort(-scores, kind="stable")
    order = order[open_positions(problem, q)[order]]
    if not problem.quotas:
        return np.asarray(order[:k])

    def choose(allowed: Bools) -> int:
        return int(order[allowed[order].argmax()])

    return select_stages(NO_POSITIONS, seen, len(scores), k, problem.counts_of(q), choose)[0]


def refuse_quotas(problem: Problem, method: object) -> None:
    """Raise for a method that cannot obey limits and shares."""
    if problem.quotas:
        name = type(method).__name__
        raise OptionError(f"{name} cannot obey limit(...) or share(...): use Mascot, Mmr or Relevance, got {method!r}")


def open_positions(problem: Problem, q: int) -> Bools:
    """Return which candidates earlier pages have not shown."""
    fresh = np.ones(len(problem.scores_of(q)), bool)
    fresh[problem.seen_of(q)] = False
    return fresh


def _features(attribute: Any, table: Table, rows: int) -> Floats:
    """Return an attribute's features, checked: N rows of finite numbers."""
    owner = f"{type(attribute).__name__}.features"
    if not hasattr(attribute, "features"):
        raise InputError(f"{owner}(columns, vectors) is what this method compares by, got an attribute without it")
    array = as_matrix(attribute.features(table.columns, table.floats), owner, rows)
    if not np.isfinite(array).all():
        raise InputError(f"{owner} must be finite, got {array[~np.isfinite(array)][0]}")
    return array
