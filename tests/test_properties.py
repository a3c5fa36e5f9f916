"""What must hold whatever the data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mascot as mc
from mascot.attributes import Clusters
from mascot.kernels.objective import normalized

SEEDS = st.integers(0, 10_000)
QUICK = settings(max_examples=20)


def candidates_of(seed: int, n: int = 50) -> mc.Candidates:
    rng = np.random.default_rng(seed)
    columns = {
        "lat": np.degrees(np.arcsin(rng.uniform(-1, 1, n))), "lon": rng.uniform(-180, 180, n),
        "hour": rng.uniform(0, 24, n), "who": rng.integers(0, 6, n), "price": rng.lognormal(size=n),
    }  # fmt: skip
    return mc.Candidates(scores=rng.permutation(np.linspace(0.2, 0.9, n)), columns=columns)


def by_relevance(candidates: mc.Candidates, k: int) -> list[Any]:
    return np.argsort(-candidates.scores, kind="stable")[:k].tolist()


BOTH = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))]


@QUICK
@given(SEEDS, st.sampled_from([0, 3]), st.sampled_from(["uniform", "query"]))
def test_strength_0_is_relevance_only(seed: int, protect: int, bin_weight: Any) -> None:
    candidates = candidates_of(seed)
    method = mc.Mascot(0.0, protect, bin_weight, order="selection")
    assert mc.rerank(candidates, BOTH, 20, method).ids == by_relevance(candidates, 20)


@QUICK
@given(SEEDS, st.sampled_from([mc.Place(), mc.Place(sigma_km=500)]))
def test_adding_360_degrees_changes_nothing(seed: int, place: mc.Place) -> None:
    candidates = candidates_of(seed)
    turned = mc.Candidates(candidates.scores, None, {**candidates.columns, "lon": candidates.columns["lon"] + 360})
    wishes = [mc.spread(place), mc.focus(place, near=(10, 175))]
    assert mc.rerank(candidates, wishes, 20).ids == mc.rerank(turned, wishes, 20).ids


@QUICK
@given(SEEDS, st.sampled_from([mc.Mascot(), mc.Mascot.paper(0.4), mc.Mascot(keep=0.9)]))
def test_permuting_the_candidates_changes_nothing(seed: int, method: mc.Mascot) -> None:
    candidates = candidates_of(seed)
    order = np.random.default_rng(seed).permutation(len(candidates))
    columns = {name: c[order] for name, c in candidates.columns.items()}
    moved = mc.Candidates(candidates.scores[order], order.tolist(), columns)
    wishes = [*BOTH, mc.spread(mc.Number("price")), mc.focus(mc.Category("who"))]
    assert mc.rerank(candidates, wishes, 20, method).ids == mc.rerank(moved, wishes, 20, method).ids


@QUICK
@given(SEEDS, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_keep_retains_its_share_and_no_more_strength_would(seed: int, keep: float) -> None:
    candidates = candidates_of(seed)
    ranking = mc.rerank(candidates, BOTH, 20, mc.Mascot(keep=keep))
    relevance = normalized(candidates.scores)
    best = np.sort(relevance)[::-1][:20].sum()
    assert relevance[ranking.positions].sum() >= keep * best - 1e-9
    next_rung = (np.floor(round(ranking.strength * 100) / 5) + 1) * 0.05
    if next_rung <= 1:
        above = mc.rerank(candidates, BOTH, 20, mc.Mascot(float(next_rung)))
        assert relevance[above.positions].sum() < keep * best


def test_protected_results_are_the_best_and_the_order_changes_no_set() -> None:
    candidates, place = candidates_of(3), mc.spread(mc.Place())
    assert mc.rerank(candidates, place, 10, mc.Mascot(1.0, protect=4)).ids[:4] == by_relevance(candidates, 4)
    assert mc.rerank(candidates, place, 2, mc.Mascot(1.0, protect=4)).ids == by_relevance(candidates, 2)
    chosen, shown = (mc.rerank(candidates, BOTH, 15, mc.Mascot(0.8, order=o)) for o in ("selection", "relevance"))
    assert set(chosen.ids) == set(shown.ids)
    assert chosen.ids != shown.ids
    assert (np.diff(shown.scores) <= 0).all()


def test_pages_go_on_where_the_last_one_stopped() -> None:
    candidates = candidates_of(6, 120)
    wishes = [mc.spread(mc.Place()), mc.spread(mc.Category("who"))]
    method = mc.Mascot.paper(0.7)  # otherwise the room of a bin and the range of relevance depend on k
    whole = mc.rerank(candidates, wishes, 30, method).ids
    first = mc.rerank(candidates, wishes, 10, method)
    second = mc.rerank(candidates, wishes, 20, method, already=first)
    assert first.ids + second.ids == whole


@pytest.mark.parametrize("missing", ["last", "neutral", "drop"])
def test_missing_values(missing: Any) -> None:
    n = 40
    rng = np.random.default_rng(0)
    hour = np.where(np.arange(n) % 4 == 0, np.nan, rng.uniform(0, 24, n))
    candidates = mc.Candidates(scores=np.full(n, 0.5), columns={"hour": hour})
    attribute = mc.HourOfDay("hour", missing=missing)
    for wish in (mc.spread(attribute), mc.focus(attribute)):  # of equal lists of a focus the plain one is shown
        method = mc.Mascot(0.9, protect=0) if wish.sign > 0 else mc.Mascot.paper(0.9, "uniform")
        chosen = mc.rerank(candidates, wish, n, method).positions
        steps = np.flatnonzero(np.isnan(hour[chosen]))
        if missing == "last":
            assert steps.tolist() == list(range(30, 40))
        elif missing == "drop":
            assert (len(chosen), len(steps)) == (30, 0)
        else:
            assert 0 < steps.min() < steps.max() < n - 1


def test_a_neutral_value_covers_what_the_others_cover_on_average() -> None:
    candidates = mc.Candidates(scores=[0.5] * 4, columns={"label": ["a", "b", "b", None]})
    wish, method = mc.spread(mc.Category("label", missing="neutral")), mc.Mascot.paper(1.0, bin_weight="uniform")
    # a and b earn 1 each, then the unknown earns what is left of both on average: nothing.
    assert mc.rerank(candidates, wish, 4, method).ids == [0, 1, 2, 3]
    ranking = mc.rerank(candidates, wish, 4, method, already=[3])
    # Seen first, it covered a third of a and two thirds of b: a earns 2/3, b earns 1/3.
    np.testing.assert_allclose(ranking.gains["label"], [2 / 3, 1 / 3, 0], atol=1e-12)


def test_inputs_are_never_modified() -> None:
    own = candidates_of(7)
    frozen = mc.Candidates(own.scores, columns=own.columns, vectors=np.random.default_rng(0).normal(size=(50, 4)))
    arrays = [frozen.scores, frozen.vectors, *frozen.columns.values()]
    copies = [array.copy() for array in arrays]
    for array in arrays:  # writing in Python raises
        array.flags.writeable = False
    wishes = [*BOTH, mc.spread(Clusters(4)), mc.focus(mc.Category("who", missing="neutral"))]
    for backend in ("numpy", "native"):
        mc.rerank(frozen, wishes, 10, backend=backend, already=[1, 2]).explain()
    assert all((array == copy).all() for array, copy in zip(arrays, copies, strict=True))


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_degenerate_problems(backend: str) -> None:
    wishes = [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour")), mc.spread(mc.Number("price"))]
    nowhere = {"lat": [np.nan] * 3, "lon": [np.nan] * 3, "hour": [None] * 3, "price": [None] * 3}
    assert mc.rerank(mc.Candidates(scores=[1, 2, 3], columns=nowhere), wishes, 2, backend=backend).ids == [2, 1]
    one = {"lat": [1.0], "lon": [2.0], "hour": [3], "price": [4]}
    assert mc.rerank(mc.Candidates(scores=[0.0], columns=one), wishes, 5, backend=backend).ids == [0]
    equal = {"lat": [1.0] * 4, "lon": [2.0] * 4, "hour": [3] * 4, "price": [4] * 4}
    assert mc.rerank(mc.Candidates(scores=[7.0] * 4, columns=equal), wishes, 9, backend=backend).ids == [0, 1, 2, 3]
    assert mc.rerank(mc.Candidates(scores=[1, 2, 3]), [], 2, backend=backend).ids == [2, 1]


class Bins:
    """An attribute whose bins are given."""

    name = "bins"

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def membership(self, columns: Any, vectors: Any) -> Any:
        return self.rows


@QUICK
@given(SEEDS, st.floats(0, 1), st.sampled_from([mc.spread, mc.focus]))
def test_one_direction_is_one_attribute_over_the_concatenated_bins(seed: int, strength: float, wish: Any) -> None:
    candidates = candidates_of(seed)
    place, hour = mc.Place.grid(), mc.HourOfDay("hour", 24, 1.5)
    method = mc.Mascot.paper(strength)
    apart = mc.rerank(candidates, [wish(place), wish(hour)], 20, method)
    both = np.hstack([part.membership(candidates.columns, None).sparse().dense() for part in (place, hour)])
    assert apart.ids == mc.rerank(candidates, wish(Bins(both)), 20, method).ids


@QUICK
@given(SEEDS)
def test_greedy_spread_is_within_1_minus_1_over_e_of_the_best_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, strength = 8, 3, 0.7
    candidates = candidates_of(seed, n)
    bins = rng.random((n, 6)) * (rng.random((n, 6)) < 0.5)
    relevance = normalized(candidates.scores)

    def value(chosen: Any) -> float:
        cover = 1 - np.prod(1 - bins[list(chosen)], axis=0)
        return float((1 - strength) * relevance[list(chosen)].sum() + strength * cover.sum())

    method = mc.Mascot.paper(strength, bin_weight="uniform")
    chosen = mc.rerank(candidates, mc.spread(Bins(bins)), k, method).positions
    best = max(value(choice) for choice in itertools.combinations(range(n), k))
    assert value(chosen) >= (1 - 1 / np.e) * best
