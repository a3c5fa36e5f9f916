"""One interface to the documents and the steering objects of LangChain, LlamaIndex and Haystack."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import mascot as mc

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is loaded
CITIES = ["Rome", "Rome", "Rome", "Rome", "Oslo", "Lima", "Kyiv"]
METADATA = [{"n": n, "city": city} for n, city in enumerate(CITIES)]
SCORES = [1 - n / 10 for n in range(7)]
BY_CITY = mc.spread(mc.Category("city"))
UNGUARDED = mc.Mascot(0.9, protect=1)


class Framework:
    object: Any  # the class that steers
    parameter: str  # the framework's name for lambda
    remedy: str  # how vectors come along, in the words of the error
    document: Any  # makes a document of text, id, metadata, score and vector
    run: Any  # the documents that a steering object chooses
    loaded: Any  # the object after it was saved
    own_mmr: Any  # the framework's own MMR

    def metadata(self, document: Any) -> dict[str, Any]:
        return document.metadata

    def steered(self, value: float | None = None, **options: Any) -> Any:
        """Return the object that steers, made from a value of the parameter if there is one."""
        return (
            self.object(**options)
            if value is None
            else getattr(self.object, f"from_{self.parameter}")(value, **options)
        )

    def documents(
        self, metadata: Sequence[dict[str, Any]] = METADATA, scores: Any = SCORES, vectors: Any = None
    ) -> list[Any]:
        vectors = [None] * len(metadata) if vectors is None else vectors
        return [
            self.document(f"text {row['n']}", f"d{row['n']}", dict(row), score, vector)
            for row, score, vector in zip(metadata, scores, vectors, strict=True)
        ]

    def numbers(self, hits: list[Any]) -> list[int]:
        return [self.metadata(hit)["n"] for hit in hits]

    def choose(self, hits: list[Any] | None = None, **options: Any) -> list[int]:
        """Return the numbers of the documents that an object with these options chooses."""
        return self.numbers(self.run(self.steered(**options), self.documents() if hits is None else hits))


class LangChain(Framework):
    parameter, remedy = "lambda_mult", "vector_key=.*embeddings="

    def __init__(self) -> None:
        self.core = pytest.importorskip("langchain_core.documents", reason="needs mascot-rerank[langchain]")
        from mascot.connect.frameworks.langchain import SteeredCompressor

        self.object = SteeredCompressor

    def document(self, text: str, id_: str, metadata: dict[str, Any], score: float | None, vector: Any) -> Any:
        more = {name: value for name, value in (("relevance_score", score), ("vector", vector)) if value is not None}
        return self.core.Document(page_content=text, id=id_, metadata=metadata | more)

    def steered(self, value: float | None = None, **options: Any) -> Any:
        return super().steered(value, **{"vector_key": "vector"} | options)

    def run(self, steered: Any, hits: list[Any], **call: Any) -> list[Any]:
        return steered.compress_documents(hits, "query", **call)

    def loaded(self, steered: Any) -> Any:
        return self.object.model_validate_json(steered.model_dump_json())

    def own_mmr(self, query: Any, vectors: Any, scores: list[float], value: float, k: int) -> list[int]:
        from langchain_core.vectorstores.utils import maximal_marginal_relevance

        return maximal_marginal_relevance(query, vectors.tolist(), lambda_mult=value, k=k)


class LlamaIndex(Framework):
    parameter, remedy = "mmr_threshold", "embed_model="

    def __init__(self) -> None:
        self.schema = pytest.importorskip("llama_index.core.schema", reason="needs mascot-rerank[llamaindex]")
        from mascot.connect.frameworks.llamaindex import SteeredPostprocessor

        self.object = SteeredPostprocessor

    def document(self, text: str, id_: str, metadata: dict[str, Any], score: float | None, vector: Any) -> Any:
        node = self.schema.TextNode(text=text, id_=id_, metadata=metadata, embedding=vector)
        return self.schema.NodeWithScore(node=node, score=score)

    def run(self, steered: Any, hits: list[Any], **call: Any) -> list[Any]:
        return steered.postprocess_nodes(hits, **call)

    def loaded(self, steered: Any) -> Any:
        data = steered.to_dict()
        assert (data["class_name"], "embed_model" in data) == ("SteeredPostprocessor", False)
        assert self.object.from_json(steered.to_json())._steering == steered._steering
        return self.object.from_dict(data)

    def own_mmr(self, query: Any, vectors: Any, scores: list[float], value: float, k: int) -> list[int]:
        from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings

        # From the third result on, LlamaIndex compares with the last one chosen alone, where MMR compares with all.
        k = k if value == 1 else 2
        return get_top_k_mmr_embeddings(query.tolist(), vectors.tolist(), similarity_top_k=k, mmr_threshold=value)[1]


class Haystack(Framework):
    parameter, remedy = "lambda_threshold", "return_embedding=True"

    def __init__(self) -> None:
        self.haystack = pytest.importorskip("haystack", reason="needs mascot-rerank[haystack]")
        from mascot.connect.frameworks.haystack import SteeredRanker

        self.object = SteeredRanker

    def document(self, text: str, id_: str, metadata: dict[str, Any], score: float | None, vector: Any) -> Any:
        return self.haystack.Document(content=text, id=id_, meta=metadata, score=score, embedding=vector)

    def metadata(self, document: Any) -> dict[str, Any]:
        return document.meta

    def run(self, steered: Any, hits: list[Any], **call: Any) -> list[Any]:
        return steered.run(documents=hits, **call)["documents"]

    def loaded(self, steered: Any) -> Any:
        return self.object.from_dict(json.loads(json.dumps(steered.to_dict())))

    def own_mmr(self, query: Any, vectors: Any, scores: list[float], value: float, k: int) -> list[int]:
        if value == 0:
            pytest.skip("pyversity, which Haystack ranks by, ends elsewhere")
        pyversity = pytest.importorskip("pyversity")
        return pyversity.diversify(vectors, np.array(scores), k=k, strategy="mmr", diversity=1 - value).indices.tolist()
