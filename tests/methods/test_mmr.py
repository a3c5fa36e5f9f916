"""MMR against its definition in plain loops."""

import dataclasses

import numpy as np
import pytest
from problems import problem

from mascot.kernels.mmr import greedy_mmr
from mascot.kernels.similarity import joined
from mascot.methods.mmr import Mmr


def by_definition(given, strength, k):
    total = given.weights.sum()
    parts = [s * w / total * f for s, w, f in zip(given.signs, given.weights, given.features(), strict=True)]
    rows = np.hstack(([] if given.vectors is None else [given.vectors]) + parts)
    similarity = np.array([[float((a * b).sum()) for b in rows] for a in rows])
    similarity = (similarity - similarity.min()) / (similarity.max() - similarity.min())
    chosen = [int(np.argmax(given.scores))]
    while len(chosen) < k:
        worth = {
            i: (1 - strength) * given.scores[i] - strength * max(similarity[i, j] for j in chosen)
            for i in range(len(rows))
            if i not in chosen
        }
        chosen.append(max(worth, key=worth.get))
    return chosen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(
    ("signs", "weights", "vectors"),
    [((1,), None, True), ((1, 1), None, True), ((1, -1), (3, 1), True), ((1, 1), None, False)],
)
def test_is_the_definition(seed, strength, signs, weights, vectors):
    given = problem(seed=seed, signs=signs, weights=weights, vectors=vectors)
    assert Mmr(strength).select(given, k=15).positions.tolist() == by_definition(given, strength, 15)


def test_the_sign_vanishes():
    chosen = [Mmr(0.7).select(problem(signs=signs), k=15).positions.tolist() for signs in [(1, 1), (-1, 1), (-1, -1)]]
    assert chosen[0] == chosen[1] == chosen[2]


def test_the_published_factors_are_one_over_the_number_of_attributes():
    given = problem(signs=(1, -1))
    place, hour = given.features()
    rows = joined((place, hour), given.signs, given.weights, given.vectors)
    np.testing.assert_array_equal(rows, np.hstack([given.vectors, place / 2, -hour / 2]))


def test_first_pick_is_the_highest_score_at_every_strength():
    assert Mmr(1.0).select(problem(scores=[0.1, 0.2, 0.9, 0.3], count=4), k=1).positions.tolist() == [2]


def test_copies_of_what_was_chosen_come_last_at_strength_1():
    given = problem(seed=5, count=12, copies=3)
    assert sorted(Mmr(1.0).select(given, k=12).positions[-3:].tolist()) == [9, 10, 11]


def test_equal_candidates_tie_exactly():
    given = problem(count=200)
    vectors = np.repeat(given.vectors[:20], 10, axis=0)
    place, hour = (np.repeat(block[:20], 10, axis=0) for block in given.features())
    bursts = dataclasses.replace(given, scores=np.full(200, 0.3), vectors=vectors, features=lambda: (place, hour))
    chosen = Mmr(0.5).select(bursts, k=20).positions
    assert set(chosen % 10) == {0}  # the first of each burst


def test_queries_in_a_batch_do_not_touch_each_other():
    given = [problem(seed=seed, count=20) for seed in range(3)]
    rows = np.stack([joined(g.features(), g.signs, g.weights, g.vectors) for g in given])
    scores = np.stack([g.scores for g in given])
    seen = np.array([[-1, -1], [4, -1], [0, 19]])
    batch = greedy_mmr(rows, scores, 0.6, 20, seen)
    for q in range(3):
        own = seen[q][seen[q] >= 0]
        alone = greedy_mmr(rows[q : q + 1], scores[q : q + 1], 0.6, 20 - len(own), own[None])[0]
        assert batch[q].tolist() == alone.tolist() + [-1] * len(own)
