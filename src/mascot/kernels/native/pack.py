"""Bins in the layout that the native kernel reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.objective import Floats, Ints

LINE, PLANE, GLOBE, LABELS, VECTORS = 0, 1, 2, 3, 4  # shapes of bins
AXIS_FIELDS = 9


class PackedBins(NamedTuple):
    """The bins of one attribute. Coordinates are contiguous float64 arrays, pairs are int64 arrays."""

    shape: int
    x: Floats | None = None  # LINE, PLANE: values along the axes; GLOBE: latitude and longitude in radians
    y: Floats | None = None
    axes: tuple[float, ...] = (0.0,) * 2 * AXIS_FIELDS  # the fields of `bins.axis.Axis`, one axis after the other
    indptr: Ints | None = None  # LABELS
    indices: Ints | None = None
    values: Floats | None = None  # None: every membership is 1
    vectors: NDArray[np.float32] | None = None  # VECTORS, N x D
    copies: float = 1.0  # VECTORS: cosine from which two rows are near-copies


def pack_axes(axes: tuple[float, ...], values: tuple[Floats, ...]) -> PackedBins:
    """Pack Gaussian bins on one or two axes, each described by the numbers of `PackedBins.axes`."""
    if len(values) == 2:
        return PackedBins(PLANE, _contiguous(values[0]), _contiguous(values[1]), axes)
    return PackedBins(LINE, _contiguous(values[0]), None, (*axes, *(0.0,) * AXIS_FIELDS))


def pack_globe(lat: Floats, lon: Floats, sigma_km: float) -> PackedBins:
    """Pack Gaussian bins on the globe."""
    axes = (0.0, 0.0, 0.0, sigma_km) + (0.0,) * (2 * AXIS_FIELDS - 4)
    return PackedBins(GLOBE, _contiguous(lat), _contiguous(lon), axes)


def _contiguous(values: Floats) -> Floats:
    return np.ascontiguousarray(values, np.float64)
