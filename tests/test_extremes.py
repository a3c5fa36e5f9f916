"""Scores and weights of any size: distinct results, no NaN, and the same selection on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mascot as mc

COMMON = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
DENORMAL = st.sampled_from([0.0, 5e-324, 1e-323, 1.5e-323, 2.2e-308, -5e-324])
HUGE = st.sampled_from([1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1e300, 8e307])
# 3e-9: no step of the strength makes of it exactly the difference at which gains are equal.
MIXED = st.sampled_from([0.0, 5e-324, 1e-300, 3e-9, 1.0, 1e8, 1e150, 1e308, -1e308, -1.0])
SCORES = st.sampled_from(
    [DENORMAL, HUGE, MIXED, st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e-320)]
)
WEIGHTS = st.sampled_from([1.0, 1e100, 1e-100, 5e-324, 1e-300, 3.0])


@st.composite
def queries(draw: st.DrawFn, largest: float = 1.8e308) -> mc.Candidates[int]:
    count = draw(st.integers(1, 30))
    scores = draw(st.lists(draw(SCORES), min_size=count, max_size=count))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    columns = {
        "label": rng.choice(["a", "b", "c"], count),
        "hour": rng.choice([0.0, 6.0, 6.5, 18.0, np.nan], count),
        "number": rng.choice([-1e150, -1.0, 0.0, 1e-150, 5e-324, 1.0, 2.0, 1e150], count),
        "lat": rng.choice([-90.0, 0.0, 35.7, 90.0], count),
        "lon": rng.choice([-180.0, 0.0, 139.7, 180.0], count),
    }
    return mc.Candidates(np.clip(scores, -largest, largest), columns=columns)


@st.composite
def wishes(draw: st.DrawFn) -> Any:
    attribute = draw(
        st.sampled_from(
            [
                mc.Category("label"),
                mc.HourOfDay("hour"),
                mc.Number("number"),
                mc.Place(),
                mc.HourOfDay("hour", missing="neutral"),
            ]
        )
    )
    make = draw(st.sampled_from([mc.spread, mc.focus]))
    return make(attribute, draw(WEIGHTS))


def check(query: mc.Candidates[int], asked: list[Any], k: int, method: mc.Mascot) -> None:
    slow, fast = (mc.rerank(query, asked, k, method, backend=backend) for backend in ("numpy", "native"))
    assert fast.ids == slow.ids
    assert fast.strength == slow.strength
    assert len(set(fast.ids)) == len(fast.ids) == min(k, len(query))
    for ranking in (slow, fast):
        assert np.isfinite(ranking.relevance).all()
        assert all(np.isfinite(values).all() for values in ranking.gains.values())
        assert np.isfinite(ranking._selection.tops).all()


@st.composite
def methods(draw: st.DrawFn, normalize: bool = True) -> mc.Mascot:
    options: dict[str, Any] = {
        "protect": draw(st.sampled_from([0, 3])),
        "bin_weight": draw(st.sampled_from(["uniform", "query"])),
        "normalize": normalize,
        "scale": draw(st.booleans()),
        "order": draw(st.sampled_from(["relevance", "selection"])),
        "balance": draw(st.booleans()),
    }
    if draw(st.integers(0, 3)) == 0:
        return mc.Mascot(keep=draw(st.sampled_from([0.5, 0.9, 1.0])), **options)
    return mc.Mascot(draw(st.sampled_from([0.0, 1e-300, 0.5, 1.0])), **options)


@COMMON
@given(queries(), st.lists(wishes(), max_size=3), st.integers(1, 20), methods())
def test_rescaled_scores(query: mc.Candidates[int], asked: list[Any], k: int, method: mc.Mascot) -> None:
    check(query, asked, k, method)


@COMMON
@given(queries(1e150), st.lists(wishes(), max_size=3), st.integers(1, 20), methods(normalize=False))
def test_raw_scores(query: mc.Candidates[int], asked: list[Any], k: int, method: mc.Mascot) -> None:
    check(query, asked, k, method)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_denormal_scores_with_query_weights(normalize: bool, scale: bool) -> None:
    query = mc.Candidates([0, 5e-324, 1e-323, 0, 5e-324], columns={"label": ["a", "b", "a", "b", "c"]})
    for strength in (0.0, 0.5, 1.0):
        for wish in (mc.spread("label"), mc.focus("label")):
            check(query, [wish], 5, mc.Mascot(strength, 0, "query", normalize, scale))
            check(query, [wish], 3, mc.Mascot(strength, 0, "query", normalize, scale, order="selection"))


def test_far_outliers_of_the_largest_scores() -> None:
    scores = [1e308, 9e307, 8e307, 7e307, 6e307, -1.7e308, 1.7e308, 5e307]
    query = mc.Candidates(scores, columns={"label": list("aabbccdd")})
    check(query, [mc.spread("label")], 4, mc.Mascot())
    check(query, [mc.spread("label"), mc.focus("label", near="b")], 4, mc.Mascot())


@COMMON
@given(queries(), st.sampled_from([mc.Mmr(0.5), mc.Relevance(), mc.Clustering(clusters=3)]), st.integers(1, 20))
def test_other_methods_return_distinct_results(query: mc.Candidates[int], method: Any, k: int) -> None:
    scores = np.clip(query.scores, -1e150, 1e150)
    ranking = mc.rerank(mc.Candidates(scores, columns=query.columns), mc.spread("label"), k, method)
    assert len(set(ranking.ids)) == len(ranking.ids) == min(k, len(query))
