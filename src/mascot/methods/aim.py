"""Named focus: closeness to a value as part of relevance.

    closeness_i = 1 / (1 + d_i / h)
    relevance'  = (1 - w) * relevance + w * weighted mean of the closenesses,    w = 1 - (1 - strength)^1.5

d is the attribute's own distance to the named value. h, the distance at which closeness is one half, is `within`
where the user gives it, else the distance of the nearest k / 2 candidates. The heavy tail matters: among far candidates
the nearer ones still win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mascot.bins import Bins, Floats, Ints
from mascot.bins.distance import SMALLEST, distances, unit_of
from mascot.kernels.reference import inner_range

_CURVE = 1.5  # of the dial: strength 0.5 already aims


@dataclass(frozen=True, slots=True)
class NamedFocus:
    """A focus on a value: the bins of all rows, and the value as one row of the same kind."""

    bins: Bins
    point: Bins
    weight: float
    within: float | None


def closeness(focus: NamedFocus, rows: Ints | None, ptr: Ints, k: int) -> Floats:
    """Return how close each candidate is to the named value, in 0..1; 0 where its value is missing."""
    distance = distances(focus.bins, focus.point, rows)
    unit = unit_of(focus.bins)
    if unit == "label":
        return np.where(distance == 0, 1.0, 0.0)
    if focus.within is not None:
        half = np.full(len(ptr) - 1, float(focus.within))
    else:
        half = np.array([_nth_smallest(distance[a:b], (k + 1) // 2) for a, b in pairwise(ptr)])
        half = np.maximum(half, max(SMALLEST[unit], 1e-9))
    near = 1 / (1 + distance / np.repeat(half, np.diff(ptr)))
    return np.where(np.isnan(near), 0.0, near)


def _nth_smallest(values: Floats, rank: int) -> float:
    valued = values[~np.isnan(values)]
    if not len(valued):
        return 0.0
    at = min(rank, len(valued)) - 1
    return float(np.partition(valued, at)[at])


def dial_share(strength: float) -> float:
    """Return the share of closeness in relevance."""
    return float(1 - (1 - strength) ** _CURVE)


def aim_scores(
    scores: Floats, ptr: Ints, rows: Ints | None, focuses: Sequence[NamedFocus], k: int, strength: float, robust: bool
) -> Floats:
    """Return scores in which closeness to the named values is blended, in the range of the query's own scores."""
    total = sum(focus.weight for focus in focuses)
    near = sum(focus.weight / total * closeness(focus, rows, ptr, k) for focus in focuses)
    share = dial_share(strength)
    aimed = np.empty(len(scores))
    for start, end in pairwise(ptr):
        if start == end:
            continue
        query_scores = scores[start:end]
        low, high = inner_range(query_scores) if robust else (float(query_scores.min()), float(query_scores.max()))
        span = high / 2 - low / 2
        relevance = (np.clip(query_scores, low, high) / 2 - low / 2) / span if span > 0 else np.zeros(len(query_scores))
        blend = (1 - share) * relevance + share * np.asarray(near)[start:end]
        top, bottom = float(blend.max()), float(blend.min())
        blend = (blend - bottom) / (top - bottom) if top > bottom else np.zeros(len(query_scores))
        # Back to the range of the scores, so that methods that use raw scores see scores of the same size.
        aimed[start:end] = blend if span == 0 else (1 - blend) * low + blend * high
    return aimed
