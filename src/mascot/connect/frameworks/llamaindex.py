"""LlamaIndex: a node postprocessor for any query engine or retriever."""

from __future__ import annotations

from typing import Any, ClassVar

import mascot as mc
from mascot.connect.frameworks.documents import NOTE, DocumentKind, MethodClass, method_from_lambda
from mascot.extras import missing
from mascot.wishes import Wishes

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
    from pydantic import ConfigDict, Field, model_validator
    from pydantic.json_schema import SkipJsonSchema

    from mascot.connect.frameworks.steering_fields import SteeredModel
except ModuleNotFoundError as error:
    raise missing(error, "mascot.connect.frameworks.llamaindex", "llamaindex") from None


def _noted(hit: NodeWithScore, note: dict[str, Any]) -> NodeWithScore:
    node = hit.node.model_copy(
        update={
            "metadata": {**hit.node.metadata, NOTE: note},
            "excluded_llm_metadata_keys": [*hit.node.excluded_llm_metadata_keys, NOTE],
            "excluded_embed_metadata_keys": [*hit.node.excluded_embed_metadata_keys, NOTE],
        }
    )
    return NodeWithScore(node=node, score=hit.score)


class SteeredPostprocessor(SteeredModel, BaseNodePostprocessor):
    """Select k of the nodes of a retriever by the wishes.

    Metadata keys are columns: `Category("source")` reads ``node.metadata["source"]``. The embedding of a node is its
    vector. The selected nodes are the same objects with the same scores. With `explain` they are copies whose metadata
    holds `rank`, `was`, `gains` and `because` under ``"mascot"``, which prompts and embeddings exclude.

    For the parameters see `mascot.connect.frameworks.documents.Steering`. `embed_model` makes the vectors of nodes
    without an embedding, if a wish or the method compares vectors (default: None): retrievers of LlamaIndex do not
    return embeddings.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    _kind: ClassVar[DocumentKind] = DocumentKind(
        (NodeWithScore, BaseNode),
        lambda hit: hit.node.metadata,
        lambda hit: hit.node_id,
        _noted,
        "retrievers of LlamaIndex do not return them; set embed_model= to make them from the texts",
    )
    embed_model: SkipJsonSchema[BaseEmbedding | None] = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _named_as_dumped(cls, data: Any) -> Any:
        """Remove the name of the class, which LlamaIndex writes among the fields."""
        return {key: value for key, value in data.items() if key != "class_name"} if isinstance(data, dict) else data

    @classmethod
    def class_name(cls) -> str:
        return "SteeredPostprocessor"

    @classmethod
    def from_mmr_threshold(
        cls, mmr_threshold: float, wishes: Wishes = (), k: int = 20, method: MethodClass = mc.Mascot, **options: Any
    ) -> SteeredPostprocessor:
        """Return a postprocessor for LlamaIndex's `mmr_threshold`, 1 - strength: 1 is relevance, 0 is diversity."""
        return cls(wishes=wishes, k=k, method=method_from_lambda(mmr_threshold, method, "mmr_threshold"), **options)

    @property
    def mmr_threshold(self) -> float | None:
        """1 - strength; None if the method finds its strength for each query."""
        return self._steering.mmr_lambda

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
        """Return the selected nodes, best first; `query_bundle` and `query_str` are not read.

        `k` and `wishes` replace those of the postprocessor (default: None). For `already` see `Steering.select`.
        """
        if k is None and wishes is None and already is None:
            return super().postprocess_nodes(nodes, query_bundle, query_str)
        return self._select(nodes, wishes, k, already)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._select(nodes)

    def _select(self, nodes: list[NodeWithScore], *call: Any) -> list[NodeWithScore]:
        return self._steering.select(nodes, [hit.score for hit in nodes], lambda: self._vectors(nodes), *call)

    def _vectors(self, hits: list[NodeWithScore]) -> list[list[float] | None]:
        nodes = [hit.node for hit in hits]
        if self.embed_model is None:
            return [node.embedding for node in nodes]
        texts = [node.get_content(MetadataMode.EMBED) for node in nodes if node.embedding is None]
        embeddings = iter(self.embed_model.get_text_embedding_batch(texts) if texts else ())
        return [next(embeddings) if node.embedding is None else node.embedding for node in nodes]
