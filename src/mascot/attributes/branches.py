"""Look at several depths: branches of a hierarchical clustering of the vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mascot.attributes.attribute import Columns, Missing, check_missing
from mascot.bins import Bools, Floats, Ints, SparseBins
from mascot.errors import InputError, require
from mascot.serialize import Value

_MOST = 10_000  # rows: all pairs of them are compared
_COPY = 1e-6  # unit vectors at most this far apart count as copies


@dataclass(frozen=True, slots=True)
class Branches(Value):
    """One whole bin per branch and depth: the tree of the vectors, cut into each of `counts` branches.

    The tree joins, again and again, the two groups whose vectors are nearest on average (average linkage, distance of
    unit vectors). An outlier stays a branch of its own, while k-means would add it to a cluster. The more similar two
    candidates are, the more bins they share; copies share all of them.

    `rerank` grows the tree from the candidates, `Reranker.fit` from the whole corpus (at most 10,000 rows; use
    `Clusters` for more). A row of NaN is a missing vector.

    Parameters
    ----------
    counts
        Numbers of branches; the tree is cut once for each (default: 15, 30 and 60).
    missing, name
        What a candidate without a vector gets (``"last"``, ``"neutral"``, ``"drop"``); name in explanations.

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.radians([0, 1, 40, 41, 90])
    >>> look = Branches(counts=(2, 3)).membership({}, np.column_stack([np.cos(angles), np.sin(angles)]))
    >>> look.dense().astype(int).tolist()
    [[1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1]]
    """

    counts: tuple[int, ...] = (15, 30, 60)
    missing: Missing = "last"
    name: str = "look"
    local = True  # bins depend on the other rows, so they are computed for each query

    def __post_init__(self) -> None:
        value: Any = self.counts
        rule = "must be whole numbers >= 1, such as (15, 30, 60)"
        require(isinstance(value, Iterable) and not isinstance(value, str), "Branches.counts", rule, value)
        counts = tuple(value)
        are_counts = all(isinstance(count, Integral) and int(count) >= 1 for count in counts)
        require(len(counts) > 0 and are_counts, "Branches.counts", rule, counts)
        object.__setattr__(self, "counts", counts)
        check_missing("Branches", self.missing)

    def membership(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        if vectors is None:
            raise InputError("Branches needs vectors, got none")
        valued: Bools = np.asarray(~np.isnan(vectors).any(axis=1))
        count = int(valued.sum())
        if count > _MOST:
            raise InputError(f"Branches compares all pairs and takes at most {_MOST} rows, got {count}: use Clusters")
        labels = _cuts(vectors[valued].astype(np.float64, copy=False), self.counts)  # [cuts, count]
        sizes = [int(cut.max(initial=-1)) + 1 for cut in labels]
        starts = np.cumsum([0, *sizes])
        depths = len(sizes)

        return SparseBins(
            indptr=np.concatenate([[0], np.cumsum(valued * depths)]).astype(np.int64),
            indices=(labels + starts[:-1, None]).T.ravel(),
            values=None,
            count=max(int(starts[-1]), 1),
            labels=tuple(f"look {number + 1} of {size}" for size in sizes for number in range(size)),
        )

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return self.membership(columns, vectors).dense() / math.sqrt(len(self.counts))


def _cuts(vectors: Floats, counts: tuple[int, ...]) -> Ints:
    """Return the branch of each vector at each cut, [len(counts), N], numbered by first appearance."""
    first_rows, second_rows, heights = _average_linkage(_distances(vectors))
    order = np.argsort(heights, kind="stable")
    copies = int((heights <= _COPY).sum())
    size = len(vectors)
    labels = np.zeros((len(counts), size), np.int64)
    group = np.arange(size)
    joined = 0
    for cut in np.argsort([-count for count in counts], kind="stable"):
        merges = max(size - counts[cut], copies)
        for at in order[joined:merges]:
            group[group == group[second_rows[at]]] = group[first_rows[at]]
        joined = max(joined, merges)
        _, first, branch = np.unique(group, return_index=True, return_inverse=True)
        labels[cut] = np.argsort(np.argsort(first))[branch.reshape(-1)]
    return labels


def _distances(vectors: Floats) -> Floats:
    """Return the distances of all pairs of vectors, scaled to length 1."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    squares = (unit * unit).sum(axis=1)
    return np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * (unit @ unit.T), 0.0))


def _average_linkage(distances: Floats) -> tuple[Ints, Ints, Floats]:
    """Return N - 1 merges: a row of either group, and the mean distance between the two. Overwrites the distances.

    This is the nearest-neighbour chain. A merged group takes the row of its second half. Following nearest neighbours
    from group to group ends at a mutual pair, and merging a mutual pair does not change other nearest neighbours.
    """
    size = len(distances)
    merges = max(size - 1, 0)
    first_rows, second_rows, heights = np.zeros(merges, np.int64), np.zeros(merges, np.int64), np.zeros(merges)
    np.fill_diagonal(distances, np.inf)
    weight = np.ones(size)
    alive = np.ones(size, bool)
    chain: list[int] = []
    for merge in range(merges):
        if not chain:
            chain.append(int(alive.argmax()))
        while True:
            group = chain[-1]
            nearest = int(distances[group].argmin())
            # On a tie go back, or the chain could run in a circle.
            if len(chain) > 1 and distances[group, chain[-2]] <= distances[group, nearest]:
                nearest = chain[-2]
                break
            chain.append(nearest)
        del chain[-2:]
        first_rows[merge], second_rows[merge], heights[merge] = group, nearest, distances[group, nearest]
        mean = (weight[group] * distances[group] + weight[nearest] * distances[nearest]) / (
            weight[group] + weight[nearest]
        )
        mean[nearest] = np.inf
        distances[nearest] = distances[:, nearest] = mean
        distances[group] = distances[:, group] = np.inf
        weight[nearest] += weight[group]
        alive[group] = False
    return first_rows, second_rows, heights
