"""Clustering: group the candidates, then take groups in turn or one after the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.attributes import Clusters
from mascot.bench.datasets.dataset import Ints
from mascot.bench.methods.similarity import joined_features
from mascot.errors import OptionError, check_share, check_whole
from mascot.methods.method import Problem, Selection, select_each


@dataclass(frozen=True, slots=True)
class Clustering:
    """k-means on the candidates' features, clusters ranked by their mean raw score.

    Spread takes the best candidate of each cluster in turn, round after round; focus takes whole
    clusters one after the other. Within a cluster higher scores come first. Features are those of
    `Mmr`: [unit image vector, features of each attribute times w_j / sum(w)].

    Parameters
    ----------
    strength : float
        The published method has no trade-off: it is strength 1, the default. Strengths below mix two
        rankings, (1 - strength) * place by relevance + strength * place by clusters, smallest first,
        so that 0 is relevance only as for every method.
    clusters : int
        Number of clusters, or of distinct candidates if there are fewer. The published search tried 40 and 60.
    seed : int
        Seed of the k-means start.

    Notes
    -----
    - Clusters ignore the query. On focus, one good match in a cluster of bad ones waits for the cluster's turn;
      on spread, the best candidate of each cluster is a result, however bad it is.
    - All wishes share one set of clusters, so they must all be spread or all focus. Without wishes the
      image vectors are spread; candidates with neither vectors nor wishes are refused.
    - With as many clusters as candidates every cluster is one candidate, and the order is relevance.
    - Candidates of earlier pages are left out of the order, so a second page continues the first.
    """

    strength: float = 1.0
    clusters: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        check_share("Clustering.strength", self.strength)
        check_whole("Clustering.clusters", self.clusters, 1)
        check_whole("Clustering.seed", self.seed, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, as records hold them."""
        return {"kind": "Clustering"} | asdict(self)

    def select(self, problem: Problem, k: int) -> Selection:
        """Select k candidates of each query, or all if there are fewer."""
        focused = problem.signs < 0
        if focused.any() and not focused.all():
            raise OptionError("Clustering has one direction: wishes must be all spread or all focus")
        return select_each(problem, k, self, lambda *query: partial(self._choose, *query))

    def _choose(self, problem: Problem, q: int, k: int, strength: float) -> Ints:
        scores, rows = problem.scores_of(q), joined_features(problem, q)
        labels = Clusters(self.clusters, self.seed).membership({}, rows).indices
        by_clusters = _cluster_order(labels, scores, one_by_one=bool((problem.signs < 0).any()))
        by_score = np.argsort(-scores, kind="stable")
        place = (1.0 - strength) * np.argsort(by_score) + strength * np.argsort(by_clusters)
        order = np.argsort(place, kind="stable")
        return np.asarray(order[problem.open_positions(q)[order]][:k])


def _cluster_order(labels: NDArray[np.int64], scores: NDArray[np.float64], one_by_one: bool) -> NDArray[np.int64]:
    """Return all positions, best cluster first: cluster by cluster if `one_by_one`, otherwise in rounds."""
    order = np.argsort(-scores, kind="stable")
    cluster = labels[order]
    # Below the highest score, so that clusters of equal scores have equal means to the last bit.
    sums = np.bincount(labels, weights=scores - scores[order[0]])
    means = sums / np.bincount(labels)
    # Clusters of equal mean are ranked by their best candidate.
    _, best = np.unique(cluster, return_index=True)
    rank = np.empty(len(means), np.int64)
    rank[np.lexsort((best, -means))] = np.arange(len(means))
    grouped = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[grouped], cluster)
    turn = np.empty(len(order), np.int64)
    turn[grouped] = np.arange(len(order))
    turn -= starts
    return order[np.lexsort((turn, rank[cluster]) if one_by_one else (rank[cluster], turn))]
