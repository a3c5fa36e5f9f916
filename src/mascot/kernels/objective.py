"""What a result is worth: relevance, and what each wish adds to it. The numpy specification of the kernel.

A term is a set function with three operations. `begin` forgets all results but those of earlier pages, `gains` returns
what each candidate earns (spread) or pays (focus) if it comes next, and `add` makes it a result. The loop in `page.py`
knows nothing else about the wishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import (
    COPY_TOLERANCE,
    EPSILON,
    FENCE,
    FEW,
    NOTHING,
    TIE,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_LEAST_RELEVANCE = -1e12
_LEAST_RANGE = 1e-300


class Options(NamedTuple):
    """How to select; see `mascot.Mascot`."""

    k: int
    protect: int
    strength: float
    keep: float  # 0: select at `strength`
    # The bits of `flags`, the lowest first:
    query_weight: bool  # a bin is worth its peak relevance; otherwise 1
    normalize: bool  # relevance is in 0..1; otherwise raw scores are used
    guarded: bool  # coverage is divided by its largest first-step value and by the sum of the weights; three lists
    robust: bool  # far outliers among the scores count as the outermost of the other scores
    balance: bool  # a bin of a spread holds its share of the k results
    by_relevance: bool  # results are shown by relevance; otherwise in the order of selection

    @property
    def flags(self) -> int:
        """The switches as one number, as the C kernel takes them."""
        return sum(bit << place for place, bit in enumerate(self[4:]))


class Term(Protocol):
    """What one wish adds to the gains of N candidates."""

    tie: float  # gains that are closer together are equal

    def begin(self, already: Ints) -> None: ...

    def gains(self) -> Floats: ...

    def add(self, i: int) -> None: ...


class Coverage:
    """The worth of covering the bins of one attribute.

    `share` is the weight of the wish among all wishes. A missing value covers nothing, which would be best under a
    focus: there the candidate comes last. A `neutral` missing value covers what the value of another candidate, drawn
    at random, would cover on average.
    """

    def __init__(
        self, membership: Floats, missing: Bools, share: float, k: int, relevance: Floats, options: Options, *,
        neutral: bool,
    ) -> None:  # fmt: skip
        if neutral and missing.any():
            valued = membership[~missing]
            membership = np.where(missing[:, None], valued.mean(axis=0) if len(valued) else 0.0, membership)
        bins = membership.shape[1]
        # The query weight of a bin is its peak relevance, the paper's omega[u] = max_j p[j, u] r[j].
        peaks = np.ones(bins)
        if options.query_weight:
            peaks = (membership * relevance[:, None]).max(axis=0, initial=0.0)
        top = float((membership * peaks).sum(axis=1).max(initial=0.0))
        self.membership, self.factor = membership, share
        self.top = top if top >= NOTHING else 0.0  # the largest coverage of a single candidate
        if options.guarded:
            self.factor /= self.top or 1.0
        self.room = coverage_per_result(membership, k) if options.balance and share > 0 else 1.0
        self.worth = self.factor * peaks if self.top > 0 else np.zeros(bins)
        last = missing & (share < 0 and not neutral)
        self.offset = np.where(last, self.factor * self.top, 0.0)  # the penalty of candidates that come last
        self.tie = TIE * abs(self.factor) * self.top
        self.worths = [self.factor, self.top, self.room]

    def begin(self, already: Ints) -> None:
        self.left = self.worth
        for i in already.tolist():
            self.add(i)

    def gains(self) -> Floats:
        # Row sums, not a matrix product: BLAS gives equal rows different sums.
        return np.asarray((self.membership * self.left).sum(axis=1)) + self.offset

    def add(self, i: int) -> None:
        self.left = self.left * (1 - self.room * self.membership[i])

    def likeness(self, positions: Ints) -> Floats:
        """Return [i, c]: how much of the bins of the candidate at positions[c] the one at positions[i] has."""
        rows = self.membership[positions]
        own = (rows * rows).sum(axis=1)
        shared = np.array([(rows * row).sum(axis=1) for row in rows])  # [c, i]
        return np.asarray((shared / np.where(own > 0, own, 1.0)[:, None]).T)


def coverage_per_result(membership: Floats, k: int) -> float:
    """Return the part of a bin that a membership of 1 covers, so that an even list of k results fills every bin.

    If an even list has n > 1 results per bin, each of them covers 1 / n of its bin; otherwise it covers the whole bin.
    """
    peaks = float(membership.max(axis=0, initial=0.0).sum())
    if peaks <= 0:
        return 1.0
    results_per_bin = k * float(membership.sum()) / len(membership) / peaks
    return 1.0 if results_per_bin <= 1 else 1 / results_per_bin


class Novelty:
    """The worth of vectors that are unlike, or like, the results so far.

    A spread earns 1 - max(cosine, 0) ** 3 with the largest cosine of the candidate and a result, a focus pays
    1 - max(cosine, 0). Nothing about it depends on the other candidates. Vectors are stored in float32; products are
    summed in float64, so that two kernels differ by about 1e-15, far less than a tie. A missing vector comes last: it
    earns nothing, or pays 2, more than any other; if it is `neutral`, it has the mean of the others.
    """

    def __init__(self, unit: Floats, share: float, *, copies: float, neutral: bool) -> None:
        self.unit, self.missing, self.copies, self.neutral = unit, ~unit.any(axis=1), copies, neutral
        self.factor, self.tie, self.spreads = share, TIE * abs(share), share > 0
        self.worths = [share, 1.0, 1.0]

    def begin(self, already: Ints) -> None:
        self.nearest = np.zeros(len(self.unit))
        for i in already.tolist():
            self.add(i)

    def gains(self) -> Floats:
        novelty = 1 - (self.nearest**3 if self.spreads else self.nearest)
        usual = 0.0 if self.spreads else 2.0
        if self.neutral and not self.missing.all():
            usual = float(novelty[~self.missing].mean())
        return np.asarray(self.factor * np.where(self.missing, usual, novelty))

    def add(self, i: int) -> None:
        self.nearest = np.maximum(self.nearest, (self.unit * self.unit[i]).sum(axis=1))

    def resembles(self, i: int, others: Sequence[int]) -> bool:
        """Return whether a candidate is a near-copy of one of the others."""
        cosines = (self.unit[list(others)] * self.unit[i]).sum(axis=1)
        return bool((cosines >= self.copies - COPY_TOLERANCE).any())

    def likeness(self, positions: Ints) -> Floats:
        rows = self.unit[positions]
        return np.array([np.maximum((rows * row).sum(axis=1), 0.0) for row in rows]).T


def outliers(ranked: Floats, reach: int) -> int:
    """Return how many of the first scores are outliers; `ranked` [N] is sorted, in either direction.

    One or two scores, or equal placeholders such as 9999, are outliers if the gap behind them is more than ten times
    the range of the next `reach` scores. A group of different scores is none: those are the matches.
    """
    last, score = len(ranked) - 1, ranked.item
    equal = 1
    while equal <= last and score(equal) == score(0):
        equal += 1
    for number in sorted({1, 2, equal}, reverse=True):
        if number < last and last >= FEW - 1:
            second, least = score(number) / 2, score(min(number + reach, last)) / 2
            if second != least and abs(score(number - 1) / 2 - second) / FENCE > abs(second - least):
                return number
    return 0


def relevance_of(scores: Floats, reach: int, robust: bool = True) -> Floats:
    """Return the guarded relevance of scores [N]: 1 for the best, 0 for the score of rank `reach`, from 0.

    The range is set by what can win, not by the worst candidate: lower scores have a negative relevance. If `robust`,
    outliers count as the best of the others.
    """
    if not len(scores):
        return scores
    ranked = np.sort(scores)[::-1]
    first = outliers(ranked, reach) if robust else 0
    # Halves, because the range of finite scores may not be finite.
    high, low, lowest = (ranked.item(at) / 2 for at in (first, min(reach, len(ranked) - 1), -1))
    low = low if low < high else lowest
    inverse = 1 / max(high - low, _LEAST_RANGE) if low < high else 1.0
    halves = np.minimum(scores * 0.5, high) - low
    if inverse > 1e100:  # products may overflow
        halves = np.maximum(halves, _LEAST_RELEVANCE / inverse)
    return np.asarray(np.maximum(halves * inverse, _LEAST_RELEVANCE))


def normalized(scores: Floats, robust: bool = False) -> Floats:
    """Return scores rescaled to 0..1: (r - low) / (high - low + 1e-8).

    With `robust`, outliers count as the outermost of the other scores.
    """
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    if robust:
        ranked = np.sort(scores)
        inner = float(ranked[outliers(ranked, len(scores))]), float(ranked[::-1][outliers(ranked[::-1], len(scores))])
        low, high = inner if inner[0] <= inner[1] else (low, high)
    return np.asarray((np.clip(scores, low, high) / 2 - low / 2) / (high / 2 - low / 2 + EPSILON / 2))


def normalized_each(scores: Floats, ptr: Ints) -> Floats:
    """Return the scores of many queries, one after the other, each rescaled to 0..1."""
    sizes = np.diff(ptr)
    starts = ptr[:-1][sizes > 0]
    low, high = (np.repeat(bound.reduceat(scores, starts) / 2, sizes[sizes > 0]) for bound in (np.minimum, np.maximum))
    return np.asarray((scores / 2 - low) / (high - low + EPSILON / 2))
