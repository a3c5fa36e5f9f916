"""The retriever's order, and what every baseline shares with it."""

import dataclasses
import json

import numpy as np
import pytest
from problems import problem

from mascot.errors import OptionError
from mascot.methods.clustering import Clustering
from mascot.methods.kdpp import KDpp
from mascot.methods.mmr import Mmr
from mascot.methods.msdpp import MsDpp
from mascot.methods.relevance import Relevance

METHODS = [
    Relevance(),
    Mmr(0.5),
    Mmr(1.0),
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
    selection = Relevance().select(problem(scores=[0.1, 0.9, 0.5, 0.9, 0.5], count=5), k=4)
    assert selection.positions.tolist() == [1, 3, 2, 4]
    assert selection.strength == 0


def test_works_without_wishes_or_vectors():
    given = problem(count=5, signs=(), vectors=False)
    for method in METHODS:
        assert method.select(given, k=3).positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", STEERING, ids=repr)
@both_directions
def test_strength_0_is_relevance(method, signs):
    given = problem(seed=3, signs=signs, scores=np.random.default_rng(3).integers(1, 9, 30) / 10, seen=[4, 9])
    selection = dataclasses.replace(method, strength=0.0).select(given, k=12)
    assert selection.positions.tolist() == Relevance().select(given, k=12).positions.tolist()
    assert selection.strength == 0


@every_method
@both_directions
def test_shorter_lists_are_prefixes(method, signs):
    given = problem(seed=1, signs=signs)
    longest = method.select(given, k=30).positions
    assert sorted(longest.tolist()) == list(range(30))
    for k in (1, 2, 7, 20):
        assert method.select(given, k).positions.tolist() == longest[:k].tolist()


@every_method
@both_directions
def test_a_second_page_continues_the_first(method, signs):
    whole = method.select(problem(seed=2, signs=signs), k=15).positions.tolist()
    second = method.select(problem(seed=2, signs=signs, seen=whole[:6]), k=9).positions.tolist()
    assert second == whole[6:]


@every_method
@both_directions
def test_seen_are_left_out_and_k_may_exceed_the_rest(method, signs):
    seen = [0, 5, 29, 3]
    positions = method.select(problem(signs=signs, seen=seen), k=100).positions
    assert sorted(positions.tolist()) == sorted(set(range(30)) - set(seen))


@every_method
def test_everything_seen_leaves_nothing(method):
    selection = method.select(problem(count=4, seen=range(4)), k=3)
    assert selection.positions.shape == (0,)


@every_method
@both_directions
def test_one_candidate(method, signs):
    assert method.select(problem(count=1, signs=signs), k=5).positions.tolist() == [0]


@every_method
@both_directions
def test_indistinguishable_candidates_keep_their_order(method, signs):
    given = problem(count=9, signs=signs)
    same = dataclasses.replace(
        given,
        scores=np.full(9, 0.3),
        vectors=np.repeat(given.vectors[:1], 9, axis=0),
        features=lambda: tuple(np.repeat(block[:1], 9, axis=0) for block in given.features()),
    )
    assert method.select(same, k=9).positions.tolist() == list(range(9))


@every_method
@both_directions
def test_a_copy_never_comes_before_its_original(method, signs):
    for seed in range(5):
        given = problem(seed=seed, signs=signs, copies=8)
        order = method.select(given, k=30).positions.tolist()
        for original in range(8):
            assert order.index(original) < order.index(22 + original)


@every_method
@both_directions
def test_missing_values_are_accepted(method, signs):
    given = problem(signs=signs)
    blocks = [block.copy() for block in given.features()]
    for block in blocks:
        block[::3] = 0.0
    holes = dataclasses.replace(given, features=lambda: tuple(blocks))
    assert len(set(method.select(holes, k=20).positions.tolist())) == 20


@every_method
@both_directions
def test_unvectored_candidates_are_accepted(method, signs):
    positions = method.select(problem(signs=signs, vectors=False), k=20).positions
    assert len(set(positions.tolist())) == 20


@every_method
def test_scores_of_any_size_are_accepted(method):
    for scale in (1e-6, 1.0, 1e3, 1e6):
        scores = scale * (1 + np.random.default_rng(0).random(30))
        assert len(set(method.select(problem(scores=scores), k=30).positions.tolist())) == 30


@every_method
def test_selecting_is_repeatable_and_changes_nothing(method):
    given = problem(seed=4, seen=[3])
    copies = [array.copy() for array in (given.scores, given.vectors, given.seen, *given.features())]
    first = method.select(given, k=10)
    second = method.select(given, k=10)
    assert first.positions.tolist() == second.positions.tolist() == first.shown.tolist()
    assert first.positions.dtype == np.int64
    for before, after in zip(copies, (given.scores, given.vectors, given.seen, *given.features()), strict=True):
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
