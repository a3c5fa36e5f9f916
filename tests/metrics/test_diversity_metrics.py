"""Diversity metrics: properties, hand-computed values, and other people's implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mascot import metrics

ORDERS = [0.1, 1, math.inf]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def kernel(rng):
    return metrics.similarity_kernel(rng.normal(size=(9, 20, 5)))


def test_features_have_unit_length_and_know_the_globe(rng):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    lat, lon = rng.uniform(-90, 90, (1, 30)), rng.uniform(-180, 180, (1, 30))
    places, times = metrics.place_features(lat, lon), metrics.time_of_day_features(rng.uniform(0, 1440, (1, 30)))
    assert_allclose(np.linalg.norm(places, axis=-1), 1)
    assert_allclose(np.linalg.norm(times, axis=-1), 1)
    assert_allclose(metrics.place_features(lat, lon + 360), places, atol=1e-12)
    angles = pairwise.haversine_distances(np.radians(np.stack([lat[0], lon[0]], axis=1)))
    assert_allclose(metrics.pairwise_distances(places)[0], 2 * np.sin(angles / 2), atol=1e-9)
    quarters = metrics.time_of_day_features([np.arange(5) * 1439 / 4])
    assert_allclose(quarters[0], [[0, 1], [1, 0], [0, -1], [-1, 0], [0, 1]], atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1, 1), (700, 20, 3)])
def test_distances_inside_a_list_agree_with_scipy(rng, shape):
    distance = pytest.importorskip("scipy.spatial.distance")
    features = rng.normal(size=shape)
    distances = metrics.pairwise_distances(features)
    queries = sorted({0, shape[0] // 2, shape[0] - 1})
    for query in queries:
        assert_allclose(distances[query], distance.cdist(features[query], features[query]), atol=1e-12)
        alone = metrics.pairwise_distances(features[query : query + 1])[0]  # blocks do not show
        assert_array_equal(distances[query], alone)
    if shape[1] > 1:
        pairs = np.array([distance.pdist(features[query]) for query in queries])
        assert_allclose(metrics.ilad(distances[queries]), pairs.mean(axis=1))
        assert_allclose(metrics.ilmd(distances[queries]), pairs.min(axis=1))


def test_kernel_is_symmetric_and_one_for_equal_results(rng):
    features = rng.normal(size=(5, 10, 4)) * 1000
    features[:, 3] = features[:, 8]
    kernel = metrics.similarity_kernel(features)
    assert_array_equal(kernel, kernel.transpose(0, 2, 1))
    assert_array_equal(kernel[:, 3, 8], 1.0)
    assert (np.linalg.eigvalsh(kernel) > -1e-12).all()
    own = metrics.vendi_by_attribute({"place": features, "hour": features[..., :2]})
    assert list(own) == ["place", "hour"]
    assert_array_equal(own["place"], metrics.normalised_vendi(kernel))


@pytest.mark.parametrize("order", ORDERS)
def test_vendi_counts_groups_of_equal_results(order):
    for groups in (1, 5):
        blocks = np.kron(np.eye(groups), np.ones((10 // groups, 10 // groups)))
        assert_allclose(metrics.vendi(blocks[None], order=order, ridge=0), groups)
    ends = np.stack([np.ones((20, 20)), np.eye(20)])
    assert_allclose(metrics.normalised_vendi(ends, order=order, ridge=0), [0, 1], atol=1e-12)
    held = metrics.normalised_vendi(ends, order=order)
    assert ((held >= 0) & (held <= 1)).all()


def test_published_vendi_by_hand():
    """Two results at distance 1: S = [[1, .5], [.5, 1]], eigenvalues of S/2 are 3/4 and 1/4; and twenty equal ones."""
    kernel = metrics.similarity_kernel([[[0.0], [1.0]]])
    by_hand = math.exp(math.log((0.75 + 1e-5) ** 0.1 + (0.25 + 1e-5) ** 0.1) / 0.9)
    assert_allclose(metrics.vendi(kernel), [by_hand])
    assert_allclose(metrics.normalised_vendi(kernel), [by_hand - 1])
    by_hand = ((1 + 1e-5) ** 0.1 + 19 * 1e-5**0.1) ** (1 / 0.9)  # the ridge lifts equal results
    assert_allclose(metrics.vendi(np.ones((1, 20, 20))), [by_hand], rtol=1e-6)
    assert_allclose(metrics.normalised_vendi(np.ones((1, 20, 20))), [(by_hand - 1) / 19], rtol=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_vendi_agrees_with_vendi_score(kernel, order):
    vendi_score = pytest.importorskip("vendi_score.vendi")
    theirs = [vendi_score.score_K(each, q="inf" if order == math.inf else order) for each in kernel]
    assert_allclose(metrics.vendi(kernel, order=order, ridge=0), theirs)


def test_dm_by_hand_and_by_scipy(rng):
    stats = pytest.importorskip("scipy.stats")
    assert_allclose(metrics.dm_per_query([0.9, 0.6], [0.3, 0.6], focus=False), [0.45, 0.6])
    assert_allclose(metrics.dm([0.9, 0.6], [0.3, 0.6], focus=False), 2 / (1 / 0.45 + 1 / 0.6))
    looks, meta = rng.random(50), rng.random(50)
    per_query = stats.hmean(np.stack([looks, 1 - meta]), axis=0)
    assert_allclose(metrics.dm_per_query(looks, meta, focus=True), per_query)
    assert_allclose(metrics.dm(looks, meta, focus=True), stats.hmean(per_query))
    for values in ([0.2, 0.9, 0.4], [1e-300, 1.0], [0.0, 0.5], [3.0]):
        assert_allclose(metrics.harmonic_mean(values), stats.hmean(values), atol=1e-300)
    # One query without diversity makes the result zero.
    assert metrics.dm([0.9, 0.9], [0.5, 1.0], focus=True) == metrics.dm([0.0, 0.9], [0.0, 0.9], focus=False) == 0.0
    assert metrics.harmonic_mean([1e-320, 1.0]) == 0.0


@pytest.mark.parametrize(
    ("quality", "diversity", "published"),
    [
        (0.9737, 0.1656, 0.2831),  # base, place and hour, focus
        (0.9737, 0.9142, 0.9430),  # base, place and hour, spread
        (0.7442, 0.3294, 0.4566),  # base, Incidents1M with MAP, focus
    ],
)
def test_overall_reproduces_published_rows(quality, diversity, published):
    assert metrics.overall(quality, diversity) == metrics.overall(diversity, quality)
    assert metrics.overall(quality, diversity) == pytest.approx(published, abs=1e-4)
    assert metrics.overall(quality, 0.0) == 0.0
