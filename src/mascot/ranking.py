"""Rankings: the results of one query or of many, best first."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Generic, SupportsIndex, overload

import numpy as np

from mascot.bins import Floats, Ints
from mascot.candidates import Id, TableRows, scaled
from mascot.errors import InputError
from mascot.fitting.fitted_wishes import FittedWishes, Queries
from mascot.methods.method import Method, Problem, Selection
from mascot.reasons.explain import Explainer, Explanation, MissedRule
from mascot.reasons.replay import Account, replay_gains
from mascot.serialize import plain

_LEFT_OUT = 3  # candidates left out that are explained


class Ranking(Generic[Id]):
    """The selected candidates of one query, best first.

    Attributes
    ----------
    ids, positions, scores, relevance, was
        For each result: its id, its position in the input, its score, its relevance in 0..1 over the candidates, and
        its rank by score, counted from 1.
    strength
        The strength of the method, or the strength that was found for `keep`.
    k, method, wishes
        The number of results that was asked for, and the method and the wishes that were used.
    """

    def __init__(
        self, queries: Queries, problem: Problem, selection: Selection, k: int, method: Method, fitted: FittedWishes
    ) -> None:
        self._ids, self._scores, self._problem, self._selection = queries.ids_of(0), queries.scores, problem, selection
        self._fitted, self.source = fitted, None if queries.sources is None else queries.sources[0]
        self._pinned, self._queries = queries.pinned, queries
        self.k, self.method, self.wishes, self.strength = k, method, fitted.wishes, float(selection.strengths[0])
        positions = selection.ranked[0]
        if selection.positions.shape[1] and positions[-1] < 0:
            positions = positions[positions >= 0]
        self._problem_positions: Ints = positions
        self.positions: Ints = problem.remaining.to_input(positions)

    @cached_property
    def ids(self) -> list[Id]:
        ids = self._ids
        return [ids[i] for i in self.positions.tolist()]

    def reordered(self, order: Ints) -> Ranking[Id]:
        """Return the same results in another order: `order` has the places of the results, from 0."""
        ranking = copy(self)
        ranking._problem_positions, ranking.positions = self._problem_positions[order], self.positions[order]
        ranking.ids = [self.ids[place] for place in order.tolist()]
        return ranking

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[Id]:
        return iter(self.ids)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Id: ...

    @overload
    def __getitem__(self, place: slice) -> list[Id]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Id | list[Id]:
        """Return the id at a place from 0, or the ids of a slice."""
        return self.ids[place]

    def __repr__(self) -> str:
        return f"Ranking({self.ids!r})" if len(self) <= 8 else f"Ranking({len(self)}: {self.ids[:6]!r}...)"

    @property
    def scores(self) -> Floats:
        return self._scores[self.positions]

    @cached_property
    def _all_relevance(self) -> Floats:
        return scaled(self._scores, getattr(self.method, "robust", False))

    @property
    def relevance(self) -> Floats:
        return self._all_relevance[self.positions]

    @cached_property
    def _rank_of(self) -> Ints:
        rank = np.empty(len(self._scores), np.int64)
        rank[np.argsort(-self._scores, kind="stable")] = np.arange(1, len(rank) + 1)
        return rank

    @property
    def was(self) -> Ints:
        return self._rank_of[self.positions]

    def records(self) -> list[Any]:
        """Return the records of the results, best first: the same objects that were ranked.

        The rows of a pandas, Polars, Arrow or Hugging Face table are returned as dictionaries.
        """
        if self.source is None:
            raise InputError("records() needs candidates made of records or of a table, got columns: use positions")
        positions, source = self.positions.tolist(), self.source
        return source.take(positions) if type(source) is TableRows else [source[i] for i in positions]

    @property
    def already(self) -> list[Id]:
        """Ids that earlier pages showed."""
        return [self._ids[i] for part in self._queries.already or () for i in part.tolist()]

    @cached_property
    def _by_score(self) -> Ints:
        """Positions in the problem, best first; closeness to named values is part of the scores."""
        return np.argsort(-self._problem.scores, kind="stable")

    @cached_property
    def _runners_up(self) -> Ints:
        """The best candidates that were left out."""
        is_open = self._problem.open_positions(0)
        is_open[self._problem_positions] = False
        return self._by_score[is_open[self._by_score]][:_LEFT_OUT]

    @cached_property
    def _account(self) -> Account | None:
        return replay_gains(self)

    @property
    def gains(self) -> dict[str, Floats]:
        """Contributions of relevance and of each attribute to each result's gain at its selection."""
        account = self._account
        if account is None:
            return {}
        step = {position: s for s, position in enumerate(self._selection.positions[0].tolist())}
        order = np.array([step[i] for i in self._problem_positions.tolist()], np.int64)
        return {name: values[order] for name, values in zip(account.names, account.gains, strict=True)}

    def explain(self, left_out: bool = True) -> Explanation:
        """Return why each result was selected and, if `left_out`, why the best other candidates were not."""
        return Explainer(self, left_out).explanation()

    def missed_rules(self) -> list[MissedRule]:
        """Return the shares and minimum counts that the page misses, the limits it exceeds, and why it is short."""
        return list(Explainer(self, left_out=False).missed_rules()) if self._fitted.constraints else []

    def to_dict(self, gains: bool = True) -> dict[str, Any]:
        """Return the ranking as plain data, ready for JSON; without gains it is faster."""
        parts = self.gains if gains else {}
        was, scores, relevance = self.was.tolist(), self.scores.tolist(), self.relevance.tolist()
        results = [
            {
                "id": plain(id_), "position": position, "rank": place + 1, "was": was[place], "score": scores[place],
                "relevance": relevance[place],
                **({"gains": {name: float(values[place]) for name, values in parts.items()}} if gains else {}),
            }
            for place, (id_, position) in enumerate(zip(self.ids, self.positions.tolist(), strict=True))
        ]  # fmt: skip
        return {
            "results": results,
            "strength": self.strength,
            "method": self.method.to_dict(),
            "wishes": [plain(wish) for wish in self.wishes],
        }


class Rankings(Sequence[Ranking[Id]], Generic[Id]):
    """The rankings of a batch; an item is a `Ranking`.

    `positions` [Q, k] is all that most callers need; queries with fewer than k results are padded with -1. `ids` has a
    list of ids for each query. `strengths` [Q] are the strengths that were used.
    """

    def __init__(
        self, queries: Queries, problem: Problem, selection: Selection, k: int, method: Method, fitted: FittedWishes
    ) -> None:
        self._queries, self._problem, self._selection, self._fitted = queries, problem, selection, fitted
        self.k, self.method, self.wishes = k, method, fitted.wishes
        self.strengths: Floats = selection.strengths
        positions = problem.remaining.to_input(selection.ranked)
        if positions.shape[1] < k:  # all queries have fewer
            positions = np.pad(positions, ((0, 0), (0, k - positions.shape[1])), constant_values=-1)
        self.positions: Ints = positions

    @cached_property
    def ids(self) -> list[list[Any]]:
        ids = self._queries.ids
        rows = [row[row >= 0] for row in self.positions]
        if isinstance(ids, np.ndarray):
            return [ids[start + row].tolist() for start, row in zip(self._queries.ptr, rows, strict=False)]
        return [row.tolist() if ids is None else [ids[q][i] for i in row.tolist()] for q, row in enumerate(rows)]

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, q: SupportsIndex) -> Ranking[Id]: ...

    @overload
    def __getitem__(self, q: slice) -> list[Ranking[Id]]: ...

    def __getitem__(self, q: SupportsIndex | slice) -> Ranking[Id] | list[Ranking[Id]]:
        if isinstance(q, slice):
            return [self._ranking(i) for i in range(*q.indices(len(self)))]
        q = operator.index(q)
        if not -len(self) <= q < len(self):
            raise IndexError(f"query {q} of {len(self)}")
        return self._ranking(q % len(self))

    def __repr__(self) -> str:
        return f"Rankings({len(self)} queries, k={self.positions.shape[1]})"

    def _ranking(self, q: int) -> Ranking[Id]:
        problem, selection = self._problem.only(q), self._selection.only(q)
        return Ranking(self._queries.only(q), problem, selection, self.k, self.method, self._fitted)
