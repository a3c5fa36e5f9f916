"""The native kernel: the reference implementation in C, for whole batches, on all cores.

The library is built with the package (see `build_native.py`). Where no compiler was found there is none,
`available()` is False, and numpy does the work. Structures are laid out as in `kernel.h`; every field is
eight bytes wide.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mascot.kernels.reference import Floats, Ints, Quota, Selection

LINE, PLANE, GLOBE, LABELS = 0, 1, 2, 3  # shapes of bins
LAST, NEUTRAL = 0, 1  # what a missing value gets
QUERY_WEIGHT, NORMALIZE, SCALE, ROBUST, BALANCE, BY_RELEVANCE = 1, 2, 4, 8, 16, 32  # flags of `Options`
MOST_QUOTAS = 64
ABI = 1

_ATTRIBUTE = struct.Struct("2q2d5Q16d")
_QUOTA = struct.Struct("3Q2q")
_BATCH = struct.Struct("5q2d14Q")
_BYTE = ctypes.c_char
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = Path(__file__).with_name("_kernel" + _SUFFIX)


class PackedBins(NamedTuple):
    """The bins of one attribute as the kernel takes them. Coordinates are contiguous float64, pairs int64."""

    shape: int
    x: Floats | None = None  # LINE, PLANE: values along the axes; GLOBE: latitude and longitude in radians
    y: Floats | None = None
    axes: tuple[float, ...] = (0.0,) * 16  # two axes of start, step, count, sigma, period, smallest, floor, ceiling
    indptr: Ints | None = None  # LABELS
    indices: Ints | None = None
    values: Floats | None = None  # None: every membership is 1

    def __eq__(self, other: object) -> bool:  # by identity: the GPU keeps the bins of a corpus, and recognises them
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Options(NamedTuple):
    """How to select; see `Mascot`."""

    k: int
    protect: int
    strength: float
    keep: float  # 0: the strength is as given
    flags: int


@cache
def _library() -> tuple[Any, str]:
    """Return the function `mascot_select` and the instruction set it uses; or None, and why there is none."""
    if not LIBRARY.exists():
        return None, "it was not built: no C compiler was found when the package was installed"
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.mascot_abi.restype = ctypes.c_int64
        if library.mascot_abi() != ABI:
            return None, f"{LIBRARY.name} is of another version: install the package again"
        library.mascot_variant.restype = ctypes.c_char_p
        select = library.mascot_select
        select.restype, select.argtypes = ctypes.c_int64, [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
    except (OSError, AttributeError) as error:
        return None, f"{LIBRARY.name} cannot be loaded: {error}"
    return select, library.mascot_variant().decode()


def available() -> bool:
    """Return whether the native kernel can be used."""
    return _library()[0] is not None


def description() -> str:
    """Return the instruction set in use, or why there is no native kernel."""
    return _library()[1]


def _address(data: Any) -> int:
    """Return where an array or a bytearray lies, 0 for None; the caller keeps it alive."""
    if data is None:
        return 0
    try:
        return ctypes.addressof(_BYTE.from_buffer(data))  # four times as fast as array.ctypes.data
    except (TypeError, ValueError):  # read-only, or of no size
        return 0 if isinstance(data, bytearray) else int(data.ctypes.data)


def select(
    ptr: Ints, rows: Ints | None, scores: Floats, seen_ptr: Ints | None, seen: Ints | None,
    bins: Sequence[PackedBins], signs: Floats, weights: Floats, rules: Sequence[int], quotas: Sequence[Quota],
    options: Options, threads: int | None = None,
) -> Selection:  # fmt: skip
    """Select for Q queries; `available()` must hold.

    Query q has the candidates ptr[q] .. ptr[q + 1], whose rows of the bins are `rows` [T] (None: candidate t is row t).
    `seen` are positions within each query that earlier pages showed; the A attributes have `bins` to `rules`.
    """
    count, kinds, k = len(ptr) - 1, len(bins), options.k
    attributes = bytearray().join(
        _ATTRIBUTE.pack(
            b.shape, rules[a], signs[a], weights[a], _address(b.x), _address(b.y), _address(b.indptr),
            _address(b.indices), _address(b.values), *b.axes,
        )
        for a, b in enumerate(bins)
    )  # fmt: skip
    limits = bytearray().join(
        _QUOTA.pack(_address(q.indptr), _address(q.labels), _address(q.capacity), len(q.capacity), q.stages)
        for q in quotas
    )
    positions, ranked = np.empty((count, k), np.int64), np.empty((count, k), np.int64)
    strengths, stages = np.empty(count), np.empty(count, np.int64)
    multipliers, tops, rooms = np.empty((count, kinds)), np.empty((count, kinds)), np.empty((count, kinds))
    batch = _BATCH.pack(
        kinds, len(quotas), k, options.protect, options.flags, options.strength, options.keep, _address(ptr),
        _address(rows), _address(scores), _address(seen_ptr), _address(seen), _address(attributes), _address(limits),
        _address(positions), _address(ranked), _address(strengths), _address(multipliers), _address(tops),
        _address(rooms), _address(stages),
    )  # fmt: skip
    _run(batch, count, threads)
    return Selection(positions, ranked, strengths, multipliers, tops, rooms, stages)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(batch: bytes, count: int, threads: int | None) -> None:
    """Select in ranges of queries, on several threads; ctypes releases the interpreter lock."""
    select_range, _ = _library()

    def work(first: int, last: int) -> None:
        if select_range(batch, first, last):
            raise MemoryError("the native kernel ran out of memory")

    threads = 1 if count == 1 else min(threads or cores(), count)
    if threads <= 1:
        work(0, count)
        return
    # Sixteen chunks per thread, so that a slow core or a long query does not hold up the others; but not too small,
    # because every chunk allocates its own workspace.
    size = max(count // (16 * threads), min(64, -(-count // threads)))
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, start, min(start + size, count)) for start in range(0, count, size)]:
            future.result()
