"""The queries of a split with their candidates, ready to be re-ranked and measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

import mascot as mc
from mascot.attributes import Attribute, Clusters
from mascot.bench import metrics
from mascot.bench.datasets.dataset import Bools, Dataset, DatasetHits, Floats, Ints
from mascot.bench.protocol.branches import Branches
from mascot.bench.protocol.tasks import SPREAD, BenchTask, Widths, metric_features
from mascot.bench.tuning.judge import padded

_LISTS = 1024  # lists whose vectors are in memory at once


@dataclass(frozen=True, eq=False)
class QuerySet:
    """Q queries of a split, with the candidates of each among the split's images."""

    dataset: Dataset
    split: str = "test"
    n: int = 200  # candidates of a query
    limit: int | None = None  # take only the first queries of the split (None: all)
    judged: str | None = None  # column with the cluster that people put each positive into (negative: none), for CR@k

    @cached_property
    def queries(self) -> Ints:
        if self.split not in self.dataset.splits:
            raise mc.InputError(f"split must be one of {sorted(self.dataset.splits)}, got {self.split!r}")
        return self.dataset.splits[self.split].queries[: self.limit]

    @cached_property
    def hits(self) -> list[DatasetHits]:
        hits = list(self.dataset.hits(self.n, self.split, self.queries))
        for query_hits in hits:
            if not len(query_hits.images):
                where = f"{self.dataset.name}: every query must have a candidate"
                raise mc.InputError(f"{where}, query {query_hits.query} has none")
        return hits

    @cached_property
    def rows(self) -> list[Ints]:
        """The rows of each query's candidates, best first."""
        return [hits.images for hits in self.hits]

    @cached_property
    def scores(self) -> list[Floats]:
        return [hits.scores for hits in self.hits]

    @cached_property
    def relevant(self) -> Bools:
        """[Q, n], true for a positive."""
        return padded([hits.relevant for hits in self.hits], False, self.n)

    def candidates(self, q: int) -> mc.Candidates[int]:
        """Return the candidates of one query, with their columns and vectors."""
        rows, data = self.rows[q], self.dataset
        columns = {name: column[rows] for name, column in data.columns.items()}
        vectors = None if data.vectors is None else data.vectors[rows]
        return mc.Candidates(self.scores[q], columns=columns, vectors=vectors)

    @property
    def answered(self) -> Bools:
        """[Q] whether a query has a positive, retrieved or not."""
        return self.dataset.positive_counts[self.queries] > 0

    @cached_property
    def several(self) -> bool:
        """Whether some query of the dataset has more than one positive."""
        return bool((self.dataset.positive_counts > 1).any())

    @cached_property
    def largest(self) -> int:
        """The largest number of candidates of a query; no query shows more results."""
        return max(len(rows) for rows in self.rows)

    @cached_property
    def relevance(self) -> Floats:
        """[Q, n], from 0 to 1 over each query's candidates; 0 after the end of a short list."""
        scaled = [(scores - scores[-1]) / (scores[0] - scores[-1] + 1e-8) for scores in self.scores]
        return padded(scaled, 0.0, self.n)

    @cached_property
    def dataset_places(self) -> dict[str, float]:
        """The statistics that the paper gives for the places of a split; empty without places.

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


def appearance(dataset: Dataset, images: Ints) -> Floats | None:
    """Return the normalised Vendi score of the images of each list, [Q, K] rows; None without vectors."""
    if dataset.vectors is None:
        return None
    unit = features(dataset, Branches())
    parts = [unit[images[first : first + _LISTS]] for first in range(0, len(images), _LISTS)]
    return np.concatenate([metrics.normalised_vendi(_similarities(part)) for part in parts])


@lru_cache(maxsize=16)
def features(dataset: Dataset, attribute: Attribute) -> Floats:
    """Return the [M, d] points by which the metrics compare an attribute."""
    return metric_features(attribute, dataset.columns, dataset.vectors)


@lru_cache(maxsize=128)
def primary_bins(dataset: Dataset, task: BenchTask, widths: Widths) -> Ints:
    """Return [M] the published primary bin of each image.

    Branches are bins of one query's candidates, not of the whole set: k-means clusters stand in for them.
    """
    usual = [wish.attribute for wish in task.wishes(SPREAD, widths)]
    attributes = [Clusters(25) if isinstance(attribute, Branches) else attribute for attribute in usual]
    parts = [attribute.membership(dict(dataset.columns), dataset.vectors) for attribute in attributes]
    bins = np.concatenate([part.resolve().sparse().compact()[0].dense() for part in parts], axis=1)
    # Narrow bins of a coarse grid may miss every image of a small set: then all images share no bin at all.
    return metrics.primary_bin(bins) if bins.shape[1] else np.zeros(len(bins), np.int64)


def _similarities(rows: Floats) -> Floats:
    """Return 1 / (1 + distance) of [Q, K, D] rows by their products: several times as fast as by differences."""
    lengths = (rows * rows).sum(axis=-1)
    squared = lengths[:, :, None] + lengths[:, None, :] - 2.0 * (rows @ np.swapaxes(rows, -1, -2))
    return np.asarray(1.0 / (1.0 + np.sqrt(np.where(squared > 1e-12, squared, 0.0))))  # equal images are at distance 0
