"""LangChain, LlamaIndex and Haystack: one object each, which steers documents, beside the framework's own MMR."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.attributes import Clusters
from mascot.extras import DISTRIBUTION
from tests.connect import framework_documents
from tests.connect.framework_documents import BY_CITY, METADATA, UNGUARDED, Framework, Haystack, LangChain, LlamaIndex

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", params=[LangChain, LlamaIndex, Haystack], ids=lambda kind: kind.__name__)
def framework(request: pytest.FixtureRequest) -> Framework:
    return request.param()


def test_it_steers_and_returns_the_same_objects(framework: Framework) -> None:
    hits = framework.documents()
    steered = framework.steered(wishes=[BY_CITY], k=4, method=UNGUARDED)
    selection = framework.run(steered, hits)
    assert framework.numbers(selection) == [0, 4, 5, 6]
    assert all(hit is hits[n] for hit, n in zip(selection, [0, 4, 5, 6], strict=True))
    assert hits == framework.documents()
    options = {"wishes": [BY_CITY.to_dict()], "k": 4, "method": UNGUARDED.to_dict(), "explain": True}
    explained = framework.run(framework.steered(**options), hits)
    notes = [framework.metadata(hit).pop("mascot") for hit in explained]
    assert [(note["rank"], note["was"]) for note in notes] == [(1, 1), (2, 5), (3, 6), (4, 7)]
    assert notes[1]["gains"].keys() == {"relevance", "city"}
    assert all(isinstance(note["because"], str) and note["because"] for note in notes)
    assert hits == framework.documents()
    if not isinstance(framework, LlamaIndex):  # whose copies keep the note from prompts
        assert explained == selection


def test_it_is_what_rerank_chooses(framework: Framework) -> None:
    rng = np.random.default_rng(0)
    columns = {"lat": rng.uniform(-60, 60, 80), "lon": rng.uniform(-180, 180, 80), "taken": rng.uniform(0, 24, 80)}
    scores = rng.random(80)
    rows = [{"n": n, **{name: float(column[n]) for name, column in columns.items()}} for n in range(80)]
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken"), near=18)]
    expected = mc.rerank(mc.Candidates(scores, columns=columns), wishes, k=15).ids
    assert framework.choose(framework.documents(rows, scores.tolist()), wishes=wishes, k=15) == expected


def test_a_profile_has_the_rules(framework: Framework, tmp_path: Path) -> None:
    path = tmp_path / "home.json"
    path.write_text(json.dumps({"wishes": [{"spread": "city"}], "k": 4, "method": UNGUARDED.to_dict()}))
    for profile in (path, str(path), mc.load_profile(path), mc.load_profile(path).assign()):
        assert framework.choose(profile=profile) == [0, 4, 5, 6]
    assert framework.choose(profile=path, k=2) == [0, 4]
    with pytest.raises(ValueError, match=r"home\.yaml: a profile must be a file"):
        framework.choose(profile=tmp_path / "home.yaml")


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"strength": 0.2}, mc.Mascot(0.2)),
        ({"keep": 0.9}, mc.Mascot(keep=0.9)),
        ({"strength": 0.4, "method": mc.Mmr(0.1)}, mc.Mmr(0.4)),
        ({"strength": 0.4, "method": mc.Mascot(keep=0.9, protect=1).to_dict()}, mc.Mascot(0.4, protect=1)),
    ],
)
def test_strength_and_keep_replace_those_of_the_method(framework: Framework, options: Any, method: Any) -> None:
    steered = framework.loaded(framework.steered(wishes=BY_CITY, k=4, **options))
    assert steered._steering.method == method


def test_haystack_runs_in_an_event_loop() -> None:
    haystack = Haystack()
    steered, documents = haystack.steered(wishes=[BY_CITY], k=4, strength=0.9), haystack.documents()
    assert asyncio.run(steered.run_async(documents, top_k=2)) == steered.run(documents, top_k=2)
    assert steered.__haystack_supports_async__


def test_scores_metadata_and_vectors_may_be_missing(framework: Framework) -> None:
    assert framework.choose(framework.documents(scores=[None] * 7), k=3) == [0, 1, 2]  # the order is the relevance
    hits = framework.documents(scores=[None, 0.9, 0.8, None, 0.6, 0.5, 0.4])  # one without gets the lowest
    assert framework.choose(hits, k=50) == [1, 2, 4, 5, 0, 3, 6]
    hits = framework.documents([*METADATA[:5], {"n": 5}, {"n": 6, "city": None}])
    assert framework.choose(hits, wishes=BY_CITY, k=3, method=mc.Mascot(1.0, protect=1)) == [0, 4, 1]
    with pytest.raises(mc.InputError, match="no document has the metadata key 'town', got keys: "):
        framework.choose(wishes=mc.spread(mc.Category("town")), k=3)
    vectors = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], None, [1.0, 1.0]]
    options = {"wishes": mc.spread(Clusters(2)), "k": 2, "method": UNGUARDED}
    hits = framework.documents(METADATA[:5], framework_documents.SCORES[:5], vectors)
    assert framework.choose(hits, **options) == [0, 4]
    with pytest.raises(mc.InputError, match="vectors must hold vectors of one length, got 1 numbers at 1, 2 before"):
        framework.choose(
            framework.documents(METADATA[:2], framework_documents.SCORES[:2], [[1.0, 0.0], [1.0]]), **options
        )


class Initial:
    """A user's own attribute: it reads a column nobody can know of."""

    name = "initial"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return np.array([[city.startswith("R"), not city.startswith("R")] for city in columns["city"]], float)


def test_metadata_may_be_nested_and_read_by_a_users_own_attribute(framework: Framework) -> None:
    inner = [{"n": n, "at": {"city": city}} for n, city in enumerate(framework_documents.CITIES)]
    by_city = mc.spread(mc.Category("at.city"))
    assert framework.choose(framework.documents(inner), wishes=by_city, k=4, method=UNGUARDED) == [0, 4, 5, 6]
    assert framework.choose(wishes=mc.spread(Initial()), k=2, method=mc.Mascot(1.0, protect=0)) == [0, 4]


def test_one_call_has_its_own_k_wishes_and_already(framework: Framework) -> None:
    run, steered, hits = framework.run, framework.steered(wishes=[], k=5), framework.documents()
    assert run(steered, hits) == hits[:5]
    first = run(steered, hits, k=np.int32(2), wishes=[mc.limit("city", 1)])
    assert framework.numbers(first) == [0, 4]
    for already in (first, ["d0", "d4", "gone"]):
        assert framework.numbers(run(steered, hits, k=2, already=already)) == [1, 2]
    assert run(steered, [], k=2) == []
    with pytest.raises(mc.OptionError, match="k must be a whole number >= 1, got '2'"):
        run(steered, hits, k="2")
    with pytest.raises(mc.InputError, match="already must be a list of ids or of documents"):
        run(steered, hits, already="d0")


def test_a_saved_object_does_the_same(framework: Framework) -> None:
    wishes = [BY_CITY, mc.focus(mc.Number("n"), near=2, weight=2)]
    for method in (None, mc.Mascot(keep=0.9), mc.Mmr(0.2, normalize=False)):
        steered = framework.steered(wishes=wishes, k=4, method=method, columns=["city", "n"], explain=True)
        again = framework.loaded(steered)
        assert again._steering == steered._steering
        assert framework.run(again, framework.documents()) == framework.run(steered, framework.documents())


def test_the_parameter_of_the_framework_goes_there_and_back_and_is_checked(framework: Framework) -> None:
    parameter = framework.parameter
    steered = framework.loaded(framework.steered(0.1, wishes=BY_CITY))
    assert (steered._steering.method.strength, getattr(steered, parameter)) == (0.9, pytest.approx(0.1, abs=1e-15))
    assert getattr(framework.steered(method=mc.Mascot(keep=0.9)), parameter) is None
    with pytest.raises(mc.OptionError, match=rf"{parameter} must be in 0\.\.1, got 1.5"):
        framework.steered(1.5)
    with pytest.raises(mc.OptionError, match=f"{parameter} needs a method that takes a strength, such as Mascot"):
        framework.steered(0.7, method=mc.Relevance)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_the_parameter_are_those_of_the_frameworks_own_mmr(framework: Framework, value: float) -> None:
    """Over vectors best first, as a retriever returns them, and their cosines."""
    rng = np.random.default_rng(0)
    vectors, query = rng.normal(size=(40, 8)), rng.normal(size=8)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors[np.argsort(-(vectors @ query))]
    scores = (vectors @ query / np.linalg.norm(query)).tolist()
    hits = framework.documents([{"n": n} for n in range(40)], scores, vectors.tolist())
    expected = framework.own_mmr(query, vectors, scores, value, 12)
    ours = framework.steered(value, k=len(expected), method=mc.Mmr)
    assert framework.numbers(framework.run(ours, hits)) == expected


# What only one framework has, in its own chains, query engines and pipelines


def letters(text: str) -> list[float]:
    """A vector counted from letters: near those it shares letters with."""
    return [float(text.count(letter)) for letter in "abcdefghij"]


def test_langchain_in_chains_and_retrievers() -> None:
    langchain = LangChain()
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    from mascot.connect.frameworks.langchain import SteeredCompressor, steer

    class Letters(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return letters(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(map(letters, texts))

    store = InMemoryVectorStore(Letters())
    texts = ["abc", "abd", "abe", "abj", "aci", "ach", "zzz a"]
    store.add_documents([
        langchain.core.Document(page_content=text, metadata={**row, "shown": row["n"] != 4})
        for text, row in zip(texts, METADATA, strict=True)
    ])  # fmt: skip
    retriever = store.as_retriever(search_kwargs={"k": 7, "filter": lambda document: document.metadata["shown"]})
    selection = (retriever | steer([BY_CITY], k=3, method=UNGUARDED)).invoke("ab")
    assert {document.metadata["city"] for document in selection} == {"Rome", "Lima", "Kyiv"}  # Oslo is filtered out
    compressor = SteeredCompressor(wishes=BY_CITY, k=3, method=UNGUARDED)  # as a retriever that compresses calls it
    hits = retriever.invoke("ab")
    assert compressor.compress_documents(hits, "ab") == selection
    assert asyncio.run(compressor.acompress_documents(hits, "ab")) == selection
    near = [langchain.core.Document(page_content=text, metadata={}) for text in ("aaa", "aab", "jjj")]
    assert steer(mc.spread(Clusters(2)), k=2, method=UNGUARDED, embeddings=Letters()).invoke(near) == near[::2]


def test_langchain_takes_documents_or_pairs_and_a_config() -> None:
    langchain = LangChain()
    from mascot.connect.frameworks.langchain import steer

    hits, steered = langchain.documents(scores=[None] * 7), steer([], k=2)
    assert steered.batch([hits, (hit for hit in hits[3:])]) == [hits[:2], hits[3:5]]
    call = {"configurable": {"mascot": {"k": 3, "already": ["d0"]}}}
    pairs = [(hit, 1 - n / 10) for n, hit in enumerate(hits)]
    assert (steered.invoke(hits, call), steered.invoke(pairs, call)) == (hits[1:4], pairs[1:4])
    assert steer([], k=3, distances=True).invoke(pairs) == pairs[:3:-1]
    with pytest.raises(mc.OptionError, match=r"configurable\['mascot'\] takes k, wishes and already, got top"):
        steered.invoke(hits, {"configurable": {"mascot": {"top": 2}}})
    for wrong, kind in [(hits[0], "Document"), ("ab", "str"), ([hits[0], (hits[1], 0.5)], "Document, tuple")]:
        with pytest.raises(mc.InputError, match=rf"a list of documents, or of \(document, score\) pairs, got {kind}$"):
            steered.invoke(wrong)
    for hit in hits:
        hit.id = None  # it is recognised by its text
    assert steered.invoke(hits, already=hits[:1]) == hits[1:3]


def test_llamaindex_in_a_query_engine_after_a_filter() -> None:
    llamaindex = LlamaIndex()
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms.mock import MockLLM  # LlamaIndex's own: an answer needs one named, none is asked
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers.no_text import NoText
    from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

    class Letters(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return letters(query)

        _get_text_embedding = _get_query_embedding

    unseen = {f"excluded_{reader}_metadata_keys": ["n", "city", "visible"] for reader in ("embed", "llm")}
    nodes = [
        llamaindex.schema.TextNode(text=text, metadata={**row, "visible": str(row["n"] != 4)}, **unseen)
        for text, row in zip(["abc", "abd", "abe", "abj", "aci", "ach", "ag"], METADATA, strict=True)
    ]
    filters = MetadataFilters(filters=[ExactMatchFilter(key="visible", value="True")])
    retriever = VectorStoreIndex(nodes, embed_model=Letters()).as_retriever(similarity_top_k=7, filters=filters)
    steered = llamaindex.steered(wishes=BY_CITY, k=3, method=UNGUARDED, explain=True)
    engine = RetrieverQueryEngine(retriever, NoText(MockLLM()), node_postprocessors=[steered])
    hits = engine.query("ab").source_nodes
    assert {hit.node.metadata["city"] for hit in hits} == {"Rome", "Lima", "Kyiv"}
    prompts = [hit.node.get_content(llamaindex.schema.MetadataMode.LLM) for hit in hits]
    assert prompts == [hit.node.text for hit in hits]  # no notes in the prompt
    retrieved = {hit.node.node_id: hit.score for hit in retriever.retrieve("ab")}
    assert all(hit.score == retrieved[hit.node.node_id] for hit in hits)
    assert len(asyncio.run(steered.apostprocess_nodes(retriever.retrieve("ab")))) == 3
    # Vectors are made where there are none, and what is changed later counts.
    bare = [llamaindex.document(text, text, {}, None, None) for text in ("aaa", "aab", "jjj")]
    apart = llamaindex.steered(wishes=mc.spread(Clusters(2)), k=3, method=UNGUARDED, embed_model=Letters())
    apart.k = 2
    assert apart.postprocess_nodes(bare) == bare[::2]


def test_haystack_in_a_pipeline_that_may_be_saved() -> None:
    haystack = Haystack()
    from haystack import Pipeline
    from haystack.components.retrievers import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    vectors = np.random.default_rng(1).normal(size=(28, 6)).tolist()
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    rows = [{"n": n, "city": framework_documents.CITIES[n % 7]} for n in range(28)]
    store.write_documents(haystack.documents(rows, [None] * 28, vectors))
    no_oslo = {"field": "meta.city", "operator": "!=", "value": "Oslo"}
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=28, filters=no_oslo))
    pipeline.add_component("ranker", haystack.steered(wishes=[BY_CITY], top_k=np.int64(3), method=UNGUARDED))
    pipeline.connect("retriever.documents", "ranker.documents")

    def cities(**call: Any) -> list[str]:
        result = pipeline.run({"retriever": {"query_embedding": vectors[0]}, "ranker": call})
        return [document.meta["city"] for document in result["ranker"]["documents"]]

    assert set(cities(query="boats")) == {"Rome", "Lima", "Kyiv"}
    assert len(cities(top_k=2)) == 2
    assert len(set(cities(k=2, wishes=[mc.focus(mc.Category("city"))]))) == 1
    with pytest.raises(mc.OptionError, match="top_k is another name for k"):
        haystack.steered().run(documents=haystack.documents(), top_k=1, k=2)
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["mascot.connect.frameworks.haystack"])
    assert again.get_component("ranker").to_dict() == pipeline.get_component("ranker").to_dict()

    class Last:
        def select(self, problem: Any, k: int) -> Any:
            raise NotImplementedError

    with pytest.raises(mc.OptionError, match="a method cannot be saved unless it has to_dict"):
        haystack.steered(method=Last()).to_dict()


# Without the frameworks


def test_nothing_is_loaded_before_it_is_needed_and_its_absence_is_told() -> None:
    code = """
import sys
import mascot.connect.frameworks.documents, mascot.connect.converters.convert
from mascot.errors import MissingExtra
assert not {"langchain_core", "llama_index", "haystack", "pydantic", "torch"} & set(sys.modules)
sys.modules.update(dict.fromkeys(("langchain_core", "llama_index", "haystack")))
for module in ("langchain", "llamaindex", "haystack"):
    try:
        __import__(f"mascot.connect.frameworks.{module}")
    except MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needed = {"langchain": "langchain_core", "llamaindex": "llama_index", "haystack": "haystack"}
    for line, (module, package) in zip(done.stdout.splitlines(), needed.items(), strict=True):
        assert f"mascot.connect.frameworks.{module} needs the package {package}" in line
        assert f"pip install {shlex.quote(f'{DISTRIBUTION}[{module}]')}" in line


def test_the_examples_of_the_page_run(request: pytest.FixtureRequest) -> None:
    from tests.test_docs import ROOT, run_page

    LlamaIndex()

    run_page(ROOT / "docs" / "frameworks.md", request)
