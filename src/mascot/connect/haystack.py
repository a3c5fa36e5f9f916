"""Haystack: a ranker component for any pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import mascot as mc
from mascot.connect.documents import (
    NOTE,
    Steering,
    as_method,
    as_wishes,
    lambda_from_strength,
    notes,
    plain_method,
    plain_wishes,
    strength_from_lambda,
    with_strength,
)
from mascot.connect.nested import names_of
from mascot.extras import missing

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise missing(error, "mascot.connect.haystack", "haystack") from None

_REMEDY = "let the retriever return them with return_embedding=True"


@component
class SteeredRanker:
    """Choose k of the documents a retriever found, as the wishes ask.

    Metadata keys are columns: `Category("source")` reads ``meta["source"]``; a document's embedding is its vector,
    where the retriever was told ``return_embedding=True``. The documents come back as they are, the same objects with
    the same scores; with `explain` they are copies whose meta says, under ``"mascot"``, rank, was and gains.

    Parameters
    ----------
    wishes
        `spread(...)` and `focus(...)`.
    k
        How many documents.
    method
        `Mascot()` unless given.
    columns
        Meta keys to read; those the wishes name unless given. `location.lat` is the `lat` of a dictionary `location`.
    explain
        Say in the meta why a document is there.

    Where no document has a score, the order they come in is their relevance; where only some have, the others get the
    lowest.
    """

    def __init__(
        self,
        wishes: mc.Wish | Sequence[mc.Wish] = (),
        k: int = 20,
        method: Any = None,
        columns: Sequence[str] | None = None,
        explain: bool = False,
    ) -> None:
        keys = None if columns is None else tuple(names_of(columns))
        self._steering = Steering(as_wishes(wishes), k, as_method(method), keys, _REMEDY)
        self.explain = explain

    @classmethod
    def from_lambda_threshold(
        cls,
        lambda_threshold: float,
        wishes: mc.Wish | Sequence[mc.Wish] = (),
        k: int = 20,
        method: Callable[..., Any] = mc.Mascot,
        **options: Any,
    ) -> SteeredRanker:
        """With Haystack's `lambda_threshold`, where 1 is relevance only and 0 is diversity only: strength is 1 - it."""
        strength = strength_from_lambda(lambda_threshold, "lambda_threshold")
        made = with_strength(method, strength, "lambda_threshold")
        return cls(wishes, k, made, **options)

    @property
    def lambda_threshold(self) -> float | None:
        """1 - strength; None where the method finds its strength for each query."""
        return lambda_from_strength(self._steering.strength)

    @component.output_types(documents=list[Document])
    def run(
        self, documents: list[Document], wishes: list[Any] | None = None, k: int | None = None
    ) -> dict[str, list[Document]]:
        """The chosen documents, best first; `wishes` and `k` of this query in place of the component's own."""
        steering = self._steering
        if wishes is not None or k is not None:
            steering = replace(
                steering,
                wishes=steering.wishes if wishes is None else as_wishes(wishes),
                k=steering.k if k is None else k,
            )
        if not documents:
            return {"documents": []}
        ranking = steering.rank(
            [document.meta for document in documents],
            [document.score for document in documents],
            lambda: [document.embedding for document in documents],
        )
        chosen = [documents[at] for at in ranking.positions.tolist()]
        if self.explain:
            chosen = [
                replace(document, meta={**document.meta, NOTE: note})
                for document, note in zip(chosen, notes(ranking), strict=True)
            ]
        return {"documents": chosen}

    def to_dict(self) -> dict[str, Any]:
        """The component as plain data, for a saved pipeline."""
        steering = self._steering
        return default_to_dict(
            self,
            wishes=plain_wishes(steering.wishes),
            k=steering.k,
            method=plain_method(steering.method),
            columns=None if steering.columns is None else list(steering.columns),
            explain=self.explain,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SteeredRanker:
        """The component that `to_dict` described."""
        made: SteeredRanker = default_from_dict(cls, data)
        return made
