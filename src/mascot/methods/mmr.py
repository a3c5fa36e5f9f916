"""MMR: relevance minus similarity to the results selected so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.bins import Bools, Ints
from mascot.bins.vector_bins import VectorBins, single_precision
from mascot.errors import OptionError, check_switch
from mascot.kernels.look_ahead import select_results
from mascot.kernels.reference import Options
from mascot.methods.mascot import select_by_kernel
from mascot.methods.method import NO_POSITIONS, Pick, Problem, Selection, check_strength, select_each
from mascot.methods.similarity import joined
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
    - Without wishes, vectors are compared by the kernels of `Mascot`, and a missing vector has no novelty.
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
        vectors = [table.vectors for table in problem.tables]
        if self.published or len(problem.signs) or problem.quotas or self.strength == 0 or not _alike(vectors):
            return select_each(problem, k, self, self._prepare)
        return self._select_by_novelty(problem, min(k, problem.longest), vectors)

    def _select_by_novelty(self, problem: Problem, k: int, vectors: Any) -> Selection:
        """Select by vectors alone, on the kernels of `Mascot`; the best match is protected, because it is first."""
        rows = vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
        bins, unit_weight = (VectorBins(single_precision(rows), nearest=True),), np.ones(1)
        options = Options(
            k, 1 if problem.already is None else 0, self.strength or 0.0, self.keep or 0.0, 0, query_weight=False,
            normalize=self.robust, scale=True, robust=self.robust and not problem.named_weight, balance=False,
            by_relevance=False,
        )  # fmt: skip
        by_vectors = replace(problem, bins=bins, signs=unit_weight, weights=unit_weight, rules=("last",))
        selection = select_by_kernel(by_vectors, (), options)
        return Selection(selection.positions, selection.positions, selection.strengths)

    def _prepare(self, problem: Problem, q: int, k: int) -> Pick:
        scores, already = problem.scores_of(q), problem.already_of(q)
        relevance = problem.relevance_of(q, robust=True) if self.robust else scores
        similarity, rounding = self._similarity(problem, q)

        def pick(strength: float) -> Ints:
            alone = (1.0 - strength) * relevance

            def begin() -> Any:
                gains, results = alone.copy(), 0

                def add(position: int) -> None:
                    nonlocal results
                    np.minimum(gains, alone - strength * similarity(position), out=gains)
                    results += 1

                def choose(allowed: Bools) -> int:
                    # If nothing was selected before, the highest score is first.
                    worth, tie = (gains, strength * rounding) if results else (scores, 0.0)
                    worth = np.where(allowed, worth, -np.inf)
                    best = int(worth.argmax())
                    return int((worth[: best + 1] >= worth[best] - tie).argmax())

                for position in already.tolist():
                    add(position)
                return choose, add

            return select_results(NO_POSITIONS, already, k, problem.quotas, problem.rows_of(q), begin)[0]

        return pick

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
        exact = joined(problem.features_of(q), problem.signs, problem.weights, problem.unit_vectors_of(q))
        if self.published:
            return exact, np.ones(len(exact))
        return exact.astype(np.float32), np.asarray(exact.any(axis=1), np.float32)


def _alike(vectors: Sequence[Any]) -> bool:
    """Return whether all queries have vectors, of one length."""
    return all(part is not None for part in vectors) and len({part.shape[1] for part in vectors}) == 1
