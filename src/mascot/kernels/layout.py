"""From values to blocks: every candidate's bins as a few runs of eight neighbours (see `blocks`).

State slots just beyond the end of an axis are worth nothing, so that a block may hang over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from mascot.kernels.blocks import LANES
from mascot.kernels.bumps import NEAR, bump_lanes, globe_lanes
from mascot.memberships import (
    BEYOND,
    CUTOFF,
    EARTH_KM,
    LEAST,
    MARGIN,
    OUTLIER,
    REACH,
    ROUNDS,
    SCALE,
    SMALLEST_KM,
    SPACING,
)

LINE, PLANE, SPHERE, SPARSE = 0, 1, 2, 3  # shapes of membership
START, STEP, COUNT, SIGMA, PERIOD, SMALLEST, FLOOR, CEILING = range(8)  # columns of an axis' row in `axes`

_GOLDEN, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(20)
_RINGS_KEPT = 256  # rings whose cosine is remembered


def compiled(**options: Any) -> Callable[[Any], Any]:
    """As `njit`, kept on disk for the next process where there is a folder to keep it in."""

    def decorate(function: Any) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # numba found no folder it may write to
            return njit(nogil=True, **options)(function)

    return decorate


jit = compiled(error_model="numpy")


@jit
def pack_lines(
    xs: Any, rows: Any, axis: Any, origin: int, slot: Any, vec: Any, coef: Any, lanes: Any, span: Any, b: int, v: int,
) -> tuple[int, int]:  # fmt: skip
    """Blocks of one-dimensional bumps, from block b and lane v on; returns the next free ones.

    Every bump gets the same number of blocks, some of them worth nothing: loops of even length are guessed right.
    """
    start, inverse, size, period = axis[START], 1.0 / axis[STEP], int(axis[COUNT]), axis[PERIOD]
    step, reach = axis[STEP] / axis[SIGMA], REACH * axis[SIGMA] * inverse + 1e-9
    even_count = (min(int(2 * reach) + 1, size) + LANES - 1) // LANES
    for i in range(len(rows)):
        span[i, 0] = b
        even = b + even_count
        x = xs[rows[i]]
        if x == x:
            u = (min(max(x, axis[FLOOR]), axis[CEILING]) - start) * inverse
            first, last = math.ceil(u - reach), math.floor(u + reach)
            if period > 0.0:
                count = min(last - first + 1, size)
            else:
                first, last = max(first, 0), min(last, size - 1)
                count = last - first + 1
            if count > 0:
                if period > 0.0 and count == size:  # the whole circle: the bump meets itself
                    for j in range(count + LANES):
                        d = abs(u - (first + j)) % size
                        d = min(d, size - d) * step
                        p = math.exp(-0.5 * d * d)
                        lanes[v + j] = p if p >= CUTOFF and j < count else 0.0
                else:
                    for j in range(0, count + LANES, LANES):
                        bump_lanes(lanes, v + j, u - (first + j), step, count - j)
                if first < 0 or first >= size:  # never on a line, which ends there
                    first %= size
                run = min(count, size - first)
                for j in range(0, run, LANES):
                    slot[b], vec[b], coef[b] = origin + first + j, v + j, 1.0
                    b += 1
                for j in range(run, count, LANES):  # a cycle goes on at its beginning
                    slot[b], vec[b], coef[b] = origin + j - run, v + j, 1.0
                    b += 1
                empty = v + (count + LANES - 1) // LANES * LANES
                while b < even:
                    slot[b], vec[b], coef[b] = origin, empty, 1.0
                    b += 1
                v = empty + LANES
        span[i, 1] = b
    return b, v


@jit
def pack_planes(
    xs: Any, ys: Any, rows: Any, axes: Any, origin: int, lanes: Any, tiles: Any, v: int
) -> int:  # fmt: skip
    """Tiles of two-dimensional bumps: row factors and column values; returns the next free lane.

    Every tile has the same number of rows, those beyond the grid with factor 0 on the row above or below: loops of
    even length are guessed right.
    """
    x0, y0, x_inverse, y_inverse = axes[0, START], axes[1, START], 1.0 / axes[0, STEP], 1.0 / axes[1, STEP]
    x_size, y_size = int(axes[0, COUNT]), int(axes[1, COUNT])
    x_step, y_step = axes[0, STEP] / axes[0, SIGMA], axes[1, STEP] / axes[1, SIGMA]
    x_reach = REACH * axes[0, SIGMA] * x_inverse + 1e-9
    y_reach = REACH * axes[1, SIGMA] * y_inverse + 1e-9
    stride = y_size + LANES
    even = min(int(2 * x_reach) + 1, x_size)
    for i in range(len(rows)):
        tiles[i, 1] = 0
        x, y = xs[rows[i]], ys[rows[i]]
        if x == x:
            u, w = (x - x0) * x_inverse, (y - y0) * y_inverse
            top, bottom = max(math.ceil(u - x_reach), 0), min(math.floor(u + x_reach), x_size - 1)
            left, right = max(math.ceil(w - y_reach), 0), min(math.floor(w + y_reach), y_size - 1)
            wide = right - left + 1
            if bottom >= top and wide > 0:
                top = min(top, x_size - even)
                across = (wide + LANES - 1) // LANES
                tiles[i, 0], tiles[i, 1] = origin + top * stride + left, even
                tiles[i, 2], tiles[i, 3], tiles[i, 4] = v, across, v + across * LANES
                for j in range(0, across * LANES, LANES):
                    bump_lanes(lanes, v + j, w - (left + j), y_step, wide - j)
                v += across * LANES
                for j in range(0, even, LANES):
                    bump_lanes(lanes, v + j, u - (top + j), x_step, even - j)
                v += (even + LANES - 1) // LANES * LANES
    return v


@jit
def _slot_of(key: int, table: Any, slots: Any, free: int) -> int:
    """The state slot of a block of eight bins; `free` is given to a new one."""
    mask = len(table) - 1
    # Fibonacci hashing: neighbouring blocks land far apart.
    h = np.int64(np.uint64(key) * _GOLDEN >> _SHIFT) & mask
    while table[h] != key:
        if table[h] < 0:
            table[h] = key
            slots[h] = free
            break
        h = (h + 1) & mask
    return int(slots[h])


@jit
def pack_spheres(
    xs: Any, ys: Any, rows: Any, width: float, free: int, slot: Any, vec: Any, coef: Any, lanes: Any, span: Any,
    b: int, v: int, table: Any, slots: Any,
) -> tuple[int, int, int]:  # fmt: skip
    """Blocks of bumps on the globe (see `Sphere`); returns the next free block, lane and slot.

    A block is computed whole, eight cells at a time; cells out of reach fall to the cutoff.
    """
    rings = math.ceil(math.pi / (SPACING * width))
    height, reach = math.pi / rings, REACH * width
    limit = math.sin(min(reach, math.pi) / 2) ** 2
    fold = 0.5 / (width * width)
    last_ring, cosines = np.full(_RINGS_KEPT, -1), np.empty(_RINGS_KEPT)  # candidates share rings
    for i in range(len(rows)):
        span[i, 0] = b
        lat, lon = xs[rows[i]], ys[rows[i]]
        if lat == lat:
            first = max(math.ceil((lat - reach + math.pi / 2) / height - 0.5 - 1e-9), 0)
            last = min(math.floor((lat + reach + math.pi / 2) / height - 0.5 + 1e-9), rings - 1)
            cos_lat = math.cos(lat)
            for ring in range(first, last + 1):
                centre = (ring + 0.5) * height - math.pi / 2
                kept = ring % _RINGS_KEPT
                if last_ring[kept] != ring:
                    last_ring[kept], cosines[kept] = ring, math.cos(centre)
                cos_centre = cosines[kept]
                cells = max(math.floor(2 * rings * cos_centre + 0.5), 1)
                across = math.sin((lat - centre) / 2) ** 2
                along = cos_lat * cos_centre
                z = math.sqrt(min(max((limit - across) / max(along, 1e-300), 0.0), 1.0))
                half = 2 * (z + 0.5708 * z * z * z) + 1e-9  # at least as wide as 2 arcsin(z)
                cell_width = 2 * math.pi / cells
                inverse = 1.0 / cell_width
                cell = math.ceil((lon - half + math.pi) * inverse - 0.5)
                right = math.floor((lon + half + math.pi) * inverse - 0.5)
                right = min(right, cell + cells - 1)
                start = -1
                while cell <= right:
                    home = cell + cells if cell < 0 else cell - cells if cell >= cells else cell
                    block = home >> 3
                    if block == start:  # once round the pole
                        break
                    if start < 0:
                        start = block
                    at = _slot_of((ring << 32) + block, table, slots, free)
                    if at == free:
                        free += LANES
                    slot[b], vec[b], coef[b] = at, v, 1.0
                    west = (block * LANES + 0.5) * cell_width - math.pi
                    if limit <= NEAR:
                        globe_lanes(lanes, v, across, along, lon - west, cell_width, fold, cells - block * LANES)
                    else:
                        for j in range(LANES):
                            hav = across + along * math.sin(0.5 * (lon - (west + j * cell_width))) ** 2
                            angle = 2 * math.asin(math.sqrt(min(hav, 1.0)))
                            p = math.exp(-fold * angle * angle)
                            lanes[v + j] = p if p >= CUTOFF and block * LANES + j < cells else 0.0
                    b += 1
                    v += LANES
                    cell += min(LANES - (home & 7), cells - home)
        span[i, 1] = b
    return b, v, free


@jit
def pack_sparse(
    indptr: Any, indices: Any, values: Any, rows: Any, at: int, free: int, slot: Any, vec: Any, coef: Any, span: Any,
    b: int, table: Any, slots: Any,
) -> tuple[int, int]:  # fmt: skip
    """One block per explicit bin, on shared unit lanes; returns the next free block and slot."""
    for i in range(len(rows)):
        span[i, 0] = b
        for j in range(indptr[at + rows[i]], indptr[at + rows[i] + 1]):
            s = _slot_of(indices[j] >> 3, table, slots, free)
            if s == free:
                free += LANES
            slot[b], vec[b], coef[b] = s, (indices[j] & 7) * LANES, values[j]
            b += 1
        span[i, 1] = b
    return b, free


@jit
def fit_axis(values: Any, rows: Any, axis: Any) -> None:
    """Close an axis that follows its rows; as `Axis.resolve`."""
    low, high, count = np.inf, -np.inf, 0
    for r in rows:
        x = values[r]
        if x == x:
            low, high = min(low, x), max(high, x)
            count += 1
    if count == 0:
        low = high = 0.0
    sigma = axis[SIGMA]
    if sigma == 0.0:
        points = np.empty((1, count))
        known = 0
        for r in rows:
            if values[r] == values[r]:
                points[0, known] = values[r]
                known += 1
        kept, deviation = _inliers(points)
        sigma = max(math.sqrt(2.0) * deviation / SCALE, axis[SMALLEST])
        if sigma == 0.0:
            sigma = 1.0
        first, last, known = np.inf, -np.inf, 0
        for r in rows:
            if values[r] == values[r]:
                if kept[known]:
                    first, last = min(first, values[r]), max(last, values[r])
                known += 1
        first, last = first - BEYOND * sigma, last + BEYOND * sigma
        if count > 0 and low < first:
            low = axis[FLOOR] = first
        if count > 0 and high > last:
            high = axis[CEILING] = last
    axis[SIGMA], axis[STEP] = sigma, SPACING * sigma
    axis[START] = low - MARGIN * axis[STEP]
    axis[COUNT] = math.ceil((high - low) / axis[STEP]) + 1 + 2 * MARGIN


@jit
def fit_sphere(lat: Any, lon: Any, rows: Any) -> float:
    """Self-scaled width in kilometres; as `rms_chord_km` / 8."""
    points = np.empty((3, len(rows)))
    count = 0
    for r in rows:
        if lat[r] == lat[r]:
            c = math.cos(lat[r])
            points[0, count], points[1, count], points[2, count] = (
                c * math.cos(lon[r]),
                c * math.sin(lon[r]),
                math.sin(lat[r]),
            )
            count += 1
    return max(math.sqrt(2.0) * EARTH_KM * _inliers(points[:, :count])[1] / SCALE, SMALLEST_KM)


@jit
def _inliers(points: Any) -> tuple[Any, float]:
    """As `memberships.inliers`."""
    width, count = points.shape
    kept, inside, mean = np.ones(count, np.bool_), np.empty(count, np.bool_), np.empty(width)
    apart = np.empty((width, count))
    number, deviation, whole, first = count, 0.0, 0.0, 0
    for turn in range(ROUNDS if count else 0):
        square = 0.0
        while not kept[first]:
            first += 1
        for d in range(width):
            mean[d] = 0.0
            for i in range(count):
                apart[d, i] = points[d, i] - points[d, first]
                if kept[i]:
                    mean[d] += apart[d, i]
            mean[d] /= number
        for i in range(count):
            if kept[i]:
                square += _squared(apart, i, mean)
        deviation = math.sqrt(square / number)
        if turn == 0:
            whole = deviation
        before, number = number, 0
        for i in range(count):
            inside[i] = _squared(apart, i, mean) <= (OUTLIER * deviation) ** 2
            number += inside[i]
        if turn == ROUNDS - 1 or number == before:
            break
        kept[:] = inside
    if deviation <= LEAST * whole:
        kept[:] = True
        deviation = whole
    return kept, deviation


@jit
def _squared(apart: Any, i: int, mean: Any) -> float:
    found = 0.0
    for d in range(len(mean)):
        found += (apart[d, i] - mean[d]) ** 2
    return found
