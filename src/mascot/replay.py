"""Replay a selection: what each result added when it was selected, and what others would have added last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mascot.bins import Bins, Floats, Ints, VectorBins
from mascot.kernels import reference
from mascot.kernels.novelty import QueryVectors, WeighedVectors, unit_vectors
from mascot.kernels.reference import Options, WeighedAttribute
from mascot.methods.mascot import Mascot

if TYPE_CHECKING:
    from mascot.ranking import Ranking

_OPEN = 0.5  # a result opens a bin if it newly covers at least this share of its own largest membership
_MOST_BINS = 3  # bins that are named per result and attribute


class Account(NamedTuple):
    """Contributions to the gains, weighted by strength, and the bins that results open."""

    gains: Floats  # [1 + A, k + M] of relevance and the attributes: of results, and of others in place of the last one
    opened: list[tuple[Bins, list[list[int]]]]  # [A] the bins, and for each result the numbers of those it opens
    covered: Floats  # [A, M] the part of the bins of each other candidate that is covered; 0 for vectors


def replay_gains(ranking: Ranking[Any]) -> Account | None:
    """Return the gains of each result and of the best candidates left out; None for methods other than `Mascot`."""
    method, problem, selection = ranking.method, ranking._problem, ranking._selection
    if not isinstance(method, Mascot) or not len(ranking):
        return None
    options = method.kernel_options(len(ranking), problem.weights, problem.named_weight)
    strength = options.strength if method.keep is None else float(selection.strengths[0])
    relevance = problem.scores
    if method.normalize:
        is_scaled = problem.scores is ranking._scores  # no closeness is blended in, and nothing was dropped
        relevance = ranking._all_relevance if is_scaled else reference.normalized(problem.scores, options.robust)
    results, others, already = selection.positions[0][: len(ranking)], ranking._runners_up, problem.already_of(0)
    listed = np.concatenate([results, others])
    gains, covered = [(1 - strength) * relevance[listed]], np.zeros((len(problem.bins), len(others)))
    opened: list[tuple[Bins, list[list[int]]]] = []
    for a, bins in enumerate(problem.bins):
        resolved = (bins if problem.rows is None else bins.take(problem.rows)).resolve()
        if isinstance(resolved, VectorBins):
            order = reference.by_relevance(relevance, problem.scores)
            wish = resolved.missing(), problem.signs[a], problem.weights[a], problem.rules[a] == "neutral"
            vectors = QueryVectors(unit_vectors(resolved.vectors), *wish).scaled(order)
            replayed = WeighedVectors(vectors, selection.gain_factors[0, a]).replay(results, others, already)
            gains.append(strength * replayed)
            opened.append((resolved, [[] for _ in results]))
            continue
        attribute, used, at = _weighed(ranking, a, resolved, (results, others, already), relevance, options)
        attribute_gains, parts = attribute.replay(*at)
        gains.append(strength * attribute_gains)
        opened.append((resolved, _opened(parts[: len(results)], attribute.membership[at[0]], used)))
        whole = attribute.membership[at[1]].sum(axis=1)
        covered[a] = 1 - parts[len(results) :].sum(axis=1) / np.where(whole > 0, whole, np.inf)
    return Account(np.array(gains), opened, covered)


def _weighed(
    ranking: Ranking[Any], a: int, bins: Bins, parts: tuple[Ints, ...], relevance: Floats, options: Options
) -> tuple[WeighedAttribute, Ints, Sequence[Ints]]:
    """Return attribute a over the bins that candidates have, the numbers of these bins, and the rows of each part."""
    problem, selection = ranking._problem, ranking._selection
    neutral, rows, at = problem.rules[a] == "neutral", np.arange(bins.rows), parts
    if not neutral and not options.query_weight:  # these depend on all candidates; otherwise a few rows are enough
        rows = np.concatenate(parts)
        first, second = len(parts[0]), len(parts[0]) + len(parts[1])
        numbers = np.arange(len(rows))
        at = numbers[:first], numbers[first:second], numbers[second:]
    pairs, used = bins.take(rows).sparse().compact()
    query_bins = reference.QueryBins(pairs.dense(), bins.missing(rows), problem.signs[a], problem.weights[a], neutral)
    attribute = WeighedAttribute(
        *query_bins.weighed(relevance[rows], options.query_weight), query_bins.last,
        selection.gain_factors[0, a], selection.largest_gains[0, a], selection.coverage_per_result[0, a],
    )  # fmt: skip
    return attribute, used, at


def _opened(parts: Floats, membership: Floats, used: Ints) -> list[list[int]]:
    """Return the numbers of the bins that each result opens, the largest part first."""
    least = _OPEN * membership.max(axis=1, initial=0.0)
    result, column = np.nonzero((parts > 0) & (parts >= least[:, None]))
    order = np.lexsort((column, -parts[result, column], result))
    codes: list[list[int]] = [[] for _ in parts]
    for i, code in zip(result[order].tolist(), used[column[order]].tolist(), strict=True):
        codes[i].append(code)
    return [own[:_MOST_BINS] for own in codes]
