"""k-DPP against determinants, and the greedy itself."""

import itertools

import numpy as np
import pytest
from problems import features, largest_determinants, make_problem, released_greedy, selected, similarity, vectors

from mascot.errors import OptionError
from mascot.kernels.dpp import ensemble, greedy_map
from mascot.kernels.similarity import similarities
from mascot.methods.kdpp import KDpp

NOTHING_SEEN = np.empty((1, 0), np.int64)


def kernel_of(problem, theta, beta):
    metadata = np.average(
        [s * similarity(f) for s, f in zip(problem.signs, features(problem), strict=True)],
        axis=0,
        weights=problem.weights,
    )
    mixed = metadata if vectors(problem) is None else (1 - beta) * metadata + beta * similarity(vectors(problem))
    alpha = np.exp(theta / (2 * (1 - theta)) * problem.scores)
    return np.diag(alpha) @ mixed @ np.diag(alpha)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (0.2, 0.4), (1.0, 0.6), (0.5, 0.0), (0.5, 1.0)])
@pytest.mark.parametrize("weights", [(1, 1), (1, 4)])
def test_every_step_is_the_largest_determinant(seed, strength, beta, weights):
    problem = make_problem(seed=seed, count=25, weights=weights)
    expected = largest_determinants(kernel_of(problem, 1 - strength, beta), 10)
    assert selected(KDpp(strength, beta), problem, 10) == expected


@pytest.mark.parametrize("seed", range(3))
def test_without_vectors_beta_is_0(seed):
    problem = make_problem(seed=seed, count=25, with_vectors=False)
    expected = largest_determinants(kernel_of(problem, 0.8, 0.0), 10)
    assert selected(KDpp(0.2, beta=0.7), problem, 10) == expected


def test_without_wishes_beta_is_1():
    problem = make_problem(signs=(), count=25)
    alpha = np.exp(0.8 / 0.4 * problem.scores)
    expected = largest_determinants(alpha[:, None] * similarity(vectors(problem)) * alpha, 10)
    assert selected(KDpp(0.2, beta=0.3), problem, 10) == expected


def test_pairs_are_the_best_pairs_when_the_first_is_given():
    problem = make_problem(seed=8, count=12)
    kernel = kernel_of(problem, 0.5, 0.5)
    first, second = selected(KDpp(0.5), problem, 2)
    best = max(
        (i for i in range(12) if i != first),
        key=lambda i: np.linalg.det(kernel[np.ix_([first, i], [first, i])]),
    )
    assert second == best


def test_greedy_is_near_the_best_set():
    problem = make_problem(seed=9, count=10)
    kernel = kernel_of(problem, 0.5, 0.5)
    sets = itertools.combinations(range(10), 4)
    best = max(np.linalg.det(kernel[np.ix_(s, s)]) for s in sets)
    chosen = selected(KDpp(0.5), problem, 4)
    assert np.linalg.det(kernel[np.ix_(chosen, chosen)]) > 0.95 * best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (0.2, 0.4), (0.1, 0.6)])
def test_released_is_the_published_update(seed, strength, beta):
    problem = make_problem(seed=seed, count=25)
    kernel = kernel_of(problem, 1 - strength, beta)
    expected = released_greedy(kernel, 10)
    chosen = selected(KDpp(strength, beta, released=True), problem, 10)
    assert chosen[: len(expected)] == expected
    filling = [i for i in np.argsort(-problem.scores, kind="stable") if i not in expected]
    assert chosen[len(expected) :] == filling[: 10 - len(expected)]


def test_released_and_exact_differ_where_the_kernel_exceeds_1():
    problem = make_problem(seed=0, count=100)
    exact, released = (selected(KDpp(0.1, released=flag), problem, 20) for flag in (False, True))
    assert exact != released


def test_focus_has_no_positive_variance_up_to_beta_one_half():
    for signs in [(-1,), (-1, -1), (-1, -1, -1)]:
        problem = make_problem(signs=signs, count=20)
        for released in (False, True):
            below = selected(KDpp(0.1, beta=0.4, released=released), problem, 6)
            assert below == [19, 0, 1, 2, 3, 4]  # the least relevant first, then by score
            equal = selected(KDpp(0.1, beta=0.5, released=released), problem, 6)
            assert equal == [0, 1, 2, 3, 4, 5]


def test_copies_are_filled_up_by_score():
    problem = make_problem(seed=1, count=12, copies=3)
    order = selected(KDpp(1.0), problem, 12)
    assert order[-3:] == [9, 10, 11]  # copies of 0, 1, 2, in the order of their scores


def test_strengths_below_the_cap_are_all_theta_099():
    problem = make_problem(seed=2, count=100)
    chosen = [selected(KDpp(strength), problem, 20) for strength in (0.001, 0.01)]
    assert chosen[0] == chosen[1]


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
        found = similarities(rows)
        np.testing.assert_allclose(found, similarity(rows), rtol=0, atol=1e-12)
        assert (np.diagonal(found) == 1).all()
        assert (found[np.arange(8), np.arange(20, 28)] == 1).all()
        np.testing.assert_array_equal(similarities(np.stack([rows, 2 * rows]))[0], found)


def test_queries_in_a_batch_do_not_touch_each_other():
    problems = [
        make_problem(seed=seed, count=20, signs=signs) for seed, signs in enumerate([(1, 1), (-1, -1), (1, -1)])
    ]
    scores = np.stack([g.scores for g in problems])
    kernels = np.stack([kernel_of(g, 0.8, 0.5) for g in problems])
    seen = np.array([[-1, -1], [4, -1], [0, 19]])
    for released in (False, True):
        batch = greedy_map(kernels, scores, 20, seen, released)
        for q in range(3):
            own = seen[q][seen[q] >= 0]
            alone = greedy_map(kernels[q : q + 1], scores[q : q + 1], 20 - len(own), own[None], released)[0]
            assert batch[q].tolist() == alone.tolist() + [-1] * len(own)


def test_what_was_seen_repels():
    problem = make_problem(seed=3, count=25)
    kernel = ensemble(similarity(vectors(problem)), problem.scores, 0.5)
    seen = [7, 2, 11]
    chosen = greedy_map(kernel[None], problem.scores[None], 1, np.array([seen]))[0, 0]
    ratios = {i: np.linalg.det(kernel[np.ix_([*seen, i], [*seen, i])]) for i in range(25) if i not in seen}
    assert chosen == max(ratios, key=ratios.get)


def test_beta_is_checked():
    with pytest.raises(OptionError, match=r"^KDpp.beta must be in 0..1, got 1.5$"):
        KDpp(beta=1.5)
