"""LlamaIndex: a node postprocessor for any query engine or retriever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import mascot as mc
from mascot.connect.documents import (
    NOTE,
    Steering,
    as_method,
    as_wishes,
    lambda_from_strength,
    missing,
    notes,
    plain_wishes,
    strength_from_lambda,
)

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
    from pydantic import BeforeValidator, Field, PlainSerializer
except ModuleNotFoundError as error:
    raise missing(error, "mascot.connect.llamaindex", "llamaindex") from None


class SteeredPostprocessor(BaseNodePostprocessor):
    """Choose k of the nodes a retriever found, as the wishes ask.

    Metadata keys are columns: `Category("source")` reads ``node.metadata["source"]``; a node's embedding is its vector.
    The nodes come back as they are, the same objects with the same scores; with `explain` they are copies whose
    metadata says, under ``"mascot"``, rank, was and gains, kept from the prompts and the embeddings.

    Parameters
    ----------
    wishes
        `spread(...)` and `focus(...)`.
    k
        How many nodes.
    method
        `Mascot()` unless given.
    columns
        Metadata keys to read; those the wishes name unless given.
    explain
        Say in the metadata why a node is there.

    Where no node has a score, the order they come in is their relevance; where only some have, the others get the
    lowest.
    """

    wishes: Annotated[Any, BeforeValidator(as_wishes), PlainSerializer(plain_wishes)] = ()
    k: int = Field(default=20, ge=1)
    method: Annotated[Any, BeforeValidator(as_method), PlainSerializer(lambda method: method.to_dict())] = Field(
        default=None, validate_default=True
    )
    columns: tuple[str, ...] | None = None
    explain: bool = False

    @property
    def _steering(self) -> Steering:
        return Steering(as_wishes(self.wishes), self.k, as_method(self.method), self.columns)

    @classmethod
    def class_name(cls) -> str:
        return "SteeredPostprocessor"

    @classmethod
    def from_mmr_threshold(
        cls,
        mmr_threshold: float,
        wishes: mc.Wish | Sequence[mc.Wish] = (),
        k: int = 20,
        method: Callable[..., Any] = mc.Mascot,
        **options: Any,
    ) -> SteeredPostprocessor:
        """With LlamaIndex's `mmr_threshold`, where 1 is relevance only and 0 is diversity only: strength is 1 - it."""
        made = method(strength=strength_from_lambda(mmr_threshold, "mmr_threshold"))
        return cls(wishes=wishes, k=k, method=made, **options)

    @property
    def mmr_threshold(self) -> float | None:
        """1 - strength; None where the method finds its strength for each query."""
        return lambda_from_strength(self._steering.strength)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes:
            return []
        inner = [found.node for found in nodes]
        ranking = self._steering.rank(
            [node.metadata for node in inner],
            [found.score for found in nodes],
            lambda: [node.embedding for node in inner],
        )
        chosen = [nodes[at] for at in ranking.positions.tolist()]
        if not self.explain:
            return chosen
        return [
            NodeWithScore(node=_noted(found.node, note), score=found.score)
            for found, note in zip(chosen, notes(ranking), strict=True)
        ]


def _noted(node: BaseNode, note: dict[str, Any]) -> BaseNode:
    return node.model_copy(
        update={
            "metadata": {**node.metadata, NOTE: note},
            "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, NOTE],
            "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, NOTE],
        }
    )
