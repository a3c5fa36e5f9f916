"""Look at several depths: branches of the tree in which vectors join those they resemble."""

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
_COPY = 1e-6  # distances of unit vectors up to which two are one


@dataclass(frozen=True, slots=True)
class Branches(Value):
    """One whole bin per branch and depth: the tree of the vectors, cut into each of `counts` branches.

    The tree joins, over and over, the two groups whose vectors are nearest on average (average linkage, distance of
    unit vectors). An odd one out stays a branch of its own where k-means would put it with others, and two candidates
    share the more bins the more alike they are. Copies share all of them.

    `rerank` grows the tree from the candidates, `Reranker.fit` from the whole corpus (10,000 rows at most; more are for
    `Clusters`). A row of NaN is a missing vector.

    Parameters
    ----------
    counts
        Into how many branches the tree is cut, once for each number.
    missing
        What a candidate without a vector gets: ``"last"``, ``"neutral"`` or ``"drop"``.
    name
        What explanations and gains call it.

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

    def __post_init__(self) -> None:
        given: Any = self.counts
        rule = "must be whole numbers >= 1, such as (15, 30, 60)"
        require(isinstance(given, Iterable) and not isinstance(given, str), "Branches.counts", rule, given)
        counts = tuple(given)
        whole = all(isinstance(count, Integral) and int(count) >= 1 for count in counts)
        require(len(counts) > 0 and whole, "Branches.counts", rule, counts)
        object.__setattr__(self, "counts", counts)
        check_missing("Branches", self.missing)

    @property
    def local(self) -> bool:
        """Bins are found anew for each query."""
        return True

    def membership(self, columns: Columns, vectors: Floats | None) -> SparseBins:
        if vectors is None:
            raise InputError("Branches needs vectors, got none")
        known: Bools = np.asarray(~np.isnan(vectors).any(axis=1))
        count = int(known.sum())
        if count > _MOST:
            raise InputError(f"Branches compares all pairs and takes at most {_MOST} rows, got {count}: use Clusters")
        labels = _cuts(vectors[known], self.counts)  # [cuts, count]
        sizes = [int(cut.max(initial=-1)) + 1 for cut in labels]
        starts = np.cumsum([0, *sizes])
        depths = len(sizes)

        return SparseBins(
            indptr=np.concatenate([[0], np.cumsum(known * depths)]).astype(np.int64),
            indices=(labels + starts[:-1, None]).T.ravel(),
            values=None,
            count=max(int(starts[-1]), 1),
            labels=tuple(f"look {number + 1} of {size}" for size in sizes for number in range(size)),
        )

    def features(self, columns: Columns, vectors: Floats | None) -> Floats:
        return self.membership(columns, vectors).dense() / math.sqrt(len(self.counts))


def _cuts(vectors: Floats, counts: tuple[int, ...]) -> Ints:
    """[len(counts), N] the branch of each vector at each cut, numbered by first appearance."""
    left, right, heights = _average_linkage(_distances(vectors))
    order = np.argsort(heights, kind="stable")
    copies = int((heights <= _COPY).sum())
    size = len(vectors)
    labels = np.zeros((len(counts), size), np.int64)
    parent = np.arange(size)
    joined = 0
    for cut in np.argsort([-count for count in counts], kind="stable"):
        wanted = max(size - counts[cut], copies)
        for at in order[joined:wanted]:
            parent[_root(parent, right[at])] = _root(parent, left[at])
        joined = max(joined, wanted)
        roots = np.array([_root(parent, row) for row in range(size)], np.int64)
        _, first, own = np.unique(roots, return_index=True, return_inverse=True)
        labels[cut] = np.argsort(np.argsort(first))[own.reshape(-1)]
    return labels


def _distances(vectors: Floats) -> Floats:
    """All pairs' distances after scaling to length 1."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    own = (unit * unit).sum(axis=1)
    found: Floats = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2.0 * (unit @ unit.T), 0.0))
    return found


def _average_linkage(distances: Floats) -> tuple[Ints, Ints, Floats]:
    """N - 1 merges, as a row of each side and the mean distance between the two; nearest-neighbour chain, in place.

    A merged group lives on in the row of its second half. Following nearest neighbours from group to group ends at a
    pair that are each other's, and merging such a pair never changes who else's nearest neighbours are.
    """
    size = len(distances)
    merges = max(size - 1, 0)
    left, right, heights = np.zeros(merges, np.int64), np.zeros(merges, np.int64), np.zeros(merges)
    np.fill_diagonal(distances, np.inf)
    weight = np.ones(size)
    alive = np.ones(size, bool)
    chain: list[int] = []
    for merge in range(merges):
        if not chain:
            chain.append(int(alive.argmax()))
        while True:
            here = chain[-1]
            nearest = int(distances[here].argmin())
            # On a tie go back, or the chain could run in a circle.
            if len(chain) > 1 and distances[here, chain[-2]] <= distances[here, nearest]:
                nearest = chain[-2]
                break
            chain.append(nearest)
        del chain[-2:]
        left[merge], right[merge], heights[merge] = here, nearest, distances[here, nearest]
        mean = (weight[here] * distances[here] + weight[nearest] * distances[nearest]) / (
            weight[here] + weight[nearest]
        )
        mean[nearest] = np.inf
        distances[nearest] = distances[:, nearest] = mean
        distances[here] = distances[:, here] = np.inf
        weight[nearest] += weight[here]
        alive[here] = False
    return left, right, heights


def _root(parent: Ints, row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = int(parent[row])
    return int(row)
