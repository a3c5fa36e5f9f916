"""What each candidate earned, paid and opened: the choice replayed attribute by attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mascot.kernels import reference
from mascot.memberships import Floats, Ints
from mascot.problem import Problem, Selection

_OPEN = 0.5  # a bin is opened by who newly covers at least this share of its own best membership
_MOST = 3  # bins named per candidate and attribute


@dataclass(frozen=True, slots=True)
class Account:
    """Contributions to the gain, already weighted by strength, and the names of bins opened."""

    relevance: Floats  # [k] in the order of choice
    gains: Floats  # [A, k]
    opened: list[list[list[str]]]  # [A][k] names of bins
    other_relevance: Floats  # [M] of candidates left out, had they been the last choice
    other_gains: Floats  # [A, M]


def account(problem: Problem, selection: Selection, others: Ints, relevance: Floats, by_peak: bool) -> Account:
    """Replay a coverage selection.

    `relevance` is what the method used; `by_peak` weighs bins by their peak relevance instead of by 1.
    Gains of `others` are what they would have had in place of the last choice.
    """
    picked, count, lam = selection.positions, len(problem.scores), selection.strength
    kinds = len(problem.signs)
    gains, other_gains = np.zeros((kinds, len(picked))), np.zeros((kinds, len(others)))
    opened: list[list[list[str]]] = []
    top = np.argsort(-problem.scores, kind="stable")[: selection.protect]
    for a, member in enumerate(problem.memberships()):
        resolved = member.resolve()
        missing = member.missing[:count]
        neutral = problem.rules[a] == "neutral" and bool(missing.any())
        start = np.arange(count, member.rows)  # the point a focus starts from
        wanted = np.concatenate([picked, others, problem.seen, start])
        if neutral or by_peak:  # they look at all candidates
            rows = resolved.sparse().compact()
            matrix, name = rows.dense(), rows.name
            if neutral:
                matrix[:count][missing] = reference.mean_membership(matrix[:count], missing)
            weight = reference.peak_relevance(matrix[:count], relevance) if by_peak else np.ones(rows.bins)
            matrix = matrix[wanted]
        else:
            rows = resolved.take(wanted).sparse().compact()
            matrix, name, weight = rows.dense(), rows.name, np.ones(rows.bins)
        mine, theirs, before = np.split(matrix, [len(picked), len(picked) + len(others)])
        named = len(start) > 0  # the protected do not cover where a focus names its point
        opening = ~np.isin(problem.seen, top) if named else np.ones(len(problem.seen), bool)
        left = reference.covered(np.ones(len(weight)), before[np.append(opening, np.ones(len(start), bool))])
        names: list[list[str]] = []
        for step, row in enumerate(mine):
            if step == len(picked) - 1:
                other_gains[a] = (theirs * (weight * left)).sum(axis=1)
            gains[a, step] = (row * weight * left).sum()
            fresh = row * left
            best = np.argsort(-fresh, kind="stable")[:_MOST]
            names.append([name(int(u)) for u in best if fresh[u] > 0 and fresh[u] >= _OPEN * row.max()])
            if not (named and picked[step] in top):
                left = left * (1 - row)
        opened.append(names)
        if problem.signs[a] < 0 and problem.rules[a] == "last":
            gains[a, missing[picked]] = selection.tops[a]
            other_gains[a, missing[others]] = selection.tops[a]
        gains[a] *= lam * selection.multipliers[a]
        other_gains[a] *= lam * selection.multipliers[a]
    return Account((1 - lam) * relevance[picked], gains, opened, (1 - lam) * relevance[others], other_gains)
