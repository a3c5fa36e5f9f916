"""Haystack: a ranker component for any pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from operator import attrgetter
from typing import Any

import mascot as mc
from mascot.connect.converters.hit_lists import names_of
from mascot.connect.frameworks.documents import (
    NOTE,
    DocumentKind,
    MethodClass,
    Steering,
    method_from_lambda,
    resolve_rules,
)
from mascot.extras import missing
from mascot.wishes import Wishes

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise missing(error, "mascot.connect.frameworks.haystack", "haystack") from None

_K = 20


def _noted(document: Document, note: dict[str, Any]) -> Document:
    return replace(document, meta={**document.meta, NOTE: note})


_DOCUMENTS = DocumentKind(
    Document, attrgetter("meta"), attrgetter("id"), _noted, "set return_embedding=True on the retriever"
)


@component
class SteeredRanker:
    """Select k of the documents of a retriever by the wishes.

    Meta keys are columns: `Category("source")` reads ``meta["source"]``. The embedding of a document is its vector, if
    the retriever has ``return_embedding=True``. The selected documents are the same objects with the same scores. With
    `explain` they are copies whose meta holds `rank`, `was`, `gains` and `because` under ``"mascot"``.

    For the parameters see `mascot.connect.frameworks.documents.Steering`. `top_k` is Haystack's name for `k`.
    """

    def __init__(
        self,
        wishes: Wishes = (),
        k: int = _K,
        method: Any = None,
        columns: Sequence[str] | None = None,
        explain: bool = False,
        top_k: int | None = None,
        profile: Any = None,
        strength: float | None = None,
        keep: float | None = None,
    ) -> None:
        rules = {"wishes": wishes or None, "k": _one_k(top_k, k if k != _K else None), "method": method}
        rules = {name: value for name, value in rules.items() if value is not None}
        rules = resolve_rules({**rules, "profile": profile, "strength": strength, "keep": keep})
        keys = None if columns is None else tuple(names_of(columns))
        self._steering = Steering(_DOCUMENTS, **rules, columns=keys, explain=explain)

    @classmethod
    def from_lambda_threshold(
        cls, lambda_threshold: float, wishes: Wishes = (), k: int = _K, method: MethodClass = mc.Mascot, **options: Any
    ) -> SteeredRanker:
        """Return a ranker for Haystack's `lambda_threshold`, 1 - strength: 1 is relevance only, 0 is diversity only."""
        return cls(wishes, k, method_from_lambda(lambda_threshold, method, "lambda_threshold"), **options)

    @property
    def lambda_threshold(self) -> float | None:
        """1 - strength; None if the method finds its strength for each query."""
        return self._steering.mmr_lambda

    @component.output_types(documents=list[Document])
    def run(
        self,
        documents: list[Document],
        wishes: list[Any] | None = None,
        k: int | None = None,
        query: str | None = None,
        top_k: int | None = None,
        already: list[Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the selected documents, best first; `query` is not read, because the documents have their scores.

        `wishes` and `k`, which Haystack calls `top_k`, replace those of the component (default: None). For `already`
        see `Steering.select`.
        """
        scores, call = [document.score for document in documents], (wishes, _one_k(top_k, k), already)
        select = self._steering.select
        return {"documents": select(documents, scores, lambda: [each.embedding for each in documents], *call)}

    @component.output_types(documents=list[Document])
    @wraps(run)  # Haystack compares the parameters of both
    async def run_async(self, *args: Any, **options: Any) -> dict[str, list[Document]]:
        """Do the same as `run` in a thread, so that the event loop stays free."""
        return await asyncio.to_thread(self.run, *args, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain data, for a saved pipeline."""
        return default_to_dict(self, **self._steering.to_dict())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SteeredRanker:
        """Return the component that `to_dict` described."""
        return default_from_dict(cls, data)


def _one_k(top_k: int | None, k: int | None) -> int | None:
    if top_k is not None and k is not None and top_k != k:
        raise mc.OptionError(f"top_k is another name for k and must not differ from it, got {top_k!r} and {k!r}")
    return k if top_k is None else top_k
