"""The entry points: one query, many queries, or a corpus used by many queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mascot.bins import Floats, Ints
from mascot.candidates import Batch, Candidates, Id, TableLike, VectorsLike, as_corpus, as_ids, finite_scores
from mascot.errors import InputError, OptionError, check_whole, hashed, require
from mascot.fitting import FittedWishes, fit_wishes, join_fitted
from mascot.methods.mascot import Mascot
from mascot.methods.method import NO_POSITIONS, Method, Table
from mascot.ranking import Ranking, Rankings
from mascot.wishes import AnyWish, check_wishes

Already = Ranking[Any] | Iterable[Hashable] | None
Backend = Literal["auto", "numpy", "native", "gpu"]
_BACKENDS = ("auto", "numpy", "native", "gpu")
_GUARDED = Mascot()


def rerank(
    candidates: Candidates[Id],
    wishes: AnyWish | Sequence[AnyWish],
    k: int = 20,
    method: Method | None = None,
    already: Already = None,
    backend: Backend = "auto",
    *,
    strength: float | None = None,
    keep: float | None = None,
    protect: int | None = None,
    pin: Iterable[Hashable] = (),
) -> Ranking[Id]:
    """Select k of the candidates as the wishes ask.

    Parameters
    ----------
    candidates
        What the search returned. None at all give an empty ranking.
    wishes
        `spread(...)`, `focus(...)`, `limit(...)` and `share(...)`.
    k
        How many results; more than there are candidates gives all of them (default: 20).
    method
        The method (default: `Mascot()`, the guarded one).
    already
        The `Ranking` of the page before (which knows the pages before it), or the ids of everything that was shown: not
        shown again, and counted as covered. An id stands for all candidates that have it; ids that are not among the
        candidates are ignored.
    backend
        ``"auto"`` (default) is ``"native"`` where the C kernel was built, else ``"numpy"``. They select the same.
    strength, keep, protect
        Shorthand for the method's parameters of the same name.
    pin
        Ids of candidates that are always among the results: first, in this order. The others complete them: `k`, limits
        and shares count the pinned results, and their values are covered.

    Examples
    --------
    >>> import mascot as mc
    >>> hits = mc.Candidates(scores=[0.9, 0.8, 0.7], ids=["a", "b", "c"], columns={"city": ["Rome", "Rome", "Oslo"]})
    >>> mc.rerank(hits, mc.spread("city"), k=2).ids
    ['a', 'c']
    >>> mc.rerank(hits, mc.spread("city"), k=2, pin=["c"]).ids
    ['c', 'a']
    """
    method = _check(k, backend, method, strength, keep, protect)
    wishes = check_wishes(wishes, k)
    kind: Any = candidates
    if not isinstance(kind, Candidates):
        remedy = ": rerank_many ranks several queries" if isinstance(kind, Batch) else ""
        raise InputError(f"rerank needs Candidates, got {type(kind).__name__}{remedy}")
    fitted = fit_wishes(wishes, Table(candidates.columns, candidates.vectors), len(candidates))
    seen = _seen(already, candidates.ids)
    pinned = _pinned(pin, candidates.ids, k)
    ids, source = candidates.ids, candidates.source
    return _rank_one(fitted, None, candidates.scores, seen, ids, k, method, backend, pinned, source)


def rerank_many(
    candidates: Batch | Sequence[Candidates[Id]],
    wishes: AnyWish | Sequence[AnyWish],
    k: int = 20,
    method: Method | None = None,
    already: Sequence[Already] | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    *,
    strength: float | None = None,
    keep: float | None = None,
    protect: int | None = None,
) -> Rankings[Id]:
    """Select for many queries at once. Every query is ranked as `rerank` ranks it alone.

    Parameters
    ----------
    candidates
        A `Batch` of Q x N arrays, or a list of `Candidates`, which need not have the same columns. For
        ``backend="gpu"`` also a `mascot.gpu.DeviceBatch` of tensors that are on the device already.
    wishes, k, method, strength, keep, protect
        As for `rerank`, the same for every query.
    already
        One entry per query, each as for `rerank`: the `Rankings` of the page before, or a list of lists of ids
        (positions in a `Batch`), None where nothing was shown.
    backend
        As for `rerank`, or ``"gpu"``.
    threads
        How many threads share the queries (default: as many as there are cores). For `Mascot` on the native backend.

    Examples
    --------
    >>> import mascot as mc
    >>> batch = mc.Batch(scores=[[0.9, 0.8, 0.7]], columns={"city": [["Rome", "Rome", "Oslo"]]})
    >>> mc.rerank_many(batch, mc.spread("city"), k=2).positions.tolist()
    [[0, 2]]
    """
    method = _check(k, backend, method, strength, keep, protect, threads)
    wishes = check_wishes(wishes, k)
    if backend == "gpu" and not isinstance(candidates, (Batch, list, tuple)) and hasattr(candidates, "rank"):
        return candidates.rank(wishes, k, method, already)  # tensors on the device
    if isinstance(candidates, Batch):
        count, size = candidates.scores.shape
        fitted = fit_wishes(wishes, Table(candidates.columns, candidates.vectors), count * size, groups=count)
        ptr = np.arange(count + 1) * size
        seen = _seen_each(already, [range(size)] * count)
        scores = np.ascontiguousarray(candidates.scores).reshape(-1)
        return _rank_many(fitted, ptr, None, scores, seen, None, k, method, backend, threads)
    candidate_lists = _list_candidates(candidates)
    fitted = join_fitted([fit_wishes(wishes, Table(c.columns, c.vectors), len(c)) for c in candidate_lists])
    ptr = np.concatenate([[0], np.cumsum([len(c) for c in candidate_lists])]).astype(np.int64)
    ids = [c.ids for c in candidate_lists]
    seen = _seen_each(already, ids)
    scores = np.concatenate([c.scores for c in candidate_lists])
    rankings = _rank_many(fitted, ptr, None, scores, seen, ids, k, method, backend, threads)
    rankings.sources = [c.source for c in candidate_lists]
    return rankings


def _rank_one(
    fitted: FittedWishes, rows: Ints | None, scores: Floats, seen: Ints, ids: Sequence[Any], k: int, method: Method,
    backend: str, pinned: Ints = NO_POSITIONS, source: Sequence[Any] | None = None,
) -> Ranking[Any]:  # fmt: skip
    """Rank one query over fitted wishes."""
    ptr = np.array([0, len(scores)])
    before = np.setdiff1d(seen, pinned) if len(pinned) else seen
    covered = np.concatenate([before, pinned]) if len(pinned) else seen
    problem = fitted.problem(ptr, rows, scores, [covered], k, method, backend, pinned=pinned)
    selection = method.select(problem, max(k - len(pinned), 1))
    if len(pinned):
        if problem.remaining is not None:
            before = np.flatnonzero(np.isin(problem.remaining, before))
            pinned = np.searchsorted(problem.remaining, pinned)
        selection = selection.after(pinned, k - len(pinned))
        # For gains and explanations the pinned candidates are results, not results of earlier pages.
        problem = replace(problem, seen=before, seen_ptr=np.array([0, len(before)]))
    return Ranking(ids, scores, problem, selection, method, fitted, source)


def _rank_many(
    fitted: FittedWishes, ptr: Ints, rows: Ints | None, scores: Floats, seen: list[Ints] | None,
    ids: Sequence[Any] | None, k: int, method: Method, backend: str, threads: int | None,
) -> Rankings[Any]:  # fmt: skip
    """Rank many queries over fitted wishes."""
    if backend == "gpu" and not isinstance(method, Mascot):
        raise OptionError(f"backend 'gpu' must have the method Mascot, got {method!r}")
    problem = fitted.problem(ptr, rows, scores, seen, k, method, backend, threads)
    return Rankings(ids, ptr, scores, problem, method.select(problem, k), k, method, fitted)


class Reranker:
    """Wishes fitted once to a corpus, for many queries over it, also from several threads.

    The cost of a query does not grow with the corpus.

    Parameters
    ----------
    wishes, method
        As for `rerank`.

    Examples
    --------
    >>> import mascot as mc
    >>> ranker = mc.Reranker(mc.spread("city")).fit({"city": ["Rome", "Rome", "Oslo", "Lima"]})
    >>> ranker.rerank(rows=[0, 1, 3], scores=[0.9, 0.8, 0.7], k=2).ids
    [0, 3]
    """

    def __init__(self, wishes: AnyWish | Sequence[AnyWish], method: Method | None = None) -> None:
        self.wishes, self.method = check_wishes(wishes), check_method(method)
        self._fitted_wishes: FittedWishes | None = None
        self._ids: list[Hashable] | None = None

    def __repr__(self) -> str:
        state = "not fitted" if self._fitted_wishes is None else f"{self._fitted_wishes.rows} rows"
        return f"Reranker({list(self.wishes)!r}, {self.method!r}: {state})"

    def __len__(self) -> int:
        return 0 if self._fitted_wishes is None else self._fitted_wishes.rows

    def fit(
        self, columns: TableLike = None, vectors: VectorsLike = None, ids: Sequence[Hashable] | None = None
    ) -> Reranker:
        """Read the corpus: clusters are computed and labels numbered now; widths still follow each query's candidates.

        Parameters
        ----------
        columns, vectors
            As for `Candidates`: a value, or a vector, for each row of the corpus. Vectors are kept in float32.
        ids
            Hashable names of the rows (default: row numbers).
        """
        table, count = as_corpus(columns, vectors, "Reranker")
        names = None if ids is None else as_ids(ids, count, "Reranker", "rows")
        self._fitted_wishes, self._ids = fit_wishes(self.wishes, table, count), names
        return self

    def append(
        self, columns: TableLike = None, vectors: VectorsLike = None, ids: Sequence[Hashable] | None = None
    ) -> Reranker:
        """Add rows at the end; the rows before keep their numbers. Clusters are computed again over all rows."""
        fitted = self._require_fitted()
        (table,) = fitted.tables
        new, count = as_corpus(columns, vectors, "Reranker.append")
        if set(new.columns) != set(table.columns):
            raise InputError(f"Reranker.append needs the columns {sorted(table.columns)}, got {sorted(new.columns)}")
        for part, before, after in (("vectors", table.vectors, new.vectors), ("ids", self._ids, ids)):
            if (before is None) != (after is None):
                raise InputError(f"Reranker.append needs {part} exactly where fit had them")
        all_columns = {name: _append(column, new.columns[name]) for name, column in table.columns.items()}
        all_vectors = None if new.vectors is None else np.concatenate([table.vectors, new.vectors])
        names = None if ids is None else [*(self._ids or ()), *as_ids(ids, count, "Reranker.append", "rows")]
        refitted = fit_wishes(self.wishes, Table(all_columns, all_vectors), fitted.rows + count)
        if fitted.removed is not None:
            refitted = replace(refitted, removed=np.append(fitted.removed, np.zeros(count, bool)))
        self._fitted_wishes, self._ids = refitted, names
        return self

    def remove(self, ids: Iterable[Hashable]) -> Reranker:
        """Leave rows with these ids (row numbers, where `fit` had no ids) out of all further results."""
        fitted = self._require_fitted()
        removed_ids = hashed(ids, "Reranker.remove needs ids")
        names: Sequence[Hashable] = range(fitted.rows) if self._ids is None else self._ids
        removed = np.array([name in removed_ids for name in names], bool)
        if removed.sum() < len(removed_ids):
            missing = next(name for name in removed_ids if name not in set(names))
            raise InputError(f"Reranker.remove needs ids of the corpus, got {missing!r}")
        if fitted.removed is not None:
            removed |= fitted.removed
        self._fitted_wishes = replace(fitted, removed=removed)
        return self

    def save(self, path: str | Path) -> None:
        """Write wishes, method, bins and ids to one file, which `Reranker.load` reads."""
        from mascot.saving import save_reranker

        save_reranker(Path(path), self.wishes, self.method, self._require_fitted(), self._ids)

    @classmethod
    def load(cls, path: str | Path) -> Reranker:
        """Return the fitted `Reranker` that `save` wrote.

        Columns are not saved: methods other than `Mascot` need `fit`.
        """
        from mascot.saving import load_reranker

        wishes, method, fitted, ids = load_reranker(Path(path))
        ranker = cls(wishes, method)
        ranker._fitted_wishes, ranker._ids = fitted, ids
        return ranker

    def _require_fitted(self) -> FittedWishes:
        if self._fitted_wishes is None:
            raise InputError("Reranker must be fitted to a corpus first: call fit(columns, vectors)")
        return self._fitted_wishes

    def _ids_of(self, rows: Ints) -> list[Any]:
        return rows.tolist() if self._ids is None else [self._ids[row] for row in rows]

    def rerank(
        self, rows: ArrayLike, scores: ArrayLike, k: int = 20, already: Already = None, backend: Backend = "auto"
    ) -> Ranking[Any]:
        """Select k of the corpus rows that a search returned. `positions` count within `rows`.

        Parameters
        ----------
        rows, scores
            N rows of the corpus, counted from 0, and their scores.
        k, already, backend
            As for `mascot.rerank`.
        """
        _check(k, backend, self.method)
        check_wishes(self.wishes, k)
        fitted = self._require_fitted()
        corpus_rows = _corpus_rows(rows, fitted.rows)
        ids = self._ids_of(corpus_rows)
        seen = _seen(already, ids)
        return _rank_one(fitted, corpus_rows, _scores_for(scores, corpus_rows), seen, ids, k, self.method, backend)

    def rerank_many(
        self,
        rows: ArrayLike | Sequence[ArrayLike],
        scores: ArrayLike | Sequence[ArrayLike],
        k: int = 20,
        already: Sequence[Already] | None = None,
        backend: Backend = "auto",
        threads: int | None = None,
    ) -> Rankings[Any]:
        """Select for many queries over the corpus. Every query is ranked as `rerank` ranks it alone.

        Parameters
        ----------
        rows, scores
            Q x N arrays, or lists of arrays of several lengths.
        k, already, backend, threads
            As for `mascot.rerank_many`.
        """
        _check(k, backend, self.method, threads=threads)
        check_wishes(self.wishes, k)
        fitted = self._require_fitted()
        if backend == "gpu" and hasattr(scores, "__dlpack_device__") and not isinstance(scores, np.ndarray):
            from mascot.gpu.device_batch import rank_rows

            return rank_rows(fitted, rows, scores, k, self.method, already)
        ptr, flat_rows, flat_scores = _flatten(rows, scores, fitted.rows)
        ids: Any = flat_rows
        if already is not None or self._ids is not None:
            ids = [self._ids_of(flat_rows[a:b]) for a, b in pairwise(ptr)]
        seen = _seen_each(already, ids)
        return _rank_many(fitted, ptr, flat_rows, flat_scores, seen, ids, k, self.method, backend, threads)


def _append(column: Any, more: Any) -> Any:
    if column.dtype.kind == more.dtype.kind and column.dtype.kind != "O":
        return np.concatenate([column, more])
    joined = np.empty(len(column) + len(more), object)
    joined[: len(column)], joined[len(column) :] = column, more
    return joined


def _list_candidates(candidates: Any) -> list[Candidates[Any]]:
    candidate_lists = list(candidates) if isinstance(candidates, Iterable) else [candidates]
    wrong = [part for part in candidate_lists if not isinstance(part, Candidates)]
    if wrong or not isinstance(candidates, Iterable):
        type_name = type((wrong or [candidates])[0]).__name__
        raise InputError(f"rerank_many needs a Batch or a list of Candidates, got {type_name}")
    if not candidate_lists:
        raise InputError("rerank_many needs at least one query, got none")
    return candidate_lists


def _check(
    k: int, backend: str, method: Any, strength: float | None = None, keep: float | None = None,
    protect: int | None = None, threads: int | None = None,
) -> Method:  # fmt: skip
    check_whole("k", k, 1)
    require(k < 1 << 31, "k", "must be below 2**31", k)
    require(backend in _BACKENDS, "backend", f"must be one of {', '.join(_BACKENDS)}", backend)
    if threads is not None:
        check_whole("threads", threads, 1)
    base_method = check_method(method)
    options: dict[str, Any] = {"strength": strength, "keep": keep, "protect": protect}
    options = {name: value for name, value in options.items() if value is not None}
    if not options:
        return base_method
    names: set[str] = {f.name for f in fields(base_method)} if is_dataclass(base_method) else set()
    for name in options:
        require(name in names, name, f"is not a parameter of {type(base_method).__name__}", options[name])
    for name, other in (("keep", "strength"), ("strength", "keep")):  # one replaces the other
        if name in options and other in names:
            options.setdefault(other, None)
    return replace(base_method, **options)  # type: ignore[type-var]


def check_method(method: Any) -> Method:
    """Return the method, or the guarded one where it is None."""
    if method is None:
        return _GUARDED
    if isinstance(method, type) or not hasattr(method, "select"):
        raise OptionError(f"method must be a method such as Mascot() or Mmr(), got {method!r}")
    return method


def _seen(already: Already, ids: Sequence[Hashable]) -> Ints:
    """Return the positions of earlier results; ids that are not among the candidates are ignored."""
    if already is None:
        return NO_POSITIONS
    if not isinstance(already, Iterable) or isinstance(already, str):
        raise InputError(f"already must be a Ranking or a list of ids, got {already!r}")
    earlier_ids = [*already.shown_before, *already.ids] if isinstance(already, Ranking) else list(already)
    id_set = hashed(earlier_ids, "already must name candidates by their ids")
    return np.array([i for i, id_ in enumerate(ids) if id_ in id_set], np.int64)


def _pinned(pin: Iterable[Hashable], ids: Sequence[Hashable], k: int) -> Ints:
    """Return the position of each pinned id, in the order of `pin`."""
    if not isinstance(pin, Iterable) or isinstance(pin, str):
        raise InputError(f"pin must be a list of ids, got {pin!r}")
    pinned_ids = list(pin)
    if not pinned_ids:
        return NO_POSITIONS
    hashed(pinned_ids, "pin must name candidates by their ids")
    unique_ids = list(dict.fromkeys(pinned_ids))
    positions = {id_: position for position, id_ in reversed(list(enumerate(ids)))}
    unknown = [id_ for id_ in unique_ids if id_ not in positions]
    if unknown:
        raise InputError(f"pin must name candidates by their ids, got {unknown[0]!r}")
    require(len(unique_ids) <= k, "k", f"must be at least {len(unique_ids)}, as many as are pinned", k)
    return np.array([positions[id_] for id_ in unique_ids], np.int64)


def _seen_each(already: Sequence[Already] | None, ids: Sequence[Sequence[Hashable]]) -> list[Ints] | None:
    if already is None:
        return None
    entries = _per_query(already, "already")
    if len(entries) != len(ids):
        raise InputError(f"already must have {len(ids)} entries like the queries, got {len(entries)}")
    return [_seen(entry, query_ids) for entry, query_ids in zip(entries, ids, strict=True)]


def _per_query(entries: Any, owner: str) -> list[Any]:
    """Return one entry for each query."""
    if not isinstance(entries, Iterable) or isinstance(entries, (str, Ranking)):
        raise InputError(f"{owner} must have one entry for each query, got {entries!r:.80}")
    return list(entries)


def _flatten(rows: Any, scores: Any, count: int) -> tuple[Ints, Ints, Floats]:
    """Return rows and scores of all queries one after the other, and where each query starts."""
    arrays = isinstance(rows, np.ndarray) and isinstance(scores, np.ndarray)
    if arrays and rows.ndim == 2 and rows.shape == scores.shape:
        flat = _corpus_rows(rows.reshape(-1), count)
        return np.arange(len(rows) + 1) * rows.shape[1], flat, finite_scores(scores, 2).reshape(-1)
    query_rows = [_corpus_rows(r, count) for r in _per_query(rows, "rows")]
    if not query_rows:
        raise InputError("rerank_many needs at least one query, got none")
    parts = _per_query(scores, "scores")
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
