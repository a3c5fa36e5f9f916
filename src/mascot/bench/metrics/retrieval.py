"""Metrics of retrieval: one value per query."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mascot.bench.metrics import _checks
from mascot.bench.metrics._checks import Bools, Floats
from mascot.bench.metrics.diversity import _harmonic
from mascot.errors import InputError


def recall_at_k(relevant: ArrayLike, k: int) -> Floats:
    """R@k of image retrieval: 1.0 if *any* positive is among the first k results, otherwise 0.0.

    TREC calls this **Success@k** (hit rate). TREC's recall, the share of a query's positives that are
    retrieved, is the same number only if each query has exactly one positive.

    Parameters
    ----------
    relevant : array_like of shape [Q, K]
        1 where the result at that rank is a positive, best rank first. Pad short lists with 0.
    k : int
        Cutoff, 1 <= k <= K.

    Examples
    --------
    >>> recall_at_k([[0, 0, 1], [1, 0, 1]], k=2)
    array([0., 1.])
    """
    return np.where(_first_k("recall_at_k", relevant, k).any(axis=1), 1.0, 0.0)


def precision_at_k(relevant: ArrayLike, k: int) -> Floats:
    """P@k: share of the first k results that are positives. Parameters are those of :func:`recall_at_k`.

    Examples
    --------
    >>> precision_at_k([[0, 0, 1, 0], [1, 0, 1, 1]], k=4)
    array([0.25, 0.75])
    """
    return _first_k("precision_at_k", relevant, k).mean(axis=1, dtype=np.float64)


def average_precision_at_k(relevant: ArrayLike, k: int) -> Floats:
    """AP@k over the *retrieved* positives; its mean over queries is the published MAP.

    ``AP@k(q) = sum_{i <= k} rel(q, i) * P@i(q) / sum_{i <= k} rel(q, i)``, and 0 if no positive is retrieved.

    TREC divides by all positives of the query, so that a missed positive costs. Here one positive at rank 1
    and nineteen missed ones score 1.0: report recall as well. Parameters are those of :func:`recall_at_k`.

    Examples
    --------
    >>> average_precision_at_k([[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]], k=4)
    array([0.5, 1. , 0. ])
    """
    hits = _first_k("average_precision_at_k", relevant, k)
    positives = hits.cumsum(axis=1, dtype=np.float64)
    total = np.where(hits, positives / np.arange(1, k + 1), 0.0).sum(axis=1)
    return total / np.maximum(positives[:, -1], 1.0)


def reciprocal_rank(relevant: ArrayLike) -> Floats:
    """RR: one over the rank of the first positive, 0 if there is none; its mean over queries is MRR.

    `relevant` is that of :func:`recall_at_k`.

    Examples
    --------
    >>> reciprocal_rank([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    array([0.5, 1. , 0. ])
    """
    hits = _checks.flags("reciprocal_rank relevant", relevant, "[Q, K]")
    return np.where(hits.any(axis=1), 1.0 / (hits.argmax(axis=1) + 1), 0.0)


def cluster_recall_at_k(clusters: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """CR@k: share of a topic's ground-truth clusters among the first k results (MediaEval Div400, Div150).

    With more than k clusters, 1.0 cannot be reached.

    Parameters
    ----------
    clusters : array_like of int, shape [Q, K]
        Ground-truth cluster of each result, best rank first; negative if the result has none (it is
        not relevant, or pads a short list).
    total : array_like of int, shape [Q]
        Number of clusters of the topic in the ground truth.
    k
        As for :func:`recall_at_k`.

    Examples
    --------
    >>> cluster_recall_at_k([[3, 3, -1, 7], [0, 1, 2, 3]], total=[4, 4], k=4)
    array([0.5, 1. ])
    """
    owner = "cluster_recall_at_k"
    labels = _checks.integers(f"{owner} clusters", clusters, "[Q, K]")
    totals = _checks.integers(f"{owner} total", total, "[Q]")
    _checks.cutoff(owner, k, labels.shape[1])
    _checks.same_length(owner, clusters=labels, total=totals)
    if (totals < 1).any():
        raise InputError(f"{owner} total must be >= 1, got {totals.min()}")
    ordered = np.sort(labels[:, :k], axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    covered = (new & (ordered >= 0)).sum(axis=1)
    if (covered > totals).any():
        raise InputError(f"{owner} total must be >= the clusters seen, got {totals[covered > totals][0]}")
    return covered / totals


def f1_at_k(relevant: ArrayLike, clusters: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """F1@k of MediaEval's diversity task: harmonic mean of P@k and CR@k of each query, 0 if both are 0.

    Parameters are those of :func:`precision_at_k` and :func:`cluster_recall_at_k`.

    Examples
    --------
    >>> f1_at_k([[1, 1, 0, 1]], [[3, 3, -1, 7]], total=[4], k=4)
    array([0.6])
    """
    precision = precision_at_k(relevant, k)
    recall = cluster_recall_at_k(clusters, total, k)
    _checks.same_length("f1_at_k", relevant=precision, clusters=recall)
    return _harmonic(np.stack([precision, recall], axis=-1))


def ndcg_at_k(grades: ArrayLike, judged: ArrayLike, k: int) -> Floats:
    """Return nDCG@k: graded relevance of the first k results, discounted by rank, as a share of the best possible.

    ``DCG@k(q) = sum_{i <= k} grade(q, i) / log2(i + 1)``, divided by the DCG@k of all judged hits in descending order;
    0 where no judged hit has a grade above 0.

    Parameters
    ----------
    grades : array_like of shape [Q, K]
        Grade of each result, best rank first, >= 0. Pad short lists with 0.
    judged : array_like of shape [Q, N]
        Grades of all judged hits of the query, in any order. Pad with 0.
    k : int
        Cutoff, 1 <= k <= K.

    Examples
    --------
    >>> ndcg_at_k([[3, 0, 1], [0, 0, 0]], judged=[[1, 3, 0, 0], [0, 0, 0, 0]], k=3).round(4)
    array([0.9639, 0.    ])
    """
    owner = "ndcg_at_k"
    result_grades = _checks.floats(f"{owner} grades", grades, "[Q, K]", low=0)
    pool = _checks.floats(f"{owner} judged", judged, "[Q, N]", low=0)
    _checks.cutoff(owner, k, result_grades.shape[1])
    _checks.same_length(owner, grades=result_grades, judged=pool)
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.sort(pool, axis=1)[:, ::-1][:, :k]
    best = (ideal * discounts[: ideal.shape[1]]).sum(axis=1)
    gained = (result_grades[:, :k] * discounts).sum(axis=1)
    share: Floats = np.divide(gained, best, out=np.zeros_like(gained), where=best > 0)
    if (share > 1 + 1e-9).any():
        raise InputError(f"{owner} judged must contain the results shown, got a share of {share.max():.3f}")
    return np.minimum(share, 1.0)


def relevance_kept(relevance: ArrayLike, positions: ArrayLike) -> Floats:
    """Share of the best possible relevance that the selected results retain.

    ``kept(q) = sum_{i in S} r(q, i) / sum of the |S| largest r(q, .)``, and 1 if the best possible sum is 0, since
    nothing could be lost.

    Parameters
    ----------
    relevance : array_like of shape [Q, N]
        Relevance of all candidates, >= 0 (a ratio of sums means nothing otherwise); usually min-max
        scaled per query.
    positions : array_like of int, shape [Q, K]
        Positions of the chosen candidates, in any order, none twice.

    Examples
    --------
    >>> relevance_kept([[1.0, 0.5, 0.25, 0.0]], [[0, 2]]).round(4)
    array([0.8333])
    """
    owner = "relevance_kept"
    scores = _checks.floats(f"{owner} relevance", relevance, "[Q, N]", low=0)
    candidates = scores.shape[1]
    selection = _checks.positions(f"{owner} positions", positions, "[Q, K]", candidates)
    _checks.same_length(owner, relevance=scores, positions=selection)
    ordered = np.sort(selection, axis=1)
    repeated = ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]]
    if repeated.size:
        raise InputError(f"{owner} positions must not repeat, got {repeated[0]} twice")
    # Both sums run in the same order, so that an untouched ranking keeps exactly 1.
    retained = np.sort(np.take_along_axis(scores, selection, axis=1), axis=1).sum(axis=1)
    best = np.sort(scores, axis=1)[:, candidates - selection.shape[1] :].sum(axis=1)
    return np.divide(retained, best, out=np.ones_like(retained), where=best > 0)


def _first_k(owner: str, relevant: ArrayLike, k: int) -> Bools:
    hits = _checks.flags(f"{owner} relevant", relevant, "[Q, K]")
    _checks.cutoff(owner, k, hits.shape[1])
    return hits[:, :k]
