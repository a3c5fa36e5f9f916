"""Rank tensors that are already on a GPU, from torch, CuPy or any library with DLPack, without a copy.

    batch = mascot.gpu.DeviceBatch(scores, {"lat": lat, "lon": lon, "hour": hour})      # Q x N tensors
    mascot.rerank_many(batch, [mascot.spread(mascot.Place.grid())], k=20, backend="gpu").positions

Values are not checked, because checking them would wait for the device.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mascot.attributes import Category, Cycle, HourOfDay, Number, Place
from mascot.attributes.category import labels_of
from mascot.attributes.columns import as_array, column_of
from mascot.attributes.place import Grid
from mascot.bins import GlobeBins, SparseBins
from mascot.constraints import Constraint
from mascot.errors import InputError, OptionError
from mascot.fitting.fitted_wishes import FittedWishes, fit_wishes, sort_wishes
from mascot.kernels import native
from mascot.kernels.gpu import bins_on_device, cupy, launcher, quotas_on_device
from mascot.kernels.gpu.launch import DeviceQueries, DeviceResults
from mascot.kernels.gpu.plan import KernelBins, Task, alike
from mascot.kernels.native.pack import pack_bins, pack_once
from mascot.kernels.quotas import Quota, may_fill, may_look_ahead, only_labels, without_fill
from mascot.methods.mascot import DEFAULT_STRENGTH, Mascot
from mascot.methods.method import Table
from mascot.methods.named_focus import Target, aim
from mascot.wishes import AnyWish, Wish

_ON_DEVICE = (Place, Grid, HourOfDay, Cycle, Number)  # read from float64 columns as they are


class Csr(NamedTuple):
    """Memberships of the Q * N candidates as tensors: row i has bins indices[indptr[i]:indptr[i+1]] with values.

    As a column of a `DeviceBatch`, read by `Category`: the labels of a candidate, each with its membership in 0..1.
    """

    indptr: Any
    indices: Any
    values: Any


class DeviceRankings:
    """Results on the device: `positions` [Q, k] best first, -1 where a query has fewer; and the `strengths` used."""

    __slots__ = ("_like", "_restore", "_results", "_strength")

    def __init__(
        self, results: DeviceResults, like: Any, strength: float | None, restore: Callable[[Any], Any] | None
    ) -> None:
        self._results, self._like, self._strength, self._restore = results, like, strength, restore

    def __len__(self) -> int:
        return len(self._results.strengths)

    @property
    def positions(self) -> Any:
        return _as_library(self.picks(1), self._like)

    @property
    def chosen(self) -> Any:
        """The same positions in the order of selection."""
        return _as_library(self.picks(0), self._like)

    @property
    def strengths(self) -> Any:
        strengths = self._results.strengths
        if self._strength is not None:
            strengths = cupy().full_like(strengths, self._strength)
        return _as_library(strengths, self._like)

    def picks(self, order: int) -> Any:
        """Return positions as a CuPy array: 0 in the order of selection, 1 best first."""
        picks = self._results.picks[order]
        return picks if self._restore is None else self._restore(picks)


@dataclass(frozen=True, slots=True)
class _DeviceWishes:
    """Wishes fitted to rows on the device: the [Q * N] candidates of a batch, or a corpus."""

    coverage: tuple[Wish, ...]
    bins: tuple[KernelBins, ...]
    targets: tuple[Target, ...]  # of the focuses with a named value, for all rows
    constraints: tuple[Constraint, ...]
    quotas: tuple[Quota, ...]
    dropped: Any  # which rows are left out, or None


class DeviceBatch:
    """The candidates of Q queries as Q x N tensors on the device; NaN is a missing value.

    `Place.grid`, `Place`, `HourOfDay` (plain hours), `Cycle` and `Number` read float64 columns as they are, `Category`
    reads codes 0, 1, 2 and so on (-1 is a missing value) or a `Csr`. Any other attribute reads its columns, and
    `vectors` [Q, N, D], on the host. A batch caches what is computed from it: new values need a new batch.
    """

    def __init__(self, scores: Any, columns: Mapping[str, Any] | None = None, vectors: Any = None) -> None:
        self._like = scores
        self.scores = _as_cupy(scores, "DeviceBatch.scores", np.float64)
        if self.scores.ndim != 2 or not self.scores.size:
            raise InputError(f"DeviceBatch.scores must be Q x N with at least one candidate, got {self.scores.shape}")
        self.columns: dict[str, Any] = {}
        for name, column in (columns or {}).items():
            if isinstance(column, Csr):
                types = (np.int64, np.int64, np.float64)
                values: Any = Csr(*(_as_cupy(part, name, dtype) for part, dtype in zip(column, types, strict=True)))
                shape, expected = (len(values.indptr) - 1,), (self.scores.size,)
            else:
                values = _as_cupy(column, name)
                shape, expected = values.shape, self.scores.shape
            if shape != expected:
                raise InputError(f"DeviceBatch.columns[{name!r}] must be {expected} like scores, got {shape}")
            self.columns[name] = values
        self.vectors = None if vectors is None else _as_cupy(vectors, "DeviceBatch.vectors", np.float64)
        if self.vectors is not None and self.vectors.shape[:2] != self.scores.shape:
            expected, shape = self.scores.shape, self.vectors.shape
            raise InputError(f"DeviceBatch.vectors must be {expected} x D like scores, got {shape}")
        self._fitted: list[tuple[tuple[AnyWish, ...], _DeviceWishes]] = []
        self._last: tuple[Any, ...] = (None, None, None, None)  # the most recent call, which is likely to be repeated

    def __len__(self) -> int:
        return len(self.scores)

    def rank(self, wishes: tuple[AnyWish, ...], k: int, method: Any, already: Any = None) -> DeviceRankings:
        """Rank all queries; `rerank_many(batch, wishes, k, method, backend="gpu")` calls this.

        `already` is the `DeviceRankings` of an earlier page, a Q x S tensor of positions (-1 is none), or a list of
        positions per query.
        """
        last_wishes, last_method, last_k, select = self._last
        if already is None and k == last_k and method == last_method and wishes == last_wishes:
            return DeviceRankings(select(), self._like, method.strength, None)
        _check_method(method)
        fitted = next((fitted for key, fitted in self._fitted if key == wishes), None)
        if fitted is None:
            fitted = self._fit(wishes)
            self._fitted = [*self._fitted[-3:], (wishes, fitted)]
        mask = None if already is None else _already_mask(already, self.scores.shape)
        select, restore = _prepare(fitted, self.scores, None, mask, method, k)
        if already is None and restore is None:
            self._last = (wishes, method, k, select)
        return DeviceRankings(select(), self._like, method.strength, restore)

    def _fit(self, wishes: Sequence[AnyWish]) -> _DeviceWishes:
        coverage, aims, constraints = sort_wishes(wishes)
        bins = [self._bins(wish) for wish in coverage]
        targets = tuple(self._target(wish) for wish in aims)
        missing = [_missing(part) for wish, part in zip(coverage, bins, strict=True) if wish.missing == "drop"]
        pairs = zip(aims, targets, strict=True)
        missing += [cupy().isnan(target.distance) for wish, target in pairs if wish.missing == "drop"]
        dropped = functools.reduce(operator.or_, missing) if missing else None
        quotas = quotas_on_device([self._quota(wish) for wish in constraints])
        return _DeviceWishes(coverage, alike(bins), targets, constraints, quotas, dropped)

    def _bins(self, wish: Wish) -> KernelBins:
        attribute: Any = wish.attribute
        if isinstance(attribute, Category):
            return KernelBins.of(native.PackedBins(native.LABELS, **self._labels(attribute)._asdict()), cupy())
        if not isinstance(attribute, _ON_DEVICE):
            return KernelBins.of(pack_bins(self._on_host(wish).bins[0]), cupy())
        bins, columns = self._bins_and_coordinates(wish)
        x, y = columns if len(columns) > 1 else (columns[0], None)
        packed = pack_bins(bins)
        names = None
        if isinstance(attribute, Place) and attribute.names is not None:
            names = self._name_codes(attribute.names)
        elif packed.names is not None:  # 24:00 is 0:00
            names = x % bins.axes[0].period
        return KernelBins.of(packed._replace(x=x, y=y, names=names), cupy())

    def _target(self, wish: Wish) -> Target:
        """Return the distance of each candidate to the named value."""
        attribute: Any = wish.attribute
        cp = cupy()
        if isinstance(attribute, Category):
            indptr, indices, _ = self._labels(attribute)
            labels: Any = labels_of(attribute.point(wish.near)[attribute.column])
            codes = cp.asarray([int(label) for label in labels])
            hits = cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(cp.isin(indices, codes))])
            distance = cp.where(hits[indptr[1:]] > hits[indptr[:-1]], 0.0, 1.0)
            distance = cp.where(indptr[1:] == indptr[:-1], np.nan, distance)
            return Target(distance, "label", wish.weight, wish.within)
        if not isinstance(attribute, _ON_DEVICE):
            return _on_device(self._on_host(wish).focuses[0].target())
        bins, columns = self._bins_and_coordinates(wish)
        globe = isinstance(bins, GlobeBins)
        rows = replace(bins, **({"lat": columns[0], "lon": columns[1]} if globe else {"values": tuple(columns)}))
        return replace(wish.named_focus(bins), bins=rows).target()

    def _bins_and_coordinates(self, wish: Wish) -> tuple[Any, list[Any]]:
        """Return bins of one row on the host, for their axes, and the coordinates of all rows on the device."""
        attribute: Any = wish.attribute
        names = [getattr(attribute, key) for key in ("lat", "lon", "column") if hasattr(attribute, key)]
        owner = type(attribute).__name__
        columns = [column_of(self.columns, n, owner).reshape(-1).astype(np.float64, copy=False) for n in names]
        if isinstance(attribute, Place):  # names are read apart
            wish = replace(wish, attribute=replace(attribute, names=None))
        bins = wish.attribute_membership({name: as_array([0.0]) for name in names}, None)
        if isinstance(attribute, Place):
            cp = cupy()
            columns = [cp.radians(columns[0]), cp.radians((columns[1] + 180) % 360 - 180)]
        if isinstance(attribute, Grid):
            lat, lon = columns
            columns = [lat, cupy().where(abs(lon) > 180, (lon + 180) % 360 - 180, lon)]
        if isinstance(attribute, Cycle):
            columns = [columns[0] % attribute.period]
        if len(columns) > 1:  # a place is missing unless both are there
            columns = [columns[0] + 0 * columns[1], columns[1] + 0 * columns[0]]
        return bins, columns

    def _labels(self, attribute: Category) -> Csr:
        """Return labels as explicit pairs; `values` is None where every membership is 1."""
        column: Any = column_of(self.columns, attribute.column, "Category")
        if isinstance(column, Csr):
            return column
        cp = cupy()
        codes = column.reshape(-1)
        valued = codes >= 0  # NaN is not
        return Csr(cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(valued)]), codes[valued].astype(np.int64), None)

    def _name_codes(self, column: str) -> Any:
        """Return the first label of each candidate, NaN for a candidate without one."""
        cp = cupy()
        indptr, indices, _ = self._labels(Category(column))
        first = cp.append(indices, 0).astype(np.float64)[indptr[:-1]]
        return cp.where(indptr[1:] > indptr[:-1], first, np.nan)

    def _quota(self, wish: Constraint) -> Quota:
        """Return the quota over all candidates, on the host."""
        attribute = wish.attribute
        if isinstance(attribute, Place) and attribute.names is not None:
            attribute = Category(attribute.names)
        if not isinstance(attribute, Category):
            return only_labels(self._on_host(wish).quotas)[0]
        indptr, indices = (cupy().asnumpy(part) for part in self._labels(attribute)[:2])
        count = int(indices.max(initial=0)) + 1
        return only_labels([wish.quota(SparseBins(indptr, indices, None, count, tuple(map(str, range(count)))))])[0]

    def _on_host(self, wish: AnyWish) -> FittedWishes:
        cp = cupy()
        columns = {n: cp.asnumpy(part).reshape(-1) for n, part in self.columns.items() if not isinstance(part, Csr)}
        vectors = None if self.vectors is None else cp.asnumpy(self.vectors).reshape(self.scores.size, -1)
        return fit_wishes((wish,), Table(columns, vectors), self.scores.size, groups=len(self))


def rank_rows(fitted: FittedWishes, rows: Any, scores: Any, k: int, method: Any, already: Any = None) -> Any:
    """Rank Q x N rows of a corpus: `Reranker.rerank_many` calls this if scores are tensors on the device.

    `already` is the `DeviceRankings` of an earlier page, or a Q x S tensor of rows of the corpus (-1 is none).
    """
    cp = cupy()
    _check_method(method)
    values, row_numbers = _as_cupy(scores, "scores", np.float64), _as_cupy(rows, "rows", np.int64)
    if values.ndim != 2 or row_numbers.shape != values.shape:
        raise InputError(f"rows and scores must be Q x N tensors alike, got {row_numbers.shape} and {values.shape}")
    mask = None
    if isinstance(already, DeviceRankings):
        mask = _already_mask(already, values.shape)
    elif already is not None:
        mask = cp.zeros(values.shape, bool)
        for column in _as_cupy(already, "already", np.int64).T:
            mask |= row_numbers == column[:, None]
    select, restore = _prepare(_corpus(fitted), values, row_numbers, mask, method, k)
    return DeviceRankings(select(), scores, method.strength, restore)


@functools.lru_cache(maxsize=4)
def _corpus(fitted: FittedWishes) -> _DeviceWishes:
    """Return the bins, distances and labels of a corpus on the device."""
    dropped = fitted.dropped(None)
    return _DeviceWishes(
        fitted.coverage, bins_on_device(tuple(map(pack_once, fitted.bins))),
        tuple(_on_device(focus.target()) for focus in fitted.focuses), fitted.constraints,
        quotas_on_device(only_labels(fitted.quotas)), None if dropped is None else cupy().asarray(dropped),
    )  # fmt: skip


def _on_device(target: Target) -> Target:
    return target._replace(distance=cupy().asarray(target.distance))


def _prepare(
    fitted: _DeviceWishes, scores: Any, rows: Any, already: Any, method: Mascot, k: int
) -> tuple[Callable[[], DeviceResults], Callable[[Any], Any] | None]:
    """Return a function that selects, and one that maps its positions to all candidates if some are left out.

    `already` is a Q x N mask of results of earlier pages, or None.
    """
    cp = cupy()
    count, size = scores.shape
    eligible = None
    if fitted.dropped is not None:
        eligible = ~(fitted.dropped.reshape(scores.shape) if rows is None else fitted.dropped[rows])
    if fitted.targets:
        strength = DEFAULT_STRENGTH if method.strength is None else float(method.strength)
        distances = [t.distance.reshape(scores.shape) if rows is None else t.distance[rows] for t in fitted.targets]
        targets = [t._replace(distance=distance) for t, distance in zip(fitted.targets, distances, strict=True)]
        scores = cp.ascontiguousarray(aim(scores, targets, eligible, k, strength, method.robust, cp))
    restore = ptr = already_at = already_ptr = None
    width = size
    if eligible is not None:
        flat = cp.flatnonzero(eligible)
        ptr = cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(eligible.sum(axis=1))])
        width = max(int(eligible.sum(axis=1).max()), 1)
        within = cp.append(flat % size, 0)
        already = None if already is None else already & eligible

        def restore(positions: Any) -> Any:
            return cp.where(positions < 0, -1, within[ptr[:-1, None] + cp.maximum(positions, 0)]).astype(np.int32)

    if already is not None and bool(already.any()):
        already_at = cp.flatnonzero(already) % size if eligible is None else (cp.cumsum(eligible, axis=1) - 1)[already]
        already_ptr = cp.concatenate([cp.zeros(1, np.int64), cp.cumsum(already.sum(axis=1))])
    if eligible is not None:
        scores, rows = scores.reshape(-1)[flat], flat if rows is None else rows.reshape(-1)[flat]
    weights = np.array([float(wish.weight) for wish in fitted.coverage])
    named_weight = float(sum(target.weight for target in fitted.targets))
    options = method.kernel_options(min(k, width), weights, named_weight)
    rules = tuple(native.NEUTRAL if wish.missing == "neutral" else native.LAST for wish in fitted.coverage)
    quotas = tuple(
        replace(quota, capacity=cp.asarray(only_labels([wish.for_k(quota, k)])[0].capacity))
        for wish, quota in zip(fitted.constraints, fitted.quotas, strict=True)
    )
    if may_look_ahead(quotas):
        raise OptionError("backend 'gpu' takes one limit or share on device arrays: use backend='native' for several")
    signs = tuple(float(wish.sign) for wish in fitted.coverage)
    task = Task(fitted.bins, signs, tuple(weights.tolist()), rules, quotas, options)
    queries = DeviceQueries(count, width, scores, ptr, rows, already_ptr, already_at)
    select = launcher(task, queries)
    if options.keep == 0 or not may_fill(quotas):
        return select, restore
    lengths = size if eligible is None else eligible.sum(axis=1)
    lengths = cp.minimum(lengths if already is None else lengths - already.sum(axis=1), options.k)
    select_held = launcher(replace(task, quotas=only_labels(without_fill(quotas))), queries)

    def select_twice() -> DeviceResults:  # see `hold_limits_first`
        held, filled = select_held(), select()
        full = (held.picks[0] >= 0).sum(axis=1) >= lengths
        held.strengths[:] = cp.where(full, held.strengths, filled.strengths)
        held.picks[:] = cp.where(full[None, :, None], held.picks, filled.picks)
        return held

    return select_twice, restore


def _already_mask(already: Any, shape: tuple[int, int]) -> Any:
    """Return [Q, N] which candidates are results of earlier pages."""
    cp = cupy()
    queries, size = shape
    if isinstance(already, DeviceRankings):
        positions = already.picks(1)
    elif hasattr(already, "__dlpack__") and not isinstance(already, np.ndarray):
        positions = _as_cupy(already, "already", np.int64)
    else:
        lists = [np.asarray(list(() if entry is None else entry), np.int64) for entry in already]
        padded = np.full((len(lists), max((len(entry) for entry in lists), default=0)), -1)
        for row, entry in zip(padded, lists, strict=True):
            row[: len(entry)] = entry
        positions = cp.asarray(padded)
    if positions.ndim != 2 or len(positions) != queries:
        raise InputError(f"already must have {queries} queries like scores, got {positions.shape}")
    mask = cp.zeros((queries, size + 1), bool)
    mask[cp.arange(queries)[:, None], cp.where(positions < 0, size, positions)] = True
    return mask[:, :size]


def _missing(bins: KernelBins) -> Any:
    """Return which rows have no value."""
    if bins.shape == native.LABELS:
        return bins.indptr[1:] == bins.indptr[:-1]
    return cupy().isnan(bins.xs if bins.ys is None else bins.xs + bins.ys)


def _check_method(method: Any) -> None:
    if not isinstance(method, Mascot):
        raise OptionError(f"backend 'gpu' must have the method Mascot, got {method!r}")


def _as_cupy(tensor: Any, owner: str, dtype: Any = None) -> Any:
    """Return a tensor on the device as a CuPy array: the same memory, unless order or type must change."""
    cp = cupy()
    if not isinstance(tensor, cp.ndarray):
        if not hasattr(tensor, "__dlpack__"):
            raise InputError(f"{owner} must be a tensor on the device, got {type(tensor).__name__}")
        tensor = cp.from_dlpack(tensor.detach() if hasattr(tensor, "detach") else tensor)
    return cp.ascontiguousarray(tensor, dtype=dtype)


def _as_library(array: Any, like: Any) -> Any:
    """Return an array as a tensor of the library the scores came from."""
    if type(like).__module__.split(".")[0] == "torch":
        import torch

        return torch.from_dlpack(array)
    return array
