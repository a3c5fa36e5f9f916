"""Shared work must not change what a method chooses, nor the others' lists what is measured of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.bench.datasets.dataset import Dataset, Split
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.methods import Clustering, KDpp
from mascot.bench.protocol.search_space import DPPS, GUARDED, best, dpp
from mascot.bench.protocol.studies import Benchmark, searched, studies
from mascot.bench.protocol.tasks import FOCUS, GEO_HOUR, HOUR, SPREAD, Point
from mascot.bench.running.measure import per_query
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose, time_single
from mascot.methods import Mmr
from mascot.reranker import Reranker


@pytest.fixture(scope="module")
def material() -> QuerySet:
    return QuerySet(PixelProseSim().load(), "test", 30, limit=2)


def _alone(point: Point, material: QuerySet) -> np.ndarray:
    data = material.dataset
    ranker = Reranker(point.wishes, point.method).fit(dict(data.columns), data.vectors)
    return ranker.rerank_many(material.rows, material.scores, k=point.k).positions


def test_methods_choose_as_they_do_alone(material: QuerySet) -> None:
    asked = ((GEO_HOUR, SPREAD), (GEO_HOUR, FOCUS), (GEO_HOUR, "geo+hour-"), (HOUR, FOCUS))
    points = [
        Point(label, task, direction, dpp(label, beta, theta, released), k=10, n=30)
        for label in DPPS
        for task, direction in asked
        for beta in (0.4, 0.6)
        for theta, released in ((0.8, False), (0.9, True), (0.0, False))
    ]
    points += [Point("mmr", HOUR, direction, Mmr(0.5, published=True), k=10, n=30) for direction in (SPREAD, FOCUS)]
    positions = {choice.point: choice.positions for choice in choose(points, material)}
    assert set(positions) == set(points)
    for point in points:
        np.testing.assert_array_equal(positions[point], _alone(point, material))
    np.testing.assert_array_equal(positions[points[-1]], positions[points[-2]])  # MMR does not see the direction


def _lists(sizes: list[int]) -> Dataset:
    """A query for each size, with so many candidates among 30 images; one of them in the middle is right."""
    rng = np.random.default_rng(len(sizes))
    images = [rng.choice(30, size, replace=False) for size in sizes]
    return Dataset(
        name="lists",
        columns={"taken": rng.uniform(0, 24, 30)},
        positives=[rows[len(rows) // 2 : len(rows) // 2 + 1] for rows in images],
        splits={"test": Split(np.arange(30), np.arange(len(sizes)))},
        vectors=rng.standard_normal((30, 3)),
        lists=images,
        scores=[rng.uniform(0.1, 1, size) for size in sizes],
    )


@pytest.mark.parametrize("method", [GUARDED["guarded"], KDpp(), Clustering(clusters=5)], ids=lambda m: type(m).__name__)
@settings(max_examples=5, deadline=None)
@given(sizes=st.lists(st.integers(1, 30), min_size=2, max_size=4))
def test_a_list_is_measured_as_if_it_were_alone(method: object, sizes: list[int]) -> None:
    data = _lists(sizes)
    point = Point("", HOUR, SPREAD, method, k=12, n=30)  # type: ignore[arg-type]
    together = QuerySet(data, "test", 30)
    (choice,) = choose([point], together)
    assert choice.positions.shape == (len(sizes), 12)
    assert (choice.positions >= 0).sum(axis=1).tolist() == [min(size, 12) for size in sizes]
    np.testing.assert_array_equal(time_single(point, together, 2).positions, choice.positions[:2])
    found = per_query(point, choice.positions, together, "map")
    for query, size in enumerate(sizes):
        one = replace(data, splits={"test": Split(np.arange(30), np.array([query]))})
        fitting = replace(point, k=min(size, 12))
        alone = per_query(fitting, choice.positions[[query], : fitting.k], QuerySet(one, "test", 30), "map")
        for name, values in alone.items():
            np.testing.assert_allclose(found[name][query], values[0], atol=1e-12, err_msg=name)
        for k in (1, 3, 5, 10):
            assert found[f"r@{k}"][query] == (1 <= found["found_at"][query] <= k)


def test_each_update_of_a_dpp_is_searched_for_and_swept() -> None:
    plan = Benchmark("x", (), ("k-dpp", "ms-dpp"), (GEO_HOUR,), (SPREAD,))
    looked = list(searched(replace(plan, clusters=False)))
    # The exact update is best at the first setting, the released one at the last.
    worth = [-number if not point.method.released else number for number, point in enumerate(looked)]  # type: ignore[attr-defined]
    chosen = best(looked, [{"summary": {"hm": float(value)}} for value in worth], "hm")
    first, last = dpp("k-dpp", 0.4, 0.8), dpp("k-dpp", 0.6, 0.9, released=True)
    points = [point for point in studies(plan, chosen) if point.label == "k-dpp"]
    main = {point.point: point.method for point in points if point.study == "main"}
    assert main == {"validated": first, "released": last}
    swept = {(point.point, point.method.released, point.method.beta) for point in points if point.study == "strength"}  # type: ignore[attr-defined]
    assert swept == {(None, False, 0.4), ("released", True, 0.6)}
