"""k-DPP: the set of largest determinant under one averaged similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.methods.dpp import greedy_map, qualities
from mascot.bench.methods.similarity import Similarity
from mascot.errors import check_share, check_switch
from mascot.methods.method import Pick, Problem, Selection, check_strength, select_each

LARGEST_THETA = 0.99  # at 1 the quality exp(theta / (1 - theta) * r) is infinite
_ROWS = 256  # of similarities that are cached for the strengths that `keep` tries


class Determinantal:
    """Base class of the methods that select a set of large determinant."""

    __slots__ = ()
    strength: float | None
    beta: float
    released: bool
    keep: float | None

    def __post_init__(self) -> None:
        check_strength(self, 0.1)
        check_share(f"{type(self).__name__}.beta", self.beta)
        check_switch(f"{type(self).__name__}.released", self.released)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, as records hold them."""
        parameters: Any = self
        return {"kind": type(self).__name__} | asdict(parameters)

    def _similarity(self, problem: Problem, q: int) -> tuple[Callable[[int], Floats], Floats, Floats]:
        """Return a function of one candidate's similarities [N], the diagonal [N], and the scores [N] of quality."""
        raise NotImplementedError

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        return select_each(problem, k, self, self._prepare)

    def _prepare(self, problem: Problem, q: int, k: int) -> Pick:
        similarity, diagonal, scores = self._similarity(problem, q)

        def pick(strength: float) -> Ints:
            quality = qualities(scores, min(1.0 - strength, LARGEST_THETA))
            return greedy_map(
                lambda position: similarity(position) * quality[position] * quality, diagonal * quality * quality,
                problem.scores_of(q), k, problem.already_of(q), self.released,
            )  # fmt: skip

        return pick


@dataclass(frozen=True, slots=True)
class KDpp(Determinantal):
    """k-determinantal point process (Kulesza and Taskar, 2011), greedy set of largest determinant.

    With theta = min(1 - strength, 0.99), relevance r in 0..1 and similarities 1 / (1 + Euclidean distance)

        S = (1 - beta) * mean_j(s_j S_j) + beta * S_img
        L = diag(alpha) S diag(alpha),    alpha_i = exp(theta / (2 (1 - theta)) * r_i)

    where j runs over the attributes, s_j = +1 for spread and -1 for focus, and weights w_j turn the
    mean into a weighted one. Starting at the largest diagonal entry, the candidate that multiplies
    det L of the chosen set most is added (incremental Cholesky; Chen et al., 2018); once no marginal
    variance is positive the list is filled up by score.

    Parameters
    ----------
    strength
        1 - theta; 0 is relevance only (default: 0.1, unless `keep` is given). The published search tried theta 0.8 and
        0.9.
    beta
        Share of the image similarity, 0..1 (default: 0.5). It is 0 for candidates without vectors, and 1 if
        there are no wishes.
    released
        Use the update of the published experiments, which divides by the marginal variance; the exact
        algorithm divides by its root (default: False). See `mascot.bench.methods.dpp.greedy_map`.
    normalize
        Rescale the scores to 0..1 over the candidates, ignoring far outliers; otherwise use raw scores, whose size then
        decides which strengths are useful (default: True, but False with `released`).
    keep
        Share of the best possible summed relevance to retain; the strength is found as for `Mascot` (default: None).

    Notes
    -----
    - Focus is not a DPP. With every sign -1 the diagonal of S is 2 beta - 1, so for beta <= 0.5 no
      candidate has a positive variance: the first pick is the least relevant candidate (beta < 0.5)
      or the first position (beta = 0.5), and the rest is filled up by score. Above 0.5 S is indefinite
      and the determinants mean little.
    - Time is linear in the number of candidates: only the similarities to selected ones are computed.
    - Candidates of earlier pages count as chosen, so a second page continues the first.
    """

    strength: float | None = None
    beta: float = 0.5
    released: bool = False
    normalize: bool | None = None
    keep: float | None = None

    def __post_init__(self) -> None:
        Determinantal.__post_init__(self)
        if self.normalize is not None:
            check_switch("KDpp.normalize", self.normalize)

    @property
    def robust(self) -> bool:
        """Whether scores are rescaled, and far outliers among them ignored."""
        return not self.released if self.normalize is None else self.normalize

    def _similarity(self, problem: Problem, q: int) -> tuple[Callable[[int], Floats], Floats, Floats]:
        vectors, signed = problem.unit_vectors_of(q), problem.signs * problem.weights
        blocks = [*problem.features_of(q), *([] if vectors is None else [vectors])]
        beta = 0.0 if vectors is None else self.beta if len(signed) else 1.0

        def mixed(parts: Sequence[Floats]) -> Floats:
            """Return the weighted mean of the attributes' similarities, mixed with that of the vectors."""
            mean = sum((weight * part for weight, part in zip(signed, parts, strict=False)), np.zeros(len(parts[0])))
            if len(signed):
                # Divided after the sum: the diagonal of a mean of ones is then exactly 1.
                mean /= problem.weights.sum()
            return mean if vectors is None else (1.0 - beta) * mean + beta * parts[-1]

        similarity = [Similarity(block) for block in blocks]
        rows = lru_cache(_ROWS)(lambda position: mixed([part.of(position, position + 1)[0] for part in similarity]))
        scores = problem.scores_of(q)
        diagonal = mixed([np.ones(len(scores)) for _ in blocks])
        return rows, diagonal, problem.relevance_of(q, robust=True) if self.robust else scores
