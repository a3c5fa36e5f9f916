"""Re-rank one query or many: `rerank`, `rerank_many`, and what they share with `Reranker`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

import numpy as np

from mascot.bins import Ints
from mascot.candidates import Batch, Candidates, Id, check_types
from mascot.errors import InputError, OptionError, check_whole, hashed, is_whole, require
from mascot.fitting.arrangement import needs_arrangement, select_each_shown, select_shown
from mascot.fitting.fitted_wishes import Call, FittedWishes, Queries, fit_wishes, join_fitted
from mascot.methods.mascot import Mascot
from mascot.methods.method import NO_POSITIONS, Method, Table
from mascot.ranking import Ranking, Rankings
from mascot.removed import instead
from mascot.wishes import AnyWish, check_wishes

Already = Ranking[Any] | Iterable[Hashable] | None
Backend = Literal["auto", "numpy", "native"]
Order = Literal["relevance", "selection"]
Pins = Mapping[Any, int] | Iterable[Hashable]
_BACKENDS = ("auto", "numpy", "native")
_BACKEND_RULE = f"must be one of {', '.join(_BACKENDS)}"
_GUARDED = Mascot()
_MOST_POSITIONS = 100_000_000  # in the results of a batch, if k is larger than its queries


def rerank(
    candidates: Candidates[Id] | Iterable[Any],
    wishes: AnyWish | Sequence[AnyWish],
    k: int = 20,
    method: Method | None = None,
    already: Already = None,
    backend: Backend = "auto",
    *,
    strength: float | None = None,
    keep: float | None = None,
    protect: int | None = None,
    order: Order | None = None,
    pin: Pins = (),
) -> Ranking[Id]:
    """Select k of the candidates by relevance and wishes.

    Parameters
    ----------
    candidates
        What the search returned: `Candidates`, or a list of records, which `Candidates.from_records` reads.
        An empty list gives an empty ranking.
    wishes
        `spread(...)`, `focus(...)`, `limit(...)`, `at_least(...)` and `share(...)`.
    k
        Number of results (default: 20). If there are fewer candidates, all of them are results.
    method
        The method (default: `Mascot()`, the guarded method).
    already
        The `Ranking` of the page before (which knows the pages before it), or a list of the ids or rankings of all
        earlier pages. These results are not selected again, and what they cover counts as covered. An id stands for
        all candidates that have it; ids that no candidate has are ignored.
    backend
        ``"native"`` (C) or ``"numpy"``. They select the same results (default: ``"auto"``, native if it was built).
    strength, keep, protect, order
        Shorthand for the method's parameters of the same name.
    pin
        Ids of candidates that become the first results, in this order, or a dictionary of id: position, counted from 1.
        They count for `k`, limits and shares, and their values count as covered. Pins that contradict a limit on
        places, or with positions any limit, are an error. A list of pins may exceed a limit per page. A page with
        too few results shows pinned results further up.

    Examples
    --------
    >>> import mascot as mc
    >>> hits = mc.Candidates(scores=[0.9, 0.8, 0.7], ids=["a", "b", "c"], columns={"city": ["Rome", "Rome", "Oslo"]})
    >>> mc.rerank(hits, mc.spread("city"), k=2).ids
    ['a', 'c']
    >>> mc.rerank(hits, mc.spread("city"), k=2, pin=["c"]).ids
    ['c', 'a']
    """
    call = check_call(k, backend, method, strength=strength, keep=keep, protect=protect, order=order)
    wishes = check_wishes(wishes, k)
    candidates = as_candidates(candidates)
    fitted = fit_wishes(wishes, Table(candidates.columns, candidates.vectors), len(candidates))
    pinned, places = pinned_positions(pin, candidates.ids, k)
    earlier: list[Ints] | None = None
    if already is not None:
        positions = positions_of(already, ids_of(candidates))
        earlier = [positions[~np.isin(positions, pinned)]]
    _require_use_of_vectors(wishes, method, candidates)
    ptr, scores = np.array([0, len(candidates)]), candidates.scores
    queries = Queries(ptr, scores, None, [candidates.ids], earlier, pinned, [candidates.source], places)
    return rank_one(fitted, queries, call)


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
    order: Order | None = None,
) -> Rankings[Id]:
    """Select for many queries at once. Every query is ranked as `rerank` ranks it alone.

    Parameters
    ----------
    candidates
        A `Batch` of Q x N arrays, or a list of `Candidates`, which need not have the same columns.
    wishes, k, method, backend, strength, keep, protect, order
        As for `rerank`, the same for every query.
    already
        One entry per query, each as for `rerank`: the `Rankings` of the page before, or a list of lists of ids
        (positions in a `Batch`). None stands for a query without earlier pages.
    threads
        Number of threads of `Mascot` on the native backend (default: one per core).

    Examples
    --------
    >>> import mascot as mc
    >>> batch = mc.Batch(scores=[[0.9, 0.8, 0.7]], columns={"city": [["Rome", "Rome", "Oslo"]]})
    >>> mc.rerank_many(batch, mc.spread("city"), k=2).positions.tolist()
    [[0, 2]]
    """
    call = check_call(k, backend, method, threads, strength=strength, keep=keep, protect=protect, order=order)
    wishes = check_wishes(wishes, k)
    if isinstance(candidates, Batch):
        count, size = candidates.scores.shape
        fitted = fit_wishes(wishes, Table(candidates.columns, candidates.vectors), count * size, groups=count)
        scores = np.ascontiguousarray(candidates.scores).reshape(-1)
        positions = positions_of_each(already, [list(range(size))] * count)
        _require_use_of_vectors(wishes, method, candidates)
        return rank_many(fitted, Queries(np.arange(count + 1) * size, scores, already=positions), call)
    queries = _list_candidates(candidates)
    fitted = join_fitted([fit_wishes(wishes, Table(query.columns, query.vectors), len(query)) for query in queries])
    ptr = np.concatenate([[0], np.cumsum([len(query) for query in queries])]).astype(np.int64)
    scores, ids = np.concatenate([query.scores for query in queries]), [query.ids for query in queries]
    sources, positions = [query.source for query in queries], positions_of_each(already, list(map(ids_of, queries)))
    for query in queries:
        _require_use_of_vectors(wishes, method, query)
    return rank_many(fitted, Queries(ptr, scores, None, ids, positions, sources=sources), call)


def rank_one(fitted: FittedWishes, queries: Queries, call: Call) -> Ranking[Any]:
    """Rank one query over fitted wishes."""
    problem = fitted.problem(queries, call)
    if not len(queries.pinned) and not needs_arrangement(fitted):
        return Ranking(queries, problem, call.method.select(problem, call.k), call.k, call.method, fitted)
    selection = select_shown(fitted, queries, call, problem)
    if len(queries.pinned):
        fits = np.isin(queries.pinned, problem.remaining.to_input(selection.ranked[0]))
        if not fits.all():  # a pin without a place must not keep other results off the page
            places = None if queries.places is None else np.array(queries.places)[fits].tolist()
            ranking = rank_one(fitted, queries._replace(pinned=queries.pinned[fits], places=places), call)
            ranking._pinned = queries.pinned
            return ranking
        # For gains and explanations the pinned candidates are results, not results of earlier pages.
        earlier = [problem.remaining.from_input(0, part) for part in queries.already or ()]
        already = np.concatenate([NO_POSITIONS, *earlier])
        problem = replace(problem, already=already, already_ptr=np.array([0, len(already)]))
    return Ranking(queries, problem, selection, call.k, call.method, fitted)


def rank_many(fitted: FittedWishes, queries: Queries, call: Call) -> Rankings[Any]:
    """Rank many queries over fitted wishes."""
    problem = fitted.problem(queries, call)
    most = max(problem.longest, _MOST_POSITIONS // len(problem))
    require(call.k <= most, "k", f"must be at most {most:,} for {len(problem):,} queries", call.k)
    selection = call.method.select(problem, call.k)
    if needs_arrangement(fitted):
        selection = select_each_shown(fitted, queries, call, problem, selection)
    return Rankings(queries, problem, selection, call.k, call.method, fitted)


def _require_use_of_vectors(wishes: Sequence[AnyWish], method: Any, candidates: Candidates[Any] | Batch) -> None:
    """Raise if vectors are passed and nothing reads them. Hits of an engine may carry vectors that nobody needs."""
    is_own = isinstance(candidates.columns, dict)
    if is_own and candidates.vectors is not None and not wishes and method is None:
        raise OptionError("vectors are read by a wish or a method: ask for spread(mc.Vectors()), got no wish")


def as_candidates(candidates: Any, owner: str = "rerank") -> Candidates[Any]:
    """Return the candidates of one query, which may be a list of records."""
    if isinstance(candidates, Candidates):
        return candidates
    if isinstance(candidates, list):
        return Candidates.from_records(candidates)
    remedy = ""
    if isinstance(candidates, Batch):
        remedy = ": rerank_many ranks several queries"
    elif isinstance(candidates, Mapping):
        remedy = ": pass a list of records; mascot.connect.converters read the response of an engine"
    elif hasattr(candidates, "columns"):
        remedy = ": pass a table as Candidates(table['score'], table['id'], table)"
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
    """Return the method, checked (default: `Mascot()`, the guarded method)."""
    if method is None:
        return _GUARDED
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
    entries = per_query(already, "already")
    if len(entries) != len(ids):
        raise InputError(f"already must have {len(ids)} entries like the queries, got {len(entries)}")
    return [positions_of(entry, query_ids) for entry, query_ids in zip(entries, ids, strict=True)]


def per_query(entries: Any, owner: str) -> list[Any]:
    """Return a list of one entry for each query, checked."""
    if not isinstance(entries, Iterable) or isinstance(entries, (str, Ranking)):
        raise InputError(f"{owner} must have one entry for each query, got {entries!r:.80}")
    return list(entries)


def pinned_positions(pin: Pins, ids: Sequence[Hashable], k: int) -> tuple[Ints, Sequence[int] | None]:
    """Return the position of each pinned id, and the places, from 0, that a dictionary gives them."""
    if not isinstance(pin, (tuple, list)) and (not isinstance(pin, Iterable) or isinstance(pin, str)):
        raise InputError(f"pin must be a list of ids, got {pin!r}")
    pinned_ids = list(pin)
    if not pinned_ids:
        return NO_POSITIONS, None
    hashed(pinned_ids, "pin must name candidates by their ids")
    unique_ids = list(dict.fromkeys(pinned_ids))
    positions = {id_: position for position, id_ in reversed(list(enumerate(ids)))}
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
