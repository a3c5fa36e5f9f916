"""Tensors that are on a GPU already, from torch, CuPy or anything with DLPack: ranked there, without a copy.

    batch = mascot.gpu.DeviceBatch(scores, {"lat": lat, "lon": lon, "hour": hour})      # Q x N tensors
    mascot.rerank_many(batch, [mascot.spread(mascot.Place.grid())], k=20, backend="gpu").positions

Values are trusted: checking them would mean waiting for the device.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mascot.corpus import Corpus as Fitted
from mascot.errors import InputError, OptionError
from mascot.kernels import gpu
from mascot.memberships import Sphere, Windows
from mascot.methods.mascot import Mascot
from mascot.packing import LINE, PLANE, SPARSE, SPHERE
from mascot.wishes import Wish


class DeviceRankings:
    """Results on the device: `positions` [Q, k] best first, -1 where a query has fewer; and the `strengths` used."""

    def __init__(self, found: gpu.Selected, like: Any) -> None:
        self._found, self._like = found, like

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def positions(self) -> Any:
        return _as(self._found.shown, self._like)

    @property
    def chosen(self) -> Any:
        """The same positions in the order of choice."""
        return _as(self._found.positions, self._like)

    @property
    def strengths(self) -> Any:
        return _as(self._found.strengths, self._like)


class DeviceBatch:
    """The candidates of Q queries as Q x N tensors on the device; NaN is a missing value.

    `Place.grid`, `Place`, `HourOfDay` (plain hours), `Cycle` and `Number` read float64 columns as they are, `Category`
    codes 0, 1, 2 and so on. A batch ranked again keeps what was made of it.
    """

    def __init__(self, scores: Any, columns: Mapping[str, Any] | None = None) -> None:
        self._given = scores
        self.scores = _array(scores, "DeviceBatch.scores", np.float64)
        self.columns = {name: _array(column, name) for name, column in (columns or {}).items()}
        if self.scores.ndim != 2 or not self.scores.size:
            raise InputError(f"DeviceBatch.scores must be Q x N with at least one candidate, got {self.scores.shape}")
        for name, column in self.columns.items():
            if column.shape != self.scores.shape:
                raise InputError(
                    f"DeviceBatch.columns[{name!r}] must be {self.scores.shape} like scores, got {column.shape}"
                )
        self._ready: dict[Any, Callable[..., gpu.Selected]] = {}

    def __len__(self) -> int:
        return len(self.scores)

    def rank(self, wishes: tuple[Wish, ...], k: int, method: Any, already: Any = None) -> DeviceRankings:
        """What `rerank_many(batch, wishes, k, method, backend="gpu")` calls."""
        key = (wishes, method)
        ready = self._ready.get(key)
        if ready is None:
            signs, weights = tuple(float(w.sign) for w in wishes), tuple(float(w.weight) for w in wishes)
            batch = gpu.Batch(self.scores.shape[0], self.scores.shape[1], self.scores)
            select = gpu.Device(self._corpus(wishes)).select
            asked = (batch, signs, weights, _rules(wishes), _options(method, already))
            ready = self._ready[key] = functools.partial(select, *asked)
        if already is not None:
            _options(method, already)
        return DeviceRankings(ready(k=k), self._given)

    def _corpus(self, wishes: Sequence[Wish]) -> gpu.Corpus:
        cp = gpu.cupy()
        kinds = len(wishes)
        shapes, axes = [0] * kinds, np.zeros((kinds, 2, 6))
        xs, ys = [None] * kinds, [None] * kinds
        bins, each = [0] * kinds, [gpu.CELLS] * kinds
        indptr = indices = values = None
        for a, wish in enumerate(wishes):
            attribute: Any = wish.attribute
            if wish.near is not None:
                raise OptionError("near needs columns on the host: a Batch, or a Reranker; a DeviceBatch has none")
            names = [getattr(attribute, key) for key in ("lat", "lon", "column") if hasattr(attribute, key)]
            unknown = [name for name in names if name not in self.columns]
            if unknown or not names:
                known = ", ".join(self.columns) or "none"
                raise InputError(f"{type(attribute).__name__} needs column {unknown or names}, got columns: {known}")
            member = attribute.membership({name: np.zeros(1) for name in names}, None)
            columns = [self.columns[name].reshape(-1) for name in names]
            if isinstance(member, Sphere):
                shapes[a], axes[a, 0, 3] = SPHERE, member.sigma_km
                xs[a], ys[a] = cp.radians(columns[0]), cp.radians((columns[1] + 180) % 360 - 180)
            elif isinstance(member, Windows):
                for j, axis in enumerate(member.axes):
                    axes[a, j] = (axis.start, axis.step, axis.count, axis.sigma, axis.period, axis.smallest)
                shapes[a], xs[a] = (PLANE if len(names) == 2 else LINE), columns[0].astype(np.float64, copy=False)
                ys[a] = columns[1].astype(np.float64, copy=False) if len(names) == 2 else None
                bins[a] = (
                    gpu.axis_bins(axes[a, 0], xs[a]) if len(names) == 1 else math.prod(x.count for x in member.axes)
                )
            elif indices is None:
                shapes[a], each[a], indices = SPARSE, 1, columns[0].astype(np.int64, copy=False)
                indptr, values = cp.arange(indices.size + 1), cp.ones(indices.size)
                highest = int(indices.max())
                bins[a] = highest + 1 if highest < gpu.DIRECT else 0
            else:
                raise OptionError("DeviceBatch takes one attribute of labels, got more")
        return gpu.Corpus(
            tuple(shapes), axes, tuple(xs), tuple(ys), (0,) * kinds, indptr, indices, values, tuple(bins), tuple(each)
        )


def rank_rows(corpus: Fitted, rows: Any, scores: Any, k: int, method: Any, already: Any = None) -> Any:
    """What `Reranker.rerank_many` calls where scores are tensors on the device: Q x N rows of the corpus."""
    cp = gpu.cupy()
    options = _options(method, already)
    rules = _rules(corpus.wishes)
    values, taken = _array(scores, "scores", np.float64), _array(rows, "rows", np.int64)
    if values.ndim != 2 or taken.shape != values.shape:
        raise InputError(f"rows and scores must be Q x N tensors alike, got {taken.shape} and {values.shape}")
    packed = corpus.packed
    near = None
    if any(at is not None for at in corpus._near):
        near = cp.asarray(np.tile([-1 if at is None else int(at[0]) for at in corpus._near], (len(values), 1)))
    batch = gpu.Batch(values.shape[0], values.shape[1], values, rows=taken, near=near)
    found = gpu.device_of(packed).select(batch, tuple(corpus.signs), tuple(corpus.weights), rules, options, k)
    return DeviceRankings(found, scores)


def _options(method: Any, already: Any) -> gpu.Options:
    if not isinstance(method, Mascot):
        raise OptionError(f"backend 'gpu' must have method Mascot, got {method!r}")
    if already is not None:
        raise OptionError("already needs arrays on the host, got tensors on the device")
    return gpu.options(method)


def _rules(wishes: Sequence[Wish]) -> tuple[str, ...]:
    rules = tuple(getattr(wish.attribute, "missing", "last") for wish in wishes)
    if "drop" in rules:
        raise OptionError("missing='drop' needs arrays on the host; tensors on the device take 'last' or 'neutral'")
    return rules


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
