"""Ids that occur twice, values that nothing has, labels that could be confused, and shares of more than all results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc

RNG = np.random.default_rng(4)


def hits(*rows: tuple[str, float, str]) -> list[dict[str, Any]]:
    return [{"id": id_, "score": score, "src": src} for id_, score, src in rows]


TWICE = hits(("a", 0.9, "x"), ("a", 0.95, "x"), ("b", 0.8, "x"), ("a", 0.7, "y"), ("c", 0.6, "y"), ("b", 0.8, "x"))


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("wish", [mc.spread("src"), mc.limit("src", 2), mc.share("src", {"y": 0.5})])
def test_an_id_is_shown_once_by_its_best_row(wish: Any, backend: Any) -> None:
    page = mc.rerank(TWICE, wish, 9, backend=backend)
    assert sorted(page.ids) == ["a", "b", "c"]
    assert sorted(page.positions.tolist()) == [1, 2, 4]
    unique = [TWICE[position] for position in (1, 2, 4)]
    assert page.ids == mc.rerank(unique, wish, 9, backend=backend).ids
    assert mc.rerank_many([TWICE, unique], wish, 9, backend=backend).ids == [page.ids, page.ids]
    assert {reason.id for reason in page.explain().left_out} == set()
    assert sorted(mc.rerank(TWICE, wish, 9, already=["a"]).ids) == ["b", "c"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5), st.sampled_from("xyz")), min_size=1))
def test_repeats_do_not_change_the_page(rows: list[tuple[str, int, str]]) -> None:
    everything = hits(*[(id_, float(score), src) for id_, score, src in rows])
    best: dict[str, int] = {}
    for at in sorted(range(len(rows)), key=lambda at: -rows[at][1]):
        best.setdefault(rows[at][0], at)
    unique = [everything[at] for at in sorted(best.values())]
    page = mc.rerank(everything, [mc.spread("src"), mc.limit("src", 3)], 4)
    assert page.ids == mc.rerank(unique, [mc.spread("src"), mc.limit("src", 3)], 4).ids


def test_a_pin_shows_the_best_row() -> None:
    page = mc.rerank(TWICE, mc.spread("src"), 3, pin=["a"])
    assert (page.positions[0], sorted(page.ids)) == (1, ["a", "b", "c"])
    assert mc.rerank(TWICE, mc.spread("src"), 3, pin={"b": 1}).positions[0] == 2


NOTES: list[tuple[Any, list[tuple[str, str]]]] = [
    (mc.focus("src", near="z"), [("focus src", "z")]),
    (mc.focus("src", near=["x", "z"]), [("focus src", "z")]),
    (mc.limit("src", {"z": 1, "x": 1}), [("limit src", "z")]),
    (mc.limit(("src", "id"), {("x", "b"): 1, ("y", "b"): 1}), [("limit src+id", "y, b")]),
    (mc.share("src", {"z": 0.5}), [("share src", "z")]),
    (mc.at_least("src", {"z": 1}), [("at least src", "z")]),
    ([mc.focus("src", near="x"), mc.limit("src", {"x": 1}), mc.spread("src")], []),
    (mc.limit("src", 1), []),
]


@pytest.mark.parametrize(("wishes", "expected"), NOTES, ids=[str(wishes)[:40] for wishes, _ in NOTES])
def test_a_value_that_no_candidate_has_is_told(wishes: Any, expected: list[tuple[str, str]]) -> None:
    page = mc.rerank(TWICE, wishes, 2)
    missed = [rule for rule in page.missed_rules() if rule.cause == "absent"]
    assert [(rule.rule, rule.value) for rule in missed] == expected
    assert all(str(rule) in page.explain().notes and "no candidate has it" in str(rule) for rule in missed)
    assert [str(rule) for rule in mc.rerank_many([TWICE, TWICE], wishes, 2)[1].missed_rules()] == [
        str(rule) for rule in page.missed_rules()
    ]


def test_a_corpus_may_have_the_value_that_its_candidates_lack() -> None:
    ranker = mc.Reranker(mc.limit("src", {"z": 1})).fit({"src": ["x", "y", "z"]})
    assert [rule.value for rule in ranker.rerank([0, 1], [2.0, 1.0]).missed_rules()] == ["z"]
    assert ranker.rerank([0, 2], [2.0, 1.0]).missed_rules() == []
    assert mc.rerank([], mc.limit("src", {"z": 1})).missed_rules() == []


TEXTS = st.text(st.sampled_from("a, \\"), max_size=4)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=12))
def test_combinations_of_different_labels_differ(pairs: list[tuple[str, str]]) -> None:
    rows = [{"score": 1.0, "a": f"({first}", "b": f"{second})"} for first, second in pairs]
    assert len(mc.rerank(rows, mc.limit(("a", "b"), 1), len(rows))) == len(set(pairs))


def test_a_combination_is_named_by_a_tuple_or_as_text() -> None:
    rows = [{"score": 1.0, "a": "x, y", "b": "z"}, {"score": 0.9, "a": "x", "b": "y, z"}]
    assert mc.rerank(rows, mc.limit(("a", "b"), {("x, y", "z"): 0}), 2).ids == [1]
    plain = [{"score": 1.0, "a": "x", "b": "z"}, {"score": 0.9, "a": "y", "b": "z"}]
    assert mc.rerank(plain, mc.limit(("a", "b"), {"x, z": 0}), 2).ids == [1]


@pytest.mark.parametrize("first", ["exactly", "at least"])
def test_shares_of_an_attribute_are_at_most_all_results(first: Any) -> None:
    wishes = [mc.share("src", {"x": 0.6}, first), mc.share(mc.Category("src"), {"y": 0.6})]
    with pytest.raises(mc.OptionError, match=r"share\(src\).* 1\.2"):
        mc.rerank(TWICE, wishes, 2)
    mc.rerank(TWICE, [wishes[0], mc.share("id", {"a": 0.6})], 2)
    mc.rerank(TWICE, [wishes[0], mc.share("src", {"y": 0.9}, "at most")], 2)
    mc.rerank(TWICE, [wishes[0], mc.share("src", {"x": 0.6, "y": 0.4}, "at least")], 10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mc.Candidates([2.0, 1.0], ids={"a", "b"}),
        lambda: mc.Candidates([2.0, 1.0], columns={"src": {"x", "y"}}),
        lambda: mc.Reranker([]).fit({"src": ["x", "y"]}, ids=frozenset("ab")),
        lambda: mc.rerank(TWICE, [], pin={"a", "b"}),
    ],
    ids=["ids", "column", "corpus", "pin"],
)
def test_a_set_has_no_order(call: Any) -> None:
    with pytest.raises(mc.InputError, match=r"set|list of ids"):
        call()
