"""Strategies of pyversity as methods here, on the features that MMR sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mascot.bins import Ints
from mascot.errors import MissingExtra, require
from mascot.extras import install_command
from mascot.kernels.reference import normalized
from mascot.kernels.similarity import joined
from mascot.methods.base import Problem, Selection, select_each

STRATEGIES = ("mmr", "msd", "dpp", "cover", "ssd")


@dataclass(frozen=True, slots=True)
class Pyversity:
    """A strategy of pyversity (`strength` is its `diversity`), on [unit image vector, features of each attribute].

    Relevance is scaled to 0..1 over the candidates, as its documentation advises. It spreads; it cannot focus.
    """

    strategy: str
    strength: float = 0.5

    def __post_init__(self) -> None:
        require(self.strategy in STRATEGIES, "Pyversity.strategy", f"must be one of {STRATEGIES}", self.strategy)
        require(0 <= self.strength <= 1, "Pyversity.strength", "must be in 0..1", self.strength)

    def select(self, problem: Problem, k: int) -> Selection:
        """Choose k of the problem's candidates."""
        try:
            import pyversity
        except ImportError:
            raise MissingExtra(f"comparing with pyversity needs: {install_command('pyversity')}") from None

        def diversify(q: int, k: int) -> Ints:
            rows = joined(problem.features_of(q), problem.signs, problem.weights, problem.unit_vectors_of(q))
            result = pyversity.diversify(
                embeddings=rows.astype(np.float32), scores=normalized(problem.scores_of(q)), k=k,
                strategy=self.strategy, diversity=self.strength,
            )  # fmt: skip
            return np.asarray(result.indices, np.int64)

        return select_each(problem, k, self.strength, diversify)

    def to_dict(self) -> dict[str, Any]:
        return {"method": f"pyversity-{self.strategy}", "strength": self.strength}
