"""Metrics of a result list: arrays in, numbers out, numpy only.

One convention: a metric that is averaged over queries returns its ``[Q]`` per-query values, and the caller
takes the mean, ``recall_at_k(relevant, k=10).mean()``, so that the values can be stored, resampled and
compared query by query. Numbers that are not a mean over queries are floats: ``harmonic_mean``, ``dm``,
``overall``, ``prs`` and ``kendall_tau``.

Axes: Q queries, K results shown (best first), N candidates or corpus rows, U bins, d features, S strengths.
Arrays are checked here: an ``InputError``, or for a parameter an ``OptionError``, names the owner, the rule and
the value.

>>> from mascot.bench import metrics
>>> minutes = [[0, 360, 720, 1080], [600, 601, 602, 603]]
>>> hours = metrics.similarity_kernel(metrics.time_of_day_features(minutes))
>>> metrics.normalised_vendi(hours, order=1).round(3)
array([0.764, 0.013])
"""

from mascot.bench.metrics.control import (
    Displacement,
    OperatingPoint,
    displacement,
    fixed_recall_front,
    kendall_tau,
    primary_bin,
    prs,
    top1_agreement,
)
from mascot.bench.metrics.diversity import (
    dm,
    dm_per_query,
    harmonic_mean,
    metadata_channel,
    normalised_vendi,
    overall,
    vendi,
    vendi_by_attribute,
)
from mascot.bench.metrics.features import pairwise_distances, place_features, similarity_kernel, time_of_day_features
from mascot.bench.metrics.retrieval import (
    average_precision_at_k,
    cluster_recall_at_k,
    f1_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
    relevance_kept,
)

__all__ = [
    "Displacement", "OperatingPoint", "average_precision_at_k", "cluster_recall_at_k", "displacement", "dm",
    "dm_per_query", "f1_at_k", "fixed_recall_front", "harmonic_mean",
    "kendall_tau", "metadata_channel", "ndcg_at_k", "normalised_vendi", "overall", "pairwise_distances",
    "place_features", "precision_at_k", "primary_bin", "prs", "recall_at_k", "reciprocal_rank", "relevance_kept",
    "similarity_kernel", "time_of_day_features", "top1_agreement", "vendi", "vendi_by_attribute",
]  # fmt: skip
