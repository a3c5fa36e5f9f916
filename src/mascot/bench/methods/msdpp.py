"""MS-DPP: attributes added up as tangent vectors, each with its own sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from mascot.bench.datasets.dataset import Floats
from mascot.bench.methods.kdpp import Determinantal
from mascot.bench.methods.tangents import combine, tangents, unit_logarithm
from mascot.errors import InputError, check_one_of
from mascot.methods.method import Problem

_QUERIES = 32  # queries whose matrices are cached: 200 candidates take about 2 MB
_Blocks = tuple[tuple[tuple[int, ...], bytes], ...]  # shape and content of each block of features


@dataclass(frozen=True, slots=True)
class MsDpp(Determinantal):
    """Multi-source determinantal point process (Sogi et al., 2025).

    Similarities S = 1 / (1 + Euclidean distance) of each attribute and of the image vectors are combined by
    their logarithms, so that the result is positive definite by construction:

        T = logm(S + 1e-3 I)
        M = expm((1 - beta) * mean_j(s_j T_j) + beta * T_img)
        L = diag(alpha) M diag(alpha),    alpha_i = exp(theta / (2 (1 - theta)) * r_i)

    with theta = min(1 - strength, 0.99), raw scores r, s_j = +1 for spread and -1 for focus (attributes
    may differ), and a mean weighted by w_j. The set is chosen greedily as for `KDpp`.

    Parameters
    ----------
    strength, beta, released, keep
        As for `KDpp`.
    normalize
        ``"tn"``, tangent normalisation: with c = ||log r||, every T is scaled to Frobenius norm c, and so is the
        mean of the T_j. ``"tn+tvms"`` scales every T to norm 1, replaces r by exp(log r / ||log r||) and
        scales the combined tangent to the norm of its logarithm. Both need scores > 0 (default: None).

    Notes
    -----
    - Focus replaces a similarity by its inverse, and det (S^-1)[Y] = det S[rest] / det S: it takes the
      candidates that leave the rest diverse. Those are near copies of something, whatever their score
      and not necessarily of one another, which is why early recall collapses on focus. "tn" and
      "tn+tvms" soften it where they shorten the tangents.
    - Candidates without a value all have the same features, so an attribute sees them as copies.
    - Cost is one eigendecomposition per attribute, one for the images and one to combine: cubic in the
      number of candidates, meant for hundreds. The matrices of the last 32 queries are cached, so that
      trying many strengths and betas on one query computes its logarithms once.
    """

    strength: float | None = None
    beta: float = 0.5
    normalize: Literal["tn", "tn+tvms"] | None = None
    released: bool = False
    keep: float | None = None

    def __post_init__(self) -> None:
        Determinantal.__post_init__(self)
        check_one_of("MsDpp.normalize", self.normalize, None, "tn", "tn+tvms")

    def _similarity(self, problem: Problem, q: int) -> tuple[Callable[[int], Floats], Floats, Floats]:
        scores, vectors = problem.scores_of(q), problem.unit_vectors_of(q)
        if self.normalize is not None and not (scores > 0).all():
            raise InputError(f"MsDpp.normalize takes logarithms and needs scores > 0, got {scores.min()}")
        features = problem.features_of(q)
        blocks = features if vectors is None else (*features, vectors)
        similarity = _combined(
            tuple((block.shape, block.tobytes()) for block in blocks), vectors is not None, scores.tobytes(),
            tuple(problem.signs.tolist()), tuple(problem.weights.tolist()), self.beta, self.normalize,
        )  # fmt: skip
        own_scores = unit_logarithm(scores) if self.normalize == "tn+tvms" else scores
        return similarity.__getitem__, np.diagonal(similarity), own_scores


@lru_cache(maxsize=_QUERIES)
def _combined(
    blocks: _Blocks, with_image: bool, scores: bytes, signs: tuple[float, ...], weights: tuple[float, ...],
    beta: float, normalize: str | None,
) -> Floats:  # fmt: skip
    """Return the combined similarity of one query, which does not depend on the strength."""
    logarithms = _logarithms(blocks)
    image = logarithms[-1] if with_image else None
    return combine(
        logarithms[: len(signs)], image, np.frombuffer(scores), np.array(signs), np.array(weights), beta, normalize
    )


@lru_cache(maxsize=_QUERIES)
def _logarithms(blocks: _Blocks) -> Floats:
    return tangents([np.frombuffer(content).reshape(shape) for shape, content in blocks])
