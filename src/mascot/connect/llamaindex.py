"""LlamaIndex: a node postprocessor for any query engine or retriever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import mascot as mc
from mascot.connect.documents import (
    NOTE,
    Steering,
    as_method,
    as_names,
    as_wishes,
    earlier_ids,
    lambda_from_strength,
    method_from_lambda,
    notes,
    plain_method,
    plain_wishes,
)
from mascot.extras import missing

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
    from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator
    from pydantic.json_schema import SkipJsonSchema
except ModuleNotFoundError as error:
    raise missing(error, "mascot.connect.llamaindex", "llamaindex") from None

_REMEDY = "retrievers of LlamaIndex leave them behind; embed_model= makes them of the texts"
_Names = Annotated[Sequence[str], BeforeValidator(as_names), AfterValidator(tuple)]


class SteeredPostprocessor(BaseNodePostprocessor):
    """Choose k of the nodes a retriever found, as the wishes ask.

    Metadata keys are columns: `Category("source")` reads ``node.metadata["source"]``; a node's embedding is its vector.
    The nodes come back as they are, the same objects with the same scores; with `explain` they are copies whose
    metadata says, under ``"mascot"``, rank, was and gains, kept from the prompts and the embeddings.

    Parameters
    ----------
    wishes
        `spread(...)`, `focus(...)`, `limit(...)` and `share(...)`.
    k
        How many nodes (default: 20).
    method
        The method (default: `Mascot()`).
    embed_model
        Makes the vectors of nodes that came without, where a wish or the method compares vectors: retrievers of
        LlamaIndex leave them behind.
    columns
        Metadata keys to read (default: those the wishes name). `location.lat` is the `lat` of a dictionary
        `location`.
    explain
        Say in the metadata why a node is there.

    Where no node has a score, the order they come in is their relevance; where only some have, the others get the
    lowest.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    wishes: Annotated[Any, BeforeValidator(as_wishes), PlainSerializer(plain_wishes)] = ()
    k: int = Field(default=20, ge=1)
    method: Annotated[Any, BeforeValidator(as_method), PlainSerializer(plain_method)] = Field(
        default=None, validate_default=True
    )
    embed_model: SkipJsonSchema[BaseEmbedding | None] = Field(default=None, exclude=True)
    columns: _Names | None = None
    explain: bool = False

    @model_validator(mode="before")
    @classmethod
    def _named_as_dumped(cls, data: Any) -> Any:
        """LlamaIndex writes the name of the class among the fields."""
        return {key: value for key, value in data.items() if key != "class_name"} if isinstance(data, dict) else data

    @property
    def _steering(self) -> Steering:
        return Steering(as_wishes(self.wishes), self.k, as_method(self.method), self.columns, _REMEDY)

    @classmethod
    def class_name(cls) -> str:
        return "SteeredPostprocessor"

    @classmethod
    def from_mmr_threshold(
        cls,
        mmr_threshold: float,
        wishes: mc.AnyWish | Sequence[mc.AnyWish] = (),
        k: int = 20,
        method: Callable[..., Any] = mc.Mascot,
        **options: Any,
    ) -> SteeredPostprocessor:
        """Return a postprocessor for LlamaIndex's `mmr_threshold`, 1 - strength: 1 is relevance, 0 is diversity."""
        return cls(wishes=wishes, k=k, method=method_from_lambda(mmr_threshold, method, "mmr_threshold"), **options)

    @property
    def mmr_threshold(self) -> float | None:
        """1 - strength; None where the method finds its strength for each query."""
        return lambda_from_strength(self._steering.strength)

    def postprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,
        query_str: str | None = None,
        *,
        k: int | None = None,
        wishes: Any = None,
        already: Any = None,
    ) -> list[NodeWithScore]:
        """Return the selected nodes, best first.

        Parameters
        ----------
        nodes
            What the retriever returned.
        query_bundle, query_str
            As LlamaIndex passes them; not read.
        k, wishes
            Those of this call (default: None, the postprocessor's own).
        already
            Nodes, or their ids, that earlier pages showed: not shown again, and counted as covered. What is not among
            the nodes is ignored (default: None).
        """
        if k is None and wishes is None and already is None:
            return super().postprocess_nodes(nodes, query_bundle, query_str)
        return self._select(nodes, self._steering.for_call(wishes, k), already)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._select(nodes, self._steering, None)

    def _select(self, nodes: list[NodeWithScore], steering: Steering, already: Any) -> list[NodeWithScore]:
        seen_ids = earlier_ids(already, (NodeWithScore, BaseNode), lambda node: node.node_id)
        if not nodes:
            return []
        inner = [hit.node for hit in nodes]
        ranking = steering.rank(
            [node.metadata for node in inner],
            [hit.score for hit in nodes],
            lambda: self._vectors(inner),
            None if seen_ids is None else [node.node_id for node in inner],
            seen_ids,
        )
        selected = [nodes[at] for at in ranking.positions.tolist()]
        if not self.explain:
            return selected
        return [
            NodeWithScore(node=_noted(hit.node, note), score=hit.score)
            for hit, note in zip(selected, notes(ranking), strict=True)
        ]

    def _vectors(self, nodes: list[BaseNode]) -> list[list[float] | None]:
        if self.embed_model is None:
            return [node.embedding for node in nodes]
        bare = [node for node in nodes if node.embedding is None]
        texts = [node.get_content(MetadataMode.EMBED) for node in bare]
        embeddings = iter(self.embed_model.get_text_embedding_batch(texts) if texts else ())
        return [next(embeddings) if node.embedding is None else node.embedding for node in nodes]


def _noted(node: BaseNode, note: dict[str, Any]) -> BaseNode:
    return node.model_copy(
        update={
            "metadata": {**node.metadata, NOTE: note},
            "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, NOTE],
            "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, NOTE],
        }
    )
