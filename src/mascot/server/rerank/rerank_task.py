"""Re-ranking of the caller's own candidates: from a decoded request to its answer, without HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np

import mascot as mc
from mascot.attributes.columns import column_of
from mascot.column_types import read_bare, with_vectors
from mascot.connect.converters.convert import from_engine
from mascot.grammar import columns_of
from mascot.kernels import native
from mascot.methods.method import Table
from mascot.profiles import OPTIONS
from mascot.server import schemas
from mascot.server.request_body import convert, decode
from mascot.server.rerank import request_cost
from mascot.server.rerank.audit import Record
from mascot.server.rerank.profile_store import ProfileStore
from mascot.server.responses import JSON, BadBody
from mascot.wishes import AnyWish

_K = 20
_SOURCES = ("scores", "records", "response")  # of candidates, in a request
_NAMES = ("id", "score", "vector")  # of fields of records and hits
_FEW_RESULTS = 50  # of which the reasons take about a millisecond


class RerankTask:
    """A decoded request in JSON or msgpack, and its answer.

    A `small` task takes about a millisecond, with reasons two, which is less than the overhead of another thread.
    """

    _wishes: Sequence[mc.AnyWish]

    def __init__(self, body: bytes, format_: str = JSON, profiles: ProfileStore | None = None) -> None:
        self._request: schemas.Rerank = decode(body, schemas.Rerank, format_)
        self._set_rules(profiles)
        self._candidates = _candidates_of(self._request, self._wishes)
        self._wishes = read_bare(self._wishes, [self._candidates.columns])  # the cost depends on their attributes
        self._pin: Any = self._request.pin
        if isinstance(self._pin, dict):  # the keys of JSON are texts, and ids may be numbers
            ids = {str(id_): id_ for id_ in self._candidates.ids}
            self._pin = {ids.get(key, key): place for key, place in self._pin.items()}
        keep = "keep" in self._options or getattr(self._method, "keep", None) is not None
        is_small = request_cost.check(self._candidates, self._wishes, self._method or mc.Mascot(), self._k, keep)
        few = min(self._k, len(self._candidates)) <= _FEW_RESULTS
        self.small = is_small and (few or not (self._request.explain or self._request.gains))

    def _set_rules(self, profiles: ProfileStore | None) -> None:
        """Set the wishes, k, method and options of the request, or of its profile."""
        request = self._request
        for place, part in enumerate(request.wishes):
            decode_wish(part, place, schemas.WISHES)  # checks it against the limits of the server
        self._wishes = [mc.from_dict(part) for part in request.wishes]
        self._method = None if request.method is None else mc.from_dict(msgspec.to_builtins(request.method))
        self._options = {name: value for name in OPTIONS if (value := getattr(request, name)) is not None}
        self._k: int = request.k or _K
        self.profile: schemas.ProfileUsed | msgspec.UnsetType = msgspec.UNSET
        if request.profile is None:
            for name in ("key", "variant", "near"):
                if getattr(request, name):
                    raise BadBody(f"{name}: is about a profile: send its name as profile")
            return
        profile = (profiles or ProfileStore()).get(request.profile)
        overrides = {"wishes": self._wishes or None, "method": self._method, "k": request.k, **self._options}
        rules = profile.rules(request.key, request.variant, request.near, **overrides)
        self._wishes, self._k, self._method, self._options = rules.wishes, rules.k, rules.method, {}
        self.profile = schemas.ProfileUsed(profile.name, profile.version, rules.name)

    def answer(self, *recorders: Record) -> schemas.RerankOut:
        """Re-rank the candidates, and call the recorders with the page."""
        request, start = self._request, time.perf_counter()
        ranking = mc.rerank(
            self._candidates, self._wishes, self._k, self._method, request.already or None, pin=self._pin,
            **self._options,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        for record in recorders:
            record(self.profile, ranking, self._candidates, seconds)
        ids: list[Any] = ranking.ids
        positions, was = ranking.positions.tolist(), ranking.was.tolist()
        scores, relevances = ranking.scores.tolist(), ranking.relevance.tolist()
        rows = zip(ids, positions, range(1, len(ids) + 1), was, scores, relevances, strict=True)
        answer = schemas.RerankOut([schemas.RankedOut(*row) for row in rows], ranking.strength, self.profile)
        if request.gains:
            gains = {name: values.tolist() for name, values in ranking.gains.items()}
            for place, result in enumerate(answer.results):
                result.gains = {name: values[place] for name, values in gains.items()}
        if request.explain:
            explanation = ranking.explain(left_out=request.gains)
            answer.explanation = explanation.to_dict(gains=request.gains)
            for result, reason in zip(answer.results, explanation.results, strict=True):
                result.because = reason.because
        return answer


@cache
def kernel_name() -> str:
    """Return the backend in use. The first call loads it and runs one selection, so that no request has to wait."""
    backend = "native" if native.available() else "numpy"
    hits = mc.Candidates([0.9, 0.8], columns={"hour": [1.0, 2.0]})
    mc.rerank(hits, mc.spread(mc.HourOfDay("hour")), 1, backend=backend)  # type: ignore[arg-type]
    return backend


def decode_wish(part: dict[str, Any], place: int, kinds: Mapping[str, type[Any]]) -> Any:
    """Return the wish at a position of the list, checked; one key identifies its type."""
    keys = [key for key in kinds if key in part]
    if len(keys) != 1:
        names = ", ".join(kinds)
        raise BadBody(f"wishes[{place}] must have exactly one of {names}, got {', '.join(part)[:80] or 'nothing'}")
    return convert(part, kinds[keys[0]], f"wishes[{place}]")


def _candidates_of(request: Any, wishes: Iterable[AnyWish]) -> mc.Candidates:
    """Return the candidates of a decoded request. Of records and responses, only what the wishes read is checked."""
    sources = [name for name in _SOURCES if getattr(request, name) is not None]
    if len(sources) != 1:
        raise BadBody(f"send exactly one of {', '.join(_SOURCES)}, got {', '.join(sources) or 'none'}")
    names = {name: getattr(request, name) for name in _NAMES if getattr(request, name) is not None}
    if (request.response is None) != (request.from_ is None):
        raise BadBody("response and from belong together: from names the engine of the response")
    if request.scores is not None:
        if names:
            raise BadBody(f"{next(iter(names))}: is about records or a response, got scores")
        if request.vectors is not None and len({len(row) for row in request.vectors if row is not None}) > 1:
            raise mc.InputError("vectors must all have the same length")
        if not request.scores and not (request.ids or request.vectors or any(request.columns.values())):
            return mc.Candidates.from_records([])  # which has every column
        candidates = mc.Candidates(request.scores, request.ids, request.columns, request.vectors)
        candidates.vectors = with_vectors(Table(candidates.columns, candidates.vectors), wishes).floats
        return candidates
    for name in ("ids", "columns", "vectors"):
        if getattr(request, name):
            raise BadBody(f"{name}: belongs to scores; {sources[0]} hold everything")
    if request.records is not None:
        return _checked(mc.Candidates.from_records(request.records, **names), wishes)
    return _checked(from_engine(request.from_, request.response, names), wishes)


def _checked(candidates: mc.Candidates, wishes: Iterable[AnyWish]) -> mc.Candidates:
    """Return the candidates with the columns that the wishes read, within the limits of the server."""
    count, largest = len(candidates), schemas.LARGEST
    if count > schemas.MOST_OWN_CANDIDATES:
        raise BadBody(f"candidates must be at most {schemas.MOST_OWN_CANDIDATES}, got {count}")
    vectors = with_vectors(Table(candidates.columns, candidates.vectors), wishes).floats
    for name, numbers in (("scores", candidates.scores), ("vectors", vectors)):
        if numbers is not None and numbers.size and np.fmax.reduce(np.abs(numbers), axis=None) > largest:
            raise BadBody(f"{name} must be numbers from -{largest:g} to {largest:g}")
    if vectors is not None and vectors.shape[1] > schemas.LONGEST_VECTOR:
        raise BadBody(f"vectors must have at most {schemas.LONGEST_VECTOR} numbers, got {vectors.shape[1]}")
    ids = convert(candidates.ids, list[schemas.Id], "ids")
    columns: dict[str, Any] = {}
    for wish in wishes:
        owner = "Category" if isinstance(wish.attribute, mc.Category) else type(wish.attribute).__name__
        for name in [name for name in columns_of(wish) if name not in columns]:
            columns[name] = convert(column_of(candidates.columns, name, owner).tolist(), list[schemas.Cell], name)
    checked: mc.Candidates = mc.Candidates(candidates.scores, ids, columns, vectors)
    checked.has_ids = candidates.has_ids
    return checked
