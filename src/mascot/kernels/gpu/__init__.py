"""The GPU kernel: the reference implementation in CUDA, for whole batches, one block of threads per query.

`select` takes and returns numpy arrays, as `mascot.kernels.native.select` does. `mascot.gpu` takes tensors that are
already on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from mascot.kernels.gpu.launch import DeviceQueries, cupy, launcher
from mascot.kernels.gpu.plan import KernelBins, Task, alike
from mascot.kernels.native import LABELS, Options, PackedBins
from mascot.kernels.quotas import Quota
from mascot.kernels.reference import Floats, Ints, Selection

__all__ = ["bins_on_device", "cupy", "launcher", "quotas_on_device", "select"]


def select(
    ptr: Ints, rows: Ints | None, scores: Floats, already_ptr: Ints | None, already: Ints | None,
    bins: Sequence[PackedBins], signs: Floats, weights: Floats, rules: Sequence[int], quotas: Sequence[Quota],
    options: Options, threads: int | None = None,
) -> Selection:  # fmt: skip
    """Select for Q queries; parameters and results are the same as for `native.select`."""
    cp = cupy()
    widths = np.diff(ptr)
    count, width = len(widths), int(widths.max(initial=0))
    if width == 0:
        none, zeros = np.zeros((count, 0), np.int64), np.zeros((count, len(bins)))
        return Selection(none, none, np.zeros(count), zeros, zeros, zeros + 1, np.ones(count, np.int64))
    even = bool((widths == width).all())
    task = Task((), tuple(signs.tolist()), tuple(weights.tolist()), tuple(rules), (), options)
    if even and rows is None and already is None and not quotas and all(part.shape != LABELS for part in bins):
        from mascot.kernels.gpu.stream import select_stream

        return select_stream(count, width, scores, bins, task)
    kernel_bins = alike([KernelBins.of(part, cp) for part in bins]) if rows is None else bins_on_device(tuple(bins))
    queries = DeviceQueries(
        count, width, *(None if part is None else cp.asarray(part)
                        for part in (scores, None if even else ptr, rows, already_ptr, already)),
    )  # fmt: skip
    task = replace(task, bins=kernel_bins, quotas=quotas_on_device(quotas))
    task.check(width)
    return launcher(task, queries)().host()


@lru_cache(maxsize=4)
def bins_on_device(bins: tuple[PackedBins, ...]) -> tuple[KernelBins, ...]:
    """Return the bins of a corpus on the device; the bins of the last few corpora are cached."""
    return alike([KernelBins.of(part, cupy()) for part in bins])


def quotas_on_device(quotas: Sequence[Quota]) -> tuple[Quota, ...]:
    """Return quotas with their arrays on the device."""
    xp: Any = cupy()
    arrays = [[xp.asarray(part, dtype=np.int64) for part in (q.indptr, q.labels, q.capacity)] for q in quotas]
    return tuple(Quota(a, b, c, q.stages) for (a, b, c), q in zip(arrays, quotas, strict=True))
