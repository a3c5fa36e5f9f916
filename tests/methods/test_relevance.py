"""The retriever's order, and what every baseline shares with it."""

import dataclasses
import json

import numpy as np
import pytest
from problems import features, make_problem, replace_rows, selected, vectors

from mascot.errors import OptionError
from mascot.methods.clustering import Clustering
from mascot.methods.kdpp import KDpp
from mascot.methods.mmr import Mmr
from mascot.methods.msdpp import MsDpp
from mascot.methods.relevance import Relevance

METHODS = [
    Relevance(),
    Mmr(0.5, published=True),
    Mmr(1.0, published=True),
    KDpp(0.2),
    KDpp(1.0, beta=0.8, released=True),
    MsDpp(0.2),
    MsDpp(1.0, beta=0.4, released=True),
    MsDpp(0.5, normalize="tn"),
    MsDpp(0.5, normalize="tn+tvms"),
    Clustering(clusters=7),
    Clustering(strength=0.4, clusters=7),
]
STEERING = [method for method in METHODS if not isinstance(method, Relevance)]
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)
both_directions = pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (1,), (-1,)], ids=str)


def test_highest_scores_first_and_ties_by_position():
    selection = Relevance().select(make_problem(scores=[0.1, 0.9, 0.5, 0.9, 0.5], count=5), k=4)
    assert selection.positions.tolist() == [[1, 3, 2, 4]]
    assert selection.strengths.tolist() == [0.0]


def test_works_without_wishes_or_vectors():
    problem = make_problem(count=5, signs=(), with_vectors=False)
    for method in METHODS:
        assert selected(method, problem, 3) == [0, 1, 2]


@pytest.mark.parametrize("method", STEERING, ids=repr)
@both_directions
def test_strength_0_is_relevance(method, signs):
    problem = make_problem(seed=3, signs=signs, scores=np.random.default_rng(3).integers(1, 9, 30) / 10, seen=[4, 9])
    selection = dataclasses.replace(method, strength=0.0).select(problem, k=12)
    assert selection.positions[0].tolist() == selected(Relevance(), problem, 12)
    assert selection.strengths.tolist() == [0.0]


@every_method
@both_directions
def test_shorter_lists_are_prefixes(method, signs):
    problem = make_problem(seed=1, signs=signs)
    longest = selected(method, problem, 30)
    assert sorted(longest) == list(range(30))
    for k in (1, 2, 7, 20):
        assert selected(method, problem, k) == longest[:k]


@every_method
@both_directions
def test_a_second_page_continues_the_first(method, signs):
    whole = selected(method, make_problem(seed=2, signs=signs), 15)
    second = selected(method, make_problem(seed=2, signs=signs, seen=whole[:6]), 9)
    assert second == whole[6:]


@every_method
@both_directions
def test_seen_are_left_out_and_k_may_exceed_the_rest(method, signs):
    seen = [0, 5, 29, 3]
    positions = selected(method, make_problem(signs=signs, seen=seen), 100)
    assert sorted(positions) == sorted(set(range(30)) - set(seen))


@every_method
def test_everything_seen_leaves_nothing(method):
    assert selected(method, make_problem(count=4, seen=range(4)), 3) == []


@every_method
@both_directions
def test_one_candidate(method, signs):
    assert selected(method, make_problem(count=1, signs=signs), 5) == [0]


@every_method
@both_directions
def test_indistinguishable_candidates_keep_their_order(method, signs):
    problem = make_problem(count=9, signs=signs)
    blocks = [np.repeat(block[:1], 9, axis=0) for block in features(problem)]
    same = replace_rows(problem, np.full(9, 0.3), blocks, np.repeat(vectors(problem)[:1], 9, axis=0))
    assert selected(method, same, 9) == list(range(9))


@every_method
@both_directions
def test_a_copy_never_comes_before_its_original(method, signs):
    for seed in range(5):
        problem = make_problem(seed=seed, signs=signs, copies=8)
        order = selected(method, problem, 30)
        for original in range(8):
            assert order.index(original) < order.index(22 + original)


@every_method
@both_directions
def test_missing_values_are_accepted(method, signs):
    problem = make_problem(signs=signs)
    blocks = [block.copy() for block in features(problem)]
    for block in blocks:
        block[::3] = 0.0
    holes = replace_rows(problem, problem.scores, blocks, vectors(problem))
    assert len(set(selected(method, holes, 20))) == 20


@every_method
@both_directions
def test_unvectored_candidates_are_accepted(method, signs):
    positions = selected(method, make_problem(signs=signs, with_vectors=False), 20)
    assert len(set(positions)) == 20


@every_method
def test_scores_of_any_size_are_accepted(method):
    for scale in (1e-6, 1.0, 1e3, 1e6):
        scores = scale * (1 + np.random.default_rng(0).random(30))
        assert len(set(selected(method, make_problem(scores=scores), 30))) == 30


@every_method
def test_selecting_is_repeatable_and_changes_nothing(method):
    problem = make_problem(seed=4, seen=[3])
    copies = [array.copy() for array in (problem.scores, vectors(problem), problem.seen, *features(problem))]
    first = method.select(problem, k=10)
    second = method.select(problem, k=10)
    assert first.positions.tolist() == second.positions.tolist() == first.ranked.tolist()
    assert first.positions.dtype == np.int64
    for before, after in zip(copies, (problem.scores, vectors(problem), problem.seen, *features(problem)), strict=True):
        np.testing.assert_array_equal(before, after)


@every_method
def test_methods_are_values(method):
    fields = method.to_dict()
    assert fields.pop("kind") == type(method).__name__
    assert type(method)(**json.loads(json.dumps(fields))) == method
    assert hash(method) == hash(dataclasses.replace(method))


@pytest.mark.parametrize("kind", [Mmr, KDpp, MsDpp, Clustering])
@pytest.mark.parametrize("strength", [-0.1, 2, float("nan")])
def test_strength_is_checked(kind, strength):
    with pytest.raises(OptionError, match=rf"^{kind.__name__}.strength must be in 0..1, got {strength}$"):
        kind(strength=strength)
