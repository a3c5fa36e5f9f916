"""k-means on arrays: the same points, seed and number of clusters always give the same labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK_VALUES = 1 << 20  # float64 values held at once while distances are computed: 8 MiB
_ROUNDING = 1e-13  # a squared distance below this share of the squared lengths is rounding


def kmeans(points: NDArray[np.floating], clusters: int, seed: int, iterations: int = 50) -> tuple[Ints, Floats]:
    """Lloyd's algorithm from a greedy k-means++ start (Arthur and Vassilvitskii, 2007).

    A cluster that loses its last point starts again at the point farthest from its own centre. A
    point equally near to several centres belongs to the first of them.

    Parameters
    ----------
    points : array of shape [N, D]
        Any float type; sums are taken in float64.
    clusters : int
        Clusters asked for, at least 1.
    seed : int
        Seed of the start.
    iterations : int
        Most rounds of Lloyd's algorithm; it stops earlier when no label changes.

    Returns
    -------
    labels : array of shape [N]
        The cluster of each point, 0..k-1; no cluster is empty.
    centres : array of shape [k, D]
        The mean of each cluster's points. k is `clusters`, or the number of distinct points where
        that is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> labels, centres = kmeans(np.array([[0.0], [1.0], [10.0], [11.0]]), clusters=2, seed=0)
    >>> sorted(centres.ravel().tolist())
    [0.5, 10.5]
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    count, width = points.shape
    if count == 0:
        return np.empty(0, np.int64), np.empty((0, width))
    lengths = _squared_lengths(points)
    centres = _plus_plus(points, lengths, min(clusters, count), np.random.default_rng(seed))
    labels = np.full(count, -1, np.int64)
    for _ in range(iterations):
        nearest, squared = _nearest(points, lengths, centres)
        _refill(nearest, squared, len(centres))
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        centres = _means(points, labels, len(centres))
    return labels, centres


def _chunks(count: int, width: int) -> list[slice]:
    step = max(1, _CHUNK_VALUES // max(1, width))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def _squared_lengths(points: NDArray[np.floating]) -> Floats:
    lengths = np.empty(len(points))
    for rows in _chunks(*points.shape):
        chunk = np.asarray(points[rows], np.float64)
        lengths[rows] = (chunk * chunk).sum(axis=1)
    return lengths


def _plus_plus(points: NDArray[np.floating], lengths: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """Draw each centre with probability proportional to the squared distance from those before it.

    Of a few points drawn, the one that leaves the smallest sum of squared distances is taken. Points
    closer than rounding can tell count as the same point, so that no centre is taken twice.
    """
    trials = 2 + int(np.log(clusters))
    chosen = [int(rng.integers(len(points)))]
    squared = _squared(points, lengths, chosen)[0]
    while len(chosen) < clusters and squared.any():
        reach = np.cumsum(squared)
        drawn = np.searchsorted(reach, rng.random(trials) * reach[-1], side="right")
        # A product can round up to the total; the last point with any weight is then meant.
        drawn = np.minimum(drawn, np.flatnonzero(squared)[-1])
        after = np.minimum(squared, _squared(points, lengths, drawn.tolist()))
        best = int(after.sum(axis=1).argmin())
        chosen.append(int(drawn[best]))
        squared = after[best]
    return points[chosen].astype(np.float64)


def _squared(points: NDArray[np.floating], lengths: Floats, chosen: list[int]) -> Floats:
    """Squared distances from a few of the points, of shape [chosen, N]; within rounding of 0 they are 0."""
    centres = points[chosen].astype(np.float64)
    squared = np.empty((len(chosen), len(points)))
    for rows in _chunks(*points.shape):
        scale = lengths[rows] + lengths[chosen][:, None]
        found = scale - 2.0 * (centres @ np.asarray(points[rows], np.float64).T)
        squared[:, rows] = np.where(found > _ROUNDING * scale, found, 0.0)
    return squared


def _nearest(points: NDArray[np.floating], lengths: Floats, centres: Floats) -> tuple[Ints, Floats]:
    """The nearest centre of each point, and the squared distance to it."""
    labels = np.empty(len(points), np.int64)
    squared = np.empty(len(points))
    offsets = (centres * centres).sum(axis=1)
    for rows in _chunks(len(points), points.shape[1] + len(centres)):
        partial = offsets - 2.0 * (np.asarray(points[rows], np.float64) @ centres.T)
        labels[rows] = partial.argmin(axis=1)
        squared[rows] = partial.min(axis=1) + lengths[rows]
    return labels, squared


def _refill(labels: Ints, squared: Floats, clusters: int) -> None:
    """Give every empty cluster the point farthest from its centre, in place."""
    sizes = np.bincount(labels, minlength=clusters)
    for empty in np.flatnonzero(sizes == 0):
        spare = np.where(sizes[labels] > 1, squared, -1.0)
        moved = int(spare.argmax())
        sizes[labels[moved]] -= 1
        sizes[empty] = 1
        labels[moved] = empty
        squared[moved] = 0.0


def _means(points: NDArray[np.floating], labels: Ints, clusters: int) -> Floats:
    count, width = points.shape
    sums = np.zeros((clusters, width))
    for rows in _chunks(count, width + clusters):
        belongs = labels[rows, None] == np.arange(clusters)
        sums += belongs.T.astype(np.float64) @ points[rows]
    return sums / np.bincount(labels, minlength=clusters)[:, None]
