"""k-DPP: the set of largest determinant under one averaged similarity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mascot.bins import Floats, Ints
from mascot.errors import check_share, check_switch
from mascot.methods.dpp import ensemble, greedy_map
from mascot.methods.method import Problem, Selection, refuse_quotas, select_each
from mascot.methods.similarity import similarities
from mascot.serialize import Value

LARGEST_THETA = 0.99  # at 1 the quality exp(theta / (1 - theta) * r) is infinite
_BLOCKS = 96  # blocks of features whose similarities are cached


class Determinantal(Value):
    """Base class of the methods that select a set of large determinant."""

    __slots__ = ()
    strength: float
    beta: float
    released: bool

    def __post_init__(self) -> None:
        check_share(f"{type(self).__name__}.strength", self.strength)
        check_share(f"{type(self).__name__}.beta", self.beta)
        check_switch(f"{type(self).__name__}.released", self.released)

    def _similarity(self, problem: Problem, q: int) -> tuple[Floats, Floats]:
        """Return the similarity [N, N] of one query's candidates and the scores [N] of their quality."""
        raise NotImplementedError

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        refuse_quotas(problem, self)
        theta = min(1.0 - self.strength, LARGEST_THETA)

        def choose(q: int, k: int) -> Ints:
            kernel = ensemble(*self._similarity(problem, q), theta)
            return greedy_map(kernel, problem.scores_of(q), k, problem.already_of(q), self.released)

        return select_each(problem, k, self.strength, choose)


@dataclass(frozen=True, slots=True)
class KDpp(Determinantal):
    """k-determinantal point process (Kulesza and Taskar, 2011), greedy set of largest determinant.

    With theta = min(1 - strength, 0.99), raw scores r and similarities 1 / (1 + Euclidean distance)

        S = (1 - beta) * mean_j(s_j S_j) + beta * S_img
        L = diag(alpha) S diag(alpha),    alpha_i = exp(theta / (2 (1 - theta)) * r_i)

    where j runs over the attributes, s_j = +1 for spread and -1 for focus, and weights w_j turn the
    mean into a weighted one. Starting at the largest diagonal entry, the candidate that multiplies
    det L of the chosen set most is added (incremental Cholesky; Chen et al., 2018); once no marginal
    variance is positive the list is filled up by score.

    Parameters
    ----------
    strength
        1 - theta; 0 is relevance only. The published search tried theta 0.8 and 0.9.
    beta
        Share of the image similarity, 0..1 (default: 0.5). It is 0 for candidates without vectors, and 1 if
        there are no wishes.
    released
        Use the update of the published experiments, which divides by the marginal variance; the exact
        algorithm divides by its root (default: False). See `mascot.methods.dpp.greedy_map`.

    Notes
    -----
    - Focus is not a DPP. With every sign -1 the diagonal of S is 2 beta - 1, so for beta <= 0.5 no
      candidate has a positive variance: the first pick is the least relevant candidate (beta < 0.5)
      or the first position (beta = 0.5), and the rest is filled up by score. Above 0.5 S is indefinite
      and the determinants mean little.
    - Quality grows with raw scores: the same strength acts more gently on scores in 0..1 than in 0..100.
    - Candidates of earlier pages count as chosen, so a second page continues the first.
    """

    strength: float = 0.1
    beta: float = 0.5
    released: bool = False

    def _similarity(self, problem: Problem, q: int) -> tuple[Floats, Floats]:
        scores, vectors = problem.scores_of(q), problem.unit_vectors_of(q)
        similarity = np.zeros((len(scores), len(scores)))
        for part, features in zip(problem.signs * problem.weights, problem.features_of(q), strict=True):
            similarity += part * _similarities(features.shape, features.tobytes())
        if len(problem.signs):
            # Divided after the sum: the diagonal of a mean of ones is then exactly 1.
            similarity /= problem.weights.sum()
        if vectors is not None:
            beta = self.beta if len(problem.signs) else 1.0
            similarity = (1.0 - beta) * similarity + beta * _similarities(vectors.shape, vectors.tobytes())
        return similarity, scores


@lru_cache(maxsize=_BLOCKS)
def _similarities(shape: tuple[int, ...], content: bytes) -> Floats:
    """Return the similarities of a block of features. They are cached for the next strength or beta."""
    return similarities(np.frombuffer(content).reshape(shape))
