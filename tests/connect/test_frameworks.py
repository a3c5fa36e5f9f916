"""LangChain, LlamaIndex and Haystack: one object each, which steers documents, beside the framework's own MMR."""

from __future__ import annotations

import asyncio
import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, get_type_hints

import numpy as np
import pytest

import mascot as mc
from mascot.connect import documents
from mascot.extras import packages_of

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is loaded
pytestmark = pytest.mark.integration

CITIES = ["Rome", "Rome", "Rome", "Rome", "Oslo", "Lima", "Kyiv"]
METADATA = [{"n": n, "city": city} for n, city in enumerate(CITIES)]
SCORES = [1 - n / 10 for n in range(7)]
BY_CITY = mc.spread(mc.Category("city"))
UNGUARDED = mc.Mascot(0.9, protect=1)


class LangChain:
    remedy = "vector_key=.*embeddings="
    knob = "lambda_mult"

    def __init__(self) -> None:
        self.core = pytest.importorskip("langchain_core.documents", reason="needs mascot-rerank[langchain]")
        from mascot.connect.langchain import SteeredCompressor

        self.object = SteeredCompressor

    def document(self, metadata: dict[str, Any], score: float | None, vector: Any = None) -> Any:
        more = ({} if score is None else {"relevance_score": score}) | ({} if vector is None else {"vector": vector})
        return self.core.Document(
            page_content=f"text {metadata['n']}", id=f"d{metadata['n']}", metadata=metadata | more
        )

    def steered(self, **options: Any) -> Any:
        return self.object(**options)

    def from_knob(self, value: float, **options: Any) -> Any:
        return self.object.from_lambda_mult(value, **options)

    def choose(self, steered: Any, hits: list[Any], **call: Any) -> list[Any]:
        return steered.compress_documents(hits, "query", **call)

    def metadata(self, document: Any) -> dict[str, Any]:
        return document.metadata

    def plain(self, steered: Any) -> Any:
        return self.object.model_validate_json(steered.model_dump_json())

    def own_mmr(self, query: Any, vectors: Any, value: float, k: int) -> list[int]:
        from langchain_core.vectorstores.utils import maximal_marginal_relevance

        return maximal_marginal_relevance(query, vectors.tolist(), lambda_mult=value, k=k)


class LlamaIndex:
    remedy = "embed_model="
    knob = "mmr_threshold"

    def __init__(self) -> None:
        self.schema = pytest.importorskip("llama_index.core.schema", reason="needs mascot-rerank[llamaindex]")
        from mascot.connect.llamaindex import SteeredPostprocessor

        self.object = SteeredPostprocessor

    def document(self, metadata: dict[str, Any], score: float | None, vector: Any = None) -> Any:
        text, id_ = f"text {metadata['n']}", f"d{metadata['n']}"
        node = self.schema.TextNode(text=text, id_=id_, metadata=metadata, embedding=vector)
        return self.schema.NodeWithScore(node=node, score=score)

    def steered(self, **options: Any) -> Any:
        options.pop("vector_key", None)
        return self.object(**options)

    def from_knob(self, value: float, **options: Any) -> Any:
        options.pop("vector_key", None)
        return self.object.from_mmr_threshold(value, **options)

    def choose(self, steered: Any, hits: list[Any], **call: Any) -> list[Any]:
        return steered.postprocess_nodes(hits, **call)

    def metadata(self, document: Any) -> dict[str, Any]:
        return document.node.metadata

    def plain(self, steered: Any) -> Any:
        data = steered.to_dict()
        assert (data["class_name"], "embed_model" in data) == ("SteeredPostprocessor", False)
        assert self.object.from_json(steered.to_json())._steering == steered._steering
        assert self.object.model_validate_json(steered.model_dump_json())._steering == steered._steering
        return self.object.from_dict(data)

    def own_mmr(self, query: Any, vectors: Any, value: float, k: int) -> list[int]:
        from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings

        # From the third result on, LlamaIndex compares with the last one chosen alone, where MMR compares with all.
        k = k if value == 1 else 2
        return get_top_k_mmr_embeddings(query.tolist(), vectors.tolist(), similarity_top_k=k, mmr_threshold=value)[1]


class Haystack:
    remedy = "return_embedding=True"
    knob = "lambda_threshold"

    def __init__(self) -> None:
        self.haystack = pytest.importorskip("haystack", reason="needs mascot-rerank[haystack]")
        from mascot.connect.haystack import SteeredRanker

        self.object = SteeredRanker

    def document(self, metadata: dict[str, Any], score: float | None, vector: Any = None) -> Any:
        text, id_ = f"text {metadata['n']}", f"d{metadata['n']}"
        return self.haystack.Document(content=text, id=id_, meta=metadata, score=score, embedding=vector)

    def steered(self, **options: Any) -> Any:
        options.pop("vector_key", None)
        return self.object(**options)

    def from_knob(self, value: float, **options: Any) -> Any:
        options.pop("vector_key", None)
        return self.object.from_lambda_threshold(value, **options)

    def choose(self, steered: Any, hits: list[Any], **call: Any) -> list[Any]:
        return steered.run(documents=hits, **call)["documents"]

    def metadata(self, document: Any) -> dict[str, Any]:
        return document.meta

    def plain(self, steered: Any) -> Any:
        return self.object.from_dict(json.loads(json.dumps(steered.to_dict())))

    def own_mmr(self, query: Any, vectors: Any, value: float, k: int) -> list[int]:
        rankers = pytest.importorskip("haystack_integrations.components.rankers.pyversity", reason="needs pyversity")
        from pyversity import Strategy

        if value == 0:
            pytest.skip("pyversity ends elsewhere")
        theirs = rankers.PyversityRanker(top_k=k, strategy=Strategy.MMR, diversity=1 - value)
        scores = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        hits = [self.document({"n": n}, float(scores[n]), vectors[n].tolist()) for n in range(len(vectors))]
        return [document.meta["n"] for document in theirs.run(documents=hits)["documents"]]


class Bench:
    """A framework, and documents of it."""

    def __init__(self, framework: Any) -> None:
        self.framework = framework

    def documents(self, metadata: Any = METADATA, scores: Any = SCORES, vectors: Any = None) -> list[Any]:
        vectors = [None] * len(metadata) if vectors is None else vectors
        return [
            self.framework.document(dict(row), score, vector)
            for row, score, vector in zip(metadata, scores, vectors, strict=True)
        ]

    def numbers(self, hits: list[Any]) -> list[int]:
        return [self.framework.metadata(hit)["n"] for hit in hits]

    def choose(self, hits: list[Any] | None = None, call: dict[str, Any] | None = None, **options: Any) -> list[int]:
        """Return the numbers of the documents that an object with these options chooses."""
        hits = self.documents() if hits is None else hits
        return self.numbers(self.framework.choose(self.framework.steered(**options), hits, **call or {}))


@pytest.fixture(scope="module", params=[LangChain, LlamaIndex, Haystack], ids=lambda kind: kind.__name__)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param())


def test_it_steers_and_returns_the_same_objects(bench: Bench) -> None:
    hits = bench.documents()
    steered = bench.framework.steered(wishes=[BY_CITY], k=4, method=UNGUARDED)
    selection = bench.framework.choose(steered, hits)
    assert bench.numbers(selection) == [0, 4, 5, 6]
    assert all(hit is hits[n] for hit, n in zip(selection, [0, 4, 5, 6], strict=True))
    assert hits == bench.documents()
    assert bench.choose(wishes=[BY_CITY.to_dict()], k=4, method=UNGUARDED.to_dict()) == [0, 4, 5, 6]


def test_it_is_what_rerank_chooses(bench: Bench) -> None:
    rng = np.random.default_rng(0)
    columns = {"lat": rng.uniform(-60, 60, 80), "lon": rng.uniform(-180, 180, 80), "taken": rng.uniform(0, 24, 80)}
    scores = rng.random(80)
    rows = [{"n": n, **{name: float(column[n]) for name, column in columns.items()}} for n in range(80)]
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken"), near=18)]
    expected = mc.rerank(mc.Candidates(scores, columns=columns), wishes, k=15).ids
    assert bench.choose(bench.documents(rows, scores.tolist()), wishes=wishes, k=15) == expected


def test_scores_may_be_missing(bench: Bench) -> None:
    """Without any the order is the relevance; a document without one among others gets the lowest."""
    assert bench.choose(bench.documents(scores=[None] * 7), k=3) == [0, 1, 2]
    assert bench.choose(bench.documents(scores=[None, 0.9, 0.8, None, 0.6, 0.5, 0.4]), k=7) == [1, 2, 4, 5, 0, 3, 6]


def test_fewer_documents_than_k_and_none(bench: Bench) -> None:
    assert sorted(bench.choose(wishes=BY_CITY, k=50)) == list(range(7))
    assert bench.choose([], wishes=BY_CITY) == []


def test_metadata_may_be_missing_or_nested(bench: Bench) -> None:
    rows = [*METADATA[:5], {"n": 5}, {"n": 6, "city": None}]
    assert bench.choose(bench.documents(rows), wishes=BY_CITY, k=3, method=mc.Mascot(1.0, protect=1)) == [0, 1, 4]
    with pytest.warns(UserWarning, match="no document has the metadata key 'town'"):
        assert bench.choose(wishes=mc.spread(mc.Category("town")), k=3) == [0, 1, 2]
    inner = [{"n": n, "at": {"city": city, "lat": 10.0 * n, "lon": 0.0}} for n, city in enumerate(CITIES)]
    by_city = mc.spread(mc.Category("at.city"))
    assert bench.choose(bench.documents(inner), wishes=by_city, k=4, method=UNGUARDED) == [0, 4, 5, 6]
    assert len(bench.choose(bench.documents(inner), wishes=mc.spread(mc.Place("at.lat", "at.lon")), k=3)) == 3
    both = [row | {"at.city": city} for row, city in zip(inner, reversed(CITIES), strict=True)]  # that name comes first
    assert bench.choose(bench.documents(both), wishes=by_city, k=4, method=UNGUARDED) == [0, 1, 2, 3]


def test_explain_notes_why_and_leaves_the_rest(bench: Bench) -> None:
    hits = bench.documents()
    steered = bench.framework.steered(wishes=BY_CITY, k=4, method=UNGUARDED, explain=True)
    selection = bench.framework.choose(steered, hits)
    notes = [bench.framework.metadata(hit).pop("mascot") for hit in selection]
    assert [(note["rank"], note["was"]) for note in notes] == [(1, 1), (2, 5), (3, 6), (4, 7)]
    assert notes[1]["gains"].keys() == {"relevance", "city"}
    assert notes[1]["gains"]["city"] > 0
    assert hits == bench.documents()
    if not isinstance(bench.framework, LlamaIndex):  # whose copies keep the note from prompts
        assert selection == [hits[n] for n in bench.numbers(selection)]


def test_one_call_has_its_own_k_wishes_and_already(bench: Bench) -> None:
    choose, steered, hits = bench.framework.choose, bench.framework.steered(wishes=[], k=5), bench.documents()
    assert choose(steered, hits) == hits[:5]
    first = choose(steered, hits, k=2, wishes=[mc.limit("city", 1)])
    assert bench.numbers(first) == [0, 4]
    for already in (first, ["d0", "d4", "gone"]):
        assert bench.numbers(choose(steered, hits, k=2, already=already)) == [1, 2]
    assert choose(steered, [], k=2) == []
    assert len(choose(steered, hits, k=np.int32(2))) == 2
    for wrong in (0, "2", 2.0):
        with pytest.raises(mc.OptionError, match=f"k must be a whole number >= 1, got {wrong!r}"):
            choose(steered, hits, k=wrong)
    with pytest.raises(mc.InputError, match="already must be a list of ids or of documents"):
        choose(steered, hits, already="d0")


def test_a_saved_object_does_the_same(bench: Bench) -> None:
    wishes = [BY_CITY, mc.focus(mc.Number("n"), near=2, weight=2)]
    for method in (None, mc.Mascot(keep=0.9), mc.Mmr(0.3), mc.KDpp(0.2, beta=0.1), mc.Relevance()):
        steered = bench.framework.steered(wishes=wishes, k=4, method=method, columns=["city", "n"], explain=True)
        again = bench.framework.plain(steered)
        assert again._steering == steered._steering
        assert (again._steering.wishes, again._steering.columns) == (tuple(wishes), ("city", "n"))
        assert bench.framework.choose(again, bench.documents()) == bench.framework.choose(steered, bench.documents())


@pytest.mark.parametrize("value", [0.0, 0.1, 0.5, 1.0])
def test_the_knob_of_the_framework_goes_there_and_back(bench: Bench, value: float) -> None:
    steered = bench.framework.plain(bench.framework.from_knob(value, wishes=BY_CITY))
    assert steered._steering.method.strength == 1 - value
    assert getattr(steered, bench.framework.knob) == pytest.approx(value, abs=1e-15)


def test_the_knob_is_checked(bench: Bench) -> None:
    knob = bench.framework.knob
    for wrong in (-1, 1.5):
        with pytest.raises(mc.OptionError, match=rf"{knob} must be in 0\.\.1, got {wrong}"):
            bench.framework.from_knob(wrong)
    for method in (mc.Relevance, mc.Mmr(0.3)):
        with pytest.raises(mc.OptionError, match=f"{knob} needs a method that takes a strength, such as Mascot"):
            bench.framework.from_knob(0.7, method=method)
    assert getattr(bench.framework.steered(method=mc.Mascot(keep=0.9)), knob) is None


def vectors_and_query(seed: int, count: int = 40) -> tuple[Any, Any, list[float]]:
    """Vectors best first, as a retriever returns them, and their cosines."""
    rng = np.random.default_rng(seed)
    vectors, query = rng.normal(size=(count, 8)), rng.normal(size=8)
    scores = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    order = np.argsort(-scores)
    return vectors[order], query, scores[order].tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_the_knob_are_those_of_the_frameworks_own_mmr(bench: Bench, seed: int, value: float) -> None:
    vectors, query, scores = vectors_and_query(seed)
    hits = bench.documents([{"n": n} for n in range(40)], scores, vectors.tolist())
    expected = bench.framework.own_mmr(query, vectors, value, 12)
    ours = bench.framework.from_knob(value, k=len(expected), method=mc.Mmr, vector_key="vector")
    assert bench.numbers(bench.framework.choose(ours, hits)) == expected
    clusters = bench.framework.from_knob(0.0, wishes=mc.spread(mc.Clusters(10)), k=12, vector_key="vector")
    spread = bench.numbers(bench.framework.choose(clusters, hits))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (unit[spread] @ unit[spread].T).sum() < (unit[:12] @ unit[:12].T).sum()


@pytest.mark.parametrize("method", [mc.Mmr(), mc.KDpp(), mc.MsDpp(), mc.Clustering()])
def test_a_method_that_compares_nothing_says_how_vectors_come(bench: Bench, method: Any) -> None:
    for options, name in (
        ({"method": method}, type(method).__name__),
        ({"wishes": mc.spread(mc.Clusters(2))}, "Cluster"),
    ):
        with pytest.raises(mc.InputError, match=rf"{name}.* needs vectors.*{bench.framework.remedy}"):
            bench.choose(k=3, **options)
    hits = bench.documents(vectors=np.eye(7).tolist())
    assert len(bench.choose(hits, k=3, method=method, vector_key="vector")) == 3
    assert len(bench.choose(wishes=BY_CITY, k=3, method=method)) == 3  # it compares cities
    assert bench.choose(k=3, method=type(method)(strength=0)) == [0, 1, 2]


def test_a_missing_vector_is_a_missing_value(bench: Bench) -> None:
    vectors = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], None, [1.0, 1.0]]
    hits = bench.documents(METADATA[:5], SCORES[:5], vectors)
    options = {"wishes": mc.spread(mc.Clusters(2)), "k": 2, "method": UNGUARDED, "vector_key": "vector"}
    assert bench.choose(hits, **options) == [0, 4]
    with pytest.raises(mc.InputError, match="vectors must be of one length, got 2 and 1"):
        bench.choose(bench.documents(METADATA[:2], SCORES[:2], [[1.0, 0.0], [1.0]]), **options)


class Initial:
    """A user's own attribute: it reads a column nobody can know of."""

    name = "initial"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return np.array([[city.startswith("R"), not city.startswith("R")] for city in columns["city"]], float)

    features = membership


@pytest.mark.parametrize("columns", [None, ["city"]])
def test_a_users_own_attribute_reads_any_key(bench: Bench, columns: Any) -> None:
    method = mc.Mascot(1.0, protect=0)
    assert bench.choose(wishes=mc.spread(Initial()), k=2, method=method, columns=columns) == [0, 4]


def test_what_is_wrong_is_said(bench: Bench) -> None:
    for wrong in (None, 3, "city", ["city"]):
        with pytest.raises(
            ValueError, match=r"wishes must be spread\(...\), focus\(...\), limit\(...\) or share\(...\)"
        ):
            bench.framework.steered(wishes=wrong)
    for wrong in ("mmr", mc.Mmr):
        with pytest.raises(ValueError, match="method must be a method such as"):
            bench.framework.steered(method=wrong)
    with pytest.raises(ValueError, match=r"greater than or equal to 1|k must be a whole number >= 1, got 0"):
        bench.framework.steered(k=0)
    with pytest.raises(ValueError, match="columns"):
        bench.framework.steered(columns="source")
    with pytest.raises((ValueError, TypeError), match="top_n"):
        bench.framework.steered(top_n=3)


# LangChain


@pytest.fixture(scope="module")
def langchain() -> Bench:
    return Bench(LangChain())


def letters(text: str) -> list[float]:
    """A vector counted from letters: near those it shares letters with."""
    return [float(text.count(letter)) for letter in "abcdefghij"]


def test_langchain_in_chains_and_retrievers(langchain: Bench) -> None:
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
        langchain.framework.core.Document(page_content=text, metadata={**row, "shown": row["n"] != 4})
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
    near = [langchain.framework.core.Document(page_content=text, metadata={}) for text in ("aaa", "aab", "jjj")]
    assert steer(mc.spread(mc.Clusters(2)), k=2, method=UNGUARDED, embeddings=Letters()).invoke(near) == near[::2]


def test_langchain_takes_documents_or_pairs_and_a_config(langchain: Bench) -> None:
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


def test_langchain_scores_are_where_they_are_named(langchain: Bench) -> None:
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


def test_langchain_fields(langchain: Bench) -> None:
    compressor = langchain.framework.object
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


# LlamaIndex


@pytest.fixture(scope="module")
def llamaindex() -> Bench:
    return Bench(LlamaIndex())


@pytest.fixture(scope="module")
def embed_model(llamaindex: Bench) -> Any:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    class Letters(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return letters(text)

    return Letters()


def test_llamaindex_in_a_query_engine_after_a_filter(llamaindex: Bench, embed_model: Any) -> None:
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
        llamaindex.framework.schema.TextNode(
            text=text,
            metadata={**row, "kept": "no" if row["n"] == 4 else "yes"},
            excluded_embed_metadata_keys=unseen,
            excluded_llm_metadata_keys=unseen,
        )
        for text, row in zip(["abc", "abd", "abe", "abj", "aci", "ach", "ag"], METADATA, strict=True)
    ]
    filters = MetadataFilters(filters=[ExactMatchFilter(key="kept", value="yes")])
    retriever = VectorStoreIndex(nodes, embed_model=embed_model).as_retriever(similarity_top_k=7, filters=filters)
    steered = llamaindex.framework.steered(wishes=BY_CITY, k=3, method=UNGUARDED, explain=True)
    engine = RetrieverQueryEngine(retriever, Listing(llm=MockLLM()), node_postprocessors=[steered])
    answer = engine.query("ab")
    assert {hit.node.metadata["city"] for hit in answer.source_nodes} == {"Rome", "Lima", "Kyiv"}
    assert answer.response.splitlines() == [hit.node.text for hit in answer.source_nodes]  # no notes in the prompt
    retrieved = {hit.node.node_id: hit.score for hit in retriever.retrieve("ab")}
    assert all(hit.score == retrieved[hit.node.node_id] for hit in answer.source_nodes)
    assert bool(asyncio.run(steered.apostprocess_nodes(retriever.retrieve("ab"))))


def test_llamaindex_makes_vectors_where_a_retriever_leaves_them_behind(llamaindex: Bench, embed_model: Any) -> None:
    schema = llamaindex.framework.schema
    nodes = [
        schema.NodeWithScore(node=schema.TextNode(text=text, metadata={"n": n}, excluded_embed_metadata_keys=["n"]))
        for n, text in enumerate(["aaa", "aab", "aaa", "jjj", "aba"])
    ]
    for options in ({"method": mc.Mmr(0.9)}, {"wishes": mc.spread(mc.Clusters(2)), "method": UNGUARDED}):
        assert 3 in llamaindex.choose(nodes, k=2, embed_model=embed_model, **options)
    nodes[0].node.embedding = [0.0] * 9 + [1.0]  # a vector that came along is kept
    assert 3 not in llamaindex.choose(nodes, k=2, embed_model=embed_model, method=mc.Mmr(1.0))
    steered = llamaindex.framework.steered(wishes=BY_CITY, k=4, method=UNGUARDED)
    steered.k = 3  # what is changed later counts
    assert llamaindex.numbers(steered.postprocess_nodes(llamaindex.documents())) == [0, 4, 5]
    plain = steered.model_copy(update={"wishes": ()})
    assert llamaindex.numbers(plain.postprocess_nodes(llamaindex.documents())) == [0, 1, 2]


# Haystack


@pytest.fixture(scope="module")
def haystack() -> Bench:
    return Bench(Haystack())


def test_haystack_in_a_pipeline_that_may_be_saved(haystack: Bench) -> None:
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
    pipeline.add_component("ranker", haystack.framework.steered(wishes=[BY_CITY], k=3, method=UNGUARDED))
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


def test_haystack_has_another_name_for_k(haystack: Bench) -> None:
    hits, ranker = haystack.documents(), haystack.framework.steered(top_k=np.int64(4))
    assert [len(ranker.run(documents=hits, **call)["documents"]) for call in ({}, {"top_k": 2}, {"k": 3})] == [4, 2, 3]
    assert json.loads(json.dumps(ranker.to_dict()))["init_parameters"]["k"] == 4
    with pytest.raises(mc.OptionError, match="top_k is another name for k"):
        ranker.run(documents=hits, top_k=1, k=2)

    class Last:
        def select(self, problem: Any, k: int) -> Any:
            raise NotImplementedError

    with pytest.raises(mc.OptionError, match="a method cannot be saved unless it has to_dict"):
        haystack.framework.steered(method=Last()).to_dict()


@pytest.mark.slow  # it loads torch
def test_the_ends_of_lambda_threshold_are_those_of_haystacks_own_mmr(haystack: Bench, tmp_path: Any) -> None:
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
        haystack.framework.haystack.Document(content=text, meta={"n": n}, embedding=vector.tolist(), score=score)
        for n, (text, vector, score) in enumerate(zip(texts, vectors, (vectors @ vectors[-1]).tolist(), strict=False))
    ]
    for value in (0.0, 1.0):
        ours = haystack.framework.from_knob(value, k=10, method=mc.Mmr)
        expected = theirs.run(query="w1 w2 w3", documents=hits, lambda_threshold=value)["documents"]
        assert haystack.numbers(haystack.framework.choose(ours, hits)) == haystack.numbers(expected)


# Without the frameworks


def test_docstring_examples() -> None:
    result = doctest.testmod(documents)
    assert result.attempted
    assert not result.failed


def test_nothing_is_loaded_before_it_is_needed_and_its_absence_is_told() -> None:
    """In a fresh process in which no framework can be found: the install command is named."""
    code = """
import sys
from importlib.abc import MetaPathFinder
import mascot.connect.documents, mascot.connect.convert
assert not {"langchain_core", "llama_index", "haystack", "pydantic", "torch"} & set(sys.modules)

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("langchain_core", "llama_index", "haystack"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from mascot.errors import MissingExtra
for module in ("langchain", "llamaindex", "haystack"):
    try:
        __import__(f"mascot.connect.{module}")
    except MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needed = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}
    for line, (module, package) in zip(done.stdout.splitlines(), needed.items(), strict=True):
        assert f"mascot.connect.{module} needs the package {package}" in line
        assert re.escape(f"pip install {shlex.join(packages_of(module))}") in re.escape(line)
