"""MMR: relevance minus similarity to what was chosen already."""

from __future__ import annotations

from dataclasses import dataclass

from mascot.errors import check_share
from mascot.kernels.mmr import greedy_mmr
from mascot.kernels.similarity import joined
from mascot.methods.relevance import Relevance
from mascot.problem import Problem, Selection
from mascot.values import Value


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
    strength : float
        0 is relevance only, 1 is dissimilarity only (after the first pick).

    Notes
    -----
    - The sign has no effect. It scales both sides of a dot product, (s a) . (s b) = s^2 a . b = a . b,
      so focus chooses exactly what spread chooses: MMR cannot reduce diversity. That is the published
      baseline, kept as it was.
    - With A attributes each counts (1 / A)^2 of the image vectors in the dot product.
    - Raw scores meet similarities in 0..1, so the useful range of strength depends on the retriever.
    - Candidates without vectors are compared by their attributes alone; with neither, the order is
      relevance. Candidates already seen count as chosen, so a second page continues the first.
    """

    strength: float = 0.5

    def __post_init__(self) -> None:
        check_share("Mmr.strength", self.strength)

    def select(self, problem: Problem, k: int) -> Selection:
        """Choose k of the problem's candidates, or all that are left where there are fewer."""
        relevance = Relevance().select(problem, k).positions
        blind = problem.vectors is None and not len(problem.signs)
        if self.strength == 0 or blind:
            return Selection(positions=relevance, shown=relevance, strength=self.strength)
        rows = joined(problem.features(), problem.signs, problem.weights, problem.vectors)
        seen = problem.seen[None]
        chosen = greedy_mmr(rows[None], problem.scores[None], self.strength, len(relevance), seen)[0]
        return Selection(positions=chosen, shown=chosen, strength=self.strength)
