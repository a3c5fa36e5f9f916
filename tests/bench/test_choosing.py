"""Shared work must not change what a method chooses."""

from __future__ import annotations

import numpy as np
import pytest

from mascot.bench.choosing import choose
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.grid import dpp
from mascot.bench.material import Material
from mascot.bench.points import Point
from mascot.bench.tasks import FOCUS, GEO_HOUR, GEO_NOT_HOUR, HOUR, SPREAD
from mascot.methods import Mmr
from mascot.rerank import Reranker


@pytest.fixture(scope="module")
def material() -> Material:
    return Material(PixelProseSim().load(), "test", 30, limit=2)


def _alone(point: Point, material: Material) -> np.ndarray:
    data = material.dataset
    ranker = Reranker(point.wishes, point.method).fit(dict(data.columns), data.vectors)
    return ranker.rerank_many(material.rows, material.scores, k=point.k).positions


@pytest.mark.parametrize("label", ["k-dpp", "ms-dpp", "ms-dpp+tn", "ms-dpp+tn+tvms"])
def test_dpps_choose_as_they_do_alone(label: str, material: Material) -> None:
    points = [
        Point("main", task, direction, label, dpp(label, beta, theta, released), k=10, n=30)
        for task, direction in ((GEO_HOUR, SPREAD), (GEO_HOUR, FOCUS), (GEO_HOUR, GEO_NOT_HOUR), (HOUR, FOCUS))
        for beta in (0.4, 0.6)
        for theta, released in ((0.8, False), (0.9, True), (0.0, False))
    ]
    made = {choice.point: choice.positions for choice in choose(points, material)}
    assert set(made) == set(points)
    for point in points:
        np.testing.assert_array_equal(made[point], _alone(point, material))


def test_mmr_does_not_see_the_direction(material: Material) -> None:
    points = [Point("main", HOUR, direction, "mmr", Mmr(0.5), k=10, n=30) for direction in (SPREAD, FOCUS)]
    first, second = choose(points, material)
    np.testing.assert_array_equal(first.positions, second.positions)
    np.testing.assert_array_equal(second.positions, _alone(points[1], material))
