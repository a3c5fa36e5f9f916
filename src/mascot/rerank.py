"""The entry points: one query, many queries, or a corpus used by many queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mascot.candidates import Batch, Candidates, as_corpus, as_ids, finite_scores, hashed
from mascot.corpus import Corpus, Rankings
from mascot.errors import InputError, OptionError, check_whole, require
from mascot.memberships import Floats, Ints
from mascot.methods.mascot import Mascot
from mascot.problem import Method, Selections
from mascot.ranking import Ranking
from mascot.wishes import Wish

Already = Ranking | Iterable[Hashable] | None
_BACKENDS = ("auto", "numpy", "numba", "gpu")
_GUARDED = Mascot()


def rerank(
    candidates: Candidates,
    wishes: Wish | Sequence[Wish],
    k: int = 20,
    method: Method | None = None,
    already: Already = None,
    backend: str = "auto",
) -> Ranking:
    """Choose k of the candidates as the wishes ask.

    Parameters
    ----------
    candidates
        What the search returned.
    wishes
        `spread(...)` and `focus(...)`, each attribute with its own direction.
    k
        How many results; more than there are candidates gives all of them.
    method
        `Mascot()`, the guarded method, unless given.
    already
        The `Ranking` of the page before (which knows the pages before it), or the ids of all that was shown: not
        shown again, and counted as covered. An id stands for all candidates that have it.
    backend
        ``"numpy"``, ``"numba"``, or ``"auto"``: numpy for a problem that takes it no more than some 150 ms, while numba
        is not yet loaded. They select the same.

    Examples
    --------
    >>> import mascot as mc
    >>> found = mc.Candidates(scores=[0.9, 0.8, 0.7], ids=["a", "b", "c"], columns={"city": ["Rome", "Rome", "Oslo"]})
    >>> mc.rerank(found, [mc.spread(mc.Category("city"))], k=2).ids
    ['a', 'c']
    """
    chosen = _check(k, backend, method)
    asked = listed_wishes(wishes)
    _check_one(candidates)
    corpus = Corpus(asked, candidates.columns, candidates.vectors, len(candidates))
    seen = _seen(already, candidates.ids)
    return corpus.rank(np.arange(len(candidates)), candidates.scores, seen, candidates.ids, k, chosen, backend)


def rerank_many(
    candidates: Batch | Sequence[Candidates],
    wishes: Wish | Sequence[Wish],
    k: int = 20,
    method: Method | None = None,
    already: Sequence[Already] | None = None,
    backend: str = "auto",
    threads: int | None = None,
) -> Rankings:
    """Choose for many queries at once. Every query is ranked as `rerank` ranks it alone.

    Parameters
    ----------
    candidates
        A `Batch` of Q x N arrays, or a list of `Candidates`, which need not have columns or vectors alike. For
        ``backend="gpu"`` also a `mascot.gpu.DeviceBatch` of tensors that are on the device already.
    wishes, k, method
        As for `rerank`, the same for every query.
    already
        One entry a query, each as for `rerank`: the `Rankings` of the page before, or a list of lists of ids
        (positions in a `Batch`), None where nothing was shown.
    backend
        As for `rerank`, or ``"gpu"``. ``"auto"`` is numba for `Mascot`.
    threads
        How many share the queries; as many as there are cores unless given. `Mascot` on numba only.

    Examples
    --------
    >>> import mascot as mc
    >>> batch = mc.Batch(scores=[[0.9, 0.8, 0.7]], columns={"city": [["Rome", "Rome", "Oslo"]]})
    >>> mc.rerank_many(batch, [mc.spread(mc.Category("city"))], k=2).positions.tolist()
    [[0, 2]]
    """
    chosen = _check(k, backend, method, threads)
    asked = listed_wishes(wishes)
    if backend == "gpu" and not isinstance(candidates, (Batch, list, tuple)) and hasattr(candidates, "rank"):
        ranked: Rankings = candidates.rank(asked, k, chosen, already)  # tensors on the device
        return ranked
    if isinstance(candidates, Batch):
        queries, size = candidates.scores.shape
        if backend == "gpu" and already is None:
            from mascot.gpu import select_batch

            selected = select_batch(candidates, asked, k, chosen)
            if selected is not None:
                return _batch_rankings(candidates, asked, selected, k, chosen)
        corpus = Corpus(asked, candidates.columns, candidates.vectors, queries * size, groups=queries)
        rows = np.arange(queries * size).reshape(queries, size)
        seen = _seen_each(already, [range(size)] * queries)
        return corpus.rank_many(list(rows), list(candidates.scores), seen, None, k, chosen, backend, threads)
    found = _several(candidates)
    parts = [Corpus(asked, c.columns, c.vectors, len(c)) for c in found]
    starts = np.cumsum([0] + [len(c) for c in found])
    corpus = Corpus.joined(parts)
    rows_of = [np.arange(start, start + len(c)) for start, c in zip(starts, found, strict=False)]
    ids = [c.ids for c in found]
    seen = _seen_each(already, ids)
    return corpus.rank_many(rows_of, [c.scores for c in found], seen, ids, k, chosen, backend, threads)


def _batch_rankings(batch: Batch, wishes: tuple[Wish, ...], found: Selections, k: int, method: Method) -> Rankings:
    """Rankings of what was selected on a GPU; the bins are read on the host where an item is asked for."""
    queries, size = batch.scores.shape
    corpus = Corpus(wishes, batch.columns, batch.vectors, queries * size, groups=queries)

    def make(q: int) -> Ranking:
        problem = corpus._problem(
            np.arange(q * size, (q + 1) * size), batch.scores[q], np.empty(0, np.int64), None, q, "gpu"
        )
        return Ranking(range(size), problem, found[q], method, wishes, None)

    return Rankings(found, k, None, None, make)


class Reranker:
    """Wishes fitted once to a corpus, for many queries over it, from several threads if you like.

    Parameters
    ----------
    wishes
        `spread(...)` and `focus(...)`, each attribute with its own direction.
    method
        `Mascot()`, the guarded method, unless given.

    Examples
    --------
    >>> import mascot as mc
    >>> ranker = mc.Reranker([mc.spread(mc.Category("city"))])
    >>> ranker = ranker.fit({"city": ["Rome", "Rome", "Oslo", "Lima"]})
    >>> ranker.rerank(rows=[0, 1, 3], scores=[0.9, 0.8, 0.7], k=2).ids
    [0, 3]
    """

    def __init__(self, wishes: Wish | Sequence[Wish], method: Method | None = None) -> None:
        self.wishes, self.method = listed_wishes(wishes), checked_method(method)
        self._corpus: Corpus | None = None
        self._ids: Sequence[Hashable] | None = None

    def __repr__(self) -> str:
        state = "not fitted" if self._corpus is None else f"{self._corpus.count} rows"
        return f"Reranker({list(self.wishes)!r}, {self.method!r}: {state})"

    def fit(
        self,
        columns: Mapping[str, Any] | None = None,
        vectors: ArrayLike | None = None,
        ids: Sequence[Hashable] | None = None,
    ) -> Reranker:
        """Read the corpus: clusters are found and labels numbered now; widths still follow each query's candidates.

        Parameters
        ----------
        columns, vectors
            As for `Candidates`: a value, or a vector, for each row of the corpus.
        ids
            Hashable names of the rows; row numbers unless given.
        """
        read, compared, count = as_corpus(columns, vectors, "Reranker")
        corpus = Corpus(self.wishes, read, compared, count)
        if isinstance(self.method, Mascot):
            corpus.members  # noqa: B018 - found here, so that what is wrong with them is said here
        self._ids = None if ids is None else as_ids(ids, count, "Reranker", "rows")
        self._corpus = corpus
        return self

    def _fitted(self) -> Corpus:
        if self._corpus is None:
            raise InputError("Reranker must be fitted to a corpus first: call fit(columns, vectors)")
        return self._corpus

    def rerank(
        self, rows: ArrayLike, scores: ArrayLike, k: int = 20, already: Already = None, backend: str = "auto"
    ) -> Ranking:
        """Choose k of the corpus rows that a search returned. `positions` count within `rows`.

        Parameters
        ----------
        rows, scores
            N rows of the corpus, counted from 0, and their scores.
        k, already, backend
            As for `mascot.rerank`.
        """
        _check(k, backend, self.method)
        corpus = self._fitted()
        taken = _corpus_rows(rows, corpus.count)
        ids = [self._ids[row] for row in taken] if self._ids is not None else taken.tolist()
        return corpus.rank(taken, _as_many(scores, taken), _seen(already, ids), ids, k, self.method, backend)

    def rerank_many(
        self,
        rows: ArrayLike | Sequence[ArrayLike],
        scores: ArrayLike | Sequence[ArrayLike],
        k: int = 20,
        already: Sequence[Already] | None = None,
        backend: str = "auto",
        threads: int | None = None,
    ) -> Rankings:
        """Choose for many queries over the corpus. Every query is ranked as `rerank` ranks it alone.

        Parameters
        ----------
        rows, scores
            Q x N arrays, or lists of arrays of several lengths.
        k, already, backend, threads
            As for `mascot.rerank_many`.
        """
        _check(k, backend, self.method, threads)
        corpus = self._fitted()
        if backend == "gpu" and hasattr(scores, "__dlpack_device__") and not isinstance(scores, np.ndarray):
            from mascot.gpu import rank_rows

            ranked: Rankings = rank_rows(corpus, rows, scores, k, self.method, already)
            return ranked
        taken = [_corpus_rows(r, corpus.count) for r in _each(rows, "rows")]
        if not taken:
            raise InputError("rerank_many needs at least one query, got none")
        given = _each(scores, "scores")
        if len(given) != len(taken):
            raise InputError(f"scores must have {len(taken)} queries like rows, got {len(given)}")
        checked = [_as_many(s, r) for s, r in zip(given, taken, strict=True)]
        names = self._ids
        ids: list[Any] = list(taken) if names is None else [[names[row] for row in r] for r in taken]
        seen = _seen_each(already, ids)
        return corpus.rank_many(taken, checked, seen, ids, k, self.method, backend, threads)


def _check_one(candidates: Any) -> None:
    if not isinstance(candidates, Candidates):
        cure = ": rerank_many ranks several queries" if isinstance(candidates, Batch) else ""
        raise InputError(f"rerank needs Candidates, got {type(candidates).__name__}{cure}")


def _several(candidates: Any) -> list[Candidates]:
    found = list(candidates) if isinstance(candidates, Iterable) else []
    strange = [one for one in found if not isinstance(one, Candidates)]
    if strange or not isinstance(candidates, Iterable):
        got = type((strange or [candidates])[0]).__name__
        raise InputError(f"rerank_many needs a Batch or a list of Candidates, got {got}")
    if not found:
        raise InputError("rerank_many needs at least one query, got none")
    return found


def _check(k: int, backend: str, method: Any, threads: int | None = None) -> Method:
    check_whole("k", k, 1)
    require(backend in _BACKENDS, "backend", f"must be one of {', '.join(_BACKENDS)}", backend)
    if threads is not None:
        check_whole("threads", threads, 1)
    return checked_method(method)


def checked_method(method: Any) -> Method:
    """The method, or the guarded one where there is none."""
    if method is None:
        return _GUARDED
    if isinstance(method, type) or not hasattr(method, "select"):
        raise OptionError(f"method must be a method such as Mascot() or Mmr(), got {method!r}")
    chosen: Method = method
    return chosen


def listed_wishes(wishes: Wish | Sequence[Wish]) -> tuple[Wish, ...]:
    """One wish or several, checked."""
    many = isinstance(wishes, Iterable) and not isinstance(wishes, str)
    asked: tuple[Any, ...] = tuple(wishes) if many else (wishes,)  # type: ignore[arg-type]
    for wish in asked:
        if not isinstance(wish, Wish):
            raise OptionError(f"wishes must be spread(...) or focus(...), got {wish!r}")
    return asked


def _seen(already: Already, ids: Sequence[Hashable]) -> Ints:
    """Positions of what was shown before."""
    if already is None:
        return np.empty(0, np.int64)
    if not isinstance(already, Iterable) or isinstance(already, str):
        raise InputError(f"already must be a Ranking or a list of ids, got {already!r}")
    shown = [*already.shown_before, *already.ids] if isinstance(already, Ranking) else list(already)
    wanted, known = hashed(shown, "already must name candidates by their ids"), set(ids)
    unknown = [id_ for id_ in shown if id_ not in known]
    if unknown:
        raise InputError(f"already must name candidates of this query, got {unknown[0]!r}")
    return np.array([i for i, id_ in enumerate(ids) if id_ in wanted], np.int64)


def _seen_each(already: Sequence[Already] | None, ids: Sequence[Sequence[Hashable]]) -> list[Ints] | None:
    if already is None:
        return None
    each = _each(already, "already")
    if len(each) != len(ids):
        raise InputError(f"already must have {len(ids)} entries like the queries, got {len(each)}")
    return [_seen(shown, of) for shown, of in zip(each, ids, strict=True)]


def _each(given: Any, owner: str) -> list[Any]:
    """What every query has."""
    if not isinstance(given, Iterable) or isinstance(given, (str, Ranking)):
        raise InputError(f"{owner} must have one entry for each query, got {given!r:.80}")
    return list(given)


def _as_many(scores: ArrayLike, rows: Ints) -> Floats:
    checked = finite_scores(scores, 1)
    if len(checked) != len(rows):
        raise InputError(f"scores must have {len(rows)} values like rows, got {len(checked)}")
    return checked


def _corpus_rows(rows: ArrayLike, count: int) -> Ints:
    taken = np.asarray(rows)
    if taken.ndim != 1 or not len(taken) or taken.dtype.kind not in "iu":
        raise InputError(f"rows must be a list of at least one row number, got {rows!r:.60}")
    taken = taken.astype(np.int64)
    if taken.min() < 0 or taken.max() >= count:
        wrong = taken[(taken < 0) | (taken >= count)][0]
        raise InputError(f"rows must lie in 0..{count - 1}, got {wrong}")
    return taken
