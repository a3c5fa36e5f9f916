"""Rules about places, minimum counts and combinations: what holds on every page, and what is refused before ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot import grammar
from mascot.attributes.category import labels_of
from mascot.wishes import AnyWish, Limit

SELLERS = list("aaaaaabbbbcccddeefgh")
HITS = mc.Candidates(np.arange(20)[::-1], columns={"seller": SELLERS, "ad": [1, 0, 0, 0] * 5})


def shown(ranking: mc.Ranking[Any], sellers: Sequence[Any] = SELLERS) -> str:
    return "".join(str(sellers[i] or "-") for i in ranking.positions.tolist())


def breaks(values: Sequence[Any], n: int, window: int) -> list[Any]:
    """Return the windows with more than n results of one value."""
    spans = [values[start : start + window] for start in range(len(values))]
    return [span for span in spans if max(Counter(v for cell in span for v in labels_of(cell)).values(), default=0) > n]


@pytest.mark.parametrize(
    ("wish", "k", "expected"),
    [
        (mc.limit("seller", 2, window=5), 12, "aabbcaabbcaa"),
        (mc.limit("seller", 2, window=3), 9, "aabaabaab"),
        (mc.limit("seller", {"a": 1}, window=2), 6, "ababab"),
        (mc.limit("seller", {"a": 2}), 6, "aabbbb"),
        (mc.limit("seller", {"a": 2}, others=1), 6, "aabcde"),
        (mc.limit("seller", {"a": 0}, first=2), 5, "bbaaa"),
        (mc.limit("ad", 0, first=2, missing="drop"), 3, ""),
    ],
    ids=repr,
)
def test_limits_act_on_places(wish: Limit, k: int, expected: str) -> None:
    for backend in ("numpy", "native"):
        assert shown(mc.rerank(HITS, wish, k, backend=backend)) == expected


def test_combinations_of_columns_are_counted() -> None:
    page = mc.rerank(HITS, mc.limit(("seller", "ad"), 1), 20)
    pairs = [(SELLERS[i], HITS.columns["ad"][i]) for i in page.positions]
    named = mc.rerank(HITS, mc.limit(("seller", "ad"), {("a", 0): 1}, others=0), 20)
    assert [(SELLERS[i], HITS.columns["ad"][i]) for i in named.positions] == [("a", 0)]
    assert len(pairs) == len(set(pairs)) == len(set(zip(SELLERS, HITS.columns["ad"].tolist(), strict=True)))


@pytest.mark.parametrize(("missing", "expected"), [("ignore", "a--b"), ("value", "a-b"), ("drop", "ab")])
def test_missing_values_are_ignored_counted_or_dropped(missing: Any, expected: str) -> None:
    sellers = ["a", None, "a", None, "b"]
    hits = mc.Candidates([5, 4, 3, 2, 1], columns={"seller": sellers})
    assert shown(mc.rerank(hits, mc.limit("seller", 1, missing=missing), 4), sellers) == expected


def test_windows_go_on_over_the_page_break() -> None:
    wish = mc.limit("seller", 1, window=3)
    page = mc.rerank(HITS, wish, 4)
    next_page = mc.rerank(HITS, wish, 4, already=page)
    many = mc.rerank_many([HITS], wish, 4, already=[page.ids])
    assert (shown(page), shown(next_page)) == ("abca", "bcab")
    assert many[0].ids == next_page.ids
    assert shown(mc.rerank(HITS, wish, 4, already=next_page)) == "cabd"


def test_a_limit_over_a_session_counts_earlier_pages() -> None:
    wish = mc.limit("seller", 2, session=True)
    page = mc.rerank(HITS, wish, 4)
    assert (shown(page), shown(mc.rerank(HITS, wish, 4, already=page))) == ("aabb", "ccdd")
    batch = mc.Batch(np.arange(20)[None, ::-1], columns={"seller": [SELLERS]})
    assert mc.rerank_many(batch, wish, 4, already=[page.ids]).ids == [[10, 11, 13, 14]]


def test_a_session_does_not_count_places() -> None:
    for rule in (mc.limit("seller", 1, window=3), mc.limit("ad", {1: 0}, first=2)):
        earlier = mc.rerank(HITS, rule, 6)
        expected = mc.rerank(HITS, rule, 6, already=earlier)
        page = mc.rerank(HITS, replace(rule, session=True), 6, already=earlier)
        assert (page.ids, str(page.explain())) == (expected.ids, str(expected.explain()))


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_session_and_pins_exclude_near_copies(backend: Any) -> None:
    hits = mc.Candidates([5, 4, 3, 2, 1], ids="abcde", vectors=[[1, 0], [1, 0.001], [0, 1], [0.001, 1], [1, 1]])
    wish = mc.limit(mc.Vectors(), 1, session=True)
    assert mc.rerank(hits, wish, 5, already=["a"], pin=["d"], backend=backend).ids == ["d", "e"]
    page = mc.rerank(hits, wish, 5, already=["a"], backend=backend)
    assert [reason.because for reason in page.explain().left_out] == [
        "a near-copy of a is already shown", "a near-copy of c is already shown"
    ]  # fmt: skip


def test_a_result_in_place_of_a_lost_pin_is_not_pinned() -> None:
    columns = {"cat": ["a", "d", "d"], "ad": ["no", "yes", "no"]}
    hits = mc.Candidates([3, 2, 1], columns=columns)
    page = mc.rerank(hits, [mc.limit("cat", 1), mc.limit("ad", {"yes": 0}, first=2)], 3, pin={1: 3})
    assert page.ids == [0, 2]  # a page of two results has no place for the pinned one
    assert page.explain().results[0].because == "first of at most one from a; the best match"
    assert page.explain().notes[0] == "pin: 1 fits no place of this page: at most 0 from yes among the first 2"


def test_a_lost_pin_keeps_no_other_result_off_the_page() -> None:
    hits = mc.Candidates([3, 2, 1], columns={"s": ["a", "b", None], "t": list("xxx")})
    page = mc.rerank(hits, [mc.limit("s", 0, first=2), mc.limit("t", 1, first=5)], 3, pin={1: 3})
    assert page.ids == [2]


def test_results_of_earlier_pages_count_even_if_a_rule_drops_them() -> None:
    """The last two of the earlier results are those of the window; the third last is not."""
    hits = mc.Candidates([5, 4, 3, 2, 1], ids=list("abcde"), columns={"s": list("xyzxx"), "t": [1, None, None, 1, 1]})
    rules = [mc.limit("s", 1, window=3), mc.limit("s", 2, session=True), mc.limit("t", 9, missing="drop")]
    page = mc.rerank(hits, rules, 2, already=["a", "b", "c"])
    (many,) = mc.rerank_many([hits], rules, 2, already=[["a", "b", "c"]])
    assert page.ids == many.ids == ["d"]
    assert page.already == many.already == ["a", "b", "c"]
    for ranking in (page, many):
        (reason,) = ranking.explain().results
        assert reason.because.startswith("first of at most one from x in every 3; second of at most two from x")


def test_a_reranker_obeys_windows_and_order() -> None:
    ranker = mc.Reranker([mc.spread("seller"), mc.limit("seller", 1, window=3)]).fit({"seller": SELLERS})
    for order in ("relevance", "selection"):
        page = mc.rerank(HITS, ranker.wishes, 8, order=order)
        assert ranker.rerank(range(20), HITS.scores, 8, order=order).ids == page.ids
        assert ranker.rerank_many([range(20)], [HITS.scores], 8, order=order).ids == [page.ids]


def test_pins_stand_at_their_positions() -> None:
    assert mc.rerank(HITS, (), 5, pin={19: 3, 10: 1}).ids == [10, 0, 19, 1, 2]
    assert mc.rerank(HITS, mc.limit("seller", 1), 20, pin={19: 20}).ids[-1] == 19  # the page has eight results
    page = mc.rerank(HITS, mc.limit("seller", 1, window=2), 6, pin={1: 3, 12: 4})
    assert shown(page) == "abacab"
    assert [page.ids[2], page.ids[3]] == [1, 12]


def test_shares_may_be_bounds() -> None:
    ads = HITS.columns["ad"]
    assert ads[mc.rerank(HITS, mc.share("ad", {1: 0.1}, bound="at most"), 10).positions].sum() == 1
    few = mc.Candidates([3, 2, 1], columns={"ad": [1, 1, 0]})
    assert mc.rerank(few, mc.share("ad", {1: 0.4}, bound="at most"), 3).ids == [0, 2]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_minimum_counts_hold_beside_other_rules(backend: Any) -> None:
    wishes = [mc.at_least("seller", {"h": 1, "c": 2}), mc.limit("seller", 2), mc.share("ad", {1: 0.5}, "at least")]
    page = mc.rerank(HITS, wishes, 8, backend=backend)
    counts = Counter(SELLERS[i] for i in page.ids)
    assert (counts["h"], counts["c"], max(counts.values()), len(page)) == (1, 2, 2, 8)
    assert HITS.columns["ad"][page.positions].sum() >= 4
    assert not page.explain().notes


CONTRADICTIONS: dict[str, Any] = {
    "limit(seller).window must be more than n, which is 3, got 3": lambda: mc.limit("seller", 3, window=3),
    "limit(seller).fill cannot be combined with window": lambda: mc.limit("seller", 2, fill=True, window=3),
    "limit(seller).first cannot be combined with window": lambda: mc.limit("seller", 1, window=3, first=2),
    "limit(ad).missing must be 'ignore', 'value' or 'drop', got 'last'": lambda: mc.limit("ad", 1, missing="last"),
    "limit(seller)['a'] must be a whole number >= 0, got -1": lambda: mc.limit("seller", {"a": -1}),
    "limit(seller).others needs n for each value": lambda: mc.limit("seller", 2, others=1),
    "a combination must name at least two columns, got ('seller',)": lambda: mc.limit(("seller",), 1),
    "share(seller) must name values that are not missing, got ['a', '']": lambda: mc.share("seller", {"a": 1, "": 0}),
    "limit(ad) must name each value once, compared as text, got [1, '1']": lambda: mc.limit(
        "ad", {1: 1, "1": 2}
    ),
    "at_least(used) needs a dictionary of value: count, got 3": lambda: mc.at_least("used", 3),
    "share(ad).bound must be 'exactly', 'at least' or 'at most', got 'max'": lambda: mc.share("ad", {1: 0.1}, "max"),
    "at_least(seller) must ask for at most k = 4 results, got 5": lambda: rerank(
        mc.at_least("seller", {"a": 3, "b": 2})
    ),
    "limit(seller) contradicts at_least(seller): 'a' is to have 3 of 4 results, and at most 2": lambda: rerank(
        mc.limit("seller", 1, window=2), mc.at_least("seller", {"a": 3})
    ),
    "share(ad) contradicts share(ad): '1' is to have 2 of 4 results, and at most 1": lambda: rerank(
        mc.share("ad", {1: 0.5}, "at least"), mc.share("ad", {1: 0.25}, "at most")
    ),
    "share(ad) contradicts at_least(ad): '1' is to have 2 of 4 results, and at most 1": lambda: rerank(
        mc.share("ad", {1: 0.25}), mc.at_least("ad", {1: 2})
    ),
    "pin[3] must be a position from 1 to k = 4, got 100": lambda: rerank(pin={3: 100}),
    "pin must give a position to one result, and 3 has it too, got {4: 2}": lambda: rerank(pin={3: 2, 4: 2}),
    "limit(seller) contradicts pin: 'a' is pinned at position 3, and at most 1": lambda: rerank(
        mc.limit("seller", 1), pin={0: 1, 1: 3}
    ),
    "limit(seller) contradicts pin: 'a' is pinned at position 3, and at most 2": lambda: rerank(
        mc.limit("seller", 2, session=True), already=[0], pin={1: 2, 2: 3}
    ),
    "limit(vectors) contradicts pin: a near-copy is pinned at position 3": lambda: mc.rerank(
        mc.Candidates([2, 1], vectors=[[1, 0], [1, 0]]), mc.limit(mc.Vectors(), 1), 3, pin={0: 1, 1: 3}
    ),
    "share(ad) contradicts pin: '1' is pinned at position 2, and at most 1": lambda: rerank(
        mc.share("ad", {1: 0.25}, "at most"), pin={0: 1, 4: 2}
    ),
}  # fmt: skip


def rerank(*wishes: AnyWish, **options: Any) -> mc.Ranking[Any]:
    return mc.rerank(HITS, wishes, 4, **options)


@pytest.mark.parametrize(("text", "call"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_contradictions_are_named_before_ranking(text: str, call: Any) -> None:
    with pytest.raises(mc.OptionError) as caught:
        call()
    assert str(caught.value).startswith(text)


WISHES = {
    "seller=2/5": mc.limit("seller", 2, window=5),
    "ad=0@2": mc.limit("ad", 0, first=2),
    "ad=1:0@2": mc.limit("ad", {1: 0}, first=2),
    "seller=acme:5,*:2": mc.limit("seller", {"acme": 5}, others=2),
    "seller=acme:1,*:2/9": mc.limit("seller", {"acme": 1}, others=2, window=9),
    "seller=acme:5, dock:1": mc.limit("seller", {"acme": 5, "dock": 1}),
    "seller+category=1": mc.limit(("seller", "category"), 1),
}


@pytest.mark.parametrize(("text", "wish"), WISHES.items(), ids=WISHES)
def test_limits_are_typed(text: str, wish: Limit) -> None:
    assert grammar.limit(text) == wish


def test_other_rules_are_typed() -> None:
    assert grammar.at_least("used=yes:3") == mc.at_least("used", {"yes": 3})
    assert grammar.share("ad=1:max25%") == mc.share("ad", {1: 0.25}, "at most")
    assert grammar.share("ad=1:min0.2") == mc.share("ad", {1: 0.2}, "at least")
    assert grammar.limit("seller=1", missing="drop", session=True) == mc.limit(
        "seller", 1, missing="drop", session=True
    )
    for read, text in ((grammar.limit, "seller=2/x"), (grammar.at_least, "used=3"), (grammar.share, "a=b:min1%,c:1%")):
        with pytest.raises(mc.OptionError, match="write"):
            read(text)


@pytest.mark.parametrize(
    "wish", [*WISHES.values(), mc.at_least("u", {"y": 3}), mc.share("a", {1: 0.2}, "at most"),
             mc.limit("s", {"a": 2}, others=1, missing="value", session=True)], ids=repr,
)  # fmt: skip
def test_rules_are_plain_data(wish: AnyWish) -> None:
    assert mc.from_dict(wish.to_dict()) == wish
    assert hash(mc.from_dict(wish.to_dict())) == hash(wish)


CELLS = st.sampled_from(["a", "a", "a", "b", "b", "c", "d", None, ("a", "b")])


@settings(max_examples=150)
@given(st.lists(CELLS, min_size=1, max_size=30), st.integers(1, 12), st.integers(1, 2), st.integers(1, 3), st.data())
def test_no_window_is_ever_broken(sellers: list[Any], k: int, n: int, more: int, data: st.DataObject) -> None:
    hits = mc.Candidates(np.arange(len(sellers))[::-1], columns={"seller": sellers})
    window, wanted = n + more, data.draw(st.sampled_from(["relevance", "selection"]))
    wishes = [mc.limit("seller", n, window=window), *data.draw(st.sampled_from([[], [mc.spread("seller")]]))]
    page, other = (mc.rerank(hits, wishes, k, order=wanted, backend=b) for b in ("native", "numpy"))
    assert page.ids == other.ids == mc.rerank_many([hits], wishes, k, order=wanted)[0].ids
    assert not breaks([sellers[i] for i in page.ids], n, window)
    if len(page) == k:
        next_page = mc.rerank(hits, wishes, k, already=page)
        assert not breaks([sellers[i] for i in [*page.ids, *next_page.ids]], n, window)
    free = mc.rerank(hits, wishes[1:], k, order=wanted)
    if not breaks([sellers[i] for i in free.ids], n, window):
        assert page.ids == free.ids  # the wanted order is kept where the rules leave room
    assert mc.rerank(hits, wishes, k).explain().results


def test_the_wanted_order_is_kept_among_results_of_a_value() -> None:
    page = mc.rerank(HITS, mc.limit("seller", 1, window=3), 15, order="relevance")
    for seller in set(SELLERS):
        own = [i for i in page.ids if SELLERS[i] == seller]
        assert all(one < other for one, other in pairwise(own))


@settings(max_examples=50)
@given(st.lists(CELLS, min_size=6, max_size=24), st.permutations([1, 2, 3, 4, 5, 6]), st.integers(6, 9))
def test_pins_and_windows_hold_together(sellers: list[Any], places: list[int], k: int) -> None:
    hits = mc.Candidates(np.arange(len(sellers))[::-1], columns={"seller": sellers})
    pin = {1: places[0], 4: places[1]}
    wish = mc.limit("seller", 1, window=2)
    if breaks([sellers[id_] for id_ in pin], 1, 2) and abs(places[0] - places[1]) == 1:
        with pytest.raises(mc.OptionError, match="contradicts pin"):
            mc.rerank(hits, wish, k, pin=pin)
        return
    page = mc.rerank(hits, wish, k, pin=pin)
    assert not breaks([sellers[i] for i in page.ids], 1, 2)
    assert all(page.ids[place - 1] == id_ for id_, place in pin.items() if place <= len(page) - 2)


FIRST_RULES: dict[str, tuple[Limit, str, int, list[int]]] = {
    # Only as many results are exchanged as the first places need.
    "no other value takes the place": (mc.limit("s", {"a": 0, "b": 0}, first=3), "ab" * 8 + "cde", 12,
                                       [16, 17, 18, *range(9)]),
    "different values": (mc.limit("s", 1, first=3), "a" * 6 + "b" * 6 + "cd", 8, [0, 6, 12, 1, 2, 3, 4, 5]),
    "fewer than the first places": (mc.limit("s", {"a": 0, "b": 0}, first=3), "ab" * 8 + "cd", 8, [16, 17]),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("rule", "values", "k", "expected"), FIRST_RULES.values(), ids=FIRST_RULES)
def test_results_are_exchanged_for_the_first_places(
    rule: Limit, values: str, k: int, expected: list[int], backend: Any
) -> None:
    hits = mc.Candidates(np.arange(len(values))[::-1], columns={"s": list(values)})
    assert mc.rerank(hits, rule, k, backend=backend).ids == expected
    pinned = mc.rerank(hits, rule, k, backend=backend, pin={expected[-1]: len(expected)})
    assert pinned.ids == expected


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_page_that_two_rules_on_places_cut_short_is_built_again(backend: Any) -> None:
    columns = {"brand": list("wxzzxy"), "seller": list("qpqsrr")}  # the limit of sellers never binds
    rules = [mc.limit("brand", 1, window=4), mc.limit("seller", 2, first=3)]
    hits = mc.Candidates([6, 5, 4, 3, 2, 1], columns=columns)
    assert mc.rerank(hits, rules, 5, backend=backend).ids == [1, 2, 0, 5, 4]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_minimum_may_hold_among_the_first_results(backend: Any) -> None:
    wish = mc.at_least("ad", {1: 2}, first=3)
    page = mc.rerank(HITS, [wish, mc.limit("seller", 2)], 6, backend=backend)
    ads = HITS.columns["ad"][page.positions].tolist()
    assert (len(page), sum(ads[:3])) == (6, 2)
    assert (page.missed_rules(), mc.rerank(HITS, wish, 6).ids[:1]) == ([], [0])
    few = mc.Candidates([3, 2, 1], columns={"ad": [0, 0, 1]})
    (missed,) = mc.rerank(few, wish, 3, backend=backend).missed_rules()
    assert (missed.rule, missed.count, missed.target, missed.cause) == ("at least ad", 1, 2, "scarce")


def test_a_minimum_among_the_first_results_is_written_alike_everywhere() -> None:
    wish = mc.at_least("used", {"yes": 1}, first=5)
    assert grammar.at_least("used=yes:1@5") == wish
    assert mc.from_dict(wish.to_dict()) == mc.from_dict({"at_least": "used", "counts": {"yes": 1}, "first": 5}) == wish
    with pytest.raises(mc.OptionError, match=r"at_least\(used\)\.first must be at least the sum of the counts, 3"):
        mc.at_least("used", {"yes": 3}, first=2)
