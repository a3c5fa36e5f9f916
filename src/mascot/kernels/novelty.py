"""Novelty of vectors and limits on near-copies: the part of the reference implementation that compares vectors.

    s(i, j)    = cosine of i and j, scaled so that `low` counts as 0 and `high` as 1
    novelty(i) = 1 - (max_j s(i, j) + mean_j s(i, j)) / 2     over the selected j; 1 while none is selected

s is clipped to 0..1 under a focus and to 0..`CLOSEST` under a spread, as the pairs above `high` decide how near the
nearest results are. For MMR, which is `nearest`, novelty is 1 - max_j s(i, j), the cosines of the best match range from
0 to 1, and s is at least 0.

Vectors are stored in float32. Every backend multiplies and sums them in float64, so that lengths, cosines and novelties
of two backends differ by about 1e-15, far less than a tie. A cosine that is compared with a threshold may be below it
by a tolerance, so that round thresholds do not depend on rounding either.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import CLOSEST, COPY, COPY_TOLERANCE, NOVELTY, SAMPLE

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]


def unit_vectors(vectors: NDArray[np.float32]) -> _Floats:
    """Return vectors [N, D] scaled to length 1, in float64. A missing vector, NaN or zeros, becomes a row of zeros."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    nonzero = lengths > 0
    return np.where(nonzero, exact, 0.0) / np.where(nonzero, lengths, 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class CopyQuota:
    """At most `n` results that are near-copies of a candidate: a further near-copy of them is not allowed.

    Near-copies have a cosine of at least `threshold`. `stages` is as for `Quota`. A missing vector is not limited.
    """

    vectors: NDArray[np.float32]  # [R, D]
    threshold: float
    n: int
    stages: int
    pinned: _Ints = field(default_factory=lambda: np.empty(0, np.int64))  # rows that are results from the start

    def counter(self, rows: _Ints) -> CopyCounts:
        counts = CopyCounts(self, unit_vectors(self.vectors[rows]))
        for vector in unit_vectors(self.vectors[self.pinned]):
            counts.add_vector(vector)
        return counts


class CopyCounts:
    """How many results so far are near-copies of each candidate."""

    def __init__(self, quota: CopyQuota, unit: _Floats) -> None:
        self._quota, self._unit, self._copies = quota, unit, np.zeros(len(unit), np.int64)

    def allows(self, position: int, more: int = 0) -> bool:
        """Return whether the quota, raised by `more`, allows a further result."""
        return bool(self._copies[position] < self._quota.n + more)

    def add(self, position: int) -> None:
        self.add_vector(self._unit[position])

    def add_vector(self, vector: _Floats) -> None:
        least = self._quota.threshold - COPY_TOLERANCE
        self._copies += ((self._unit * vector).sum(axis=1) >= least) & self._unit.any(axis=1) & vector.any()


class QueryVectors(NamedTuple):
    """The vectors of one attribute, for the N candidates of one query."""

    unit: _Floats  # [N, D]
    missing: _Bools  # [N]
    sign: float  # +1 spread, -1 focus
    weight: float
    neutral: bool  # a missing vector has the mean novelty; otherwise the candidate comes last
    nearest: bool = False  # novelty is that of MMR
    low: float = 0.0  # the cosine that counts as 0
    high: float = 1.0  # the cosine that counts as 1

    def scaled(self, order: _Ints) -> QueryVectors:
        """Return the vectors with the scale of a sample of candidates, evenly spaced in the better half of `order`.

        Off-topic candidates are unlike all others. On a scale that includes them, all good candidates would be alike.
        """
        valued = order[~self.missing[order]]
        if self.nearest:
            cosines = (self.unit[valued] * self.unit[valued[:1]]).sum(axis=1)
            span = float(cosines.max(initial=-1.0) - cosines.min(initial=1.0))
            return self._replace(low=float(cosines.min()), high=float(cosines.max())) if span > COPY_TOLERANCE else self
        valued = valued[: max((len(valued) + 1) // 2, SAMPLE)]
        size = min(SAMPLE, len(valued))
        low, high = cosine_range(self.unit[valued[np.arange(size) * len(valued) // max(size, 1)]])
        return self._replace(low=low, high=high)

    def similarities(self, position: int) -> _Floats:
        """Return s [N] of all candidates and the one at a position."""
        cosines = (self.unit * self.unit[position]).sum(axis=1)
        most = np.inf if self.nearest else CLOSEST if self.sign > 0 else 1.0
        return np.clip((cosines - self.low) / (self.high - self.low), 0.0, most)

    def resembles(self, position: int, others: list[int]) -> bool:
        """Return whether a candidate is a near-copy of one of the others."""
        valued = [other for other in others if not self.missing[other]]
        near = bool(valued) and not self.missing[position]
        return near and bool((self.similarities(position)[valued] >= COPY - COPY_TOLERANCE).any())

    @property
    def most(self) -> float:
        """What full novelty is worth if this is the only wish."""
        return NOVELTY if self.sign > 0 and not self.nearest else 1.0

    def weighed(self, total_weight: float, scale: bool) -> WeighedVectors:
        if scale:
            return WeighedVectors(self, self.sign * self.weight / total_weight)
        return WeighedVectors(self, self.sign * self.weight * self.most)


class WeighedVectors(NamedTuple):
    """What novelty is worth. It has a scale by definition, so nothing else about it depends on the candidates."""

    vectors: QueryVectors
    gain_factor: float  # worth of one unit of novelty, negative under a focus
    largest_gain: float = 1.0
    coverage_per_result: float = 1.0

    @property
    def offset(self) -> _Floats:
        """[N] gains that do not depend on what is selected: under a focus, a missing vector pays for full novelty."""
        last = self.vectors.missing & (self.vectors.sign < 0 and not self.vectors.neutral)
        return np.where(last, self.gain_factor, 0.0)

    def likeness(self, positions: _Ints) -> _Floats:
        """Return [i, c]: the similarity of the candidates at positions[i] and positions[c]; 0 for a missing vector."""
        valued = ~self.vectors.missing[positions]
        return np.array([self.vectors.similarities(int(p))[positions] for p in positions]) * valued * valued[:, None]

    def start(self, already: _Ints) -> Novelty:
        """Return the state of a pass in which only the results of earlier pages are selected."""
        return Novelty(self, already)

    def replay(self, results: _Ints, others: _Ints, already: _Ints) -> _Floats:
        """Return the gains [k + M] of results and other candidates, as `WeighedAttribute.replay` does."""
        state, gains = self.start(already), []
        for result in results:
            novelty = state.gains()
            gains.append(novelty[result])
            state.add(int(result))
        return np.array([*gains, *novelty[others]]) + self.offset[np.concatenate([results, others])]


class Novelty:
    """The similarity of each candidate to the results so far."""

    def __init__(self, attribute: WeighedVectors, already: _Ints) -> None:
        self._attribute, self._count = attribute, 0
        self._nearest, self._total = np.zeros((2, len(attribute.vectors.missing)))
        for position in already:
            self.add(int(position))

    def gains(self) -> _Floats:
        """Return what each candidate earns (spread) or pays (focus) if it is selected next [N]."""
        vectors = self._attribute.vectors
        mean = self._nearest if vectors.nearest else self._total / max(self._count, 1)
        novelty = 1 - (self._nearest + mean) / 2
        valued = novelty[~vectors.missing]
        usual = float(valued.mean()) if vectors.neutral and len(valued) else 0.0
        return np.asarray(self._attribute.gain_factor * np.where(vectors.missing, usual, novelty))

    def add(self, position: int) -> None:
        if self._attribute.vectors.missing[position]:
            return
        similarities = self._attribute.vectors.similarities(position)
        self._nearest = np.maximum(self._nearest, similarities)
        self._total += similarities
        self._count += 1


def cosine_range(unit: _Floats) -> tuple[float, float]:
    """Return the 5% and 95% quantiles of the cosines of all pairs of rows; 0 and 1 if they hardly differ."""
    cosines = np.sort((unit @ unit.T)[np.triu_indices(len(unit), 1)])
    tail = (len(cosines) - 1) // 20
    if not len(cosines) or cosines[-1 - tail] - cosines[tail] <= COPY_TOLERANCE:
        return 0.0, 1.0
    return float(cosines[tail]), float(cosines[-1 - tail])
