"""Tensors that are on a GPU already, from torch, CuPy or anything with DLPack: ranked there, without a copy.

    batch = mascot.gpu.DeviceBatch(scores, {"lat": lat, "lon": lon, "hour": hour})      # Q x N tensors
    mascot.rerank_many(batch, [mascot.spread(mascot.Place.grid())], k=20, backend="gpu").positions

Values are trusted: checking them would mean waiting for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mascot.attributes import Category, Cycle, Date, DayOfYear, HourOfDay, Number, Place, Weekday
from mascot.attributes.attribute import missing_rule
from mascot.attributes.columns import as_array
from mascot.attributes.place import Grid
from mascot.candidates import Batch
from mascot.corpus import Corpus as Fitted
from mascot.errors import InputError, OptionError
from mascot.kernels import gpu, gpu_plan, gpu_stream
from mascot.memberships import Sphere, Windows
from mascot.methods.mascot import Mascot
from mascot.packing import AXIS, LINE, PLANE, SPARSE, pack
from mascot.problem import Selections
from mascot.starts import nearest_rows
from mascot.wishes import Wish

_READ_THERE = (Place, Grid, HourOfDay, Cycle, Number, Category)  # from float64 columns, or codes


class Csr(NamedTuple):
    """Memberships of the Q * N candidates as tensors: row i has bins indices[indptr[i]:indptr[i+1]] with values.

    As a column of a `DeviceBatch`, read by `Category`: the labels of a candidate, each to its degree in 0..1.
    """

    indptr: Any
    indices: Any
    values: Any


class DeviceRankings:
    """Results on the device: `positions` [Q, k] best first, -1 where a query has fewer; and the `strengths` used."""

    __slots__ = ("_back", "_found", "_like")

    def __init__(self, found: gpu.Selected, like: Any, back: Callable[[Any], Any] | None = None) -> None:
        self._found, self._like, self._back = found, like, back

    def __len__(self) -> int:
        return len(self._found.strengths)

    @property
    def positions(self) -> Any:
        return _as(self._home(self._found.shown), self._like)

    @property
    def chosen(self) -> Any:
        """The same positions in the order of choice."""
        return _as(self._home(self._found.positions), self._like)

    @property
    def strengths(self) -> Any:
        return _as(self._found.strengths, self._like)

    def _home(self, positions: Any) -> Any:
        return positions if self._back is None else self._back(positions)


class DeviceBatch:
    """The candidates of Q queries as Q x N tensors on the device; NaN is a missing value.

    `Place.grid`, `Place`, `HourOfDay` (plain hours), `Cycle` and `Number` read float64 columns as they are, `Category`
    codes 0, 1, 2 and so on (-1 is a missing value) or a `Csr`. Any other attribute reads its columns, and `vectors`
    [Q, N, D], on the host. A batch ranked again keeps what was made of it: new values need a new batch.
    """

    def __init__(self, scores: Any, columns: Mapping[str, Any] | None = None, vectors: Any = None) -> None:
        self._given = scores
        self.scores = _array(scores, "DeviceBatch.scores", np.float64)
        if self.scores.ndim != 2 or not self.scores.size:
            raise InputError(f"DeviceBatch.scores must be Q x N with at least one candidate, got {self.scores.shape}")
        self.columns: dict[str, Any] = {}
        for name, column in (columns or {}).items():
            self.columns[name] = _csr(column, name) if isinstance(column, Csr) else _array(column, name)
            shape = (len(self.columns[name].indptr) - 1,) if isinstance(column, Csr) else self.columns[name].shape
            wanted = (self.scores.size,) if isinstance(column, Csr) else self.scores.shape
            if shape != wanted:
                raise InputError(f"DeviceBatch.columns[{name!r}] must be {wanted} like scores, got {shape}")
        self.vectors = None if vectors is None else _array(vectors, "DeviceBatch.vectors", np.float64)
        if self.vectors is not None and self.vectors.shape[:2] != self.scores.shape:
            raise InputError(
                f"DeviceBatch.vectors must be {self.scores.shape} x D like scores, got {self.vectors.shape}"
            )
        self._made: list[tuple[tuple[Wish, ...], tuple[gpu.Device, Any, Any]]] = []
        self._last: tuple[Any, ...] = (None, None, None, None)  # the call that is most likely to come again

    def __len__(self) -> int:
        return len(self.scores)

    def rank(self, wishes: tuple[Wish, ...], k: int, method: Any, already: Any = None) -> DeviceRankings:
        """What `rerank_many(batch, wishes, k, method, backend="gpu")` calls.

        `already` is the `DeviceRankings` of an earlier page, a Q x S tensor of positions (-1 is none), or a list of
        positions per query.
        """
        asked, before, number, ready = self._last
        if already is None and k == number and method == before and wishes == asked:
            return DeviceRankings(ready(), self._given)
        if not isinstance(method, Mascot):
            raise OptionError(f"backend 'gpu' must have method Mascot, got {method!r}")
        made = next((made for known, made in self._made if known == wishes), None)
        if made is None:
            made = self._corpus(wishes)
            self._made = [*self._made[-3:], (wishes, made)]
        device, near, missing = made
        seen = None if already is None else _seen(already, self.scores.shape)
        ready, back = _launcher(device, wishes, self.scores, None, near, missing, seen, method, k)
        if already is None and back is None:
            self._last = (wishes, method, k, ready)
        return DeviceRankings(ready(), self._given, back)

    def _corpus(self, wishes: Sequence[Wish]) -> tuple[gpu.Device, Any, Any]:
        """The bins; which row each focus starts from; and the candidates that are dropped."""
        cp = gpu.cupy()
        count = self.scores.size
        parts = [self._bins(wish, cp) for wish in wishes]
        dropped = None
        for wish, part in zip(wishes, parts, strict=True):
            if missing_rule(wish.attribute) == "drop":
                gone = part.missing(count, cp)
                dropped = gone if dropped is None else dropped | gone
        named: dict[str, Any] = {key: tuple(getattr(part, key) for part in parts) for key in _Bins._fields}
        named["indices"] = _alike(named["indices"])
        named["axes"] = np.array(named["axes"]).reshape(len(wishes), 2, AXIS)
        corpus = gpu_plan.Corpus(row0=(0,) * len(wishes), **named)
        dropped = None if dropped is None else dropped.reshape(self.scores.shape)
        points = [count if wish.near is not None else -1 for wish in wishes]
        rows = cp.arange(count).reshape(self.scores.shape)
        return gpu.Device(corpus), _starts(corpus, points, rows, dropped), dropped

    def _bins(self, wish: Wish, cp: Any) -> _Bins:
        attribute: Any = wish.attribute
        if not isinstance(attribute, _READ_THERE):
            return self._from_host(wish, cp)
        names = [getattr(attribute, key) for key in ("lat", "lon", "column") if hasattr(attribute, key)]
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            known = ", ".join(self.columns) or "none"
            raise InputError(f"{type(attribute).__name__} needs column {unknown}, got columns: {known}")
        point = {} if wish.near is None else attribute.point(wish.near)
        if isinstance(attribute, Category):
            return _labels(self.columns[attribute.column], point.get(attribute.column), cp)
        columns = [self.columns[name].reshape(-1).astype(np.float64, copy=False) for name in names]
        packed = pack([attribute.membership({name: as_array([point.get(name, 0.0)]) for name in names}, None)])
        if isinstance(attribute, Place):
            columns = [cp.radians(columns[0]), cp.radians((columns[1] + 180) % 360 - 180)]
        if point:  # one row more, to start from
            ends = (packed.xs[0], packed.ys[0])
            columns = [cp.concatenate([column, cp.asarray(end)]) for column, end in zip(columns, ends, strict=False)]
        shape, axes = int(packed.shapes[0]), packed.axes[0]
        bins = 0
        if shape == LINE:
            bins = gpu_plan.axis_bins(axes[0], columns[0])
        elif shape == PLANE:
            bins = int(axes[0, 2] * axes[1, 2])
        return _Bins(shape, axes, columns[0], columns[1] if len(columns) > 1 else None, bins, gpu_plan.CELLS)

    def _from_host(self, wish: Wish, cp: Any) -> _Bins:
        columns = {name: cp.asnumpy(part).reshape(-1) for name, part in self.columns.items() if not _is_csr(part)}
        vectors = None if self.vectors is None else cp.asnumpy(self.vectors).reshape(self.scores.size, -1)
        fitted = Fitted((wish,), columns, vectors, self.scores.size, groups=len(self))
        if wish.near is not None and getattr(wish.attribute, "local", False):
            raise OptionError(f"near of {type(wish.attribute).__name__} needs a Batch, got a DeviceBatch")
        made = gpu_plan.Corpus.of(fitted.packed, cp)
        return _Bins(
            made.shapes[0], made.axes[0], made.xs[0], made.ys[0], made.bins[0], made.each[0],
            made.indptr[0][made.row0[0] :], made.indices[0], made.values[0],
        )  # fmt: skip


class _Bins(NamedTuple):
    """One attribute of a `gpu_plan.Corpus`."""

    shapes: int
    axes: Any
    xs: Any
    ys: Any
    bins: int
    each: int
    indptr: Any = None
    indices: Any = None
    values: Any = None

    def missing(self, count: int, cp: Any) -> Any:
        if self.shapes == SPARSE:
            return cp.diff(self.indptr)[:count] == 0
        return cp.isnan(self.xs if self.shapes == LINE else self.xs + self.ys)[:count]


def _labels(column: Any, point: Any, cp: Any) -> _Bins:
    """Codes, one per candidate, or explicit pairs; and a label to start from."""
    if _is_csr(column):
        indptr, indices, values = column
    else:
        codes = column.reshape(-1)
        known = codes >= 0  # NaN is not
        indptr = cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(known)])
        indices = codes[known].astype(np.int64)
        values = cp.ones(indices.size)
    if point is not None:
        indptr = cp.append(indptr, indptr[-1] + 1)
        indices, values = cp.append(indices, int(point)), cp.append(values, 1.0)
    highest = int(indices.max()) if indices.size else 0
    each = int(cp.diff(indptr).max())
    return _Bins(
        SPARSE, np.zeros((2, AXIS)), None, None, highest + 1 if highest < gpu_plan.DIRECT else 0, max(each, 1), indptr,
        _shortest(indices, highest), values,
    )  # fmt: skip


def select_batch(batch: Batch, wishes: Sequence[Wish], k: int, method: Any) -> Selections | None:
    """A batch of numpy arrays, its columns read by several threads while the device chooses.

    None where bins must be known of all rows at once, or rows are dropped: `rerank_many` then reads them first.
    """
    queries, width = batch.scores.shape
    rules = tuple(missing_rule(wish.attribute) for wish in wishes)
    if not isinstance(method, Mascot) or "drop" in rules:
        return None
    for wish in wishes:
        if wish.near is not None or not isinstance(wish.attribute, (*_READ_THERE[:-1], Date, DayOfYear, Weekday)):
            return None
    gpu.cupy()

    def members(first: int, last: int) -> list[Any]:
        columns = {name: column[first:last] for name, column in batch.columns.items()}
        return [wish.membership(columns, None, last - first) for wish in wishes]

    def bring(first: int, last: int) -> list[Any]:
        columns = [batch.scores.reshape(-1)[first:last]]
        for member in members(first, last):
            columns += [member.lat, member.lon] if isinstance(member, Sphere) else member.values
        return columns

    first = members(0, width)
    if any(isinstance(m, Windows) and m.axes[0].step == 0 and m.axes[0].sigma > 0 for m in first):
        return None
    packed = pack(first)
    layout = gpu_stream.Layout(tuple(int(s) for s in packed.shapes), packed.axes, *gpu_plan.corpus_bins(packed))
    gpu_plan.check(len(wishes), k, width)
    signs, weights = tuple(float(w.sign) for w in wishes), tuple(float(w.weight) for w in wishes)
    positions, shown, strengths, multipliers, tops = gpu_stream.select_stream(
        queries, width, bring, layout, signs, weights, rules, gpu_plan.options(method, k), k
    )
    return Selections(positions, shown, strengths, multipliers, tops, method.protected(k))


def rank_rows(corpus: Fitted, rows: Any, scores: Any, k: int, method: Any, already: Any = None) -> Any:
    """What `Reranker.rerank_many` calls where scores are tensors on the device: Q x N rows of the corpus.

    `already` is the `DeviceRankings` of an earlier page, or a Q x S tensor of rows of the corpus (-1 is none).
    """
    cp = gpu.cupy()
    if not isinstance(method, Mascot):
        raise OptionError(f"backend 'gpu' must have method Mascot, got {method!r}")
    values, taken = _array(scores, "scores", np.float64), _array(rows, "rows", np.int64)
    if values.ndim != 2 or taken.shape != values.shape:
        raise InputError(f"rows and scores must be Q x N tensors alike, got {taken.shape} and {values.shape}")
    packed = corpus.packed
    missing = seen = None
    if "drop" in corpus.rules:
        gone = [m.missing for m, rule in zip(corpus.members, corpus.rules, strict=True) if rule == "drop"]
        missing = cp.asarray(np.logical_or.reduce([part[: corpus.count] for part in gone]))[taken]
    if isinstance(already, DeviceRankings):
        seen = _seen(already, values.shape)
    elif already is not None:
        shown = _array(already, "already", np.int64)
        seen = cp.zeros(values.shape, bool)
        for column in shown.T:
            seen |= taken == column[:, None]
    device = gpu.device_of(packed)
    points = [-1 if at is None else int(at[0]) for at in corpus._near]
    near = _starts(device.corpus, points, taken, missing)
    ready, back = _launcher(device, corpus.wishes, values, taken, near, missing, seen, method, k)
    return DeviceRankings(ready(), scores, back)


def _starts(corpus: gpu_plan.Corpus, points: Sequence[int], rows: Any, dropped: Any) -> Any:
    """[Q, A] the row each focus starts from, -1 for none; None where no wish names a point."""
    cp = gpu.cupy()
    if max(points, default=-1) < 0:
        return None
    found = cp.asarray(np.tile(points, (len(rows), 1)))
    kept = cp.ones(rows.shape, bool) if dropped is None else ~dropped
    for a, point in enumerate(points):
        if point >= 0:
            found[:, a] = nearest_rows(
                corpus.shapes[a], corpus.axes[a], corpus.xs[a], corpus.ys[a], rows, kept, found[:, a], cp
            )
    return found


def _launcher(
    device: gpu.Device, wishes: Sequence[Wish], scores: Any, rows: Any, near: Any, dropped: Any, seen: Any,
    method: Mascot, k: int,
) -> tuple[Callable[[], gpu.Selected], Callable[[Any], Any] | None]:  # fmt: skip
    """What chooses, and what brings its positions back where candidates are dropped."""
    cp = gpu.cupy()
    queries, size = scores.shape
    batch = gpu.Batch(queries, size, scores, rows=rows, near=near)
    back = None
    if dropped is not None:
        kept = ~dropped
        flat = cp.flatnonzero(kept)
        batch.ptr = cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(kept.sum(axis=1))])
        batch.scores = scores.reshape(-1)[flat]
        batch.rows = flat if rows is None else rows.reshape(-1)[flat]
        batch.width = max(int(kept.sum(axis=1).max()), 1)
        starts, within = batch.ptr[:-1, None], cp.append(flat % size, 0)
        seen = None if seen is None else seen & kept

        def back(positions: Any) -> Any:
            return cp.where(positions < 0, -1, within[starts + cp.maximum(positions, 0)]).astype(np.int32)

        if seen is not None:
            batch.seen = (cp.cumsum(kept, axis=1) - 1)[seen]
    elif seen is not None:
        batch.seen = cp.flatnonzero(seen) % size
    if seen is not None:
        batch.seen_ptr = cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(seen.sum(axis=1))])
        if not batch.seen.size:
            batch.seen = batch.seen_ptr = None
    signs, weights = tuple(float(w.sign) for w in wishes), tuple(float(w.weight) for w in wishes)
    rules = tuple(missing_rule(wish.attribute) for wish in wishes)
    return device.launcher(batch, signs, weights, rules, gpu_plan.options(method, k), k), back


def _seen(already: Any, shape: tuple[int, int]) -> Any:
    """Q x N: which candidates were shown before."""
    cp = gpu.cupy()
    queries, size = shape
    if isinstance(already, DeviceRankings):
        shown = already._home(already._found.shown)
    elif hasattr(already, "__dlpack__") and not isinstance(already, np.ndarray):
        shown = _array(already, "already", np.int64)
    else:
        lists = [np.asarray(list(of if of is not None else ()), np.int64) for of in already]
        padded = np.full((len(lists), max((len(of) for of in lists), default=0)), -1)
        for row, of in zip(padded, lists, strict=True):
            row[: len(of)] = of
        shown = cp.asarray(padded)
    if shown.ndim != 2 or len(shown) != queries:
        raise InputError(f"already must have {queries} queries like scores, got {shown.shape}")
    mask = cp.zeros((queries, size + 1), bool)
    mask[cp.arange(queries)[:, None], cp.where(shown < 0, size, shown)] = True
    return mask[:, :size]


def _is_csr(column: Any) -> bool:
    return isinstance(column, Csr)


def _csr(column: Csr, name: str) -> Csr:
    indptr, indices = _array(column.indptr, name, np.int64), _array(column.indices, name, np.int64)
    return Csr(indptr, indices, _array(column.values, name, np.float64))


def _shortest(indices: Any, highest: int) -> Any:
    return indices.astype(np.uint16 if highest < 2**16 else np.uint32 if highest < 2**32 else np.int64)


def _alike(indices: Sequence[Any]) -> tuple[Any, ...]:
    """Explicit bins of several attributes, all of the widest type among them."""
    widest = max((part.dtype.itemsize for part in indices if part is not None), default=2)
    wanted = {2: np.uint16, 4: np.uint32, 8: np.int64}[widest]
    return tuple(None if part is None else part.astype(wanted, copy=False) for part in indices)


def _array(given: Any, owner: str, dtype: Any = None) -> Any:
    """A CuPy array of a tensor on the device: the same memory, unless rows or types must change."""
    cp = gpu.cupy()
    if not isinstance(given, cp.ndarray):
        if not hasattr(given, "__dlpack__"):
            raise InputError(f"{owner} must be a tensor on the device, got {type(given).__name__}")
        given = cp.from_dlpack(given.detach() if hasattr(given, "detach") else given)
    return cp.ascontiguousarray(given, dtype=dtype)


def _as(found: Any, like: Any) -> Any:
    """As a tensor of the library the scores came from."""
    if type(like).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_dlpack(found)
    return found
