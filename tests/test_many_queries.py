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
SIX = mc.Candidates(scores=[6, 5, 4, 3, 2, 1], ids=list("abcdef"), columns={"city": CITIES})
CITY = mc.spread("city")


def pair(vectors: Any = None, **columns: Any) -> mc.Candidates:
    return mc.Candidates(scores=[2.0, 1.0], columns=columns, vectors=vectors)


class Labels:
    """A user's attribute of whole numbers below 4."""

    name = "labels"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return one_hot(np.asarray(columns["x"], np.int64), 4)

    def features(self, columns: Any, vectors: Any) -> Any:
        return np.asarray(columns["x"], np.float64)[:, None]

    def point(self, value: int) -> dict[str, int]:
        return {"x": value}


TIMES = np.array(["2024-01-01T08", "2024-02-02T20"], "datetime64[s]")
AB = ["a", "b"]
UNLIKE = {
    "times and none": (
        [pair(t=TIMES), pair(t=np.full(2, np.nan))], [mc.spread(mc.HourOfDay("t")), mc.focus(mc.Date("t"))],
    ),
    "vectors as rows and as objects": (
        [pair(e=np.eye(2, 3)), pair(e=[None, [1.0, 2.0, 3.0]])], [mc.spread(mc.Clusters(2, column="e"))],
    ),
    "columns and vectors of other widths": (
        [pair(np.eye(2), c=AB, z=np.ones((2, 3))), pair(np.eye(2, 3), c=AB, z=np.ones((2, 4))), pair(c=["a", "a"])],
        [mc.spread("c")],
    ),
    "labels that print alike": (
        [SIX, pair(city=["Oslo", "Oslo"]), mc.Candidates([3, 2, 1], columns={"city": [1, "1", 1.5]})],
        [CITY, mc.limit("city", 2), mc.share("city", {"Oslo": 0.5})],
    ),
    "an attribute of one's own": ([pair(np.eye(2), x=[1, 2]), pair(np.eye(2)[::-1], x=[3, 3])], [mc.spread(Labels())]),
    "nothing left": ([pair(c=AB), pair(c=[None, None])], [mc.spread(mc.Category("c", missing="drop"))]),
}  # fmt: skip


@pytest.mark.parametrize("method", [mc.Mascot(0.9), mc.Mmr(0.5, published=True)], ids=repr)
@pytest.mark.parametrize(("candidates", "wishes"), UNLIKE.values(), ids=UNLIKE)
def test_queries_need_not_look_alike(candidates: list[mc.Candidates], wishes: list[Any], method: Any) -> None:
    for backend in ("numpy", "native"):
        alone = [mc.rerank(query, wishes, 2, method, backend=backend) for query in candidates]
        together = mc.rerank_many(candidates, wishes, 2, method, backend=backend)
        assert [page.to_dict() for page in together] == [page.to_dict() for page in alone]
        assert [str(page.explain()) for page in together] == [str(page.explain()) for page in alone]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_of_arrays_is_ranked_query_by_query_on_any_number_of_threads(threads: int) -> None:
    rng = np.random.default_rng(1)
    shape = (40, 20)
    columns = {"x": rng.integers(0, 9, shape), "y": rng.random(shape)}
    batch = mc.Batch(rng.random(shape), columns, rng.normal(size=(*shape, 3)))
    wishes = [mc.spread("x"), mc.focus(mc.Number("y")), mc.limit("x", 2), mc.spread(mc.Clusters(3))]
    many = mc.rerank_many(batch, wishes, 8, threads=threads)
    assert many.positions.shape == (40, 8)
    for q in (0, 39):
        own = {name: column[q] for name, column in columns.items()}
        vectors = batch.vectors.reshape(*shape, 3)[q]
        assert many[q].ids == mc.rerank(mc.Candidates(batch.scores[q], None, own, vectors), wishes, 8).ids


def test_a_pickled_reranker_answers_several_threads() -> None:
    fitted = mc.Reranker(mc.focus(Labels(), near=3), mc.Mascot(1.0, protect=0)).fit({"x": [0, 3, 1]})
    restored = pickle.loads(pickle.dumps(fitted))
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: restored.rerank([0, 1, 2], [3.0, 2.0, 1.0], 1).ids, range(64))
    assert list(answers) == [[1]] * 64


def test_a_fit_that_fails_leaves_the_corpus_as_it_was() -> None:
    ranker = mc.Reranker(CITY).fit({"city": iter(CITIES)})  # values may come one by one
    with pytest.raises(mc.InputError, match="Category needs column 'city', got columns: town"):
        ranker.fit({"town": CITIES})
    assert ranker.rerank(range(6), SIX.scores, k=2, backend="numpy").ids == [0, 3]


@pytest.mark.parametrize("method", [mc.Mascot(protect=10**9), mc.Mmr()], ids=str)
def test_more_results_than_candidates_are_all_of_them_and_cost_nothing(method: Any) -> None:
    slow = mc.rerank(SIX, CITY, 3_000_000, method, already=["b"], backend="numpy")
    mc.rerank(SIX, CITY, 6, method, backend="native")
    tracemalloc.start()
    fast = mc.rerank(SIX, CITY, 3_000_000, method, already=["b"], backend="native")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert (fast.ids, fast._selection.protect) == (slow.ids, slow._selection.protect)
    assert sorted(map(str, fast.ids)) == list("acdef")


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_behind_the_last_result_stands_minus_one(backend: str) -> None:
    few = mc.Candidates(scores=[3, 2, 1], ids=["x", "y", "z"], columns={"city": ["Rome", None, "Oslo"]})
    many = mc.rerank_many([SIX, few], mc.spread(mc.Category("city", missing="drop")), 8, backend=backend)
    assert many.positions.tolist() == [[0, 1, 2, 3, 4, 5, -1, -1], [0, 2, -1, -1, -1, -1, -1, -1]]
    assert many.ids == [page.ids for page in many] == [list("abcdef"), ["x", "z"]]


def test_rankings_have_the_ids_of_a_corpus_and_positions_in_a_batch() -> None:
    rows, scores = np.array([[5, 3, 0]]), [[3.0, 2.0, 1.0]]
    ranker = mc.Reranker(CITY).fit({"city": CITIES}, ids=list("abcdef"))
    assert ranker.rerank_many(rows, scores, k=2).ids == [["f", "d"]]
    many = mc.rerank_many(mc.Batch(scores, {"city": [["a", "a", "b"]]}), CITY, k=2)
    assert many.ids == [many[np.int64(0)].ids] == [[0, 2]]
    with pytest.raises(IndexError, match="query 1 of 1"):
        many[1]


@pytest.mark.integration
def test_tensors_may_have_gradients_and_short_numbers() -> None:
    torch = pytest.importorskip("torch")
    scores = torch.tensor([3.0, 2.0, 1.0], requires_grad=True)
    number = torch.tensor([1.0, 1.0, 2.0], requires_grad=True)
    vectors = torch.eye(3, dtype=torch.bfloat16)
    for rows in (vectors, list(vectors), vectors.requires_grad_()):
        candidates = mc.Candidates(scores, columns={"x": number}, vectors=rows)
        assert candidates.scores.tolist() == [3.0, 2.0, 1.0]
        np.testing.assert_array_equal(candidates.vectors, np.eye(3))
        assert mc.rerank(candidates, mc.spread(mc.Number("x")), 2, protect=1).ids == [0, 2]
    batch = mc.Batch(scores[None], vectors=vectors[None])
    assert mc.rerank_many(batch, mc.spread(mc.Clusters(2)), 2).positions.shape == (1, 2)
