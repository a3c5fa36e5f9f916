"""LangChain, LlamaIndex and Haystack: what only one has, in its own chains, query engines and pipelines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, get_type_hints

import numpy as np
import pytest
from framework_documents import BY_CITY, CITIES, METADATA, UNGUARDED, Haystack, LangChain, LlamaIndex

import mascot as mc

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def langchain() -> LangChain:
    return LangChain()


@pytest.fixture(scope="module")
def llamaindex() -> LlamaIndex:
    return LlamaIndex()


@pytest.fixture(scope="module")
def haystack() -> Haystack:
    return Haystack()


def letters(text: str) -> list[float]:
    """A vector counted from letters: near those it shares letters with."""
    return [float(text.count(letter)) for letter in "abcdefghij"]


def test_langchain_in_chains_and_retrievers(langchain: LangChain) -> None:
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    from mascot.connect.langchain import SteeredCompressor, steer

    class Letters(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return letters(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(map(letters, texts))

    store = InMemoryVectorStore(Letters())
    texts = ["abc", "abd", "abe", "abj", "aci", "ach", "zzz a"]
    hits = [
        langchain.core.Document(page_content=text, metadata={**row, "shown": row["n"] != 4})
        for text, row in zip(texts, METADATA, strict=True)
    ]
    store.add_documents(hits)
    retriever = store.as_retriever(search_kwargs={"k": 7, "filter": lambda document: document.metadata["shown"]})
    steered = steer([BY_CITY], k=3, method=UNGUARDED)
    for selection in ((retriever | steered).invoke("ab"), asyncio.run((retriever | steered).ainvoke("ab"))):
        assert {document.metadata["city"] for document in selection} == {"Rome", "Lima", "Kyiv"}  # Oslo is filtered out
    classic = pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")
    compressor = SteeredCompressor(wishes=BY_CITY, k=3, method=UNGUARDED)
    compressing = classic.ContextualCompressionRetriever(base_compressor=compressor, base_retriever=retriever)
    assert compressing.invoke("ab") == asyncio.run(compressing.ainvoke("ab")) == selection
    pairs = store.similarity_search_with_score("aaab", k=7)
    chosen = steer(BY_CITY, k=4, method=UNGUARDED).invoke(pairs)  # pairs stay pairs
    assert chosen[0] == pairs[0]
    assert {document.metadata["city"] for document, _ in chosen} == set(CITIES)
    assert all(pair in pairs for pair in chosen)
    near = [langchain.core.Document(page_content=text, metadata={}) for text in ("aaa", "aab", "jjj")]
    assert steer(mc.spread(mc.Clusters(2)), k=2, method=UNGUARDED, embeddings=Letters()).invoke(near) == near[::2]


def test_langchain_takes_documents_or_pairs_and_a_config(langchain: LangChain) -> None:
    from mascot.connect.langchain import steer

    hits, steered = langchain.documents(scores=[None] * 7), steer([], k=2)
    for form in (hits, tuple(hits), (hit for hit in hits)):
        assert steered.invoke(form) == hits[:2]
    assert steered.batch([hits, hits[3:]]) == [hits[:2], hits[3:5]]
    assert steered.invoke(hits, k=3, already=hits[:1]) == hits[1:4]
    call = {"configurable": {"mascot": {"k": 3, "already": ["d0"]}}}
    pairs = [(hit, 1 - n / 10) for n, hit in enumerate(hits)]
    assert (steered.invoke(hits, call), steered.invoke(pairs, call)) == (hits[1:4], pairs[1:4])
    with pytest.raises(mc.OptionError, match=r"configurable\['mascot'\] takes k, wishes and already, got top"):
        steered.invoke(hits, {"configurable": {"mascot": {"top": 2}}})
    for wrong, kind in [
        (hits[0], "Document"), ({"context": hits}, "dict"), ("ab", "str"), (["ab", "cd"], "str"), (3, "int"),
        ([hits[0], (hits[1], 0.5)], "Document, tuple"), ([(hits[0], 0.5, 1)], "tuple"),
    ]:  # fmt: skip
        with pytest.raises(mc.InputError, match=rf"a list of documents, or of \(document, score\) pairs, got {kind}$"):
            steered.invoke(wrong)
    for hit in hits:
        hit.id = None  # it is recognised by its text
    assert steered.invoke(hits, already=hits[:1]) == hits[1:3]


def test_langchain_scores_are_where_they_are_named(langchain: LangChain) -> None:
    rows = [row | {"score": row["n"] * 10, "found": {"score": row["n"]}, "far": 0.1 + row["n"]} for row in METADATA]
    hits = langchain.documents(rows, [None] * 7)
    assert langchain.choose(hits, k=3) == [0, 1, 2]  # a `score` may be the votes of a forum
    for key in ("score", "found.score"):
        assert langchain.choose(hits, k=3, score_keys=(key,)) == [6, 5, 4]
    shuffled = [hits[n] for n in (3, 6, 0, 5, 1, 4, 2)]
    assert langchain.choose(shuffled, k=2, score_keys=["far"], distances=True) == [0, 1]
    del hits[0].metadata["far"]
    assert langchain.choose(shuffled, k=2, score_keys=["far"], distances=True) == [1, 2]
    from mascot.connect.langchain import steer

    pairs = [(hit, hit.metadata["n"]) for hit in shuffled]
    assert [score for _, score in steer([], k=3, distances=True).invoke(pairs)] == [0, 1, 2]
    with pytest.raises(mc.InputError, match="scores must be numbers"):
        langchain.choose(hits, score_keys=["city"])


def test_langchain_fields(langchain: LangChain) -> None:
    compressor = langchain.object
    schema = compressor.model_json_schema()
    assert {"wishes", "k", "method", "score_keys", "distances"} <= set(schema["properties"])
    assert "embeddings" not in schema["properties"]
    steered = compressor(score_keys=["score"], columns={"city": 1}.keys())
    assert (steered.score_keys, steered.columns) == (("score",), ("city",))
    for wrong in ("score", b"score", [3], 3):
        with pytest.raises(ValueError, match="score_keys"):
            compressor(score_keys=wrong)
    # What a type checker sees is a list of any kind too.
    hints = get_type_hints(compressor)
    assert (hints["score_keys"], hints["columns"]) == (Sequence[str], Sequence[str] | None)


@pytest.fixture(scope="module")
def embed_model(llamaindex: LlamaIndex) -> Any:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Letters(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return letters(text)

    return Letters()


def test_llamaindex_in_a_query_engine_after_a_filter(llamaindex: LlamaIndex, embed_model: Any) -> None:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.llms.mock import MockLLM  # LlamaIndex's own: an answer needs one named, none is asked
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import BaseSynthesizer
    from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

    class Listing(BaseSynthesizer):
        """An answer that is the texts it was given, one a line."""

        def get_response(self, query_str: str, text_chunks: Any, **kwargs: Any) -> str:
            return "\n".join(text_chunks)

        async def aget_response(self, query_str: str, text_chunks: Any, **kwargs: Any) -> str:
            return self.get_response(query_str, text_chunks)

        def _get_prompts(self) -> Any:
            return {}

        def _update_prompts(self, prompts: Any) -> None:
            pass

    unseen = ["n", "city", "kept"]
    nodes = [
        llamaindex.schema.TextNode(
            text=text,
            metadata={**row, "kept": "no" if row["n"] == 4 else "yes"},
            excluded_embed_metadata_keys=unseen,
            excluded_llm_metadata_keys=unseen,
        )
        for text, row in zip(["abc", "abd", "abe", "abj", "aci", "ach", "ag"], METADATA, strict=True)
    ]
    filters = MetadataFilters(filters=[ExactMatchFilter(key="kept", value="yes")])
    retriever = VectorStoreIndex(nodes, embed_model=embed_model).as_retriever(similarity_top_k=7, filters=filters)
    steered = llamaindex.steered(wishes=BY_CITY, k=3, method=UNGUARDED, explain=True)
    engine = RetrieverQueryEngine(retriever, Listing(llm=MockLLM()), node_postprocessors=[steered])
    answer = engine.query("ab")
    assert {hit.node.metadata["city"] for hit in answer.source_nodes} == {"Rome", "Lima", "Kyiv"}
    assert answer.response.splitlines() == [hit.node.text for hit in answer.source_nodes]  # no notes in the prompt
    retrieved = {hit.node.node_id: hit.score for hit in retriever.retrieve("ab")}
    assert all(hit.score == retrieved[hit.node.node_id] for hit in answer.source_nodes)
    assert bool(asyncio.run(steered.apostprocess_nodes(retriever.retrieve("ab"))))


def test_llamaindex_makes_vectors_where_there_are_none(llamaindex: LlamaIndex, embed_model: Any) -> None:
    schema = llamaindex.schema
    nodes = [
        schema.NodeWithScore(node=schema.TextNode(text=text, metadata={"n": n}, excluded_embed_metadata_keys=["n"]))
        for n, text in enumerate(["aaa", "aab", "aaa", "jjj", "aba"])
    ]
    for options in ({"method": mc.Mmr(0.9)}, {"wishes": mc.spread(mc.Clusters(2)), "method": UNGUARDED}):
        assert 3 in llamaindex.choose(nodes, k=2, embed_model=embed_model, **options)
    nodes[0].node.embedding = [0.0] * 9 + [1.0]  # a vector that came along is kept
    assert 3 not in llamaindex.choose(nodes, k=2, embed_model=embed_model, method=mc.Mmr(1.0))
    steered = llamaindex.steered(wishes=BY_CITY, k=4, method=UNGUARDED)
    steered.k = 3  # what is changed later counts
    assert llamaindex.numbers(steered.postprocess_nodes(llamaindex.documents())) == [0, 4, 5]
    plain = steered.model_copy(update={"wishes": ()})
    assert llamaindex.numbers(plain.postprocess_nodes(llamaindex.documents())) == [0, 1, 2]


def test_haystack_in_a_pipeline_that_may_be_saved(haystack: Haystack) -> None:
    from haystack import Pipeline
    from haystack.components.retrievers import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    vectors = np.random.default_rng(1).normal(size=(28, 6)).tolist()
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    rows = [{"n": n, "city": CITIES[n % 7]} for n in range(28)]
    store.write_documents(haystack.documents(rows, [None] * 28, vectors))
    no_oslo = {"field": "meta.city", "operator": "!=", "value": "Oslo"}
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=28, filters=no_oslo))
    pipeline.add_component("ranker", haystack.steered(wishes=[BY_CITY], k=3, method=UNGUARDED))
    pipeline.connect("retriever.documents", "ranker.documents")

    def cities(**call: Any) -> list[str]:
        result = pipeline.run({"retriever": {"query_embedding": vectors[0]}, "ranker": call})
        return [document.meta["city"] for document in result["ranker"]["documents"]]

    assert set(cities(query="boats")) == {"Rome", "Lima", "Kyiv"}
    assert len(cities(top_k=2)) == 2
    assert len(set(cities(k=2, wishes=[mc.focus(mc.Category("city"))]))) == 1
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["mascot.connect.haystack"])
    assert again.get_component("ranker").to_dict() == pipeline.get_component("ranker").to_dict()
    bare, full = (
        InMemoryEmbeddingRetriever(store, top_k=12, return_embedding=option).run(vectors[0])["documents"]
        for option in (False, True)
    )
    with pytest.raises(mc.InputError, match="Mmr needs vectors"):
        haystack.choose(bare, k=4, method=mc.Mmr(0.9))
    assert haystack.choose(full, k=4, method=mc.Mmr(0.9))[0] == 0


def test_haystack_has_another_name_for_k(haystack: Haystack) -> None:
    hits, ranker = haystack.documents(), haystack.steered(top_k=np.int64(4))
    assert [len(ranker.run(documents=hits, **call)["documents"]) for call in ({}, {"top_k": 2}, {"k": 3})] == [4, 2, 3]
    assert json.loads(json.dumps(ranker.to_dict()))["init_parameters"]["k"] == 4
    with pytest.raises(mc.OptionError, match="top_k is another name for k"):
        ranker.run(documents=hits, top_k=1, k=2)

    class Last:
        def select(self, problem: Any, k: int) -> Any:
            raise NotImplementedError

    with pytest.raises(mc.OptionError, match="a method cannot be saved unless it has to_dict"):
        haystack.steered(method=Last()).to_dict()


@pytest.mark.slow  # it loads torch
def test_the_ends_of_lambda_threshold_are_those_of_haystacks_own_mmr(haystack: Haystack, tmp_path: Any) -> None:
    """Over a small model of our making: one random vector a word."""
    rankers = pytest.importorskip(
        "haystack_integrations.components.rankers.sentence_transformers", reason="needs sentence-transformers-haystack"
    )
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = Tokenizer(WordLevel({"[UNK]": 0} | {f"w{i}": i + 1 for i in range(60)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(61, 8)).astype(np.float32)
    model = SentenceTransformer(modules=[StaticEmbedding(words, embedding_weights=weights)], device="cpu")
    model.save(str(tmp_path))
    theirs = rankers.SentenceTransformersDiversityRanker(
        model=str(tmp_path), top_k=10, similarity="cosine", strategy="maximum_margin_relevance", token=None
    )
    theirs.warm_up()
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 60, 4)) for _ in range(30)]
    vectors = model.encode([*texts, "w1 w2 w3"], normalize_embeddings=True)
    hits = [
        haystack.haystack.Document(content=text, meta={"n": n}, embedding=vector.tolist(), score=score)
        for n, (text, vector, score) in enumerate(zip(texts, vectors, (vectors @ vectors[-1]).tolist(), strict=False))
    ]
    for value in (0.0, 1.0):
        ours = haystack.steered(value, k=10, method=mc.Mmr)
        expected = theirs.run(query="w1 w2 w3", documents=hits, lambda_threshold=value)["documents"]
        assert haystack.numbers(haystack.run(ours, hits)) == haystack.numbers(expected)
