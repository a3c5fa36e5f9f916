"""Compute the numbers of a record from the selected positions. Every number is one of `mascot.bench.metrics`.

A query that shows fewer than k results is measured on these results: positions after the end are not hits, and the
Vendi scores compare only the results that are shown. A single result has no diversity: the query has no Vendi score
(NaN here, null in a record), and means skip it. A query without a positive has a diversity, but no recall, precision
or cluster recall.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mascot.bench import metrics
from mascot.bench.datasets.dataset import Bools, Floats, Ints
from mascot.bench.protocol.tasks import FOCUS, PLACE, Point, Widths, name_of
from mascot.bench.running.query_set import QuerySet, appearance, features, primary_bins
from mascot.extras import package

CUTOFFS = (1, 3, 5, 10, 20)
PRECISIONS = (5, 10, 20)
JUDGED_AT = 20  # results of a query whose positives people sorted into clusters
_SCORED_AT = 10
_SUBTOPICS = {"alpha-ndcg": "alpha_nDCG", "err-ia": "ERR_IA", "s-recall": "StRecall"}  # ours, and those of ir_measures
SUBTOPIC_MEASURES = tuple(f"{name}@{JUDGED_AT}" for name in _SUBTOPICS)
FOUND_AT = "found_at"
DEGREES = "geo_degrees"
_DIGITS = 6
_MEASURES = re.compile(
    r"(r|p|n|cr|f1|alpha-ndcg|err-ia|s-recall)@\d+|map|mrr|dm|hm|appearance|metadata|top1|displaced|other_bin|kept|first_gain|found_at|geo_degrees"
)


def is_measure(name: str) -> bool:
    """Return whether this is the name of a measure, which an attribute must not have."""
    return _MEASURES.fullmatch(name) is not None


def measure(
    point: Point, positions: Ints, queries: QuerySet, retrieval: str = "r@10", subsets: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the `per_query` and `summary` of a record, and of the `subsets`, splits of the dataset within this one.

    `positions` are [Q, k] among each query's candidates, best first, and -1 after the end of a short list. HM takes
    `retrieval` for relevance: ``"r@10"``, or ``"map"`` if queries have many positives.
    """
    values = per_query(point, positions, queries, retrieval)
    rounded: dict[str, list[Any]] = {}
    for name, column in values.items():
        is_integer = column.dtype.kind in "bi" or name.startswith("r@") or name in ("top1", FOUND_AT)
        plain = column.tolist() if is_integer else np.round(column, _DIGITS).tolist()
        rounded[name] = [None if value != value else int(value) if is_integer else value for value in plain]
    record: dict[str, Any] = {"per_query": rounded, "summary": summary(point, values, retrieval)}
    for name in subsets:
        inside = np.isin(queries.queries, queries.dataset.splits[name].queries)
        part = summary(point, {key: column[inside] for key, column in values.items()}, retrieval)
        record.setdefault("subsets", {})[name] = {"queries": queries.queries[inside].tolist(), "summary": part}
    return record


def per_query(point: Point, positions: Ints, queries: QuerySet, retrieval: str = "r@10") -> dict[str, Any]:
    """Return arrays of Q values by name.

    Average precision is included if it is the `retrieval` or if queries have several positives; reciprocal rank and
    precision are included if queries have several positives.
    """
    filled = positions >= 0
    images = np.stack([rows[selection] for rows, selection in zip(queries.rows, np.maximum(positions, 0), strict=True)])
    base = np.array([rows[0] for rows in queries.rows])
    hits = np.take_along_axis(queries.relevant, np.maximum(positions, 0), axis=1) & filled
    retrieved = _retrieval(hits, images, filled, queries, retrieval)
    values: dict[str, Any] = {name: np.where(queries.answered, column, np.nan) for name, column in retrieved.items()}
    values |= _by_length(point, positions, images, filled.sum(axis=1), queries)
    values["top1"] = metrics.top1_agreement(images[:, 0], base)
    bins = primary_bins(queries.dataset, point.task, point.widths or Widths())
    moved = metrics.displacement(images[:, 0], base, queries.relevant[:, 0], bins)
    values["displaced"], values["other_bin"] = moved.displaced, moved.other_bin
    return values


def _retrieval(hits: Bools, images: Ints, filled: Bools, queries: QuerySet, retrieval: str) -> dict[str, Floats]:
    """Return the measures of the number and the ranks of the positives that are shown."""
    k = hits.shape[1]
    values = {f"r@{at}": metrics.recall_at_k(hits, at) for at in CUTOFFS if at <= k}
    values[FOUND_AT] = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1.0, 0.0)
    if retrieval == "map" or queries.several:
        values["map"] = metrics.average_precision_at_k(hits, k)
    if queries.several:
        values["mrr"] = metrics.reciprocal_rank(hits)
        values |= {f"p@{at}": metrics.precision_at_k(hits, at) for at in PRECISIONS if at <= k}
    if queries.clusters is not None and k >= JUDGED_AT:
        cluster_of, total = queries.clusters
        labels, least = np.where(hits, cluster_of[images], -1), np.maximum(total, 1)
        recall = metrics.cluster_recall_at_k(labels, least, JUDGED_AT)
        f1 = metrics.f1_at_k(hits, labels, least, JUDGED_AT)
        values[f"p@{JUDGED_AT}"] = metrics.precision_at_k(hits, JUDGED_AT)
        values |= {f"{name}@{JUDGED_AT}": np.where(total > 0, x, np.nan) for name, x in (("cr", recall), ("f1", f1))}
        values |= _subtopic_measures(images, filled, queries)
        # N@10 of Biten et al. (2022), whose relevance is the similarity of captions; here it is 0 or 1.
        best = np.minimum(np.maximum(queries.dataset.positive_counts[queries.queries], 1), _SCORED_AT)
        values["n@10"] = np.asarray(hits[:, :_SCORED_AT].sum(axis=1) / best)
    return values


def _subtopic_measures(images: Ints, filled: Bools, queries: QuerySet) -> dict[str, Floats]:
    """Return alpha-nDCG (alpha = 0.5), ERR-IA and S-recall at 20 with clusters as subtopics; NaN without clusters."""
    run = {
        str(q): {str(row): -float(rank) for rank, row in enumerate(rows[is_result].tolist())}
        for q, (rows, is_result) in enumerate(zip(images, filled, strict=True))
    }
    values = {name: np.full(len(images), np.nan) for name in SUBTOPIC_MEASURES}
    evaluator, names = _evaluator(queries)
    for metric in evaluator.iter_calc(run):
        values[names[metric.measure]][int(metric.query_id)] = metric.value
    return values


@lru_cache(maxsize=4)
def _evaluator(queries: QuerySet) -> tuple[Any, dict[Any, str]]:
    """Return an evaluator of ir_measures that has read the judgements, and our names of its measures."""
    ir_measures = package("ir_measures", "bench", "measuring judged clusters")
    cluster_of, _ = queries.clusters or (np.full(queries.dataset.images, -1), None)
    parsed = [ir_measures.parse_measure(f"{name}@{JUDGED_AT}") for name in _SUBTOPICS.values()]
    names = dict(zip(parsed, SUBTOPIC_MEASURES, strict=True))
    judgements = [
        ir_measures.Qrel(str(q), str(row), 1, str(cluster_of[row]))
        for q, query in enumerate(queries.queries.tolist())
        for row in queries.dataset.positives[query].tolist()
        if cluster_of[row] >= 0
    ]
    return ir_measures.evaluator(list(names), judgements), names


def _by_length(point: Point, positions: Ints, images: Ints, lengths: Ints, queries: QuerySet) -> dict[str, Floats]:
    """Return the measures of whole lists, computed for lists of one length at a time."""
    values: dict[str, Floats] = {}
    for length in np.unique(lengths).tolist():
        same = np.flatnonzero(lengths == length)
        part = {"kept": metrics.relevance_kept(queries.relevance[same], positions[same, :length])}
        if length >= 2:
            part |= _diversity(point, images[same, :length], queries)
        for name, column in part.items():
            values.setdefault(name, np.full(len(images), np.nan))[same] = column
    return values


def _diversity(point: Point, images: Ints, queries: QuerySet) -> dict[str, Floats]:
    """Return the channels of DM, and the Vendi score of each attribute."""
    values: dict[str, Floats] = {}
    looks = appearance(queries.dataset, images)
    if looks is not None:
        values["appearance"] = looks
    attributes: tuple[Any, ...] = point.task.attributes
    blocks = {name_of(attribute): features(queries.dataset, attribute)[images] for attribute in attributes}
    kernel = metrics.similarity_kernel(np.concatenate(list(blocks.values()), axis=-1))
    values["metadata"] = metrics.normalised_vendi(kernel)
    if point.study == "mixed" and point.task.has(PLACE):
        # As published: the attribute alone is compared as the pair of latitude and longitude in degrees.
        places = np.stack([queries.dataset.columns[name] for name in ("lat", "lon")], axis=-1)[images]
        values[DEGREES] = metrics.normalised_vendi(metrics.similarity_kernel(np.nan_to_num(places.astype(float))))
    if len(blocks) > 1:
        return values | metrics.vendi_by_attribute(blocks)
    return values | {next(iter(blocks)): values["metadata"]}


def summary(point: Point, values: Mapping[str, Floats], retrieval: str = "r@10") -> dict[str, float]:
    """Return means over the queries that have the value, DM and the overall score.

    A mixed direction has no inverted channel, as published. Without vectors DM is the metadata channel alone.
    """
    present = {name: column[~np.isnan(column)] for name, column in values.items() if name != FOUND_AT}
    means = {name: float(np.mean(column)) for name, column in present.items() if len(column)}
    if "metadata" in means:
        means["dm"] = metrics.harmonic_mean(
            dm_per_query(present.get("appearance"), present["metadata"], focus=point.direction == FOCUS)
        )
        if retrieval in means:
            means["hm"] = metrics.overall(means[retrieval], means["dm"])
    return means


def dm_per_query(appearance: Floats | None, metadata: Floats, *, focus: bool) -> Floats:
    """Return the values whose harmonic mean is DM; without an appearance channel, the metadata channel alone."""
    if appearance is None:
        return metrics.metadata_channel(metadata, focus=focus)
    return metrics.dm_per_query(appearance, metadata, focus=focus)
