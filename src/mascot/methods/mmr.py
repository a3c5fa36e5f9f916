"""MMR: relevance minus similarity to the results selected so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.bins import Bools, Ints
from mascot.errors import OptionError, check_switch
from mascot.kernels.reference import hold_limits_first, select_stages
from mascot.methods.method import NO_POSITIONS, Pick, Problem, Selection, check_strength, select_each
from mascot.methods.similarity import joined
from mascot.serialize import Value

_ROUNDING = 1e-6  # of a similarity in float32
_SMALLEST = 1e-30  # squared length of a vector in float32
_ROWS = 256  # of similarities that are cached for the strengths that `keep` tries


@dataclass(frozen=True, slots=True)
class Mmr(Value):
    """Maximal marginal relevance (Carbonell and Goldstein, 1998).

    The first result has the highest score; each further one maximises

        (1 - strength) * r_i - strength * max over selected j of sim(i, j)

    with relevance r in 0..1. A candidate's features are [unit image vector, (s_j / A) * features of each of the A
    attributes], s_j = +1 for spread and -1 for focus. sim is their dot product, scaled so that the
    candidate least similar to the best match is at 0 and the best match itself at 1. Weights other than 1 replace
    1 / A by w_j / sum(w).

    Parameters
    ----------
    strength
        0 is relevance only, 1 is dissimilarity only after the first result (default: 0.5, unless `keep` is given).
    published
        Select as the published baseline did: scale the dot products of all pairs to 0..1, use raw scores, and
        accept focus without a named value, which then has the effect of spread (default: False).
    normalize
        Rescale the scores to 0..1 over the candidates, where far outliers count as the outermost of the other scores;
        otherwise use raw scores (default: True, but False with `published`).
    keep
        Share of the best possible summed relevance that the results must retain; the strength is found for each query
        as for `Mascot` (default: None).

    Notes
    -----
    - MMR cannot focus. The sign scales both sides of a dot product, (s a) . (s b) = s^2 a . b = a . b, so focus
      selects exactly what spread selects.
    - With A attributes each counts (1 / A)^2 of the image vectors in the dot product.
    - Raw scores are compared with similarities in 0..1, so the useful range of strength depends on the retriever.
    - Candidates without vectors are compared by their attributes alone; with neither, `Mmr` is refused.
    - Time and memory are linear in the number of candidates, except with `published`. Dot products are computed in
      float32; gains closer together than their rounding are equal, and equal gains go to the lowest position.
    - A second page continues the first. Limits and shares are obeyed.
    """

    strength: float | None = None
    published: bool = False
    normalize: bool | None = None
    keep: float | None = None

    def __post_init__(self) -> None:
        check_strength(self, 0.5)
        check_switch("Mmr.published", self.published)
        if self.normalize is not None:
            check_switch("Mmr.normalize", self.normalize)

    @property
    def robust(self) -> bool:
        """Whether scores are rescaled, and far outliers among them ignored."""
        return not self.published if self.normalize is None else self.normalize

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        if (problem.signs < 0).any() and not self.published:
            raise OptionError(
                "Mmr cannot focus: it would select what spread selects. Name a value (focus(..., near=...)), use "
                "Mascot, or Mmr(published=True) for the published behaviour"
            )
        if self.keep is None:
            return self._select(problem, k)
        return hold_limits_first(
            lambda quotas: self._select(replace(problem, quotas=tuple(quotas)), k),
            problem.quotas,
            problem.most_results(k),
        )

    def _select(self, problem: Problem, k: int) -> Selection:
        return select_each(problem, k, self, lambda q, k: self._prepare(problem, q, k))

    def _prepare(self, problem: Problem, q: int, k: int) -> Pick:
        scores, already = problem.scores_of(q), problem.already_of(q)
        relevance = problem.relevance_of(q, robust=True) if self.robust else scores
        similarity = self._similarity(problem, q)

        def pick(strength: float) -> Ints:
            factor = strength / similarity.span if similarity.span > similarity.rounding else 0.0
            gains, latest = (1.0 - strength) * relevance, already.tolist()
            bound, slope = gains + factor * similarity.lowest, factor * similarity.scale
            tie = factor * similarity.rounding

            def choose(allowed: Bools) -> int:
                nonlocal gains, latest
                for position in latest:  # selected since the last call
                    gains = np.minimum(gains, bound - slope * similarity.products(position))
                # If nothing was selected before, the highest score is first.
                worth = np.where(allowed, gains if latest else scores, -np.inf)
                best = int(worth.argmax())
                if latest:
                    best = int((worth[: best + 1] >= worth[best] - tie).argmax())
                latest = [best]
                return best

            return select_stages(NO_POSITIONS, already, len(scores), k, problem.counts_of(q), choose)[0]

        return pick

    def _similarity(self, problem: Problem, q: int) -> _Similarity:
        scores = problem.scores_of(q)
        if not self.published and not len(problem.signs):
            vectors: Any = problem.table_of(q).vectors
            with np.errstate(over="ignore", invalid="ignore"):
                rows = vectors.astype(np.float32, copy=False)
                squares = (rows[:, None] @ rows[:, :, None])[:, 0, 0]
            if squares.min() > _SMALLEST and squares.max() < np.inf:  # else missing, or out of the range of float32
                return _Similarity(rows, 1 / np.sqrt(squares), int(scores.argmax()))
        rows = joined(problem.features_of(q), problem.signs, problem.weights, problem.unit_vectors_of(q))
        if self.published:
            return _Similarity(rows, np.ones(1))
        best = int(np.where(rows.any(axis=1), scores, -np.inf).argmax())
        return _Similarity(rows.astype(np.float32), np.ones(len(rows), np.float32), best)


class _Similarity:
    """Dot products of rows [N, D] times `scale` [N], where `lowest` counts as 0, and `span` more than that as 1.

    The range is that of the similarities to the best match. Without one it is that of all pairs, as published.
    """

    def __init__(self, rows: NDArray[Any], scale: NDArray[Any], best: int | None = None) -> None:
        @lru_cache(_ROWS)
        def products(position: int) -> NDArray[Any]:
            if best is None:  # summed row by row: BLAS would give equal candidates unequal products
                return np.einsum("nd,d->n", rows, rows[position])
            return rows @ (rows[position] * scale[position])

        similarities = rows @ rows.T if best is None else products(best) * scale
        self.products, self.scale, self.lowest = products, scale, similarities.min()
        self.span = similarities.max() - self.lowest
        self.rounding = 0.0 if best is None else _ROUNDING * similarities.max()  # of a similarity
