"""Control metrics: does the knob do what it says, and what does it cost?"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mascot import metrics

SWEEP = np.linspace(0, 1, 11)
COLLAPSE = [0.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.9]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.mark.parametrize("curve", [SWEEP, SWEEP**3, 0.3 + 0.001 * np.sqrt(SWEEP)])
def test_a_monotone_answer_is_perfect_and_its_mirror_is_minus_one(curve):
    for sign in (1, -1):
        assert metrics.prs(sign * curve) == pytest.approx(sign)
        assert metrics.kendall_tau(SWEEP, sign * curve) == pytest.approx(sign)


def test_prs_is_the_mean_slope_of_the_scaled_curve_whatever_its_scale(rng):
    """The published recipe, step by step: slopes of the scaled values, times the step, summed."""
    for _ in range(20):
        curve = rng.random(11)
        scaled = (curve - curve.min()) / (curve.max() - curve.min())
        slopes = np.diff(scaled) / np.diff(SWEEP)
        assert metrics.prs(curve) == pytest.approx(float((slopes * np.diff(SWEEP)).sum()))
        assert metrics.prs(5 * curve + 2) == pytest.approx(metrics.prs(curve))


def test_prs_and_tau_by_hand():
    assert metrics.prs([0.2, 0.7, 0.45]) == pytest.approx(0.5)
    # Of six pairs three rise, two fall and one is tied in diversity.
    assert metrics.kendall_tau([0, 1, 2, 3], [0.1, 0.3, 0.3, 0.2]) == pytest.approx((3 - 2) / np.sqrt(6 * 5))
    # PRS is blind to a collapse that tau sees; a knob that moves nothing scores zero.
    assert metrics.prs(COLLAPSE) == 1.0
    assert metrics.kendall_tau(SWEEP, COLLAPSE) < -0.1
    assert metrics.prs([0.4] * 3) == metrics.kendall_tau([0, 0.5, 1], [0.4] * 3) == 0.0


@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_tau_agrees_with_scipy(rng, levels):
    stats = pytest.importorskip("scipy.stats")
    compared = 0
    for _ in range(40):
        strength, diversity = rng.integers(levels, size=(2, 11)) / levels
        if len(set(strength)) > 1 and len(set(diversity)) > 1:
            theirs = stats.kendalltau(strength, diversity).statistic
            assert metrics.kendall_tau(strength, diversity) == pytest.approx(theirs, abs=1e-12)
            compared += 1
    assert compared > 30


def test_first_results_and_primary_bins(rng):
    assert_array_equal(metrics.top1_agreement([4, 5, 6], [4, 6, 5]), [1, 0, 0])
    assert_array_equal(metrics.top1_agreement(["x", "y"], ["x", "z"]), metrics.top1_agreement(["x", "z"], ["x", "y"]))
    membership = [[0.2, 0.7, 0.7], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-9]]  # the lowest of the largest
    assert_array_equal(metrics.primary_bin(membership), [1, -1, 2])
    labels = rng.integers(8, size=40)
    assert_array_equal(metrics.primary_bin(np.eye(8)[labels]), labels)


def test_displacement_counts_only_right_first_results_that_were_moved(rng):
    moved = metrics.displacement(
        first=[0, 1, 2, 2, 3], base_first=[0, 0, 0, 0, 0], base_right=[1, 1, 1, 0, 1], bins=[0, 0, 1, -1]
    )
    assert_array_equal(moved.displaced, [False, True, True, False, True])
    assert_array_equal(moved.other_bin, [False, False, True, False, True])
    assert moved.share == 2 / 3
    assert metrics.displacement([1, 0], [1, 2], [1, 0], bins=[0, 1, 2]).share is None
    first, base = rng.integers(30, size=(2, 200))
    moved = metrics.displacement(first, base, rng.random(200) < 0.5, bins=rng.integers(4, size=30))
    assert not (moved.other_bin & ~moved.displaced).any()
    assert not (moved.displaced & (metrics.top1_agreement(first, base) == 1)).any()


def test_fronts_by_hand():
    """Published points of the base, MS-DPP+TN+TVMS and MS-DPP on place and hour, focus."""
    recall, diversity = [0.9737, 0.9021, 0.4931], [0.1656, 0.2066, 0.3158]
    front = metrics.fixed_recall_front(recall, diversity, [0.95, 0.90, 0.40, 0.98])
    assert [point and point.diversity for point in front] == [0.1656, 0.2066, 0.3158, None]
    front = metrics.fixed_diversity_front(recall, diversity, [0.1, 0.2, 0.3, 0.4])
    assert [point and point.recall for point in front] == [0.9737, 0.9021, 0.4931, None]
    # A floor that is met exactly counts; ties go to the better other value, and then to the first.
    assert metrics.fixed_recall_front([0.5], [0.2], [0.5]) == (metrics.OperatingPoint(0, 0.5, 0.2),)
    recall, diversity = [0.5, 0.7, 0.7], [0.3, 0.3, 0.3]
    assert metrics.fixed_recall_front(recall, diversity, [0.1])[0].index == 1
    assert metrics.fixed_diversity_front(diversity, recall, [0.1])[0].index == 1


def test_a_higher_floor_never_helps_and_the_two_fronts_mirror_each_other(rng):
    recall, diversity = rng.random((2, 60))
    floors = np.linspace(0, 1.1, 23)
    front = metrics.fixed_recall_front(recall, diversity, floors)
    mirrored = metrics.fixed_diversity_front(diversity, recall, floors)
    assert [point and point.index for point in front] == [point and point.index for point in mirrored]
    values = [-1.0 if point is None else point.diversity for point in front]
    assert values == sorted(values, reverse=True)
    for floor, point in zip(floors, front, strict=True):
        qualified = diversity[recall >= floor]
        assert (point is None) == (qualified.size == 0)
        assert point is None or (point.recall >= floor and point.diversity == qualified.max())
