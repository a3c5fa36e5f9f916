"""The errors of the metrics."""

from __future__ import annotations

import numpy as np
import pytest

from mascot import metrics
from mascot.errors import InputError, OptionError

ERRORS = [
    (lambda m: m.prs([0.1]), "prs diversity must have >= 2 steps, got 1"),
    (lambda m: m.kendall_tau([0, 1], [1]), "same length, got strength 2, diversity 1"),
    (lambda m: m.top1_agreement([], []), "top1_agreement first must not be empty"),
    (lambda m: m.displacement([3], [0], [1], [0, 0]), "first must be between 0 and N-1=1, got 3"),
    (lambda m: m.vendi(np.ones((2, 2))), r"axes \[Q, K, K\], got shape \(2, 2\)"),
    (lambda m: m.vendi([[[1, 0.5], [0.1, 1]]]), "kernel must be symmetric, got a difference of 0.4"),
    (lambda m: m.vendi([[[1, 3], [3, 1]]]), "must be positive semi-definite, got eigenvalue -2"),
    (lambda m: m.place_features([[91]], [[0]]), "latitude must be between -90 and 90, got 91"),
    (lambda m: m.place_features([[1]], [[0, 1]]), r"must have one shape, got \(1, 1\), \(1, 2\)"),
    (lambda m: m.recall_at_k([[0, 1], [1]], 1), "relevant must be an array of numbers: .*inhomogeneous"),
    (lambda m: m.reciprocal_rank([[0, 2]]), "reciprocal_rank relevant must be 0 or 1, got 2"),
    (lambda m: m.cluster_recall_at_k([[1, 2]], [1], 2), "total must be >= the clusters seen, got 1"),
    (lambda m: m.f1_at_k([[1], [1]], [[1]], [1], 1), "same length, got relevant 2, clusters 1"),
    (lambda m: m.ndcg_at_k([[2, 1]], [[1, 0]], 2), "judged must contain the results shown, got a share of 2"),
    (lambda m: m.relevance_kept([[0.1, 1]], [[1, 1]]), "positions must not repeat, got 1 twice"),
]
OPTIONS = [
    (lambda m: m.vendi(np.ones((1, 2, 2)), order=-1), "^vendi order must be >= 0, got -1$"),
    (lambda m: m.vendi(np.ones((1, 2, 2)), ridge=-1e-5), "vendi ridge must be >= 0 and finite"),
    (lambda m: m.precision_at_k([[0, 1]], 2.0), "precision_at_k k must be a whole number between 1 and K=2, got 2.0"),
]


def test_errors_name_owner_rule_and_value():
    """Arrays are input, and parameters are options."""
    for error, cases in ((InputError, ERRORS), (OptionError, OPTIONS)):
        for call, message in cases:
            with pytest.raises(error, match=message):
                call(metrics)
