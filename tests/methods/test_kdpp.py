"""k-DPP against determinants, and the greedy itself."""

import numpy as np
import pytest
from problems import features, largest_determinants, make_problem, released_greedy, selected, similarity, vectors

from mascot.kernels.similarity import similarities
from mascot.methods.kdpp import KDpp


def kernel_of(problem, theta, beta):
    if not len(problem.signs):
        mixed = similarity(vectors(problem))
    else:
        parts = [s * similarity(f) for s, f in zip(problem.signs, features(problem), strict=True)]
        mixed = np.average(parts, axis=0, weights=problem.weights)
        if vectors(problem) is not None:
            mixed = (1 - beta) * mixed + beta * similarity(vectors(problem))
    alpha = np.exp(theta / (2 * (1 - theta)) * problem.scores)
    return np.diag(alpha) @ mixed @ np.diag(alpha)


@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (1.0, 0.6), (0.5, 1.0)])
@pytest.mark.parametrize("shape", [{}, {"weights": (1, 4)}, {"with_vectors": False}, {"signs": ()}], ids=str)
def test_every_step_is_the_largest_determinant(strength, beta, shape):
    problem = make_problem(count=25, **shape)
    expected = largest_determinants(kernel_of(problem, 1 - strength, beta), 10)
    assert selected(KDpp(strength, beta), problem, 10) == expected


@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (0.2, 0.4)])
def test_released_is_the_published_update(strength, beta):
    problem = make_problem(count=25)
    expected = released_greedy(kernel_of(problem, 1 - strength, beta), problem.scores, 10)
    assert selected(KDpp(strength, beta, released=True), problem, 10) == expected


@pytest.mark.parametrize("released", [False, True])
def test_focus_has_no_positive_variance_up_to_beta_one_half(released):
    problem = make_problem(signs=(-1, -1), count=20)
    assert selected(KDpp(0.1, beta=0.4, released=released), problem, 6) == [19, 0, 1, 2, 3, 4]  # the least relevant
    assert selected(KDpp(0.1, beta=0.5, released=released), problem, 6) == [0, 1, 2, 3, 4, 5]


def test_a_constant_added_to_the_scores_changes_nothing():
    scores = make_problem(seed=6).scores
    chosen = [selected(KDpp(0.2), make_problem(seed=6, scores=scores + c), 15) for c in (0, 7, 900, -900)]
    assert chosen[0] == chosen[1] == chosen[2] == chosen[3]


def test_similarity_is_exact_for_copies_and_the_definition_elsewhere():
    rng = np.random.default_rng(0)
    for width in (1, 3, 40):
        rows = rng.normal(size=(30, width))
        rows[5] = rows[6] + 1e-9
        rows[20:] = rows[:10]
        rows[28:] = 0.0
        matrix = similarities(rows)
        np.testing.assert_allclose(matrix, similarity(rows), rtol=0, atol=1e-12)
        assert (np.diagonal(matrix) == 1).all()
        assert (matrix[np.arange(8), np.arange(20, 28)] == 1).all()
