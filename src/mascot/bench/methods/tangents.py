"""Similarity matrices as tangent vectors: their logarithms are added, and a sign of -1 inverts a matrix.

Everything here is symmetric, so both maps are one eigendecomposition: f(V diag(w) V') = V diag(f(w)) V'. The logarithms
depend on the features alone: compute `tangents` once and call `combine` for each strength or beta.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mascot.bench.datasets.dataset import Floats
from mascot.bench.methods.similarity import Similarity

_RIDGE = 1e-3  # added to the diagonal, so that the logarithm of a singular matrix exists
_NOTHING = 1e-12  # norms of tangents that cancelled
_LARGEST_EXPONENT = 100.0  # beyond it the matrix is scaled down, which does not change the arg-max of a DPP


def tangents(features: Sequence[Floats]) -> Floats:
    """Return T_j = logm(S_j + 1e-3 I) [A, N, N] of A blocks of features [N, d_j], S = 1 / (1 + distance)."""
    count = len(features[0])
    diagonal = np.arange(count)
    stacked = np.empty((len(features), count, count))
    for block, similarity in zip(features, stacked, strict=True):
        similarity[...] = Similarity(block).of(0, count)
    stacked[:, diagonal, diagonal] += _RIDGE
    values, axes = np.linalg.eigh(stacked)
    logarithms = np.log(np.where(values > 0, values, 1.0))
    largest = logarithms.max(axis=-1, keepdims=True)
    tangent = _gram(axes, largest - logarithms)
    np.negative(tangent, out=tangent)
    tangent[:, diagonal, diagonal] += largest
    return tangent


def combine(
    attributes: Floats, image: Floats | None, scores: Floats, signs: Floats, weights: Floats, beta: float,
    normalize: str | None,
) -> Floats:  # fmt: skip
    """Return M = expm((1 - beta) * mean_j(s_j T_j) + beta * T_img), the mean weighted by w_j.

    Two scalings even out tangents of different length (norms are Frobenius norms):

    - "tn": with c = ||log r||, every T_j and T_img is scaled to norm c, and so is the mean;
    - "tn+tvms": every T_j and T_img is scaled to norm 1, and the combined tangent to the norm of the
      logarithm of `unit_logarithm(scores)`, which is 1 unless every score is 1.

    A tangent of norm 0 has no direction and stays 0. `attributes` [A, N, N] has one tangent per attribute. If A is 0,
    only the image term is used, whatever beta is; if `image` [N, N] is None, only the attributes are. Raw scores r [N]
    are used by the scalings alone, and must be > 0 for them.
    """
    if image is None or not len(signs):
        beta = 0.0 if image is None else 1.0
    shares = signs * weights / weights.sum() if len(signs) else signs
    if normalize is not None:
        shares = shares / _norm(attributes)
    length = np.linalg.norm(np.log(scores)) if normalize == "tn" else 1.0
    count = len(scores)
    combined = (shares[None] @ attributes.reshape(len(attributes), count**2)).reshape(count, count)
    if normalize == "tn":
        combined *= length / _norm(combined)
    if image is not None:
        share = beta * length if normalize is None else beta * length / _norm(image)
        combined *= 1.0 - beta
        combined += share * image
    if normalize == "tn+tvms":
        combined *= (scores != 1).any() / _norm(combined)
    values, axes = np.linalg.eigh(combined)
    return _gram(axes, np.exp(values - max(values[-1] - _LARGEST_EXPONENT, 0.0)))


def unit_logarithm(scores: Floats) -> Floats:
    """Return exp(log r / ||log r||): scores whose logarithm has length 1 (scores that are all 1 do not change)."""
    logarithms = np.log(scores)
    return np.asarray(np.exp(logarithms / (np.linalg.norm(logarithms) or 1.0)))


def _gram(axes: Floats, values: Floats) -> Floats:
    """Return V diag(values) V' for values >= 0, overwriting V.

    As B B' it is half the work of a product of two matrices, and exactly symmetric.
    """
    axes *= np.sqrt(values)[..., None, :]
    return np.asarray(axes @ np.swapaxes(axes, -1, -2))


def _norm(tangents: Floats) -> Floats:
    """Return Frobenius norms to divide by; 1 in place of a norm that is 0 up to rounding."""
    norms = np.sqrt((tangents * tangents).sum(axis=(-2, -1)))
    return np.where(norms > _NOTHING, norms, 1.0)
