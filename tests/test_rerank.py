"""The entry points, one query or many: what they return, and what importing them costs."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.attributes import Clusters

CITIES = ["Rome", "Rome", "Rome", "Oslo", "Lima", "Bern"]
LABELS = mc.Candidates(scores=[6, 5, 4, 3, 2, 1], columns={"city": CITIES})
CITY = mc.spread("city")
WISHES = [
    mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour", missing="neutral"), near=18), mc.focus("who", 0.5, near="bo"),
]  # fmt: skip
METHODS = [mc.Mascot(), mc.Mascot(keep=0.9), mc.Mmr()]


def corpus(n: int = 300) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(0)
    columns = {
        "lat": rng.uniform(-60, 70, n), "lon": rng.uniform(-180, 180, n),
        "hour": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 24, n)),
        "who": rng.choice(["ana", "bo", "cy", "di"], n),
    }  # fmt: skip
    return columns, rng.normal(size=(n, 8))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_reranker_ranks_as_rerank_does(method: Any) -> None:
    columns, vectors = corpus()
    ranker = mc.Reranker(WISHES, method).fit(columns, vectors)
    rng = np.random.default_rng(1)
    rows, scores = rng.permutation(300)[:80].reshape(2, 40), rng.random((2, 40))
    many = ranker.rerank_many(rows, scores, k=10)
    second = ranker.rerank_many(rows, scores, 10, already=many)
    for q in range(2):
        own = {name: c[rows[q]] for name, c in columns.items()}
        alone = mc.rerank(mc.Candidates(scores[q], rows[q], own, vectors[rows[q]]), WISHES, 10, method)
        assert ranker.rerank(rows[q], scores[q], 10).ids == alone.ids == many[q].ids
        assert [int(rows[q][i]) for i in many.positions[q]] == alone.ids
        assert many[q].to_dict() == alone.to_dict()
        assert second[q].ids == ranker.rerank(rows[q], scores[q], 10, already=alone.ids).ids
    assert mc.from_dict(method.to_dict()) == method


class Floor:
    """A user's attribute: whole numbers below 4."""

    name = "floor"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return np.eye(4)[np.asarray(columns["floor"], np.int64)]

    def point(self, value: int) -> dict[str, int]:
        return {"floor": value}


def test_a_focus_near_a_value_of_a_users_attribute() -> None:
    floors = mc.Candidates(scores=[6, 5, 4, 3, 2, 1], columns={"floor": [0, 1, 3, 2, 3, 0]})
    assert sorted(mc.rerank(floors, mc.focus(Floor(), near=3), 2, strength=0.9, protect=0).ids) == [2, 4]


def test_pages_repeat_nothing() -> None:
    page, next_page = (mc.rerank(LABELS, CITY, k=3, strength=0.8, already=already) for already in (None, [3, 0, 4]))
    assert sorted([*page, *next_page]) == [0, 1, 2, 3, 4, 5]
    assert next_page.already == [3, 0, 4]
    twice = mc.Candidates(scores=[4, 3, 2, 1], ids=["x", "x", "y", "z"])
    assert mc.rerank(twice, [], k=4, already=mc.rerank(twice, [], k=1)).ids == ["y", "z"]


@pytest.fixture(scope="module")
def ranking() -> mc.Ranking:
    return mc.rerank(mc.Candidates(np.linspace(2, 1, 60), None, *corpus(60)), WISHES, 10)


def test_the_gain_of_a_result_is_the_sum_over_its_wishes(ranking: mc.Ranking) -> None:
    assert list(ranking.gains) == ["relevance", "place"]  # closeness to named values is part of relevance
    for place, reason in enumerate(ranking.explain().results):
        assert reason.id == ranking.ids[place]
        assert reason.gain == pytest.approx(sum(values[place] for values in ranking.gains.values()))


def test_what_is_left_out_gains_no_more_than_the_last_result(ranking: mc.Ranking) -> None:
    explained = ranking.explain()
    chosen = sorted(explained.results, key=lambda reason: reason.step or 0)
    assert [reason.step for reason in chosen] == list(range(1, 11))
    assert not {reason.id for reason in explained.left_out} & set(ranking.ids)
    assert all(reason.because and reason.gain <= chosen[-1].gain + 1e-9 for reason in explained.left_out)


def test_a_ranking_is_plain_data(ranking: mc.Ranking) -> None:
    data = json.loads(json.dumps([ranking.to_dict(), ranking.explain().to_dict()]))[0]
    assert [result["id"] for result in data["results"]] == ranking.ids
    assert [result["was"] for result in data["results"]] == ranking.was.tolist() == (ranking.positions + 1).tolist()
    assert mc.from_dict(data["method"]) == mc.Mascot()
    assert [mc.from_dict(wish) for wish in data["wishes"]] == WISHES


def test_a_baseline_is_explained_without_gains() -> None:
    baseline = mc.rerank(LABELS, CITY, 5, mc.Mmr(0.3))
    assert baseline.gains == {}
    assert str(baseline.explain()).count("\n") >= 5


def _lacks(line: str, *parts: str) -> list[str]:
    return [part for part in parts if part not in line]


def test_an_explanation_begins_with_the_wishes(ranking: mc.Ranking) -> None:
    first, *_ = str(ranking.explain()).splitlines()
    assert _lacks(first, "spread place", "focus hour near 18", "focus who near bo x 0.5", "strength 0.5") == []


def test_an_explanation_has_a_line_for_each_candidate() -> None:
    text = str(mc.rerank(LABELS, [CITY, mc.limit("city", 2)], k=4, strength=0.9, protect=1).explain())
    lines = [
        ("spread city", "at most 2 per city", "strength 0.9"),
        ("1st ", " 0 ", "the only one from Rome", "first of at most two from Rome", "the best match"),
        ("2nd, was 4th", " 3 ", "the only one from Oslo", "first of at most two from Oslo"),
        ("3rd, was 5th", " 4 ", "the only one from Lima", "first of at most two from Lima"),
        ("4th, was 6th", " 5 ", "the only one from Bern", "first of at most two from Bern"),
        ("left out",),
        ("was 2nd", " 1 ", "city", "already covered"),
        ("was 3rd", " 2 ", "city", "already covered"),
    ]
    assert [_lacks(line, *parts) for line, parts in zip(text.splitlines(), lines, strict=True)] == [[]] * 8


def test_short_lists_protect_fewer_results() -> None:
    assert [mc.Mascot().protected(k, focused=True) for k in (1, 3, 4, 7, 20)] == [1, 1, 2, 3, 3]
    assert [mc.Mascot().protected(k, focused=False) for k in (1, 20)] == [1, 1]
    explained = mc.rerank(LABELS, CITY, k=3, protect=3).explain()
    assert all("every result is protected" in reason.because for reason in explained.left_out)


def test_a_wish_for_a_column_named_relevance_has_gains_of_its_own() -> None:
    named = mc.Candidates(scores=[3, 2, 1], columns={"relevance": ["a", "a", "b"]})
    assert list(mc.rerank(named, mc.spread("relevance"), k=2).gains) == ["relevance", "relevance 2"]


def test_the_first_rerank_of_a_process_loads_numpy_alone() -> None:
    code = """
import sys, mascot as mc
heavy = "numba torch PIL fastapi scipy sklearn pandas typer rich matplotlib sqlite3".split()
columns = {"lat": [0.0, 9.0], "lon": [0.0, 9.0], "taken": [3, 5]}
page = mc.rerank(mc.Candidates([2, 1], columns=columns), [mc.spread(mc.Place()), mc.focus(mc.HourOfDay())])
print(len(page), [name for name in heavy if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "2 []\n"


HITS = [
    {"id": "a1", "score": 0.93, "seller": "acme", "geo": {"lat": 38.7, "lon": -9.1}, "_source": {"city": "Lisbon"}},
    {"id": "b2", "score": 0.90, "seller": "acme", "geo": {"lat": 41.1, "lon": -8.6}, "_source": {"city": "Porto"}},
    {"id": "c3", "score": 0.88, "seller": "bolt", "geo": {"lat": 38.7, "lon": -9.2}},
    {"id": "d4", "score": 0.70, "seller": None, "_source": {"city": "Lisbon"}},
]


def test_records_go_in_and_come_back() -> None:
    ranking = mc.rerank(mc.Candidates.from_records(HITS), [mc.limit("seller", 1), mc.spread("_source.city")], k=3)
    assert ranking.ids == ["a1", "c3", "d4"]
    assert ranking.records() == [HITS[0], HITS[2], HITS[3]]
    assert ranking.records()[0] is HITS[0]


def test_records_need_no_scores() -> None:
    ordered = mc.rerank(mc.Candidates.from_records([{"x": 1}, {"x": 2}], score=None), [], k=1)
    assert (ordered.ids, ordered.records()) == ([0], [{"x": 1}])


def test_names_with_dots_are_paths_into_records() -> None:
    columns = mc.Candidates.from_records(HITS).columns
    assert mc.Place("geo.lat", "geo.lon").membership(columns, None).missing().tolist() == [False, False, False, True]
    nested = [{"hit": {"id": 7, "rank": {"score": 2.0}}}, {"hit": {"id": 8, "rank": {"score": 3.0}}}]
    assert mc.rerank(mc.Candidates.from_records(nested, score="hit.rank.score", id="hit.id"), []).ids == [8, 7]
    dotted = mc.Candidates.from_records([{"score": 1.0, "a.b": "key", "a": {"b": "path"}}])
    assert dotted.columns["a.b"].tolist() == ["key"]


def test_options_of_a_call_are_those_of_the_method() -> None:
    candidates, wish, k = mc.Candidates(np.random.default_rng(2).random(80), None, *corpus(80)), mc.spread("who"), 7
    assert mc.rerank(candidates, wish, k, strength=0.8).ids == mc.rerank(candidates, wish, k, mc.Mascot(0.8)).ids
    kept = mc.rerank(candidates, wish, k, keep=0.95)
    assert (kept.ids, kept.method) == (mc.rerank(candidates, wish, k, mc.Mascot(keep=0.95)).ids, mc.Mascot(keep=0.95))
    assert mc.rerank(candidates, wish, k, mc.Mascot(keep=0.9), strength=0.3).method == mc.Mascot(0.3)
    assert mc.rerank(candidates, wish, k, mc.Mmr(), strength=0.2).method == mc.Mmr(0.2)
    many = mc.rerank_many([candidates], wish, k, strength=0.8, protect=2)
    assert many.ids == [mc.rerank(candidates, wish, k, mc.Mascot(0.8, protect=2)).ids]


def pair(vectors: Any = None, **columns: Any) -> mc.Candidates:
    return mc.Candidates(scores=[2.0, 1.0], columns=columns, vectors=vectors)


TIMES = np.array(["2024-01-01T08", "2024-02-02T20"], "datetime64[s]")
AB = ["a", "b"]
UNLIKE = {
    "times and none": (
        [pair(t=TIMES), pair(t=np.full(2, np.nan))], [mc.spread(mc.HourOfDay("t")), mc.focus(mc.Date("t"))],
    ),
    "vectors as rows and as objects": (
        [pair(e=np.eye(2, 3)), pair(e=[None, [1.0, 2.0, 3.0]])], [mc.spread(Clusters(2, column="e"))],
    ),
    "columns and vectors of other widths": (
        [pair(np.eye(2), c=AB, z=np.ones((2, 3))), pair(np.eye(2, 3), c=AB, z=np.ones((2, 4))), pair(c=["a", "a"])],
        [mc.spread("c")],
    ),
    "labels that print alike": (
        [LABELS, pair(city=["Oslo", "Oslo"]), mc.Candidates([3, 2, 1], columns={"city": [1, "1", 1.5]})],
        [CITY, mc.limit("city", 2), mc.share("city", {"Oslo": 0.5})],
    ),
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


def test_a_pickled_reranker_answers_several_threads() -> None:
    fitted = mc.Reranker(mc.focus("x", near=3), mc.Mascot(1.0, protect=0)).fit({"x": [0, 3, 1]})
    restored = pickle.loads(pickle.dumps(fitted))
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: restored.rerank([0, 1, 2], [3.0, 2.0, 1.0], 1).ids, range(64))
    assert list(answers) == [[1]] * 64


def test_a_fit_that_fails_leaves_the_corpus_as_it_was() -> None:
    ranker = mc.Reranker(CITY).fit({"city": iter(CITIES)})  # values may come one by one
    with pytest.raises(mc.InputError, match="Category needs column 'city', got columns: town"):
        ranker.fit({"town": CITIES})
    assert ranker.rerank(range(6), LABELS.scores, k=2, strength=0.8, backend="numpy").ids == [0, 3]


@pytest.mark.parametrize("method", [mc.Mascot(protect=10**9), mc.Mmr()], ids=str)
def test_more_results_than_candidates_are_all_of_them_and_cost_nothing(method: Any) -> None:
    slow = mc.rerank(LABELS, CITY, 3_000_000, method, already=[1], backend="numpy")
    mc.rerank(LABELS, CITY, 6, method, backend="native")
    tracemalloc.start()
    fast = mc.rerank(LABELS, CITY, 3_000_000, method, already=[1], backend="native")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert (fast.ids, fast.causes) == (slow.ids, slow.causes)
    assert sorted(fast.ids) == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_behind_the_last_result_stands_minus_one(backend: str) -> None:
    few = mc.Candidates(scores=[3, 2, 1], ids=["x", "y", "z"], columns={"city": ["Rome", None, "Oslo"]})
    many = mc.rerank_many([LABELS, few], mc.spread(mc.Category("city", missing="drop")), 8, backend=backend)
    assert many.positions[:, 6:].tolist() == [[-1, -1], [-1, -1]]
    assert many.positions[1].tolist() == [0, 2, -1, -1, -1, -1, -1, -1]
    assert many.ids == [page.ids for page in many]
    assert [sorted(ids) for ids in many.ids] == [[0, 1, 2, 3, 4, 5], ["x", "z"]]


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
    assert mc.rerank_many(batch, mc.spread(Clusters(2)), 2).positions.shape == (1, 2)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("method", [mc.Mascot(strength=0.3), mc.Mmr(strength=0.3)])
def test_a_ranking_of_no_candidates_has_the_strength_of_the_call(method: Any, backend: Any) -> None:
    assert mc.rerank([], mc.spread("s"), method=method, backend=backend).strength == 0.3
    dropped = mc.Candidates([1.0], columns={"s": [None]})
    assert mc.rerank(dropped, mc.spread(mc.Category("s", missing="drop")), method=method).strength == 0.3


def test_a_batch_takes_every_option_that_one_call_takes() -> None:
    """Pins and named values may differ from query to query."""
    other = mc.Candidates(
        [3, 2, 1], ids=["x", "y", "z"], columns={"city": ["Rome", "Rome", "Oslo"], "price": [1, 5, 9]}
    )
    first = mc.Candidates([4, 3, 2, 1], ids=list("abcd"), columns={"city": list("kkmm"), "price": [1, 2, 8, 9]})
    wishes = [mc.spread("city"), mc.focus(mc.Number("price"), near=1, within=1)]
    options: dict[str, Any] = {"strength": 0.7, "protect": 0, "order": "selection"}
    pins, nears = [{"c": 2}, ()], [{"price": 9}, None]
    many = mc.rerank_many([first, other], wishes, 2, **options, pin=pins, near=nears)
    single = [
        mc.rerank(query, wishes, 2, **options, pin=pin, near=near)
        for query, pin, near in zip([first, other], pins, nears, strict=True)
    ]
    assert many.ids == [page.ids for page in single]
    assert many.positions.tolist() == [page.positions.tolist() for page in single]
    assert [str(page.explain()) for page in many] == [str(page.explain()) for page in single]
    ranker = mc.Reranker(wishes).fit(first.columns, ids=first.ids)
    (page,) = ranker.rerank_many([list("abcd")], [first.scores], 2, **options, pin=pins[:1], near=nears[0])
    assert page.ids == single[0].ids
    with pytest.raises(mc.InputError, match=r"pin must have one entry for each of the 2 queries, got 1"):
        mc.rerank_many([first, other], wishes, 2, pin=[()])
