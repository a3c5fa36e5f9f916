"""Retrieval metrics: hand-computed values, properties, and other people's implementations."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mascot import metrics


@pytest.fixture
def rng():
    return np.random.default_rng(20)


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
    assert_array_equal(metrics.precision_at_k(lists, 5), [0.6, 0.4, 0.0])
    assert_allclose(metrics.average_precision_at_k(lists, 5), [(1 / 2 + 2 / 4 + 3 / 5) / 3, (1 + 2 / 5) / 2, 0])
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
    others = rng.permuted(np.tile(np.arange(30), (50, 1)), axis=1)[:, :7]
    assert (metrics.relevance_kept(relevance, others) <= 1).all()
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


def test_div400_topics_agree_with_plain_sets(div400):
    topics = defaultdict(list)
    for photo in div400:
        topics[photo["topic"]].append(photo)
    k = 20
    clusters, total, relevant, expected = [], [], [], []
    for photos in topics.values():
        photos.sort(key=lambda photo: photo["rank"])
        labels = [photo["cluster"] if photo["rel"] == 1 and photo["cluster"] is not None else -1 for photo in photos]
        total.append(len({label for label in labels if label >= 0}))
        clusters.append(labels[:k])
        relevant.append([int(photo["rel"] == 1) for photo in photos[:k]])
        seen = len({label for label in labels[:k] if label >= 0}) / total[-1]
        share = sum(relevant[-1]) / k
        expected.append(2 * share * seen / (share + seen) if share + seen else 0.0)
    assert_allclose(metrics.f1_at_k(relevant, clusters, total, k), expected)
