"""Measures of results whose clusters people judged, by ir_measures: the clusters are the subtopics of a query."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mascot.bench.datasets.dataset import Bools, Floats, Ints
from mascot.bench.running.query_set import QuerySet
from mascot.extras import package

JUDGED_AT = 20
SCORED_AT = 10
_NAMES = {"alpha-ndcg": "alpha_nDCG", "err-ia": "ERR_IA", "s-recall": "StRecall"}  # ours, and those of ir_measures
SUBTOPIC_MEASURES = tuple(f"{name}@{JUDGED_AT}" for name in _NAMES)


def subtopic_measures(images: Ints, filled: Bools, queries: QuerySet) -> dict[str, Floats]:
    """Return [Q] alpha-nDCG (alpha = 0.5), ERR-IA and S-recall at 20; NaN for a query without clusters.

    `images` are [Q, k] rows of the dataset, best first, and `filled` says which of them are results.
    """
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
    parsed = [ir_measures.parse_measure(f"{name}@{JUDGED_AT}") for name in _NAMES.values()]
    names = dict(zip(parsed, SUBTOPIC_MEASURES, strict=True))
    judgements = [
        ir_measures.Qrel(str(q), str(row), 1, str(cluster_of[row]))
        for q, query in enumerate(queries.queries.tolist())
        for row in queries.dataset.positives[query].tolist()
        if cluster_of[row] >= 0
    ]
    return ir_measures.evaluator(list(names), judgements), names


def cumulative_score(hits: Bools, positives: Ints) -> Floats:
    """Return [Q] N@10, the normalised cumulative score: the judged relevance of the first 10 as a share of the best.

    MS-DPP reports it (Biten et al., 2022, define it) with the similarity of captions as relevance; here it is 0 or 1.
    """
    best = np.minimum(np.maximum(positives, 1), SCORED_AT)
    return np.asarray(hits[:, :SCORED_AT].sum(axis=1) / best)
