"""What each result gained, what others would have gained in the last place, and the bins that results opened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.bins import Bins, Floats, Ints, VectorBins
from mascot.kernels.constants import TIE
from mascot.kernels.counters import unit_vectors
from mascot.kernels.objective import Novelty
from mascot.kernels.page import BEST, Page
from mascot.methods.method import Problem
from mascot.wishes import Wish

if TYPE_CHECKING:
    from mascot.ranking import Ranking

_OPEN = 0.5  # a result opens a bin if it newly covers at least this share of its own largest membership
_MOST_BINS = 3  # bins that are named per result and attribute


def names_of(wishes: Sequence[Wish]) -> list[str]:
    """Return the names of the attributes. Names that repeat, or that equal "relevance", get a number."""
    names = ["relevance"]
    for wish in wishes:
        name, number = wish.attribute.name, 2
        while name in names:
            name, number = f"{wish.attribute.name} {number}", number + 1
        names.append(name)
    return names[1:]


def gains_of(page: Page) -> list[list[float]]:
    """Return what each result gained by relevance and by each wish, in the order of selection, from the log."""
    weight, strength = 1 - page.strength, page.strength
    return [[weight * entry.relevance, *(strength * gain for gain in entry.gains)] for entry in page.log]


class LastPlace:
    """The last place that gains decided, and what other candidates would have gained there."""

    def __init__(self, ranking: Ranking[Any]) -> None:
        page, problem = ranking._page, ranking._problem
        self.place = max((place for place, entry in enumerate(page.log) if entry.cause == BEST), default=-1)
        before = [i for i in page.positions if i != page.positions[self.place]] if self.place >= 0 else page.positions
        self.before = np.array([*problem.already_of(0).tolist(), *before], np.int64)
        self.problem, self.strength, self.relevance = problem, page.strength, ranking._relevance
        self.worths, self.columns = ranking._worths, dict[int, tuple[list[float], list[float | None]]]()
        worth = sum(abs(factor) * top for factor, top, _ in self.worths)
        self.tie = TIE * (1 - page.strength + page.strength * worth)
        last = page.positions[self.place : self.place + 1] if self.place >= 0 else []
        self._add(np.array([*last, *ranking._runners_up.tolist()], np.int64))

    def gains(self, i: int) -> list[float]:
        """Return what candidate i would have gained by relevance and by each wish."""
        if i not in self.columns:
            self._add(np.array([i], np.int64))
        return self.columns[i][0]

    def covered(self, i: int, a: int) -> float | None:
        """Return the part of the bins of candidate i that is covered; None for vectors."""
        return self.columns[i][1][a]

    def _add(self, candidates: Ints) -> None:
        """Compute the gains of candidates."""
        gains = [(1 - self.strength) * self.relevance[candidates]]
        covered: list[list[Any]] = []
        for a, worth in enumerate(self.worths):
            bins = fixed_bins(self.problem, a)
            if isinstance(bins, VectorBins):
                own = _novelties(bins, self.before, candidates, worth[0], self.problem.missing[a] == "neutral")
                covered.append([None] * len(candidates))
            else:
                own, parts = _coverages(bins, self.before, candidates, *worth)
                covered.append(parts.tolist())
            gains.append(self.strength * own)
        rows = zip(np.array(gains).T.tolist(), zip(*covered, strict=True), strict=False)
        if not covered:
            rows = zip(np.array(gains).T.tolist(), [()] * len(candidates), strict=True)
        self.columns |= {i: (own, list(parts)) for i, (own, parts) in zip(candidates.tolist(), rows, strict=True)}


def fixed_bins(problem: Problem, a: int) -> Bins:
    """Return the bins of attribute a of the candidates of the only query, with their widths fixed."""
    bins = problem.bins[a]
    return (bins if problem.rows is None else bins.take(problem.rows)).resolve()


def _coverages(
    bins: Bins, before: Ints, candidates: Ints, factor: float, top: float, room: float
) -> tuple[Floats, Floats]:
    """Return what candidates gain after the results before them, and the part of their bins that is covered."""
    own = bins.take(np.concatenate([before, candidates]))
    membership = own.sparse().compact()[0].dense()
    left = np.prod(1 - room * membership[: len(before)], axis=0)
    rows, missing = membership[len(before) :], own.missing()[len(before) :]
    gains, whole = (rows * left).sum(axis=1), rows.sum(axis=1)
    covered = 1 - gains / np.where(whole > 0, whole, 1.0)
    return factor * gains + np.where(missing, min(factor, 0.0) * top, 0.0), covered  # a missing value comes last


def _novelties(bins: VectorBins, before: Ints, candidates: Ints, factor: float, neutral: bool) -> Floats:
    """Return what candidates gain by their vectors after the results before them."""
    unit = unit_vectors(bins.vectors[np.concatenate([before, candidates])])
    novelty = Novelty(unit, factor, copies=1.0, neutral=neutral)
    novelty.begin(np.arange(len(before)))
    return novelty.gains()[len(before) :]


def opened(bins: Bins, already: Ints, positions: Ints, room: float) -> list[list[str]]:
    """Return the names of the bins that each result was the first to cover, the largest part first.

    `bins` are those of all candidates, with their widths fixed, and `room` is the part of a bin that a result covers.
    """
    pairs, numbers = bins.sparse().compact()
    membership = pairs.dense()
    left, names, name = np.ones(len(numbers)), list[list[str]](), cache(bins.name)
    for i in already.tolist():
        left = left * (1 - room * membership[i])
    for i in positions.tolist():
        parts = membership[i] * left
        order = np.lexsort((np.arange(len(parts)), -parts))[:_MOST_BINS]
        least = max(_OPEN * float(membership[i].max(initial=0.0)), 1e-300)
        names.append([name(int(numbers[code])) for code in order if parts[code] >= least])
        left = left * (1 - room * membership[i])
    return names
