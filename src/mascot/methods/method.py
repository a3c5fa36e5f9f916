"""What a method takes (`Problem`) and returns (`Selection`): plain arrays for Q queries; one query is Q = 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Attribute, Columns, as_matrix
from mascot.bins import Bins, Bools, Floats, Ints, SparseBins, VectorBins
from mascot.errors import InputError, OptionError, check_share, require
from mascot.kernels import reference
from mascot.kernels.look_ahead import select_results
from mascot.kernels.novelty import QueryVectors, unit_vectors
from mascot.kernels.quotas import AnyQuota, may_fill, without_fill
from mascot.kernels.reference import QueryArrays, QueryBins
from mascot.kernels.reference import Selection as Selection

NO_POSITIONS = np.empty(0, np.int64)
Pick = Callable[[float], Ints]  # selects positions of one query at a strength
Prepare = Callable[["Problem", int, int], Pick]  # takes the number of a query and k


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
    rules: tuple[str, ...]  # [A], what a missing value gets: "last" or "neutral"
    attributes: tuple[Attribute, ...]  # [A]
    tables: tuple[Table, ...]  # one that all queries share, or one per query
    own_tables: bool = field(default=False, kw_only=True)  # whether the tables are those of the queries
    rows: Ints | None = None  # [T] rows of the bins; None: candidate t is row t
    already_ptr: Ints | None = None  # [Q + 1]; None: there are no earlier pages
    already: Ints | None = None  # positions within each query that earlier pages showed
    remaining: Remaining = ALL_REMAIN  # maps positions to those in the input
    quotas: tuple[AnyQuota, ...] = ()  # most results per label, or near-copies; rows as for the bins
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
        return reference.normalized(self.scores_of(q), robust and not self.named_weight)

    def already_of(self, q: int) -> Ints:
        if self.already is None or self.already_ptr is None:
            return NO_POSITIONS
        return self.already[self.already_ptr[q] : self.already_ptr[q + 1]]

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

    def arrays_of(self, q: int, quotas: Sequence[AnyQuota]) -> QueryArrays:
        """Return one query as the reference implementation takes it."""
        rows = self.rows_of(q)
        attributes: list[QueryBins | QueryVectors] = []
        for bins, sign, weight, rule in zip(self.bins, self.signs, self.weights, self.rules, strict=True):
            own = bins.take(rows)
            wish = own.missing(), sign, weight, rule == "neutral"
            if isinstance(bins, VectorBins):
                attributes.append(QueryVectors(unit_vectors(bins.vectors[rows]), *wish, bins.nearest))
            else:
                labels = isinstance(bins, SparseBins)
                names = getattr(own, "names", None), getattr(own, "name_price", 0.0)
                attributes.append(QueryBins(own.sparse().compact()[0].dense(), *wish, labels, *names))
        return QueryArrays(self.scores_of(q), attributes, self.already_of(q), quotas, rows)

    def only(self, q: int) -> Problem:
        """Return one query as a problem of its own."""
        rows, already, own = self.rows_of(q), self.already_of(q), len(self.tables) > 1
        ptr = np.array([0, len(rows)])
        return replace(
            self, ptr=ptr, scores=self.scores_of(q), rows=rows, already_ptr=np.array([0, len(already)]),
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


def select_each(problem: Problem, k: int, method: Any, prepare: Prepare | None = None) -> Selection:
    """Select query by query, at the strength of the method or, if it has a `keep`, at the one that is found.

    Relevance decides at strength 0, if `prepare` is None, and for queries without attributes and vectors.
    """
    strength, keep = getattr(method, "strength", 0.0), getattr(method, "keep", None)
    positions = np.full((len(problem), min(k, problem.longest)), -1, np.int64)
    strengths = np.full(len(problem), strength or 0.0)
    for q in np.flatnonzero(np.diff(problem.ptr)).tolist():
        if prepare is None or strength == 0 or not _is_comparable(problem, q, method):
            picks, strengths[q] = best_positions(problem, q, k), strength or 0.0
        elif keep is None:
            picks, strengths[q] = prepare(problem, q, k)(strength), strength
        else:
            picks, strengths[q] = _search(problem, q, k, method, prepare)
        positions[q, : len(picks)] = picks
    return Selection(positions, positions, strengths)


def _is_comparable(problem: Problem, q: int, method: Any) -> bool:
    """Return whether one query's candidates have attributes or vectors; raise if they have no wish at all either."""
    if len(problem.signs) > 0 or problem.tables[q if len(problem.tables) > 1 else 0].vectors is not None:
        return True
    if not problem.quotas and not problem.named_weight:
        name, remedy = type(method).__name__, "give Candidates(vectors=...) or a wish such as spread('city')"
        raise InputError(f"{name} compares candidates by vectors or wishes, got neither: {remedy}")
    return False


def _search(problem: Problem, q: int, k: int, method: Any, prepare: Prepare) -> tuple[Ints, float]:
    """Return one query's selection, and the strength at which it retains what `keep` asks for.

    Limits are exceeded to fill the list only if it is not full within them; see `hold_limits_first`.
    """
    if may_fill(problem.quotas):
        held = replace(problem, quotas=without_fill(problem.quotas))
        picks, strength = _search(held, q, k, method, prepare)
        if len(picks) == min(k, problem.open_positions(q).sum()):
            return picks, strength
    best, pick = best_positions(problem, q, k), prepare(problem, q, k)
    relevance = problem.relevance_of(q, getattr(method, "robust", False))
    least = method.keep * float(relevance[best].sum()) - 1e-9
    return reference.search_strength(lambda s: (pick(s) if s > 0 else best, 1), relevance, least)[:2]


def best_positions(problem: Problem, q: int, k: int) -> Ints:
    """Return one query's k highest scores that the quotas allow."""
    scores = problem.scores_of(q)
    order = np.argsort(-scores, kind="stable")
    order = order[problem.open_positions(q)[order]]
    if not problem.quotas:
        return np.asarray(order[:k])

    def begin() -> Any:
        return lambda allowed: int(order[allowed[order].argmax()]), lambda position: None

    return select_results(NO_POSITIONS, problem.already_of(q), k, problem.quotas, problem.rows_of(q), begin)[0]


def refuse_quotas(problem: Problem, method: object) -> None:
    """Raise for a method that cannot obey limits and shares."""
    if problem.quotas:
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
