"""Re-ranking of the caller's own candidates: a request in, an answer out, without HTTP."""

from __future__ import annotations

from typing import Any

import mascot as mc
from mascot import words
from mascot.connect.nested import stem_of, value_of
from mascot.server import arrow, limits, models
from mascot.server.bodies import ARROW, JSON, MSGPACK, JsonDecoder, MsgpackDecoder
from mascot.server.wishes import wishes_of

_DECODERS: dict[str, Any] = {JSON: JsonDecoder(models.Rerank), MSGPACK: MsgpackDecoder(models.Rerank)}
_OPTIONS = ("strength", "keep", "protect")


class RerankTask:
    """One decoded request, its estimated cost and its answer.

    Parameters
    ----------
    body, format_
        The request, in JSON, msgpack or Arrow.
    """

    def __init__(self, body: bytes, format_: str = JSON) -> None:
        candidates: dict[str, Any]
        request: Any
        if format_ == ARROW:
            candidates, request = arrow.decode(body)
        else:
            request = _DECODERS[format_].decode(body)
            candidates = {name: getattr(request, name) for name in ("scores", "ids", "columns", "vectors")}
            if request.vectors is not None and len({len(row) for row in request.vectors if row is not None}) > 1:
                raise mc.InputError("vectors must all have the same length")
        self._request = request
        self._wishes = wishes_of(request.wishes)
        self._method = None if request.method is None else models.value_of(request.method)
        columns = _with_nested(candidates["columns"], self._wishes)
        self._candidates = mc.Candidates(candidates["scores"], candidates["ids"], columns, candidates["vectors"])
        self._options = {name: value for name in _OPTIONS if (value := getattr(request, name)) is not None}
        keep = request.keep is not None or getattr(self._method, "keep", None) is not None
        self.cost = limits.check(self._candidates, self._wishes, self._method or mc.Mascot(), request.k, keep)

    @property
    def small(self) -> bool:
        """Whether the answer takes about a millisecond: less than handing it to another thread would delay others."""
        extra = self._request.explain or self._request.gains
        return self.cost.small and not extra

    def answer(self) -> models.RerankOut:
        """Re-rank the candidates."""
        request = self._request
        ranking = mc.rerank(
            self._candidates, self._wishes, request.k, self._method, request.already or None, pin=request.pin,
            **self._options,
        )  # fmt: skip
        gains = {name: values.tolist() for name, values in ranking.gains.items()} if request.gains else None
        ids: list[Any] = ranking.ids
        results = [
            models.RankedOut(id_, position, place + 1, was, score, relevance)
            for place, (id_, position, was, score, relevance) in enumerate(
                zip(
                    ids,
                    ranking.positions.tolist(),
                    ranking.was.tolist(),
                    ranking.scores.tolist(),
                    ranking.relevance.tolist(),
                    strict=True,
                )
            )
        ]
        if gains is not None:
            for place, result in enumerate(results):
                result.gains = {name: values[place] for name, values in gains.items()}
        answer = models.RerankOut(results, ranking.strength)
        if request.explain:
            answer.explanation = ranking.explain().to_dict()
        return answer


def _with_nested(columns: dict[str, Any], wishes: list[mc.AnyWish]) -> dict[str, Any]:
    """Return the columns, and the nested ones that wishes name: `geo.lat` is the `lat` of the objects in `geo`."""
    nested = {}
    for wish in wishes:
        for name in words.columns_of(wish):
            stem = name if name in columns else stem_of(name, list(columns))
            if stem != name:
                nested[name] = [value_of({stem: cell}, name) for cell in columns[stem]]
    return {**columns, **nested} if nested else columns
