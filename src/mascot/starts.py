"""Where a focus with `near` starts in each query: at its point, or at the nearest candidate where none is within reach.

Candidates that a point cannot reach would all cost the same, and the focus would settle anywhere. Coordinates are those
of `Packed`, numpy's or a device's; explicit bins have none, and start at their point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mascot.memberships import EARTH_KM, LEAST, OUTLIER, ROUNDS, SCALE, SMALLEST_KM, Ints
from mascot.packing import LINE, SPARSE, SPHERE, Packed

NEAR = 2.0  # widths up to which a point means something to a candidate
_AT_ONCE = 2_000_000  # candidates


def starting_rows(packed: Packed, near: Ints, rows: Sequence[Ints]) -> Ints:
    """[Q, A] the row each focus starts from; `near` [Q, A] has its point, or -1."""
    found = near.copy()
    wanted = [a for a in range(near.shape[1]) if (near[:, a] >= 0).any() and packed.shapes[a] != SPARSE]
    if not wanted:
        return found
    most = max(map(len, rows))
    step = max(1, _AT_ONCE // max(most, 1))
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        kept = np.arange(most) < np.array([len(of) for of in some])[:, None]
        table = np.zeros(kept.shape, np.int64)
        table[kept] = np.concatenate(some)
        here = slice(first, first + step)
        for a in wanted:
            found[here, a] = nearest_rows(
                int(packed.shapes[a]), packed.axes[a], packed.xs[a], packed.ys[a], table, kept, near[here, a]
            )
    return found


def nearest_rows(shape: int, axes: Any, xs: Any, ys: Any, rows: Any, kept: Any, points: Any, xp: Any = np) -> Any:
    """[Q] the point of each query, or the nearest of its candidates where all are out of reach.

    Parameters
    ----------
    shape, axes, xs, ys
        Of one attribute, as in `Packed`.
    rows, kept
        [Q, N] rows of the candidates, and which of them count.
    points
        [Q] the row of the point, or -1.
    xp
        The library of the arrays, numpy or CuPy.
    """
    if shape == SPARSE or not rows.shape[1]:
        return points
    x, y = ((xp.where(kept, part[rows], np.nan), part[points][:, None]) for part in (xs, xs if shape == LINE else ys))
    if shape == SPHERE:
        squared = _globe(x, y, float(axes[0, 3]), xp)
    else:
        squared = _axis(*x, axes[0], xp) + (0.0 if shape == LINE else _axis(*y, axes[1], xp))
    apart = xp.where(xp.isnan(squared), np.inf, squared)
    first = apart.argmin(axis=1)
    distance = apart.min(axis=1)
    far = (distance > NEAR**2) & xp.isfinite(distance) & (points >= 0)
    return xp.where(far, rows[xp.arange(len(rows)), first], points)


def _axis(values: Any, point: Any, axis: Any, xp: Any) -> Any:
    """Squared distances along an even axis, in widths."""
    sigma, period, smallest = (float(part) for part in axis[3:6])
    width: Any = sigma
    if sigma == 0:
        width = math.sqrt(2.0) / SCALE * _deviation((values,), xp)
        width = xp.maximum(width, smallest)
        width = xp.where(width > 0, width, 1.0)
    distance = xp.abs(values - point)
    if period > 0:
        distance = distance % period
        distance = xp.minimum(distance, period - distance)
    return (distance / width) ** 2


def _globe(lats: Any, lons: Any, sigma_km: float, xp: Any) -> Any:
    """Squared great-circle distances, in widths."""
    (lat, lat_0), (lon, lon_0) = lats, lons
    width: Any = sigma_km
    if sigma_km == 0:
        unit = (xp.cos(lat) * xp.cos(lon), xp.cos(lat) * xp.sin(lon), xp.sin(lat + 0 * lon))
        width = xp.maximum(math.sqrt(2.0) / SCALE * EARTH_KM * _deviation(unit, xp), SMALLEST_KM)
    hav = xp.sin((lat - lat_0) / 2) ** 2 + xp.cos(lat) * xp.cos(lat_0) * xp.sin((lon - lon_0) / 2) ** 2
    return (2 * EARTH_KM * xp.arcsin(xp.sqrt(xp.minimum(hav, 1.0))) / width) ** 2


def _deviation(points: Sequence[Any], xp: Any) -> Any:
    """[Q, 1] as `inliers` has it for one query, of coordinates [Q, N] each; 0 where none is known."""
    known = ~xp.isnan(points[0])
    kept, deviation, whole = known, xp.zeros((len(known), 1)), xp.zeros((len(known), 1))
    for turn in range(ROUNDS):
        count = xp.maximum(kept.sum(axis=1, keepdims=True), 1)
        first = kept.argmax(axis=1)[:, None]
        squared = xp.zeros(known.shape)
        for part in points:
            apart = part - xp.take_along_axis(part, first, axis=1)
            mean = xp.where(kept, apart, 0.0).sum(axis=1, keepdims=True) / count
            squared = squared + (apart - mean) ** 2
        deviation = xp.sqrt(xp.where(kept, squared, 0.0).sum(axis=1, keepdims=True) / count)
        whole = whole if turn else deviation
        inside = known & (squared <= (OUTLIER * deviation) ** 2)
        # As many as before: that query is done, and stays as it is.
        done = inside.sum(axis=1, keepdims=True) == kept.sum(axis=1, keepdims=True)
        kept = xp.where(done, kept, inside)
    return xp.where(deviation <= LEAST * whole, whole, deviation)
