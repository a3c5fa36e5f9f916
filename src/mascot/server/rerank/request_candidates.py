"""The candidates of a request: scores and columns, a list of records, or the response of a search engine."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any

import numpy as np

import mascot as mc
from mascot.connect import converters
from mascot.grammar import columns_of
from mascot.server import schemas
from mascot.server.request_body import convert
from mascot.server.responses import BadBody

_SOURCES = ("scores", "records", "response")
_NAMES = ("id", "score", "vector")


def candidates_of(request: Any, wishes: Iterable[mc.AnyWish]) -> mc.Candidates:
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
        return mc.Candidates(request.scores, request.ids, request.columns, request.vectors)
    for name in ("ids", "columns", "vectors"):
        if getattr(request, name):
            raise BadBody(f"{name}: belongs to scores; {sources[0]} hold everything")
    if request.records is not None:
        return _checked(mc.Candidates.from_records(request.records, **names), wishes)
    return _checked(_converted(request.from_, request.response, names), wishes)


def _converted(engine: str, response: Any, names: dict[str, str]) -> mc.Candidates:
    converter: Any = getattr(converters, f"from_{engine}")
    for name in names:
        if name not in signature(converter).parameters:
            raise BadBody(f"{name}: is not an option of from {engine}")
    try:
        return converter(response, **names)
    except mc.MascotError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise BadBody(f"response: is not a response of {engine}") from None


def _checked(candidates: mc.Candidates, wishes: Iterable[mc.AnyWish]) -> mc.Candidates:
    """Return the candidates with the columns that the wishes read, within the limits of the server."""
    count, largest = len(candidates), schemas.LARGEST
    if count > schemas.MOST_OWN_CANDIDATES:
        raise BadBody(f"candidates must be at most {schemas.MOST_OWN_CANDIDATES}, got {count}")
    vectors = candidates.vectors
    for name, numbers in (("scores", candidates.scores), ("vectors", vectors)):
        if numbers is not None and numbers.size and np.fmax.reduce(np.abs(numbers), axis=None) > largest:
            raise BadBody(f"{name} must be numbers from -{largest:g} to {largest:g}")
    if vectors is not None and vectors.shape[1] > schemas.LONGEST_VECTOR:
        raise BadBody(f"vectors must have at most {schemas.LONGEST_VECTOR} numbers, got {vectors.shape[1]}")
    ids = convert(candidates.ids, list[schemas.Id], "ids")
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for wish in wishes for name in columns_of(wish)):
        if name in candidates.columns:
            columns[name] = convert(candidates.columns[name].tolist(), list[schemas.Cell], name)
        elif count:
            raise mc.InputError(f"no candidate has the field {name!r}")
        else:
            columns[name] = []
    return mc.Candidates(candidates.scores, ids, columns, vectors)
