"""The retriever's order, and what every baseline shares with it."""

import dataclasses

import numpy as np
import pytest
from problems import features, make_problem, replace_rows, selected, vectors

from mascot.methods import Clustering, KDpp, Mmr, MsDpp, Relevance

METHODS = [
    Relevance(), Mmr(0.5, published=True), Mmr(1.0, published=True), KDpp(0.2), KDpp(1.0, beta=0.8, released=True),
    MsDpp(0.2), MsDpp(1.0, beta=0.4, released=True), MsDpp(0.5, normalize="tn"), MsDpp(0.5, normalize="tn+tvms"),
    Clustering(clusters=7), Clustering(strength=0.4, clusters=7),
]  # fmt: skip
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)
both_directions = pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (1,), (-1,)], ids=str)


def test_highest_scores_first_and_ties_by_position():
    selection = Relevance().select(make_problem(scores=[0.1, 0.9, 0.5, 0.9, 0.5], count=5), k=4)
    assert selection.positions.tolist() == [[1, 3, 2, 4]]
    assert selection.strengths.tolist() == [0.0]


@every_method
@both_directions
def test_strength_0_is_relevance(method, signs):
    problem = make_problem(seed=3, signs=signs, scores=np.random.default_rng(3).integers(1, 9, 30) / 10, seen=[4, 9])
    weakest = method if method == Relevance() else dataclasses.replace(method, strength=0.0)
    assert selected(weakest, problem, 12) == selected(Relevance(), problem, 12)
    assert selected(method, make_problem(count=5, signs=(), with_vectors=False), 3) == [0, 1, 2]  # nothing to steer by


@every_method
@both_directions
def test_shorter_lists_are_prefixes_and_pages_continue(method, signs):
    problem = make_problem(seed=1, signs=signs)
    longest = selected(method, problem, 100)
    assert sorted(longest) == list(range(30))
    for k in (1, 2, 7, 20):
        assert selected(method, problem, k) == longest[:k]
    assert selected(method, make_problem(seed=1, signs=signs, seen=longest[:6]), 9) == longest[6:15]
    rest = selected(method, make_problem(seed=1, signs=signs, seen=[0, 5, 29, 3]), 100)
    assert sorted(rest) == sorted(set(range(30)) - {0, 5, 29, 3})
    assert selected(method, make_problem(count=1, signs=signs), 5) == [0]
    assert selected(method, make_problem(count=4, signs=signs, seen=range(4)), 3) == []


@every_method
@both_directions
def test_a_copy_never_comes_before_its_original(method, signs):
    for seed in range(2):
        order = selected(method, make_problem(seed=seed, signs=signs, copies=8), 30)
        for original in range(8):
            assert order.index(original) < order.index(22 + original)
    problem = make_problem(count=9, signs=signs)
    blocks = [np.repeat(block[:1], 9, axis=0) for block in features(problem)]
    same = replace_rows(problem, np.full(9, 0.3), blocks, np.repeat(vectors(problem)[:1], 9, axis=0))
    assert selected(method, same, 9) == list(range(9))


@every_method
@both_directions
def test_missing_values_and_scores_of_any_size_are_accepted(method, signs):
    problem = make_problem(signs=signs)
    blocks = [block.copy() for block in features(problem)]
    for block in blocks:
        block[::3] = 0.0
    holes = replace_rows(problem, problem.scores, blocks, vectors(problem))
    assert len(set(selected(method, holes, 20))) == 20
    assert len(set(selected(method, make_problem(signs=signs, with_vectors=False), 20))) == 20
    for scale in (1e-6, 1.0, 1e6):
        scores = scale * (1 + np.random.default_rng(0).random(30))
        assert len(set(selected(method, make_problem(scores=scores, signs=signs), 30))) == 30
