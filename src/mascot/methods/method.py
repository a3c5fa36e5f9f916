"""What a method takes (`Problem`) and returns (`Selection`): plain arrays for Q queries; one query is Q = 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Attribute, Columns, as_matrix
from mascot.bins import Bins, Bools, Floats, Ints, VectorBins
from mascot.errors import InputError, OptionError, check_share, require
from mascot.kernels.counters import Rule, unit_vectors
from mascot.kernels.objective import Coverage, Novelty, Options, Term, normalized
from mascot.kernels.page import Page, Query, build
from mascot.kernels.solve import Selection as Selection
from mascot.kernels.solve import Solver, shown_order

NO_POSITIONS = np.empty(0, np.int64)
Pick = Callable[[float], Ints]  # returns positions for a strength
Prepare = Callable[[int], Solver]  # takes the number of a query


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


class Remaining(NamedTuple):
    """The candidates of Q queries that remain when others are dropped, by their positions in each query's input."""

    ptr: Ints  # [Q + 1]: query q has the remaining candidates ptr[q] .. ptr[q + 1]
    positions: Ints | None = None  # [T] in the input, ascending within a query; None: nothing was dropped

    @classmethod
    def without(cls, dropped: Bools, ptr: Ints) -> Remaining:
        """Return the candidates that are not dropped; `ptr` [Q + 1] are the queries of the input."""
        rest = np.flatnonzero(~dropped)
        return cls(np.searchsorted(rest, ptr), rest - np.repeat(ptr[:-1], np.diff(ptr))[rest])

    def of(self, q: int) -> Ints | None:
        """Return one query's remaining positions in the input; None: all of them."""
        return None if self.positions is None else self.positions[self.ptr[q] : self.ptr[q + 1]]

    def to_input(self, positions: Ints) -> Ints:
        """Return the input positions of positions [Q, k], or [k] of one query, among the remaining; -1 stays -1."""
        if self.positions is None:
            return positions
        at = (self.ptr[:-1, None] + np.maximum(positions, 0)).reshape(positions.shape)
        padded = np.append(self.positions, -1)
        return np.where(positions >= 0, padded[np.minimum(at, len(padded) - 1)], -1)

    def from_input(self, q: int, positions: Ints) -> Ints:
        """Return the positions among the remaining of one query's input positions, without those that were dropped."""
        remaining = self.of(q)
        if remaining is None:
            return positions
        return np.searchsorted(remaining, positions)[np.isin(positions, remaining)]


ALL_REMAIN = Remaining(NO_POSITIONS)


@dataclass(slots=True)
class Problem:
    """Q queries: their scores, and the direction, weight and bins of each coverage wish.

    Arrays are trusted: they were checked when they were read.
    """

    ptr: Ints  # [Q + 1]: query q has the candidates ptr[q] .. ptr[q + 1]
    scores: Floats  # [T], higher is better; closeness to the values of named focuses is part of them
    bins: tuple[Bins, ...]  # of the A wishes
    signs: Floats  # [A], +1 spread, -1 focus
    weights: Floats  # [A], > 0
    missing: tuple[str, ...]  # [A], what a missing value gets: "last" or "neutral"
    attributes: tuple[Attribute, ...]  # [A]
    tables: tuple[Table, ...]  # one that all queries share, or one per query
    own_tables: bool = field(default=False, kw_only=True)  # whether the tables are those of the queries
    rows: Ints | None = None  # [T] rows of the bins; None: candidate t is row t
    already_ptr: Ints | None = None  # [Q + 1]; None: there are no earlier pages
    already: Ints | None = None  # positions within each query that earlier pages showed
    remaining: Remaining = ALL_REMAIN  # maps positions to those in the input
    rules: tuple[Rule, ...] = ()  # in the order of the constraints; rows as for the bins
    before: Sequence[Ints] | None = None  # for each query the rows of the results of earlier pages, in the order shown
    pinned: Mapping[int, int] = field(default_factory=dict)  # of a single query: positions of results by their places
    named_weight: float = 0.0  # weight of the named focuses that are part of the scores
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

    def relevance_of(self, q: int, robust: bool) -> Floats:
        """Return one query's scores in 0..1; with a named focus blended in, the far ones are no outliers."""
        return normalized(self.scores_of(q), robust and not self.named_weight)

    def already_of(self, q: int) -> Ints:
        if self.already is None or self.already_ptr is None:
            return NO_POSITIONS
        return self.already[self.already_ptr[q] : self.already_ptr[q + 1]]

    def length_of(self, q: int, k: int) -> int:
        """Return how many results a full page of one query has."""
        return min(k, len(self.scores_of(q)) - len(self.already_of(q)))

    def open_positions(self, q: int) -> Bools:
        """Return which of one query's candidates earlier pages have not shown."""
        fresh = np.ones(len(self.scores_of(q)), bool)
        fresh[self.already_of(q)] = False
        return fresh

    def table_of(self, q: int) -> Table:
        """Return columns and vectors of one query's candidates."""
        if self.own_tables or len(self.tables) > 1:
            return self.tables[q]
        (table,) = self.tables
        return table if len(self) == 1 and self.rows is None else table.take(self.rows_of(q))

    def membership_of(self, q: int, a: int) -> Floats | None:
        """Return one query's memberships [N, U] in the bins of attribute a that occur; None for vectors."""
        bins = self.bins[a].take(self.rows_of(q))
        return None if isinstance(bins, VectorBins) else bins.sparse().compact()[0].dense()

    def term(self, q: int, a: int, share: float, relevance: Floats, options: Options) -> Coverage | Novelty:
        """Return the term of attribute a for one query; `share` is its part of all weights, negative for a focus."""
        bins, neutral = self.bins[a].take(self.rows_of(q)), self.missing[a] == "neutral"
        if isinstance(bins, VectorBins):
            return Novelty(unit_vectors(bins.vectors), share, copies=bins.copies, neutral=neutral)
        membership = self.membership_of(q, a)
        assert membership is not None
        return Coverage(membership, bins.missing(), share, options.k, relevance, options, neutral=neutral)

    def query(self, q: int, k: int, relevance: Floats, terms: Sequence[Term] = ()) -> Query:
        """Return one query as the loop takes it, for a page of k results."""
        counters = [rule.counter(self.rows_of(q)) for rule in self.rules]
        before = () if self.before is None else self.before[q].tolist()
        return Query(self.scores_of(q), relevance, terms, counters, k, self.already_of(q), before, self.pinned)

    def only(self, q: int) -> Problem:
        """Return one query as a problem of its own."""
        rows, already, own = self.rows_of(q), self.already_of(q), len(self.tables) > 1
        ptr = np.array([0, len(rows)])
        return replace(
            self, ptr=ptr, scores=self.scores_of(q), rows=rows,
            before=self.before and self.before[q : q + 1], already_ptr=np.array([0, len(already)]),
            already=already, remaining=Remaining(ptr, self.remaining.of(q)),
            tables=self.tables[q : q + 1] if own else self.tables, own_tables=own or self.own_tables,
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


def check_strength(method: Any, default: float) -> None:
    """Check the `strength` and the `keep` of a method, which exclude each other (default: strength is `default`)."""
    owner, strength, keep = type(method).__name__, method.strength, method.keep
    if keep is not None:
        if strength is not None:
            both = f"keep={keep!r} and strength={strength!r}"
            raise OptionError(f"{owner}.keep searches for the strength: give keep or strength, got {both}")
        rule = "must be in 0..1 and above 0"
        check_share(f"{owner}.keep", keep, rule)
        require(keep > 0, f"{owner}.keep", rule, keep)
    elif strength is None:
        object.__setattr__(method, "strength", default)
    else:
        check_share(f"{owner}.strength", strength)


def select_pages(problem: Problem, k: int, method: Any, solver: Prepare | None = None) -> Selection:
    """Select query by query, at the strength of the method or, if it has a `keep`, at the one that is found.

    `solver(q)` returns what selects for query q; if there is none, relevance decides.
    """
    strength, keep = getattr(method, "strength", 0.0) or 0.0, getattr(method, "keep", None)
    by_relevance = getattr(method, "order", "") == "relevance"
    positions, ranked = np.full((2, len(problem), min(k, problem.longest)), -1, np.int64)
    strengths, pages = np.full(len(problem), strength), []
    for q in range(len(problem)):
        if not len(problem.scores_of(q)):
            pages.append(Page())
            continue
        own = relevance_solver(problem, q, k) if solver is None else solver(q)
        if keep is None:
            page = own.at(strength)
        else:
            page, strengths[q] = own.search(keep)
        pages.append(page)
        positions[q, : len(page.positions)] = page.positions
        shown = shown_order(own.query, page, own.ideal) if by_relevance else page.positions
        ranked[q, : len(shown)] = shown
    return Selection(positions, ranked, strengths, pages)


def is_comparable(problem: Problem, q: int, method: Any) -> bool:
    """Return whether one query's candidates have attributes or vectors; raise if they have no wish at all either."""
    if len(problem.signs) > 0 or problem.tables[q if len(problem.tables) > 1 else 0].vectors is not None:
        return True
    if not problem.rules and not problem.named_weight:
        name, remedy = type(method).__name__, "give Candidates(vectors=...) or a wish such as spread('city')"
        raise InputError(f"{name} compares candidates by vectors or wishes, got neither: {remedy}")
    return False


def relevance_solver(problem: Problem, q: int, k: int) -> Solver:
    """Return what selects one query's highest scores that the rules allow."""
    return Solver(problem.query(q, k, problem.scores_of(q)), problem.relevance_of(q, robust=False))


@dataclass(eq=False, slots=True)
class PickSolver(Solver):
    """Selects for one query by a function of the strength that knows neither terms nor rules."""

    pick: Pick = field(kw_only=True)

    def greedy(self, strength: float) -> tuple[Page, Sequence[int]]:
        if strength == 0:
            return build(self.query, 0.0), ()
        page, picks, pinned = Page(), iter(self.pick(strength).tolist()), self.query.pinned
        while len(page.positions) < self.query.length:
            place = len(page.positions)
            page.positions.append(pinned[place] if place in pinned else next(picks))
        return page, ()


def select_each(problem: Problem, k: int, method: Any, prepare: Callable[[Problem, int, int], Pick]) -> Selection:
    """Select by the positions that `prepare(problem, q, k)(strength)` returns, for methods without terms."""
    refuse_rules(problem, method)

    def solver(q: int) -> Solver:
        own = relevance_solver(problem, q, k)
        if getattr(method, "strength", None) == 0 or not is_comparable(problem, q, method):
            return own
        pins = list(problem.pinned.values())
        covered = np.concatenate([problem.already_of(q), pins]).astype(np.int64)
        rest = replace(problem, already_ptr=np.array([0, len(covered)]), already=covered) if pins else problem
        ideal = problem.relevance_of(q, getattr(method, "robust", False))
        return PickSolver(own.query, ideal, pick=prepare(rest, q, k - len(pins)))

    return select_pages(problem, k, method, solver)


def refuse_rules(problem: Problem, method: object) -> None:
    """Raise for a method that cannot obey limits and shares."""
    if problem.rules:
        name = type(method).__name__
        raise OptionError(f"{name} cannot obey limit(...) or share(...): use Mascot, Mmr or Relevance, got {method!r}")


def _features(attribute: Any, table: Table, rows: int) -> Floats:
    """Return an attribute's features, checked: N rows of finite numbers."""
    owner = f"{type(attribute).__name__}.features"
    if not hasattr(attribute, "features"):
        raise InputError(f"{owner}(columns, vectors) is what this method compares by, got an attribute without it")
    array = as_matrix(attribute.features(table.columns, table.floats), owner, rows)
    if not np.isfinite(array).all():
        raise InputError(f"{owner} must be finite, got {array[~np.isfinite(array)][0]}")
    return array
