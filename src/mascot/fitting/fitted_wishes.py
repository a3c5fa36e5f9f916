"""Wishes fitted to rows: from columns and wishes to the arrays of a `Problem`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mascot.attributes.vectors import Vectors
from mascot.bins import AxisBins, Bins, Bools, Floats, GlobeBins, Ints, SparseBins, VectorBins
from mascot.constraints import Constraint, labels_of_rows
from mascot.errors import InputError, OptionError, require
from mascot.kernels.counters import MOST_RULES, Rule
from mascot.methods.mascot import DEFAULT_STRENGTH
from mascot.methods.method import ALL_REMAIN, NO_POSITIONS, Method, Problem, Remaining, Table
from mascot.methods.named_focus import NamedFocus, aim_scores
from mascot.wishes import AnyWish, Wish

LEAST_WEIGHT = 1e-150  # smaller weights count as this: products with them would underflow


class MixedBins(Exception):
    """One attribute has bins of different kinds in different queries, which are ranked one by one."""


SortedWishes = tuple[tuple[Wish, ...], tuple[Wish, ...], tuple[Constraint, ...]]


class Queries(NamedTuple):
    """The candidates of Q queries, one query after the other."""

    ptr: Ints  # [Q + 1]: query q has the candidates ptr[q] .. ptr[q + 1]
    scores: Floats  # [T]
    rows: Ints | None = None  # [T] rows that the wishes were fitted to; None: candidate t is row t
    ids: Sequence[Any] | Ints | None = None  # a list for each query, or an array [T]; None: positions
    already: Sequence[Ints] | None = None  # positions in each query that earlier pages showed
    pinned: Ints = NO_POSITIONS  # in a single query: positions that are results, count for rules and are never dropped
    sources: Sequence[Any] | None = None  # for each query the records of its candidates, or None
    places: Sequence[int] | None = None  # of the pinned, from 0; None: they come first

    def ids_of(self, q: int) -> Sequence[Any]:
        if self.ids is not None and not isinstance(self.ids, np.ndarray):
            return self.ids[q]
        start, end = int(self.ptr[q]), int(self.ptr[q + 1])
        return range(end - start) if self.ids is None else self.ids[start:end].tolist()

    def already_rows(self, q: int) -> Ints:
        """Return the rows of the results of earlier pages of one query, in the order in which they were shown."""
        positions = NO_POSITIONS if self.already is None else self.ptr[q] + self.already[q]
        return positions if self.rows is None else self.rows[positions]

    def only(self, q: int) -> Queries:
        """Return one query."""
        start, end = int(self.ptr[q]), int(self.ptr[q + 1])
        ptr, scores = np.array([0, end - start]), self.scores[start:end]
        rows = np.arange(start, end) if self.rows is None else self.rows[start:end]
        already, sources = (None if parts is None else [parts[q]] for parts in (self.already, self.sources))
        return Queries(ptr, scores, rows, [self.ids_of(q)], already, sources=sources)


class Call(NamedTuple):
    """How to rank."""

    k: int
    method: Method
    backend: str = "auto"
    threads: int | None = None


@dataclass(eq=False, slots=True)
class FittedWishes:
    """Wishes, and the bins and labels of the rows that they were fitted to."""

    wishes: tuple[AnyWish, ...]
    rows: int
    tables: tuple[Table, ...]  # one for all rows, or one for each query
    bins: tuple[Bins, ...]  # of the coverage wishes
    focuses: tuple[NamedFocus, ...]  # of the aims
    labels: tuple[SparseBins | VectorBins, ...]  # of the constraints
    removed: Bools | None = None  # [rows] rows that were removed
    sorted_wishes: InitVar[SortedWishes | None] = None  # if the caller has sorted them
    own_table: bool = field(default=False, kw_only=True)  # whether the table is that of the only query
    coverage: tuple[Wish, ...] = field(init=False)  # spread, and focus without a named value
    aims: tuple[Wish, ...] = field(init=False)  # focus with a named value
    constraints: tuple[Constraint, ...] = field(init=False)
    rules: tuple[Rule, ...] = field(init=False)  # of the constraints; capacities of shares depend on k
    dropping: tuple[Bins, ...] = field(init=False)  # bins and labels whose rows without a value are dropped
    signs: Floats = field(init=False)  # of the coverage wishes, as in `Problem`
    weights: Floats = field(init=False)
    missing: tuple[str, ...] = field(init=False)

    def __post_init__(self, sorted_wishes: SortedWishes | None) -> None:
        self.coverage, self.aims, self.constraints = sorted_wishes or sort_wishes(self.wishes)
        self.signs = np.array([float(wish.sign) for wish in self.coverage])
        self.weights = np.array([max(float(wish.weight), LEAST_WEIGHT) for wish in self.coverage])
        self.missing = tuple([wish.missing for wish in self.coverage])  # faster than of a generator
        bins = *self.bins, *[focus.bins for focus in self.focuses], *self.labels
        sorted_ = *self.coverage, *self.aims, *self.constraints
        self.dropping = tuple([own for wish, own in zip(sorted_, bins, strict=True) if wish.missing == "drop"])
        self.rules = tuple([wish.rule(labels) for wish, labels in zip(self.constraints, self.labels, strict=True)])

    def near(self, values: Mapping[str, Any]) -> FittedWishes:
        """Return the same with other values of named focuses, by the names of their attributes."""
        require(isinstance(values, Mapping), "near", "must be a dictionary of name: value", values)
        names = [wish.attribute.name for wish in self.aims]
        for name, value in values.items():
            require(name in names, f"near[{name!r}]", f"must be a focus with near: {', '.join(names) or 'none'}", value)
        changed = {id(wish): replace(wish, near=values.get(wish.attribute.name, wish.near)) for wish in self.aims}
        result = copy(self)  # bins and rules of the corpus are not computed again
        result.aims, result.wishes = tuple(changed.values()), tuple(changed.get(id(w), w) for w in self.wishes)
        pairs = zip(result.aims, self.focuses, strict=True)
        result.focuses = tuple(wish.named_focus(focus.bins) for wish, focus in pairs)
        return result

    def only(self, q: int) -> FittedWishes:
        """Return the same for one query."""
        result = copy(self)
        if len(self.tables) > 1:
            result.tables, result.own_table = (self.tables[q],), True
        return result

    def dropped(self, rows: Ints | None) -> Bools | None:
        """Return which candidates are dropped because they were removed or lack a value; None: no candidate is."""
        masks = [bins.missing(rows) for bins in self.dropping]
        if self.removed is not None:
            masks.append(self.removed if rows is None else self.removed[rows])
        mask = np.logical_or.reduce(masks) if masks else None
        return mask if mask is not None and mask.any() else None

    def problem(self, queries: Queries, call: Call) -> Problem:
        """Return the problem that a method solves: bins, rules, and scores with named focuses blended in."""
        ptr, scores, rows, tables = queries.ptr, queries.scores, queries.rows, self.tables
        already, pinned = queries.already, queries.pinned
        rules = tuple([wish.for_k(rule, call.k) for wish, rule in zip(self.constraints, self.rules, strict=True)])
        remaining, dropped = ALL_REMAIN, self.dropped(rows)
        if dropped is not None:
            dropped = dropped.copy()
            dropped[pinned] = False
            remaining, rest = Remaining.without(dropped, ptr), np.flatnonzero(~dropped)
            ptr, scores, rows = remaining.ptr, scores[rest], rest if rows is None else rows[rest]
            if len(tables) > 1 or self.own_table:
                tables = tuple(table.take(np.asarray(remaining.of(q))) for q, table in enumerate(tables))
            if already is not None:
                already = [remaining.from_input(q, positions) for q, positions in enumerate(already)]
            pinned = remaining.from_input(0, pinned)
        already_ptr = already_flat = None
        if already is not None and any(map(len, already)):
            already_ptr = np.concatenate([[0], np.cumsum([len(positions) for positions in already])]).astype(np.int64)
            already_flat = np.concatenate(already).astype(np.int64)
        named_weight = 0.0
        if self.focuses:
            named_weight = float(sum(focus.weight for focus in self.focuses))
            strength = getattr(call.method, "strength", None)
            strength = DEFAULT_STRENGTH if strength is None else float(strength)
            robust = getattr(call.method, "robust", True)
            located = [focus.located(queries) for focus in self.focuses]
            scores = aim_scores(scores, ptr, rows, located, call.k, strength, robust)
        return Problem(
            ptr=ptr, scores=scores, rows=rows, bins=self.bins, tables=tables, own_tables=self.own_table,
            signs=self.signs, weights=self.weights, missing=self.missing,
            attributes=tuple([wish.attribute for wish in self.coverage]), already_ptr=already_ptr, already=already_flat,
            remaining=remaining, rules=rules, named_weight=named_weight, backend=call.backend, threads=call.threads,
            before=None if queries.already is None else [queries.already_rows(q) for q in range(len(ptr) - 1)],
            pinned=dict(zip(queries.places or range(len(pinned)), pinned.tolist(), strict=True)),
        )  # fmt: skip


def fit_wishes(wishes: tuple[AnyWish, ...], table: Table, rows: int, groups: int = 1) -> FittedWishes:
    """Compute the bins and labels of all rows, which are `groups` queries of equal size.

    Attributes whose bins depend on the other rows (`local`) compute them for each query.
    """
    coverage, aims, constraints = sorted_wishes = sort_wishes(wishes)

    def by_group(make: Any, attribute: Any) -> Any:
        if groups == 1 or isinstance(attribute, Vectors) or not getattr(attribute, "local", False):
            return make(table.columns, table.vectors if isinstance(attribute, Vectors) else table.floats, rows)
        size = rows // groups
        parts = (table.take(np.arange(first, first + size)) for first in range(0, rows, size))
        return _join_by_name([make(part.columns, part.floats, size) for part in parts])

    bins = tuple([by_group(wish.bins, wish.attribute) for wish in coverage])
    focuses = tuple([wish.named_focus(by_group(wish.bins, wish.attribute)) for wish in aims])
    labels = tuple([by_group(partial(labels_of_rows, wish), wish.attribute) for wish in constraints])
    return FittedWishes(wishes, rows, (table,), bins, focuses, labels, None, sorted_wishes)


def sort_wishes(wishes: Sequence[AnyWish]) -> SortedWishes:
    """Return the coverage wishes, the focuses with a named value, and the limits and shares."""
    groups: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for wish in wishes:
        groups[2 if not isinstance(wish, Wish) else wish.near is not None].append(wish)
    coverage, aims, constraints = map(tuple, groups)
    if len(constraints) > MOST_RULES:
        raise OptionError(f"wishes must have at most {MOST_RULES} limits and shares, got {len(constraints)}")
    return coverage, aims, constraints


def join_fitted(parts: Sequence[FittedWishes]) -> FittedWishes:
    """Return the rows of several queries, one query after the other. Their columns may differ."""
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
    """Join bins, one part after the other. Labels, which each part numbers for itself, get one numbering by name."""
    if not all(isinstance(part, SparseBins) and part.labels is not None for part in parts):
        return _join_bins(parts)
    names: dict[str, int] = {}
    renumbered: list[Bins] = []
    for part in parts:
        codes = [names.setdefault(label, len(names)) for label in part.labels] or [0]
        renumbered.append(replace(part, indices=np.array(codes, np.int64)[part.indices], labels=None))
    return replace(_join_bins(renumbered), count=max(len(names), 1), labels=tuple(names))  # type: ignore[type-var]


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
        columns = zip(*((p.lat, p.lon) for p in globes), strict=True)
        lat, lon = (np.concatenate(column) for column in columns)
        return replace(first, lat=lat, lon=lon)
    if isinstance(first, VectorBins):
        vectors = [p.vectors for p in parts if isinstance(p, VectorBins)]
        sizes = sorted({part.shape[1] for part in vectors})
        if len(sizes) > 1:
            raise InputError(f"Vectors must have one length in all queries, got {' and '.join(map(str, sizes))}")
        return replace(first, vectors=np.concatenate(vectors))
    if not all(isinstance(part, SparseBins) for part in parts):
        raise MixedBins
    rows = [part.sparse() for part in parts]
    starts = np.cumsum([0, *(len(part.indices) for part in rows)])
    values = None
    if any(part.values is not None for part in rows):
        values = np.concatenate([np.ones(len(p.indices)) if p.values is None else p.values for p in rows])
    return SparseBins(
        np.concatenate([[0], *(part.indptr[1:] + at for part, at in zip(rows, starts, strict=False))]),
        np.concatenate([part.indices for part in rows]), values, max(part.count for part in rows),
    )  # fmt: skip
