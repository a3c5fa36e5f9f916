"""Clustering, and the k-means under it."""

import numpy as np
import pytest
from problems import features, make_problem, selected, vectors

from mascot.errors import OptionError
from mascot.kernels import kmeans as module
from mascot.kernels.kmeans import kmeans
from mascot.kernels.similarity import joined
from mascot.methods.clustering import Clustering


def by_definition(problem, clusters, seed):
    rows = joined(features(problem), problem.signs, problem.weights, vectors(problem))
    labels, _ = kmeans(rows, clusters, seed)
    members = {}
    for i in sorted(range(len(rows)), key=lambda i: (-problem.scores[i], i)):
        members.setdefault(labels[i], []).append(i)
    ranked = sorted(members.values(), key=lambda own: -np.mean(problem.scores[own]))
    if (problem.signs < 0).any():
        return [i for own in ranked for i in own]
    longest = max(len(own) for own in ranked)
    return [own[turn] for turn in range(longest) for own in ranked if turn < len(own)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("clusters", [1, 5, 12, 40])
@pytest.mark.parametrize("signs", [(1, 1), (-1, -1), (-1,), ()], ids=str)
def test_is_the_definition(seed, clusters, signs):
    problem = make_problem(seed=seed, signs=signs)
    chosen = selected(Clustering(clusters=clusters, seed=seed), problem, 30)
    assert chosen == by_definition(problem, clusters, seed)


@pytest.mark.parametrize("sign", [1, -1])
def test_as_many_clusters_as_candidates_is_relevance(sign):
    assert selected(Clustering(clusters=40), make_problem(signs=(sign,)), 30) == list(range(30))


def test_clusters_of_equal_scores_are_ranked_by_position():
    problem = make_problem(scores=np.full(30, 0.1))  # 0.1 * 3 / 3 is not 0.1: naive means would not tie
    for sign in (1, -1):
        signed = make_problem(scores=np.full(30, 0.1), signs=(sign, sign))
        labels, _ = kmeans(joined(features(problem), problem.signs, problem.weights, vectors(problem)), 7, 0)
        chosen = selected(Clustering(clusters=7), signed, 30)
        opened = [labels[i] for i in chosen]
        first_seen = list(dict.fromkeys(opened))
        assert first_seen == list(dict.fromkeys(labels))


def test_strength_mixes_two_rankings():
    problem = make_problem(seed=3, signs=(-1, -1))
    full = selected(Clustering(clusters=6), problem, 30)
    places = {i: 0.75 * i + 0.25 * full.index(i) for i in range(30)}
    expected = sorted(range(30), key=lambda i: (places[i], i))
    assert selected(Clustering(strength=0.25, clusters=6), problem, 30) == expected


def test_wishes_share_one_direction():
    with pytest.raises(OptionError, match=r"^Clustering has one direction: wishes must be all spread or all focus$"):
        Clustering().select(make_problem(signs=(1, -1)), k=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": 0}, "Clustering.clusters must be a whole number >= 1, got 0"),
        ({"seed": -1}, "Clustering.seed must be a whole number >= 0, got -1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(OptionError, match=f"^{message}$"):
        Clustering(**options)


def blobs(seed=0, centres=12, each=40, width=5):
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-50, 50, size=(centres, width))
    truth = rng.permutation(np.repeat(np.arange(centres), each))
    return middles[truth] + rng.normal(scale=0.1, size=(len(truth), width)), truth


def test_kmeans_finds_blobs():
    points, truth = blobs()
    labels, centres = kmeans(points, 12, seed=0)
    pairs = {(a, b) for a, b in zip(labels.tolist(), truth.tolist(), strict=True)}
    assert len(pairs) == len(centres) == 12


@pytest.mark.parametrize("seed", range(4))
def test_kmeans_ends_where_lloyd_ends(seed):
    points = np.random.default_rng(seed).normal(size=(300, 4))
    labels, centres = kmeans(points, 15, seed, iterations=500)
    squared = ((points[:, None] - centres) ** 2).sum(axis=-1)
    np.testing.assert_array_equal(labels, squared.argmin(axis=1))
    for cluster in range(15):
        np.testing.assert_allclose(centres[cluster], points[labels == cluster].mean(axis=0))


@pytest.mark.parametrize("iterations", [1, 2, 50])
def test_kmeans_leaves_no_cluster_empty(iterations):
    for seed in range(20):
        points = np.random.default_rng(seed).integers(0, 4, size=(60, 2)).astype(float)
        labels, centres = kmeans(points, 14, seed, iterations)
        assert len(centres) == 14
        assert (np.bincount(labels, minlength=14) > 0).all()
        for cluster in range(14):
            np.testing.assert_allclose(centres[cluster], points[labels == cluster].mean(axis=0))


def test_kmeans_refills_an_empty_cluster_with_the_farthest_point():
    labels = np.array([0, 0, 0, 1])
    squared = np.array([1.0, 4.0, 2.0, 9.0])
    module._refill(labels, squared, 3)
    assert labels.tolist() == [0, 2, 0, 1]  # the last point is farther, but alone in its cluster


def test_kmeans_with_fewer_distinct_points_than_clusters():
    points = np.repeat(np.array([[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]]), [5, 1, 3], axis=0)
    labels, centres = kmeans(points, 8, seed=1)
    np.testing.assert_allclose(centres[labels], points)
    assert centres.shape == (3, 2)
    assert kmeans(np.ones((4, 3)), 8, seed=1)[1].tolist() == [[1.0, 1.0, 1.0]]
    assert kmeans(np.zeros((4, 3)), 2, seed=1)[0].tolist() == [0, 0, 0, 0]


def test_kmeans_of_one_point_and_of_none():
    labels, centres = kmeans(np.array([[3.0, 4.0]]), 5, seed=0)
    assert (labels.tolist(), centres.tolist()) == ([0], [[3.0, 4.0]])
    labels, centres = kmeans(np.empty((0, 7)), 5, seed=0)
    assert (labels.shape, centres.shape) == ((0,), (0, 7))


def test_kmeans_depends_on_nothing_but_its_arguments(monkeypatch):
    points, _ = blobs(seed=2)
    labels, centres = kmeans(points, 12, seed=5)
    again, _ = kmeans(points, 12, seed=5)
    np.testing.assert_array_equal(labels, again)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 100)  # many small blocks in place of one, and float32
    chunked, chunked_centres = kmeans(points, 12, seed=5)
    np.testing.assert_array_equal(labels, chunked)
    np.testing.assert_allclose(centres, chunked_centres)


def test_kmeans_takes_single_precision():
    points, truth = blobs(seed=3)
    labels, centres = kmeans(points.astype(np.float32), 12, seed=0)
    assert centres.dtype == np.float64
    assert len({(a, b) for a, b in zip(labels.tolist(), truth.tolist(), strict=True)}) == 12
