"""Replay a selection: what each result added when it was selected, and what others would have added last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mascot.bins import Bins, Floats, Ints, VectorBins
from mascot.kernels import reference
from mascot.kernels.novelty import QueryVectors, WeighedVectors, unit_vectors
from mascot.kernels.reference import Options, WeighedAttribute
from mascot.methods.mascot import Mascot
from mascot.wishes import Wish

if TYPE_CHECKING:
    from mascot.ranking import Ranking

_OPEN = 0.5  # a result opens a bin if it newly covers at least this share of its own largest membership
_MOST_BINS = 3  # bins that are named per result and attribute
_FEW_BINS = 100  # so few need not be reduced to those that occur


class BinParts(NamedTuple):
    """The bins of one attribute, and what k results and M others cover of them."""

    bins: Bins
    numbers: Ints  # [U] of the bins that occur
    membership: Floats  # [k + M, U]
    uncovered: Floats  # [k + M, U] the part of the membership that was not covered before

    def covered(self, row: int) -> float:
        """Return the part of the bins of a candidate that is covered."""
        whole = float(self.membership[row].sum())
        return 1 - float(self.uncovered[row].sum()) / whole if whole > 0 else 1.0

    def opened(self, k: int) -> list[list[str]]:
        """Return the names of the bins that each result opens, the largest part first."""
        parts, least = self.uncovered[:k], _OPEN * self.membership[:k].max(axis=1, initial=0.0)
        result, column = np.nonzero((parts > 0) & (parts >= least[:, None]))
        order = np.lexsort((column, -parts[result, column], result))
        codes: list[list[int]] = [[] for _ in parts]
        for i, code in zip(result[order].tolist(), self.numbers[column[order]].tolist(), strict=True):
            codes[i].append(code)
        name = cache(self.bins.name)
        return [[name(code) for code in own[:_MOST_BINS]] for own in codes]


@dataclass(frozen=True, eq=False)
class Account:
    """Contributions to the gains, weighted by strength, and the bins that results open."""

    k: int
    names: list[str]  # [1 + A] "relevance", and the attributes
    gains: Floats  # [1 + A, k + M] of relevance and the attributes: of results, and of others in place of the last one
    parts: list[BinParts | None]  # [A]; None for vectors

    @cached_property
    def rows(self) -> list[list[float]]:
        """The gains of each result and other candidate."""
        rows: list[list[float]] = self.gains.T.tolist()
        return rows

    @cached_property
    def opened(self) -> list[dict[str, list[str]]]:
        """The names of the bins that each result opens, for each attribute; results are in the order of selection."""
        columns = [parts.opened(self.k) if parts else [list[str]()] * self.k for parts in self.parts]
        return [dict(zip(self.names[1:], row, strict=True)) for row in zip(*columns, strict=True)] or [{}] * self.k


def is_replayed(ranking: Ranking[Any]) -> bool:
    """Return whether the results of a ranking have gains: those of `Mascot`."""
    return isinstance(ranking.method, Mascot) and len(ranking) > 0


def replay_gains(ranking: Ranking[Any]) -> Account | None:
    """Return the gains of each result and of the best candidates left out; None for methods other than `Mascot`."""
    method, problem, selection = ranking.method, ranking._problem, ranking._selection
    if not is_replayed(ranking):
        return None
    assert isinstance(method, Mascot)
    options = method.kernel_options(len(ranking), problem.weights, problem.named_weight)
    strength = options.strength if method.keep is None else float(selection.strengths[0])
    relevance = problem.scores
    if method.normalize:
        is_scaled = problem.scores is ranking._scores  # no closeness is blended in, and nothing was dropped
        relevance = ranking._all_relevance if is_scaled else reference.normalized(problem.scores, options.robust)
    results, others, already = selection.positions[0][: len(ranking)], ranking._runners_up, problem.already_of(0)
    rows = np.concatenate([already, results, others])
    gains = [(1 - strength) * relevance[rows[len(already) :]]]
    parts: list[BinParts | None] = []
    for a, bins in enumerate(problem.bins):
        resolved = (bins if problem.rows is None else bins.take(problem.rows)).resolve()
        if isinstance(resolved, VectorBins):
            order = reference.by_relevance(relevance, problem.scores)
            wish = resolved.missing(), problem.signs[a], problem.weights[a], problem.rules[a] == "neutral"
            vectors = QueryVectors(unit_vectors(resolved.vectors), *wish).scaled(order)
            replayed = WeighedVectors(vectors, selection.gain_factors[0, a]).replay(results, others, already)
            gains.append(strength * replayed)
            parts.append(None)
            continue
        attribute, numbers = _weighed(ranking, a, resolved, rows, relevance, options)
        attribute_gains, uncovered = attribute.replay(len(already), len(results))
        gains.append(strength * attribute_gains)
        parts.append(BinParts(resolved, numbers, attribute.membership[len(already) :], uncovered))
    return Account(len(results), ["relevance", *names_of(ranking._fitted.coverage)], np.array(gains), parts)


def names_of(wishes: Sequence[Wish]) -> list[str]:
    """Return the names of the attributes. Names that repeat, or that equal "relevance", get a number."""
    names = ["relevance"]
    for wish in wishes:
        name, number = wish.attribute.name, 2
        while name in names:
            name, number = f"{wish.attribute.name} {number}", number + 1
        names.append(name)
    return names[1:]


def _weighed(
    ranking: Ranking[Any], a: int, bins: Bins, rows: Ints, relevance: Floats, options: Options
) -> tuple[WeighedAttribute, Ints]:
    """Return attribute a of these rows, over the bins that candidates have, and the numbers of these bins."""
    problem, selection = ranking._problem, ranking._selection
    neutral, weighed_rows = problem.rules[a] == "neutral", rows
    if neutral or options.query_weight:  # these depend on all candidates; otherwise a few rows are enough
        weighed_rows = np.arange(bins.rows)
    pairs = bins.take(weighed_rows).sparse()
    pairs, numbers = pairs.compact() if pairs.count > _FEW_BINS else (pairs, np.arange(pairs.count))
    wish = bins.missing(weighed_rows), problem.signs[a], problem.weights[a], neutral
    query_bins = reference.QueryBins(pairs.dense(), *wish)
    membership, bin_weights = query_bins.weighed(relevance[weighed_rows], options.query_weight)
    last = query_bins.last
    if weighed_rows is not rows:
        membership, last = membership[rows], last[rows]
    worth = selection.gain_factors, selection.largest_gains, selection.coverage_per_result
    return WeighedAttribute(membership, bin_weights, last, *(values[0, a] for values in worth)), numbers
