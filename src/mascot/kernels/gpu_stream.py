"""Numpy arrays through the GPU in chunks: while one chunk is chosen from, the next is on its way."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from mascot.kernels.gpu import Batch, Corpus, Device, Options, Selected, corpus_bins, cupy
from mascot.packing import LINE, Packed

_CHUNK = 4096  # queries in one transfer
_LANES = 3  # chunks under way
_COPIERS = 6  # threads that bring pages to pinned memory: one alone is slower than the bus
_PIECE = 1 << 17  # numbers that one of them takes at a time


@dataclass
class _Lane:
    """A stream, pinned memory and device memory for one chunk, and the launches over it."""

    stream: Any
    pinned: Any  # [columns, chunk * width]
    device: Any
    select: Device
    pending: tuple[int, int, Selected] | None = None


_lanes: dict[Any, list[_Lane]] = {}  # those of the last problem


def _open(cp: Any, packed: Packed, columns: int, size: int) -> list[_Lane]:
    bins = corpus_bins(packed)
    key = (packed.shapes.tobytes(), packed.axes.tobytes(), bins, columns, size)
    if key not in _lanes:
        _lanes.clear()
        _lanes[key] = [_lane(cp, packed, bins, columns, size) for _ in range(_LANES)]
    return _lanes[key]


def _lane(cp: Any, packed: Packed, bins: tuple[tuple[int, ...], tuple[int, ...]], columns: int, size: int) -> _Lane:
    memory = cp.cuda.alloc_pinned_memory(columns * size * 8)
    pinned = np.frombuffer(memory, np.float64, columns * size).reshape(columns, size)
    device = cp.empty((columns, size))
    shapes = tuple(int(shape) for shape in packed.shapes)
    xs = tuple(device[1 + a] for a in range(len(shapes)))
    ys, at = [], 1 + len(shapes)
    for shape in shapes:
        ys.append(None if shape == LINE else device[at])
        at += shape != LINE
    corpus = Corpus(shapes, packed.axes, xs, tuple(ys), (0,) * len(shapes), None, None, None, *bins)
    return _Lane(cp.cuda.Stream(non_blocking=True), pinned, device, Device(corpus))


def follow_on(rows: Any) -> bool:
    """Whether the rows are 0, 1, 2 and so on."""

    def some(at: int) -> bool:
        here = rows[at : at + _PIECE]
        return bool((here == np.arange(at, at + len(here))).all())

    with ThreadPoolExecutor(_COPIERS) as pool:
        return all(pool.map(some, range(0, len(rows), _PIECE)))


def select_stream(
    count: int, width: int, scores: Any, packed: Packed, signs: Any, weights: Any, rules: Sequence[str],
    options: Options, k: int,
) -> tuple[Any, ...]:  # fmt: skip
    """Queries of `width` candidates whose rows follow on: positions, shown, strengths, multipliers and tops."""
    cp = cupy()
    kinds, chunk = len(signs), min(_CHUNK, count)
    sources = [scores.reshape(-1), *packed.xs, *(packed.ys[a] for a in range(kinds) if packed.shapes[a] != LINE)]
    lanes = _open(cp, packed, len(sources), chunk * width)
    picks = np.empty((2, count, k), np.int64)
    strengths, multipliers, tops = np.empty(count), np.empty((count, kinds)), np.empty((count, kinds))

    def collect(lane: _Lane) -> None:
        if lane.pending is None:
            return
        first, last, found = lane.pending
        lane.pending = None
        with lane.stream:
            picks[:, first:last] = found._picks.get()
            strengths[first:last] = found.strengths.get()
            multipliers[first:last], tops[first:last] = found.multipliers.get(), found.tops.get()

    with ThreadPoolExecutor(_COPIERS) as pool:
        for turn, first in enumerate(range(0, count, chunk)):
            last, lane = min(first + chunk, count), lanes[turn % _LANES]
            collect(lane)
            start, size = first * width, (last - first) * width

            def bring(piece: tuple[int, int], lane: _Lane = lane, start: int = start, size: int = size) -> None:
                column, at = piece
                end = min(at + _PIECE, size)
                lane.pinned[column, at:end] = sources[column][start + at : start + end]

            list(pool.map(bring, [(c, at) for c in range(len(sources)) for at in range(0, size, _PIECE)]))
            with lane.stream:
                for column in range(len(sources)):
                    lane.device[column].data.copy_from_host_async(
                        lane.pinned[column].ctypes.data, size * 8, lane.stream
                    )
                batch = Batch(last - first, width, lane.device[0])
                lane.pending = (first, last, lane.select.select(batch, signs, weights, rules, options, k))
        for lane in lanes:
            collect(lane)
    return picks[0], picks[1], strengths, multipliers, tops
