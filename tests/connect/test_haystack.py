"""Haystack: the component, in real pipelines, and beside the rankers of Haystack that know a lambda."""

import json
import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is loaded

import numpy as np
import pytest

import mascot as mc

pytest.importorskip("haystack", reason="needs the extra haystack")

from haystack import Document, Pipeline
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from mascot.connect.haystack import SteeredRanker

CITIES = ["Rome", "Rome", "Rome", "Rome", "Oslo", "Lima", "Kyiv"]
BY_CITY = mc.spread(mc.Category("city"))
UNGUARDED = mc.Mascot(0.9, protect=1)


def documents(scores=True):
    return [
        Document(content=f"text {i}", id=f"d{i}", meta={"city": city, "n": i}, score=1 - i / 10 if scores else None)
        for i, city in enumerate(CITIES)
    ]


def numbers(found):
    return [document.meta["n"] for document in found]


def chosen(ranker, found, **options):
    return ranker.run(documents=found, **options)["documents"]


def test_it_steers_and_returns_the_same_objects():
    found = documents()
    before = [document.to_dict() for document in found]
    got = chosen(SteeredRanker([BY_CITY], k=4, method=UNGUARDED), found)
    assert numbers(got) == [0, 4, 5, 6]
    assert all(any(document is one for one in found) for document in got)
    assert [document.to_dict() for document in found] == before


def test_it_is_what_rerank_chooses():
    rng = np.random.default_rng(0)
    columns = {"lat": rng.uniform(-60, 60, 80), "lon": rng.uniform(-180, 180, 80), "taken": rng.uniform(0, 24, 80)}
    scores = rng.random(80)
    found = [
        Document(content="", meta={"n": i, **{k: float(v[i]) for k, v in columns.items()}}, score=float(scores[i]))
        for i in range(80)
    ]
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken"))]
    assert (
        numbers(chosen(SteeredRanker(wishes, k=15), found))
        == mc.rerank(mc.Candidates(scores, columns=columns), wishes, k=15).ids
    )


def pipeline():
    rng = np.random.default_rng(1)
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            Document(
                content=f"text {i}", meta={"n": i, "city": CITIES[i % 7], "kept": i % 7 != 4}, embedding=v.tolist()
            )
            for i, v in enumerate(rng.normal(size=(28, 6)))
        ]
    )
    made = Pipeline()
    made.add_component(
        "retriever",
        InMemoryEmbeddingRetriever(store, top_k=28, filters={"field": "meta.kept", "operator": "==", "value": True}),
    )
    made.add_component("ranker", SteeredRanker([BY_CITY], k=3, method=UNGUARDED))
    made.connect("retriever.documents", "ranker.documents")
    return made


def test_in_a_pipeline_after_a_filter():
    query = {"retriever": {"query_embedding": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]}}
    got = pipeline().run(query)["ranker"]["documents"]
    assert {document.meta["city"] for document in got} == {"Rome", "Lima", "Kyiv"}  # Oslo was filtered out
    assert all(document.score is not None for document in got)
    fewer = pipeline().run(query | {"ranker": {"k": 2, "wishes": [mc.focus(mc.Category("city"))]}})
    assert len({document.meta["city"] for document in fewer["ranker"]["documents"]}) == 1


def test_a_saved_pipeline_does_the_same():
    made = pipeline()
    again = Pipeline.loads(made.dumps(), allowed_modules=["mascot.connect.haystack"])
    assert again.get_component("ranker").to_dict() == made.get_component("ranker").to_dict()
    assert numbers(chosen(again.get_component("ranker"), documents())) == [0, 4, 5]


@pytest.mark.parametrize("method", [None, mc.Mascot(keep=0.9), mc.Mmr(0.3), mc.KDpp(0.2, beta=0.1), mc.Relevance()])
def test_plain_data_and_back(method):
    wishes = [BY_CITY, mc.focus(mc.Place(), near=(35.7, 139.7)), mc.spread(mc.HourOfDay("taken"), weight=2)]
    ranker = SteeredRanker(wishes, k=7, method=method, columns=["city", "lat", "lon", "taken"], explain=True)
    again = SteeredRanker.from_dict(ranker.to_dict())
    assert again.to_dict() == ranker.to_dict()
    assert again._steering == ranker._steering
    assert again._steering.wishes == tuple(wishes)


def test_wishes_may_come_as_plain_data():
    ranker = SteeredRanker(k=4, method=UNGUARDED.to_dict())
    assert numbers(chosen(ranker, documents(), wishes=[BY_CITY.to_dict()])) == [0, 4, 5, 6]


def test_without_scores_the_order_is_the_relevance():
    assert numbers(chosen(SteeredRanker(k=3), documents(scores=False))) == [0, 1, 2]


def test_a_document_without_a_score_among_others_gets_the_lowest():
    found = [
        Document(content="", meta={"n": i}, score=score)
        for i, score in enumerate([None, 0.9, 0.8, None, 0.6, 0.5, 0.4])
    ]
    assert numbers(chosen(SteeredRanker(k=7), found)) == [1, 2, 4, 5, 0, 3, 6]


def test_fewer_documents_than_k_and_none():
    assert sorted(numbers(chosen(SteeredRanker(BY_CITY, k=50), documents()))) == list(range(7))
    assert chosen(SteeredRanker(BY_CITY), []) == []


def test_a_document_without_the_meta_earns_nothing():
    found = documents()
    del found[5].meta["city"]
    found[6].meta["city"] = None
    assert numbers(chosen(SteeredRanker(BY_CITY, k=3, method=mc.Mascot(1.0, protect=1)), found)) == [0, 1, 4]
    with pytest.warns(UserWarning, match="no document has the metadata key 'town'"):
        chosen(SteeredRanker(mc.spread(mc.Category("town"))), found)


def test_explain_notes_why_and_leaves_the_rest():
    found = documents()
    got = chosen(SteeredRanker(BY_CITY, k=4, method=UNGUARDED, explain=True), found)
    assert [document.meta["mascot"]["was"] for document in got] == [1, 5, 6, 7]
    assert [document.meta["mascot"]["rank"] for document in got] == [1, 2, 3, 4]
    for document in got:
        original = found[document.meta["n"]]
        assert document.meta.pop("mascot")["gains"].keys() == {"relevance", "city"}
        assert document == original


def vectors_and_scores(seed, count=40, width=8):
    rng = np.random.default_rng(seed)
    vectors, query = rng.normal(size=(count, width)), rng.normal(size=width)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = unit @ query / np.linalg.norm(query)
    return [
        Document(content="", id=str(i), meta={"n": i}, embedding=vectors[i].tolist(), score=float(scores[i]))
        for i in range(count)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_relevance_only_is_that_of_haystacks_pyversity_ranker(seed):
    rankers = pytest.importorskip(
        "haystack_integrations.components.rankers.pyversity", reason="needs pyversity-haystack"
    )
    from pyversity import Strategy

    found = vectors_and_scores(seed)
    theirs = rankers.PyversityRanker(top_k=12, strategy=Strategy.MMR, diversity=0.0)  # as strength: 0 is relevance
    ours = SteeredRanker.from_lambda_threshold(1.0, k=12, method=mc.Mmr)
    assert numbers(chosen(ours, found)) == numbers(chosen(theirs, found))


@pytest.fixture(scope="module")
def diversity_ranker(tmp_path_factory):
    """Haystack's own MMR, over a small model of our making: one random vector a word."""
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
    weights = np.random.default_rng(0).normal(size=(61, 8)).astype(np.float32)
    model = SentenceTransformer(modules=[StaticEmbedding(words, embedding_weights=weights)], device="cpu")
    folder = tmp_path_factory.mktemp("model")
    model.save(str(folder))
    ranker = rankers.SentenceTransformersDiversityRanker(
        model=str(folder), top_k=10, similarity="cosine", strategy="maximum_margin_relevance", token=None
    )
    ranker.warm_up()
    return ranker, model


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lambda_threshold", [0.0, 1.0])
def test_the_ends_of_lambda_threshold_are_those_of_haystacks_own_mmr(diversity_ranker, seed, lambda_threshold):
    theirs, model = diversity_ranker
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 60, 4)) for _ in range(30)]
    vectors = model.encode([*texts, "w1 w2 w3"], normalize_embeddings=True)
    found = [
        Document(
            content=text, id=str(i), meta={"n": i}, embedding=vectors[i].tolist(), score=float(vectors[i] @ vectors[-1])
        )
        for i, text in enumerate(texts)
    ]
    ours = SteeredRanker.from_lambda_threshold(lambda_threshold, k=10, method=mc.Mmr)
    expected = theirs.run(query="w1 w2 w3", documents=found, lambda_threshold=lambda_threshold)["documents"]
    assert numbers(chosen(ours, found)) == numbers(expected)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_lambda_threshold_goes_there_and_back(value):
    ranker = SteeredRanker.from_dict(SteeredRanker.from_lambda_threshold(value, BY_CITY).to_dict())
    assert ranker.lambda_threshold == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("options", [{"method": mc.Mmr(0.9)}, {"wishes": mc.spread(mc.Clusters(3))}])
def test_vectors_come_along_when_the_retriever_is_told(options):
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    rows = np.random.default_rng(4).normal(size=(12, 4))
    store.write_documents([Document(content=f"{i}", meta={"n": i}, embedding=v.tolist()) for i, v in enumerate(rows)])
    bare = InMemoryEmbeddingRetriever(store, top_k=12).run(rows[0].tolist())["documents"]
    with pytest.raises(mc.InputError, match=r"(Mmr|Clusters) needs vectors.*return_embedding=True"):
        chosen(SteeredRanker(k=4, **options), bare)
    told = InMemoryEmbeddingRetriever(store, top_k=12, return_embedding=True).run(rows[0].tolist())["documents"]
    assert numbers(chosen(SteeredRanker(k=4, **options), told))[0] == 0


def test_within_a_dictionary():
    found = [
        Document(content="", meta={"n": i, "at": {"city": city}}, score=1 - i / 10) for i, city in enumerate(CITIES)
    ]
    assert numbers(chosen(SteeredRanker(mc.spread(mc.Category("at.city")), k=4, method=UNGUARDED), found)) == [
        0, 4, 5, 6,
    ]  # fmt: skip


class Last:
    """A user's own method, which cannot be saved."""

    def select(self, problem, k):
        raise NotImplementedError


def test_what_is_wrong_is_said():
    with pytest.raises(mc.OptionError, match="columns must be a list of names, got 'source'"):
        SteeredRanker(BY_CITY, columns="source")
    listed = r"spread\(...\), focus\(...\), limit\(...\) or share\(...\)"
    with pytest.raises(mc.OptionError, match=f"wishes must be {listed}, got None"):
        SteeredRanker(None)
    with pytest.raises(mc.OptionError, match="lambda_threshold needs a method that takes a strength"):
        SteeredRanker.from_lambda_threshold(0.5, method=mc.Relevance)
    with pytest.raises(mc.OptionError, match="a method cannot be saved unless it has to_dict"):
        SteeredRanker(method=Last()).to_dict()
    with pytest.raises(mc.OptionError, match=r"lambda_threshold must be in 0\.\.1, got 2"):
        SteeredRanker.from_lambda_threshold(2)
    with pytest.raises(mc.OptionError, match="wishes must be spread"):
        SteeredRanker(["city"])
    with pytest.raises(mc.OptionError, match="k must be a whole number >= 1, got 0"):
        SteeredRanker(k=0)
    for wrong in (0, "2", 2.0):
        with pytest.raises(mc.OptionError, match=f"k must be a whole number >= 1, got {wrong!r}"):
            SteeredRanker(k=3).run(documents=documents(), k=wrong)


def test_k_may_be_a_number_of_numpy():
    ranker = SteeredRanker(k=np.int64(3))
    assert len(chosen(ranker, documents())) == 3
    assert json.loads(json.dumps(ranker.to_dict()))["init_parameters"]["k"] == 3
    assert len(ranker.run(documents=documents(), k=np.int32(2))["documents"]) == 2
