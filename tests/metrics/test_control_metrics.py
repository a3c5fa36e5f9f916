"""Control metrics: does the knob do what it says, and what does it cost?"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mascot import metrics
from mascot.errors import MascotError

SWEEP = np.linspace(0, 1, 11)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


# PRS and Kendall's tau


@pytest.mark.parametrize("curve", [SWEEP, SWEEP**3, 0.3 + 0.001 * np.sqrt(SWEEP)])
def test_a_monotone_answer_is_perfect_and_its_mirror_is_minus_one(curve):
    assert metrics.prs(curve) == pytest.approx(1)
    assert metrics.kendall_tau(SWEEP, curve) == pytest.approx(1)
    assert metrics.prs(-curve) == pytest.approx(-1)
    assert metrics.kendall_tau(SWEEP, -curve) == pytest.approx(-1)


def test_scale_and_offset_do_not_matter(rng):
    curve = rng.random(11)
    assert metrics.prs(5 * curve + 2) == pytest.approx(metrics.prs(curve))
    assert metrics.kendall_tau(SWEEP, 5 * curve + 2) == pytest.approx(metrics.kendall_tau(SWEEP, curve))


def test_prs_is_the_mean_slope_of_the_scaled_curve(rng):
    """The published recipe, step by step: slopes of the scaled values, times the step, summed."""
    for _ in range(20):
        curve = rng.random(11)
        scaled = (curve - curve.min()) / (curve.max() - curve.min())
        slopes = np.diff(scaled) / np.diff(SWEEP)
        assert metrics.prs(curve) == pytest.approx(float((slopes * np.diff(SWEEP)).sum()))
        assert -1 <= metrics.prs(curve) <= 1


def test_prs_is_blind_to_a_collapse_that_tau_sees():
    collapse = np.array([0.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.9])
    assert metrics.prs(collapse) == 1.0
    assert metrics.kendall_tau(SWEEP, collapse) < -0.1


def test_prs_by_hand():
    assert metrics.prs([0.2, 0.7, 0.45]) == pytest.approx(0.5)


def test_a_knob_that_moves_nothing_scores_zero():
    assert metrics.prs([0.4, 0.4, 0.4]) == 0.0
    assert metrics.kendall_tau([0, 0.5, 1], [0.4, 0.4, 0.4]) == 0.0


def test_tau_by_hand():
    """Of six pairs three rise, two fall and one is tied in diversity."""
    assert metrics.kendall_tau([0, 1, 2, 3], [0.1, 0.3, 0.3, 0.2]) == pytest.approx((3 - 2) / np.sqrt(6 * 5))


@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_tau_agrees_with_scipy(rng, levels):
    stats = pytest.importorskip("scipy.stats")
    compared = 0
    for _ in range(40):
        strength = rng.integers(levels, size=11) / levels
        diversity = rng.integers(levels, size=11) / levels
        if len(set(strength)) > 1 and len(set(diversity)) > 1:
            theirs = stats.kendalltau(strength, diversity).statistic
            assert metrics.kendall_tau(strength, diversity) == pytest.approx(theirs, abs=1e-12)
            compared += 1
    assert compared > 30


# First results


def test_agreement_is_symmetric_and_takes_ids_of_any_kind():
    assert_array_equal(metrics.top1_agreement([4, 5, 6], [4, 6, 5]), [1, 0, 0])
    assert_array_equal(metrics.top1_agreement(["x", "y"], ["x", "z"]), metrics.top1_agreement(["x", "z"], ["x", "y"]))


def test_primary_bin_is_the_lowest_of_the_largest():
    membership = [[0.2, 0.7, 0.7], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-9]]
    assert_array_equal(metrics.primary_bin(membership), [1, -1, 2])


def test_primary_bin_of_hard_bins_is_the_label(rng):
    labels = rng.integers(8, size=40)
    assert_array_equal(metrics.primary_bin(np.eye(8)[labels]), labels)


def test_displacement_counts_only_right_first_results_that_were_moved():
    bins = [0, 0, 1, -1]
    moved = metrics.displacement(
        first=[0, 1, 2, 2, 3], base_first=[0, 0, 0, 0, 0], base_right=[1, 1, 1, 0, 1], bins=bins
    )
    assert_array_equal(moved.displaced, [False, True, True, False, True])
    assert_array_equal(moved.other_bin, [False, False, True, False, True])
    assert moved.share == 2 / 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        moved.displaced = None


def test_nothing_displaced_has_no_share():
    assert metrics.displacement([1, 0], [1, 2], [1, 0], bins=[0, 1, 2]).share is None


def test_other_bin_implies_displaced_implies_disagreement(rng):
    first, base = rng.integers(30, size=(2, 200))
    right = rng.random(200) < 0.5
    moved = metrics.displacement(first, base, right, bins=rng.integers(4, size=30))
    assert not (moved.other_bin & ~moved.displaced).any()
    assert not (moved.displaced & (metrics.top1_agreement(first, base) == 1)).any()


# Fronts


def test_front_by_hand():
    """Published points of the base, MS-DPP+TN+TVMS and MS-DPP on place and hour, focus."""
    recall, diversity = [0.9737, 0.9021, 0.4931], [0.1656, 0.2066, 0.3158]
    front = metrics.fixed_recall_front(recall, diversity, [0.95, 0.90, 0.40, 0.98])
    assert [point and point.diversity for point in front] == [0.1656, 0.2066, 0.3158, None]
    front = metrics.fixed_diversity_front(recall, diversity, [0.1, 0.2, 0.3, 0.4])
    assert [point and point.recall for point in front] == [0.9737, 0.9021, 0.4931, None]


def test_a_floor_that_is_met_exactly_counts():
    assert metrics.fixed_recall_front([0.5], [0.2], [0.5]) == (metrics.OperatingPoint(0, 0.5, 0.2),)


def test_ties_go_to_the_better_other_value_and_then_to_the_first():
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


# Errors


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: metrics.prs([0.1]), r"prs diversity must have >= 2 steps, got 1"),
        (lambda: metrics.prs(["low", "high"]), r"prs diversity must be an array of numbers: could not convert"),
        (lambda: metrics.prs([0.1, np.nan]), r"prs diversity must be finite, got nan"),
        (lambda: metrics.kendall_tau([0], [1]), r"kendall_tau diversity must have >= 2 steps, got 1"),
        (lambda: metrics.kendall_tau([0, 1], [1]), r"same length, got strength 2, diversity 1"),
        (lambda: metrics.top1_agreement([1], [1, 2]), r"same length, got first 1, base_first 2"),
        (lambda: metrics.top1_agreement([], []), r"top1_agreement first must not be empty"),
        (lambda: metrics.primary_bin([[0.5, -0.1]]), r"primary_bin membership must be >= 0, got -0.1"),
        (lambda: metrics.displacement([3], [0], [1], [0, 0]), r"first must be between 0 and N-1=1, got 3"),
        (lambda: metrics.displacement([0], [0], [2], [0, 0]), r"base_right must be 0 or 1, got 2"),
        (lambda: metrics.fixed_recall_front([1], [1, 1], [0]), r"same length, got recall 1, diversity 2"),
        (lambda: metrics.fixed_diversity_front([], [], [0]), r"recall must not be empty, got shape \(0,\)"),
    ],
)
def test_errors_name_owner_rule_and_value(call, text):
    with pytest.raises(MascotError, match=text):
        call()
