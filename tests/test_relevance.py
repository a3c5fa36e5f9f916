"""Relevance holds for real scores: two groups, strays, placeholders; strength 0 is the top k."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mascot as mc
from mascot.kernels.objective import relevance_of

MATCHES = [0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92, 0.91, 0.90, 0.89]
BIMODAL = [*MATCHES, *np.linspace(0.03, 0.001, 90)]  # as cross-encoders score them


@pytest.mark.parametrize("options", [{}, {"keep": 0.95}, {"strength": 0.1}], ids=str)
def test_a_group_of_matches_is_not_an_outlier(options: dict[str, float]) -> None:
    source = ["wiki", "docs"] * 5 + [f"x{i % 20}" for i in range(90)]
    pool = mc.Candidates(BIMODAL, columns={"source": source})
    assert set(mc.rerank(pool, mc.spread("source"), 10, **options).ids) == set(range(10))  # type: ignore[arg-type]
    relevance = relevance_of(np.array(BIMODAL), 30)
    assert relevance[:10].min() > 0.9
    assert relevance[10] < 0.05


@pytest.mark.parametrize("matches", [5, 20, 50, 100])
def test_matches_come_before_misses(matches: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores = np.concatenate([rng.uniform(0.85, 0.99, matches), rng.uniform(0, 0.05, 200 - matches)])
        pool = mc.Candidates(scores, columns={"label": rng.integers(0, 30, 200)})
        page = mc.rerank(pool, mc.spread("label"), 10)
        assert sum(i < matches for i in page.ids) == min(matches, 10)


@pytest.mark.parametrize("attribute", ["label", mc.Place(sigma_km=500), mc.Vectors()], ids=str)
@pytest.mark.parametrize("wish", [mc.spread, mc.focus])
def test_a_stray_candidate_leaves_pages_as_they_were(attribute: Any, wish: Any) -> None:
    changed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns = {"label": rng.integers(0, 25, 201), "lat": rng.uniform(-60, 60, 201), "lon": rng.uniform(0, 90, 201)}
        vectors, scores = rng.normal(size=(201, 8)), np.append(np.sort(rng.uniform(0.4, 0.9, 200))[::-1], 0.0)
        pages = [
            set(mc.rerank(
                mc.Candidates(scores[:n], columns={k: v[:n] for k, v in columns.items()}, vectors=vectors[:n]),
                wish(attribute), 10,
            ).ids)
            for n in (200, 201)
        ]  # fmt: skip
        changed += pages[0] != pages[1]
    assert changed <= 2


@pytest.mark.parametrize("high", [[9999.0], [9999.0, 5000.0], [9999.0] * 5], ids=str)
def test_promoted_scores_and_placeholders_leave_the_range_to_the_others(high: list[float]) -> None:
    scores = np.array([*high, *np.linspace(12, 2, 100)])
    relevance = relevance_of(scores, 30)
    assert relevance[: len(high) + 1].tolist() == [1.0] * (len(high) + 1)
    assert relevance[30] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(np.diff(relevance[len(high) :]), np.diff(relevance[len(high) :])[0])


def test_ranges_of_few_equal_and_two_scores() -> None:
    assert relevance_of(np.array([3.0, 2.0, 1.0]), 30).tolist() == [1.0, 0.5, 0.0]  # the worst, if N is below 3k
    assert relevance_of(np.full(9, 7.0), 30).tolist() == [0.0] * 9
    assert relevance_of(np.repeat([0.9, 0.1], [40, 20]), 30).tolist() == [1.0] * 40 + [0.0] * 20
    assert relevance_of(np.repeat([0.9, 0.1], [1, 40]), 30).tolist() == [1.0] + [0.0] * 40
    assert relevance_of(np.array([]), 30).tolist() == []
    assert relevance_of(np.array([1.0]), 30).tolist() == [0.0]


def test_relevance_below_the_range_is_negative_and_keep_clips_it() -> None:
    scores = np.array([*np.linspace(1, 0.5, 31), 0.0])
    assert relevance_of(scores, 30)[-1] == pytest.approx(-1)
    page = mc.rerank(mc.Candidates(scores, columns={"label": ["a"] * 31 + ["b"]}), mc.spread("label"), 10, keep=0.95)
    assert 31 not in page.ids


def test_a_later_page_has_a_range_of_its_own() -> None:
    rng = np.random.default_rng(0)
    pool = mc.Candidates(np.sort(rng.random(200))[::-1], columns={"label": rng.integers(0, 40, 200)})
    shown: list[Any] = []
    for _ in range(5):
        page = mc.rerank(pool, mc.spread("label"), 10, already=shown)
        assert not set(page.ids) & set(shown)
        shown += page.ids
    assert np.mean(shown[-10:]) > np.mean(shown[:10])


SCORES = st.lists(
    st.sampled_from([0.0, 0.1, 0.5, 0.5000001, 9999.0, -1e9, 1e300]) | st.floats(-10, 10).map(lambda x: round(x, 9)),
    min_size=1,
    max_size=60,
)


@given(SCORES, st.integers(1, 20), st.sampled_from([None, 0, 1, 3]), st.integers(0, 1000))
def test_strength_0_is_the_top_k(scores: list[float], k: int, protect: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {"label": rng.integers(0, 5, len(scores)), "hour": rng.uniform(0, 24, len(scores))}
    pool = mc.Candidates(scores, columns=columns, vectors=rng.integers(-1, 2, (len(scores), 2)))
    top = sorted(scores, reverse=True)[:k]
    hour = mc.HourOfDay("hour")
    for wishes in (
        mc.spread("label"), mc.focus("label"), mc.spread(mc.Vectors()), mc.focus(mc.Vectors()), mc.focus(hour, near=3),
        [mc.spread("label"), mc.focus(hour)], [mc.focus("label", near="1"), mc.spread(hour)],
    ):  # fmt: skip
        page = mc.rerank(pool, wishes, k, strength=0.0, protect=protect)
        assert [scores[i] for i in page.positions] == top
