"""MS-DPP against scipy's matrix functions and determinants."""

import numpy as np
import pytest
from problems import (
    bursts,
    features,
    largest_determinants,
    make_problem,
    released_greedy,
    selected,
    similarity,
    vectors,
)
from scipy.linalg import expm, logm

from mascot.errors import InputError
from mascot.kernels.tangents import combine, tangents
from mascot.methods.msdpp import MsDpp

every_variant = pytest.mark.parametrize("normalize", [None, "tn", "tn+tvms"])


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
    combined = image
    if parts:
        signed = [s * t for s, t in zip(problem.signs, parts, strict=True)]
        combined = np.average(signed, axis=0, weights=problem.weights)
        if normalize == "tn":
            combined = to_norm(combined, length)
        if image is not None:
            combined = (1 - beta) * combined + beta * image
    if normalize == "tn+tvms":
        scores = np.exp(np.log(scores) / length)
        combined = to_norm(combined, np.linalg.norm(np.log(scores)))
    alpha = np.diag(np.exp(theta / (2 * (1 - theta)) * scores))
    return alpha @ expm(combined) @ alpha


@every_variant
@pytest.mark.parametrize(
    ("shape", "strength", "beta"),
    [
        ({"signs": (1, -1), "weights": (1, 2)}, 0.1, 0.5), ({"signs": (-1, -1), "weights": (1, 2)}, 1.0, 0.6),
        ({"with_vectors": False}, 0.1, 0.5), ({"signs": ()}, 0.1, 0.5),
    ],
)  # fmt: skip
def test_every_step_is_the_largest_determinant(normalize, shape, strength, beta):
    problem = make_problem(seed=1, count=15, **shape)
    expected = largest_determinants(kernel_of(problem, 1 - strength, beta, normalize), 7)
    assert selected(MsDpp(strength, beta, normalize), problem, 7) == expected


@every_variant
@pytest.mark.parametrize("signs", [(1, 1), (1, -1)], ids=str)
def test_released_is_the_published_update(normalize, signs):
    problem = make_problem(count=25, signs=signs)
    expected = released_greedy(kernel_of(problem, 0.9, 0.5, normalize), problem.scores, 10)
    assert selected(MsDpp(0.1, 0.5, normalize, released=True), problem, 10) == expected


def test_exponents_beyond_the_largest_are_scaled_down():
    tangent = np.diag([0.5, 0.0, -0.5]) + 200.0 * np.eye(3)
    matrix = combine(tangent[None], None, np.ones(3), np.ones(1), np.ones(1), 0.0)
    np.testing.assert_allclose(np.diag(matrix), np.exp([100.0, 99.5, 99.0]), rtol=1e-12)


@every_variant
def test_opposite_wishes_for_one_attribute_cancel(normalize):
    problem = make_problem(count=20)
    place = tangents(features(problem)[:1])[0]
    signs, weights = np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.3])  # 0.1 + 0.2 - 0.3 is not 0
    matrix = combine(np.stack([place] * 3), None, problem.scores, signs, weights, 0.5, normalize)
    np.testing.assert_allclose(matrix, np.eye(20), atol=1e-12)


@pytest.mark.parametrize("normalize", ["tn", "tn+tvms"])
def test_normalising_needs_positive_scores(normalize):
    even = make_problem(count=6, scores=np.ones(6))  # there is no tangent to scale to
    assert selected(MsDpp(0.5, normalize=normalize), even, 6) == [0, 1, 2, 3, 4, 5]
    problem = make_problem(count=3, scores=[0.5, 0.2, -0.1])
    with pytest.raises(InputError, match=r"^MsDpp.normalize takes logarithms and needs scores > 0, got -0.1$"):
        MsDpp(normalize=normalize).select(problem, k=2)
    assert len(selected(MsDpp(), problem, 2)) == 2


@every_variant
def test_copies_tie_although_their_eigenvectors_differ(normalize):
    picks = selected(MsDpp(0.5, normalize=normalize), bursts(), 30)
    for burst in range(20):
        own = [pick for pick in picks if pick // 10 == burst]
        assert own == sorted(own)
