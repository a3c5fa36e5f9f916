"""Pinned results: always there, first, and completed by the others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc

METHODS = st.sampled_from([mc.Mascot(), mc.Mascot(keep=0.9), mc.Mascot.paper(0.4), mc.Mmr(), mc.Relevance()])
QUICK = settings(max_examples=30)


@st.composite
def cases(draw: st.DrawFn) -> tuple[mc.Candidates[int], list[int], int]:
    """Candidates, ids to pin, and k."""
    count = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = [None if label == 4 else f"c{label}" for label in rng.integers(0, 5, count)]
    columns = {"city": labels, "hour": np.where(rng.random(count) < 0.2, np.nan, rng.random(count) * 24)}
    pin = rng.permutation(count)[: draw(st.integers(0, min(count, 8)))].tolist()
    candidates = mc.Candidates(rng.integers(0, 9, count) / 8, columns=columns, vectors=rng.normal(size=(count, 3)))
    return candidates, pin, max(len(pin), 1) + draw(st.integers(0, 12))


def cities(candidates: mc.Candidates[int], ids: list[int]) -> Counter[Any]:
    return Counter(city for city in (candidates.columns["city"][id_] for id_ in ids) if city is not None)


@QUICK
@given(cases(), METHODS, st.integers(1, 3))
def test_pinned_are_first_and_limits_hold(case: tuple[mc.Candidates[int], list[int], int], method: Any, n: int) -> None:
    candidates, pin, k = case
    ranking = mc.rerank(candidates, [mc.spread("city"), mc.limit("city", n)], k, method, pin=pin)
    assert ranking.ids[: len(pin)] == pin
    assert len(set(ranking.ids)) == len(ranking) <= k
    pinned = cities(candidates, pin)
    assert all(count <= max(n, pinned[city]) for city, count in cities(candidates, ranking.ids).items())
    filled = mc.rerank(candidates, [mc.spread("city"), mc.limit("city", n, fill=True)], k, method, pin=pin)
    assert len(filled) == min(k, len(candidates))
    reasons = ranking.explain().results
    assert [reason.because.startswith("pinned") for reason in reasons] == [id_ in pin for id_ in ranking.ids]
    assert all(len(values) == len(ranking) for values in ranking.gains.values())


@QUICK
@given(cases(), METHODS, st.sampled_from(["last", "neutral", "drop"]))
def test_pinned_values_are_covered_as_those_of_earlier_pages(
    case: tuple[mc.Candidates[int], list[int], int], method: Any, missing: Any
) -> None:
    candidates, pin, k = case
    wishes = [mc.spread(mc.Category("city", missing=missing)), mc.spread(mc.HourOfDay("hour", missing="last"))]
    ranking = mc.rerank(candidates, wishes, k, method, pin=pin)
    assert ranking.ids == mc.rerank(candidates, wishes, k, method, pin=pin, backend="numpy").ids
    assert ranking.ids[: len(pin)] == pin
    assert ranking.shown_before == []
    if missing == "drop":
        assert all(candidates.columns["city"][id_] is not None for id_ in ranking.ids[len(pin) :])
        already = [id_ for id_ in range(len(candidates)) if id_ % 3 == 0]
        next_page = mc.rerank(candidates, wishes, k, method, already=already, pin=pin)
        assert next_page.ids[: len(pin)] == pin
        assert not set(next_page.ids[len(pin) :]) & set(already)
        seen = [id_ for id_ in already if candidates.columns["city"][id_] is not None and id_ not in pin]
        assert next_page.shown_before == (seen if pin else next_page.shown_before)
    elif k > len(pin):
        assert ranking.ids[len(pin) :] == mc.rerank(candidates, wishes, k - len(pin), method, already=pin).ids


def test_shares_count_the_pinned() -> None:
    candidates = mc.Candidates(np.arange(20)[::-1], columns={"city": ["a"] * 10 + ["b"] * 10})
    ranking = mc.rerank(candidates, mc.share("city", {"a": 0.5, "b": 0.5}), 8, pin=[0, 1, 2, 10])
    assert cities(candidates, ranking.ids) == {"a": 4, "b": 4}
    assert not ranking.explain().notes
    crowded = mc.rerank(candidates, mc.share("city", {"a": 0.25, "b": 0.75}), 4, pin=[0, 1, 2])
    assert (crowded.ids[:3], len(crowded)) == ([0, 1, 2], 4)
    candidates = mc.Candidates(np.arange(9)[::-1])
    ranking = mc.rerank(candidates, (), 4, pin=[8, 0], already=[0, 1, 2])
    assert ranking.ids == [8, 0, 3, 4]
    assert ranking.shown_before == [1, 2]
    assert mc.rerank(candidates, (), 2, already=ranking).ids == [5, 6]
