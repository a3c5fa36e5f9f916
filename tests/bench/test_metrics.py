"""Metrics: hand-computed values, properties, other people's implementations, and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mascot.bench import metrics


@pytest.fixture
def rng():
    return np.random.default_rng(20)


SWEEP = np.linspace(0, 1, 11)


def test_prs_and_tau_by_hand():
    for curve in (SWEEP, SWEEP**3, 0.3 + 0.001 * np.sqrt(SWEEP)):
        for sign in (1, -1):
            assert metrics.prs(sign * curve) == pytest.approx(sign)
            assert metrics.kendall_tau(SWEEP, sign * curve) == pytest.approx(sign)
    # Of six pairs three rise, two fall and one is tied in diversity.
    assert metrics.kendall_tau([0, 1, 2, 3], [0.1, 0.3, 0.3, 0.2]) == pytest.approx((3 - 2) / np.sqrt(6 * 5))
    # PRS is blind to a collapse that tau sees; a knob that moves nothing scores zero.
    assert metrics.prs([0.1, 0.9, 0.5, 0.3, 0.9]) == 1.0
    assert metrics.prs([0.4] * 3) == metrics.kendall_tau([0, 0.5, 1], [0.4] * 3) == 0.0


def test_displacement_counts_only_right_first_results_that_were_moved():
    moved = metrics.displacement(
        first=[0, 1, 2, 2, 3], base_first=[0, 0, 0, 0, 0], base_right=[1, 1, 1, 0, 1], bins=[0, 0, 1, -1]
    )
    assert_array_equal(moved.displaced, [False, True, True, False, True])
    assert_array_equal(moved.other_bin, [False, False, True, False, True])
    assert moved.share == 2 / 3
    assert metrics.displacement([1, 0], [1, 2], [1, 0], bins=[0, 1, 2]).share is None
    membership = [[0.2, 0.7, 0.7], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-9]]  # the lowest of the largest
    assert_array_equal(metrics.primary_bin(membership), [1, -1, 2])
    assert_array_equal(metrics.top1_agreement([4, 5, 6], [4, 6, 5]), [1, 0, 0])


def test_fronts():
    """Published points of the base, MS-DPP+TN+TVMS and MS-DPP on place and hour, focus."""
    recall, diversity = [0.9737, 0.9021, 0.4931], [0.1656, 0.2066, 0.3158]
    front = metrics.fixed_recall_front(recall, diversity, [0.95, 0.90, 0.40, 0.98])
    assert [point and point.diversity for point in front] == [0.1656, 0.2066, 0.3158, None]
    # A floor that is met exactly counts; ties go to the better other value, and then to the first.
    assert metrics.fixed_recall_front([0.5], [0.2], [0.5]) == (metrics.OperatingPoint(0, 0.5, 0.2),)
    assert metrics.fixed_recall_front([0.5, 0.7, 0.7], [0.3, 0.3, 0.3], [0.1])[0].index == 1


ORDERS = [0.1, 1, math.inf]


@pytest.fixture
def kernel(rng):
    return metrics.similarity_kernel(rng.normal(size=(9, 20, 5)))


def test_features_know_the_globe_and_the_day(rng):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    lat, lon = rng.uniform(-90, 90, (1, 30)), rng.uniform(-180, 180, (1, 30))
    places = metrics.place_features(lat, lon)
    assert_allclose(np.linalg.norm(places, axis=-1), 1)
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
def test_vendi_is_the_exponential_of_renyi_entropy(kernel, order):
    shares = np.linalg.eigvalsh(kernel / kernel.shape[1])
    shares = [each[each > 1e-12] for each in shares]
    if order == 1:
        theirs = [math.exp(-(each * np.log(each)).sum()) for each in shares]
    else:
        theirs = [1 / each.max() if order == math.inf else (each**order).sum() ** (1 / (1 - order)) for each in shares]
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


@pytest.fixture
def relevant(rng):
    """Return 60 lists of 12; about one in six has no positive at all."""
    flags = rng.random((60, 12)) < rng.choice([0.02, 0.2, 0.6], size=(60, 1))
    flags[0] = False
    flags[1] = True
    return flags


def test_hand_computed():
    lists = [[0, 1, 0, 1, 1], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]
    assert_array_equal(metrics.recall_at_k(lists, 1), [0, 1, 0])
    assert_allclose(metrics.average_precision_at_k(lists, 4), [(1 / 2 + 2 / 4) / 2, 1, 0])
    clusters = [[2, 2, -1, 0, 5], [-1, -1, -1, -1, 1]]
    assert_allclose(metrics.cluster_recall_at_k(clusters, [6, 3], 3), [1 / 6, 0])
    assert_allclose(metrics.cluster_recall_at_k(clusters, [6, 3], 5), [3 / 6, 1 / 3])
    assert_allclose(metrics.f1_at_k([[1, 1, 0, 1, 1], [0, 0, 0, 0, 1]], clusters, [6, 3], 5), [8 / 13, 0.25])
    assert_array_equal(metrics.f1_at_k([[0, 0]], [[-1, -1]], [6], 2), [0.0])


def test_the_best_k_keep_all_relevance_exactly(rng):
    relevance = rng.random((50, 30))
    best = rng.permuted(np.argsort(-relevance, axis=1)[:, :7], axis=1)
    assert_array_equal(metrics.relevance_kept(relevance, best), 1.0)
    assert_array_equal(metrics.relevance_kept([[0.0, 0.0, 0.0]], [[2]]), [1.0])  # zero cannot be lost


def _trec(relevant, measures, missed=0):
    """Return per-query values of ir-measures; `missed` positives per query were never retrieved."""
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = [], []
    for query, row in enumerate(relevant):
        for rank, flag in enumerate(row):
            qrels.append(ir_measures.Qrel(f"q{query}", f"d{rank}", int(flag)))
            run.append(ir_measures.ScoredDoc(f"q{query}", f"d{rank}", float(len(row) - rank)))
        qrels += [ir_measures.Qrel(f"q{query}", f"missed{i}", 1) for i in range(missed)]
    parsed = [ir_measures.parse_measure(name) for name in measures]
    values = {name: np.full(len(relevant), np.nan) for name in measures}
    for metric in ir_measures.iter_calc(parsed, qrels, run):
        values[str(metric.measure)][int(metric.query_id[1:])] = metric.value
    return values


@pytest.mark.parametrize("missed", [0, 3])
def test_agrees_with_ir_measures(relevant, rng, missed):
    trec = _trec(relevant, ["Success@5", "P@5", "RR", "AP@12"], missed)
    assert_allclose(metrics.recall_at_k(relevant, 5), trec["Success@5"])
    assert_allclose(metrics.precision_at_k(relevant, 5), trec["P@5"])
    assert_allclose(metrics.reciprocal_rank(relevant), trec["RR"])
    # TREC divides by all positives, ours by those found.
    found = relevant.sum(axis=1)
    share = found / np.maximum(found + missed, 1)
    assert_allclose(metrics.average_precision_at_k(relevant, 12) * share, trec["AP@12"])
    grades = rng.integers(0, 4, size=(20, 8))
    judged = np.concatenate([grades, np.ones((20, missed))], axis=1)
    assert_allclose(metrics.ndcg_at_k(grades, judged, 5), _trec(grades, ["nDCG@5"], missed)["nDCG@5"])
