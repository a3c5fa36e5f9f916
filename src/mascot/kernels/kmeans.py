"""k-means on arrays: the same points, seed and number of clusters always give the same labels.

BLAS adds products in an order that depends on the number of threads. Points and centres are therefore
rounded to so few bits that every dot product is exact in float64: then no order of the sum changes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.objective import Floats, Ints

_BLOCK_VALUES = 1 << 20  # float64 values of points held at once: 8 MiB
_TILE_ROWS = 16
_TILE_PRODUCTS = 1 << 18  # OpenBLAS starts threads for products of more multiplications than this
_ROUNDING = 1e-13  # a squared distance below this share of the squared lengths is rounding


def kmeans(points: NDArray[np.floating], clusters: int, seed: int, iterations: int = 50) -> tuple[Ints, Floats]:
    """Cluster by Lloyd's algorithm from a greedy k-means++ start (Arthur and Vassilvitskii, 2007).

    Returns the cluster of each point [N], and the mean of each cluster's points [k, D]. No cluster is empty: k is
    `clusters`, or the number of distinct points where that is smaller. A cluster that loses its last point starts
    again at the point farthest from its own centre. A point equally near to several centres belongs to the first of
    them. Points [N, D] are finite, of any float type. Each is compared by the leading bits of its values, 24 for up to
    32 dimensions and 22 for up to 512, counted from its largest value.

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
    rounded, lengths = _rounded_points(points)
    centres = _plus_plus(rounded, lengths, min(clusters, count), np.random.default_rng(seed))
    labels = np.full(count, -1, np.int64)
    sums = np.zeros_like(centres)
    for _ in range(iterations):
        nearest, squared = _nearest(rounded, lengths, centres)
        _refill(nearest, squared, len(centres))
        moved = np.flatnonzero(nearest != labels)
        if not len(moved):
            break
        sums += _sums(rounded, moved, nearest, len(centres))
        if labels[0] >= 0:
            sums -= _sums(rounded, moved, labels, len(centres))
        labels = nearest
        centres = sums / np.bincount(labels, minlength=len(centres))[:, None]
    sizes = np.bincount(labels, minlength=len(centres))
    return labels, _sums(points, np.arange(count), labels, len(centres)) / sizes[:, None]


def _blocks(points: NDArray[np.floating]) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of the points as float64; points that are float64 already are not copied."""
    step = max(1, _BLOCK_VALUES // max(1, points.shape[1]))
    for start in range(0, len(points), step):
        rows = slice(start, min(start + step, len(points)))
        yield rows, np.asarray(points[rows], np.float64)


def _rounded_points(points: NDArray[np.floating]) -> tuple[NDArray[np.floating], Floats]:
    """Return the points divided by a power of two, of magnitude 1 at most, and rounded; and their squared lengths.

    They are float32 where they fill more than one block, to save memory: float32 holds the same values.
    """
    rounded = np.empty(points.shape, np.float64 if points.size <= _BLOCK_VALUES else np.float32)
    lengths = np.empty(len(points))
    exponent = int(np.frexp(max(-float(points.min(initial=0.0)), float(points.max(initial=0.0))))[1])
    for rows, block in _blocks(points):
        exact = _rounded(block, exponent)
        rounded[rows] = exact
        lengths[rows] = np.square(exact, out=exact).sum(axis=1)
    return rounded, lengths


def _rounded(rows: Floats, exponent: int = 0) -> Floats:
    """Return the rows divided by 2^exponent, each rounded to b-bit integers times a power of two.

    b is the largest with D * 2^2b <= 2^53: the products of two such rows, and all sums of them, are
    integers that float64 holds exactly.
    """
    bits = min(24, (53 - (max(1, rows.shape[1]) - 1).bit_length()) // 2)  # float32 holds 24
    largest = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    # Rows 2^-100 times as large as the largest, or of subnormal values, round to fewer bits: float32 holds them.
    exponents = np.maximum(np.frexp(largest)[1], max(exponent - 100, -990))
    rounded: Floats = rows * np.ldexp(1.0, bits - exponents)[:, None]
    np.rint(rounded, out=rounded)
    rounded *= np.ldexp(1.0, exponents - bits - exponent)[:, None]
    return rounded


def _products(rows: Floats, centres: Floats) -> Floats:
    """Return rows @ centres.T; where the centres are few, in tiles too small for BLAS to use threads.

    BLAS threads synchronise at every block, which takes several times as long on cores that are not idle.
    """
    products = np.empty((len(rows), len(centres)))
    tiles = len(rows) // _TILE_ROWS if _TILE_ROWS * centres.size <= _TILE_PRODUCTS else 0
    tiled = tiles * _TILE_ROWS
    stack = rows[:tiled].reshape(tiles, _TILE_ROWS, rows.shape[1])
    np.matmul(stack, centres.T, out=products[:tiled].reshape(tiles, _TILE_ROWS, len(centres)))
    np.matmul(rows[tiled:], centres.T, out=products[tiled:])
    return products


def _plus_plus(points: NDArray[np.floating], lengths: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """Draw each centre with probability proportional to the squared distance from those before it.

    Of a few points drawn, the one that leaves the smallest sum of squared distances is chosen. Points
    whose distance is within rounding of 0 count as the same point, so that no centre is chosen twice.
    """
    trials = 2 + int(np.log(clusters))
    chosen = [int(rng.integers(len(points)))]
    squared = _squared(points, lengths, chosen)[0]
    while len(chosen) < clusters and squared.any():
        reach = np.cumsum(squared)
        draws = np.searchsorted(reach, rng.random(trials) * reach[-1], side="right")
        # A product can round up to the total: the draw is then the last point with any weight.
        draws = np.minimum(draws, np.flatnonzero(squared)[-1])
        updated = np.minimum(squared, _squared(points, lengths, draws.tolist()))
        best = int(updated.sum(axis=1).argmin())
        chosen.append(int(draws[best]))
        squared = updated[best]
    return points[chosen].astype(np.float64)


def _squared(points: NDArray[np.floating], lengths: Floats, chosen: list[int]) -> Floats:
    """Return squared distances from a few of the points, of shape [chosen, N]; within rounding of 0 they are 0."""
    centres = points[chosen].astype(np.float64)
    squared = np.empty((len(chosen), len(points)))
    for rows, block in _blocks(points):
        scale = lengths[rows] + lengths[chosen][:, None]
        distances = scale - 2.0 * _products(block, centres).T
        squared[:, rows] = np.where(distances > _ROUNDING * scale, distances, 0.0)
    return squared


def _nearest(points: NDArray[np.floating], lengths: Floats, centres: Floats) -> tuple[Ints, Floats]:
    """Return the nearest centre of each point, and the squared distance to it."""
    labels = np.empty(len(points), np.int64)
    squared = np.empty(len(points))
    centres = _rounded(centres)
    offsets = (centres * centres).sum(axis=1)
    doubled = 2.0 * centres
    for rows, block in _blocks(points):
        partial = _products(block, doubled)
        np.subtract(offsets, partial, out=partial)
        labels[rows] = nearest = partial.argmin(axis=1)
        squared[rows] = partial[np.arange(len(nearest)), nearest] + lengths[rows]
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


def _sums(points: NDArray[np.floating], members: Ints, labels: Ints, clusters: int) -> Floats:
    """Return the sum of the members of each cluster, in float64 and in a fixed order: not by BLAS."""
    width = points.shape[1]
    sums = np.zeros((clusters, width))
    members = members[np.argsort(labels[members], kind="stable")]
    step = max(1, _BLOCK_VALUES // max(1, width))
    for start in range(0, len(members), step):
        rows = members[start : start + step]
        row_labels = labels[rows]
        firsts = np.flatnonzero(np.diff(row_labels, prepend=-1))
        sums[row_labels[firsts]] += np.add.reduceat(points[rows], firsts, axis=0, dtype=np.float64)
    return sums
