"""Lay out a batch of queries for the CUDA kernel as one record.

Nothing here touches a GPU: the same record drives the emulation in the tests.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import OptionError, require
from mascot.kernels import native
from mascot.kernels.constants import BEYOND, CENTRE_STEPS, LEADERS, REACH, SCALE, SPACING
from mascot.kernels.native import GLOBE, LABELS, LINE, PLANE, Options, PackedBins
from mascot.kernels.native.pack import AXIS_FIELDS
from mascot.kernels.quotas import Quota

MOST_CANDIDATES, MOST_RESULTS, MOST_WISHES, MOST_QUOTAS = 2048, 256, 8, 8
MOST_BINS = 4_000_000  # of one query, where they do not fit into shared memory
CIRCLE, TILE = 4, 5  # shapes: a line whose bumps meet themselves; a plane whose bumps have up to 64 bins

_SOURCES = (Path(__file__).with_name("cuda"), Path(__file__).parent.parent / "native")
_FIT = 12  # numbers computed per attribute and query
_SHARED = 200 * 1024  # bytes of shared memory beyond which arenas are better off in global memory
_BLOCK_OVERHEAD = 1024  # bytes of shared memory that a block takes besides its arena
_DIRECT = 1024  # explicit bins that need no look-up
_TIGHT_BITS = 9  # look-up tables start with this many places; a query that needs more is selected again
_CELLS, _TIGHT_CELLS = 32, 15  # cells of the globe's mesh within reach of one point: poles included, and on average
_FEW_THREADS, _FEW_LANES = 512, 2  # of a query where the batch leaves most of the device idle
_GLOBE_THREADS = 128  # arenas are large, so few blocks fit: more threads each
_PAIR_LANES = 4  # threads that read a row of explicit bins side by side


def _record_types() -> dict[str, np.dtype[Any]]:
    """Return the records of `layout.cuh` as numpy types; every field takes eight bytes."""
    text = re.sub(r"//.*", "", (_SOURCES[0] / "layout.cuh").read_text(encoding="utf-8"))
    sizes = {"AXIS_FIELDS": AXIS_FIELDS, "MOST_ATTRIBUTES": MOST_WISHES, "MOST_QUOTAS": MOST_QUOTAS, "2": 2}
    types: dict[str, Any] = {"i64": "i8", "double": "f8"}
    for record in ("Attribute", "Quota", "Plan", "Input", "Output"):
        fields = []
        for declaration in text.split(f"struct {record} {{")[1].split("};")[0].split(";")[:-1]:
            kind, names = declaration.replace("const ", "").split(maxsplit=1)
            for name in names.split(","):
                dimensions = tuple(sizes[size] for size in re.findall(r"\[(\w+)\]", name))
                pointer = "*" in kind or "*" in name
                fields.append((name.split("[")[0].strip(" *"), "u8" if pointer else types[kind], dimensions))
        types[record] = np.dtype(fields)
    return types


_RECORDS = _record_types()
INPUT, OUTPUT = _RECORDS["Input"], _RECORDS["Output"]


@functools.cache
def source() -> str:
    """Return the kernel's source as one text, with every header it includes."""
    included: set[str] = set()

    def expand(include: re.Match[str]) -> str:
        name = include[1]
        if name in included:
            return ""
        included.add(name)
        path = next(folder / name for folder in _SOURCES if (folder / name).exists())
        text = path.read_text(encoding="utf-8").replace("#pragma once\n", "")
        return re.sub(r'^#include "(.+)"$', expand, text, flags=re.MULTILINE)

    return re.sub(r'^#include "(.+)"$', expand, '#include "select.cu"', flags=re.MULTILINE)


@dataclass(frozen=True)
class GpuMemory:
    """Shared memory of a device, in bytes: what a block may ask for, and what a multiprocessor has."""

    block: int
    processor: int


HOPPER = GpuMemory(227 * 1024, 228 * 1024)


@dataclass(frozen=True, slots=True)
class KernelBins:
    """The bins of one attribute as arrays of one library (numpy, or CuPy on the device), and their number."""

    shape: int
    axes: NDArray[np.float64]  # [2, 8], as in `PackedBins`
    xs: Any
    ys: Any
    indptr: Any
    indices: Any
    values: Any
    bins: int  # most bins of one query; 0 if they are looked up, -1 if they follow each query's rows
    each: int  # most bins of a row, for look-up tables
    names: Any = None  # as in `PackedBins`
    name_price: float = 0.0

    @classmethod
    def of(cls, packed: PackedBins, xp: Any = np) -> KernelBins:
        """Return the bins on the host or the device; values that are there already are not copied."""
        axes = np.array(packed.axes).reshape(2, AXIS_FIELDS)
        parts = (packed.x, packed.y, packed.indptr, packed.indices, packed.values)
        xs, ys, indptr, indices, values = (None if part is None else xp.asarray(part) for part in parts)
        bins, each = 0, _CELLS
        if packed.shape == LINE:
            bins = _axis_bins(axes[0], xs)
        elif packed.shape == PLANE:
            bins = int(axes[0, 2] * axes[1, 2])
        elif indices is not None and indptr is not None:
            highest = int(indices.max()) if indices.size else 0
            # Few bytes per bin, because rows are read many times.
            indices = indices.astype(np.uint16 if highest < 2**16 else np.uint32 if highest < 2**32 else np.int64)
            bins = highest + 1 if highest < _DIRECT else 0
            each = max(int((indptr[1:] - indptr[:-1]).max()), 1)
        names = xs if packed.names is packed.x else None if packed.names is None else xp.asarray(packed.names)
        return cls(packed.shape, axes, xs, ys, indptr, indices, values, bins, each, names, packed.name_price)


def _axis_bins(axis: NDArray[np.float64], values: Any) -> int:
    """Return the bins of an axis: exact, a bound if only the width is given, or -1 if they follow the rows."""
    if axis[1] > 0:
        return int(axis[2])
    if axis[3] == 0:
        return -1
    valued = values[values == values]  # without NaN, on the host or the device
    return int(float(valued.max() - valued.min()) / (SPACING * abs(float(axis[3])))) + 10 if valued.size else 10


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of the queries: coverage wishes over their bins, quotas, and options."""

    bins: tuple[KernelBins, ...]
    signs: tuple[float, ...]
    weights: tuple[float, ...]
    rules: tuple[int, ...]  # native.LAST or native.NEUTRAL
    quotas: tuple[Quota, ...]  # arrays of the same library as the bins
    options: Options

    def check(self, most: int) -> None:
        """Raise `OptionError` if the kernel cannot take queries of that many candidates."""
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
    """A task laid out: the record, the tables it points to, and the configuration the source is compiled with."""

    record: NDArray[Any]
    tables: Any
    task: Task
    names: tuple[str, ...]  # members of `Config` with their values: "THREADS=64"
    threads: int
    size: int  # of an arena, in bytes
    slab: bool  # the arena is in global memory
    exact: bool  # look-up tables are as large as they can need to be


def plan_task(
    task: Task, most: int, tight: bool = True, few: bool = False, xp: Any = np, chip: GpuMemory = HOPPER
) -> KernelPlan:
    """Lay out queries of at most `most` candidates.

    `tight` assumes that small look-up tables suffice; `few` that the batch leaves most of the device idle.
    """
    task.check(most)
    layout = _MemoryLayout(task, most, tight)
    tables = xp.asarray(np.concatenate([*layout.tables, np.zeros(1)]))
    layout.record["tables"] = address(tables)
    size = layout.size * 8
    slab = not tight or size > min(_SHARED, chip.block - _BLOCK_OVERHEAD)
    threads, lanes = _team(task.bins, most, few)
    blocks = 1 if few else _blocks(size, threads, slab, chip)
    sizes = {"THREADS": threads, "LANES": lanes, "BLOCKS": blocks, "SLAB": slab, "WIDE": not tight}
    sizes |= layout.evaluation(threads, lanes) | layout.problem()
    names = (*(f"{name}={int(value)}" for name, value in sizes.items()), index_name(task.bins))
    return KernelPlan(layout.record, tables, task, names, threads, size, slab, layout.exact)


class _MemoryLayout:
    """The record of a task, and where its arrays are in the arena."""

    def __init__(self, task: Task, most: int, tight: bool) -> None:
        self._task, self._most, self._tight = task, most, tight
        self.record, self.tables = np.zeros((), _RECORDS["Plan"]), list[NDArray[np.float64]]()
        self.size, self._slots, self.exact = 0, 0, True
        options, record = task.options, self.record
        self._attributes = record["attribute"][: len(task.bins)]
        record["attributes"], record["quotas"], record["most"] = len(task.bins), len(task.quotas), most
        for name in ("k", "protect", "flags", "starts", "strength", "keep"):
            record[name] = getattr(options, name)
        record["total_weight"] = sum(task.weights) if options.flags & native.SCALE else 1.0
        record["focus"] = any(sign < 0 for sign in task.signs)
        record["spread"] = not record["focus"] or any(sign > 0 for sign in task.signs)
        self._several = options.starts > 0 and bool(record["focus"])
        self._place_bounds()
        for a in range(len(task.bins)):
            self._place_attribute(a)
        for fields, quota in zip(record["quota"], task.quotas, strict=False):
            fields["stages"], fields["words"] = quota.stages, self._take(most)
            for name in ("indptr", "labels", "capacity"):
                fields[name] = address(getattr(quota, name))
        self._place_state()

    def _take(self, size: int) -> int:
        self.size += size
        return self.size - size

    def _place_bounds(self) -> None:
        record, most, keep = self.record, self._most, self._task.options.keep or self._several
        record["at_base"] = self._take(most)
        record["at_cap"] = self._take(most) if record["spread"] else record["at_base"]
        record["at_low"] = self._take(most) if record["focus"] or keep else record["at_cap"]
        # The first sums share the memory of the bounds, unless there are several passes.
        record["at_spread"] = self._take(most) if keep and record["spread"] else record["at_cap"]
        record["at_focus"] = self._take(most) if keep and record["focus"] else record["at_low"]

    def _place_attribute(self, a: int) -> None:
        task, most, fields, bins = self._task, self._most, self._attributes[a], self._task.bins[a]
        fields["shape"], fields["sign"], fields["weight"], fields["axes"] = (
            bins.shape, task.signs[a], task.weights[a], bins.axes,
        )  # fmt: skip
        fields["neutral"], fields["bits"], fields["fit"] = task.rules[a] == native.NEUTRAL, -1, self._take(_FIT)
        for name in ("xs", "ys", "indptr", "indices", "values"):
            fields[name] = address(getattr(bins, name))
        fields["name_price"] = bins.name_price
        fields["names"] = address(bins.names if task.signs[a] < 0 else None)
        slots = bins.bins
        if bins.shape == LINE and bins.axes[0, 1] == 0 and bins.axes[0, 3] <= 0:
            # The range of n rows is at most sqrt(2 n) standard deviations, and outliers lie just beyond it.
            slots = max(slots, math.ceil((SCALE * math.sqrt(most) + 2 * BEYOND) / SPACING) + 9)
        if bins.shape in (GLOBE, LABELS) and not slots:
            slots = self._place_table(fields, bins)
        if slots > MOST_BINS:
            raise OptionError(f"backend 'gpu' takes at most {MOST_BINS:,} bins a query, got {slots:,}")
        if bins.shape in (LINE, PLANE):
            slots = self._place_axes(fields, bins, slots)
        fields["slots"], fields["origin"] = slots, self._slots
        self._slots += slots
        if bins.shape == GLOBE:
            pooled = most * (_TIGHT_CELLS if self._tight else _CELLS)
            self.exact &= not self._tight
            fields["pool_size"], fields["pool"] = pooled, self._take(pooled)
            fields["pool_slots"] = self._take(math.ceil(pooled / (4 if self._tight else 2)))
        fields["data"] = self._take(most * {LINE: 3, PLANE: 5, GLOBE: 1, LABELS: 2}[bins.shape])
        if fields["neutral"]:
            fields["mean"] = self._take(slots)

    def _place_table(self, fields: Any, bins: KernelBins) -> int:
        """Return the slots of bins that are looked up."""
        needed = max(4, math.ceil(math.log2(2 * bins.each * self._most + 1)))
        bits = min(needed, _TIGHT_BITS + (2 if bins.shape == LABELS else 0)) if self._tight else needed
        self.exact &= bits == needed
        fields["bits"], fields["keys"] = bits, self._take(1 << bits) if bins.shape == LABELS else 0
        return 1 << bits

    def _place_axes(self, fields: Any, bins: KernelBins, slots: int) -> int:
        """Place the tables of a line or a plane, and return its slots."""
        for j in range(1 if bins.shape == LINE else 2):
            _, step, count, sigma, period = (float(part) for part in bins.axes[j, :5])
            ratio = step / sigma if step else SPACING
            span = math.floor(2 * (REACH / ratio + 1e-9)) + 1
            if step and period and span >= count:
                fields["shape"] = CIRCLE
            span = min(span, int(count)) if step else span
            length = sum(map(len, self.tables))
            fields["table"][j], fields["table_from"][j], fields["table_size"][j] = self._take(span), length, span
            if bins.shape == LINE and step and period and fields["shape"] == LINE:
                fields["cycle"], slots = slots, slots + span - 1
            self.tables.append(np.exp(-0.5 * (np.arange(span) * ratio) ** 2))
        fields["stride"] = int(bins.axes[1, 2])
        if bins.shape == PLANE and math.prod(fields["table_size"].tolist()) <= 64:
            fields["shape"] = TILE
        return slots

    def _place_state(self) -> None:
        record, options = self.record, self._task.options
        record["slots"], record["at_state"] = self._slots, self._take(self._slots)
        for fields in self._attributes:
            if fields["shape"] == GLOBE:  # cells are numbered before their state is needed
                fields["keys"] = record["at_state"] + fields["origin"]
        record["at_start"] = self._take(self._slots) if options.keep or self._several else 0
        record["at_protected"] = self._take(math.ceil(min(options.protect, self._most) / 2) + 1)
        record["at_taken"] = self._take(math.ceil(self._most / 8) + 1)
        runs = 1
        if self._several:
            runs += 3 + (options.starts if record["spread"] else len(CENTRE_STEPS) * options.starts)
            integers = math.ceil((LEADERS + max(LEADERS, options.k)) / 2)
            record["at_leaders"] = self._take(LEADERS * (1 + len(self._attributes)) + integers)
            record["at_runs"] = self._take(3 * runs)
        record["at_selected"] = self._take(math.ceil(runs * options.k / 2) + 1)
        record["arena"] = self.size

    def evaluation(self, threads: int, lanes: int) -> dict[str, int]:
        """Return how candidates are evaluated. Lines are held in registers if there are enough of these."""
        columns = min(max((int(fields["table_size"][1]) for fields in self._attributes), default=1), 8) or 1
        eager, bins = lanes * self._most <= threads, 0
        if eager:
            lines = [int(fields["table_size"][0]) for fields in self._attributes if fields["shape"] == LINE]
            bins = max(lines, default=0)
            if len(lines) * 2 * math.ceil(bins / lanes) + 64 > 65536 // threads:
                bins = 0
        per_thread = math.ceil(self._most / threads)
        return {"EAGER": eager, "HELD_BINS": bins, "COLUMNS": columns, "PER_THREAD": per_thread}

    def problem(self) -> dict[str, int]:
        """Return which code the problem needs."""
        task, record, flags = self._task, self.record, self._task.options.flags
        return {
            "KEEP": task.options.keep > 0, "NEUTRAL": native.NEUTRAL in task.rules,
            "QUERY_WEIGHT": flags & native.QUERY_WEIGHT > 0, "ROBUST": flags & native.ROBUST > 0,
            "BALANCE": flags & native.BALANCE > 0 and bool(record["spread"]), "QUOTAS": len(task.quotas) > 0,
            "STARTS": self._several,
            "SPREAD": int(record["spread"]), "FOCUS": int(record["focus"]), "ATTRIBUTES": len(task.bins),
            "SHAPES": sum(int(fields["shape"]) << 3 * a for a, fields in enumerate(self._attributes)),
        }  # fmt: skip


def _team(bins: Sequence[KernelBins], most: int, few: bool) -> tuple[int, int]:
    """Return the threads of a query, and how many of them evaluate a candidate together."""
    if few:
        lanes = _FEW_LANES if _FEW_LANES * most <= _FEW_THREADS else 1
        return min(32 * math.ceil(lanes * most / 32), _FEW_THREADS), lanes
    least = 256 if most > 1024 else 128 if most > 512 else 64
    if any(part.shape == LABELS and part.each > 1 for part in bins):
        return least, _PAIR_LANES
    return max(least, _GLOBE_THREADS if any(part.shape == GLOBE for part in bins) else 0), 1


def index_name(bins: Sequence[KernelBins]) -> str:
    """Return the configured type of explicit bins."""
    size = max((np.dtype(part.indices.dtype).itemsize for part in bins if part.indices is not None), default=8)
    return "INDEX=" + {2: "unsigned short", 4: "u32", 8: "i64"}[size]


def _blocks(size: int, threads: int, slab: bool, chip: GpuMemory) -> int:
    """Return the blocks of a multiprocessor that shared memory allows, with at least 80 registers per thread."""
    fit = 4 if slab else (chip.processor - 1024) // (size + _BLOCK_OVERHEAD)
    return max(1, min(fit, 65536 // (80 * threads), 32))


def address(array: Any) -> int:
    """Return where an array's data is, on the host or on the device; 0 for None."""
    if array is None:
        return 0
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)
