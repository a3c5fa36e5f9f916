"""The queries of a split with their candidates, ready to be re-ranked and measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

import mascot as mc
from mascot import metrics
from mascot.bench.datasets.dataset import Bools, Dataset, Floats, Ints
from mascot.bench.tasks import BenchTask, Widths, metric_features, primary_bins, unit_rows

_LISTS = 1024  # lists whose vectors are in memory at once


@dataclass(frozen=True, eq=False)
class QuerySet:
    """Q queries of a split, which find its images, and the candidates of each."""

    dataset: Dataset
    split: str = "test"
    n: int = 200  # candidates of a query
    limit: int | None = None  # take only the first queries of the split (None: all)
    judged: str | None = None  # column with the cluster that people put each positive into (negative: none), for CR@k
    _features: dict[mc.Attribute, Floats] = field(default_factory=dict, init=False, repr=False)
    _bins: dict[tuple[BenchTask, Widths], Ints] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def queries(self) -> Ints:
        if self.split not in self.dataset.splits:
            raise mc.InputError(f"split must be one of {sorted(self.dataset.splits)}, got {self.split!r}")
        return self.dataset.splits[self.split].queries[: self.limit]

    @cached_property
    def _hits(self) -> tuple[list[Ints], list[Floats], Bools]:
        rows: list[Ints] = []
        scores: list[Floats] = []
        relevant = np.zeros((len(self.queries), self.n), np.bool_)
        for block in self.dataset.blocks(self.n, self.split, queries=self.queries):
            for i, (query, count) in enumerate(zip(block.queries.tolist(), block.counts.tolist(), strict=True)):
                if not count:
                    name = self.dataset.name
                    raise mc.InputError(f"{name}: every query must have a candidate, query {query} has none")
                relevant[len(rows), :count] = block.relevant[i, :count]
                rows.append(block.images[i, :count])
                scores.append(block.scores[i, :count])
        return rows, scores, relevant

    @property
    def rows(self) -> list[Ints]:
        """The rows of each query's candidates, best first."""
        return self._hits[0]

    @property
    def scores(self) -> list[Floats]:
        return self._hits[1]

    @property
    def relevant(self) -> Bools:
        """[Q, n], true for a positive."""
        return self._hits[2]

    def candidates(self, q: int) -> mc.Candidates[int]:
        """Return the candidates of one query, with their columns and vectors."""
        rows, data = self.rows[q], self.dataset
        columns = {name: column[rows] for name, column in data.columns.items()}
        vectors = None if data.vectors is None else data.vectors[rows]
        return mc.Candidates(self.scores[q], columns=columns, vectors=vectors)

    @property
    def answered(self) -> Bools:
        """[Q] whether a query has a positive, retrieved or not."""
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
        """[Q, n], from 0 to 1 over each query's candidates; 0 after the end of a short list."""
        relevance = np.zeros((len(self.rows), self.n))
        for q, scores in enumerate(self.scores):
            relevance[q, : len(scores)] = (scores - scores[-1]) / (scores[0] - scores[-1] + 1e-8)
        return relevance

    def appearance(self, images: Ints) -> Floats | None:
        """Return the normalised Vendi score of the images of each list, [Q, K] rows; None without vectors."""
        unit = _unit(self.dataset)
        if unit is None:
            return None
        parts = [unit[images[first : first + _LISTS]] for first in range(0, len(images), _LISTS)]
        return np.concatenate([metrics.normalised_vendi(_similarities(part)) for part in parts])

    def features(self, attribute: mc.Attribute) -> Floats:
        """Return the [M, d] points by which the metrics compare an attribute."""
        if attribute not in self._features:
            self._features[attribute] = metric_features(attribute, self.dataset.columns, self.dataset.vectors)
        return self._features[attribute]

    def primary_bins(self, task: BenchTask, widths: Widths) -> Ints:
        """Return [M] the published primary bin of each image."""
        key = (task, widths)
        if key not in self._bins:
            columns, vectors = dict(self.dataset.columns), self.dataset.vectors
            parts = [primary_bins(attribute, widths).membership(columns, vectors) for attribute in task.attributes]
            bins = np.concatenate([part.resolve().sparse().compact()[0].dense() for part in parts], axis=1)
            # Narrow bins of a coarse grid may miss every image of a small set: then all images share no bin at all.
            self._bins[key] = metrics.primary_bin(bins) if bins.shape[1] else np.zeros(len(bins), np.int64)
        return self._bins[key]

    @cached_property
    def dataset_places(self) -> dict[str, float]:
        """What the paper says of the places of a split; empty without places.

        The shares of images north and south of 60 degrees, and the share of queries with candidates within 15 degrees
        of the antimeridian on both sides of it.
        """
        columns = self.dataset.columns
        if not {"lat", "lon"} <= columns.keys():
            return {}
        images = self.dataset.splits[self.split].images
        lat = columns["lat"].astype(float)[images]
        lon = columns["lon"].astype(float)
        on_both_sides = [(lon[rows] > 165).any() and (lon[rows] < -165).any() for rows in self.rows]
        north, south = float((lat > 60).mean()), float((lat < -60).mean())
        return {"north_of_60": north, "south_of_60": south, "both_sides": float(np.mean(on_both_sides))}

    @cached_property
    def clusters(self) -> tuple[Ints, Ints] | None:
        """[M] the judged cluster of each image, and [Q] how many clusters each query's positives have."""
        if self.judged is None:
            return None
        cluster_of = self.dataset.columns[self.judged].astype(np.int64)
        positives = [cluster_of[self.dataset.positives[query]] for query in self.queries.tolist()]
        return cluster_of, np.array([len(np.unique(labels[labels >= 0])) for labels in positives])


def _similarities(rows: Floats) -> Floats:
    """Return 1 / (1 + distance) of [Q, K, D] rows by their products: several times as fast as by differences."""
    lengths = (rows * rows).sum(axis=-1)
    squared = lengths[:, :, None] + lengths[:, None, :] - 2.0 * (rows @ np.swapaxes(rows, -1, -2))
    return np.asarray(1.0 / (1.0 + np.sqrt(np.where(squared > 1e-12, squared, 0.0))))  # equal images are at distance 0


# Cached by dataset and not by split: several query sets of one dataset are in use at once.
@lru_cache(maxsize=4)
def _unit(dataset: Dataset) -> Floats | None:
    """Return unit image vectors; zeros where the vector is missing."""
    return None if dataset.vectors is None else unit_rows(dataset.vectors)
