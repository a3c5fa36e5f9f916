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

from mascot.kernels.arrange import Arrangement
from mascot.kernels.native.pack import AXIS_FIELDS, GLOBE, LABELS, LINE, PLANE, VECTORS, PackedBins
from mascot.kernels.novelty import CopyQuota
from mascot.kernels.quotas import AnyQuota, Quota
from mascot.kernels.reference import Floats, Ints, Options, Selection

__all__ = [
    "ABI", "GLOBE", "LABELS", "LAST", "LIBRARY", "LINE", "NEUTRAL", "PLANE", "VECTORS", "PackedBins", "arrange",
    "available", "cores", "description", "select",
]  # fmt: skip

LAST, NEUTRAL = 0, 1  # what a missing value gets
ABI = 8

_ATTRIBUTE = struct.Struct(f"2q2d5Q{2 * AXIS_FIELDS}dQdQq")
_QUOTA = struct.Struct("4Q2qQqdQqQ2q")
_BATCH = struct.Struct("6q2d15Q")
_PAGE_RULES = struct.Struct("4q5Q")
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
        library.mascot_arrange.restype, library.mascot_arrange.argtypes = ctypes.c_int64, [ctypes.c_char_p]
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
    ptr: Ints, rows: Ints | None, scores: Floats, already_ptr: Ints | None, already: Ints | None,
    bins: Sequence[PackedBins], signs: Floats, weights: Floats, rules: Sequence[int], quotas: Sequence[AnyQuota],
    options: Options, threads: int | None = None,
) -> Selection:  # fmt: skip
    """Select for Q queries; `available()` must be True.

    Query q has the candidates ptr[q] .. ptr[q + 1]. Their rows of the bins are `rows` [T] (None: candidate t is row t).
    `already` are positions within each query that earlier pages showed. `bins` to `rules` describe the A attributes.
    """
    count, k = len(ptr) - 1, options.k
    attributes = limits = None
    if bins:
        attributes = bytearray().join(map(_packed_attribute, bins, rules, signs.tolist(), weights.tolist()))
    if quotas:
        limits = bytearray().join(map(_packed_quota, quotas))
    results, numbers = np.empty((2, count, k), np.int64), np.empty((3, count, len(bins)))
    strengths, flags = np.empty(count), np.empty((2, count), np.int64)
    result, number, flag = _address(results), _address(numbers) if bins else 0, _address(flags)
    batch = _BATCH.pack(
        len(bins), len(quotas), k, options.protect, options.flags, options.starts, options.strength, options.keep,
        _address(ptr), _address(rows), _address(scores), _address(already_ptr), _address(already),
        _address(attributes), _address(limits), result, result + results.strides[0], _address(strengths),
        number, number + numbers.strides[0], number + 2 * numbers.strides[0], flag, flag + flags.strides[0],
    )  # fmt: skip
    _run(batch, count, threads)
    return Selection(results[0], results[1], strengths, numbers[0], numbers[1], numbers[2], flags[0], flags[1])


def _packed_attribute(bins: PackedBins, rule: int, sign: float, weight: float) -> bytes:
    shape, x, y, axes, indptr, indices, values, vectors, names, name_price = bins
    return _ATTRIBUTE.pack(
        shape, rule, sign, weight, *map(_address, (x, y, indptr, indices, values)), *axes, _address(names), name_price,
        _address(vectors), 0 if vectors is None else vectors.shape[1],
    )  # fmt: skip


def _packed_quota(quota: AnyQuota) -> bytes:
    if isinstance(quota, CopyQuota):
        return _QUOTA.pack(
            0, 0, 0, 0, quota.n, quota.stages, _address(quota.vectors), quota.vectors.shape[1], quota.threshold,
            _address(quota.pinned), len(quota.pinned), 0, 0, 0,
        )  # fmt: skip
    capacity, length, first = quota.places or (None, 0, False)
    return _QUOTA.pack(
        _address(quota.indptr), _address(quota.labels), _address(quota.capacity), _address(quota.least),
        len(quota.capacity), quota.stages, 0, 0, 0.0, 0, 0, _address(capacity), length, first,
    )  # fmt: skip


def arrange(rows: Ints, quotas: Sequence[Quota], before: Ints, fixed: Mapping[int, int]) -> Arrangement:
    """Return the first order of items that the quotas allow, as the reference implementation does."""
    packed = bytearray().join(map(_packed_quota, quotas))
    pins = np.array(sorted(fixed.items()), np.int64) if fixed else None
    order = np.empty(len(rows), np.int64)
    arguments = map(_address, (rows, before if len(before) else None, packed, pins, order))
    count = _library()[0].mascot_arrange(_PAGE_RULES.pack(len(rows), len(before), len(quotas), len(fixed), *arguments))
    if count < 0:
        raise MemoryError(_OUT_OF_MEMORY)
    return Arrangement(order[:count], order[count:])


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
