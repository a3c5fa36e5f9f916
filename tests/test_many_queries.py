"""Many queries at once: each is ranked as it is alone, whatever the others look like and whoever else asks."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.bins import one_hot

CITIES = ["Rome", "Rome", "Rome", "Oslo", "Lima", "Bern"]
FOUND = mc.Candidates(scores=[6, 5, 4, 3, 2, 1], ids=list("abcdef"), columns={"city": CITIES})
CITY = mc.spread(mc.Category("city"))


def pair(**columns: Any) -> mc.Candidates:
    vectors = columns.pop("vectors", None)
    return mc.Candidates(scores=[2.0, 1.0], columns=columns, vectors=vectors)


TIMES = np.array(["2024-01-01T08", "2024-02-02T20"], "datetime64[s]")
UNLIKE = {
    "times and none": (
        [pair(t=TIMES), pair(t=np.full(2, np.nan))],
        [mc.spread(mc.HourOfDay("t")), mc.focus(mc.Date("t"))],
    ),
    "vectors as rows and as objects": (
        [pair(e=np.eye(2, 3)), pair(e=[None, [1.0, 2.0, 3.0]])],
        [mc.spread(mc.Clusters(2, column="e"))],
    ),
    "columns that nobody asks for": (
        [pair(c=["a", "b"], z=np.ones((2, 3))), pair(c=["a", "b"])],
        [mc.spread(mc.Category("c"))],
    ),
    "rows of another width": (
        [pair(c=["a", "b"], z=np.ones((2, 3))), pair(c=["a", "b"], z=np.ones((2, 4)))],
        [mc.spread(mc.Category("c"))],
    ),
    "vectors of another width": (
        [pair(c=["a", "b"], vectors=np.eye(2)), pair(c=["a", "b"], vectors=np.eye(2, 3)), pair(c=["a", "a"])],
        [mc.spread(mc.Category("c"))],
    ),
    "text and numbers": ([pair(c=["a", "b"]), pair(c=[1, 2])], [mc.focus(mc.Category("c"), near="a")]),
}


@pytest.mark.parametrize("method", [mc.Mascot(0.9), mc.Mmr(0.5, published=True)], ids=["coverage", "similarity"])
@pytest.mark.parametrize(("found", "asked"), UNLIKE.values(), ids=UNLIKE)
def test_queries_need_not_look_alike(found: list[mc.Candidates], asked: list[mc.Wish], method: Any) -> None:
    for backend in ("numpy", "native"):
        alone = [mc.rerank(one, asked, 2, method, backend=backend) for one in found]
        together = mc.rerank_many(found, asked, 2, method, backend=backend)
        assert [page.to_dict() for page in together] == [page.to_dict() for page in alone]


class Labels:
    """A user's attribute of whole numbers below 4."""

    name = "labels"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return one_hot(np.asarray(columns["x"], np.int64), 4)

    def features(self, columns: Any, vectors: Any) -> Any:
        return np.asarray(columns["x"], np.float64)[:, None]

    def point(self, value: int) -> dict[str, int]:
        return {"x": value}


def test_an_own_attribute_ranks_many_as_it_ranks_one_with_every_method() -> None:
    queries = [pair(x=[1, 2], vectors=np.eye(2)), pair(x=[3, 3], vectors=np.eye(2)[::-1])]
    for method in (mc.Mascot(), mc.Mmr(), mc.KDpp(), mc.MsDpp(), mc.Clustering(), mc.Relevance()):
        many = mc.rerank_many(queries, mc.spread(Labels()), 2, method)
        assert many.ids == [mc.rerank(query, mc.spread(Labels()), 2, method).ids for query in queries]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_pickled_reranker_answers_several_threads(backend: Any) -> None:
    fitted = mc.Reranker(mc.focus(Labels(), near=3), mc.Mascot(1.0, protect=0)).fit({"x": [0, 3, 1]})
    restored = pickle.loads(pickle.dumps(fitted))
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: restored.rerank([0, 1, 2], [3.0, 2.0, 1.0], 1, backend=backend).ids, range(64))
    assert list(answers) == [[1]] * 64


def test_a_fit_that_fails_leaves_the_corpus_as_it_was() -> None:
    ranker = mc.Reranker(CITY).fit({"city": CITIES})
    with pytest.raises(mc.InputError):
        ranker.fit({"town": CITIES})
    assert ranker.rerank(range(6), FOUND.scores, k=2, backend="numpy").ids == [0, 3]


def test_a_corpus_of_values_that_come_one_by_one() -> None:
    ranker = mc.Reranker(CITY).fit({"city": iter(CITIES)})
    assert ranker.rerank(range(6), FOUND.scores, k=2, backend="numpy").ids == [0, 3]


@pytest.mark.parametrize("method", [mc.Mascot(order="selection"), mc.Mascot(protect=10**9), mc.Mmr()], ids=str)
def test_more_results_than_candidates_are_all_of_them_and_cost_nothing(method: Any) -> None:
    law = mc.rerank(FOUND, CITY, 3_000_000, method, already=["b"], backend="numpy")
    mc.rerank(FOUND, CITY, 6, method, backend="native")
    tracemalloc.start()
    fast = mc.rerank(FOUND, CITY, 3_000_000, method, already=["b"], backend="native")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert (fast.ids, fast._selection.protect) == (law.ids, law._selection.protect)
    assert sorted(map(str, fast.ids)) == list("acdef")


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("missing", ["last", "drop"])
def test_behind_the_last_result_stands_minus_one(backend: str, missing: Any) -> None:
    few = mc.Candidates(scores=[3, 2, 1], ids=["x", "y", "z"], columns={"city": ["Rome", None, "Oslo"]})
    many = mc.rerank_many([FOUND, few], mc.spread(mc.Category("city", missing=missing)), 9, backend=backend)
    shown = [0, 1, 2] if missing == "last" else [0, 2]
    assert many.positions.tolist() == [[0, 1, 2, 3, 4, 5, -1, -1, -1], shown + [-1] * (9 - len(shown))]
    assert many.ids == [page.ids for page in many]
    assert many.ids[1] == [few.ids[i] for i in shown]


def test_rankings_have_the_ids_of_a_corpus_and_positions_in_a_batch() -> None:
    rows, scores = np.array([[5, 3, 0]]), [[3.0, 2.0, 1.0]]
    ranker = mc.Reranker(CITY).fit({"city": CITIES})
    assert ranker.rerank_many(rows, scores, k=2).ids == [[5, 3]]
    assert ranker.fit({"city": CITIES}, ids=list("abcdef")).rerank_many(rows, scores, k=2).ids == [["f", "d"]]
    assert mc.rerank_many(mc.Batch(scores, {"city": [["a", "a", "b"]]}), CITY, k=2).ids == [[0, 2]]


@pytest.mark.parametrize("method", [mc.Mascot(), mc.Mmr(0.5)], ids=["coverage", "similarity"])
def test_rankings_can_be_pickled(method: Any) -> None:
    first = mc.rerank_many([FOUND, pair(city=["Rome", "Oslo"])], CITY, 3, method)
    there = pickle.loads(pickle.dumps(first))
    assert (there.ids, there.positions.tolist()) == (first.ids, first.positions.tolist())
    assert [str(page.explain()) for page in there] == [str(page.explain()) for page in first]
    assert (there[-1].to_dict(), len(there), repr(there)) == (first[1].to_dict(), 2, repr(first))
    again = pickle.loads(pickle.dumps(there))
    assert mc.rerank_many([FOUND, pair(city=["Rome", "Oslo"])], CITY, 3, method, already=again).ids[1] == []


def test_rankings_are_counted_in_whole_numbers() -> None:
    many = mc.rerank_many([FOUND], CITY, 2)
    assert many[np.int64(0)].ids == many[-1].ids
    for wrong in (0.0, "0"):
        with pytest.raises(TypeError):
            many[wrong]
    with pytest.raises(IndexError, match="query 1 of 1"):
        many[1]


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_the_number_of_threads_changes_nothing(threads: int | None) -> None:
    rng = np.random.default_rng(1)
    batch = mc.Batch(rng.random((300, 20)), {"x": rng.integers(0, 9, (300, 20)), "y": rng.random((300, 20))})
    wishes = [mc.spread(mc.Category("x")), mc.focus(mc.Number("y")), mc.limit("x", 2)]
    one_by_one = [
        mc.rerank(
            mc.Candidates(batch.scores[q], columns={name: c.reshape(300, 20)[q] for name, c in batch.columns.items()}),
            wishes,
            8,
        )
        for q in range(0, 300, 37)
    ]
    many = mc.rerank_many(batch, wishes, 8, threads=threads)
    assert many.ids[::37] == [ranking.ids for ranking in one_by_one]


@pytest.mark.integration
def test_tensors_may_have_gradients_and_short_numbers() -> None:
    torch = pytest.importorskip("torch")
    scores = torch.tensor([3.0, 2.0, 1.0], requires_grad=True)
    vectors = torch.eye(3, dtype=torch.bfloat16)
    plain = mc.Candidates(scores=[3.0, 2.0, 1.0], columns={"x": [1.0, 1.0, 2.0]}, vectors=np.eye(3))
    for given in (vectors, list(vectors), vectors.requires_grad_()):
        found = mc.Candidates(
            scores=scores, columns={"x": torch.tensor([1.0, 1.0, 2.0], requires_grad=True)}, vectors=given
        )
        assert (found.scores == plain.scores).all()
        np.testing.assert_array_equal(found.vectors, plain.vectors)
        assert mc.rerank(found, mc.spread(mc.Number("x")), 2).ids == mc.rerank(plain, mc.spread(mc.Number("x")), 2).ids
    batch = mc.Batch(scores[None], vectors=vectors[None])
    assert mc.rerank_many(batch, mc.spread(mc.Clusters(2)), 2).positions.shape == (1, 2)
