"""Calls of the kernel with anything that `kernel.h` allows, without the checks of the package.

A call must return distinct positions of the query, or refuse for lack of memory.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from mascot.kernels import native
from mascot.kernels.counters import MOST_RULES, CopyRule, LabelRule, Rule
from mascot.kernels.native.pack import PackedBins, pack_axes, pack_globe
from mascot.kernels.objective import Options

_NUMBERS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-150, 1e-9, 0.5, 180.0, 360.0, 1e9, 1e60, 1e150, -1e150)
_WEIGHTS = (1e-100, 1e-9, 0.3, 1.0, 3.0, 1e9, 1e100)
_SHARES = (0.0, 5e-324, 1e-300, 1e-9, 0.3, 0.9, 1.0)
_WHOLE = (0, 1, 2, 3, 7, 64, 1 << 31, 1 << 62)


class _Caller:
    """Random arguments of one call."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)

    def numbers(self, count: int, largest: float = 1e150) -> Any:
        """Return a column: a few numbers again and again, NaN among them, or many different ones."""
        few = [self.chance.choice(_NUMBERS) for _ in range(self.chance.randint(1, 6))]
        many = [self.chance.gauss(0, 10 ** self.chance.uniform(-3, 3)) for _ in range(20)]
        values = self.chance.choice([few, many, [*few, math.nan], few[:1]])
        return np.clip([self.chance.choice(values) for _ in range(count)], -largest, largest)

    def labels(self, rows: int, values: int) -> tuple[Any, Any]:
        """Return row pointers and distinct labels of each row."""
        parts = [sorted(self.chance.sample(range(values), self.chance.randint(0, min(3, values)))) for _ in range(rows)]
        indptr = np.cumsum([0, *map(len, parts)])
        return indptr.astype(np.int64), np.array([label for part in parts for label in part], np.int64)

    def line(self, rows: int) -> PackedBins:
        """Return bins whose width follows the values, or is a part of their range: too many bins take too long."""
        values = self.numbers(rows)
        span = float(np.nanmax(values, initial=0.0) - np.nanmin(values, initial=0.0))
        sigma = self.chance.choice([0.0, -1.0, min(max(span * self.chance.choice([1e-4, 0.2, 1e6]), 1e-150), 1e150)])
        smallest = self.chance.choice([0.0, 1e-6])
        return pack_axes((0.0, 0.0, 0.0, sigma, 0.0, smallest, -math.inf, math.inf, 0.0), (values,))

    def axis(self, count: int) -> tuple[float, ...]:
        """Return start, step, count, sigma, period, smallest, floor, ceiling and origin of even bins."""
        step = self.chance.choice([1e-6, 0.01, 1.0, 24.0])
        ends = self.chance.choice([(-math.inf, math.inf), (0.0, 1.0)])
        start, sigma = self.chance.choice(_NUMBERS[:9]), step * self.chance.choice([1e-12, 0.1, 1.0, 40.0, 1e12])
        return start, step, float(count), sigma, self.chance.choice([0.0, step * count]), 0.0, *ends, 0.0

    def bins(self, rows: int) -> PackedBins:
        kind = self.chance.randrange(6)
        if kind == 0:
            return pack_axes(self.axis(self.chance.choice([1, 96, 5000, 1 << 40, 1 << 62])), (self.numbers(rows),))
        if kind == 1:
            axes = [self.axis(self.chance.choice([1, 20, 60, 1 << 31, 1 << 62])) for _ in range(2)]
            return pack_axes((*axes[0], *axes[1]), (self.numbers(rows), self.numbers(rows)))
        if kind == 2:
            sigma = self.chance.choice([0.0, 0.001, 5.0, 300.0, 100_000.0, -300.0])
            return pack_globe(self.numbers(rows, math.pi / 2), self.numbers(rows, math.pi), sigma)
        if kind == 3:
            indptr, indices = self.labels(rows, self.chance.randint(1, 30))
            values = np.array([self.chance.choice(_SHARES) for _ in indices]) if self.chance.random() < 0.5 else None
            return PackedBins(native.LABELS, indptr=indptr, indices=indices, values=values)
        if kind == 4:
            return self.line(rows)
        return PackedBins(native.VECTORS, vectors=self.vectors(rows), copies=self.chance.uniform(-1, 1))

    def vectors(self, rows: int) -> Any:
        width = self.chance.randint(1, 9)
        return self.numbers(rows * width, 3e38).reshape(rows, width).astype(np.float32)

    def rule(self, rows: int) -> Rule:
        chance, gives = self.chance, self.chance.randint(1, 3)
        if chance.random() < 0.2:
            most = chance.choice(_WHOLE[1:])
            return CopyRule(self.vectors(rows), chance.uniform(-1, 1), most, max(gives, 2), chance.random() < 0.5)
        values = chance.randint(1, 8)
        capacity = np.array([chance.choice(_WHOLE) for _ in range(values)], np.int64)
        window, first = chance.choice([(0, 0), (0, 0), (chance.choice(_WHOLE[1:]), 0), (0, chance.choice(_WHOLE[1:]))])
        return LabelRule(*self.labels(rows, values), capacity, gives, None, window, first, chance.random() < 0.5)

    def select(self) -> None:
        """Select once, and check that the results are distinct positions of each query."""
        chance, rows = self.chance, self.chance.choice([1, 2, 5, 30, 200])
        sizes = [chance.randint(1, rows) for _ in range(chance.choice([1, 1, 3]))]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        corpus_rows = np.concatenate([chance.sample(range(rows), size) for size in sizes]).astype(np.int64)
        count, k = chance.choice([0, 1, 2, 5]), chance.choice([1, 2, 10, 40, 1000])
        already_ptr = already = None
        parts: list[list[int]] = [[] for _ in sizes]
        if chance.random() < 0.4:
            parts = [chance.sample(range(size), chance.randint(0, size)) for size in sizes]
            already_ptr = np.cumsum([0, *map(len, parts)]).astype(np.int64)
            already = np.array([position for part in parts for position in part], np.int64)
        protect, keep = chance.choice(_WHOLE), chance.choice([0.0, 0.0, *_SHARES])
        switches = [chance.random() < 0.5 for _ in range(6)]
        pinned = {}
        if len(sizes) == 1 and chance.random() < 0.3:
            rest = sorted(set(range(sizes[0])) - set(parts[0]))
            length = min(k, len(rest))
            pins = chance.randint(0, min(length, 3))
            pinned = dict(zip(sorted(chance.sample(range(length), pins)), chance.sample(rest, pins), strict=True))
        options = Options(k - len(pinned), protect, chance.choice(_SHARES), keep, *switches)
        rules = [self.rule(rows) for _ in range(chance.choice([0, 0, 1, 3, MOST_RULES]))]
        shares = [chance.choice([1.0, -1.0]) * chance.choice(_WEIGHTS) for _ in range(count)]
        bins, neutral = [self.bins(rows) for _ in range(count)], [chance.random() < 0.5 for _ in range(count)]
        scores, relevance = (np.nan_to_num(self.numbers(len(corpus_rows))) for _ in range(2))
        ideal = np.array([chance.random() for _ in corpus_rows])
        try:
            done = native.select(
                ptr, corpus_rows, scores, relevance, ideal, already_ptr, already, bins, neutral, shares, rules, pinned,
                options, chance.random() < 0.5, 1,
            )  # fmt: skip
        except MemoryError:
            return
        for size, positions in zip(sizes, done.positions.tolist(), strict=True):
            chosen = [position for position in positions if position >= 0]
            assert positions == chosen + [-1] * (k - len(chosen)), positions
            assert len(set(chosen)) == len(chosen), chosen
            assert not chosen or max(chosen) < size, (chosen, size)


def call(seed: int, first: int, count: int) -> None:
    """Make calls by their numbers, which draw their arguments."""
    assert native.available(), native.description()
    for number in range(first, first + count):
        _Caller(f"{seed} {number}").select()
