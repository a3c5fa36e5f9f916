"""LlamaIndex: the postprocessor, with LlamaIndex's own index, query engine parts and MMR."""

import asyncio

import numpy as np
import pytest

import mascot as mc

pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

from mascot.connect.llamaindex import SteeredPostprocessor

CITIES = ["Rome", "Rome", "Rome", "Rome", "Oslo", "Lima", "Kyiv"]
BY_CITY = mc.spread(mc.Category("city"))
UNGUARDED = mc.Mascot(0.9, protect=1)


def nodes(scores=True):
    return [
        NodeWithScore(
            node=TextNode(text=f"text {i}", id_=f"d{i}", metadata={"city": city, "n": i}),
            score=1 - i / 10 if scores else None,
        )
        for i, city in enumerate(CITIES)
    ]


def numbers(found):
    return [one.node.metadata["n"] for one in found]


class Letters(BaseEmbedding):
    """Vectors counted from letters."""

    def _get_query_embedding(self, query):
        return [float(query.count(letter)) for letter in "abcdefghij"]

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text):
        return self._get_query_embedding(text)


class Listing(BaseSynthesizer):
    """An answer that is the texts it was given, one a line."""

    def get_response(self, query_str, text_chunks, **kwargs):
        return "\n".join(text_chunks)

    async def aget_response(self, query_str, text_chunks, **kwargs):
        return self.get_response(query_str, text_chunks)

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass


def test_it_steers_and_returns_the_same_objects():
    found = nodes()
    before = [one.model_dump() for one in found]
    chosen = SteeredPostprocessor(wishes=[BY_CITY], k=4, method=UNGUARDED).postprocess_nodes(found, query_str="query")
    assert numbers(chosen) == [0, 4, 5, 6]
    assert all(any(one is given for given in found) for one in chosen)
    assert [one.model_dump() for one in found] == before
    steered = SteeredPostprocessor(wishes=[BY_CITY], k=4, method=UNGUARDED)
    assert numbers(asyncio.run(steered.apostprocess_nodes(found))) == [0, 4, 5, 6]


def test_it_is_what_rerank_chooses():
    rng = np.random.default_rng(0)
    columns = {"lat": rng.uniform(-60, 60, 80), "lon": rng.uniform(-180, 180, 80), "taken": rng.uniform(0, 24, 80)}
    scores = rng.random(80)
    found = [
        NodeWithScore(
            node=TextNode(text="", metadata={"n": i, **{k: float(v[i]) for k, v in columns.items()}}), score=scores[i]
        )
        for i in range(80)
    ]
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("taken"))]
    chosen = SteeredPostprocessor(wishes=wishes, k=15).postprocess_nodes(found)
    assert numbers(chosen) == mc.rerank(mc.Candidates(scores, columns=columns), wishes, k=15).ids


def test_after_an_index_with_a_filter_in_a_query_engine():
    texts = ["abc", "abd", "abe", "abj", "aci", "ach", "ag"]
    inner = [
        TextNode(
            text=text,
            metadata={"n": i, "city": CITIES[i], "kept": "no" if i == 4 else "yes"},
            excluded_embed_metadata_keys=["n", "city", "kept"],
            excluded_llm_metadata_keys=["n", "city", "kept"],
        )
        for i, text in enumerate(texts)
    ]
    retriever = VectorStoreIndex(inner, embed_model=Letters()).as_retriever(
        similarity_top_k=7, filters=MetadataFilters(filters=[ExactMatchFilter(key="kept", value="yes")])
    )
    steered = SteeredPostprocessor(wishes=BY_CITY, k=3, method=UNGUARDED, explain=True)
    from llama_index.core.llms.mock import MockLLM  # LlamaIndex's own: an answer needs one named, none is asked

    engine = RetrieverQueryEngine(retriever, Listing(llm=MockLLM()), node_postprocessors=[steered])
    answer = engine.query("ab")
    assert len(answer.source_nodes) == 3
    assert {one.node.metadata["city"] for one in answer.source_nodes} == {"Rome", "Lima", "Kyiv"}
    assert answer.response.splitlines() == [one.node.text for one in answer.source_nodes]  # no notes in the prompt
    retrieved = {one.node.node_id: one.score for one in retriever.retrieve("ab")}
    assert all(one.score == retrieved[one.node.node_id] for one in answer.source_nodes)


def test_without_scores_the_order_is_the_relevance():
    assert numbers(SteeredPostprocessor(k=3).postprocess_nodes(nodes(scores=False))) == [0, 1, 2]


def test_a_node_without_a_score_among_others_gets_the_lowest():
    found = nodes()
    found[0].score = found[3].score = None
    assert numbers(SteeredPostprocessor(k=7).postprocess_nodes(found)) == [1, 2, 4, 5, 0, 3, 6]


def test_fewer_nodes_than_k_and_none():
    assert sorted(numbers(SteeredPostprocessor(wishes=BY_CITY, k=50).postprocess_nodes(nodes()))) == list(range(7))
    assert SteeredPostprocessor(wishes=BY_CITY).postprocess_nodes([]) == []


def test_a_node_without_the_metadata_earns_nothing():
    found = nodes()
    del found[5].node.metadata["city"]
    found[6].node.metadata["city"] = None
    chosen = SteeredPostprocessor(wishes=BY_CITY, k=3, method=mc.Mascot(1.0, protect=1)).postprocess_nodes(found)
    assert numbers(chosen) == [0, 1, 4]
    with pytest.warns(UserWarning, match="no document has the metadata key 'town'"):
        SteeredPostprocessor(wishes=mc.spread(mc.Category("town"))).postprocess_nodes(found)


def test_explain_notes_why_outside_prompt_and_embedding():
    found = nodes()
    chosen = SteeredPostprocessor(wishes=BY_CITY, k=4, method=UNGUARDED, explain=True).postprocess_nodes(found)
    assert [one.node.metadata["mascot"]["was"] for one in chosen] == [1, 5, 6, 7]
    assert [one.node.metadata["mascot"]["rank"] for one in chosen] == [1, 2, 3, 4]
    assert chosen[1].node.metadata["mascot"]["gains"]["city"] > 0
    for one in chosen:
        original = found[one.node.metadata["n"]]
        assert one.score == original.score
        assert one.node.node_id == original.node.node_id
        assert "mascot" not in original.node.metadata
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert one.node.get_content(mode) == original.node.get_content(mode)


def vectors_and_query(seed, count=40, width=8):
    """Nodes best first, as a retriever returns them."""
    rng = np.random.default_rng(seed)
    vectors, query = rng.normal(size=(count, width)), rng.normal(size=width)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = vectors @ query / np.linalg.norm(query)
    order = np.argsort(-scores)
    vectors, scores = vectors[order], scores[order]
    found = [
        NodeWithScore(node=TextNode(text="", metadata={"n": i}, embedding=vectors[i].tolist()), score=scores[i])
        for i in range(count)
    ]
    return vectors, query, found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("mmr_threshold", "k"), [(1.0, 12), (0.0, 2)])
def test_the_ends_of_mmr_threshold_are_those_of_llamaindexs_own_mmr(seed, mmr_threshold, k):
    # From the third result on, LlamaIndex compares with the last one chosen alone, where MMR compares with all.
    vectors, query, found = vectors_and_query(seed)
    _, theirs = get_top_k_mmr_embeddings(
        query.tolist(), vectors.tolist(), similarity_top_k=k, mmr_threshold=mmr_threshold
    )
    ours = SteeredPostprocessor.from_mmr_threshold(mmr_threshold, k=k, method=mc.Mmr)
    assert numbers(ours.postprocess_nodes(found)) == theirs


def test_a_lower_mmr_threshold_is_more_diversity_as_in_llamaindex():
    vectors, query, found = vectors_and_query(3)

    def alike(rows):
        return float((vectors[rows] @ vectors[rows].T).sum())

    def theirs(value):
        return alike(
            get_top_k_mmr_embeddings(query.tolist(), vectors.tolist(), similarity_top_k=12, mmr_threshold=value)[1]
        )

    def ours(value):
        steered = SteeredPostprocessor.from_mmr_threshold(value, mc.spread(mc.Clusters(10)), k=12)
        return alike(numbers(steered.postprocess_nodes(found)))

    assert ours(1.0) == pytest.approx(theirs(1.0))
    assert theirs(0.0) < theirs(1.0)
    assert ours(0.0) < ours(1.0)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_mmr_threshold_goes_there_and_back(value):
    steered = SteeredPostprocessor.from_mmr_threshold(value, BY_CITY)
    assert steered.method.strength == 1 - value
    assert steered.mmr_threshold == pytest.approx(value, abs=1e-15)


def test_vectors_are_made_where_a_retriever_leaves_them_behind():
    texts = ["aaa", "aab", "aaa", "jjj", "aba"]
    inner = [TextNode(text=text, id_=f"d{i}", metadata={"n": i}) for i, text in enumerate(texts)]
    for node in inner:
        node.excluded_embed_metadata_keys = ["n"]
    found = VectorStoreIndex(inner, embed_model=Letters()).as_retriever(similarity_top_k=5).retrieve("aaa")
    assert all(one.node.embedding is None for one in found)
    for options in ({"method": mc.Mmr(0.9)}, {"wishes": mc.spread(mc.Clusters(2)), "method": UNGUARDED}):
        with pytest.raises(mc.InputError, match=r"(Mmr|Clusters) needs vectors.*embed_model="):
            SteeredPostprocessor(k=2, **options).postprocess_nodes(found)
        steered = SteeredPostprocessor(k=2, embed_model=Letters(), **options)
        assert 3 in numbers(steered.postprocess_nodes(found))
        assert "embed_model" not in steered.to_dict()
    found[0].node.embedding = [0.0] * 9 + [1.0]  # one that came along is kept
    steered = SteeredPostprocessor(k=2, embed_model=Letters(), method=mc.Mmr(1.0))
    assert 3 not in numbers(steered.postprocess_nodes(found))


def test_within_a_dictionary():
    found = nodes()
    for one in found:
        one.node.metadata["at"] = {"city": one.node.metadata.pop("city")}
    steered = SteeredPostprocessor(wishes=mc.spread(mc.Category("at.city")), k=4, method=UNGUARDED)
    assert numbers(steered.postprocess_nodes(found)) == [0, 4, 5, 6]


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="top_n"):
        SteeredPostprocessor(wishes=BY_CITY, top_n=3)
    with pytest.raises(mc.OptionError, match=r"mmr_threshold must be in 0\.\.1, got -1"):
        SteeredPostprocessor.from_mmr_threshold(-1)
    with pytest.raises(ValueError, match="wishes must be spread"):
        SteeredPostprocessor(wishes=["city"])
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        SteeredPostprocessor(k=0)


def test_what_is_changed_later_counts():
    steered = SteeredPostprocessor(wishes=BY_CITY, k=4, method=UNGUARDED)
    steered.k = 3
    assert numbers(steered.postprocess_nodes(nodes())) == [0, 4, 5]
    assert numbers(steered.model_copy(update={"wishes": ()}).postprocess_nodes(nodes())) == [0, 1, 2]


def test_plain_data_and_back():
    steered = SteeredPostprocessor(
        wishes=[BY_CITY, mc.focus(mc.Number("n"), near=2)],
        k=4,
        method=mc.Mascot(0.7),
        columns=["city", "n"],
        explain=True,
    )
    data = steered.to_dict()
    assert data["class_name"] == "SteeredPostprocessor"
    again = SteeredPostprocessor.from_dict(data)
    assert (again.wishes, again.k, again.method, again.explain) == (steered.wishes, 4, mc.Mascot(0.7), True)
    assert again.columns == steered.columns == ("city", "n")
    assert SteeredPostprocessor.from_json(steered.to_json()).wishes == steered.wishes
    assert SteeredPostprocessor.model_validate_json(steered.model_dump_json()).wishes == steered.wishes
    assert numbers(again.postprocess_nodes(nodes())) == numbers(steered.postprocess_nodes(nodes()))
