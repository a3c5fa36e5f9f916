"""Send numpy arrays through the GPU in chunks: selection of one chunk overlaps with the transfers of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from mascot.kernels.gpu.launch import DeviceQueries, DeviceResults, cupy, launcher
from mascot.kernels.gpu.plan import KernelBins, Task
from mascot.kernels.native import PackedBins, cores
from mascot.kernels.reference import Floats, Selection

_CHUNK = 1 << 19  # approximate numbers of a column in one transfer
_CONVEYORS = 8  # chunks in flight, each handled by one thread, because a single thread is slower than the bus


@dataclass(slots=True)
class _Conveyor:
    """A stream, pinned memory and device memory for one chunk of columns: scores, then x and y of each attribute."""

    stream: Any
    pinned: Any  # [columns, numbers]
    device: Any


_idle: dict[tuple[int, int], list[_Conveyor]] = {}  # conveyors of the last problem, by columns and numbers
_in_use = Lock()


def select_stream(count: int, width: int, scores: Floats, bins: Sequence[PackedBins], task: Task) -> Selection:
    """Select for queries of `width` candidates each. Candidate t is row t of the bins; `task` has no bins."""
    cp = cupy()
    chunk = max(1, min(_CHUNK // max(width, 1), count))
    chunk = -(-count // -(-count // chunk))  # chunks of equal size
    columns = [scores, *(column for part in bins for column in _columns_of(part))]
    # Bounds on the number of bins come from all rows. Each chunk then replaces the arrays by its own.
    all_bins = [KernelBins.of(part) for part in bins]
    replace(task, bins=tuple(all_bins)).check(width)
    results: list[Any] = [None] * -(-count // chunk)
    queue: SimpleQueue[_Conveyor] = SimpleQueue()
    launchers: dict[tuple[int, int], Callable[[], DeviceResults]] = {}

    def launcher_over(device: Any, queries: int) -> Callable[[], DeviceResults]:
        rest, parts = iter(device[1:]), []
        for part in all_bins:
            xs, ys = next(rest), None if part.ys is None else next(rest)
            names = None if part.names is None else xs if part.names is part.xs else next(rest)
            parts.append(replace(part, xs=xs, ys=ys, names=names))
        return launcher(replace(task, bins=tuple(parts)), DeviceQueries(queries, width, device[0]))

    def run(first: int) -> None:
        last = min(first + chunk, count)
        size = (last - first) * width
        conveyor = queue.get()
        try:
            for at, column in enumerate(columns):
                conveyor.pinned[at, :size] = column[first * width : last * width]
            with conveyor.stream:
                for at in range(len(columns)):
                    source = conveyor.pinned[at].ctypes.data
                    conveyor.device[at].data.copy_from_host_async(source, size * 8, conveyor.stream)
                key = (id(conveyor), last - first)
                if key not in launchers:
                    launchers[key] = launcher_over(conveyor.device, last - first)
                results[first // chunk] = launchers[key]().arrays()
        finally:
            queue.put(conveyor)

    with _in_use, ThreadPoolExecutor(_CONVEYORS) as pool:
        for conveyor in _conveyors(cp, len(columns), chunk * width):
            queue.put(conveyor)
        for job in [pool.submit(run, first) for first in range(0, count, chunk)]:
            job.result()
    arrays: list[Any] = [np.concatenate(parts) for parts in zip(*results, strict=True)]
    return Selection(*arrays)


def _columns_of(bins: PackedBins) -> list[Floats]:
    """Return the columns of an attribute; the names of values on a line are the values."""
    names = None if bins.names is bins.x else bins.names
    return [column for column in (bins.x, bins.y, names) if column is not None]


def _conveyors(cp: Any, columns: int, numbers: int) -> list[_Conveyor]:
    if (columns, numbers) not in _idle:
        _idle.clear()
        conveyors = []
        for _ in range(min(_CONVEYORS, max(2, cores()))):
            memory = cp.cuda.alloc_pinned_memory(columns * numbers * 8)
            pinned = np.frombuffer(memory, np.float64, columns * numbers).reshape(columns, numbers)
            conveyors.append(_Conveyor(cp.cuda.Stream(non_blocking=True), pinned, cp.empty((columns, numbers))))
        _idle[columns, numbers] = conveyors
    return _idle[columns, numbers]
