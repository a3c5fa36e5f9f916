"""MMR against its definition in plain loops."""

import numpy as np
import pytest
from problems import bursts, features, make_problem, selected, vectors

import mascot as mc
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


@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(
    ("signs", "weights", "with_vectors"),
    [((1,), None, True), ((1, -1), (3, 1), True), ((1, 1), None, False)],
)
def test_is_the_definition(strength, signs, weights, with_vectors):
    problem = make_problem(signs=signs, weights=weights, with_vectors=with_vectors)
    assert selected(Mmr(strength, published=True), problem, 15) == by_definition(problem, strength, 15)


def test_the_published_method_ignores_the_sign():
    picks = [selected(Mmr(0.7, published=True), make_problem(signs=signs), 15) for signs in [(1, 1), (-1, 1), (-1, -1)]]
    assert picks[0] == picks[1] == picks[2]


def test_equal_candidates_tie_exactly():
    assert {i % 10 for i in selected(Mmr(0.5), bursts(), 20)} == {0}  # the first of each burst


def test_limits():
    problem = make_problem(seed=2, signs=())
    candidates = mc.Candidates(problem.scores, columns={"own": list(range(30))}, vectors=vectors(problem))
    assert mc.rerank(candidates, mc.limit("own", 1), 15, Mmr(0.6)).ids == selected(Mmr(0.6), problem, 15)
    # By relevance the second would use up both labels, and the list would end.
    labels, images = ["x", ("a", "b"), "a", "b"], np.eye(3)[[0, 0, 1, 2]]
    binding = mc.Candidates([4, 3, 2, 1], columns={"label": labels}, vectors=images)
    assert mc.rerank(binding, mc.limit("label", 1), 3, Mmr(1.0)).ids == [0, 2, 3]
