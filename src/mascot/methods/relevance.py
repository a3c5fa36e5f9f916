"""Relevance alone: the retriever's own order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mascot.bins import Bools, Ints
from mascot.kernels.reference import select_stages
from mascot.methods.base import NO_POSITIONS, Problem, Selection, open_positions, select_each
from mascot.serialize import Value


@dataclass(frozen=True, slots=True)
class Relevance(Value):
    """The k highest scores: the order every method starts from, and returns at strength 0.

    Equal scores keep the order of their positions; candidates that earlier pages showed are left out. Limits and shares
    are obeyed.
    """

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k of each query's candidates, or as many as there are."""
        return select_each(problem, k, 0.0, lambda q, k: best_positions(problem, q, k))


def best_positions(problem: Problem, q: int, k: int) -> Ints:
    """Return one query's k highest scores that the quotas allow."""
    order = np.argsort(-problem.scores_of(q), kind="stable")
    order = order[open_positions(problem, q)[order]]
    if not problem.quotas:
        return np.asarray(order[:k])

    def choose(allowed: Bools) -> int:
        return int(order[allowed[order].argmax()])

    counts = problem.counts_of(q)
    return select_stages(NO_POSITIONS, problem.seen_of(q), len(problem.scores_of(q)), k, counts, choose)[0]
