"""Look: clusters of similar vectors by k-means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.attributes.columns import column_of, vectors_of
from mascot.bins import Floats, Ints, SparseBins, one_hot
from mascot.errors import InputError, check_whole
from mascot.serialize import Value


@dataclass(frozen=True, slots=True)
class Clusters(Value):
    """One whole bin per k-means cluster of the vectors.

    `Reranker.fit` finds the clusters in the whole corpus; `rerank` finds them among the candidates.
    None or a row of NaN is a missing vector.

    Parameters
    ----------
    count
        Number of clusters, at most as many as there are vectors (default: 10).
    seed
        Seed of k-means: the same seed gives the same clusters, with any number of threads.
    missing, name
        What a candidate without a vector gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.
    column
        Column of vectors, N x D or a list of vectors (default: the vectors of the candidates).
    """

    count: int = 10
    seed: int = 0
    missing: Missing = "last"
    name: str = "look"
    column: str | None = None
    local = True  # bins depend on the other rows, so they are computed for each query

    def __post_init__(self) -> None:
        check_whole("Clusters.count", self.count, 1, 100_000)
        check_whole("Clusters.seed", self.seed, 0)
        check_missing("Clusters", self.missing)

    def _labels(self, columns: Columns, vectors: Floats | None) -> Ints:
        from mascot.kernels.kmeans import kmeans

        if self.column is not None:
            vectors = _vectors(columns, self.column)
        if vectors is None:
            raise InputError("Clusters needs vectors, got none")
        missing = np.isnan(vectors).any(axis=1)
        if not missing.any():
            return kmeans(vectors, self.count, self.seed)[0]
        labels = np.full(len(vectors), -1, np.int64)
        labels[~missing] = kmeans(vectors[~missing], self.count, self.seed)[0]
        return labels

    def membership(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        return one_hot(
            self._labels(columns, vectors), self.count, tuple(f"look {number + 1}" for number in range(self.count))
        )

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return self.membership(columns, vectors).dense()


def _vectors(columns: Columns, name: str) -> Floats:
    rows = vectors_of(column_of(columns, name, "Clusters"), f"Clusters column {name!r}")
    if rows.ndim != 2:
        raise InputError(f"Clusters column {name!r} must hold vectors, N x D numbers, got {rows.ndim} dimension(s)")
    return rows
