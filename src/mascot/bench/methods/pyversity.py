"""Strategies of the package pyversity as rivals, on the features that MMR compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench.methods.own_method import select_by
from mascot.bench.methods.similarity import joined_features

STRATEGIES = ("mmr", "msd", "dpp", "cover", "ssd")


@dataclass(frozen=True, slots=True)
class Pyversity:
    """A strategy of pyversity (`strength` is its `diversity`), on [unit image vector, features of each attribute].

    Relevance is scaled to 0..1 over the candidates, as its documentation advises. It can spread, not focus.
    """

    strategy: str  # one of `STRATEGIES`
    strength: float = 0.5

    def select(self, problem: Any, k: int) -> Any:
        try:
            import pyversity
        except ImportError:
            raise mc.MissingExtra("comparing with pyversity needs: pip install pyversity") from None

        def pick(q: int, count: int) -> Any:
            embeddings = joined_features(problem, q).astype(np.float32)
            options: Any = {"strategy": self.strategy, "diversity": self.strength, "k": count}
            return pyversity.diversify(embeddings, relevance(problem.scores_of(q)), **options).indices

        return select_by(problem, k, pick)

    def to_dict(self) -> dict[str, Any]:
        return {"method": f"pyversity-{self.strategy}", "strength": self.strength}


def relevance(scores: Any) -> Any:
    """Return the scores scaled to 0..1, as every normalised method scales them."""
    return (scores - scores.min()) / (scores.max() - scores.min() + 1e-8)
