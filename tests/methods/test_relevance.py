"""The retriever's order, and what every baseline shares with it."""

import dataclasses

import numpy as np
import pytest
from problems import features, make_problem, replace_rows, selected, vectors

from mascot.methods import Clustering, KDpp, Mmr, MsDpp, Relevance

METHODS = [
    Relevance(), Mmr(0.5, published=True), KDpp(0.2), KDpp(1.0, beta=0.8, released=True), MsDpp(0.2),
    MsDpp(0.5, normalize="tn+tvms"), Clustering(strength=0.4, clusters=7),
]  # fmt: skip


def test_highest_scores_first_and_ties_by_position():
    assert selected(Relevance(), make_problem(scores=[0.1, 0.9, 0.5, 0.9, 0.5], count=5), 4) == [1, 3, 2, 4]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("signs", [(1, 1), (-1,)], ids=str)
def test_every_method(method, signs):
    scores = np.random.default_rng(3).integers(1, 9, 30) / 10
    problem = make_problem(seed=3, signs=signs, scores=scores, seen=[4, 9])
    weakest = method if method == Relevance() else dataclasses.replace(method, strength=0.0)
    assert selected(weakest, problem, 12) == selected(Relevance(), problem, 12)
    assert selected(method, make_problem(count=5, signs=(), with_vectors=False), 3) == [0, 1, 2]  # nothing to steer by

    # Shorter lists are prefixes, and pages continue.
    problem = make_problem(seed=1, signs=signs)
    longest = selected(method, problem, 100)
    assert sorted(longest) == list(range(30))
    assert selected(method, problem, 7) == longest[:7]
    assert selected(method, make_problem(seed=1, signs=signs, seen=longest[:6]), 9) == longest[6:15]
    assert selected(method, make_problem(count=1, signs=signs), 5) == [0]
    assert selected(method, make_problem(count=4, signs=signs, seen=range(4)), 3) == []

    # A copy never comes before its original.
    order = selected(method, make_problem(signs=signs, copies=8), 30)
    assert all(order.index(original) < order.index(22 + original) for original in range(8))

    # Missing values and scores of any size are accepted.
    blocks = [block.copy() for block in features(problem)]
    for block in blocks:
        block[::3] = 0.0
    assert len(set(selected(method, replace_rows(problem, problem.scores, blocks, vectors(problem)), 20))) == 20
    for scale in (1e-6, 1e6):
        assert len(set(selected(method, make_problem(scores=scale * (1 + scores), signs=signs), 30))) == 30
