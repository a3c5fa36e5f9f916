"""MMR: relevance minus similarity to the results selected so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mascot.bins import Bools, Floats, Ints
from mascot.errors import OptionError, check_share, check_switch
from mascot.kernels.reference import select_stages
from mascot.methods.method import NO_POSITIONS, Problem, Selection, select_each
from mascot.methods.similarity import joined
from mascot.serialize import Value


@dataclass(frozen=True, slots=True)
class Mmr(Value):
    """Maximal marginal relevance (Carbonell and Goldstein, 1998).

    The first pick is the highest score; each further one maximises

        (1 - strength) * r_i - strength * max over chosen j of sim(i, j)

    with raw scores r. A candidate's features are [unit image vector, (s_j / A) * features of each of
    the A attributes], s_j = +1 for spread and -1 for focus; sim is their dot product, min-max scaled
    to 0..1 over all pairs of candidates. Weights other than 1 replace 1 / A by w_j / sum(w).

    Parameters
    ----------
    strength
        0 is relevance only, 1 is dissimilarity only after the first pick (default: 0.5).
    published
        Accept focus without a named value, as the published baseline did: it then has the effect of spread
        (default: False, such a wish is refused).

    Notes
    -----
    - MMR cannot focus. The sign scales both sides of a dot product, (s a) . (s b) = s^2 a . b = a . b, so focus
      selects exactly what spread selects.
    - With A attributes each counts (1 / A)^2 of the image vectors in the dot product.
    - Raw scores are compared with similarities in 0..1, so the useful range of strength depends on the retriever.
    - Candidates without vectors are compared by their attributes alone; with neither, the order is relevance.
    - A second page continues the first. Limits and shares are obeyed.
    """

    strength: float = 0.5
    published: bool = False

    def __post_init__(self) -> None:
        check_share("Mmr.strength", self.strength)
        check_switch("Mmr.published", self.published)

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        if (problem.signs < 0).any() and not self.published:
            raise OptionError(
                "Mmr cannot focus: it would select what spread selects. Name a value (focus(..., near=...)), use "
                "Mascot, or Mmr(published=True) for the published behaviour"
            )
        return select_each(problem, k, self.strength, lambda q, k: self._choose(problem, q, k))

    def _choose(self, problem: Problem, q: int, k: int) -> Ints:
        scores, already, vectors = problem.scores_of(q), problem.already_of(q), problem.unit_vectors_of(q)
        rows = joined(problem.features_of(q), problem.signs, problem.weights, vectors)
        greedy = _Greedy(rows, scores, self.strength)
        for position in already:
            greedy.take(position)
        return select_stages(NO_POSITIONS, already, len(scores), k, problem.counts_of(q), greedy.choose)[0]


class _Greedy:
    """The candidates of one query, and the similarity of each to the most similar one taken so far.

    Similarities are dot products of rows [N, D], min-max scaled to 0..1 over all pairs (0 if all are equal).
    """

    def __init__(self, rows: Floats, scores: Floats, strength: float) -> None:
        products = rows @ rows.T
        self._rows, self._worth = rows, scores  # if nothing was taken before, the highest score is first
        self._lowest = products.min()
        span = products.max() - self._lowest
        self._factor = strength / span if span > 0 else 0.0
        self._relevance = (1.0 - strength) * scores
        self._nearest = np.full(len(rows), self._lowest)

    def take(self, position: int) -> None:
        # Summed row by row: BLAS would give equal candidates unequal similarities.
        np.maximum(self._nearest, np.einsum("nd,d->n", self._rows, self._rows[position]), out=self._nearest)
        self._worth = self._relevance - self._factor * (self._nearest - self._lowest)

    def choose(self, allowed: Bools) -> int:
        best = int(np.where(allowed, self._worth, -np.inf).argmax())
        self.take(best)
        return best
