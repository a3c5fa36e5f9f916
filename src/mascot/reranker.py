"""A corpus that wishes are fitted to once, for many queries; it can be saved to a file and loaded."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mascot.attributes.columns import as_objects
from mascot.bins import Bins, Floats, Ints, SparseBins, VectorBins
from mascot.bins.saved_bins import check_saved, describe_bins, restore_bins, saved_array
from mascot.candidates import TableLike, VectorsLike, as_corpus, as_ids, finite_scores
from mascot.column_types import read_bare, with_vectors
from mascot.errors import InputError, OptionError, hashed, is_whole, quoted
from mascot.fitting.fitted_wishes import FittedWishes, Queries, fit_wishes, sort_wishes
from mascot.methods.method import Method, Table
from mascot.ranking import Ranking, Rankings
from mascot.registry import from_dict
from mascot.reranking import (
    Already,
    Backend,
    Near,
    Nears,
    Order,
    Pins,
    check_call,
    check_method,
    per_query,
    pinned_positions,
    positions_of,
    positions_of_each,
    rank_each,
    rank_one,
)
from mascot.wishes import AnyWish, check_wishes

_VERSION = 1  # of the file


class Reranker:
    """Wishes fitted once to a corpus, for many queries over it. Several threads may use one.

    The cost of a query does not grow with the corpus.

    Parameters
    ----------
    wishes, method
        As for `rerank`.

    Examples
    --------
    >>> import mascot as mc
    >>> ranker = mc.Reranker(mc.spread("city")).fit({"city": ["Rome", "Rome", "Oslo", "Lima"]})
    >>> ranker.rerank(rows=[0, 1, 3], scores=[0.9, 0.8, 0.7], k=2, strength=0.7).ids
    [0, 3]
    """

    def __init__(self, wishes: AnyWish | Sequence[AnyWish], method: Method | None = None) -> None:
        self.wishes, self.method = check_wishes(wishes), check_method(method)
        self._fitted_wishes: FittedWishes | None = None
        self._ids: list[Hashable] | None = None
        self._row_of: dict[Hashable, int] = {}  # of each id

    def __repr__(self) -> str:
        state = "not fitted" if self._fitted_wishes is None else f"{self._fitted_wishes.rows} rows"
        return f"Reranker({list(self.wishes)!r}, {self.method!r}: {state})"

    def __len__(self) -> int:
        return 0 if self._fitted_wishes is None else self._fitted_wishes.rows

    def fit(
        self, columns: TableLike = None, vectors: VectorsLike = None, ids: Sequence[Hashable] | None = None
    ) -> Reranker:
        """Read the corpus.

        Clusters are computed and labels are numbered now. Widths still follow the candidates of each query.

        Parameters
        ----------
        columns, vectors
            As for `Candidates`: a value, or a vector, for each row of the corpus. Vectors are kept in float32.
        ids
            Unique hashable names of the rows (default: row numbers).
        """
        table, count = as_corpus(columns, vectors, "Reranker")
        names = None if ids is None else as_ids(ids, count, "Reranker", "rows")
        row_of = _rows_by_id(names or (), "Reranker.ids")
        wishes = read_bare(self.wishes, [table.columns])
        fitted = fit_wishes(wishes, with_vectors(table, wishes), count)
        self._fitted_wishes, self._ids, self._row_of = fitted, names, row_of
        return self

    def append(
        self, columns: TableLike = None, vectors: VectorsLike = None, ids: Sequence[Hashable] | None = None
    ) -> Reranker:
        """Add rows at the end. Existing rows keep their numbers; clusters are computed again over all rows.

        A loaded `Reranker` cannot append, because a file holds bins and not the columns they were computed from.
        """
        fitted = self._require_fitted()
        (table,) = fitted.tables
        if not table.columns and table.vectors is None:  # loaded
            raise InputError("Reranker.append needs the columns of fit, which a file does not hold: fit all rows again")
        new, count = as_corpus(columns, vectors, "Reranker.append")
        new = with_vectors(new, fitted.wishes)
        if set(new.columns) != set(table.columns):
            raise InputError(f"Reranker.append needs the columns {sorted(table.columns)}, got {sorted(new.columns)}")
        for part, before, after in (("vectors", table.vectors, new.vectors), ("ids", self._ids, ids)):
            if (before is None) != (after is None):
                raise InputError(f"Reranker.append needs {part} if and only if fit had them")
        all_columns = {}
        for name, column in table.columns.items():
            more = new.columns[name]
            alike = column.dtype.kind == more.dtype.kind != "O"
            all_columns[name] = np.concatenate([column, more]) if alike else as_objects([*column, *more])
        all_vectors = None if new.vectors is None else np.concatenate([table.vectors, new.vectors])
        names = None if ids is None else [*(self._ids or ()), *as_ids(ids, count, "Reranker.append", "rows")]
        row_of = _rows_by_id(names or (), "Reranker.append.ids")
        refitted = fit_wishes(fitted.wishes, Table(all_columns, all_vectors), fitted.rows + count)
        if fitted.removed is not None:
            refitted = replace(refitted, removed=np.append(fitted.removed, np.zeros(count, bool)))
        self._fitted_wishes, self._ids, self._row_of = refitted, names, row_of
        return self

    def remove(self, ids: Iterable[Hashable]) -> Reranker:
        """Remove rows with these ids (row numbers, if `fit` had no ids) from all further results."""
        fitted = self._require_fitted()
        removed = np.zeros(fitted.rows, bool) if fitted.removed is None else fitted.removed.copy()
        removed[self.rows(ids)] = True
        self._fitted_wishes = replace(fitted, removed=removed)
        return self

    def save(self, path: str | Path) -> None:
        """Write wishes, method, bins and ids to one file, which `Reranker.load` reads.

        Arrays are written as numpy writes them, everything else as JSON.
        """
        fitted, ids = self._require_fitted(), self._ids
        arrays: dict[str, Any] = {}
        if not all(isinstance(id_, (str, int)) and not isinstance(id_, bool) for id_ in ids or ()):
            raise OptionError("Reranker.save needs ids that are text or whole numbers")

        def described(prefix: str, parts: Iterable[Bins]) -> list[dict[str, Any]]:
            return [describe_bins(bins, f"{prefix}{number}", arrays) for number, bins in enumerate(parts)]

        document = {
            "version": _VERSION, "rows": fitted.rows, "wishes": [wish.to_dict() for wish in fitted.wishes],
            "method": self.method.to_dict(), "ids": ids, "bins": described("bins", fitted.bins),
            "focuses": described("focus", (focus.bins for focus in fitted.focuses)),
            "labels": described("labels", fitted.labels),
        }  # fmt: skip
        if fitted.removed is not None:
            arrays["removed"] = fitted.removed
        arrays["document"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
        with Path(path).open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Reranker:
        """Return the fitted `Reranker` that `save` wrote. Nothing is unpickled.

        Columns are not saved: methods other than `Mascot` need `fit`.
        """
        with Path(path).open("rb") as file:
            try:
                return cls._restored(_saved_arrays(file))
            except Exception as error:  # a damaged file fails in any part of zipfile, numpy, json and the wishes
                rule = f"needs a file that Reranker.save wrote, got {str(path)!r}"
                raise InputError(f"Reranker.load {rule}: {str(error) or repr(error):.300}") from None

    @classmethod
    def _restored(cls, arrays: dict[str, Any]) -> Reranker:
        """Return the `Reranker` of these arrays, each of which is checked before it is used."""
        document = json.loads(bytes(arrays.pop("document")))
        check_saved(document["version"] == _VERSION, f"version {_VERSION} is needed, got {document['version']!r}")
        rows, ids = document["rows"], document["ids"]
        check_saved(is_whole(rows) and 1 <= rows < 1 << 31, f"the number of rows cannot be {rows!r}")
        if ids is not None:
            check_saved(len(ids) == rows and all(type(id_) in (str, int) for id_ in ids), "ids do not fit the rows")

        def restored(prefix: str, part: str) -> tuple[Any, ...]:
            parts = enumerate(document[part])
            return tuple(restore_bins(described, f"{prefix}{number}", arrays, rows) for number, described in parts)

        ranker = cls([from_dict(wish) for wish in document["wishes"]], from_dict(document["method"]))
        coverage, aims, _ = sort_wishes(ranker.wishes)
        focuses = tuple(wish.named_focus(bins) for wish, bins in zip(aims, restored("focus", "focuses"), strict=True))
        bins, labels = restored("bins", "bins"), restored("labels", "labels")
        check_saved(len(bins) == len(coverage), f"{len(coverage)} wishes have {len(bins)} sets of bins")
        check_saved(all(isinstance(part, (SparseBins, VectorBins)) for part in labels), "labels are not labels")
        removed = saved_array(arrays, "removed", "b", 1, rows) if "removed" in arrays else None
        ranker._fitted_wishes = FittedWishes(ranker.wishes, rows, (Table({}),), bins, focuses, labels, removed)
        ranker._ids, ranker._row_of = ids, _rows_by_id(ids or (), "ids")
        return ranker

    def _require_fitted(self) -> FittedWishes:
        if self._fitted_wishes is None:
            raise InputError("Reranker must be fitted to a corpus first: call fit(columns, vectors)")
        return self._fitted_wishes

    def _ids_of(self, rows: Ints) -> list[Any]:
        return rows.tolist() if self._ids is None else [self._ids[row] for row in rows]

    def rows(self, ids: Iterable[Hashable]) -> Ints:
        """Return the row number of each id of `fit`."""
        names: Any = ids if isinstance(ids, str) else list(ids)
        row_of: Any = self._row_of if self._ids is not None else range(len(self))
        for name in hashed(names, "Reranker needs ids of the corpus"):
            if name not in row_of:
                raise InputError(f"Reranker needs ids of the corpus, got {quoted(name)}")
        return np.array([row_of[name] for name in names], np.int64)

    def _row_numbers(self, rows: Any) -> Any:
        """Return row numbers unchanged, and ids as row numbers. A list of numbers that are ids too is refused."""
        if self._ids is None or not isinstance(rows, Iterable) or getattr(rows, "dtype", np.dtype("O")).kind in "iu":
            return rows
        entries = rows if isinstance(rows, str) else list(rows)
        if not all(map(is_whole, entries)):
            return self.rows(entries)
        if self._row_of.keys().isdisjoint(entries):
            return entries
        rule = "must be Reranker.rows(ids) or an array of row numbers, because ids are whole numbers too"
        raise InputError(f"rows {rule}, got {entries!r:.80}")

    def rerank(
        self,
        rows: ArrayLike | Sequence[Hashable],
        scores: ArrayLike,
        k: int = 20,
        already: Already = None,
        backend: Backend = "auto",
        *,
        strength: float | None = None,
        keep: float | None = None,
        protect: int | None = None,
        order: Order | None = None,
        pin: Pins = (),
        near: Near = None,
    ) -> Ranking[Any]:
        """Select k of the rows that a search returned. The `positions` of the ranking count within `rows`.

        Parameters
        ----------
        rows, scores
            N rows of the corpus, and their scores. Rows are whole numbers counted from 0, or ids. If ids are whole
            numbers too, pass ``ranker.rows(ids)``, or an array of row numbers.
        k, already, backend, strength, keep, protect, order, pin, near
            As for `mascot.rerank`.

        Examples
        --------
        >>> import mascot as mc
        >>> ranker = mc.Reranker(mc.focus(mc.Number("price"), near=10)).fit({"price": [5, 10, 20]}, ids=["a", "b", "c"])
        >>> ranker.rerank(["a", "b", "c"], [0.9, 0.8, 0.7], k=1, strength=1.0, near={"price": 20}).ids
        ['c']
        """
        options: Any = {"strength": strength, "keep": keep, "protect": protect, "order": order}
        call = check_call(k, backend, self.method, **options)
        check_wishes(self.wishes, k)
        fitted = self._require_fitted()
        if near is not None:
            fitted = fitted.near(near)
        corpus_rows = _corpus_rows(self._row_numbers(rows), fitted.rows)
        ids = self._ids_of(corpus_rows)
        ptr, row_scores = np.array([0, len(ids)]), _scores_for(scores, corpus_rows)
        (pinned, places), already_positions = pinned_positions(pin, ids, k), positions_of(already, ids)
        gone = [] if fitted.removed is None else pinned[fitted.removed[corpus_rows[pinned]]].tolist()
        if gone:
            raise InputError(f"pin must name rows that were not removed, got {quoted(ids[gone[0]])}")
        already_positions = already_positions[~np.isin(already_positions, pinned)]
        queries = Queries(ptr, row_scores, corpus_rows, [ids], [already_positions], pinned, places=places)
        return rank_one(fitted, queries, call)

    def rerank_many(
        self,
        rows: ArrayLike | Sequence[ArrayLike],
        scores: ArrayLike | Sequence[ArrayLike],
        k: int = 20,
        already: Sequence[Already] | None = None,
        backend: Backend = "auto",
        threads: int | None = None,
        *,
        strength: float | None = None,
        keep: float | None = None,
        protect: int | None = None,
        order: Order | None = None,
        pin: Sequence[Pins] | None = None,
        near: Nears = None,
    ) -> Rankings[Any]:
        """Select for many queries over the corpus. Every query is ranked as `rerank` ranks it alone.

        Parameters
        ----------
        rows, scores
            Q x N arrays, or lists of arrays or ids, whose lengths may differ.
        k, already, backend, threads, strength, keep, protect, order, pin, near
            As for `mascot.rerank_many`.
        """
        options: Any = {"strength": strength, "keep": keep, "protect": protect, "order": order}
        call = check_call(k, backend, self.method, threads, **options)
        check_wishes(self.wishes, k)
        fitted = self._require_fitted()
        if self._ids is not None and not isinstance(rows, np.ndarray):
            rows = [self._row_numbers(part) for part in per_query(rows, "rows")]
        ptr, flat_rows, flat_scores = _flatten(rows, scores, fitted.rows)
        ids: Any = flat_rows
        if already is not None or pin is not None or self._ids is not None:
            ids = [self._ids_of(flat_rows[a:b]) for a, b in pairwise(ptr)]
        queries = Queries(ptr, flat_scores, flat_rows, ids, positions_of_each(already, ids))
        return rank_each(fitted, queries, call, pin, near)


def _saved_arrays(file: Any) -> dict[str, Any]:
    """Return the arrays of a file. `save` does not compress, so they take no more memory than the file."""
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
    check_saved(all(member.compress_type == zipfile.ZIP_STORED for member in members), "it is compressed")
    check_saved(sum(member.file_size for member in members) <= size, "its parts are larger than the file")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _rows_by_id(ids: Sequence[Hashable], owner: str) -> dict[Hashable, int]:
    """Return the row of each id; raise if two rows have the same."""
    row_of = {id_: row for row, id_ in enumerate(ids)}
    if len(row_of) < len(ids):
        twice = next(id_ for row, id_ in enumerate(ids) if row_of[id_] != row)
        raise InputError(f"{owner} must be unique, got {quoted(twice)} twice")
    return row_of


def _flatten(rows: Any, scores: Any, count: int) -> tuple[Ints, Ints, Floats]:
    """Return where each query starts, and the rows and the scores of all queries, one query after the other."""
    arrays = isinstance(rows, np.ndarray) and isinstance(scores, np.ndarray)
    if arrays and rows.ndim == 2 and rows.shape == scores.shape:
        flat = _corpus_rows(rows.reshape(-1), count)
        return np.arange(len(rows) + 1) * rows.shape[1], flat, finite_scores(scores, 2).reshape(-1)
    query_rows = [_corpus_rows(r, count) for r in per_query(rows, "rows")]
    if not query_rows:
        raise InputError("rerank_many needs at least one query, got none")
    parts = per_query(scores, "scores")
    if len(parts) != len(query_rows):
        raise InputError(f"scores must have {len(query_rows)} queries like rows, got {len(parts)}")
    values = [_scores_for(s, r) for s, r in zip(parts, query_rows, strict=True)]
    ptr = np.concatenate([[0], np.cumsum([len(r) for r in query_rows])]).astype(np.int64)
    return ptr, np.concatenate(query_rows), np.concatenate(values)


def _scores_for(scores: ArrayLike, rows: Ints) -> Floats:
    checked = finite_scores(scores, 1)
    if len(checked) != len(rows):
        raise InputError(f"scores must have {len(rows)} values like rows, got {len(checked)}")
    return checked


def _corpus_rows(rows: ArrayLike, count: int) -> Ints:
    array = np.asarray(rows)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise InputError(f"rows must be a list of at least one row number, got {rows!r:.60}")
    array = array.astype(np.int64)
    if array.min() < 0 or array.max() >= count:
        wrong = array[(array < 0) | (array >= count)][0]
        raise InputError(f"rows must lie in 0..{count - 1}, got {wrong}")
    return array
