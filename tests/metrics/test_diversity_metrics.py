"""Diversity metrics: properties, hand-computed values, and other people's implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mascot import metrics

ORDERS = [0, 0.1, 0.5, 1, 2, 7, math.inf]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def kernel(rng):
    return metrics.similarity_kernel(rng.normal(size=(9, 20, 5)))


# Features and kernels


def test_features_have_unit_length_and_know_the_globe(rng):
    lat, lon = rng.uniform(-90, 90, (4, 6)), rng.uniform(-180, 180, (4, 6))
    places, times = metrics.place_features(lat, lon), metrics.time_of_day_features(rng.uniform(0, 1440, (4, 6)))
    assert (places.shape, times.shape) == ((4, 6, 3), (4, 6, 2))
    assert_allclose(np.linalg.norm(places, axis=-1), 1)
    assert_allclose(np.linalg.norm(times, axis=-1), 1)
    assert_allclose(metrics.place_features(lat, lon + 360), places, atol=1e-12)
    pole = metrics.place_features([[90, 90, 90]], [[-120, 0, 77]])
    assert_allclose(metrics.pairwise_distances(pole), 0, atol=1e-15)
    quarters = metrics.time_of_day_features([np.arange(5) * 1439 / 4])
    assert_allclose(quarters[0], [[0, 1], [1, 0], [0, -1], [-1, 0], [0, 1]], atol=1e-12)


def test_distances_of_places_are_chords_of_the_haversine_angle(rng):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    lat, lon = rng.uniform(-90, 90, (1, 30)), rng.uniform(-180, 180, (1, 30))
    angles = pairwise.haversine_distances(np.radians(np.stack([lat[0], lon[0]], axis=1)))
    chords = metrics.pairwise_distances(metrics.place_features(lat, lon))
    assert_allclose(chords[0], 2 * np.sin(angles / 2), atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 8, 256), (700, 20, 3), (2, 60, 80)])
def test_distances_agree_with_scikit_learn(rng, shape):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    features = rng.normal(size=shape)
    distances = metrics.pairwise_distances(features)
    for query in {0, shape[0] // 2, shape[0] - 1}:
        theirs = pairwise.paired_euclidean_distances(*_all_pairs(features[query]))
        assert_allclose(distances[query], theirs.reshape(shape[1], shape[1]))


def _all_pairs(points):
    n = len(points)
    return np.repeat(points, n, axis=0), np.tile(points, (n, 1))


def test_blocks_do_not_show(rng):
    features = rng.normal(size=(50, 20, 256))
    together = metrics.pairwise_distances(features)
    for query in (0, 1, 2, 31, 49):
        assert_array_equal(together[query], metrics.pairwise_distances(features[query : query + 1])[0])


def test_kernel_is_symmetric_and_one_for_equal_results(rng):
    features = rng.normal(size=(5, 10, 4)) * 1000
    features[:, 3] = features[:, 8]
    kernel = metrics.similarity_kernel(features)
    assert_array_equal(kernel, kernel.transpose(0, 2, 1))
    assert_array_equal(kernel[:, 3, 8], 1.0)
    assert_array_equal(np.einsum("qii->qi", kernel), 1.0)
    assert (np.linalg.eigvalsh(kernel) > -1e-12).all()


# Vendi score


@pytest.mark.parametrize("order", ORDERS)
def test_vendi_counts_groups_of_equal_results(order):
    """m groups of equal size with nothing in common count as m, whatever the order."""
    for groups in (1, 2, 5, 10):
        blocks = np.kron(np.eye(groups), np.ones((10 // groups, 10 // groups)))
        assert_allclose(metrics.vendi(blocks[None], order=order, ridge=0), groups)


def test_vendi_falls_with_its_order_and_ignores_that_of_the_results(kernel, rng):
    by_order = np.array([metrics.vendi(kernel, order=order, ridge=0) for order in ORDERS])
    assert (np.diff(by_order, axis=0) < 0).all()
    assert (by_order >= 1).all()
    assert (by_order <= 20 + 1e-9).all()
    shuffle = rng.permutation(20)
    shuffled = kernel[:, shuffle][:, :, shuffle]
    assert_allclose([metrics.vendi(shuffled, order=order, ridge=0) for order in ORDERS], by_order)
    for order in (1 - 1e-6, 1 + 1e-6):
        assert_allclose(metrics.vendi(kernel, order=order, ridge=0), by_order[ORDERS.index(1)], rtol=1e-5)
    limit = metrics.vendi(kernel, order=math.inf)  # without underflow
    assert_allclose(metrics.vendi(kernel, order=1e5), limit, rtol=1e-4)


def test_vendi_grows_when_a_duplicate_is_replaced(rng):
    features = rng.normal(size=(30, 8, 3))
    doubled = features.copy()
    doubled[:, 1] = doubled[:, 0]
    more = metrics.vendi(metrics.similarity_kernel(features))
    assert (more > metrics.vendi(metrics.similarity_kernel(doubled))).all()


def test_published_vendi_by_hand():
    """Two results at distance 1: S = [[1, .5], [.5, 1]], eigenvalues of S/2 are 3/4 and 1/4."""
    kernel = metrics.similarity_kernel([[[0.0], [1.0]]])
    by_hand = math.exp(math.log((0.75 + 1e-5) ** 0.1 + (0.25 + 1e-5) ** 0.1) / 0.9)
    assert_allclose(metrics.vendi(kernel), [by_hand])
    assert_allclose(metrics.normalised_vendi(kernel), [by_hand - 1])
    shannon = math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert_allclose(metrics.vendi(kernel, order=1, ridge=0), [shannon])
    assert_allclose(metrics.vendi(kernel, order=2, ridge=0), [1 / (0.75**2 + 0.25**2)])
    assert_allclose(metrics.vendi(kernel, order=math.inf, ridge=0), [1 / 0.75])
    assert_allclose(metrics.vendi(kernel, order=0, ridge=0), [2])


def test_the_ridge_lifts_equal_results():
    """Twenty equal results: one eigenvalue 1 + 1e-5 and nineteen of 1e-5."""
    by_hand = ((1 + 1e-5) ** 0.1 + 19 * 1e-5**0.1) ** (1 / 0.9)
    assert_allclose(metrics.vendi(np.ones((1, 20, 20))), [by_hand], rtol=1e-6)
    assert_allclose(metrics.normalised_vendi(np.ones((1, 20, 20))), [(by_hand - 1) / 19], rtol=1e-6)
    assert_allclose(metrics.vendi(np.ones((1, 20, 20)), ridge=0), [1])


@pytest.mark.parametrize("order", ORDERS)
def test_normalised_vendi_runs_from_zero_to_one(order):
    ends = np.stack([np.ones((20, 20)), np.eye(20)])
    assert_allclose(metrics.normalised_vendi(ends, order=order, ridge=0), [0, 1], atol=1e-12)
    held = metrics.normalised_vendi(ends, order=order)
    assert (held >= 0).all()
    assert (held <= 1).all()


@pytest.mark.parametrize("order", [0.1, 0.5, 1, 2, math.inf])
def test_vendi_agrees_with_vendi_score(kernel, order):
    vendi_score = pytest.importorskip("vendi_score.vendi")
    theirs = [vendi_score.score_K(each, q="inf" if order == math.inf else order) for each in kernel]
    assert_allclose(metrics.vendi(kernel, order=order, ridge=0), theirs)


def test_vendi_of_cosines_agrees_with_vendi_score_on_vectors(rng):
    vendi_score = pytest.importorskip("vendi_score.vendi")
    vectors = rng.normal(size=(4, 12, 30))
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    theirs = [vendi_score.score_X(each, q=1) for each in vectors]
    assert_allclose(metrics.vendi(unit @ unit.transpose(0, 2, 1), order=1, ridge=0), theirs)


def test_each_attribute_is_scored_on_its_own_features(rng):
    features = {
        "place": metrics.place_features(rng.uniform(-90, 90, (3, 9)), rng.uniform(-180, 180, (3, 9))),
        "hour": metrics.time_of_day_features(rng.uniform(0, 1440, (3, 9))),
    }
    scores = metrics.vendi_by_attribute(features)
    assert list(scores) == ["place", "hour"]
    for name, block in features.items():
        assert_array_equal(scores[name], metrics.normalised_vendi(metrics.similarity_kernel(block)))


# Distances inside a list


def test_ilmd_is_at_most_ilad_and_both_scale_with_the_distances(rng):
    distances = metrics.pairwise_distances(rng.normal(size=(40, 7, 3)))
    assert (metrics.ilmd(distances) <= metrics.ilad(distances)).all()
    assert_allclose(metrics.ilad(3 * distances), 3 * metrics.ilad(distances))
    assert_allclose(metrics.ilmd(3 * distances), 3 * metrics.ilmd(distances))


def test_inside_distances_agree_with_scipy(rng):
    distance = pytest.importorskip("scipy.spatial.distance")
    features = rng.normal(size=(10, 7, 3))
    pairs = np.array([distance.pdist(each) for each in features])
    distances = metrics.pairwise_distances(features)
    assert_allclose(metrics.ilad(distances), pairs.mean(axis=1))
    assert_allclose(metrics.ilmd(distances), pairs.min(axis=1))


# DM and the overall score


def test_focus_inverts_the_metadata_channel_only(rng):
    looks, meta = rng.random(50), rng.random(50)
    focus = metrics.dm_per_query(looks, meta, focus=True)
    assert_allclose(focus, metrics.dm_per_query(looks, 1 - meta, focus=False))
    assert_allclose(metrics.metadata_channel(metrics.metadata_channel(meta, focus=True), focus=True), meta)


def test_dm_by_hand_and_by_scipy(rng):
    stats = pytest.importorskip("scipy.stats")
    assert_allclose(metrics.dm_per_query([0.9, 0.6], [0.3, 0.6], focus=False), [0.45, 0.6])
    assert_allclose(metrics.dm([0.9, 0.6], [0.3, 0.6], focus=False), 2 / (1 / 0.45 + 1 / 0.6))
    looks, meta = rng.random(50), rng.random(50)
    per_query = stats.hmean(np.stack([looks, 1 - meta]), axis=0)
    assert_allclose(metrics.dm_per_query(looks, meta, focus=True), per_query)
    assert_allclose(metrics.dm(looks, meta, focus=True), stats.hmean(per_query))


def test_one_query_without_diversity_makes_dm_zero():
    assert metrics.dm([0.9, 0.9], [0.5, 1.0], focus=True) == 0.0
    assert metrics.dm([0.0, 0.9], [0.0, 0.9], focus=False) == 0.0
    assert metrics.harmonic_mean([1e-320, 1.0]) == 0.0


@pytest.mark.parametrize("values", [[0.2, 0.9, 0.4], [1e-300, 1.0], [0.0, 0.5], [3.0]])
def test_harmonic_mean_agrees_with_scipy_and_stays_in_range(values):
    stats = pytest.importorskip("scipy.stats")
    mean = metrics.harmonic_mean(values)
    assert_allclose(mean, stats.hmean(values), atol=1e-300)
    assert min(values) - 1e-12 <= mean <= np.mean(values) + 1e-12


@pytest.mark.parametrize(
    ("quality", "diversity", "published"),
    [
        (0.9737, 0.1656, 0.2831),  # base, place and hour, focus
        (0.4931, 0.3158, 0.3850),  # MS-DPP, place and hour, focus
        (0.9737, 0.9142, 0.9430),  # base, place and hour, spread
        (0.7442, 0.3294, 0.4566),  # base, Incidents1M with MAP, focus
    ],
)
def test_overall_reproduces_published_rows(quality, diversity, published):
    assert metrics.overall(quality, diversity) == pytest.approx(published, abs=1e-4)
    assert metrics.overall(diversity, quality) == metrics.overall(quality, diversity)
    assert metrics.overall(quality, 0.0) == 0.0
