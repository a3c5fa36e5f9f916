"""Deviation without outliers, which widths that follow the candidates are based on."""

from __future__ import annotations

import math

import numpy as np

from mascot.bins.base import Bools, Floats
from mascot.kernels.constants import LEAST, OUTLIER, ROUNDS


def inliers(points: Floats) -> tuple[Bools, float]:
    """Return which of the points [d, n] are inliers, and their root-mean-square distance from their mean.

    Points farther from the mean than 3.2 deviations are ignored, and mean and deviation are computed again, at most
    twice. It takes at least twelve points for one to be that far out.
    """
    inlier, count = np.ones(points.shape[1], np.bool_), points.shape[1]
    if not count:
        return inlier, 0.0
    deviation = first_deviation = 0.0
    for pass_number in range(ROUNDS):
        differences = (
            points - points[:, [int(inlier.argmax())]]
        )  # differences keep the digits of dates and of near places
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
