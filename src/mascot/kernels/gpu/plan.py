"""A batch of queries laid out for `kernel.cu` as one record.

Nothing here touches a GPU: the same record drives the emulation in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import OptionError, require
from mascot.kernels import native
from mascot.kernels.constants import BEYOND, REACH, SCALE, SPACING
from mascot.kernels.native import GLOBE, LABELS, LINE, PLANE, Options, PackedBins
from mascot.kernels.reference import Quota

MOST_CANDIDATES, MOST_RESULTS, MOST_WISHES, MOST_QUOTAS = 2048, 256, 8, 8
MOST_BINS = 4_000_000  # of one query, where they do not fit into shared memory
CIRCLE, TILE = 4, 5  # a line whose bumps meet themselves; a plane whose bumps have up to 64 bins

_AXIS = 8  # numbers that describe an axis
_FIT = 12  # numbers computed per attribute and query
_SHARED = 200 * 1024  # bytes of shared memory beyond which arenas are better off in global memory
_BLOCK_OVERHEAD = 1024  # bytes of shared memory that a block takes besides its arena
_DIRECT = 1024  # explicit bins that need no look-up
_TIGHT_BITS = 9  # look-up tables start with this many places; a query that needs more is selected again
_CELLS, _TIGHT_CELLS = 32, 15  # cells of the globe's mesh within reach of one point: poles included, and on average
_FEW_THREADS, _FEW_LANES = 512, 2  # of a query where the batch leaves most of the device idle
_GLOBE_THREADS = 128  # arenas are large, so few blocks fit: more threads each
_PAIR_LANES = 4  # threads that read a row of explicit bins side by side

_KIND_INTEGERS = (
    "shape", "neutral", "bits", "origin", "room", "twin", "keys", "data", "mean", "fit", "stride", "pool", "pool_slots",
    "pool_size",
)  # fmt: skip
_KIND = np.dtype(
    [(name, "i8") for name in _KIND_INTEGERS]
    + [("table", "i8", 2), ("table_from", "i8", 2), ("table_size", "i8", 2)]
    + [(name, "u8") for name in ("xs", "ys", "indptr", "indices", "values")]
    + [("sign", "f8"), ("weight", "f8"), ("axes", "f8", (2, _AXIS))]
)
_QUOTA = np.dtype([(name, "i8") for name in ("indptr", "labels", "capacity", "stages", "words")])
_PLAN_INTEGERS = (
    "kinds", "quotas", "k", "protect", "flags", "earns", "pays", "most", "slots", "at_base", "at_cap", "at_low",
    "at_earn", "at_pay", "at_state", "at_start", "at_order", "at_picked", "at_closed", "arena",
)  # fmt: skip
_PLAN = np.dtype(
    [(name, "i8") for name in _PLAN_INTEGERS]
    + [("strength", "f8"), ("keep", "f8"), ("share", "f8"), ("tables", "u8")]
    + [("kind", _KIND, MOST_WISHES), ("quota", _QUOTA, MOST_QUOTAS)]
)
INPUT = np.dtype(
    [("count", "i8"), ("width", "i8")]
    + [(name, "u8") for name in ("ptr", "rows", "scores", "seen_ptr", "seen", "list")]
)
OUTPUT = np.dtype([("total", "i8"), ("results", "u8"), ("overflow", "u8")])


def source() -> str:
    """Return the kernel's source with the shared constants in it."""
    here = Path(__file__)
    constants = (here.parent.parent / "native" / "constants.h").read_text(encoding="utf-8")
    return here.with_name("kernel.cu").read_text(encoding="utf-8").replace('#include "constants.h"', constants)


@dataclass(frozen=True)
class Chip:
    """Bytes of shared memory that a block may ask for, and that a multiprocessor has."""

    block: int
    processor: int


HOPPER = Chip(227 * 1024, 228 * 1024)


@dataclass(frozen=True, slots=True)
class KernelBins:
    """The bins of one attribute as arrays of one library (numpy, or CuPy on the device), and the room they need."""

    shape: int
    axes: NDArray[np.float64]  # [2, 8], as in `PackedBins`
    xs: Any
    ys: Any
    indptr: Any
    indices: Any
    values: Any
    bins: int  # most bins of one query; 0 where they are looked up, -1 where they follow each query's rows
    each: int  # most bins of a row, for look-up tables

    @classmethod
    def of(cls, packed: PackedBins, xp: Any = np) -> KernelBins:
        """Return the bins on the host or the device; values that are there already are not copied."""
        axes = np.array(packed.axes).reshape(2, _AXIS)
        parts = (packed.x, packed.y, packed.indptr, packed.indices, packed.values)
        xs, ys, indptr, indices, values = (None if part is None else xp.asarray(part) for part in parts)
        bins, each = 0, _CELLS
        if packed.shape == LINE:
            bins = _axis_bins(axes[0], xs)
        elif packed.shape == PLANE:
            bins = int(axes[0, 2] * axes[1, 2])
        elif indices is not None and indptr is not None:
            highest = int(indices.max()) if indices.size else 0
            # Few bytes per bin: rows are read again and again.
            indices = indices.astype(np.uint16 if highest < 2**16 else np.uint32 if highest < 2**32 else np.int64)
            bins = highest + 1 if highest < _DIRECT else 0
            each = max(int((indptr[1:] - indptr[:-1]).max()), 1)
        return cls(packed.shape, axes, xs, ys, indptr, indices, values, bins, each)


def _axis_bins(axis: NDArray[np.float64], values: Any) -> int:
    """Return the bins of an axis: exact, a bound where only the width is given, or -1 where they follow the rows."""
    if axis[1] > 0:
        return int(axis[2])
    if axis[3] == 0:
        return -1
    valued = values[values == values]  # without NaN, on the host or the device
    return int(float(valued.max() - valued.min()) / (SPACING * float(axis[3]))) + 10 if valued.size else 10


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of the queries: coverage wishes over their bins, quotas, and options."""

    bins: tuple[KernelBins, ...]
    signs: tuple[float, ...]
    weights: tuple[float, ...]
    rules: tuple[int, ...]  # native.LAST or native.NEUTRAL
    quotas: tuple[Quota, ...]  # arrays where the bins' are
    options: Options

    def check(self, most: int) -> None:
        """Raise where the kernel cannot take queries of that many candidates."""
        for count, limit, rule in (
            (most, MOST_CANDIDATES, "takes at most 2,048 candidates a query"),
            (self.options.k, MOST_RESULTS, "takes k up to 256"),
            (len(self.bins), MOST_WISHES, "takes at most 8 wishes"),
            (len(self.quotas), MOST_QUOTAS, "takes at most 8 limits and shares"),
        ):
            require(count <= limit, "backend 'gpu'", rule, count)


def alike(bins: Sequence[KernelBins]) -> tuple[KernelBins, ...]:
    """Return the bins with explicit bins of one type, the widest among them."""
    types = [np.dtype(part.indices.dtype) for part in bins if part.indices is not None]
    widest = max(types, key=lambda kind: kind.itemsize, default=np.dtype(np.int64))
    return tuple(b if b.indices is None else replace(b, indices=b.indices.astype(widest, copy=False)) for b in bins)


@dataclass(frozen=True)
class KernelPlan:
    """A task laid out: the record, the tables it points to, and the names the source is compiled with."""

    record: NDArray[Any]
    tables: Any
    task: Task
    names: tuple[str, ...]
    threads: int
    size: int  # of an arena, in bytes
    slab: bool  # the arena is in global memory
    exact: bool  # look-up tables are as large as they can need to be


def plan_task(
    task: Task, most: int, tight: bool = True, few: bool = False, xp: Any = np, chip: Chip = HOPPER
) -> KernelPlan:
    """Lay out queries of at most `most` candidates.

    `tight` assumes that small look-up tables suffice; `few` that the batch leaves most of the device idle.
    """
    task.check(most)
    options, flags = task.options, task.options.flags
    record = np.zeros((), _PLAN)
    tables: list[NDArray[np.float64]] = []
    free, slots, length, exact = 0, 0, 0, True

    def take(size: int) -> int:
        nonlocal free
        free += size
        return free - size

    kinds = len(task.bins)
    record["kinds"], record["quotas"], record["most"] = kinds, len(task.quotas), most
    for name in ("k", "protect", "flags", "strength", "keep"):
        record[name] = getattr(options, name)
    record["share"] = sum(task.weights) if flags & native.SCALE else 1.0
    pays = any(sign < 0 for sign in task.signs)
    earns = not pays or any(sign > 0 for sign in task.signs)
    record["earns"], record["pays"] = earns, pays
    record["at_base"] = take(most)
    record["at_cap"] = take(most) if earns else record["at_base"]
    record["at_low"] = take(most) if pays or options.keep else record["at_cap"]
    # Sums at the start share the room of the bounds, which come after them; `keep` needs them again and again.
    record["at_earn"], record["at_pay"] = record["at_cap"], record["at_low"]
    if options.keep:
        record["at_earn"], record["at_pay"] = take(most), take(most)
    for a, bins in enumerate(task.bins):
        kind, shape, axes = record["kind"][a], bins.shape, bins.axes
        kind["shape"], kind["sign"], kind["weight"], kind["axes"] = shape, task.signs[a], task.weights[a], axes
        kind["neutral"], kind["bits"], kind["fit"] = task.rules[a] == native.NEUTRAL, -1, take(_FIT)
        for name in ("xs", "ys", "indptr", "indices", "values"):
            kind[name] = address(getattr(bins, name))
        room = bins.bins
        if room < 0:  # the range of n rows is at most sqrt(2 n) standard deviations, and outliers lie just beyond it
            room = math.ceil((SCALE * math.sqrt(most) + 2 * BEYOND) / SPACING) + 9
        if shape in (GLOBE, LABELS) and not room:
            needed = max(4, math.ceil(math.log2(2 * bins.each * most + 1)))
            kind["bits"] = min(needed, _TIGHT_BITS + (2 if shape == LABELS else 0)) if tight else needed
            exact &= int(kind["bits"]) == needed
            room = 1 << int(kind["bits"])
            kind["keys"] = take(room) if shape == LABELS else 0
        if room > MOST_BINS:
            raise OptionError(f"backend 'gpu' takes at most {MOST_BINS:,} bins a query, got {room:,}")
        spans = []
        for j in range({LINE: 1, PLANE: 2}.get(shape, 0)):
            _, step, count, sigma, period = (float(part) for part in axes[j, :5])
            ratio = step / sigma if step else SPACING
            span = math.floor(2 * (REACH / ratio + 1e-9)) + 1
            if step and period and span >= count:
                kind["shape"] = CIRCLE
            span = min(span, int(count)) if step else span
            spans.append(span)
            kind["table"][j], kind["table_from"][j], kind["table_size"][j] = take(span), length, span
            if shape == LINE and step and period and kind["shape"] == LINE:
                kind["twin"], room = room, room + span - 1
            tables.append(np.exp(-0.5 * (np.arange(span) * ratio) ** 2))
            length += span
            kind["stride"] = int(axes[1, 2])
        if shape == PLANE and math.prod(spans) <= 64:
            kind["shape"] = TILE
        kind["room"], kind["origin"] = room, slots
        slots += room
        if shape == GLOBE:
            pooled = most * (_TIGHT_CELLS if tight else _CELLS)
            exact &= not tight
            kind["pool_size"], kind["pool"] = pooled, take(pooled)
            kind["pool_slots"] = take(math.ceil(pooled / (4 if tight else 2)))
        kind["data"] = take(most * {LINE: 3, PLANE: 5, GLOBE: 1, LABELS: 2}[shape])
        if kind["neutral"]:
            kind["mean"] = take(room)
    for c, quota in enumerate(task.quotas):
        limit = record["quota"][c]
        limit["stages"], limit["words"] = quota.stages, take(most)
        for name in ("indptr", "labels", "capacity"):
            limit[name] = address(getattr(quota, name))
    record["slots"] = slots
    record["at_state"] = take(slots)
    for kind in record["kind"][:kinds]:
        if kind["shape"] == GLOBE:  # cells are numbered before their state is needed
            kind["keys"] = record["at_state"] + kind["origin"]
    record["at_start"] = take(slots) if options.keep else 0
    record["at_order"] = take(math.ceil(min(options.protect, most) / 2) + 1)
    record["at_picked"] = take(math.ceil(options.k / 2) + 1)
    record["at_closed"] = take(math.ceil(most / 8) + 1)
    record["arena"] = free
    joined = xp.asarray(np.concatenate([*tables, np.zeros(1)]))
    record["tables"] = address(joined)
    slab = not tight or free * 8 > min(_SHARED, chip.block - _BLOCK_OVERHEAD)
    threads, lanes = _team(task.bins, most, few)
    widest = max([int(kind["table_size"][1]) for kind in record["kind"]] + [1])
    eager = lanes * most <= threads
    tall, long = _register_sizes(record["kind"][:kinds], threads, lanes, min(widest, 8)) if eager else (0, 0)
    sizes = {
        "TALL": tall, "LONG": long, "THREADS": threads, "LANES": lanes, "EAGER": eager, "COLUMNS": min(widest, 8),
        "PER": math.ceil(most / threads), "BLOCKS": 1 if few else _blocks(free * 8, threads, slab, chip),
        "SLAB": slab, "WIDE": not tight, "KEEP": options.keep > 0, "NEUTRAL": native.NEUTRAL in task.rules,
        "QUERY": flags & native.QUERY_WEIGHT > 0, "ROBUST": flags & native.ROBUST > 0,
        "BALANCE": flags & native.BALANCE > 0 and earns, "QUOTAS": len(task.quotas) > 0, "EARNS": earns, "PAYS": pays,
    }  # fmt: skip
    if kinds:
        sizes |= {"KINDS": kinds, "SHAPES": sum(int(record["kind"][a]["shape"]) << 3 * a for a in range(kinds))}
    names = (*(f"{name}={int(value)}" for name, value in sizes.items()), index_name(task.bins))
    return KernelPlan(record, joined, task, names, threads, free * 8, slab, exact)


def _team(bins: Sequence[KernelBins], most: int, few: bool) -> tuple[int, int]:
    """Return the threads of a query, and how many of them evaluate a candidate together."""
    if few:
        lanes = _FEW_LANES if _FEW_LANES * most <= _FEW_THREADS else 1
        return min(32 * math.ceil(lanes * most / 32), _FEW_THREADS), lanes
    least = 256 if most > 1024 else 128 if most > 512 else 64
    if any(part.shape == LABELS and part.each > 1 for part in bins):
        return least, _PAIR_LANES
    return max(least, _GLOBE_THREADS if any(part.shape == GLOBE for part in bins) else 0), 1


def _register_sizes(kinds: Any, threads: int, lanes: int, columns: int) -> tuple[int, int]:
    """Return the most rows of a tile and bins of a line, where threads have registers to hold them."""
    tall = max((int(kind["table_size"][0]) for kind in kinds if kind["shape"] == TILE), default=0)
    long = max((int(kind["table_size"][0]) for kind in kinds if kind["shape"] == LINE), default=0)
    each = {TILE: 3 * math.ceil(tall / lanes) + 2 * columns, LINE: 2 * math.ceil(long / lanes)}
    needed = sum(each.get(int(kind["shape"]), 0) for kind in kinds)
    return (tall, long) if needed + 64 <= 65536 // threads else (0, 0)


def index_name(bins: Sequence[KernelBins]) -> str:
    """Return how the source is told the type of explicit bins."""
    size = max((np.dtype(part.indices.dtype).itemsize for part in bins if part.indices is not None), default=8)
    return "INDEX=" + {2: "unsigned short", 4: "u32", 8: "i64"}[size]


def _blocks(size: int, threads: int, slab: bool, chip: Chip) -> int:
    """Return the blocks of a multiprocessor that shared memory allows, at no fewer than 80 registers a thread."""
    fit = 4 if slab else (chip.processor - 1024) // (size + _BLOCK_OVERHEAD)
    return max(1, min(fit, 65536 // (80 * threads), 32))


def address(array: Any) -> int:
    """Return where an array's data is, on the host or on the device; 0 for None."""
    if array is None:
        return 0
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)
