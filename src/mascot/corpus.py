"""Wishes fitted to rows: from a corpus and its queries to problems, and from selections to rankings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes.attribute import Columns, missing_rule
from mascot.errors import InputError, OptionError
from mascot.memberships import Floats, Ints, Membership, join
from mascot.packing import Packed, pack
from mascot.problem import Method, Problem, Queries, Selection, Selections
from mascot.ranking import Ranking
from mascot.starts import starting_rows
from mascot.wishes import Wish


class Rankings(Sequence[Ranking]):
    """The rankings of a batch; an item is a whole `Ranking`.

    `positions` [Q, k] is all most callers need. Behind the last result of a query that has fewer than k stands -1.
    """

    def __init__(self, selections: Selections, kept: list[Ints] | None, make: Callable[[int], Ranking]) -> None:
        self._make = make
        self.strengths: Floats = selections.strengths
        self.positions: Ints = selections.shown
        if kept is not None:  # positions among the candidates that were not dropped, back to all
            shown = selections.shown
            self.positions = np.stack(
                [np.where(s >= 0, np.append(of, -1)[s], -1) for s, of in zip(shown, kept, strict=True)]
            )

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, q: Any) -> Any:
        if isinstance(q, slice):
            return [self[i] for i in range(*q.indices(len(self)))]
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
        self._members: tuple[Membership, ...] | None = None
        self._near: list[Ints | None] = []
        self._groups = groups
        self._packed: Packed | None = None

    @classmethod
    def joined(cls, parts: Sequence[Corpus]) -> Corpus:
        """Several corpora side by side, each with bins of its own where bins are labels."""
        first = parts[0]
        for part in parts[1:]:
            if part.columns.keys() != first.columns.keys():
                raise InputError(
                    f"Candidates must all have the columns {sorted(first.columns)}, got {sorted(part.columns)}"
                )
        columns = {name: np.concatenate([_wide(p.columns[name]) for p in parts]) for name in first.columns}
        given = [part.vectors for part in parts if part.vectors is not None]
        if 0 < len(given) < len(parts):
            raise InputError(f"Candidates must all have vectors or none, got {len(given)} of {len(parts)} with them")
        vectors = np.concatenate(given) if given else None
        whole = cls(first.wishes, columns, vectors, sum(p.count for p in parts))
        whole._members, whole._near = _side_by_side([p.members for p in parts], [p.count for p in parts])
        return whole

    @property
    def members(self) -> tuple[Membership, ...]:
        if self._members is None:
            if self._groups > 1:
                self._members, self._near = self._by_group()
            else:
                self._members = tuple(wish.membership(self.columns, self.vectors, self.count) for wish in self.wishes)
                self._near = [np.array([self.count]) if m.rows > self.count else None for m in self._members]
        return self._members

    def __getstate__(self) -> dict[str, Any]:
        """Without the bins of a fitted corpus: they are found again, and their names are functions."""
        return {**self.__dict__, "_members": None, "_near": [], "_packed": None}

    @property
    def packed(self) -> Packed:
        """The bins as arrays, laid out once."""
        if self._packed is None:
            self._packed = pack(self.members)
        return self._packed

    def _by_group(self) -> tuple[tuple[Membership, ...], list[Ints | None]]:
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

        def columns() -> dict[str, NDArray[Any]]:
            return {name: column[rows] for name, column in self.columns.items()}

        def features() -> tuple[Floats, ...]:
            vectors = None if self.vectors is None else self.vectors[rows]
            return tuple(wish.attribute.features(columns(), vectors) for wish in self.wishes)

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
            selections = _stacked(found, k, len(self.wishes))

        def make(q: int) -> Ranking:
            names: Any = range(len(rows[q])) if ids is None else ids[q]
            names = names.tolist() if isinstance(names, np.ndarray) else names
            of = None if kept is None else kept[q]
            return Ranking(names, problem(q), selections[q], method, self.wishes, of)

        return Rankings(selections, kept, make)

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


def _side_by_side(
    parts: Sequence[tuple[Membership, ...]], counts: Sequence[int]
) -> tuple[tuple[Membership, ...], list[Ints | None]]:
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


def _stacked(selections: Sequence[Selection], k: int, kinds: int) -> Selections:
    positions = np.full((len(selections), k), -1, np.int64)
    shown = positions.copy()
    multipliers, tops = np.zeros((len(selections), kinds)), np.zeros((len(selections), kinds))
    for q, found in enumerate(selections):
        positions[q, : len(found.positions)], shown[q, : len(found.shown)] = found.positions, found.shown
        if len(found.multipliers):
            multipliers[q], tops[q] = found.multipliers, found.tops
    strengths = np.array([found.strength for found in selections])
    return Selections(positions, shown, strengths, multipliers, tops, max(found.protect for found in selections))


def _wide(column: NDArray[Any]) -> NDArray[Any]:
    """Text as objects, so that columns of several widths and types stand side by side."""
    return column.astype(object) if column.dtype.kind in "USO" else column
