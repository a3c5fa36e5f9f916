"""Relevance alone: the retriever's own order."""

from __future__ import annotations

from dataclasses import dataclass

from mascot.methods.method import Problem, Selection, select_each
from mascot.serialize import Value


@dataclass(frozen=True, slots=True)
class Relevance(Value):
    """The k highest scores: the order every method starts from, and returns at strength 0.

    Equal scores keep the order of their positions; candidates that earlier pages showed are left out. Limits and shares
    are obeyed.
    """

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k of each query's candidates, or as many as there are."""
        return select_each(problem, k, 0.0)
