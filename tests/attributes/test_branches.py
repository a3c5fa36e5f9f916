"""Branches: the tree against scipy's, and what its bins do to a ranking."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

import mascot as mc


def _vectors(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 12))


def _labels(vectors: np.ndarray, *counts: int) -> list[list[int]]:
    bins = mc.Branches(counts).membership({}, vectors)
    assert bins.values is None  # every membership is 1
    return bins.indices.reshape(-1, len(counts)).T.tolist()


def _same(first: object, second: object) -> bool:
    pairs = set(zip(np.asarray(first).tolist(), np.asarray(second).tolist(), strict=True))
    return len(pairs) == len(np.unique(first)) == len(np.unique(second))


@pytest.mark.parametrize("count", [2, 60])
def test_cuts_are_those_of_average_linkage(count: int) -> None:
    vectors = _vectors(count, seed=count)
    tree = linkage(pdist(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)), "average")
    for wanted, labels in zip((2, 10, 40), _labels(vectors, 2, 10, 40), strict=True):
        assert _same(labels, fcluster(tree, min(wanted, count), "maxclust"))


def test_order_and_length_do_not_matter_and_copies_are_one() -> None:
    vectors = _vectors(30)
    longer = vectors * np.random.default_rng(2).uniform(0.1, 9.0, (30, 1))
    (labels,), (turned,) = _labels(vectors, 8), _labels(longer[::-1], 8)
    assert _same(labels, turned[::-1])
    doubled = _labels(np.concatenate([vectors, longer]), 60, 8)  # the deeper cut may come first
    assert all(cut[:30] == cut[30:] for cut in doubled)
    assert len(set(doubled[0])) == 30


def test_few_rows_and_missing_vectors() -> None:
    assert _labels(_vectors(1), 15, 30) == [[0], [1]]
    nothing = mc.Branches().membership({}, np.full((2, 3), np.nan))
    assert nothing.missing().all()
    zeros = mc.Branches((2,)).membership({}, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    assert zeros.dense().tolist() == [[1, 0], [0, 1], [0, 1]]
    vectors = _vectors(20)
    vectors[3] = np.nan
    others = np.delete(mc.Branches((4, 9)).membership({}, vectors).dense(), 3, axis=0)
    assert _same(_labels(np.delete(vectors, 3, axis=0), 9)[0], others[:, 4:].argmax(axis=1))


def test_an_outlier_is_a_branch_of_its_own() -> None:
    rng = np.random.default_rng(0)
    crowd = np.array([1.0, 0.0, 0.0, 0.0]) + 0.05 * rng.standard_normal((30, 4))
    vectors = np.concatenate([crowd, [[-1.0, 0.2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]])
    candidates = mc.Candidates(np.linspace(1.0, 0.5, 32), vectors=vectors)
    assert {30, 31} <= set(mc.rerank(candidates, mc.spread(mc.Branches((3, 6))), 5, strength=0.8).ids)
    assert not {30, 31} & set(mc.rerank(candidates, mc.focus(mc.Branches((3, 6))), 5, strength=0.8).ids)
