"""Scores and weights of any size: distinct results, no NaN, and the same selection on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.wishes import Wish

COMMON = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
DENORMAL = st.sampled_from([0.0, 5e-324, 1e-323, 1.5e-323, 2.2e-308, -5e-324])
HUGE = st.sampled_from([1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1e300, 8e307])
# 3e-9: no step of the strength makes of it exactly the difference at which gains are equal.
MIXED = st.sampled_from([0.0, 5e-324, 1e-300, 3e-9, 1.0, 1e8, 1e150, 1e308, -1e308, -1.0])
ANY = st.floats(allow_nan=False, allow_infinity=False)
SCORES = st.sampled_from([DENORMAL, HUGE, MIXED, ANY, st.floats(0, 1e-320)])
WEIGHTS = st.sampled_from([1.0, 1e100, 1e-100, 5e-324, 1e-300, 3.0])
ATTRIBUTES = st.sampled_from(
    [mc.Category("label"), mc.HourOfDay("h"), mc.Number("number"), mc.Place(), mc.HourOfDay("h", missing="neutral")]
)
NEAR = st.builds(mc.focus, st.just(mc.Number("number")), WEIGHTS, st.sampled_from([-7.0, 3.0]))
WISHES = st.lists(st.builds(Wish, ATTRIBUTES, st.sampled_from([1, -1]), WEIGHTS) | NEAR, max_size=3)


@st.composite
def queries(draw: st.DrawFn, largest: float = 1.8e308) -> mc.Candidates[int]:
    count = draw(st.integers(1, 30))
    scores = draw(st.lists(draw(SCORES), min_size=count, max_size=count))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    columns = {
        "label": rng.choice(["a", "b", "c"], count),
        "h": rng.choice([0.0, 6.0, 6.5, 18.0, np.nan], count),
        "number": rng.choice([-1e150, -1.0, 0.0, 1e-150, 5e-324, 1.0, 2.0, 1e150], count),
        "lat": rng.choice([-90.0, 0.0, 35.7, 90.0], count),
        "lon": rng.choice([-180.0, 0.0, 139.7, 180.0], count),
    }
    return mc.Candidates(np.clip(scores, -largest, largest), columns=columns)


@st.composite
def methods(draw: st.DrawFn, normalize: bool = True) -> mc.Mascot:
    keep = draw(st.sampled_from([None, None, None, 0.5, 0.9, 1.0]))
    strength = draw(st.sampled_from([0.0, 1e-300, 0.5, 1.0])) if keep is None else None
    switches = draw(st.tuples(st.booleans(), st.sampled_from(["relevance", "selection"])))
    weight = draw(st.sampled_from(["uniform", "query"]))
    return mc.Mascot(strength, draw(st.sampled_from([0, 3])), weight, normalize, *switches, keep, draw(st.booleans()))


@COMMON
@given(
    st.tuples(queries(), methods()) | st.tuples(queries(1e150), methods(normalize=False)), WISHES, st.integers(1, 20)
)
def test_scores_of_any_size(case: tuple[mc.Candidates[int], mc.Mascot], wishes: list[Any], k: int) -> None:
    query, method = case
    slow, fast = (mc.rerank(query, wishes, k, method, backend=backend) for backend in ("numpy", "native"))
    assert fast.ids == slow.ids
    assert fast.strength == slow.strength
    assert len(set(fast.ids)) == len(fast.ids) == min(k, len(query))
    for ranking in (slow, fast):
        assert np.isfinite(ranking.relevance).all()
        assert all(np.isfinite(values).all() for values in ranking.gains.values())


@pytest.mark.parametrize("sigma", [15.0, 150.0, 300.0, 10_000.0])
@pytest.mark.parametrize("column", ["far", "edge"])
def test_longitudes_outside_the_grid(sigma: float, column: str) -> None:
    """The backends differed in up to 57 of 60 such problems."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        east = {"far": rng.uniform(-700, 700, 50), "edge": rng.choice([-540.0, -180.0, 180.0, 181.0, 1e12], 50)}
        columns = {"lat": rng.uniform(-90, 90, 50), "lon": east[column]}
        query = mc.Candidates(rng.random(50), columns=columns)
        wishes = [mc.spread(mc.Place.grid(sigma=sigma))]
        slow, fast = (mc.rerank(query, wishes, 12, backend=backend).ids for backend in ("numpy", "native"))
        assert slow == fast


@pytest.mark.parametrize("spread", [1e-16, 1e-14, 1e-10, 1e-6])
def test_numbers_that_hardly_differ_are_selected_alike(spread: float) -> None:
    rng = np.random.default_rng(5)
    for seed in range(40):
        values = rng.choice([1.7e9, 3.0, -5e7, 1e60]) * (1 + spread * rng.integers(0, 9, 30))
        query = mc.Candidates(rng.random(30).round(2), columns={"number": values})
        wish = (mc.spread, mc.focus)[seed % 2](mc.Number("number"))
        slow, fast = (mc.rerank(query, wish, 12, backend=backend).ids for backend in ("numpy", "native"))
        assert slow == fast, values.tolist()


def test_days_among_a_million_bins_are_selected_alike() -> None:
    rng = np.random.default_rng(127506)
    for seed in range(20):
        days = np.datetime64("1753-01-01") + rng.integers(0, 184_000, 37).astype("m8[D]")
        query = mc.Candidates(rng.choice([0.0, 0.5, 1.0], 37), columns={"taken": days})
        wish = (mc.spread, mc.focus)[seed % 2](mc.Date(sigma_days=0.1))
        method = mc.Mascot(1.0, protect=0, bin_weight="query")
        slow, fast = (mc.rerank(query, wish, 12, method, backend=backend).ids for backend in ("numpy", "native"))
        assert slow == fast, days.tolist()
