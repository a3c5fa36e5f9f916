"""Reasons are true: no sentence contradicts the scores, the counts or the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.kernels.page import PINNED, PROTECTED
from mascot.wishes import Wish

FIVE = {"scores": [0.9, 0.8, 0.7, 0.6, 0.5], "ids": list("abcde")}
BY_SELLER = {**FIVE, "columns": {"s": list("xxxxy")}}
SEVEN = {
    "scores": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3], "ids": list("abcdefg"),
    "columns": {"ad": [1, 0, 0, 0, 1, 1, 1], "s": list("ppppqqr")},
}  # fmt: skip
WITH_AD = {**FIVE, "columns": {"ad": [0, 0, 0, 0, 1]}}


@pytest.mark.parametrize(
    ("candidates", "wish", "options", "lines"),
    [
        (WITH_AD, mc.share("ad", {1: 0.25}), {"k": 4}, ["d  gave way to the share of ad: 1 of 4 with ad 1"]),
        (WITH_AD, mc.share("ad", {0: 0.5}), {"k": 2}, ["b  ad 0 already has its share of one"]),
        (
            BY_SELLER, mc.limit("s", 1, fill=True), {"k": 4},
            ["c  third from x, over the limit of one to fill the page", "d  s x already has three, over its limit"],
        ),
        (
            BY_SELLER, mc.limit("s", 1), {"k": 3, "pin": ["a", "b"]},
            ["b  pinned; second from x, over the limit of one because of a pin", "c  s x already has two, over"],
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
        (
            SEVEN, mc.limit("s", 1, window=2), {"k": 5},
            ["b  first of at most one from p in every 2; moved back: s p may have one in 2 results"],
        ),
        (
            {**SEVEN, "columns": {"s": list("aaabbcd")}}, mc.limit("s", 1, window=3), {"k": 4, "already": ["a", "d"]},
            ["c  gave way to a rule: s a may have one in 3 results"],
        ),
        (WITH_AD, mc.share("ad", {0: 0.3}, "at most"), {"k": 3, "pin": ["b"]}, ["a  ad 0 already has one, over its"]),
        (
            {**FIVE, "columns": {"ad": [0, 0, 0, 1, 1]}}, mc.share("ad", {0: 0.2, 1: 0.4}, "at least"), {"k": 4},
            ["c  gave way to the share of ad: 2 of 4 with ad 1"],
        ),
        (SEVEN, mc.limit("ad", {1: 0}, first=2), {"k": 4}, ["a  moved back: ad 1 may have zero among the first 2"]),
        (SEVEN, mc.at_least("ad", {1: 3}), {"k": 4}, ["c  gave way to the minimum of ad: 3 of 4 with ad 1"]),
        (SEVEN, mc.at_least("s", {"r": 2}), {"k": 4}, ["at least s: 1 of 2 from r (the candidates have no more)"]),
        (SEVEN, [], {"k": 4, "pin": {"g": 3}}, ["g  pinned at position 3"]),
        (
            SEVEN, mc.limit("s", 2, session=True), {"k": 3, "already": ["a"]},
            ["b  second of at most two from p", "c  s p already has two with earlier pages"],
        ),
        (
            {**SEVEN, "columns": {"ad": [0, 0, 0, 0, 1, 1, 1], "s": list("pqrsppq")}},
            [mc.limit("s", 1), mc.share("ad", {1: 0.5})], {"k": 4, "protect": 0},
            ["a  gave way to the share of ad: 2 of 4 with ad 1", "f  s p already has one"],
        ),
        (BY_SELLER, mc.limit("s", 1, window=2), {"k": 3, "already": ["e"], "pin": ["b"]}, ["a  no page was found"]),
        ({**SEVEN, "columns": {"s": ["x"] * 7}}, mc.limit("s", 1, window=2), {"k": 4, "already": ["a"]}, ["b  no"]),
        # Only two are among the best three; the third place of the protected went to an earlier page.
        (FIVE, [], {"k": 4, "protect": 3, "already": ["a"]}, ["d  selected for its relevance"]),
    ],
)  # fmt: skip
def test_a_reason_says_what_happened(candidates: Any, wish: Any, options: Any, lines: list[str]) -> None:
    text = str(mc.rerank(mc.Candidates(**candidates), wish, **options).explain())
    for line in lines:
        assert line in text


@pytest.mark.parametrize(
    ("candidates", "wish", "options", "missed"),
    [
        (BY_SELLER, mc.limit("s", 1, fill=True), {"k": 3}, [("limit s", "x", 2, 1, "over")]),
        (BY_SELLER, mc.limit("s", 1), {"k": 4}, [("page", "", 2, 4, "limits")]),
        (SEVEN, mc.at_least("s", {"r": 2}), {"k": 4}, [("at least s", "r", 1, 2, "scarce")]),
        (SEVEN, mc.at_least("s", {"z": 2}), {"k": 4}, [("at least s", "z", 0, 2, "absent")]),
        (SEVEN, [mc.limit("s", 1), mc.share("ad", {0: 0.5})], {"k": 3}, [("share ad", "0", 1, 2, "limited")]),
        # Fewer candidates have the value than the rule asks for, and a limit excludes one of these.
        (
            SEVEN,
            [mc.limit("s", 2), mc.at_least("s", {"p": 1}), mc.share("ad", {0: 0.9})],
            {"k": 5},
            [("share ad", "0", 2, 5, "limited")],
        ),
        (SEVEN, mc.share("ad", {1: 0.5}), {"k": 4, "pin": ["b", "c", "d"]}, [("share ad", "1", 1, 2, "crowded")]),
        (SEVEN, mc.limit("s", 1, window=4), {"k": 7}, [("page", "", 3, 7, "places")]),
        (SEVEN, [], {"k": 4}, []),
    ],
)
def test_a_missed_rule_has_counts_and_a_cause(candidates: Any, wish: Any, options: Any, missed: Any) -> None:
    rules = mc.rerank(mc.Candidates(**candidates), wish, **options).missed_rules()
    assert [(rule.rule, rule.value, rule.count, rule.target, rule.cause) for rule in rules] == missed


WISHES = [
    mc.spread("seller"), mc.spread("tags"), mc.focus("seller"), mc.focus("tags"), mc.spread(mc.Number("price")),
    mc.focus(mc.Number("price"), near=21), mc.focus("seller", near="x"), mc.limit("seller", 1),
    mc.limit("seller", 2, fill=True), mc.limit("tags", 1), mc.share("ad", {1: 0.25}), mc.share("seller", {"x": 0.4}),
    mc.share("ad", {1: 0.3}, bound="at least"), mc.at_least("ad", {1: 2}), mc.limit("seller", 1, window=2),
]  # fmt: skip


def random_page(seed: int) -> mc.Ranking[int] | None:
    """Return the page of a random problem; None if a limit contradicts a share."""
    rng = np.random.default_rng(seed)
    rows, k = int(rng.integers(1, 31)), int(rng.integers(1, 13))
    columns: dict[str, Any] = {
        "seller": rng.choice(["x", "y", "z", "w", None], rows, p=[0.4, 0.25, 0.15, 0.1, 0.1]).tolist(),
        "tags": [sorted(set(rng.choice(["p", "q", "r"], rng.integers(0, 3)).tolist())) for _ in range(rows)],
        "ad": rng.choice(["0", "1"], rows, p=[0.8, 0.2]).tolist(),
        "price": rng.choice([np.nan, *np.arange(0.0, 60, 7)], rows).tolist(),
    }
    picks = rng.choice(len(WISHES), rng.integers(0, 4), replace=False).tolist()
    pin = rng.choice(rows, min(rng.integers(0, 3), rows, k), replace=False).tolist()
    method = mc.Mascot(float(rng.choice([0.0, 0.3, 0.5, 0.8, 1.0])), [None, 0, 1, 4][rng.integers(4)])
    hits = mc.Candidates((rng.integers(0, 40, rows) / 40).tolist(), columns=columns)
    try:
        return mc.rerank(hits, [WISHES[i] for i in picks], k, method, pin=pin)
    except mc.OptionError:
        return None


@pytest.mark.parametrize("block", range(5))
def test_the_log_says_what_decided_at_each_place(block: int) -> None:
    """Whoever is protected, pinned or the best is so in the log, and gains are those of the moment of selection."""
    for seed in range(100 * block, 100 * block + 100):
        page = random_page(seed)
        if page is None or not len(page):
            continue
        log, pinned = page._page.log, set(page._queries.pinned.tolist())
        by_step = dict(zip(page._page.positions, log, strict=True))
        for reason in page.explain().results:
            entry = by_step[page._problem.remaining.from_input(0, np.array([reason.position]))[0]]
            assert (entry.cause == PINNED) == (reason.position in pinned) == reason.because.startswith("pinned")
            assert (entry.cause == PROTECTED) == ("match" in reason.because)
            assert reason.gain == pytest.approx(
                (1 - page._page.strength) * entry.relevance + page._page.strength * sum(entry.gains)
            )
        for place, entry in enumerate(log):
            if entry.kept_out >= 0:  # it would have gained more, and no earlier place took it
                assert entry.kept_out not in page._page.positions[:place]


@pytest.mark.parametrize("block", range(3))
def test_a_candidate_that_gained_more_than_the_last_result_was_kept_out_by_a_rule(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        page = random_page(seed)
        if (
            page is None
            or not page._has_gains
            or page._last_place.place < 0
            or any(w.sign < 0 for w in page.wishes if isinstance(w, Wish))
        ):
            continue
        last = page._page.positions[page._last_place.place]
        for reason in page.explain().left_out:
            if "less relevant" in reason.because or "adds less" in reason.because:
                assert sum(page._last_place.gains(reason._at)) <= sum(page._last_place.gains(last)) + 1e-9


def test_a_page_of_protected_results_leaves_others_out_for_that_reason() -> None:
    hits = mc.Candidates([5, 4, 3, 2], ids=list("abcd"), columns={"city": ["x", "x", "x", "y"]})
    page = mc.rerank(hits, mc.spread("city"), 3, protect=3, strength=1.0)
    assert [reason.because for reason in page.explain().left_out] == ["every result is protected"]


def test_any_candidate_can_be_asked_about() -> None:
    hits = mc.Candidates(range(20, 0, -1), columns={"s": ["x"] * 10 + list("yyyyyzzzzz")})
    page = mc.rerank(hits, mc.limit("s", 1), 3)
    (reason,) = page.explain(ids=[14]).left_out
    assert (reason.id, reason.was, reason.because) == (14, 15, "s y already has one")
    assert [reason.id for reason in page.explain(ids=[12, 0]).left_out] == [12]
    with pytest.raises(mc.InputError, match="explain"):
        page.explain(ids=["nobody"])
