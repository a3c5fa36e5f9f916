"""What the diversity metrics look at: features of place and time, distances, similarities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mascot.bench.metrics import _checks
from mascot.bench.metrics._checks import Floats
from mascot.errors import InputError

_BLOCK = 1 << 18  # numbers per block of differences: stays in the cache


def place_features(latitude: ArrayLike, longitude: ArrayLike) -> Floats:
    """Unit 3-D vector of each place, [Q, K, 3], the published feature of the metadata channel.

    ``(cos lat * cos lon, cos lat * sin lon, sin lat)``: Euclidean distances are chords, from 0 to 2, the antipode.

    Parameters
    ----------
    latitude, longitude : array_like of shape [Q, K]
        Degrees. Latitudes from -90 to 90; longitudes may run over, 190 is -170.

    Examples
    --------
    >>> place_features([[0.0, 90.0]], [[90.0, 0.0]]).round(6) + 0.0
    array([[[0., 1., 0.],
            [0., 0., 1.]]])
    """
    lat = _checks.floats("place_features latitude", latitude, "[Q, K]", low=-90, high=90)
    lon = _checks.floats("place_features longitude", longitude, "[Q, K]")
    if lat.shape != lon.shape:
        raise InputError(f"place_features latitude and longitude must have one shape, got {lat.shape}, {lon.shape}")
    lat, lon = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def time_of_day_features(minutes: ArrayLike) -> Floats:
    """Point on the unit circle for each time of day, [Q, K, 2], the published feature of the metadata channel.

    ``(sin t, cos t)`` with ``t = 2 * pi * minutes / 1439``

    Parameters
    ----------
    minutes : array_like of shape [Q, K]
        Minutes since midnight, 0 <= minutes < 1440.

    Examples
    --------
    >>> time_of_day_features([[0, 1439]]).round(6) + 0.0
    array([[[0., 1.],
            [0., 1.]]])
    """
    array = _checks.floats("time_of_day_features minutes", minutes, "[Q, K]")
    outside = (array < 0) | (array >= 1440)
    if outside.any():
        raise InputError(f"time_of_day_features minutes must be >= 0 and < 1440, got {array[outside][0]}")
    angle = 2 * np.pi * array / 1439
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def pairwise_distances(features: ArrayLike) -> Floats:
    """Euclidean distances between the results of each query, [Q, K, K]; exactly 0 between equal results.

    Parameters
    ----------
    features : array_like of shape [Q, K, d]
        One feature vector for each result.

    Examples
    --------
    >>> pairwise_distances([[[0.0, 0.0], [3.0, 4.0]]])
    array([[[0., 5.],
            [5., 0.]]])
    """
    points = _checks.floats("pairwise_distances features", features, "[Q, K, d]")
    queries, count, width = points.shape
    distances = np.empty((queries, count, count))
    step = max(1, _BLOCK // (count * count * width))
    # Differences, not |x|^2 + |y|^2 - 2xy: that form turns equal results into 1e-8, and the Vendi score
    # of a small order magnifies just that.
    for start in range(0, queries, step):
        block = points[start : start + step]
        differences = block[:, :, None, :] - block[:, None, :, :]
        distances[start : start + step] = np.sqrt(np.square(differences).sum(axis=-1))
    return distances


def similarity_kernel(features: ArrayLike) -> Floats:
    """Similarity of the published Vendi scores and DPPs, [Q, K, K], positive semi-definite.

    ``S(q, i, j) = 1 / (1 + ||x(q, i) - x(q, j)||)``

    The features are those of :func:`pairwise_distances`. For the metadata channel of several attributes concatenate
    their features along the last axis: *one* kernel, not a mean of kernels.

    Examples
    --------
    >>> similarity_kernel([[[0.0, 0.0], [3.0, 4.0]]]).round(4)
    array([[[1.    , 0.1667],
            [0.1667, 1.    ]]])
    """
    return 1.0 / (1.0 + pairwise_distances(features))
