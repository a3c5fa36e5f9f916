"""Control metrics: does the knob do what it says, and what does it cost?"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mascot import metrics

SWEEP = np.linspace(0, 1, 11)
COLLAPSE = [0.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.9]


def test_prs_and_tau_by_hand():
    for curve in (SWEEP, SWEEP**3, 0.3 + 0.001 * np.sqrt(SWEEP)):
        for sign in (1, -1):
            assert metrics.prs(sign * curve) == pytest.approx(sign)
            assert metrics.kendall_tau(SWEEP, sign * curve) == pytest.approx(sign)
    # Of six pairs three rise, two fall and one is tied in diversity.
    assert metrics.kendall_tau([0, 1, 2, 3], [0.1, 0.3, 0.3, 0.2]) == pytest.approx((3 - 2) / np.sqrt(6 * 5))
    # PRS is blind to a collapse that tau sees; a knob that moves nothing scores zero.
    assert metrics.prs(COLLAPSE) == 1.0
    assert metrics.kendall_tau(SWEEP, COLLAPSE) < -0.1
    assert metrics.prs([0.4] * 3) == metrics.kendall_tau([0, 0.5, 1], [0.4] * 3) == 0.0


@pytest.mark.parametrize("levels", [2, 1000])
def test_tau_agrees_with_scipy(levels):
    stats, rng = pytest.importorskip("scipy.stats"), np.random.default_rng(3)
    for _ in range(20):
        strength, diversity = rng.integers(levels, size=(2, 11)) / levels
        if len(set(strength)) > 1 and len(set(diversity)) > 1:
            theirs = stats.kendalltau(strength, diversity).statistic
            assert metrics.kendall_tau(strength, diversity) == pytest.approx(theirs, abs=1e-12)


def test_displacement_counts_only_right_first_results_that_were_moved():
    moved = metrics.displacement(
        first=[0, 1, 2, 2, 3], base_first=[0, 0, 0, 0, 0], base_right=[1, 1, 1, 0, 1], bins=[0, 0, 1, -1]
    )
    assert_array_equal(moved.displaced, [False, True, True, False, True])
    assert_array_equal(moved.other_bin, [False, False, True, False, True])
    assert moved.share == 2 / 3
    assert metrics.displacement([1, 0], [1, 2], [1, 0], bins=[0, 1, 2]).share is None
    membership = [[0.2, 0.7, 0.7], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-9]]  # the lowest of the largest
    assert_array_equal(metrics.primary_bin(membership), [1, -1, 2])
    assert_array_equal(metrics.top1_agreement([4, 5, 6], [4, 6, 5]), [1, 0, 0])


def test_fronts():
    """Published points of the base, MS-DPP+TN+TVMS and MS-DPP on place and hour, focus."""
    recall, diversity = [0.9737, 0.9021, 0.4931], [0.1656, 0.2066, 0.3158]
    front = metrics.fixed_recall_front(recall, diversity, [0.95, 0.90, 0.40, 0.98])
    assert [point and point.diversity for point in front] == [0.1656, 0.2066, 0.3158, None]
    front = metrics.fixed_diversity_front(recall, diversity, [0.1, 0.2, 0.3, 0.4])
    assert [point and point.recall for point in front] == [0.9737, 0.9021, 0.4931, None]
    # A floor that is met exactly counts; ties go to the better other value, and then to the first.
    assert metrics.fixed_recall_front([0.5], [0.2], [0.5]) == (metrics.OperatingPoint(0, 0.5, 0.2),)
    assert metrics.fixed_recall_front([0.5, 0.7, 0.7], [0.3, 0.3, 0.3], [0.1])[0].index == 1
