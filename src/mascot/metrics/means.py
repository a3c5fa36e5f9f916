"""The harmonic mean, and the overall score built on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mascot.errors import InputError
from mascot.metrics import _checks
from mascot.metrics._checks import Floats


def harmonic_mean(values: ArrayLike) -> float:
    """Harmonic mean ``n / sum_i (1 / x_i)``; 0 as soon as one value is 0.

    Parameters
    ----------
    values : array_like of shape [n]
        Numbers >= 0.

    Returns
    -------
    float
        Never above the arithmetic mean, and close to the smallest value when that one is small.

    Examples
    --------
    >>> harmonic_mean([1.0, 0.5, 0.25])
    0.42857142857142855
    >>> harmonic_mean([1.0, 0.0])
    0.0
    """
    array = _checks.floats("harmonic_mean values", values, "[n]")
    if (array < 0).any():
        raise InputError(f"harmonic_mean values must be >= 0, got {array[array < 0][0]}")
    return float(_harmonic(array))


def overall(quality: float, diversity: float) -> float:
    """Overall score of one operating point: harmonic mean of retrieval quality and DM.

    ``HM = 2 * quality * diversity / (quality + diversity)``

    Parameters
    ----------
    quality : float
        Mean R@10 over the queries, or MAP where queries have many positives. From 0 to 1.
    diversity : float
        :func:`mascot.metrics.dm` of the same results. From 0 to 1.

    Returns
    -------
    float
        From 0 to 1; 0 when either is 0.

    Examples
    --------
    The published unranked baseline when place and hour are focused:

    >>> round(overall(0.9737, 0.1656), 4)
    0.2831
    """
    return float(_harmonic(_checks.unit_interval("overall values", [quality, diversity], "[n]")))


def _harmonic(values: Floats) -> Floats:
    """Harmonic mean along the last axis."""
    # 1 / 0 is inf and n / inf is 0, which is the limit wanted.
    with np.errstate(divide="ignore", over="ignore"):
        mean: Floats = values.shape[-1] / (1.0 / values).sum(axis=-1)
    return mean
