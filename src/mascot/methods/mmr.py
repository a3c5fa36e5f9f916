"""MMR: relevance minus similarity to the results selected so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.bins import Floats, Ints
from mascot.errors import OptionError, check_switch
from mascot.kernels.page import protect
from mascot.kernels.solve import Solver
from mascot.methods.method import Problem, Selection, check_strength, is_comparable, relevance_solver, select_pages
from mascot.serialize import Value

_ROUNDING = 1e-6  # of a similarity in float32
_ROWS = 256  # of similarities that are cached for the strengths that `keep` tries


@dataclass(frozen=True, slots=True)
class Mmr(Value):
    """Maximal marginal relevance (Carbonell and Goldstein, 1998).

    The first result has the highest score; each further one maximises

        (1 - strength) * r_i - strength * max over selected j of sim(i, j)

    with relevance r in 0..1. A candidate's features are [unit image vector, (s_j / A) * features of each of the A
    attributes], s_j = +1 for spread and -1 for focus. sim is their dot product, scaled so that the similarities of the
    best match range from 0 to 1. Weights other than 1 replace 1 / A by w_j / sum(w).

    Parameters
    ----------
    strength
        0 is relevance only, 1 is dissimilarity only after the first result (default: 0.5, unless `keep` is given).
    published
        Select as the published baseline did: scale the dot products of all pairs to 0..1, use raw scores, and
        accept focus without a named value, which then has the effect of spread (default: False).
    normalize
        Rescale the scores to 0..1 over the candidates, ignoring far outliers; otherwise use raw scores, whose size then
        decides which strengths are useful (default: True, but False with `published`).
    keep
        Share of the best possible summed relevance to retain; the strength is found as for `Mascot` (default: None).

    Notes
    -----
    - MMR cannot focus. The sign scales both sides of a dot product, (s a) . (s b) = s^2 a . b = a . b, so focus
      selects exactly what spread selects.
    - With A attributes each counts (1 / A)^2 of the image vectors in the dot product.
    - Candidates without vectors are compared by their attributes alone; with neither, `Mmr` is refused.
    - Time is linear in the number of candidates, except with `published`. Beside wishes, products are computed in
      float32. Gains closer together than rounding are equal, and equal gains go to the lowest position.
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
        return select_pages(problem, k, self, lambda q: self._solver(problem, q, k))

    def _solver(self, problem: Problem, q: int, k: int) -> Solver:
        scores = problem.scores_of(q)
        ideal = problem.relevance_of(q, robust=self.robust)
        if self.strength == 0 or not is_comparable(problem, q, self):
            return relevance_solver(problem, q, k)
        similarity, rounding = self._similarity(problem, q)
        query = problem.query(q, k, ideal if self.robust else scores, [Unlike(len(scores), similarity, rounding)])
        is_first = not len(query.already) and not query.pinned  # the first result has the highest score
        return Solver(query, ideal, protect(np.lexsort((np.arange(len(scores)), -scores)), int(is_first), query))

    def _similarity(self, problem: Problem, q: int) -> tuple[Callable[[int], NDArray[Any]], float]:
        """Return a function of one candidate's similarities [N] in 0..1, and how far rounding may change them."""
        rows, factors = self._rows(problem, q)
        if self.published:
            # Summed row by row: BLAS would give equal candidates unequal products.
            products = lru_cache(_ROWS)(lambda position: np.einsum("nd,d->n", rows, rows[position]))
            compared, rounding = rows @ rows.T, 0.0
        else:
            products = lru_cache(_ROWS)(lambda position: (rows @ (rows[position] * factors[position])) * factors)
            best = int(np.where(factors > 0, problem.scores_of(q), -np.inf).argmax())
            compared, rounding = products(best), _ROUNDING
        lowest = compared.min()
        span = compared.max() - lowest
        if span <= rounding:
            return lambda position: 0.0 * factors, 0.0
        return lambda position: (products(position) - lowest) / span, rounding / span

    def _rows(self, problem: Problem, q: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows [N, D] and factors [N], whose products are compared; the factor of a missing row is 0."""
        vectors = problem.unit_vectors_of(q)
        blocks = [] if vectors is None else [vectors]
        factors = problem.signs * problem.weights / problem.weights.sum()
        blocks += [factor * block for factor, block in zip(factors, problem.features_of(q), strict=True)]
        exact = np.concatenate(blocks, axis=-1)
        if self.published:
            return exact, np.ones(len(exact))
        return exact.astype(np.float32), np.asarray(exact.any(axis=1), np.float32)


class Unlike:
    """Minus the largest similarity of each candidate and a result."""

    def __init__(self, count: int, similarity: Callable[[int], NDArray[Any]], rounding: float) -> None:
        self.count, self.similarity, self.tie = count, similarity, rounding

    def begin(self, already: Ints) -> None:
        self.nearest: Any = None
        for i in already.tolist():
            self.add(i)

    def gains(self) -> Floats:
        return np.zeros(self.count) if self.nearest is None else -self.nearest

    def add(self, i: int) -> None:
        own = self.similarity(i)
        self.nearest = own if self.nearest is None else np.maximum(self.nearest, own)
