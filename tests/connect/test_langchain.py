"""LangChain: the compressor and the runnable, with LangChain's own retriever, store and MMR."""

import asyncio
import re
from collections.abc import Sequence
from typing import get_type_hints

import numpy as np
import pytest

import mascot as mc

pytest.importorskip("langchain_core", reason="needs the extra langchain")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from mascot.connect.documents import as_vectors
from mascot.connect.langchain import SteeredCompressor, steer

CITIES = ["Rome", "Rome", "Rome", "Rome", "Oslo", "Lima", "Kyiv"]
BY_CITY = mc.spread(mc.Category("city"))
UNGUARDED = mc.Mascot(0.9, protect=1)


def documents(scores=True, cities=CITIES):
    return [
        Document(
            page_content=f"text {i}",
            id=f"d{i}",
            metadata={"city": city, "n": i} | ({"relevance_score": 1 - i / 10} if scores else {}),
        )
        for i, city in enumerate(cities)
    ]


def numbers(found):
    return [document.metadata["n"] for document in found]


class Letters(Embeddings):
    """Vectors counted from letters: every text has its own direction, near those it shares letters with."""

    def embed_query(self, text):
        return [float(text.count(letter)) for letter in "abcdefghij"]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


class Everything(BaseRetriever):
    found: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.found


def test_the_compressor_steers_and_returns_the_same_objects():
    found = documents()
    before = [document.model_dump() for document in found]
    chosen = SteeredCompressor(wishes=[BY_CITY], k=4, method=UNGUARDED).compress_documents(found, "query")
    assert numbers(chosen) == [0, 4, 5, 6]
    assert all(any(document is one for one in found) for document in chosen)
    assert [document.model_dump() for document in found] == before


def test_it_is_what_rerank_chooses():
    rng = np.random.default_rng(0)
    columns = {"lat": rng.uniform(-60, 60, 80), "lon": rng.uniform(-180, 180, 80), "taken": rng.uniform(0, 24, 80)}
    scores = rng.random(80)
    found = [
        Document(
            page_content="",
            metadata={"n": i, "relevance_score": scores[i], **{k: float(v[i]) for k, v in columns.items()}},
        )
        for i in range(80)
    ]
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken"), near=18)]
    chosen = SteeredCompressor(wishes=wishes, k=15).compress_documents(found, "")
    assert numbers(chosen) == mc.rerank(mc.Candidates(scores, columns=columns), wishes, k=15).ids


def test_in_a_contextual_compression_retriever():
    retrievers = pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")
    compressor = SteeredCompressor(wishes=BY_CITY, k=4, method=UNGUARDED)
    retriever = retrievers.ContextualCompressionRetriever(
        base_compressor=compressor, base_retriever=Everything(found=documents())
    )
    assert numbers(retriever.invoke("query")) == [0, 4, 5, 6]
    assert numbers(asyncio.run(retriever.ainvoke("query"))) == [0, 4, 5, 6]
    empty = retrievers.ContextualCompressionRetriever(base_compressor=compressor, base_retriever=Everything(found=[]))
    assert empty.invoke("query") == []


def test_in_a_chain_after_a_filtered_store():
    store = InMemoryVectorStore(Letters())
    texts = ["abc", "abd", "abe", "abj", "aci", "ach", "zzz a"]
    store.add_documents(
        [Document(page_content=t, metadata={"n": i, "city": CITIES[i], "kept": i != 4}) for i, t in enumerate(texts)]
    )
    retriever = store.as_retriever(search_kwargs={"k": 7, "filter": lambda document: document.metadata["kept"]})
    chosen = (retriever | steer([BY_CITY], k=3, method=UNGUARDED)).invoke("ab")
    assert len(chosen) == 3
    assert {document.metadata["city"] for document in chosen} == {"Rome", "Lima", "Kyiv"}  # Oslo was filtered out
    assert all(document.metadata["kept"] for document in chosen)


def test_pairs_stay_pairs_with_their_scores():
    store = InMemoryVectorStore(Letters())
    store.add_documents(
        [
            Document(page_content=t, metadata={"n": i, "city": c})
            for i, (t, c) in enumerate(zip("abcdefg", CITIES, strict=True))
        ]
    )
    pairs = store.similarity_search_with_score("aaab", k=7)
    chosen = steer(BY_CITY, k=4, method=UNGUARDED).invoke(pairs)
    assert chosen[0] == pairs[0]
    assert {document.metadata["city"] for document, _ in chosen} == set(CITIES)
    assert all(pair in pairs for pair in chosen)
    assert [score for _, score in chosen] == sorted((score for _, score in chosen), reverse=True)


def test_the_runnable_in_a_batch_and_in_async():
    chain = steer(BY_CITY, k=4, method=UNGUARDED)
    assert [numbers(chosen) for chosen in chain.batch([documents(), documents()[:5]])] == [[0, 4, 5, 6], [0, 1, 2, 4]]
    assert numbers(asyncio.run(chain.ainvoke(documents()))) == [0, 4, 5, 6]


@pytest.mark.parametrize("key", ["relevance_score", "score", "found.score"])
def test_where_the_score_is(key):
    found = documents(scores=False)
    for document in found:
        number = float(document.metadata["n"])
        document.metadata |= {"found": {"score": number}} if key == "found.score" else {key: number}
    keys = {} if key == "relevance_score" else {"score_keys": (key,)}
    assert numbers(SteeredCompressor(k=3, **keys).compress_documents(found, "")) == [6, 5, 4]


def test_the_votes_of_a_forum_are_no_relevance():
    """A `score` in the metadata may be anything; the order a retriever gives is known to be the relevance."""
    found = documents(scores=False)
    for document in found:
        document.metadata["score"] = document.metadata["n"] * 10
    assert numbers(steer([], k=3).invoke(found)) == [0, 1, 2]


def test_distances_are_better_when_smaller():
    """As `similarity_search_with_score` of Chroma, FAISS and PGVector gives them."""
    pairs = [(document, 0.1 + document.metadata["n"]) for document in documents(scores=False)]
    shuffled = [pairs[i] for i in (3, 6, 0, 5, 1, 4, 2)]
    assert steer([], k=3, distances=True).invoke(shuffled) == pairs[:3]  # the distances stay as they were
    chosen = steer(BY_CITY, k=4, method=UNGUARDED, distances=True).invoke(shuffled)
    assert numbers(document for document, _ in chosen) == [0, 4, 5, 6]
    for document, distance in pairs:
        document.metadata["far"] = distance
    compressor = SteeredCompressor(k=2, score_keys=("far",), distances=True)
    assert numbers(compressor.compress_documents([document for document, _ in shuffled], "")) == [0, 1]
    del pairs[0][0].metadata["far"]
    assert numbers(compressor.compress_documents([document for document, _ in shuffled], "")) == [1, 2]


def test_within_a_dictionary():
    found = [
        Document(page_content="", metadata={"n": i, "at": {"city": city, "lat": 10.0 * i, "lon": 0.0}})
        for i, city in enumerate(CITIES)
    ]
    by_city = mc.spread(mc.Category("at.city"))
    assert numbers(steer(by_city, k=4, method=UNGUARDED).invoke(found)) == [0, 4, 5, 6]
    assert len(steer(mc.spread(mc.Place("at.lat", "at.lon")), k=3).invoke(found)) == 3
    for document, city in zip(found, reversed(CITIES), strict=True):
        document.metadata["at.city"] = city  # a key of that very name comes first
    assert numbers(steer(by_city, k=4, method=UNGUARDED).invoke(found)) == [0, 1, 2, 3]
    both = [mc.spread(Initial()), mc.spread(mc.Category("at.town"))]
    with pytest.warns(UserWarning, match=r"no document has the metadata key 'at\.town'"):
        assert len(steer(both, k=3).invoke(documents())) == 3


@pytest.mark.parametrize("method", [mc.Mmr(), mc.KDpp(), mc.MsDpp(), mc.Clustering()])
def test_a_method_that_compares_nothing_says_how_vectors_come(method):
    found = documents()
    with pytest.raises(mc.InputError, match=rf"{type(method).__name__} needs vectors.*vector_key=.*embeddings="):
        steer([], k=3, method=method).invoke(found)
    assert len(steer([], k=3, method=method, embeddings=Letters()).invoke(found)) == 3
    assert len(steer(BY_CITY, k=3, method=method).invoke(found)) == 3  # it compares cities
    assert numbers(steer([], k=3, method=type(method)(strength=0)).invoke(found)) == [0, 1, 2]


def test_what_steer_is_given():
    assert numbers(steer([], k=2).invoke(document for document in documents())) == [0, 1]
    assert numbers(steer([], k=2).invoke(tuple(documents()))) == [0, 1]
    for wrong, kind in [
        ({"context": documents()}, "dict"), ("ab", "str"), (["ab", "cd"], "str"), (3, "int"),
        ([documents()[0], (documents()[1], 0.5)], "Document, tuple"), ([(documents()[0], 0.5, 1)], "tuple"),
    ]:  # fmt: skip
        with pytest.raises(mc.InputError, match=rf"a list of documents, or of \(document, score\) pairs, got {kind}$"):
            steer([], k=2).invoke(wrong)


def test_a_schema_for_forms():
    schema = SteeredCompressor.model_json_schema()
    assert {"wishes", "k", "method", "score_keys", "distances"} <= set(schema["properties"])
    assert "embeddings" not in schema["properties"]


def test_without_scores_the_order_is_the_relevance():
    found = documents(scores=False)
    assert numbers(SteeredCompressor(k=3).compress_documents(found, "")) == [0, 1, 2]
    assert numbers(SteeredCompressor(wishes=BY_CITY, k=4, method=UNGUARDED).compress_documents(found, "")) == [
        0, 4, 5, 6,
    ]  # fmt: skip


def test_a_document_without_a_score_among_others_gets_the_lowest():
    found = documents()
    found[0].metadata["relevance_score"] = None
    del found[3].metadata["relevance_score"]
    assert numbers(SteeredCompressor(k=7).compress_documents(found, "")) == [1, 2, 4, 5, 0, 3, 6]


def test_fewer_documents_than_k_are_all_returned():
    assert sorted(numbers(SteeredCompressor(wishes=BY_CITY, k=50).compress_documents(documents(), ""))) == list(
        range(7)
    )
    assert SteeredCompressor(wishes=BY_CITY, k=5).compress_documents([], "") == []
    assert steer(BY_CITY, k=5).invoke([]) == []


def test_a_document_without_the_metadata_earns_nothing():
    found = documents()
    del found[5].metadata["city"]
    found[6].metadata["city"] = None
    chosen = SteeredCompressor(wishes=BY_CITY, k=3, method=mc.Mascot(1.0, protect=1)).compress_documents(found, "")
    assert numbers(chosen) == [0, 1, 4]


def test_a_key_no_document_has_is_warned_of():
    with pytest.warns(UserWarning, match="no document has the metadata key 'town'") as caught:
        chosen = SteeredCompressor(wishes=mc.spread(mc.Category("town")), k=3).compress_documents(documents(), "")
    assert caught[0].filename == __file__
    assert numbers(chosen) == [0, 1, 2]


def test_explain_notes_why_and_leaves_the_rest():
    found = documents()
    chosen = SteeredCompressor(wishes=BY_CITY, k=4, method=UNGUARDED, explain=True).compress_documents(found, "")
    assert [document.metadata["mascot"]["rank"] for document in chosen] == [1, 2, 3, 4]
    assert [document.metadata["mascot"]["was"] for document in chosen] == [1, 5, 6, 7]
    assert chosen[1].metadata["mascot"]["gains"]["city"] > 0
    for document in chosen:
        original = found[document.metadata["n"]]
        assert "mascot" not in original.metadata
        document.metadata.pop("mascot")
        assert document == original


class Initial:
    """A user's own attribute: it reads a column nobody can know of."""

    name = "initial"

    def membership(self, columns, vectors):
        return np.array([[city.startswith("R"), not city.startswith("R")] for city in columns["city"]], float)

    def features(self, columns, vectors):
        return self.membership(columns, vectors)


@pytest.mark.parametrize("columns", [None, ["city"]])
def test_a_users_own_attribute_reads_any_key(columns):
    method = mc.Mascot(1.0, protect=0)
    compressor = SteeredCompressor(wishes=mc.spread(Initial()), k=2, method=method, columns=columns)
    assert numbers(compressor.compress_documents(documents(), "")) == [0, 4]


def vectors_and_query(seed, count=40, width=8):
    rng = np.random.default_rng(seed)
    vectors, query = rng.normal(size=(count, width)), rng.normal(size=width)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = unit @ query / np.linalg.norm(query)
    found = [
        Document(
            page_content=str(i), metadata={"n": i, "relevance_score": float(scores[i]), "vector": vectors[i].tolist()}
        )
        for i in range(count)
    ]
    return vectors, query, found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lambda_mult", [0.0, 1.0])
def test_the_ends_of_lambda_mult_are_those_of_langchains_own_mmr(seed, lambda_mult):
    vectors, query, found = vectors_and_query(seed)
    theirs = maximal_marginal_relevance(query, vectors.tolist(), lambda_mult=lambda_mult, k=12)
    ours = SteeredCompressor.from_lambda_mult(lambda_mult, k=12, method=mc.Mmr, vector_key="vector")
    assert numbers(ours.compress_documents(found, "")) == theirs


def test_a_lower_lambda_mult_is_more_diversity_as_in_langchain():
    vectors, query, found = vectors_and_query(3)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def alike(rows):
        return float((unit[rows] @ unit[rows].T).sum())

    ours = [
        alike(
            numbers(
                SteeredCompressor.from_lambda_mult(
                    value, mc.spread(mc.Clusters(10)), k=12, vector_key="vector", method=mc.Mascot
                ).compress_documents(found, "")
            )
        )
        for value in (1.0, 0.0)
    ]
    theirs = [alike(maximal_marginal_relevance(query, vectors.tolist(), lambda_mult=v, k=12)) for v in (1.0, 0.0)]
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1] < ours[0]
    assert theirs[1] < theirs[0]


@pytest.mark.parametrize("value", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_lambda_mult_goes_there_and_back(value):
    compressor = SteeredCompressor.from_lambda_mult(value, BY_CITY)
    assert compressor.method.strength == 1 - value
    assert compressor.lambda_mult == pytest.approx(value, abs=1e-15)


def test_lambda_mult_is_checked_and_unknown_where_it_is_found():
    with pytest.raises(mc.OptionError, match=r"lambda_mult must be in 0\.\.1, got 1\.5"):
        SteeredCompressor.from_lambda_mult(1.5)
    assert SteeredCompressor(method=mc.Mascot(keep=0.9)).lambda_mult is None


def test_vectors_from_the_texts():
    texts = ["aaa", "aab", "aaa", "jjj", "aba"]
    found = [Document(page_content=text, metadata={"n": i}) for i, text in enumerate(texts)]
    wish = mc.spread(mc.Clusters(2))
    chosen = SteeredCompressor(wishes=wish, k=2, method=UNGUARDED, embeddings=Letters()).compress_documents(found, "")
    assert numbers(chosen) == [0, 3]
    with pytest.raises(mc.InputError, match="Clusters needs vectors"):
        SteeredCompressor(wishes=wish, k=2).compress_documents(found, "")


def test_a_missing_vector_is_a_missing_value_and_lengths_must_agree():
    found = [Document(page_content="", metadata={"n": i, "v": [1.0, float(i > 2)]}) for i in range(5)]
    del found[3].metadata["v"]
    compressor = SteeredCompressor(wishes=mc.spread(mc.Clusters(2)), k=2, method=UNGUARDED, vector_key="v")
    assert numbers(compressor.compress_documents(found, "")) == [0, 4]
    found[1].metadata["v"] = [1.0]
    with pytest.raises(mc.InputError, match="vectors must be of one length, got 2 and 1"):
        compressor.compress_documents(found, "")
    found[1].metadata["v"] = [1.0, "one"]
    with pytest.raises(mc.InputError, match="vectors must be numbers, got "):
        compressor.compress_documents(found, "")


def test_vectors_of_any_kind_of_numbers_are_read_alike():
    exact = np.arange(12).reshape(4, 3)
    kinds = [exact[0].tolist(), exact[1].astype(np.float32), tuple(exact[2].astype(float)), None]
    read = as_vectors(kinds)
    np.testing.assert_array_equal(read[:3], exact[:3])
    assert np.isnan(read[3]).all()
    assert as_vectors([None, None]) is None


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (3.0, "a vector must be one flat list of numbers, got 3.0"),
        ("12", "a vector must be one flat list of numbers, got '12'"),
        (b"12", "a vector must be one flat list of numbers, got b'12'"),
        ({1: 2.0, 3: 4.0}, "a vector must be one flat list of numbers, got {1: 2.0"),
        (np.float64(3), "a vector must be one flat list of numbers, got "),
        (np.ones((2, 2)), "a vector must be one flat list of numbers, got array"),
        (np.ones((1, 2)), "a vector must be one flat list of numbers, got array"),
        ([[1.0, 2.0], [3.0, 4.0]], "vectors must be numbers, got "),
        ([10**400, 1.0], "vectors must be numbers, got "),
        (np.array(["a", "b"]), "vectors must be numbers, got array"),
        (np.array([{}, 1.0], object), "vectors must be numbers, got array"),
    ],
)
def test_a_vector_is_one_flat_list_of_numbers(wrong, told):
    for rows in ([wrong], [[1.0, 2.0], None, wrong]):
        with pytest.raises(mc.InputError, match=re.escape(told)):
            as_vectors(rows)


def test_names_are_a_list_of_any_kind():
    listed = SteeredCompressor(score_keys=["score"], columns={"city": 1}.keys())
    assert (listed.score_keys, listed.columns) == (("score",), ("city",))
    for wrong in ("score", b"score", [3], 3):
        with pytest.raises(ValueError, match="score_keys"):
            SteeredCompressor(score_keys=wrong)
    # What a type checker sees is a list of any kind too.
    hints = get_type_hints(SteeredCompressor)
    assert (hints["score_keys"], hints["columns"]) == (Sequence[str], Sequence[str] | None)


def test_what_is_wrong_is_said():
    with pytest.raises(mc.InputError, match=r"list of documents, or of \(document, score\) pairs, got Document$"):
        steer([]).invoke(documents()[0])
    with pytest.raises(ValueError, match="wishes must be spread"):
        SteeredCompressor(wishes=["city"])
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        SteeredCompressor(k=0)
    for wrong in ("mmr", mc.Mmr):
        with pytest.raises(ValueError, match="method must be a method such as"):
            SteeredCompressor(method=wrong)
    for wrong in (None, 3, "city"):
        message = f"wishes must be spread(...), focus(...), limit(...) or share(...), got {wrong!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            SteeredCompressor(wishes=wrong)
    for wrong in (mc.Relevance, mc.Mmr(0.3)):
        with pytest.raises(mc.OptionError, match="lambda_mult needs a method that takes a strength, such as Mascot"):
            SteeredCompressor.from_lambda_mult(0.7, method=wrong)
    with pytest.raises(mc.InputError, match="scores must be numbers"):
        SteeredCompressor().compress_documents([Document(page_content="", metadata={"relevance_score": "high"})], "")


def test_a_changed_copy_counts():
    compressor = SteeredCompressor(wishes=BY_CITY, k=4, method=UNGUARDED).model_copy(update={"k": 3})
    assert numbers(compressor.compress_documents(documents(), "")) == [0, 4, 5]
    assert numbers(compressor.model_copy(update={"wishes": ()}).compress_documents(documents(), "")) == [0, 1, 2]


def test_plain_data_and_back():
    compressor = SteeredCompressor(
        wishes=[BY_CITY, mc.focus(mc.Place(), near=(35.7, 139.7))], k=7, method=mc.Mascot(keep=0.9), columns=["city"]
    )
    again = SteeredCompressor.model_validate_json(compressor.model_dump_json())
    assert again == compressor
    assert again.wishes == (BY_CITY, mc.focus(mc.Place(), near=(35.7, 139.7)))
