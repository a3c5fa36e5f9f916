"""The native kernel: the reference implementation in C, for whole batches, on all cores.

The library is built with the package (see `build_native.py`). If no compiler was found, `available()` is False and
numpy does the work. Structures are laid out as in `kernel.h`; every field is eight bytes wide.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mascot.kernels.counters import LabelRule, Rule
from mascot.kernels.native.pack import AXIS_FIELDS, GLOBE, LABELS, LINE, PLANE, VECTORS, PackedBins
from mascot.kernels.objective import Floats, Ints, Options
from mascot.kernels.solve import Log, Selection

__all__ = [
    "ABI", "GLOBE", "LABELS", "LIBRARY", "LINE", "PLANE", "VECTORS", "Options", "PackedBins", "Selection", "available",
    "cores", "description", "select",
]  # fmt: skip

ENTRY_FIELDS = 4  # cause, kept_out, rule and level
CUT_SHORT = -1  # the level of a page if rules on places cut a list short: Python selects again, with retries
ABI = 9

_ATTRIBUTE = struct.Struct(f"2qd5Q{2 * AXIS_FIELDS}dQqd")
_RULE = struct.Struct("3Q4qQ2qd")
_BATCH = struct.Struct("6q2d18Q")
_from_buffer, _address_of = ctypes.c_char.from_buffer, ctypes.addressof
_OUT_OF_MEMORY = "the native kernel ran out of memory"
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = Path(__file__).with_name("_kernel" + _SUFFIX)


@cache
def _library() -> tuple[Any, str]:
    """Return the library and its instruction set, or None and the reason why it cannot be used."""
    if not LIBRARY.exists():
        return None, "it was not built: no C compiler was found when the package was installed"
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.mascot_abi.restype = ctypes.c_int64
        if library.mascot_abi() != ABI:
            return None, f"{LIBRARY.name} has another version: install the package again"
        library.mascot_variant.restype = ctypes.c_char_p
        select = library.mascot_select
        select.restype, select.argtypes = ctypes.c_int64, [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
    except (OSError, AttributeError) as error:
        return None, f"{LIBRARY.name} cannot be loaded: {error}"
    return library, library.mascot_variant().decode()


def available() -> bool:
    """Return whether the native kernel can be used."""
    return _library()[0] is not None


def description() -> str:
    """Return the instruction set in use, or the reason why the native kernel cannot be used."""
    return _library()[1]


def _address(data: Any) -> int:
    """Return the address of an array or a bytearray, 0 if it is None or empty. The caller keeps the object alive."""
    if data is None:
        return 0
    try:
        return _address_of(_from_buffer(data))  # four times as fast as array.ctypes.data
    except (TypeError, ValueError):  # read-only, or empty
        return int(data.ctypes.data) if len(data) else 0


def select(
    ptr: Ints, rows: Ints | None, scores: Floats, relevance: Floats, ideal: Floats, already_ptr: Ints | None,
    already: Ints | None, bins: Sequence[PackedBins], neutral: Sequence[bool], shares: Sequence[float],
    rules: Sequence[Rule], pinned: Mapping[int, int], options: Options, log: bool = False, threads: int | None = None,
) -> Selection:  # fmt: skip
    """Select for Q queries as `Solver` does, but without a plan and without retries; `available()` must be True.

    Query q has the candidates ptr[q] .. ptr[q + 1]. Their rows of the bins and rules are `rows` [T] (None: candidate t
    is row t). `relevance` [T] counts in the gain, and `ideal` [T] is relevance in 0..1. `already` are positions within
    each query that earlier pages showed, in the order shown. `bins`, `neutral` and `shares` describe the A attributes:
    a share is the weight among all wishes, negative for a focus. A single query may have `pinned` results by their
    places; `options.k` does not count them.

    `ranked` is ordered by relevance if the options ask for it and no rule is about places and no result is pinned. The
    level of a page is `CUT_SHORT` if rules on places ended one of its lists early. A single query may have a `log`.
    """
    count, k = len(ptr) - 1, options.k + len(pinned)
    attributes = limits = pins = entries = gains = worths = None
    if bins:
        attributes = bytearray().join(map(_packed_attribute, bins, neutral, shares))
    if rules:
        limits = bytearray().join(map(_packed_rule, rules))
    if pinned:
        pins = np.array([*pinned, *pinned.values()], np.int64)
    if log:
        entries, gains = np.empty((count, k, ENTRY_FIELDS), np.int64), np.empty((count, k, len(bins)))
        worths = np.zeros((count, len(bins), 3))
    results, strengths, levels = np.empty((2, count, k), np.int64), np.empty(count), np.empty(count, np.int64)
    result, pin = _address(results), _address(pins)
    batch = _BATCH.pack(
        len(bins), len(rules), len(pinned), k, options.protect, options.flags, options.strength, options.keep,
        _address(ptr), _address(rows), _address(scores), _address(relevance), _address(ideal), _address(already_ptr),
        _address(already), _address(attributes), _address(limits), pin, pin + 8 * len(pinned), result,
        result + results.strides[0], _address(strengths), _address(levels), _address(entries),
        _address(gains), _address(worths),
    )  # fmt: skip
    _run(batch, count, threads)
    written = None if entries is None else Log(relevance, entries[0], gains[0], worths[0])  # type: ignore[index]
    return Selection(results[0], results[1], strengths, [], written, levels)


def _packed_attribute(bins: PackedBins, neutral: bool, share: float) -> bytes:
    shape, x, y, axes, indptr, indices, values, vectors, copies = bins
    return _ATTRIBUTE.pack(
        shape, neutral, share, *map(_address, (x, y, indptr, indices, values)), *axes, _address(vectors),
        0 if vectors is None else vectors.shape[1], copies,
    )  # fmt: skip


def _packed_rule(rule: Rule) -> bytes:
    if isinstance(rule, LabelRule):
        arrays = map(_address, (rule.indptr, rule.labels, rule.capacity))
        return _RULE.pack(*arrays, rule.gives, rule.window, rule.first, rule.session, 0, 0, 0, 0.0)
    vectors, size = _address(rule.vectors), rule.vectors.shape[1]
    return _RULE.pack(0, 0, 0, rule.gives, 0, 0, rule.session, vectors, size, rule.n, rule.threshold)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(batch: bytes, count: int, threads: int | None) -> None:
    """Select in ranges of queries, on several threads; ctypes releases the interpreter lock."""
    threads = 1 if count == 1 else min(threads or cores(), count)
    if threads <= 1:
        _run_range(batch, 0, count)
        return
    # Sixteen chunks per thread, so that a slow core or a long query does not hold up the others; but not too small,
    # because every chunk allocates its own workspace.
    size = max(count // (16 * threads), min(64, -(-count // threads)))
    with ThreadPoolExecutor(threads) as pool:
        starts = range(0, count, size)
        for future in [pool.submit(_run_range, batch, start, min(start + size, count)) for start in starts]:
            future.result()


def _run_range(batch: bytes, first: int, last: int) -> None:
    if _library()[0].mascot_select(batch, first, last):
        raise MemoryError(_OUT_OF_MEMORY)
