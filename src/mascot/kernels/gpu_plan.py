"""A batch of queries laid out for `gpu.cu` as one record. Nothing here touches a GPU: the same record drives the
emulation in the tests.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import OptionError, require
from mascot.memberships import BEYOND, REACH, SCALE, SPACING
from mascot.packing import AXIS, LINE, PLANE, SPARSE, SPHERE, Packed

MOST_CANDIDATES, MOST_RESULTS, MOST_KINDS = 2048, 256, 8
MOST_BINS = 4_000_000  # of one query, where they do not fit into shared memory

_SHARED = 200 * 1024  # bytes of shared memory beyond which arenas are better off in global memory
_OWN = 1024  # bytes of shared memory that a block takes besides its arena
DIRECT = 1024  # explicit bins that need no look-up
_TIGHT_BITS = 9  # look-up tables start with this many places; a query that needs more is done again
CELLS, _TIGHT_CELLS = 32, 15  # cells of the globe's mesh within reach of one point: poles included, and on average
_FIT = 9  # numbers kept per attribute
_FEW_THREADS, _FEW_LANES = 512, 2  # of a query where few are asked
_POOL_THREADS = 256  # large arenas, few blocks: more threads each
_PAIR_LANES = 4  # threads that read a row of explicit bins side by side
CIRCLE, TILE = 4, 5  # a line whose bumps meet themselves; a plane whose bumps have up to 64 bins

_KIND_INTEGERS = (
    "shape", "neutral", "bits", "origin", "room", "twin", "keys", "data", "mean", "fit", "stride", "pool", "pool_slots",
    "pool_size",
)  # fmt: skip
_KIND = np.dtype(
    [(name, "i8") for name in _KIND_INTEGERS]
    + [("table", "i8", 2), ("table_from", "i8", 2), ("table_size", "i8", 2), ("row0", "i8")]
    + [(name, "u8") for name in ("xs", "ys", "indptr", "indices", "values")]
    + [("sign", "f8"), ("weight", "f8"), ("axes", "f8", (2, AXIS))]
)
_PLAN_INTEGERS = (
    "kinds", "k", "protect", "query_weight", "normalize", "scale", "by_relevance", "earns", "pays", "most", "slots",
    "at_base", "at_cap", "at_low", "at_earn", "at_pay", "at_state", "at_start", "at_order", "at_picked", "at_closed",
    "arena",
)  # fmt: skip
_PLAN = np.dtype(
    [(name, "i8") for name in _PLAN_INTEGERS]
    + [("strength", "f8"), ("keep", "f8"), ("share", "f8")]
    + [("sine", "f8", 12), ("angle", "f8", 11), ("tables", "u8"), ("kind", _KIND, MOST_KINDS)]
)
INPUT = np.dtype(
    [("count", "i8"), ("width", "i8")]
    + [(name, "u8") for name in ("ptr", "rows", "scores", "seen_ptr", "seen", "near", "list")]
)
OUTPUT = np.dtype([("total", "i8"), ("found", "u8"), ("overflow", "u8")])


@dataclass(frozen=True)
class Chip:
    """Bytes of shared memory that a block may ask for, and that a multiprocessor has."""

    block: int
    processor: int


HOPPER = Chip(227 * 1024, 228 * 1024)


@dataclass(frozen=True)
class Options:
    """What `Mascot` was asked for, as numbers."""

    strength: float
    keep: float
    query_weight: bool
    normalize: bool
    scale: bool
    protect: int
    by_relevance: bool


def options(method: Any, k: int) -> Options:
    """Of a `Mascot` that is asked for k results."""
    return Options(
        float(method.strength or 0.0),
        float(method.keep or 0.0),
        method.bin_weight == "query",
        method.normalize,
        method.scale,
        method.protected(k),
        method.order == "relevance",
    )


@dataclass(frozen=True)
class Corpus:
    """Memberships as flat arrays of one library (numpy, or CuPy on the device), and what must be known of them."""

    shapes: tuple[int, ...]
    axes: NDArray[np.float64]  # [A, 2, 8], as in `Packed`
    xs: tuple[Any, ...]  # per attribute [rows], or None
    ys: tuple[Any, ...]
    row0: tuple[int, ...]  # where an attribute's rows start in indptr
    indptr: tuple[Any, ...]  # per attribute, or None
    indices: tuple[Any, ...]  # all of one type
    values: tuple[Any, ...]
    bins: tuple[int, ...]  # most bins one query can have: exact, or 0 where they are looked up
    each: tuple[int, ...]  # most bins a row has, for look-up tables

    @classmethod
    def of(cls, packed: Packed, xp: Any = np) -> Corpus:
        bins, each = corpus_bins(packed)
        kinds = len(packed.shapes)
        indptr, indices, values = xp.asarray(packed.indptr), short(packed.indices, xp), xp.asarray(packed.values)
        return cls(
            tuple(int(shape) for shape in packed.shapes),
            packed.axes,
            tuple(xp.asarray(x) for x in packed.xs),
            tuple(xp.asarray(y) for y in packed.ys),
            tuple(int(at) for at in packed.sparse_at),
            (indptr,) * kinds,
            (indices,) * kinds,
            (values,) * kinds,
            bins,
            each,
        )


def short(indices: NDArray[np.int64], xp: Any = np) -> Any:
    """Explicit bins in as few bytes as they take: rows are read again and again."""
    highest = int(indices.max(initial=0))
    for smaller in (np.uint16, np.uint32):
        if highest <= np.iinfo(smaller).max:
            return xp.asarray(indices.astype(smaller))
    return xp.asarray(indices)


def corpus_bins(packed: Packed) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Per attribute: most bins one query can have, 0 where they are looked up; and most bins a row has."""
    bins, each = [], []
    for a, shape in enumerate(packed.shapes):
        count, pairs = 0, CELLS
        if shape == LINE:
            count = axis_bins(packed.axes[a, 0], packed.xs[a])
        elif shape == PLANE:
            count = int(packed.axes[a, 0, 2] * packed.axes[a, 1, 2])
        elif shape == SPARSE:
            ends = packed.indptr[packed.sparse_at[a] : packed.sparse_at[a] + packed.xs.shape[1] + 1]
            pairs = int(np.diff(ends).max(initial=1))
            highest = int(packed.indices[ends[0] : ends[-1]].max(initial=0))
            count = highest + 1 if highest < DIRECT else 0
        bins.append(count)
        each.append(pairs)
    return tuple(bins), tuple(each)


def axis_bins(axis: NDArray[np.float64], values: Any) -> int:
    """Bins of an axis: exact, a bound where only the width is given, or -1 where bins follow each query's rows."""
    if axis[1] > 0:
        return int(axis[2])
    if axis[3] == 0:
        return -1
    known = values[values == values]  # of numpy or on the device
    return int(float(known.max() - known.min()) / (SPACING * float(axis[3]))) + 10 if len(known) else 10


@dataclass(frozen=True)
class Prepared:
    """A problem laid out: the record, what it points to, and the names the source is compiled with."""

    record: NDArray[Any]
    tables: Any
    names: tuple[str, ...]
    threads: int
    size: int  # of an arena, in bytes
    slab: bool
    exact: bool  # look-up tables are as large as they need ever be


def prepare(
    corpus: Corpus, signs: Any, weights: Any, rules: Sequence[str], options: Options, k: int, most: int,
    near: bool, tight: bool = True, few: bool = False, xp: Any = np, chip: Chip = HOPPER,
) -> Prepared:  # fmt: skip
    """Lay out queries of at most `most` candidates; `tight` bets on small look-up tables, `few` on idle processors."""
    check(len(corpus.shapes), k, most)
    record = np.zeros((), _PLAN)
    tables: list[NDArray[np.float64]] = []
    free = 0
    exact = True

    def take(size: int) -> int:
        nonlocal free
        free += size
        return free - size

    rows = most + (1 if near else 0)
    kinds = len(corpus.shapes)
    record["kinds"], record["k"], record["protect"], record["most"] = kinds, k, options.protect, rows
    for name in ("query_weight", "normalize", "scale", "by_relevance", "strength", "keep"):
        record[name] = getattr(options, name)
    record["share"] = float(np.sum(weights)) if options.scale else 1.0
    record["sine"], record["angle"] = _polynomials()
    pays = any(sign < 0 for sign in signs)
    earns = not pays or any(sign > 0 for sign in signs)
    record["earns"], record["pays"] = earns, pays
    record["at_base"] = take(most)
    record["at_cap"] = take(most) if earns else record["at_base"]
    record["at_low"] = take(most) if pays or options.keep else record["at_cap"]
    # Sums at the start share the room of the bounds, which come after them; `keep` needs them again and again.
    record["at_earn"], record["at_pay"] = record["at_cap"], record["at_low"]
    if options.keep:
        record["at_earn"], record["at_pay"] = take(most), take(most)
    slots, length = 0, 0
    for a, shape in enumerate(corpus.shapes):
        kind = record["kind"][a]
        axes = corpus.axes[a]
        kind["shape"], kind["sign"], kind["weight"], kind["axes"] = shape, signs[a], weights[a], axes
        kind["neutral"], kind["bits"], kind["fit"] = rules[a] == "neutral", -1, take(_FIT)
        kind["row0"] = corpus.row0[a]
        kind["xs"], kind["ys"] = address(corpus.xs[a]), address(corpus.ys[a])
        kind["indptr"], kind["indices"] = address(corpus.indptr[a]), address(corpus.indices[a])
        kind["values"] = address(corpus.values[a])
        room = corpus.bins[a]
        if room < 0:  # the range of n rows is at most sqrt(2 n) standard deviations, and outliers lie just beyond it
            room = math.ceil((SCALE * math.sqrt(most) + 2 * BEYOND) / SPACING) + 9
        if shape in (SPHERE, SPARSE) and not room:
            needed = max(4, math.ceil(math.log2(2 * corpus.each[a] * rows + 1)))
            kind["bits"] = min(needed, _TIGHT_BITS + (2 if shape == SPARSE else 0)) if tight else needed
            exact &= int(kind["bits"]) == needed
            room = 1 << int(kind["bits"])
            kind["keys"] = take(room)
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
        kind["room"] = room
        kind["origin"] = slots
        slots += room
        if shape == SPHERE:
            pooled = rows * (_TIGHT_CELLS if tight else CELLS)
            exact &= not tight
            kind["pool_size"], kind["pool"] = pooled, take(pooled)
            kind["pool_slots"] = take(math.ceil(pooled / (4 if tight else 2)))
        kind["data"] = take(rows * {LINE: 3, PLANE: 5, SPHERE: 1, SPARSE: 2}[shape])
        if kind["neutral"]:
            kind["mean"] = take(room)
    record["slots"] = slots
    record["at_state"] = take(slots)
    record["at_start"] = take(slots) if options.keep else 0
    record["at_order"] = take(math.ceil(min(options.protect, most) / 2) + 1)
    record["at_picked"] = take(math.ceil(k / 2) + 1)
    record["at_closed"] = take(math.ceil(most / 8) + 1)
    record["arena"] = free
    held = xp.asarray(np.concatenate([*tables, np.zeros(1)]))
    record["tables"] = address(held)
    slab = not tight or free * 8 > min(_SHARED, chip.block - _OWN)
    threads, lanes = _team(corpus, most, few)
    widest = max([int(kind["table_size"][1]) for kind in record["kind"]] + [1])
    tall, long = _held(record["kind"][:kinds], threads, lanes, min(widest, 8)) if lanes * most <= threads else (0, 0)
    names: tuple[str, ...] = (
        f"TALL={tall}",
        f"LONG={long}",
        f"THREADS={threads}",
        f"LANES={lanes}",
        f"EAGER={int(lanes * most <= threads)}",
        f"COLUMNS={min(widest, 8)}",
        f"PER={math.ceil(most / threads)}",
        f"BLOCKS={1 if few else _blocks(free * 8, threads, slab, chip)}",
        f"SLAB={int(slab)}",
        f"WIDE={int(not tight)}",
        index_name(corpus),
        f"KEEP={int(options.keep > 0)}",
        f"NEUTRAL={int('neutral' in rules)}",
        f"QUERY={int(options.query_weight)}",
        f"EARNS={int(earns)}",
        f"PAYS={int(pays)}",
    )
    if kinds:
        shapes = sum(int(record["kind"][a]["shape"]) << 3 * a for a in range(kinds))
        names += (f"KINDS={kinds}", f"SHAPES={shapes}")
    return Prepared(record, held, names, threads, free * 8, slab, exact)


def _team(corpus: Corpus, most: int, few: bool) -> tuple[int, int]:
    """Threads of a query, and how many of them evaluate a candidate together."""
    if few:
        lanes = _FEW_LANES if _FEW_LANES * most <= _FEW_THREADS else 1
        return min(32 * math.ceil(lanes * most / 32), _FEW_THREADS), lanes
    least = 256 if most > 1024 else 128 if most > 512 else 64
    if any(shape == SPARSE and each > 1 for shape, each in zip(corpus.shapes, corpus.each, strict=True)):
        return least, _PAIR_LANES
    return max(least, _POOL_THREADS if SPHERE in corpus.shapes else 0), 1


def _held(kinds: Any, threads: int, lanes: int, columns: int) -> tuple[int, int]:
    """Most rows of a tile and bins of a line, where threads have registers to hold them."""
    tall = max((int(kind["table_size"][0]) for kind in kinds if kind["shape"] == TILE), default=0)
    long = max((int(kind["table_size"][0]) for kind in kinds if kind["shape"] == LINE), default=0)
    each = {TILE: 3 * math.ceil(tall / lanes) + 2 * columns, LINE: 2 * math.ceil(long / lanes)}
    needed = sum(each.get(int(kind["shape"]), 0) for kind in kinds)
    return (tall, long) if needed + 64 <= 65536 // threads else (0, 0)


def index_name(corpus: Corpus) -> str:
    """What the source is told of the type of explicit bins."""
    types = {np.dtype(part.dtype) for part in corpus.indices if part is not None}
    size = max((kind.itemsize for kind in types), default=8)
    return "INDEX=" + {2: "unsigned short", 4: "u32", 8: "i64"}[size]


def _blocks(size: int, threads: int, slab: bool, chip: Chip) -> int:
    """Blocks of a multiprocessor that shared memory allows, at no fewer than 80 registers a thread."""
    fit = 4 if slab else (chip.processor - 1024) // (size + _OWN)
    return max(1, min(fit, 65536 // (80 * threads), 32))


def check(kinds: int, k: int, most: int) -> None:
    """That a problem is one the kernel takes."""
    require(most <= MOST_CANDIDATES, "backend 'gpu'", f"takes at most {MOST_CANDIDATES:,} candidates a query", most)
    require(k <= MOST_RESULTS, "backend 'gpu'", f"takes k up to {MOST_RESULTS}", k)
    require(kinds <= MOST_KINDS, "backend 'gpu'", f"takes at most {MOST_KINDS} wishes", kinds)


def address(array: Any) -> int:
    """Where an array's data is, on the host or on the device; 0 for none."""
    if array is None:
        return 0
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


@functools.lru_cache(maxsize=1)
def _polynomials() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """sin(x)^2 / x^2 of x^2, and squared angle over its haversine: coefficients, highest first."""

    def fit(function: Any, most: float, degree: int) -> NDArray[np.float64]:
        found = np.polynomial.Chebyshev.interpolate(function, degree, domain=(0.0, most))
        return np.asarray(found.convert(kind=np.polynomial.Polynomial, domain=(-1, 1)).coef[::-1])

    def angle(hav: Any) -> Any:
        hav = np.maximum(hav, 1e-18)
        return (2 * np.arcsin(np.sqrt(hav))) ** 2 / hav

    sine = fit(lambda square: np.sinc(np.sqrt(square) / np.pi) ** 2, (np.pi / 2) ** 2, 11)
    return sine, fit(angle, 0.0704, 10)
