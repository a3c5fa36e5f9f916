"""Named focus: closeness to a value as part of relevance.

    closeness_i = 1 / (1 + d_i / h)
    relevance'  = (1 - s) * relevance + s * mean over the focuses of weight * closeness,    s = 1 - (1 - strength)^1.5

d is the distance to the named value in the unit of the attribute. h is the distance at which closeness is one half:
`within` or, by default, the distance of the nearest k / 2 candidates. The tail is heavy: among far candidates the
nearer ones still win. A weight of 0.2 makes closeness a mild boost. Arrays are [Q, N].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mascot.bins import Bins, Floats, Ints, VectorBins
from mascot.bins.distance import SMALLEST, distances, unit_of
from mascot.errors import InputError, quoted
from mascot.kernels.constants import RIVALS
from mascot.kernels.objective import relevance_of

_BEHIND = 0.1  # the least relevance, negative, beside closeness
_CURVE = 1.5  # exponent of the share of closeness: strength 0.5 already has a clear effect


class Target(NamedTuple):
    """The distances of candidates to a named value, in a unit of `SMALLEST`, or 0 and 1 for a "label"."""

    distance: Floats
    unit: str
    weight: float
    within: float | None

    def closeness(self, k: int) -> Floats:
        """Return how close each candidate is to the named value, in 0..1; 0 if its value is missing."""
        if self.unit == "label":
            return np.where(self.distance == 0, 1.0, 0.0)
        half: Any = self.within if self.within is None else float(self.within)  # numpy 1 makes objects of long integers
        if half is None:
            ranked = np.sort(self.distance, axis=1)  # NaN last
            count = (ranked == ranked).sum(axis=1)
            half = ranked[np.arange(len(ranked)), np.maximum(np.minimum((k + 1) // 2, count) - 1, 0)]
            half = np.maximum(np.where(count == 0, 0.0, half), max(SMALLEST[self.unit], 1e-9))[:, None]
        near = 1 / (1 + self.distance / half)
        return np.where(np.isnan(near), 0.0, near)


@dataclass(frozen=True, slots=True)
class NamedFocus:
    """A focus on a value: the bins of all rows, and the value as bins of one row.

    A focus of vectors on the candidate with an id has no point of its own: `located` finds one for each query.
    """

    bins: Bins
    point: Bins | None
    weight: float
    within: float | None
    near: Any = None  # the id of a candidate, if there is no point

    def located(self, queries: Any) -> NamedFocus:
        """Return the focus with a point: the candidate with that id in each of the `Queries`, or the point it has."""
        if self.point is not None or not self.bins.rows:
            return replace(self, point=self.point or self.bins)
        rows = np.zeros(len(queries.ptr) - 1, np.int64)
        for q in np.flatnonzero(np.diff(queries.ptr)):
            ids = list(queries.ids_of(q))
            row = queries.ptr[q] + ids.index(self.near) if self.near in ids else -1
            rows[q] = row if row < 0 or queries.rows is None else queries.rows[row]
            if row < 0 or self.bins.missing(rows[[q]])[0]:
                rule = "near must be numbers or the id of a candidate that has a vector"
                raise InputError(f"focus(vectors) {rule}, got {quoted(self.near)}")
        return replace(self, point=self.bins.take(rows))

    def target(self, rows: Ints | None = None, ptr: Ints | None = None) -> Target:
        """Return the distances of rows (default: all); `ptr` are the queries, if each has a point of its own."""
        assert self.point is not None
        which = None
        if isinstance(self.bins, VectorBins) and self.near is not None and ptr is not None:
            which = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        return Target(distances(self.bins, self.point, rows, which), unit_of(self.bins), self.weight, self.within)


def aim_scores(
    scores: Floats, ptr: Ints, rows: Ints | None, focuses: Sequence[NamedFocus], k: int, strength: float, robust: bool
) -> Floats:
    """Return the scores of all queries, one after the other, with closeness to the named values blended in."""
    targets = [focus.target(rows, ptr) for focus in focuses]
    widths = np.diff(ptr)
    if len(scores) and widths.min() == widths.max():  # as one matrix
        shape = len(widths), int(widths[0])
        queries = [target._replace(distance=target.distance.reshape(shape)) for target in targets]
        return aim(scores.reshape(shape), queries, k, strength, robust).ravel()
    aimed = np.empty(len(scores))
    for start, end in pairwise(ptr):
        if start < end:
            query = [target._replace(distance=target.distance[None, start:end]) for target in targets]
            aimed[start:end] = aim(scores[None, start:end], query, k, strength, robust)[0]
    return aimed


def aim(scores: Floats, targets: Sequence[Target], k: int, strength: float, robust: bool) -> Floats:
    """Return scores with closeness to the named values blended in."""
    if strength == 0:
        return scores
    near = sum(target.weight / len(targets) * target.closeness(k) for target in targets)
    share = float(1 - (1 - strength) ** _CURVE)
    if robust:
        relevance = np.array([relevance_of(own, RIVALS * k) for own in scores])
        # A candidate near the value may be far behind the best: below rank 3k relevance only orders.
        behind = np.minimum(relevance, 0.0)
        relevance = np.maximum(relevance, 0.0) + _BEHIND * behind / (1 - behind)
        return np.asarray((1 - share) * relevance + share * near)
    # In the range of the scores, so that methods that use raw scores see scores of the same size.
    blend = _unit_range((1 - share) * _unit_range(scores) + share * near)
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return np.where(high > low, (1 - blend) * low + blend * high, blend)


def _unit_range(values: Floats) -> Floats:
    """Return values [Q, N] rescaled to 0..1."""
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    span = high / 2 - low / 2
    return np.asarray((values / 2 - low / 2) / np.where(span > 0, span, 1.0))
