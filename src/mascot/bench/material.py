"""A split of a dataset, ready to be re-ranked and measured: candidates, and what the metrics look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from mascot import metrics
from mascot.bench.datasets.dataset import Bools, Dataset, Floats, Ints
from mascot.bench.tasks import Facet, Look, Task, Widths
from mascot.errors import InputError
from mascot.kernels.similarity import similarities

_TABLE = 3000  # images up to which all pairs of them are compared once, instead of list by list
_BLOCK = 64
_LISTS = 1024  # whose vectors are in memory at once


@dataclass(frozen=True, eq=False)
class Material:
    """The candidates of Q queries.

    Parameters
    ----------
    dataset
    split
    n
        Candidates of a query.
    limit
        The first so many queries of the split; None is all of them.
    judged
        Column with the cluster each positive belongs to by human judgement (negative: none), for CR@k.
    """

    dataset: Dataset
    split: str = "test"
    n: int = 200
    limit: int | None = None
    judged: str | None = None
    _features: dict[Facet, Floats] = field(default_factory=dict, init=False, repr=False)
    _bins: dict[tuple[Task, Widths], Ints] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def queries(self) -> Ints:
        if self.split not in self.dataset.splits:
            raise InputError(f"split must be one of {sorted(self.dataset.splits)}, got {self.split!r}")
        return self.dataset.splits[self.split].queries[: self.limit]

    @cached_property
    def _hits(self) -> tuple[list[Ints], list[Floats], Bools]:
        rows: list[Ints] = []
        scores: list[Floats] = []
        relevant = np.zeros((len(self.queries), self.n), np.bool_)
        for block in self.dataset.blocks(self.n, self.split, queries=self.queries):
            for i, count in enumerate(block.counts.tolist()):
                relevant[len(rows), :count] = block.relevant[i, :count]
                if not count:
                    query = int(block.queries[i])
                    raise InputError(f"{self.dataset.name}: every query must have a candidate, query {query} has none")
                rows.append(block.images[i, :count])
                scores.append(block.scores[i, :count])
        return rows, scores, relevant

    @property
    def rows(self) -> list[Ints]:
        """Of each query its candidates' rows, best first."""
        return self._hits[0]

    @property
    def scores(self) -> list[Floats]:
        return self._hits[1]

    @property
    def relevant(self) -> Bools:
        """[Q, n], true for a positive."""
        return self._hits[2]

    @property
    def answered(self) -> Bools:
        """[Q] whether a query has a positive, found or not."""
        return self.dataset.positives.lengths[self.queries] > 0

    @cached_property
    def several(self) -> bool:
        """Whether some query of the dataset has more than one positive."""
        return bool((self.dataset.positives.lengths > 1).any())

    @cached_property
    def largest(self) -> int:
        """Candidates of the query that has most; no query shows more results."""
        return max(len(rows) for rows in self.rows)

    @cached_property
    def relevance(self) -> Floats:
        """[Q, n], from 0 to 1 over each query's candidates; 0 behind the end of a short list."""
        found = np.zeros((len(self.rows), self.n))
        for q, scores in enumerate(self.scores):
            found[q, : len(scores)] = (scores - scores[-1]) / (scores[0] - scores[-1] + 1e-8)
        return found

    @property
    def unit(self) -> Floats | None:
        """Unit image vectors; zeros where the vector is missing."""
        return _unit(self.dataset)

    def appearance(self, shown: Ints) -> Floats | None:
        """Normalised Vendi score of the images of each list, [Q, K] rows; None without vectors."""
        if self.unit is None:
            return None
        pairs = _pairs(self.dataset)
        if pairs is not None:
            return metrics.normalised_vendi(pairs[shown[:, :, None], shown[:, None, :]])
        parts = [shown[first : first + _LISTS] for first in range(0, len(shown), _LISTS)]
        # By products instead of differences: several times as fast, and equal images are still at distance 0.
        found = [metrics.normalised_vendi(similarities(self.unit[part])) for part in parts]
        return np.concatenate(found)

    def features(self, facet: Facet) -> Floats:
        """[M, d] what the metrics see of an attribute."""
        if facet not in self._features:
            self._features[facet] = facet.features(self.dataset.columns, self.dataset.vectors)
        return self._features[facet]

    def primary_bins(self, task: Task, widths: Widths) -> Ints:
        """[M] the published primary bin of each image."""
        key = (task, widths)
        if key not in self._bins:
            parts = []
            for facet in task.facets:
                attribute = facet.primary if isinstance(facet, Look) else facet.attribute(widths, 1)
                own = attribute.membership(self.dataset.columns, self.dataset.vectors)
                parts.append(own.resolve().sparse().compact()[0].dense())
            bins = np.concatenate(parts, axis=1)
            # Narrow bins of a coarse grid may miss every image of a small set: then all are in the same one, none.
            self._bins[key] = metrics.primary_bin(bins) if bins.shape[1] else np.zeros(len(bins), np.int64)
        return self._bins[key]

    @cached_property
    def dataset_places(self) -> dict[str, float]:
        """Return what the paper says of the places of a split; empty without places.

        The shares of images north and south of 60 degrees, and the share of queries with candidates within 15 degrees
        of the antimeridian on both sides of it.
        """
        columns = self.dataset.columns
        if not {"lat", "lon"} <= columns.keys():
            return {}
        images = self.dataset.splits[self.split].images
        lat = columns["lat"].astype(float)[images]
        lon = columns["lon"].astype(float)
        both = [(lon[rows] > 165).any() and (lon[rows] < -165).any() for rows in self.rows]
        north, south = float((lat > 60).mean()), float((lat < -60).mean())
        return {"north_of_60": north, "south_of_60": south, "both_sides": float(np.mean(both))}

    @cached_property
    def clusters(self) -> tuple[Ints, Ints] | None:
        """[M] the judged cluster of each image, and [Q] how many clusters each query's positives have."""
        if self.judged is None:
            return None
        of = self.dataset.columns[self.judged].astype(np.int64)
        positives = [of[self.dataset.positives[query]] for query in self.queries.tolist()]
        return of, np.array([len(np.unique(some[some >= 0])) for some in positives])


# Of the dataset and not of a split: several materials of one dataset are in use at once.
@lru_cache(maxsize=4)
def _unit(dataset: Dataset) -> Floats | None:
    if dataset.vectors is None:
        return None
    vectors = np.nan_to_num(dataset.vectors)
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


@lru_cache(maxsize=4)
def _pairs(dataset: Dataset) -> Floats | None:
    """[M, M] similarities of all images, where there are few enough."""
    unit = _unit(dataset)
    if unit is None or len(unit) > _TABLE:
        return None
    count = len(unit)
    table = np.empty((count, count))
    parts = [np.arange(first, min(first + _BLOCK, count)) for first in range(0, count, _BLOCK)]
    for i, one in enumerate(parts):
        for other in parts[i:]:
            kernel = metrics.similarity_kernel(unit[np.concatenate([one, other])][None])[0]
            across = kernel[: len(one), len(one) :]
            table[np.ix_(one, other)], table[np.ix_(other, one)] = across, across.T
    return table
