"""Similarity matrices as tangent vectors: their logarithms are added, and a sign of -1 inverts one.

Everything here is symmetric, so both maps are one eigendecomposition: f(V diag(w) V') = V diag(f(w)) V'. Where the
tangent is short, and combined ones are, the exponential is a polynomial instead, which takes two thirds of the time.
The logarithms depend on the features alone. To try many strengths or betas on one query, compute
`tangents` once and call `combine` for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mascot.kernels.reference import Floats
from mascot.kernels.similarity import similarities

_RIDGE = 1e-3  # added to the diagonal, so that the logarithm of a singular matrix exists
_NOTHING = 1e-12  # norms of tangents that cancelled
_LARGEST_EXPONENT = 100.0  # beyond it the matrix is scaled down, which no arg-max of a DPP can see
_LONG = 12.0  # spectral norms up to which the polynomial is faster than eigenvectors, and as exact
_SHORT = 0.8  # spectral norms up to which the polynomial is exact: 0.8^17 / 17! < 2^-53
_TAYLOR = np.array([1.0 / math.factorial(power) for power in range(17)])


def tangents(features: Sequence[Floats]) -> Floats:
    """Return T_j = logm(S_j + 1e-3 I) [..., A, N, N] of A blocks of features [..., N, d_j], S = 1 / (1 + distance)."""
    *queries, count, _ = features[0].shape
    diagonal = np.arange(count)
    stacked = np.empty((*queries, len(features), count, count))
    for j, block in enumerate(features):
        similarities(block, out=stacked[..., j, :, :])
    stacked[..., diagonal, diagonal] += _RIDGE
    values, axes = np.linalg.eigh(stacked)
    logarithms = np.log(np.where(values > 0, values, 1.0))
    largest = logarithms.max(axis=-1, keepdims=True)
    tangent = _gram(axes, largest - logarithms)
    np.negative(tangent, out=tangent)
    tangent[..., diagonal, diagonal] += largest
    return tangent


def combine(
    attributes: Floats, image: Floats | None, scores: Floats, signs: Floats, weights: Floats, beta: float,
    normalize: str | None = None,
) -> Floats:  # fmt: skip
    """Return M = expm((1 - beta) * mean_j(s_j T_j) + beta * T_img), the mean weighted by w_j.

    Two scalings even out tangents of different length (norms are Frobenius norms):

    - "tn": with c = ||log r||, every T_j and T_img is scaled to norm c, and so is the mean;
    - "tn+tvms": every T_j and T_img is scaled to norm 1, and the combined tangent to the norm of the
      logarithm of `unit_logarithm(scores)`, which is 1 unless every score is 1.

    A tangent of norm 0 has no direction and stays 0.

    Parameters
    ----------
    attributes
        [..., A, N, N] one tangent per attribute. Where A is 0 only the image term is used, for any beta.
    image
        [..., N, N]; None drops the image term, as beta = 0 does.
    scores
        [..., N] raw scores r; used by the scalings only, which need them all > 0.
    """
    if image is None or not len(signs):
        beta = 0.0 if image is None else 1.0
    shares = signs * weights / weights.sum() if len(signs) else signs
    if normalize is not None:
        shares = shares / _norm(attributes)
    length = np.asarray(np.linalg.norm(np.log(scores), axis=-1) if normalize == "tn" else 1.0)
    flat = attributes.reshape(*attributes.shape[:-2], scores.shape[-1] ** 2)
    combined = (shares[..., None, :] @ flat).reshape(*attributes.shape[:-3], *attributes.shape[-2:])
    if normalize == "tn":
        combined *= (length / _norm(combined))[..., None, None]
    if image is not None:
        share = beta * length if normalize is None else beta * length / _norm(image)
        combined *= 1.0 - beta
        combined += share[..., None, None] * image
    if normalize == "tn+tvms":
        combined *= ((scores != 1).any(axis=-1) / _norm(combined))[..., None, None]
    return _exponential(combined)


def unit_logarithm(scores: Floats) -> Floats:
    """Return exp(log r / ||log r||): scores whose logarithm has length 1 (scores that are all 1 do not change)."""
    logarithms = np.log(scores)
    length = np.linalg.norm(logarithms, axis=-1, keepdims=True)
    return np.asarray(np.exp(logarithms / np.where(length > 0, length, 1.0)))


def _exponential(tangent: Floats) -> Floats:
    """Return expm of symmetric matrices, in place: exp(X) = exp(m) * exp((X - m I) / 2^s)^(2^s), m the mean eigenvalue.

    The inner exponential is the Taylor polynomial of degree 16, in powers of the fourth power. For tangents of large
    norm the eigendecomposition is used.
    """
    count = tangent.shape[-1]
    diagonal = np.arange(count)
    mean = np.trace(tangent, axis1=-2, axis2=-1) / count
    powers = np.empty((4, *tangent.shape))
    powers[0] = tangent
    powers[0][..., diagonal, diagonal] -= mean[..., None]
    first, second, third, fourth = powers
    # As B B' a square is half the work of a product, and exactly symmetric.
    np.matmul(first, np.swapaxes(first, -1, -2), out=second)
    np.matmul(second, np.swapaxes(second, -1, -2), out=fourth)
    norm = (fourth * fourth).sum(axis=(-2, -1)) ** 0.125  # the sum of the eigenvalues' eighth powers bounds each
    longest = float(norm.max(initial=0.0))
    if not (longest <= _LONG and float((mean + norm).max(initial=0.0)) <= _LARGEST_EXPONENT):
        values, axes = np.linalg.eigh(tangent)
        excess = np.maximum(values[..., -1:] - _LARGEST_EXPONENT, 0.0)
        return _gram(axes, np.exp(values - excess))
    np.matmul(second, first, out=third)
    # At least one, so that the last step is a square and exactly symmetric.
    halvings = max(1, math.ceil(math.log2(longest / _SHORT))) if longest > 0 else 1
    terms = _TAYLOR * 0.5 ** (halvings * np.arange(17))
    shares = terms[1:].reshape(4, 4).copy()
    shares[:3, 3] = 0.0  # these terms come from the multiplication by the fourth power
    parts = (shares @ powers.reshape(4, -1)).reshape(powers.shape)
    for part, constant in zip(parts, terms[::4], strict=False):
        part[..., diagonal, diagonal] += constant
    result, spare = parts[3], tangent
    for part in parts[2::-1]:
        np.matmul(result, fourth, out=spare)
        spare += part
        result, spare = spare, result
    for _ in range(halvings):
        np.matmul(result, np.swapaxes(result, -1, -2), out=spare)
        result, spare = spare, result
    result *= np.exp(mean)[..., None, None]
    return result


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
