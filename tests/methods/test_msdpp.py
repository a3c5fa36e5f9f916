"""MS-DPP against scipy's matrix functions and determinants."""

import numpy as np
import pytest
from problems import (
    features,
    largest_determinants,
    make_problem,
    released_greedy,
    replace_rows,
    selected,
    similarity,
    vectors,
)  # fmt: skip
from scipy.linalg import expm, logm

from mascot.errors import InputError, OptionError
from mascot.kernels.tangents import combine, tangents, unit_logarithm
from mascot.methods.msdpp import MsDpp

VARIANTS = [None, "tn", "tn+tvms"]


def logarithm(rows):
    return np.real(logm(similarity(rows) + 1e-3 * np.eye(len(rows))))


def to_norm(matrix, length):
    return matrix * length / np.linalg.norm(matrix)


def kernel_of(problem, theta, beta, normalize=None):
    """The published formulas, with scipy."""
    scores = problem.scores
    parts = [logarithm(rows) for rows in features(problem)]
    image = None if vectors(problem) is None else logarithm(vectors(problem))
    length = np.linalg.norm(np.log(scores))
    if normalize is not None:
        common = length if normalize == "tn" else 1.0
        parts = [to_norm(part, common) for part in parts]
        image = None if image is None else to_norm(image, common)
    combined = np.average([s * t for s, t in zip(problem.signs, parts, strict=True)], axis=0, weights=problem.weights)
    if normalize == "tn":
        combined = to_norm(combined, length)
    if image is not None:
        combined = (1 - beta) * combined + beta * image
    if normalize == "tn+tvms":
        scores = np.exp(np.log(scores) / length)
        combined = to_norm(combined, np.linalg.norm(np.log(scores)))
    alpha = np.diag(np.exp(theta / (2 * (1 - theta)) * scores))
    return alpha @ expm(combined) @ alpha


@pytest.mark.parametrize("normalize", VARIANTS)
@pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (1, -1), (-1,)], ids=str)
@pytest.mark.parametrize(("strength", "beta"), [(0.1, 0.5), (0.2, 0.4), (1.0, 0.6)])
def test_every_step_is_the_largest_determinant(normalize, signs, strength, beta):
    for seed in range(2):
        problem = make_problem(seed=seed, count=25, signs=signs, weights=range(1, len(signs) + 1))
        expected = largest_determinants(kernel_of(problem, 1 - strength, beta, normalize), 10)
        assert selected(MsDpp(strength, beta, normalize), problem, 10) == expected


@pytest.mark.parametrize("normalize", VARIANTS)
@pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (1, -1)], ids=str)
def test_released_is_the_published_update(normalize, signs):
    for seed in range(3):
        problem = make_problem(seed=seed, count=25, signs=signs)
        expected = released_greedy(kernel_of(problem, 0.9, 0.5, normalize), 10)
        chosen = selected(MsDpp(0.1, 0.5, normalize, released=True), problem, 10)
        filling = [i for i in np.argsort(-problem.scores, kind="stable") if i not in expected]
        assert chosen == (expected + filling)[:10]


@pytest.mark.parametrize("normalize", VARIANTS)
def test_without_vectors_beta_is_0(normalize):
    problem = make_problem(seed=1, count=25, signs=(1, -1), with_vectors=False)
    expected = largest_determinants(kernel_of(problem, 0.8, 0.0, normalize), 10)
    assert selected(MsDpp(0.2, 0.6, normalize), problem, 10) == expected


def test_without_wishes_beta_is_1():
    problem = make_problem(signs=(), count=25)
    alpha = np.exp(0.8 / 0.4 * problem.scores)
    ridged = similarity(vectors(problem)) + 1e-3 * np.eye(25)
    expected = largest_determinants(alpha[:, None] * ridged * alpha, 10)
    assert selected(MsDpp(0.2, beta=0.3), problem, 10) == expected


def test_tangents_are_matrix_logarithms():
    problem = make_problem(count=40, copies=5)
    blocks = (*features(problem), vectors(problem))
    found = tangents(blocks)
    assert found.shape == (3, 40, 40)
    for tangent, rows in zip(found, blocks, strict=True):
        np.testing.assert_allclose(tangent, logarithm(rows), atol=1e-9)
        np.testing.assert_array_equal(tangent, tangent.T)


def test_combining_a_tangent_alone_gives_its_matrix_back():
    problem = make_problem(count=40)
    place, hour, image = tangents((*features(problem), vectors(problem)))
    one, r = np.ones(1), problem.scores
    ridge = 1e-3 * np.eye(40)
    kernel = similarity(features(problem)[0]) + ridge
    np.testing.assert_allclose(combine(place[None], None, r, one, one, 0.5), kernel, atol=1e-12)
    np.testing.assert_allclose(combine(place[None], image, r, one, one, 0.0), kernel, atol=1e-12)
    np.testing.assert_allclose(combine(place[None], None, r, -one, one, 0.0), np.linalg.inv(kernel), atol=1e-9)
    np.testing.assert_allclose(
        combine(hour[None], image, r, one, one, 1.0), similarity(vectors(problem)) + ridge, atol=1e-12
    )


@pytest.mark.parametrize("norm", [0.0, 1e-3, 0.79, 0.81, 5.0, 11.0, 13.0, 60.0])
def test_combining_is_the_matrix_exponential(norm):
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    values = np.linspace(-norm, norm, 30)
    tangent = (axes * values) @ axes.T
    tangent = (tangent + tangent.T) / 2 + 2.0 * np.eye(30)
    found = combine(tangent[None], None, np.ones(30), np.ones(1), np.ones(1), 0.0)
    expected = (axes * np.exp(values + 2.0)) @ axes.T
    np.testing.assert_allclose(found, expected, atol=1e-13 * max(1.0, norm) * np.exp(norm + 2.0), rtol=0)
    np.testing.assert_allclose(found, expm(tangent), atol=1e-13 * max(1.0, norm) * np.exp(norm + 2.0), rtol=0)
    np.testing.assert_array_equal(found, found.T)


def test_a_batch_of_tangents_is_each_of_them():
    rng = np.random.default_rng(4)
    raw = rng.standard_normal((3, 2, 20, 20)) * np.array([0.01, 0.3, 1.0])[:, None, None, None]
    logs = raw + np.swapaxes(raw, -1, -2)
    scores, one = np.full((3, 20), 0.5), np.ones(2)
    together = combine(logs, None, scores, one, one, 0.0)
    for found, parts, some in zip(together, logs, scores, strict=True):
        alone = combine(parts, None, some, one, one, 0.0)
        np.testing.assert_allclose(found, alone, rtol=0, atol=1e-12 * np.abs(alone).max())


def test_exponents_beyond_the_largest_are_scaled_down():
    huge = np.diag([300.0, 299.0, 0.0])
    found = combine(huge[None], None, np.ones(3), np.ones(1), np.ones(1), 0.0)
    np.testing.assert_allclose(np.diag(found)[:2], np.exp([100.0, 99.0]), rtol=1e-12)
    high = combine((np.diag([0.5, 0.0, -0.5]) + 200.0 * np.eye(3))[None], None, np.ones(3), np.ones(1), np.ones(1), 0.0)
    np.testing.assert_allclose(np.diag(high), np.exp([100.0, 99.5, 99.0]), rtol=1e-12)


def test_opposite_wishes_for_one_attribute_cancel():
    problem = make_problem(count=20)
    place = tangents(features(problem)[:1])[0]
    both = np.stack([place, place])
    for normalize in VARIANTS:
        found = combine(both, None, problem.scores, np.array([1.0, -1.0]), np.ones(2), 0.5, normalize)
        np.testing.assert_allclose(found, np.eye(20), atol=1e-12)
    thrice = np.stack([place, place, place])  # 0.1 + 0.2 - 0.3 is not 0: rounding must not be scaled up
    for normalize in VARIANTS:
        signs, weights = np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.3])
        found = combine(thrice, None, problem.scores, signs, weights, 0.5, normalize)
        np.testing.assert_allclose(found, np.eye(20), atol=1e-12)


def test_kernels_take_many_queries_at_once():
    problems = [make_problem(seed=seed, count=15, signs=(1, -1)) for seed in range(3)]
    blocks = [np.stack([features(g)[j] for g in problems]) for j in range(2)] + [
        np.stack([vectors(g) for g in problems])
    ]
    scores = np.stack([g.scores for g in problems])
    stacked = tangents(blocks)
    assert stacked.shape == (3, 3, 15, 15)
    for normalize in VARIANTS:
        together = combine(
            stacked[:, :2], stacked[:, 2], scores, problems[0].signs, problems[0].weights, 0.4, normalize
        )
        for q, g in enumerate(problems):
            alone = tangents((*features(g), vectors(g)))
            expected = combine(alone[:2], alone[2], g.scores, g.signs, g.weights, 0.4, normalize)
            np.testing.assert_allclose(together[q], expected, rtol=1e-9, atol=1e-12)


def test_unit_logarithms():
    scores = np.array([0.2, 0.4, 0.9])
    np.testing.assert_allclose(np.linalg.norm(np.log(unit_logarithm(scores))), 1.0)
    np.testing.assert_array_equal(unit_logarithm(np.ones(3)), np.ones(3))


def test_scores_that_are_all_1_have_no_tangent_to_scale_to():
    for normalize in ("tn", "tn+tvms"):
        even = make_problem(count=6, scores=np.ones(6))
        assert selected(MsDpp(0.5, normalize=normalize), even, 6) == [0, 1, 2, 3, 4, 5]


def test_copies_tie_although_their_eigenvectors_differ():
    problem = make_problem(count=200)
    images = np.repeat(vectors(problem)[:20], 10, axis=0)
    place, hour = (np.repeat(block[:20], 10, axis=0) for block in features(problem))
    for signs in [(1, 1), (-1, -1)]:
        for normalize in VARIANTS:
            bursts = replace_rows(make_problem(count=200, signs=signs), np.full(200, 0.3), (place, hour), images)
            picks = np.array(selected(MsDpp(0.5, normalize=normalize), bursts, 30))
            for burst in range(20):
                own = picks[picks // 10 == burst]
                assert own.tolist() == sorted(own.tolist())


@pytest.mark.parametrize("normalize", ["tn", "tn+tvms"])
def test_normalising_needs_positive_scores(normalize):
    problem = make_problem(count=3, scores=[0.5, 0.2, -0.1])
    with pytest.raises(InputError, match=r"^MsDpp.normalize takes logarithms and needs scores > 0, got -0.1$"):
        MsDpp(normalize=normalize).select(problem, k=2)
    assert len(selected(MsDpp(), problem, 2)) == 2


def test_options_are_checked():
    with pytest.raises(OptionError, match=r"^MsDpp.beta must be in 0..1, got -1$"):
        MsDpp(beta=-1)
    with pytest.raises(OptionError, match=r"^MsDpp.normalize must be None, 'tn' or 'tn\+tvms', got 'tvms'$"):
        MsDpp(normalize="tvms")
