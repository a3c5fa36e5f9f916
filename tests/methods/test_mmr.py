"""MMR against its definition in plain loops."""

import numpy as np
import pytest
from problems import features, make_problem, replace_rows, selected, vectors

from mascot.errors import OptionError
from mascot.kernels.mmr import greedy_mmr
from mascot.kernels.similarity import joined
from mascot.methods.mmr import Mmr


def by_definition(problem, strength, k):
    total = problem.weights.sum()
    parts = [s * w / total * f for s, w, f in zip(problem.signs, problem.weights, features(problem), strict=True)]
    rows = np.hstack(([] if vectors(problem) is None else [vectors(problem)]) + parts)
    similarity = np.array([[float((a * b).sum()) for b in rows] for a in rows])
    similarity = (similarity - similarity.min()) / (similarity.max() - similarity.min())
    chosen = [int(np.argmax(problem.scores))]
    while len(chosen) < k:
        worth = {
            i: (1 - strength) * problem.scores[i] - strength * max(similarity[i, j] for j in chosen)
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
    problem = make_problem(seed=seed, signs=signs, weights=weights, with_vectors=vectors)
    assert selected(Mmr(strength, published=True), problem, 15) == by_definition(problem, strength, 15)


def test_the_published_method_ignores_the_sign():
    picks = [selected(Mmr(0.7, published=True), make_problem(signs=signs), 15) for signs in [(1, 1), (-1, 1), (-1, -1)]]
    assert picks[0] == picks[1] == picks[2]


@pytest.mark.parametrize("signs", [(-1,), (1, -1), (-1, -1)])
def test_focus_without_a_named_value_is_refused(signs):
    with pytest.raises(OptionError, match=r"^Mmr cannot focus: it would select what spread selects\. Name a value"):
        Mmr(0.5).select(make_problem(signs=signs), 5)


def test_the_published_factors_are_one_over_the_number_of_attributes():
    problem = make_problem(signs=(1, -1))
    place, hour = features(problem)
    rows = joined((place, hour), problem.signs, problem.weights, vectors(problem))
    np.testing.assert_array_equal(rows, np.hstack([vectors(problem), place / 2, -hour / 2]))


def test_first_pick_is_the_highest_score_at_every_strength():
    assert selected(Mmr(1.0), make_problem(scores=[0.1, 0.2, 0.9, 0.3], count=4), 1) == [2]


def test_copies_of_what_was_chosen_come_last_at_strength_1():
    problem = make_problem(seed=5, count=12, copies=3)
    assert sorted(selected(Mmr(1.0), problem, 12)[-3:]) == [9, 10, 11]


def test_equal_candidates_tie_exactly():
    problem = make_problem(count=200)
    images = np.repeat(vectors(problem)[:20], 10, axis=0)
    place, hour = (np.repeat(block[:20], 10, axis=0) for block in features(problem))
    bursts = replace_rows(problem, np.full(200, 0.3), (place, hour), images)
    assert {i % 10 for i in selected(Mmr(0.5), bursts, 20)} == {0}  # the first of each burst


def test_queries_in_a_batch_do_not_touch_each_other():
    problems = [make_problem(seed=seed, count=20) for seed in range(3)]
    rows = np.stack([joined(features(g), g.signs, g.weights, vectors(g)) for g in problems])
    scores = np.stack([g.scores for g in problems])
    seen = np.array([[-1, -1], [4, -1], [0, 19]])
    batch = greedy_mmr(rows, scores, 0.6, 20, seen)
    for q in range(3):
        own = seen[q][seen[q] >= 0]
        alone = greedy_mmr(rows[q : q + 1], scores[q : q + 1], 0.6, 20 - len(own), own[None])[0]
        assert batch[q].tolist() == alone.tolist() + [-1] * len(own)
