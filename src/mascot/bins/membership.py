"""The interface of bins, and the standard deviation without outliers, which self-scaled widths are based on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mascot.kernels.constants import LEAST, OUTLIER, ROUNDS
from mascot.kernels.objective import Bools, Floats, Ints

if TYPE_CHECKING:
    from mascot.bins.sparse import SparseBins
    from mascot.kernels.native.pack import PackedBins


class Bins(Protocol):
    """N rows of soft bins."""

    @property
    def rows(self) -> int: ...

    def missing(self, rows: Ints | None = None) -> Bools:
        """Return which of these rows (default: all) have no value."""

    def name(self, bin_: int) -> str:
        """Return a bin's readable name."""

    def take(self, rows: Ints) -> Bins: ...

    def resolve(self) -> Bins: ...

    def sparse(self) -> SparseBins: ...

    def packed(self) -> PackedBins:
        """Return the bins as the native kernel reads them."""


def inliers(points: Floats) -> tuple[Bools, float]:
    """Return which of the points [d, n] are inliers, and their root-mean-square distance from their mean.

    Points more than 3.2 standard deviations from the mean are ignored, and mean and deviation are computed again, at
    most twice. Of fewer than twelve points none can be that far out.
    """
    inlier, count = np.ones(points.shape[1], np.bool_), points.shape[1]
    if not count:
        return inlier, 0.0
    deviation = first_deviation = 0.0
    for pass_number in range(ROUNDS):
        differences = points - points[:, [int(inlier.argmax())]]  # they keep the digits of dates and of near places
        squared = ((differences - differences[:, inlier].mean(axis=1, keepdims=True)) ** 2).sum(axis=0)
        deviation = math.sqrt(float(squared[inlier].mean()))
        first_deviation = first_deviation if pass_number else deviation
        inside = squared <= (OUTLIER * deviation) ** 2
        if pass_number == ROUNDS - 1 or inside.sum() in (inlier.sum(), 0):
            break
        inlier = inside
    if deviation <= LEAST * first_deviation:
        return np.ones(count, np.bool_), first_deviation
    return inlier, deviation
