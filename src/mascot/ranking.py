"""Rankings: the results of one query or of many, best first."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from html import escape
from typing import Any, Generic, SupportsIndex, overload

import numpy as np

from mascot.bins import Floats, Ints, VectorBins
from mascot.candidates import Id, TableRows, scaled
from mascot.errors import InputError, MissingExtra, check_switch
from mascot.extras import install_command
from mascot.fitting.fitted_wishes import FittedWishes, Queries
from mascot.kernels.constants import RIVALS
from mascot.kernels.objective import relevance_of
from mascot.kernels.page import BEST, Page
from mascot.methods.mascot import Mascot
from mascot.methods.method import Method, Problem, Selection
from mascot.reasons.account import LastPlace, fixed_bins, gains_of, names_of, opened
from mascot.reasons.explain import Explainer, Explanation
from mascot.reasons.missed import MissedRule, missed_rules
from mascot.reasons.rule_counts import counts_of
from mascot.serialize import plain

_LEFT_OUT = 3  # candidates left out that are explained


class Ranking(Generic[Id]):
    """The selected candidates of one query, best first.

    Attributes
    ----------
    ids, positions, scores, relevance, was
        For each result: its id, its position in the input, its score, its relevance in 0..1 over the candidates, and
        its rank by score, counted from 1. `frame.iloc[page.positions]` are the rows of a pandas table.
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
    def all_relevance(self) -> Floats:
        """The relevance of every candidate, 0 to 1, in the order of the input."""
        if not getattr(self.method, "robust", False):
            return scaled(self._scores)
        return np.clip(relevance_of(self._scores, RIVALS * self.k + len(self.already)), 0.0, 1.0)

    @property
    def relevance(self) -> Floats:
        return self.all_relevance[self.positions]

    @property
    def kept(self) -> float:
        """The share of the best possible summed relevance that the results retain."""
        best = float(np.sort(self.all_relevance)[::-1][: len(self)].sum())
        return float(self.relevance.sum()) / best if best > 0 else 1.0

    @property
    def causes(self) -> list[str]:
        """What decided about each result: "pinned", "protected" or "best"."""
        by_position = dict(zip(self._page.positions, self._page.log, strict=False))
        causes = [by_position[i].cause if i in by_position else BEST for i in self._problem_positions.tolist()]
        names = "pinned", "protected" if self._has_gains else "best", "best"
        return [names[cause] for cause in causes]

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

    def to_pandas(self) -> Any:
        """Return a pandas table of the results, best first: rank, was, id, score, relevance and because."""
        try:
            import pandas
        except ModuleNotFoundError:
            command = install_command("pandas")
            raise MissingExtra(f"Ranking.to_pandas needs the package pandas: {command}") from None
        reasons = [reason.because for reason in self.explain(left_out=False).results]
        return pandas.DataFrame(
            {
                "rank": np.arange(1, len(self) + 1), "was": self.was, "id": pandas.Series(self.ids, dtype=object),
                "score": self.scores, "relevance": self.relevance, "because": pandas.Series(reasons, dtype=object),
            }
        )  # fmt: skip

    def _repr_html_(self) -> str:
        """Return the results and the reasons as a table, which notebooks show."""
        explanation = self.explain(left_out=False)
        rows = [("rank", "was", "id", "score", "because")]
        values = zip(self.was.tolist(), self.ids, self.scores.tolist(), explanation.results, strict=True)
        for rank, (was, id_, score, reason) in enumerate(values, 1):
            rows.append((str(rank), str(was), str(id_), f"{score:.4g}", reason.because))
        lines = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows]
        notes = "".join(f"<p>{escape(note)}</p>" for note in explanation.notes)
        return f"<table><tr>{'</tr><tr>'.join(lines)}</tr></table>{notes}"

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
    def _page(self) -> Page:
        """The results in the order of selection, and the log of their places."""
        page = self._selection.page(0) or self.method.select(self._problem, self.k).page(0)
        return page or Page(self._selection.positions[0].tolist())

    @property
    def _has_gains(self) -> bool:
        return isinstance(self.method, Mascot) and len(self) > 0

    @cached_property
    def _gains_by_step(self) -> list[list[float]]:
        return gains_of(self._page)

    @cached_property
    def _last_place(self) -> LastPlace:
        return LastPlace(self)

    @cached_property
    def _relevance(self) -> Floats:
        """The relevance of the candidates of the problem, in the gain."""
        assert isinstance(self.method, Mascot)
        return self.method.relevance(self._problem, self.k, self.method.options_for(self._problem, self.k))[0]

    @cached_property
    def _worths(self) -> list[list[float]]:
        """For each attribute the worth of one unit of coverage, the largest coverage, and the coverage per result."""
        assert isinstance(self.method, Mascot)
        if self._selection.log is not None:
            return self._selection.log.worths.tolist()
        solver = self.method.solver(self._problem, 0, self.k, self.method.options_for(self._problem, self.k))
        return [term.worths for term in solver.wishes]

    @cached_property
    def _opened(self) -> dict[str, list[list[str]]]:
        """For each attribute with bins, the names of those that each result opened, in the order of selection."""
        if not isinstance(self.method, Mascot):
            return {}
        problem, positions = self._problem, np.array(self._page.positions, np.int64)
        columns: dict[str, list[list[str]]] = {}
        for a, (name, (_, _, room)) in enumerate(zip(names_of(self._fitted.coverage), self._worths, strict=True)):
            own, columns[name] = fixed_bins(problem, a), [[]] * len(positions)
            if not isinstance(own, VectorBins):
                columns[name] = opened(own, problem.already_of(0), positions, room)
        return columns

    @property
    def gains(self) -> dict[str, Floats]:
        """Contributions of relevance and of each attribute to each result's gain at its selection."""
        if not self._has_gains:
            return {}
        step = {position: s for s, position in enumerate(self._page.positions)}
        rows = np.array([self._gains_by_step[step[i]] for i in self._problem_positions.tolist()])
        return dict(zip(["relevance", *names_of(self._fitted.coverage)], rows.T, strict=True))

    def explain(self, left_out: bool = True, *, ids: Iterable[Hashable] = ()) -> Explanation:
        """Return why each result was selected and, if `left_out`, why the best other candidates were not.

        With `ids` these candidates are explained instead of the best ones that were left out.
        """
        check_switch("Ranking.explain.left_out", left_out)
        others = self._runners_up if left_out else self._runners_up[:0]
        return Explainer(self, self._positions_of(ids) if ids else others).explanation()

    def _positions_of(self, ids: Iterable[Hashable]) -> Ints:
        """Return the positions, among the remaining candidates, of candidates that are not results."""
        place_of = {id_: position for position, id_ in reversed(list(enumerate(self._ids)))}
        unknown = [id_ for id_ in ids if id_ not in place_of]
        if unknown:
            raise InputError(f"explain needs ids of candidates, got {unknown[0]!r}")
        positions = np.array([place_of[id_] for id_ in ids], np.int64)
        rest = self._problem.remaining.from_input(0, positions)
        return rest[~np.isin(rest, self._problem_positions)]

    def missed_rules(self) -> list[MissedRule]:
        """Return what the page misses.

        These are shares and minimum counts, limits that it exceeds, values that no candidate has, and why it is short.
        """
        return list(missed_rules(self, counts_of(self, self._runners_up[:0])))

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
        self, positions: Ints, strengths: Floats, k: int, method: Method, wishes: Sequence[Any],
        ranking: Callable[[int], Ranking[Id]],
    ) -> None:  # fmt: skip
        """Hold the rankings of many queries: `ranking` returns that of one query."""
        if positions.shape[1] < k:  # all queries have fewer
            positions = np.pad(positions, ((0, 0), (0, k - positions.shape[1])), constant_values=-1)
        self.positions: Ints = positions
        self.strengths: Floats = strengths
        self.k, self.method, self.wishes, self._ranking = k, method, wishes, ranking

    @cached_property
    def ids(self) -> list[list[Any]]:
        return [self._ranking(q).ids for q in range(len(self))]

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
