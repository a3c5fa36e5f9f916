"""Wishes fitted to rows: from columns and wishes to the arrays of a `Problem`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from mascot.attributes.attribute import missing_rule
from mascot.bins import AxisBins, Bins, Bools, Floats, GlobeBins, Ints, SparseBins
from mascot.errors import OptionError
from mascot.kernels.native import MOST_QUOTAS
from mascot.kernels.reference import Quota
from mascot.methods.mascot import DEFAULT_STRENGTH
from mascot.methods.method import NO_POSITIONS, Method, Problem, Table
from mascot.methods.named_focus import NamedFocus, aim_scores
from mascot.wishes import AnyWish, Limit, Share, Wish, labels_of_rows

LEAST_WEIGHT = 1e-150  # smaller weights count as this: products with them would underflow


@dataclass(eq=False, slots=True)
class FittedWishes:
    """Wishes, and the bins and labels of the rows they are about."""

    wishes: tuple[AnyWish, ...]
    rows: int
    tables: tuple[Table, ...]  # one for all rows, or one for each query
    bins: tuple[Bins, ...]  # of the coverage wishes
    focuses: tuple[NamedFocus, ...]  # of the aims
    labels: tuple[SparseBins, ...]  # of the constraints
    removed: Bools | None = None  # [rows] rows that were removed
    coverage: tuple[Wish, ...] = field(init=False)  # spread, and focus without a named value
    aims: tuple[Wish, ...] = field(init=False)  # focus with a named value
    constraints: tuple[Limit | Share, ...] = field(init=False)
    quotas: tuple[Quota, ...] = field(init=False)  # of the constraints; capacities of shares depend on k

    def __post_init__(self) -> None:
        self.coverage, self.aims, self.constraints = sort_wishes(self.wishes)
        self.quotas = tuple(wish.quota(labels) for wish, labels in zip(self.constraints, self.labels, strict=True))

    @property
    def may_drop(self) -> bool:
        """Whether candidates may be dropped."""
        wishes = (*self.coverage, *self.aims)
        return self.removed is not None or any(missing_rule(wish.attribute) == "drop" for wish in wishes)

    def dropped(self, rows: Ints | None) -> Bools | None:
        """Return which candidates are left out, because they were removed or miss a value; None: none."""
        all_bins = (*self.bins, *(focus.bins for focus in self.focuses))
        binned = zip((*self.coverage, *self.aims), all_bins, strict=True)
        masks = [bins.missing(rows) for wish, bins in binned if missing_rule(wish.attribute) == "drop"]
        if self.removed is not None:
            masks.append(self.removed if rows is None else self.removed[rows])
        mask = np.logical_or.reduce(masks) if masks else None
        return mask if mask is not None and mask.any() else None

    def problem(
        self, ptr: Ints, rows: Ints | None, scores: Floats, seen: Sequence[Ints] | None, k: int, method: Method,
        backend: str, threads: int | None = None, pinned: Ints = NO_POSITIONS,
    ) -> Problem:  # fmt: skip
        """Return the problem of Q queries.

        `ptr` [Q + 1], `rows` [T] and `scores` [T] are those of `Problem`. `seen` are the positions in each query that
        earlier pages showed; `pinned`, in a single query, those of them that count towards the quotas and are never
        left out.
        """
        quotas = tuple(
            _reduced(wish.for_k(quota, k), pinned if rows is None else rows[pinned])
            for wish, quota in zip(self.constraints, self.quotas, strict=True)
        )
        dropped = self.dropped(rows) if self.may_drop else None
        if dropped is not None and len(pinned):
            dropped = dropped.copy()
            dropped[pinned] = False
        remaining: Ints | None = None
        tables = self.tables
        if dropped is not None:
            remaining = np.flatnonzero(~dropped)
            rows = remaining if rows is None else rows[remaining]
            starts = np.repeat(ptr[:-1], np.diff(ptr))
            within = (remaining - starts[remaining]).astype(np.int64)  # positions in the query
            scores = scores[remaining]
            counts = np.add.reduceat(np.append(~dropped, False), ptr[:-1]) * (np.diff(ptr) > 0)
            shorter = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            parts = [within[a:b] for a, b in pairwise(shorter)]
            if len(tables) > 1:
                tables = tuple(table.take(part) for table, part in zip(tables, parts, strict=True))
            if seen is not None:
                seen = [np.flatnonzero(np.isin(part, of)) for of, part in zip(seen, parts, strict=True)]
            ptr, remaining = shorter, within
        seen_ptr = seen_flat = None
        if seen is not None and any(len(of) for of in seen):
            seen_ptr = np.concatenate([[0], np.cumsum([len(of) for of in seen])]).astype(np.int64)
            seen_flat = np.concatenate(seen).astype(np.int64)
        coverage = self.coverage
        named_weight = float(sum(focus.weight for focus in self.focuses))
        if self.focuses:
            strength = getattr(method, "strength", None)
            strength = DEFAULT_STRENGTH if strength is None else float(strength)
            scores = aim_scores(scores, ptr, rows, self.focuses, k, strength, getattr(method, "robust", True))
        return Problem(
            ptr=ptr, scores=scores, rows=rows, bins=self.bins, tables=tables,
            signs=np.array([float(wish.sign) for wish in coverage]),
            weights=np.array([max(float(wish.weight), LEAST_WEIGHT) for wish in coverage]),
            rules=tuple(missing_rule(wish.attribute) for wish in coverage),
            attributes=tuple(wish.attribute for wish in coverage),
            seen_ptr=seen_ptr, seen=seen_flat, remaining=remaining,
            quotas=quotas, named_weight=named_weight, aimed=bool(self.focuses), backend=backend, threads=threads,
        )  # fmt: skip


def _reduced(quota: Quota, rows: Ints) -> Quota:
    """Return what a quota leaves beside results that are rows `rows`."""
    if not len(rows):
        return quota
    labels = np.concatenate([quota.of(int(row)) for row in rows])
    counts = np.bincount(labels, minlength=len(quota.capacity))
    return replace(quota, capacity=np.maximum(quota.capacity - counts, 0))


def fit_wishes(wishes: tuple[AnyWish, ...], table: Table, rows: int, groups: int = 1) -> FittedWishes:
    """Compute the bins and labels of all rows; with `groups`, the rows are that many queries of equal size.

    Attributes that search for their bins (`local`) do so in each query.
    """
    coverage, aims, constraints = sort_wishes(wishes)
    vectors = table.floats

    def by_group(make: Any, attribute: Any) -> Any:
        if groups == 1 or not getattr(attribute, "local", False):
            return make(table.columns, vectors, rows)
        size = rows // groups
        parts = []
        for first in range(0, rows, size):
            part = table.take(np.arange(first, first + size))
            parts.append(make(part.columns, part.floats, size))
        return _join_by_name(parts)

    bins = tuple(by_group(wish.bins, wish.attribute) for wish in coverage)
    focuses = tuple(wish.named_focus(by_group(wish.bins, wish.attribute)) for wish in aims)
    labels = tuple(by_group(partial(labels_of_rows, wish), wish.attribute) for wish in constraints)
    return FittedWishes(wishes, rows, (table,), bins, focuses, labels)


def sort_wishes(wishes: Sequence[AnyWish]) -> tuple[tuple[Wish, ...], tuple[Wish, ...], tuple[Limit | Share, ...]]:
    """Return the coverage wishes, the focuses with a named value, and the limits and shares."""
    groups: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for wish in wishes:
        groups[2 if not isinstance(wish, Wish) else wish.near is not None].append(wish)
    coverage, aims, constraints = map(tuple, groups)
    if len(constraints) > MOST_QUOTAS:
        raise OptionError(f"wishes must have at most {MOST_QUOTAS} limits and shares, got {len(constraints)}")
    return coverage, aims, constraints


def join_fitted(parts: Sequence[FittedWishes]) -> FittedWishes:
    """Return the rows of several queries side by side; their columns need not be alike."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def joined(bins_of: Callable[[FittedWishes], Iterable[Bins]]) -> tuple[Any, ...]:
        return tuple(_join_by_name(list(own)) for own in zip(*map(bins_of, parts), strict=True))

    tables = tuple(table for part in parts for table in part.tables)
    aimed = joined(lambda part: [focus.bins for focus in part.focuses])
    focuses = tuple(replace(focus, bins=bins) for focus, bins in zip(first.focuses, aimed, strict=True))
    bins, labels = joined(lambda part: part.bins), joined(lambda part: part.labels)
    return FittedWishes(first.wishes, sum(part.rows for part in parts), tables, bins, focuses, labels)


def _join_by_name(parts: list[Any]) -> Any:
    """Join bins side by side; labels, numbered on their own in each part, get one numbering by name."""
    if not all(isinstance(part, SparseBins) and part.labels is not None for part in parts):
        return _join_bins(parts)
    names: dict[tuple[str, int], int] = {}  # 1 and "1" are two labels with one name: they are counted
    renumbered: list[Bins] = []
    for part in parts:
        occurrences = Counter[str]()
        codes = []
        for label in part.labels:
            codes.append(names.setdefault((label, occurrences[label]), len(names)))
            occurrences[label] += 1
        codes = codes or [0]
        renumbered.append(replace(part, indices=np.array(codes, np.int64)[part.indices], labels=None))
    return replace(_join_bins(renumbered), count=max(len(names), 1), labels=tuple(name for name, _ in names))  # type: ignore[type-var]


def _join_bins(parts: Sequence[Bins]) -> Bins:
    """Return the rows of all parts, one part after the other.

    Kernels look at one query at a time, so bins of different parts may share numbers; names are taken from the parts.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, AxisBins) and all(isinstance(p, AxisBins) and p.axes == first.axes for p in parts):
        columns = zip(*(p.values for p in parts if isinstance(p, AxisBins)), strict=True)
        return replace(first, values=tuple(np.concatenate(column) for column in columns))
    if isinstance(first, GlobeBins) and all(isinstance(p, GlobeBins) and p.sigma_km == first.sigma_km for p in parts):
        globes = [p for p in parts if isinstance(p, GlobeBins)]
        return replace(first, lat=np.concatenate([p.lat for p in globes]), lon=np.concatenate([p.lon for p in globes]))
    rows = [part.sparse() for part in parts]
    starts = np.cumsum([0, *(len(part.indices) for part in rows)])
    values = None
    if any(part.values is not None for part in rows):
        values = np.concatenate([np.ones(len(p.indices)) if p.values is None else p.values for p in rows])
    return SparseBins(
        np.concatenate([[0], *(part.indptr[1:] + at for part, at in zip(rows, starts, strict=False))]),
        np.concatenate([part.indices for part in rows]), values, max(part.count for part in rows),
    )  # fmt: skip
