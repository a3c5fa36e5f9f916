"""From the chosen positions to a record's numbers. Every number is one of `mascot.metrics`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mascot import metrics
from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.material import Material
from mascot.bench.points import Point
from mascot.bench.tasks import Widths

CUTOFFS = (1, 3, 5, 10, 20)
_JUDGED_AT = 20
_DIGITS = 6


def measure(point: Point, positions: Ints, material: Material, retrieval: str = "r@10") -> dict[str, Any]:
    """The `per_query` and `summary` of a record.

    Parameters
    ----------
    point
    positions
        [Q, K] positions among each query's candidates, best first.
    material
    retrieval
        What HM takes for relevance: ``"r@10"``, or ``"map"`` where queries have many positives.
    """
    values = per_query(point, positions, material, retrieval)
    rounded: dict[str, list[Any]] = {}
    for name, column in values.items():
        whole = column.dtype.kind == "b" or name.startswith("r@") or name == "top1"
        rounded[name] = column.astype(int).tolist() if whole else np.round(column, _DIGITS).tolist()
    return {"per_query": rounded, "summary": summary(point, values, retrieval)}


def per_query(point: Point, positions: Ints, material: Material, retrieval: str = "r@10") -> dict[str, Any]:
    """Arrays of Q values by name; average precision only where it is the `retrieval`."""
    k = positions.shape[1]
    shown = np.stack([rows[chosen] for rows, chosen in zip(material.rows, positions, strict=True)])
    base = np.array([rows[0] for rows in material.rows])
    hits = np.take_along_axis(material.relevant, positions, axis=1)
    values: dict[str, Any] = {f"r@{at}": metrics.recall_at_k(hits, at) for at in CUTOFFS if at <= k}
    if retrieval == "map":
        values["map"] = metrics.average_precision_at_k(hits, k)
    looks = material.appearance(shown) if k >= 2 else None
    if looks is not None:
        values["appearance"] = looks
    if k >= 2:
        blocks = {facet.name: material.features(facet)[shown] for facet in point.task.facets}
        together = metrics.similarity_kernel(np.concatenate(list(blocks.values()), axis=-1))
        values["metadata"] = metrics.normalised_vendi(together)
        values |= metrics.vendi_by_attribute(blocks) if len(blocks) > 1 else {next(iter(blocks)): values["metadata"]}
    values["top1"] = metrics.top1_agreement(shown[:, 0], base)
    bins = material.primary_bins(point.task, point.widths or Widths())
    moved = metrics.displacement(shown[:, 0], base, material.relevant[:, 0], bins)
    values["displaced"], values["other_bin"] = moved.displaced, moved.other_bin
    values["kept"] = metrics.relevance_kept(material.relevance, positions)
    if material.clusters is not None and k >= _JUDGED_AT:
        of, total = material.clusters
        labels = np.where(hits, of[shown], -1)
        values[f"p@{_JUDGED_AT}"] = metrics.precision_at_k(hits, _JUDGED_AT)
        values[f"cr@{_JUDGED_AT}"] = metrics.cluster_recall_at_k(labels, total, _JUDGED_AT)
        values[f"f1@{_JUDGED_AT}"] = metrics.f1_at_k(hits, labels, total, _JUDGED_AT)
    return values


def summary(point: Point, values: Mapping[str, Floats], retrieval: str = "r@10") -> dict[str, float]:
    """Means over queries, DM and the overall score.

    A mixed direction has no inverted channel, as published.
    """
    found = {name: float(np.mean(column)) for name, column in values.items()}
    if "appearance" in values and "metadata" in values:
        found["dm"] = metrics.dm(values["appearance"], values["metadata"], focus=point.direction.focus)
        if retrieval in found:
            found["hm"] = metrics.overall(found[retrieval], found["dm"])
    return found
