"""Memberships as flat arrays, the form the compiled backends take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mascot.memberships import REACH, SPACING, Axis, Floats, Ints, Membership, Sparse, Sphere, Windows

LINE, PLANE, SPHERE, SPARSE = 0, 1, 2, 3
AXIS = 8  # numbers that describe an axis
_LANES = 8
_RINGS, _BLOCKS_A_RING = 7, 4  # a self-spaced bump reaches no further, poles included


@dataclass(frozen=True, slots=True)
class Packed:
    """A memberships of M rows, side by side."""

    shapes: Ints  # [A] LINE, PLANE, SPHERE or SPARSE
    axes: Floats  # [A, 2, 8] start, step, count, sigma, period, smallest, floor, ceiling
    xs: Floats  # [A, M] first coordinate; NaN is a missing value
    ys: Floats  # [A, M] second coordinate
    sparse_at: Ints  # [A] where an attribute's rows start in indptr
    indptr: Ints
    indices: Ints
    values: Floats
    blocks_each: int  # most blocks of eight bins a row can have, all attributes together
    lanes_each: int  # most stored values
    hashed_each: int  # most blocks that need a look-up


def pack(memberships: Sequence[Membership]) -> Packed:
    """Lay the memberships out; widths that follow the rows stay open."""
    kinds, rows = len(memberships), max((m.rows for m in memberships), default=0)
    shapes = np.zeros(kinds, np.int64)
    axes = np.zeros((kinds, 2, AXIS))
    xs, ys = np.zeros((kinds, rows)), np.zeros((kinds, rows))
    sparse_at = np.zeros(kinds, np.int64)
    indptr: list[Ints] = [np.zeros(1, np.int64)]
    indices: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    values: list[Floats] = [np.zeros(0)]
    pairs = 0
    blocks = lanes = hashed = 0
    for a, member in enumerate(memberships):
        if isinstance(member, Windows):
            xs[a, : member.rows] = member.values[0]
            spans = [_span(axis) for axis in member.axes]
            for j, axis in enumerate(member.axes):
                axes[a, j] = (
                    axis.start, axis.step, axis.count, axis.sigma, axis.period, axis.smallest, axis.floor, axis.ceiling,
                )  # fmt: skip
            if len(member.axes) == 2:
                shapes[a] = PLANE
                ys[a, : member.rows] = member.values[1]
                across = math.ceil(spans[1] / _LANES)
                lanes += (across + math.ceil(spans[0] / _LANES)) * _LANES
            else:
                shapes[a] = LINE
                across = math.ceil(spans[0] / _LANES) + 1  # a cycle may be cut in two
                blocks, lanes = blocks + across, lanes + (across + 1) * _LANES
        elif isinstance(member, Sphere):
            shapes[a] = SPHERE
            axes[a, 0, 3] = member.sigma_km
            xs[a, : member.rows], ys[a, : member.rows] = member.lat, member.lon
            blocks, lanes = blocks + _RINGS * _BLOCKS_A_RING, lanes + _RINGS * _BLOCKS_A_RING * _LANES
            hashed = max(hashed, 2 * _RINGS)
        else:
            explicit: Sparse = member.sparse()
            shapes[a] = SPARSE
            sparse_at[a] = sum(len(part) for part in indptr)
            indptr.append(explicit.indptr + pairs)
            indices.append(explicit.indices)
            values.append(explicit.values)
            pairs += len(explicit.indices)
            most = int(np.diff(explicit.indptr).max(initial=0))
            blocks, hashed = blocks + most, max(hashed, most)
    return Packed(
        shapes, axes, xs, ys, sparse_at, np.concatenate(indptr), np.concatenate(indices), np.concatenate(values),
        blocks, lanes, hashed,
    )  # fmt: skip


def _span(axis: Axis) -> int:
    """Most bins of an axis within reach of one value."""
    if axis.step == 0:
        return math.floor(2 * REACH / SPACING) + 2
    return min(math.floor(2 * REACH * axis.sigma / axis.step) + 2, axis.count)
