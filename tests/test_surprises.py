"""What users run into: few results, far points, several pages, pickles, and what is handed in by mistake."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mascot as mc

CITIES = ["Rome", "Rome", "Rome", "Oslo", "Lima", "Bern"]
LABELS = mc.Candidates(scores=[6, 5, 4, 3, 2, 1], columns={"city": CITIES})
CITY = mc.spread(mc.Category("city"))


@pytest.mark.parametrize(("k", "protected"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 2), (7, 3), (20, 3), (100, 3)])
def test_of_few_results_few_are_protected(k: int, protected: int) -> None:
    assert mc.Mascot().protected(k) == protected
    assert mc.Mascot(protect=5).protected(k) == 5


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_three_results_are_steered(backend: str) -> None:
    assert mc.rerank(LABELS, CITY, k=3, method=mc.Mascot(0.9), backend=backend).ids == [0, 3, 4]
    assert mc.rerank(LABELS, CITY, k=3, method=mc.Mascot(0.9, protect=3), backend=backend).ids == [0, 1, 2]


def test_reasons_say_why_a_candidate_was_left_out() -> None:
    whole = mc.rerank(LABELS, CITY, k=3, method=mc.Mascot(protect=3)).explain()
    assert {reason.because for reason in whole.left_out} == {"every place is protected"}
    second = mc.rerank(LABELS, CITY, k=3, method=mc.Mascot(protect=3), already=[0, 1, 2]).explain()
    assert second.left_out == []
    steered = mc.rerank(LABELS, CITY, k=3).explain()
    assert all(reason.because for reason in steered.left_out)


_X = np.linspace(0, 100, 11)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(
    ("attribute", "column", "near", "nearest"),
    [
        (mc.Number("x"), _X, 130, [7, 8, 9, 10]),
        (mc.Number("x"), _X, -1e9, [0, 1, 2, 3]),
        (mc.Date("x"), [f"2019-01-{day + 1:02d}" for day in range(11)], "2031-05-05", [7, 8, 9, 10]),
        (mc.HourOfDay("x", sigma=0.2), [8 + 0.2 * step for step in range(11)], 14, [7, 8, 9, 10]),
    ],
)
def test_a_point_beyond_all_candidates_draws_the_nearest(
    attribute: Any, column: Any, near: Any, nearest: list[int], backend: str
) -> None:
    found = mc.Candidates(scores=np.full(11, 0.5), columns={"x": column})
    result = mc.rerank(found, mc.focus(attribute, near=near), k=4, method=mc.Mascot(1.0, protect=0), backend=backend)
    assert sorted(result.positions) == nearest
    assert mc.rerank_many([found, found], mc.focus(attribute, near=near), 4, result.method)[1].ids == result.ids


def test_a_city_that_nobody_photographed_draws_the_nearest_one() -> None:
    lisbon, tokyo = (38.72, -9.14), (35.69, 139.69)
    places = np.array([tokyo] * 6 + [lisbon] * 6) + 0.01 * np.arange(12)[:, None]
    found = mc.Candidates(scores=np.linspace(1, 0.5, 12), columns={"lat": places[:, 0], "lon": places[:, 1]})
    method = mc.Mascot(0.9, protect=0)
    porto = mc.rerank(found, mc.focus(mc.Place(), near=(41.15, -8.61)), k=4, method=method)
    assert min(porto.positions) >= 6
    assert max(mc.rerank(found, mc.focus(mc.Place()), k=4, method=method).positions) < 6


def test_each_query_of_a_corpus_has_its_own_nearest() -> None:
    ranker = mc.Reranker(mc.focus(mc.Number("x", sigma=2.0), near=1000), mc.Mascot(1.0, protect=0)).fit({"x": _X})
    pages = ranker.rerank_many([[0, 1, 2, 3], [4, 5, 6, 7]], [[1.0] * 4] * 2, k=1)
    assert [page.ids for page in pages] == [[3], [7]]
    assert ranker.rerank([0, 1, 2, 3], [1.0] * 4, k=1, backend="numpy").ids == [3]


def test_a_third_page_repeats_neither_the_first_nor_the_second() -> None:
    first = mc.rerank(LABELS, CITY, k=2)
    second = mc.rerank(LABELS, CITY, k=2, already=first)
    third = mc.rerank(LABELS, CITY, k=2, already=second)
    assert sorted([*first, *second, *third]) == [0, 1, 2, 3, 4, 5]
    assert third.shown_before == sorted([*first, *second])


def test_an_id_that_stands_there_twice_is_shown_once_and_no_more() -> None:
    found = mc.Candidates(scores=[4, 3, 2, 1], ids=["x", "x", "y", "z"])
    assert mc.rerank(found, [], k=4, already=["x"]).ids == ["y", "z"]
    assert mc.rerank(found, [], k=4, already=mc.rerank(found, [], k=1)).ids == ["y", "z"]


def test_a_corpus_is_any_table_and_its_ids_any_column() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"city": ["a", "b", "c"]}, index=[2, 1, 0])
    ranker = mc.Reranker(CITY).fit(table, ids=pandas.Series(["x", "y", "z"], index=[2, 1, 0]))
    assert ranker.rerank([0, 1, 2], [3.0, 2.0, 1.0], k=3).ids == ["x", "y", "z"]


def test_results_by_their_place() -> None:
    result = mc.rerank(LABELS, CITY, k=3)
    assert (result[0], result[-1], result[:2]) == (result.ids[0], result.ids[2], result.ids[:2])


@pytest.mark.parametrize("method", [mc.Mascot(), mc.Mmr(0.5)])
def test_a_ranking_and_a_reranker_can_be_pickled(method: Any) -> None:
    result = mc.rerank(LABELS, CITY, k=3, method=method)
    there = pickle.loads(pickle.dumps(result))
    assert (there.ids, there.to_dict(), str(there.explain())) == (result.ids, result.to_dict(), str(result.explain()))
    ranker = mc.Reranker(CITY, method).fit({"city": CITIES})
    before = ranker.rerank(range(6), LABELS.scores, k=3).ids
    assert pickle.loads(pickle.dumps(ranker)).rerank(range(6), LABELS.scores, k=3).ids == before


def test_an_attribute_may_be_called_relevance() -> None:
    found = mc.Candidates(scores=[3, 2, 1], columns={"relevance": ["a", "a", "b"]})
    result = mc.rerank(found, mc.spread(mc.Category("relevance")), k=2)
    assert list(result.gains) == ["relevance", "relevance 2"]


def test_reasons_say_who_else_is_there() -> None:
    text = str(mc.rerank(LABELS, [CITY, mc.limit("city", 2)], k=4, strength=0.9, protect=1).explain())
    assert text.splitlines() == [
        "spread city, at most 2 per city; strength 0.9",
        "1st               0  the only one from Rome; first of at most two from Rome; the best match",
        "2nd, was 4th      3  the only one from Oslo; first of at most two from Oslo",
        "3rd, was 5th      4  the only one from Lima; first of at most two from Lima",
        "4th, was 6th      5  the only one from Bern; first of at most two from Bern",
        "left out",
        "was 2nd           1  city: adds too little new",
        "was 3rd           2  city: adds too little new",
    ]


def test_explanations_of_a_batch_are_those_of_each_query_alone() -> None:
    other = mc.Candidates(scores=[3, 2, 1], columns={"city": ["Oslo", "Oslo", "Rome"]})
    mixed = mc.Candidates(scores=[3, 2, 1], columns={"city": [1, "1", 1.5]})
    wishes = [CITY, mc.limit("city", 2), mc.share("city", {"Oslo": 0.5})]
    for page, candidates in zip(
        mc.rerank_many([LABELS, other, mixed], wishes, k=2), (LABELS, other, mixed), strict=True
    ):
        alone = mc.rerank(candidates, wishes, k=2)
        assert (page.ids, str(page.explain())) == (alone.ids, str(alone.explain()))


@pytest.mark.parametrize("method", [mc.Mascot(), mc.Mmr(0.5)])
@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_query_that_loses_all_its_candidates_is_empty(method: Any, backend: str) -> None:
    wish = mc.spread(mc.Category("city", missing="drop"))
    some = [mc.Candidates(scores=[2, 1], columns={"city": cities}) for cities in (["a", "b"], [None, None])]
    found = mc.rerank_many(some, wish, k=2, method=method, backend=backend)
    assert [page.ids for page in found] == [[0, 1], []]
    assert found[1].strength == mc.rerank(some[1], wish, k=2, method=method).strength == 0.0
    assert mc.rerank_many(some[1:], wish, k=2, method=method, backend=backend)[0].ids == []


def test_gains_of_a_batch_are_those_of_each_query_alone() -> None:
    found = mc.Candidates(scores=np.linspace(1, 0, 30), columns={"x": np.arange(30.0) % 7})
    wish = mc.focus(mc.Number("x"))
    alone = mc.rerank(found, wish, k=8, backend="numpy")
    for backend in ("numpy", "native"):
        (page,) = mc.rerank_many([found], wish, k=8, backend=backend)
        np.testing.assert_allclose(page.gains["x"], alone.gains["x"], atol=1e-12)


def test_a_fit_says_at_once_what_is_wrong_with_the_corpus() -> None:
    with pytest.raises(mc.InputError, match="city"):
        mc.Reranker(CITY).fit({"town": CITIES})


_WRONG: dict[str, Any] = {
    "wishes must be spread(...), focus(...), limit(...) or share(...), got Category(": lambda: mc.rerank(
        LABELS, mc.Category("city")
    ),  # type: ignore[arg-type]
    "wishes must be spread(...), focus(...), limit(...) or share(...), got None": lambda: mc.rerank(LABELS, None),  # type: ignore[arg-type]
    "method must be a method such as Mascot() or Mmr(), got 'mmr'": lambda: mc.rerank(LABELS, CITY, method="mmr"),  # type: ignore[arg-type]
    "method must be a method such as Mascot() or Mmr(), got <class": lambda: mc.Reranker(CITY, mc.Mascot),  # type: ignore[arg-type]
    "k must be a whole number >= 1, got True": lambda: mc.rerank(LABELS, CITY, k=True),
    "threads must be a whole number >= 1, got -3": lambda: mc.rerank_many([LABELS], CITY, threads=-3),
    "already must be a Ranking or a list of ids, got 3": lambda: mc.rerank(LABELS, CITY, already=3),  # type: ignore[arg-type]
    "already must have 1 entries like the queries, got 2": lambda: mc.rerank_many([LABELS], CITY, already=[[], []]),
    "rerank_many needs at least one query, got none": lambda: (
        mc.Reranker(CITY).fit({"city": CITIES}).rerank_many([], [])
    ),
}


@pytest.mark.parametrize(("text", "call"), _WRONG.items(), ids=_WRONG)
def test_mistakes_are_named(text: str, call: Any) -> None:
    with pytest.raises(mc.MascotError) as caught:
        call()
    assert str(caught.value).startswith(text)
