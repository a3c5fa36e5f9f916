"""Relevance alone: the retriever's own order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mascot.problem import Problem, Selection
from mascot.values import Value


@dataclass(frozen=True, slots=True)
class Relevance(Value):
    """The k highest scores: the order every method starts from, and gives back at strength 0.

    Equal scores keep the order of their positions; candidates already seen are left out.
    """

    def select(self, problem: Problem, k: int) -> Selection:
        """Choose k of the problem's candidates, or all that are left where there are fewer."""
        order = np.argsort(-problem.scores, kind="stable")
        chosen = order[~np.isin(order, problem.seen)][:k]
        return Selection(positions=chosen, shown=chosen, strength=0.0)
