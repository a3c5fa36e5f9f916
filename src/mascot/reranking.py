"""Re-rank one query or many: `rerank`, `rerank_many`, and what they share with `Reranker`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mascot.attributes.vectors import Vectors
from mascot.bins import Bools, Ints
from mascot.candidates import (
    Batch,
    Candidates,
    Id,
    TableLike,
    VectorsLike,
    check_types,
    finite_scores,
    is_table,
)
from mascot.column_types import read_bare, with_vectors
from mascot.errors import InputError, OptionError, check_whole, hashed, is_whole, require
from mascot.fitting.fitted_wishes import Call, FittedWishes, MixedBins, Queries, fit_wishes, join_fitted
from mascot.fitting.pins import check_pins
from mascot.grammar import method as named_method
from mascot.methods.mascot import Mascot
from mascot.methods.method import NO_POSITIONS, Method, Problem, Selection, Table
from mascot.ranking import Ranking, Rankings
from mascot.removed import instead
from mascot.wishes import AnyWish, check_wishes, spread

Already = Ranking[Any] | Iterable[Hashable] | None
Backend = Literal["auto", "numpy", "native"]
Order = Literal["relevance", "selection"]
Pins = Mapping[Any, int] | Iterable[Hashable]
Near = Mapping[str, Any] | None
Nears = Near | Sequence[Near]
_BACKENDS = ("auto", "numpy", "native")
_BACKEND_RULE = f"must be one of {', '.join(_BACKENDS)}"
_GUARDED = Mascot()
_MOST_POSITIONS = 100_000_000  # in the results of a batch, if k is larger than its queries


def rerank(
    candidates: Candidates[Id] | Iterable[Any] | TableLike,
    wishes: AnyWish | Sequence[AnyWish],
    k: int = 20,
    method: Method | str | None = None,
    already: Already = None,
    backend: Backend = "auto",
    *,
    strength: float | None = None,
    keep: float | None = None,
    protect: int | None = None,
    order: Order | None = None,
    pin: Pins = (),
    near: Near = None,
) -> Ranking[Id]:
    """Select k of the candidates by relevance and wishes.

    Parameters
    ----------
    candidates
        What the search returned: `Candidates`; a list of records, which `Candidates.from_records` reads; or a pandas,
        Polars, Arrow or Hugging Face table or a dictionary of lists, which `Candidates.from_table` reads. An empty list
        gives an empty ranking.
    wishes
        `spread(...)`, `focus(...)`, `limit(...)`, `at_least(...)` and `share(...)`.
    k
        Number of results (default: 20). If there are fewer candidates, all of them are results.
    method
        The method, or its name in lower case, such as ``"mmr"`` (default: `Mascot()`, the guarded method).
    already
        The `Ranking` of the page before (which knows the pages before it), or a list of the ids or rankings of all
        earlier pages. These results are not selected again, and what they cover counts as covered. Ids that no
        candidate has are ignored.
    backend
        ``"native"`` (C) or ``"numpy"``. They select the same results (default: ``"auto"``, native if it was built).
    strength, keep, protect, order
        Shorthand for the method's parameters of the same name.
    pin
        Ids of candidates that become the first results, in this order, or a dictionary of id: position, counted from 1.
        They count for `k`, limits and shares, and their values count as covered. Pins that contradict a limit on
        places, or with positions any limit, are an error. A list of pins may exceed a limit per page. A page with
        too few results shows pinned results further up.
    near
        Values of this call for focuses that were made with a `near`, by the names of their attributes:
        ``{"place": (41.1, -8.6)}`` (default: None, the values of the wishes).

    Examples
    --------
    >>> import mascot as mc
    >>> hits = mc.Candidates(scores=[0.9, 0.8, 0.7], ids=["a", "b", "c"], columns={"city": ["Rome", "Rome", "Oslo"]})
    >>> mc.rerank(hits, mc.spread("city"), k=2, strength=0.7).ids
    ['a', 'c']
    >>> mc.rerank(hits, mc.spread("city"), k=2, pin=["c"]).ids
    ['c', 'a']
    """
    call = check_call(k, backend, method, strength=strength, keep=keep, protect=protect, order=order)
    wishes = check_wishes(wishes, k)
    candidates = as_candidates(candidates)
    wishes, (table,) = read_tables(wishes, [candidates])
    fitted = fit_wishes(wishes, table, len(candidates))
    fitted.removed = candidates.repeated
    fitted = fitted if near is None else fitted.near(near)
    pinned, places = pinned_positions(pin, candidates.ids, k, candidates.repeated)
    earlier: list[Ints] | None = None
    if already is not None:
        positions = positions_of(already, ids_of(candidates))
        earlier = [positions[~np.isin(positions, pinned)]]
    _require_use_of_vectors(wishes, method, candidates)
    ptr, scores = np.array([0, len(candidates)]), candidates.scores
    queries = Queries(ptr, scores, None, [candidates.ids], earlier, pinned, [candidates.source], places)
    return rank_one(fitted, queries, call)


def diversify(
    embeddings: VectorsLike, scores: ArrayLike, k: int = 10, *, strength: float | None = None, keep: float | None = None
) -> Ranking[int]:
    """Select k relevant results that are unlike one another: `rerank` with ``spread(Vectors())``.

    Parameters
    ----------
    embeddings
        N x D numbers, one embedding for each candidate: an array, or a list or column of vectors.
    scores
        N scores, higher is better.
    k
        Number of results (default: 10).
    strength, keep
        As for `rerank` (default: those of the method).

    Examples
    --------
    >>> diversify([[1, 0], [1, 0.1], [0, 1]], scores=[0.9, 0.8, 0.7], k=2).positions.tolist()
    [0, 2]
    """
    # A unique index of the scores would name the candidates.
    candidates: Candidates[int] = Candidates(finite_scores(scores, 1), vectors=embeddings)
    return rerank(candidates, spread(Vectors()), k, strength=strength, keep=keep)


def rerank_many(
    candidates: Batch | Sequence[Candidates[Id]] | Sequence[Any],
    wishes: AnyWish | Sequence[AnyWish],
    k: int = 20,
    method: Method | str | None = None,
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
) -> Rankings[Id]:
    """Select for many queries at once. Every query is ranked as `rerank` ranks it alone.

    Parameters
    ----------
    candidates
        A `Batch` of Q x N arrays, or a list of what `rerank` takes. Its entries need not have the same columns.
    wishes, k, method, backend, strength, keep, protect, order
        As for `rerank`, the same for every query.
    already
        One entry per query, each as for `rerank`: the `Rankings` of the page before, or a list of lists of ids
        (positions in a `Batch`). None stands for a query without earlier pages.
    threads
        Number of threads of `Mascot` on the native backend (default: one per core).
    pin, near
        One entry per query, each as for `rerank`; `near` may also be the same for every query.

    Examples
    --------
    >>> import mascot as mc
    >>> batch = mc.Batch(scores=[[0.9, 0.8, 0.7]], columns={"city": [["Rome", "Rome", "Oslo"]]})
    >>> mc.rerank_many(batch, mc.spread("city"), k=2, strength=0.7).positions.tolist()
    [[0, 2]]
    """
    call = check_call(k, backend, method, threads, strength=strength, keep=keep, protect=protect, order=order)
    wishes = check_wishes(wishes, k)
    queries: list[Any] = [candidates] if isinstance(candidates, Batch) else _list_candidates(candidates)
    wishes, tables = read_tables(wishes, queries)
    try:
        joined = _join_batch(candidates, wishes, tables[0], already) if isinstance(candidates, Batch) else None
        fitted, flat = joined or _join_queries(queries, wishes, tables, already)
    except MixedBins:
        count = len(candidates.scores) if isinstance(candidates, Batch) else len(queries)
        shown, pins = ([None] * count if part is None else per_query(part, "already", count) for part in (already, pin))
        nears = [near] * count if near is None or isinstance(near, Mapping) else near
        rows = candidates.queries() if isinstance(candidates, Batch) else queries
        rankings = [
            rerank(own, wishes, k, call.method, page, backend, pin=pinned or (), near=named)
            for own, page, pinned, named in zip(rows, shown, pins, nears, strict=True)
        ]
        return _rankings_of(rankings, call, wishes)
    for query in queries:
        _require_use_of_vectors(wishes, method, query)
    return rank_each(fitted, flat, call, pin, near)


def _join_batch(batch: Batch, wishes: tuple[AnyWish, ...], table: Table, already: Any) -> tuple[FittedWishes, Queries]:
    """Return wishes fitted to all queries of a batch, and the queries."""
    count, size = batch.scores.shape
    fitted = fit_wishes(wishes, table, count * size, groups=count)
    positions = positions_of_each(already, [list(range(size))] * count)
    scores = np.ascontiguousarray(batch.scores).reshape(-1)
    return fitted, Queries(np.arange(count + 1) * size, scores, already=positions)


def _join_queries(
    queries: Sequence[Candidates[Any]], wishes: tuple[AnyWish, ...], tables: Sequence[Table], already: Any
) -> tuple[FittedWishes, Queries]:
    """Return wishes fitted to all queries, one after the other, and the queries."""
    pairs = zip(tables, queries, strict=True)
    fitted = join_fitted([fit_wishes(wishes, table, len(query)) for table, query in pairs])
    if any(query.repeated is not None for query in queries):
        masks = [np.zeros(len(query), bool) if query.repeated is None else query.repeated for query in queries]
        fitted.removed = np.concatenate(masks)
    ptr = np.concatenate([[0], np.cumsum([len(query) for query in queries])]).astype(np.int64)
    scores, ids = np.concatenate([query.scores for query in queries]), [query.ids for query in queries]
    sources, positions = [query.source for query in queries], positions_of_each(already, list(map(ids_of, queries)))
    return fitted, Queries(ptr, scores, None, ids, positions, sources=sources)


def _rankings_of(rankings: list[Ranking[Any]], call: Call, wishes: tuple[AnyWish, ...]) -> Rankings[Any]:
    """Return rankings of queries that were ranked one by one."""
    positions = np.full((len(rankings), call.k), -1, np.int64)
    for row, ranking in zip(positions, rankings, strict=True):
        row[: len(ranking)] = ranking.positions
    strengths = np.array([ranking.strength for ranking in rankings])
    return Rankings(positions, strengths, call.k, call.method, wishes, rankings.__getitem__)


def rank_one(fitted: FittedWishes, queries: Queries, call: Call) -> Ranking[Any]:
    """Rank one query over fitted wishes."""
    problem = fitted.problem(queries, call)
    if problem.pinned and problem.rules:
        query = problem.query(0, call.k, problem.scores_of(0))
        check_pins(fitted, query, problem.pinned, exact=queries.places is not None)
    return Ranking(queries, problem, call.method.select(problem, call.k), call.k, call.method, fitted)


def rank_each(
    fitted: FittedWishes, queries: Queries, call: Call, pin: Sequence[Pins] | None, near: Nears
) -> Rankings[Any]:
    """Rank many queries, whose pins and named values may differ."""
    if isinstance(near, Mapping):
        fitted, near = fitted.near(near), None
    if pin is None and near is None:
        return rank_many(fitted, queries, call)
    count = len(queries.ptr) - 1
    pins = [()] * count if pin is None else per_query(pin, "pin", count)
    nears = [None] * count if near is None else per_query(near, "near", count)
    rankings = []
    for q, (own_pin, own_near) in enumerate(zip(pins, nears, strict=True)):
        own, own_fitted = queries.only(q), fitted.only(q)
        pinned, places = pinned_positions(own_pin or (), own.ids_of(0), call.k)
        earlier = None if own.already is None else [own.already[0][~np.isin(own.already[0], pinned)]]
        own = own._replace(pinned=pinned, places=places, already=earlier)
        rankings.append(rank_one(own_fitted.near(own_near) if own_near else own_fitted, own, call))
    return _rankings_of(rankings, call, fitted.wishes)


def rank_many(fitted: FittedWishes, queries: Queries, call: Call) -> Rankings[Any]:
    """Rank many queries over fitted wishes."""
    problem = fitted.problem(queries, call)
    most = max(problem.longest, _MOST_POSITIONS // len(problem))
    require(call.k <= most, "k", f"must be at most {most:,} for {len(problem):,} queries", call.k)
    selection = call.method.select(problem, call.k)
    ranking = partial(_ranking_of, queries, problem, selection, call, fitted)
    positions = problem.remaining.to_input(selection.ranked)
    return Rankings(positions, selection.strengths, call.k, call.method, fitted.wishes, ranking)


def _ranking_of(
    queries: Queries, problem: Problem, selection: Selection, call: Call, fitted: FittedWishes, q: int
) -> Ranking[Any]:
    return Ranking(queries.only(q), problem.only(q), selection.only(q), call.k, call.method, fitted)


def _require_use_of_vectors(wishes: Sequence[AnyWish], method: Any, candidates: Candidates[Any] | Batch) -> None:
    """Raise if vectors are passed and nothing reads them. Hits of an engine may carry vectors that nobody needs."""
    is_own = isinstance(candidates.columns, dict)
    if is_own and candidates.vectors is not None and not wishes and method is None:
        raise OptionError("vectors are read by a wish or a method: ask for spread(mc.Vectors()), got no wish")


def read_tables(
    wishes: tuple[AnyWish, ...], queries: Sequence[Candidates[Any] | Batch]
) -> tuple[tuple[AnyWish, ...], list[Table]]:
    """Return the wishes with the attributes that bare columns mean, and the columns and vectors that they read."""
    wishes = read_bare(wishes, [query.columns for query in queries])
    return wishes, [with_vectors(Table(query.columns, query.vectors), wishes) for query in queries]


def as_candidates(candidates: Any, owner: str = "rerank") -> Candidates[Any]:
    """Return the candidates of one query, which may be a list of records or a table."""
    if isinstance(candidates, Candidates):
        return candidates
    if isinstance(candidates, list):
        return Candidates.from_records(candidates)
    remedy = ""
    if isinstance(candidates, Batch):
        remedy = ": rerank_many ranks several queries"
    elif is_table(candidates):
        return Candidates.from_table(candidates)
    elif isinstance(candidates, Mapping):
        remedy = ": pass a list of records, or lists by name with a 'score'; mascot.connect.converters read responses"
    elif isinstance(candidates, Iterable) and not isinstance(candidates, str):
        return Candidates.from_records(candidates)
    needs = "rerank needs" if owner == "rerank" else "rerank_many needs a Batch or a list of"
    raise InputError(f"{needs} Candidates, got {type(candidates).__name__}{remedy}")


def _list_candidates(candidates: Any) -> list[Candidates[Any]]:
    if not isinstance(candidates, Iterable):
        raise InputError(f"rerank_many needs a Batch or a list of Candidates, got {type(candidates).__name__}")
    queries = [as_candidates(part, "rerank_many") for part in candidates]
    if not queries:
        raise InputError("rerank_many needs at least one query, got none")
    return queries


def ids_of(candidates: Candidates[Any]) -> Sequence[Hashable]:
    """Return the ids of candidates, or the range of their positions if they are records without ids."""
    return candidates.ids if candidates.has_ids else range(len(candidates))


def check_call(k: int, backend: str, method: Any, threads: int | None = None, **options: Any) -> Call:
    """Return the checked arguments of a call. `options` that are not None replace parameters of the method."""
    check_whole("k", k, 1)
    require(backend in _BACKENDS, "backend", _BACKEND_RULE + instead(backend), backend)
    if threads is not None:
        check_whole("threads", threads, 1)
    base_method = check_method(method)
    options = {name: value for name, value in options.items() if value is not None}
    if not options:
        return Call(k, base_method, backend, threads)
    names: set[str] = {f.name for f in fields(base_method)} if is_dataclass(base_method) else set()
    for name in options:
        require(name in names, name, f"is not a parameter of {type(base_method).__name__}", options[name])
    for name, other in (("keep", "strength"), ("strength", "keep")):  # one replaces the other
        if name in options and other in names:
            options.setdefault(other, None)
    return Call(k, replace(base_method, **options), backend, threads)  # type: ignore[type-var]


def check_method(method: Any) -> Method:
    """Return the method, or that of a name, checked (default: `Mascot()`, the guarded method)."""
    if method is None:
        return _GUARDED
    if isinstance(method, str):
        return named_method(method)
    if isinstance(method, type) or not hasattr(method, "select"):
        raise OptionError(f"method must be a method such as Mascot() or Mmr(), got {method!r}")
    return method


def positions_of(already: Already, ids: Sequence[Hashable]) -> Ints:
    """Return the positions of the results of earlier pages, in their order; ids that no candidate has are ignored."""
    if already is None:
        return NO_POSITIONS
    if not isinstance(already, Iterable) or isinstance(already, (str, bytes, Mapping, Rankings)):
        raise InputError(f"already must be a Ranking or a list of ids, got {already!r:.80}")
    earlier_ids: list[Any] = []
    for entry in [already] if isinstance(already, Ranking) else already:
        if isinstance(entry, Ranking):
            earlier_ids += [*entry.already, *entry.ids]
        elif isinstance(entry, Rankings):
            raise InputError(f"already must have a Ranking of this query, got {entry!r}")
        elif isinstance(ids, range) and not (is_whole(entry) and entry in ids):
            rule = "must be positions, because the records have no ids: name them with id=..."
            raise InputError(f"already {rule}, got {entry!r:.80}")
        else:
            earlier_ids.append(entry)
    if not hashed(earlier_ids, "already must name candidates by their ids"):
        return NO_POSITIONS
    place = {id_: place for place, id_ in enumerate(earlier_ids)}
    positions = [i for i, id_ in enumerate(ids) if id_ in place]
    if len(positions) < len(place):
        check_types([*ids, *place], "already must name candidates by their ids")
    return np.array(sorted(positions, key=lambda i: place[ids[i]]), np.int64)


def positions_of_each(already: Sequence[Already] | None, ids: Sequence[Sequence[Hashable]]) -> list[Ints] | None:
    """Return the positions of the results of earlier pages in each query."""
    if already is None:
        return None
    entries = per_query(already, "already", len(ids))
    return [positions_of(entry, query_ids) for entry, query_ids in zip(entries, ids, strict=True)]


def per_query(entries: Any, owner: str, count: int | None = None) -> list[Any]:
    """Return a list of one entry for each query, checked."""
    if not isinstance(entries, Iterable) or isinstance(entries, (str, Ranking)):
        raise InputError(f"{owner} must have one entry for each query, got {entries!r:.80}")
    parts = list(entries)
    if count is not None and len(parts) != count:
        raise InputError(f"{owner} must have one entry for each of the {count} queries, got {len(parts)}")
    return parts


def pinned_positions(
    pin: Pins, ids: Sequence[Hashable], k: int, repeated: Bools | None = None
) -> tuple[Ints, Sequence[int] | None]:
    """Return the position of each pinned id, and the places, from 0, that a dictionary gives them."""
    is_list = isinstance(pin, Iterable) and not isinstance(pin, (str, set, frozenset))
    if not isinstance(pin, (tuple, list)) and not is_list:
        raise InputError(f"pin must be a list of ids, got {pin!r}")
    pinned_ids = list(pin)
    if not pinned_ids:
        return NO_POSITIONS, None
    hashed(pinned_ids, "pin must name candidates by their ids")
    unique_ids = list(dict.fromkeys(pinned_ids))
    rows = range(len(ids)) if repeated is None else np.flatnonzero(~repeated).tolist()
    positions = {ids[row]: row for row in reversed(rows)}
    unknown = [id_ for id_ in unique_ids if id_ not in positions]
    if unknown:
        raise InputError(f"pin must name candidates by their ids, got {unknown[0]!r}")
    require(len(unique_ids) <= k, "k", f"must be at least {len(unique_ids)}, as many as are pinned", k)
    if not isinstance(pin, Mapping):
        return np.array([positions[id_] for id_ in unique_ids], np.int64), None
    id_at: dict[int, Hashable] = {}
    for id_, place in pin.items():
        require(is_whole(place) and 1 <= place <= k, f"pin[{id_!r}]", f"must be a position from 1 to k = {k}", place)
        other = id_at.setdefault(place, id_)
        require(other is id_, "pin", f"must give a position to one result, and {other!r} has it too", {id_: place})
    places = sorted(id_at)
    return np.array([positions[id_at[place]] for place in places], np.int64), [place - 1 for place in places]
