"""Wishes fitted to rows: from a corpus and its queries to problems, and from selections to rankings."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, SupportsIndex, overload

import numpy as np

from mascot.attributes.attribute import Columns, missing_rule
from mascot.errors import InputError, OptionError
from mascot.memberships import Floats, Ints, Membership, join
from mascot.packing import Packed, pack
from mascot.problem import Method, Problem, Queries, Selection, Selections
from mascot.ranking import Ranking
from mascot.starts import starting_rows
from mascot.wishes import Wish

_Bins = tuple[tuple[Membership, ...], list[Ints | None]]  # of each wish, and the rows that name where it starts


class Rankings(Sequence[Ranking]):
    """The rankings of a batch; an item is a whole `Ranking`.

    `positions` [Q, k] is all most callers need. Behind the last result of a query that has fewer than k stands -1.
    `ids` are those of the results, a list for each query; `strengths` [Q] what the method used.
    """

    def __init__(
        self, selections: Selections, k: int, kept: list[Ints] | None, ids: Sequence[Any] | None,
        make: Callable[[int], Ranking],
    ) -> None:  # fmt: skip
        self._make, self._all_ids = make, ids
        self.strengths: Floats = selections.strengths
        shown = selections.shown
        if kept is not None:  # positions among the candidates that were not dropped, back to all
            shown = np.stack([np.append(of, -1)[s] for s, of in zip(shown, kept, strict=True)])
        self.positions: Ints = shown
        if shown.shape[1] < k:  # no query has as many
            self.positions = np.full((len(shown), k), -1, np.int64)
            self.positions[:, : shown.shape[1]] = shown

    @cached_property
    def ids(self) -> list[list[Hashable]]:
        found = [shown[shown >= 0].tolist() for shown in self.positions]
        if self._all_ids is None:
            return found
        return [
            of[shown].tolist() if isinstance(of, np.ndarray) else [of[i] for i in shown]
            for of, shown in zip(self._all_ids, found, strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Its rankings, each with all that can be explained; the corpus stays behind."""
        return {**self.__dict__, "ids": self.ids, "_all_ids": None, "_make": list(self).__getitem__}

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, q: SupportsIndex) -> Ranking: ...

    @overload
    def __getitem__(self, q: slice) -> list[Ranking]: ...

    def __getitem__(self, q: SupportsIndex | slice) -> Ranking | list[Ranking]:
        if isinstance(q, slice):
            return [self[i] for i in range(*q.indices(len(self)))]
        q = operator.index(q)
        if not -len(self) <= q < len(self):
            raise IndexError(f"query {q} of {len(self)}")
        return self._make(q % len(self))

    def __iter__(self) -> Iterator[Ranking]:
        return (self._make(q) for q in range(len(self)))

    def __repr__(self) -> str:
        return f"Rankings({len(self)} queries, k={self.positions.shape[1]})"


class Corpus:
    """Wishes and the bins of the rows they are about."""

    def __init__(
        self, wishes: tuple[Wish, ...], columns: Columns, vectors: Floats | None, count: int, groups: int = 1
    ) -> None:
        self.wishes, self.columns, self.vectors, self.count = wishes, columns, vectors, count
        self.signs = np.array([float(wish.sign) for wish in wishes])
        self.weights = np.array([float(wish.weight) for wish in wishes])
        self.rules = tuple(missing_rule(wish.attribute) for wish in wishes)
        self._groups = groups
        self._parts: tuple[Corpus, ...] = ()
        self._bins: _Bins | None = None
        self._packed: Packed | None = None

    @classmethod
    def joined(cls, parts: Sequence[Corpus]) -> Corpus:
        """Several corpora side by side, one for each query. Bins are joined; columns and vectors need not be alike."""
        whole = cls(parts[0].wishes, {}, None, sum(p.count for p in parts))
        whole._parts = tuple(parts)
        return whole

    @property
    def members(self) -> tuple[Membership, ...]:
        return self._found()[0]

    @property
    def _near(self) -> list[Ints | None]:
        return self._found()[1]

    def _found(self) -> _Bins:
        """The bins, found where they are first asked for. They are set as one value: several threads may ask."""
        if self._bins is None:
            self._bins = self._find()
        return self._bins

    def _find(self) -> _Bins:
        if self._parts:
            return _side_by_side([p.members for p in self._parts], [p.count for p in self._parts])
        if self._groups > 1:
            return self._by_group()
        members = tuple(wish.membership(self.columns, self.vectors, self.count) for wish in self.wishes)
        return members, [np.array([self.count]) if m.rows > self.count else None for m in members]

    def __getstate__(self) -> dict[str, Any]:
        """Without the bins of a fitted corpus: they are found again, and their names are functions."""
        return {**self.__dict__, "_bins": None, "_packed": None}

    @property
    def packed(self) -> Packed:
        """The bins as arrays, laid out once."""
        if self._packed is None:
            self._packed = pack(self.members)
        return self._packed

    def _by_group(self) -> _Bins:
        """Bins of a batch. Attributes that look for their bins (`local`) do so query by query."""
        members: list[Membership] = []
        near: list[Ints | None] = []
        size = self.count // self._groups
        for wish in self.wishes:
            if not getattr(wish.attribute, "local", False):
                member = wish.membership(self.columns, self.vectors, self.count)
                members.append(member)
                near.append(np.full(self._groups, self.count) if member.rows > self.count else None)
                continue
            parts = []
            for first in range(0, self.count, size):
                some = slice(first, first + size)
                columns = {name: column[some] for name, column in self.columns.items()}
                parts.append((wish.membership(columns, None if self.vectors is None else self.vectors[some], size),))
            joined, at = _side_by_side(parts, [size] * self._groups)
            members += joined
            near += at
        return tuple(members), near

    def kept(self, rows: Ints) -> Ints | None:
        """Positions of the rows that no attribute drops; None where all stay."""
        out = np.zeros(len(rows), bool)
        for rule, member in zip(self.rules, self.members, strict=True):
            if rule == "drop":
                out |= member.missing[rows]
        return np.flatnonzero(~out) if out.any() else None

    def rank(
        self,
        rows: Ints,
        scores: Floats,
        seen: Ints,
        ids: Sequence[Hashable],
        k: int,
        method: Method,
        backend: str,
    ) -> Ranking:
        kept = self.kept(rows) if "drop" in self.rules else None
        problem = self._problem(rows, scores, seen, kept, 0, backend)
        if not len(problem.scores):
            return Ranking(ids, problem, self._none(), method, self.wishes, kept)
        return Ranking(ids, problem, method.select(problem, k), method, self.wishes, kept)

    def _problem(
        self, rows: Ints, scores: Floats, seen: Ints, kept: Ints | None, query: int, backend: str = "auto"
    ) -> Problem:
        if self._parts:  # the query's own: as `rank` alone has it
            own = self._parts[query]
            return own._problem(np.arange(own.count), scores, seen, kept, 0, backend)
        if kept is not None:
            rows, scores = rows[kept], scores[kept]
            seen = np.flatnonzero(np.isin(kept, seen))
        made: list[tuple[Membership, ...]] = []

        def memberships() -> tuple[Membership, ...]:
            if not made:
                parts = []
                for a, member in enumerate(self.members):
                    near = self._near[a]
                    if near is None:
                        parts.append(member.take(rows))
                    else:
                        point = near[min(query, len(near) - 1)]
                        (start,) = starting_rows(pack([member]), np.array([[point]]), [rows])
                        parts.append(member.take(np.append(rows, start), extra=1))
                made.append(tuple(parts))
            return made[0]

        def features() -> tuple[Floats, ...]:
            columns = {name: column[rows] for name, column in self.columns.items()}
            vectors = None if self.vectors is None else self.vectors[rows]
            return tuple(_features(wish.attribute, columns, vectors, len(rows)) for wish in self.wishes)

        return Problem(
            scores,
            self.signs,
            self.weights,
            memberships,
            features,
            self._unit(rows),
            seen,
            self.rules,
            backend,
        )

    def _unit(self, rows: Ints) -> Floats | None:
        if self.vectors is None:
            return None
        vectors = self.vectors[rows]
        length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        unit = vectors / np.where(length > 0, length, 1.0)[:, None]
        unit[np.isnan(length)] = 0.0  # a missing vector resembles nothing
        return unit

    def _none(self) -> Selection:
        """Of a query that lost all its candidates."""
        nothing, zeros = np.empty(0, np.int64), np.zeros(len(self.wishes))
        return Selection(nothing, nothing, 0.0, zeros, zeros)

    def rank_many(
        self, rows: list[Ints], scores: list[Floats], seen: list[Ints] | None, ids: Sequence[Any] | None,
        k: int, method: Method, backend: str, threads: int | None,
    ) -> Rankings:  # fmt: skip
        kept: list[Ints] | None = None
        if "drop" in self.rules:
            all_kept = [self.kept(r) for r in rows]
            kept = [np.arange(len(r)) if of is None else of for r, of in zip(rows, all_kept, strict=True)]
        nothing = np.empty(0, np.int64)

        def problem(q: int) -> Problem:
            shown = nothing if seen is None else seen[q]
            return self._problem(rows[q], scores[q], shown, None if kept is None else kept[q], q, backend)

        many = getattr(method, "select_many", None)
        if backend == "gpu" and many is None:
            raise OptionError(f"backend 'gpu' must have a method that selects there, such as Mascot, got {method!r}")
        if many is not None and backend != "numpy":
            selections: Selections = many(self._queries(rows, scores, seen, kept), k, threads, backend)
            for q, of in enumerate(kept or ()):
                if not len(of):
                    selections.strengths[q], selections.multipliers[q], selections.tops[q] = 0.0, 0.0, 0.0
        else:
            found = [
                method.select(one, k) if len(one.scores) else self._none() for one in map(problem, range(len(rows)))
            ]
            selections = _stacked(found, len(self.wishes))

        def make(q: int) -> Ranking:
            names: Any = range(len(rows[q])) if ids is None else ids[q]
            names = names.tolist() if isinstance(names, np.ndarray) else names
            of = None if kept is None else kept[q]
            return Ranking(names, problem(q), selections[q], method, self.wishes, of)

        return Rankings(selections, k, kept, ids, make)

    def _queries(
        self, rows: list[Ints], scores: list[Floats], seen: list[Ints] | None, kept: list[Ints] | None
    ) -> Queries:
        members = self.members
        if kept is not None:
            if seen is not None:
                seen = [np.flatnonzero(np.isin(of, shown)) for of, shown in zip(kept, seen, strict=True)]
            rows = [r[of] for r, of in zip(rows, kept, strict=True)]
            scores = [s[of] for s, of in zip(scores, kept, strict=True)]
        near = np.full((len(rows), len(members)), -1, np.int64)
        for a, at in enumerate(self._near):
            if at is not None:
                near[:, a] = at
        shown = seen if seen is not None else [np.empty(0, np.int64)] * len(rows)
        return Queries(
            ptr=np.cumsum([0] + [len(r) for r in rows]),
            rows=np.concatenate(rows),
            scores=np.concatenate(scores),
            signs=self.signs,
            weights=self.weights,
            rules=self.rules,
            memberships=members,
            near=starting_rows(self.packed, near, rows),
            seen_ptr=np.cumsum([0] + [len(s) for s in shown]),
            seen=np.concatenate(shown),
            packed=self.packed,
        )


def _side_by_side(parts: Sequence[tuple[Membership, ...]], counts: Sequence[int]) -> _Bins:
    """Per attribute one membership of all parts' rows, then all parts' starting points; and where those are."""
    members: list[Membership] = []
    near: list[Ints | None] = []
    total = sum(counts)
    for a in range(len(parts[0])):
        mine = [part[a] for part in parts]
        points = mine[0].rows > counts[0]
        members.append(join(mine, counts))
        near.append(total + np.arange(len(mine)) if points else None)
    return tuple(members), near


def _stacked(selections: Sequence[Selection], kinds: int) -> Selections:
    most = max(len(found.positions) for found in selections)
    positions = np.full((len(selections), most), -1, np.int64)
    shown = positions.copy()
    multipliers, tops = np.zeros((len(selections), kinds)), np.zeros((len(selections), kinds))
    for q, found in enumerate(selections):
        positions[q, : len(found.positions)], shown[q, : len(found.shown)] = found.positions, found.shown
        if len(found.multipliers):
            multipliers[q], tops[q] = found.multipliers, found.tops
    strengths = np.array([found.strength for found in selections])
    return Selections(positions, shown, strengths, multipliers, tops, max(found.protect for found in selections))


def _features(attribute: Any, columns: Columns, vectors: Floats | None, rows: int) -> Floats:
    """An attribute's features, checked: N rows of finite numbers."""
    owner = f"{type(attribute).__name__}.features"
    if not hasattr(attribute, "features"):
        raise InputError(f"{owner}(columns, vectors) is what this method compares by, got an attribute without it")
    given = attribute.features(columns, vectors)
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{owner} must be numbers in rows of one length, got {given!r:.60}") from None
    if array.ndim != 2:
        raise InputError(f"{owner} must be an array of two dimensions, got {array.ndim}")
    if len(array) != rows:
        raise InputError(f"{owner} must have {rows} rows, got {len(array)}")
    if not np.isfinite(array).all():
        raise InputError(
            f"{owner} must be finite (a missing value is a row of zeros), got {array[~np.isfinite(array)][0]}"
        )
    return array
