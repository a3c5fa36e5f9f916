"""Reasons are true: no sentence contradicts the scores, the counts or the order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from tests.reader import Reader

FIVE = {"scores": [0.9, 0.8, 0.7, 0.6, 0.5], "ids": list("abcde")}
BY_SELLER = {**FIVE, "columns": {"s": list("xxxxy")}}
WITH_AD = {**FIVE, "columns": {"ad": [0, 0, 0, 0, 1]}}


@pytest.mark.parametrize(
    ("candidates", "wish", "options", "lines"),
    [
        (WITH_AD, mc.share("ad", {1: 0.25}), {"k": 4}, ["d  gave way to the share of ad: 1 of 4 from 1"]),
        (WITH_AD, mc.share("ad", {0: 0.5}), {"k": 2}, ["b  0 already has its share of one"]),
        (
            BY_SELLER, mc.limit("s", 1, fill=True), {"k": 4},
            ["c  third from x, over the limit of one to fill the page", "d  x already has three, over its limit"],
        ),
        (
            BY_SELLER, mc.limit("s", 1), {"k": 3, "pin": ["a", "b"]},
            ["b  pinned; second from x, over the limit of one because of a pin", "c  x already has two, over"],
        ),
        (BY_SELLER, mc.limit("s", 1), {"k": 4}, ["2 of 4: the limit of 1 per s leaves no more candidates"]),
        (
            {**FIVE, "columns": {"ad": [0, 0, 1, 1, 1], "s": list("pqrrr")}},
            [mc.limit("s", 1), mc.share("ad", {1: 0.5})], {"k": 4},
            ["share ad: 1 of 2 from 1 (at most 1 fit: its 3 candidates have 1 value of s)"],
        ),
        (
            {**FIVE, "columns": {"tag": [["x"], ["x", "y"], ["y"], ["z"], ["z"]]}}, mc.spread("tag"), {"k": 4},
            ["a  one of 2 from x", "d  the only one from z"],
        ),
        # Only two are among the best three; the third place of the protected went to an earlier page.
        (FIVE, [], {"k": 4, "protect": 3, "already": ["a"]}, ["d  selected for its relevance"]),
    ],
)  # fmt: skip
def test_a_reason_says_what_happened(candidates: Any, wish: Any, options: Any, lines: list[str]) -> None:
    text = str(mc.rerank(mc.Candidates(**candidates), wish, **options).explain())
    for line in lines:
        assert line in text


LABELS = st.sampled_from(["p", "q", "r", None])
ROWS = st.lists(
    st.tuples(
        st.integers(0, 12).map(lambda score: score / 10),
        st.sampled_from(["x", "y", "z", "w", None]),
        st.lists(LABELS.filter(bool), max_size=2, unique=True),
        st.sampled_from(["0", "1"]),
        st.sampled_from([float("nan"), *(float(step) for step in range(0, 60, 7))]),
    ),
    min_size=1,
    max_size=14,
)
WISHES = [
    mc.spread("seller"), mc.spread("tags"), mc.focus("seller"), mc.focus("tags"), mc.spread(mc.Number("price")),
    mc.focus(mc.Number("price")), mc.focus(mc.Number("price"), near=21), mc.focus("seller", near="x"),
    mc.limit("seller", 1), mc.limit("seller", 2), mc.limit("seller", 2, fill=True), mc.limit("tags", 1),
    mc.limit("tags", 2, fill=True), mc.share("ad", {1: 0.25}), mc.share("ad", {0: 0.4, 1: 0.6}),
    mc.share("seller", {"x": 0.4, "y": 0.2}),
]  # fmt: skip


@settings(max_examples=600)
@given(
    rows=ROWS,
    picks=st.lists(st.integers(0, len(WISHES) - 1), max_size=3, unique=True),
    k=st.integers(1, 9),
    strength=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
    protect=st.sampled_from([None, 0, 1, 4]),
    order=st.sampled_from(["relevance", "selection"]),
    pin=st.lists(st.integers(0, 13), max_size=2, unique=True),
    already=st.lists(st.integers(0, 13), max_size=4, unique=True),
)
def test_no_sentence_contradicts_scores_counts_or_order(
    rows: Any, picks: Any, k: int, strength: float, protect: Any, order: Any, pin: list[int], already: list[int]
) -> None:
    scores, sellers, tags, ads, prices = map(list, zip(*rows, strict=True))
    columns: dict[str, Any] = {"seller": sellers, "tags": tags, "ad": ads, "price": prices}
    wishes = list({(type(WISHES[i]), WISHES[i].attribute.name): WISHES[i] for i in picks}.values())
    pin, already = [i for i in pin if i < len(rows)][:k], [i for i in already if i < len(rows) and i not in pin]
    method = mc.Mascot(strength, protect, order=order)
    try:
        page = mc.rerank(mc.Candidates(scores, columns=columns), wishes, k, method, already, pin=pin)
    except mc.OptionError:  # a limit contradicts a share
        return
    Reader(scores, columns, wishes, page, pin, already).check()
