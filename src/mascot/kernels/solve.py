"""Select for one query: the lists of a focus that compete, the strength that `keep` asks for, and the shown order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mascot.kernels.constants import ALIKE, LEADERS, TIE
from mascot.kernels.objective import Coverage, Floats, Ints, Novelty
from mascot.kernels.page import Entry, Page, Query, build
from mascot.kernels.plan import complete


class Log(NamedTuple):
    """What the native kernel wrote about a single query."""

    relevance: Floats  # [N] in the gain
    entries: Ints  # [k, 4] cause, kept_out, rule and level of each place
    gains: Floats  # [k, A] of each term
    worths: Floats  # [A, 3] worth of one unit of coverage, largest coverage, coverage per result


@dataclass(eq=False, slots=True)
class Selection:
    """What was selected for Q queries; -1 pads where a query has fewer than k results."""

    positions: Ints  # [Q, k] in the order of selection
    ranked: Ints  # [Q, k] the same positions, best first
    strengths: Floats  # [Q] the strength that was used (the one found, if `keep` was asked for)
    pages: list[Page] = field(default_factory=list)  # with the logs; none if nothing wrote them
    log: Log | None = None  # of the native kernel, of a single query
    levels: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # [Q] of the native kernel, as of a page

    def only(self, q: int) -> Selection:
        """Return the selection of one query, without padding."""
        count, shown = int((self.positions[q] >= 0).sum()), int((self.ranked[q] >= 0).sum())
        own = slice(q, q + 1)
        return Selection(self.positions[own, :count], self.ranked[own, :shown], self.strengths[own], self.pages[own])

    def log_relevance(self, relevance: Floats, ptr: Ints) -> None:
        """Write the relevance [T] of the results into the logs: a plain page is selected by its scores."""
        if self.log is not None:
            self.log = self.log._replace(relevance=relevance)
        for page, start in zip(self.pages, ptr.tolist(), strict=False):
            rows = zip(page.positions, page.log, strict=False)
            page.log = [entry._replace(relevance=float(relevance[start + i])) for i, entry in rows]

    def page(self, q: int) -> Page | None:
        """Return the page of one query with its log; None if nothing wrote one."""
        if self.log is None:
            return self.pages[q] if self.pages else None
        positions = [i for i in self.positions[q].tolist() if i >= 0]
        relevance, entries, gains, _ = (array.tolist() for array in self.log)
        rows = zip(positions, entries, gains, strict=False)
        log = [Entry(cause, relevance[i], tuple(own), *rest) for i, (cause, *rest), own in rows]
        return Page(positions, log, int(self.levels[q]), float(self.strengths[q]))


@dataclass(eq=False, slots=True)
class Solver:
    """One query, its protected results, and what competes at each strength.

    One greedy pass is myopic under a focus: the bins of the protected results are free, so it takes everything there
    before it opens a better bin. A focus therefore has three lists, and the best objective wins: the plain page, the
    greedy page, and the greedy page that starts from the protected results and the centre.
    """

    query: Query
    ideal: Floats  # relevance in 0..1, of which `keep` retains a share
    protected: Sequence[int] = ()
    wishes: Sequence[Coverage | Novelty] = ()  # the terms of the query
    focuses: Sequence[Coverage | Novelty] = ()  # those that compete in three lists; none: a single greedy pass

    def at(self, strength: float) -> Page:
        """Return the page at one strength."""
        page, protected = self.greedy(strength)
        return complete(self.query, page, strength, protected)

    def greedy(self, strength: float) -> tuple[Page, Sequence[int]]:
        """Return the best list of the first pass, which does not look ahead, and the results that it started from."""
        page = build(self.query, strength, self.protected)
        if not self.focuses or strength == 0:
            return page, self.protected
        lists = [(build(self.query, 0.0), self.protected), (page, self.protected)]
        if (centre := self.centre()) is not None:
            start = [*self.protected, centre]
            lists.append((build(self.query, strength, start), start))
        best, tie = lists[0], self.query.tie(strength)
        for other in lists[1:]:
            rank, best_rank = [(len(own.positions), -own.level) for own, _ in (other, best)]
            gain = other[0].objective(strength) - best[0].objective(strength)
            best = other if rank > best_rank or (rank == best_rank and gain > tie) else best
        best[0].strength = strength
        return best

    def centre(self) -> int | None:
        """Return the one of the most relevant candidates around which most of them lie, unlike all protected results.

        A candidate is like another one if it has half of its bins of the focused attributes.
        """
        order = self.query.order()
        leaders = order[self.query.free()[order]][:LEADERS]
        if not len(leaders):
            return None
        like = np.mean([term.likeness(leaders) for term in self.focuses], axis=0)  # [i, c]
        mass = (self.ideal[leaders][:, None] * like).sum(axis=0)
        protected = np.isin(leaders, self.protected)
        mass[(like[:, protected] >= ALIKE).any(axis=1) | protected | (like.diagonal() == 0)] = -np.inf
        if mass.max() == -np.inf:
            return None
        return int(leaders[np.argmax(mass >= mass.max() - TIE * LEADERS)])

    def search(self, keep: float) -> tuple[Page, float]:
        """Return the page and the strength of the largest strength that retains a share of the best relevance.

        The search goes down from 1 in steps of 0.05 until the results retain enough, and then tries the hundredths
        above that step from the top. Limits with fill do not give way until the strength is found: a page that is full
        within them stays so.
        """
        held = replace(self, query=replace(self.query, fill=False))
        best = build(held.query, 0.0, self.protected)
        least = keep * float(self.ideal[best.positions].sum()) - 1e-9

        def enough(hundredths: int) -> bool:
            return float(self.ideal[held.greedy(hundredths / 100)[0].positions].sum()) >= least

        step = next((step for step in range(100, 0, -5) if enough(step)), 0)
        finer = range(step + 4, step, -1) if step < 100 else ()
        strength = next((fine for fine in finer if enough(fine)), step) / 100
        return self.at(strength), strength


def shown_order(query: Query, page: Page, relevance: Floats) -> list[int]:
    """Return the results of a page by relevance: the same loop over the selected set."""
    chosen = np.array(page.positions, np.int64)
    placed = [counter for counter in query.counters if counter.is_placed]
    if not placed and not query.pinned:
        return chosen[np.lexsort((chosen, -query.scores[chosen], -relevance[chosen]))].tolist()
    eligible = np.zeros(len(query.scores), bool)
    eligible[chosen] = True
    again = replace(query, relevance=relevance, terms=(), counters=placed, k=len(chosen), eligible=eligible)
    order = build(again, 0.0, [i for i in again.order().tolist() if eligible[i]]).positions
    return order if len(order) == len(chosen) else page.positions
