"""Numpy arrays through the GPU in chunks: while one chunk is chosen from, others are read, copied or on their way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from mascot.kernels.gpu import Batch, Device, cupy, parts
from mascot.kernels.gpu_plan import Corpus, Options
from mascot.kernels.parallel import cores
from mascot.packing import LINE, Packed

_CHUNK = 1 << 19  # numbers of a column in one transfer, about
_LANES = 8  # chunks under way, each in the care of one thread: one alone is slower than the bus
_PIECE = 1 << 17  # numbers looked at at a time


@dataclass
class _Lane:
    """A stream, pinned memory and device memory for one chunk, and the launches over it."""

    stream: Any
    pinned: Any  # [columns, chunk * width]
    device: Any
    select: Device


_lanes: dict[Any, list[_Lane]] = {}  # those of the last problem
_using = Lock()  # them: one stream at a time


@dataclass(frozen=True)
class Layout:
    """What must be known of the attributes before their rows are: as in `Corpus`."""

    shapes: tuple[int, ...]
    axes: Any
    bins: tuple[int, ...]
    each: tuple[int, ...]

    @property
    def columns(self) -> int:
        """The scores, one column a line, two of everything else."""
        return 1 + sum(1 if shape == LINE else 2 for shape in self.shapes)


def _open(cp: Any, layout: Layout, size: int) -> list[_Lane]:
    key = (layout.shapes, layout.axes.tobytes(), layout.bins, layout.each, size)
    if key not in _lanes:
        _lanes.clear()
        _lanes[key] = [_lane(cp, layout, size) for _ in range(min(_LANES, max(2, cores())))]
    return _lanes[key]


def _lane(cp: Any, layout: Layout, size: int) -> _Lane:
    columns, kinds = layout.columns, len(layout.shapes)
    memory = cp.cuda.alloc_pinned_memory(columns * size * 8)
    pinned = np.frombuffer(memory, np.float64, columns * size).reshape(columns, size)
    device = cp.empty((columns, size))
    xs, ys, at = [], [], 1
    for shape in layout.shapes:
        xs.append(device[at])
        ys.append(None if shape == LINE else device[at + 1])
        at += 1 if shape == LINE else 2
    none = (None,) * kinds
    corpus = Corpus(
        layout.shapes, layout.axes, tuple(xs), tuple(ys), (0,) * kinds, none, none, none, layout.bins, layout.each
    )
    return _Lane(cp.cuda.Stream(non_blocking=True), pinned, device, Device(corpus))


def follow_on(rows: Any) -> bool:
    """Whether the rows are 0, 1, 2 and so on."""

    def some(at: int) -> bool:
        here = rows[at : at + _PIECE]
        return bool((here == np.arange(at, at + len(here))).all())

    with ThreadPoolExecutor(_LANES) as pool:
        return all(pool.map(some, range(0, len(rows), _PIECE)))


def slices(scores: Any, packed: Packed) -> Callable[[int, int], list[Any]]:
    """`bring` of `select_stream` for memberships that are laid out."""
    columns = [scores.reshape(-1)]
    for shape, xs, ys in zip(packed.shapes, packed.xs, packed.ys, strict=True):
        columns += [xs] if shape == LINE else [xs, ys]
    return lambda first, last: [column[first:last] for column in columns]


def select_stream(
    count: int, width: int, bring: Callable[[int, int], Sequence[Any]], layout: Layout, signs: Any, weights: Any,
    rules: Sequence[str], options: Options, k: int,
) -> tuple[Any, ...]:  # fmt: skip
    """Queries of `width` candidates: positions, shown, strengths, multipliers and tops.

    `bring(first, last)` gives the columns of those rows: scores, then per attribute one column or two. Several
    threads call it at once.
    """
    cp = cupy()
    kinds, chunk = len(signs), max(1, min(_CHUNK // width, count))
    chunk = -(-count // -(-count // chunk))  # as large, and all alike
    asked = (signs, weights, rules, options, k)
    picks = np.empty((2, count, k), np.int64)
    strengths, multipliers, tops = np.empty(count), np.empty((count, kinds)), np.empty((count, kinds))
    idle: SimpleQueue[_Lane] = SimpleQueue()

    def work(first: int) -> None:
        last = min(first + chunk, count)
        size = (last - first) * width
        lane = idle.get()
        try:
            for column, values in enumerate(bring(first * width, last * width)):
                lane.pinned[column, :size] = values
            with lane.stream:
                for column in range(layout.columns):
                    lane.device[column].data.copy_from_host_async(
                        lane.pinned[column].ctypes.data, size * 8, lane.stream
                    )
                found = lane.select.select(Batch(last - first, width, lane.device[0]), *asked).get()
        finally:
            idle.put(lane)
        here = slice(first, last)
        picks[0, here], picks[1, here], strengths[here], multipliers[here], tops[here] = parts(found)

    with _using, ThreadPoolExecutor(_LANES) as pool:
        for lane in _open(cp, layout, chunk * width):
            lane.select.launcher(Batch(chunk, width, lane.device[0]), *asked)  # compiled before threads ask for it
            idle.put(lane)
        for done in [pool.submit(work, first) for first in range(0, count, chunk)]:
            done.result()
    return picks[0], picks[1], strengths, multipliers, tops
