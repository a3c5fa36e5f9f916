"""Metrics of diversity: one value per query; ``dm`` is the published aggregate."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mascot.bench.metrics import _checks
from mascot.bench.metrics._checks import Floats
from mascot.bench.metrics.features import similarity_kernel
from mascot.errors import InputError, is_number, require


def vendi(kernel: ArrayLike, *, order: float = 0.1, ridge: float = 1e-5) -> Floats:
    """Vendi score: the effective number of different results among the K shown, from 1 to K, up to the ridge.

    With l_i the eigenvalues of ``S/K + ridge * I``::

        V = exp(log(sum_i l_i^order) / (1 - order))
        V = exp(-sum_i l_i log l_i)                    order 1
        V = 1 / max_i l_i                              order inf

    Parameters
    ----------
    kernel : array_like of shape [Q, K, K]
        Similarities with ones on the diagonal; ``similarity_kernel(features)`` for features.
    order : float, default 0.1
        From 0 (every direction counts, however rare) to ``math.inf`` (only the most common one counts). The
        published metrics use 0.1.
    ridge : float, default 1e-5
        Added to every eigenvalue. The published metrics use 1e-5; 0 gives the textbook score, where
        eigenvalues within rounding of 0 count as 0.

    Notes
    -----
    The ridge is not small for a small order: with the defaults twenty equal results score 8.7 and not 1,
    because 19 eigenvalues of 1e-5 count as 1e-5^0.1 = 0.32 each. At K = 20 a perfect focus is therefore
    worth 0.6, not 1, in the metadata channel. The eigenvalues also add up to 1 + K * ridge, so orders
    close to 1, but not 1 itself, need ``ridge=0``.

    Examples
    --------
    >>> import numpy as np
    >>> one_alone_two_equal = np.array([[[1, 0, 0], [0, 1, 1], [0, 1, 1]]])
    >>> vendi(one_alone_two_equal, order=1, ridge=0).round(4)
    array([1.8899])
    >>> vendi(np.ones((1, 20, 20))).round(1)
    array([8.7])
    """
    require(is_number(order) and order >= 0, "vendi order", "must be >= 0", order)
    require(is_number(ridge) and 0 <= ridge < math.inf, "vendi ridge", "must be >= 0 and finite", ridge)
    array = _square("vendi kernel", kernel)
    diagonal = np.einsum("qii->qi", array)
    off = np.abs(diagonal - 1.0) > 1e-6
    if off.any():
        raise InputError(f"vendi kernel must have ones on its diagonal, got {diagonal[off][0]:.6g}")
    count = array.shape[-1]
    eigenvalues = np.linalg.eigvalsh(array / count)
    if eigenvalues.min() < -1e-6:
        raise InputError(f"vendi kernel must be positive semi-definite, got eigenvalue {eigenvalues.min() * count:.3g}")
    noise = count * np.finfo(np.float64).eps
    return _effective_number(np.where(eigenvalues > noise, eigenvalues, 0.0) + ridge, order)


def normalised_vendi(kernel: ArrayLike, *, order: float = 0.1, ridge: float = 1e-5) -> Floats:
    """Vendi score on a scale from 0 (all equal) to 1 (all different).

    ``(V - 1) / (K - 1)``, held within [0, 1], which the ridge can overstep by about K * ridge.

    Parameters are those of :func:`vendi`, with K >= 2.

    Examples
    --------
    >>> from mascot.bench.metrics import place_features
    >>> places = place_features([[35.7, 35.7, -33.9]], [[139.7, 139.7, 151.2]])
    >>> normalised_vendi(similarity_kernel(places), order=1, ridge=0).round(4)
    array([0.352])
    """
    score = vendi(kernel, order=order, ridge=ridge)
    count = _at_least_two("normalised_vendi", np.shape(kernel)[-1])
    return np.clip((score - 1.0) / (count - 1), 0.0, 1.0)


def vendi_by_attribute(
    features: Mapping[str, ArrayLike], *, order: float = 0.1, ridge: float = 1e-5
) -> dict[str, Floats]:
    """Return the normalised Vendi score of each attribute on its own features.

    A diagnostic: the metadata channel of :func:`dm_per_query` comes from the concatenated features and
    is not a mean of these.

    `features` holds the features of each attribute, [Q, K, d], by its name; for `order` and `ridge` see :func:`vendi`.

    Examples
    --------
    >>> from mascot.bench.metrics import time_of_day_features
    >>> vendi_by_attribute({"hour": time_of_day_features([[60, 780]])}, ridge=0)["hour"].round(3)
    array([0.988])
    """
    return {
        name: normalised_vendi(similarity_kernel(block), order=order, ridge=ridge) for name, block in features.items()
    }


def metadata_channel(diversity: ArrayLike, *, focus: bool) -> Floats:
    """Return the diversity on spread and one minus it on focus, so that more is better for the wish.

    Parameters
    ----------
    diversity : array_like of shape [Q]
        :func:`normalised_vendi` of the metadata features.
    focus : bool
        Whether the wish is to focus rather than to spread.

    Examples
    --------
    >>> metadata_channel([0.25, 1.0], focus=True)
    array([0.75, 0.  ])
    """
    array = _checks.floats("metadata_channel diversity", diversity, "[Q]", low=0, high=1)
    return 1.0 - array if focus else array


def dm_per_query(appearance: ArrayLike, metadata: ArrayLike, *, focus: bool) -> Floats:
    """Harmonic mean of the appearance and the metadata channel of each query, from 0 to 1.

    ``h(q) = 2 a m / (a + m)`` with ``a`` the appearance value and ``m`` the metadata value, which is
    replaced by ``1 - m`` on focus. Appearance is never inverted.

    Parameters
    ----------
    appearance : array_like of shape [Q]
        :func:`normalised_vendi` of the results' unit image vectors.
    metadata, focus
        As for :func:`metadata_channel`: the score of the results' concatenated features, not yet inverted.

    Examples
    --------
    >>> dm_per_query([0.5, 1.0], [0.5, 0.75], focus=True)
    array([0.5, 0.4])
    """
    looks = _checks.floats("dm_per_query appearance", appearance, "[Q]", low=0, high=1)
    wished = metadata_channel(metadata, focus=focus)
    _checks.same_length("dm_per_query", appearance=looks, metadata=wished)
    return _harmonic(np.stack([looks, wished], axis=-1))


def dm(appearance: ArrayLike, metadata: ArrayLike, *, focus: bool) -> float:
    """DM, the published diversity metric: harmonic mean over queries of :func:`dm_per_query`, from 0 to 1.

    One query at 0 makes the result 0, so it cannot be computed in parts and averaged. Parameters are those of
    :func:`dm_per_query`.

    Examples
    --------
    >>> round(dm([0.5, 1.0], [0.5, 0.75], focus=True), 4)
    0.4444
    """
    return harmonic_mean(dm_per_query(appearance, metadata, focus=focus))


def harmonic_mean(values: ArrayLike) -> float:
    """Harmonic mean ``n / sum_i (1 / x_i)`` of n numbers >= 0; 0 if a value is 0.

    Examples
    --------
    >>> harmonic_mean([1.0, 0.5, 0.25])
    0.42857142857142855
    """
    return float(_harmonic(_checks.floats("harmonic_mean values", values, "[n]", low=0)))


def overall(quality: float, diversity: float) -> float:
    """Overall score of one operating point: harmonic mean of retrieval quality and DM, from 0 to 1.

    Parameters
    ----------
    quality : float
        Mean R@10 over the queries, or MAP where queries have many positives. From 0 to 1.
    diversity : float
        :func:`mascot.bench.metrics.dm` of the same results. From 0 to 1.

    Examples
    --------
    The published unranked baseline when place and hour are focused:

    >>> round(overall(0.9737, 0.1656), 4)
    0.2831
    """
    return float(_harmonic(_checks.floats("overall values", [quality, diversity], "[n]", low=0, high=1)))


def _harmonic(values: Floats) -> Floats:
    """Harmonic mean along the last axis."""
    # 1 / 0 is inf and n / inf is 0, which is the limit wanted.
    with np.errstate(divide="ignore", over="ignore"):
        mean: Floats = values.shape[-1] / (1.0 / values).sum(axis=-1)
    return mean


def _effective_number(eigenvalues: Floats, order: float) -> Floats:
    """Exponential of the Renyi entropy along the last axis; zeros do not count."""
    largest = eigenvalues.max(axis=-1)
    present = eigenvalues > 0
    if order == math.inf:
        entropy = -np.log(largest)
    elif order == 1:
        logs = np.log(eigenvalues, out=np.zeros_like(eigenvalues), where=present)
        entropy = -(eigenvalues * logs).sum(axis=-1)
    else:
        # Relative to the largest, because l^order underflows for all of them at once in large orders.
        powers = np.where(present, (eigenvalues / largest[:, None]) ** order, 0.0)
        entropy = (np.log(powers.sum(axis=-1)) + order * np.log(largest)) / (1.0 - order)
    return np.exp(entropy)


def _square(owner: str, values: ArrayLike) -> Floats:
    array = _checks.floats(owner, values, "[Q, K, K]")
    if array.shape[1] != array.shape[2]:
        raise InputError(f"{owner} must be square, got shape {array.shape}")
    asymmetry = float(np.abs(array - array.transpose(0, 2, 1)).max())
    if asymmetry > 1e-6 * max(1.0, float(np.abs(array).max())):
        raise InputError(f"{owner} must be symmetric, got a difference of {asymmetry:.3g}")
    return array


def _at_least_two(owner: str, count: int) -> int:
    if count < 2:
        raise InputError(f"{owner} K must be >= 2, got {count}")
    return count
