"""Named focus: closeness to a value is part of relevance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mascot as mc
from mascot.bins.globe import great_circle_km
from mascot.wishes import Wish

RNG = np.random.default_rng(0)
COLUMNS = {
    "hour": np.append(RNG.uniform(0, 24, 60), 19.0),
    "lat": np.append(RNG.uniform(-60, 60, 60), 38.7),
    "lon": np.append(RNG.uniform(-180, 180, 60), -9.1),
    "price": np.append(RNG.normal(0, 10, 60), 5.0),
    "camera": ["Pixel"] * 60 + ["X100"],
    "taken": [f"2020-{1 + i % 12:02}-{1 + i % 28:02}T{i % 24:02}:30" for i in range(60)] + ["2021-07-04T19:00"],
}
NAMED: list[tuple[Any, Any]] = [
    (mc.HourOfDay("hour"), 19), (mc.Number("price"), 5.0), (mc.Place(), (38.7, -9.1)), (mc.Place.grid(), (38.7, -9.1)),
    (mc.Date("taken"), "2021-07-04"), (mc.Weekday("taken"), "Sunday"), (mc.DayOfYear("taken"), "2000-07-04"),
    (mc.Category("camera"), "X100"),
]  # fmt: skip


def closeness(wish: Wish, columns: dict[str, Any]) -> Any:
    rows = len(next(iter(columns.values())))
    return wish.closeness(mc.Candidates(np.zeros(rows), columns=columns).columns, None, rows, 20)


@pytest.mark.parametrize(("attribute", "near"), NAMED, ids=lambda part: type(part).__name__)
def test_the_candidate_at_the_value_comes_first(attribute: Any, near: Any) -> None:
    wish = mc.focus(attribute, near=near)
    close = closeness(wish, COLUMNS)
    assert ((close >= 0) & (close <= 1)).all()
    assert close[60] == close.max()
    ranking = mc.rerank(mc.Candidates(np.ones(61), columns=COLUMNS), wish, strength=1, protect=0)
    others_on_that_day = isinstance(attribute, (mc.Weekday, mc.DayOfYear))
    assert 60 in (ranking.ids if others_on_that_day else ranking.ids[:1])


def test_closeness_is_one_half_at_the_distance_within() -> None:
    hours = {"hour": [18.0, 20.0, 16.0, 6.0, np.nan]}
    wish = mc.focus(mc.HourOfDay("hour"), near=18, within=2)
    assert closeness(wish, hours).tolist() == [1.0, 0.5, 0.5, 1 / 7, 0.0]
    apart = float(great_circle_km(np.radians([40.0]), np.radians([-9.1]), (np.radians(38.7), np.radians(-9.1)))[0])
    wish = mc.focus(mc.Place(), near=(38.7, -9.1), within=apart)
    assert closeness(wish, {"lat": [38.7, 40.0], "lon": [-9.1, -9.1]}) == pytest.approx([1.0, 0.5])
    # Without it, half of the 20 results are closer than one half.
    assert (closeness(mc.focus(mc.Number("price"), near=0), {"price": np.arange(100.0)}) >= 0.5).sum() == 10


def test_strength_protection_and_keep_act_on_the_combined_relevance() -> None:
    candidates = mc.Candidates(np.linspace(1, 0, 61), columns=COLUMNS)
    wish = mc.focus(mc.Number("price"), near=5)
    assert mc.rerank(candidates, wish, 10, strength=0.0).ids == list(range(10))
    nearest = np.argsort(np.abs(COLUMNS["price"] - 5), kind="stable")[:10]
    assert mc.rerank(candidates, wish, 10, strength=1.0).ids == nearest.tolist()
    plain = mc.rerank(candidates, wish, 10, strength=0.9, protect=0)
    assert mc.rerank(candidates, wish, 10, strength=0.9, protect=10).ids == plain.ids
    assert 60 in plain.ids[:3]
    assert 60 in mc.rerank(candidates, [wish, mc.spread("camera")], 10, keep=0.9).ids


@pytest.mark.parametrize("beside", [[], [mc.spread("camera")], [mc.focus(mc.HourOfDay("hour"), near=19)]], ids=str)
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_the_weight_says_how_much_closeness_counts(beside: list[Wish], backend: Any) -> None:
    candidates = mc.Candidates(np.linspace(1, 0, 61), columns=COLUMNS)
    wishes = [mc.focus(mc.Number("price"), weight, near=5, within=2) for weight in (0.01, 0.3, 1, 100)]
    pages = [mc.rerank(candidates, [wish, *beside], 10, backend=backend, protect=0) for wish in wishes]
    means = [closeness(wishes[0], COLUMNS)[page.positions].mean() for page in pages]
    assert means == sorted(set(means))
    if not beside:
        assert pages[0].ids == list(range(10))
        assert pages[-1].ids == np.argsort(np.abs(COLUMNS["price"] - 5), kind="stable")[:10].tolist()


@pytest.mark.parametrize(
    ("attribute", "column", "near", "nearest"),
    [
        (mc.Number("x"), np.linspace(0, 100, 11), -1e99, [0, 1, 2, 3]),
        (mc.HourOfDay("x", sigma=0.2), [8 + 0.2 * step for step in range(11)], 14, [7, 8, 9, 10]),
    ],
)
def test_a_point_beyond_all_candidates_draws_the_nearest(attribute: Any, column: Any, near: Any, nearest: Any) -> None:
    candidates = mc.Candidates(np.full(11, 0.5), columns={"x": column})
    wish, method = mc.focus(attribute, near=near), mc.Mascot(1.0, protect=0)
    assert sorted(mc.rerank(candidates, wish, 4, method).positions) == nearest
    ranker = mc.Reranker(wish, method).fit(candidates.columns)  # each query of a corpus has its own nearest
    pages = ranker.rerank_many([[0, 1, 2, 3], [4, 5, 6, 7]], [[1.0] * 4] * 2, k=1)
    assert pages.ids == ([[0], [4]] if nearest[0] == 0 else [[3], [7]])


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        (mc.focus(mc.HourOfDay("hour"), near="18:48"), "19:00, 12 minutes from 18:48"),
        (mc.focus(mc.Date("taken"), near="2021-07-01"), "2021-07-04, 3 days from 2021-07-01"),
        (mc.focus("camera", near="X100"), "camera X100"),
    ],
    ids=str,
)
def test_reasons_name_the_distance(wish: Any, sentence: str) -> None:
    candidates = mc.Candidates(np.append(np.zeros(60), 1.0), columns=COLUMNS)
    ranking = mc.rerank(candidates, wish, 20, strength=0.8, protect=0)
    (reason,) = [reason for reason in ranking.explain().results if reason.id == 60]
    assert reason.because.split("; ")[0] == sentence
    assert reason.gain > 0  # the best match is never shown as a penalty
    first = mc.rerank(candidates, wish, 20, strength=0.8).explain().results[0]
    assert first.because.endswith("one of the closest good matches")
