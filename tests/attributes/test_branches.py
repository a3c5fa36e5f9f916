"""Branches: the tree against scipy's, and what its bins do to a ranking."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

import mascot as mc


def _vectors(count: int, seed: int = 0, width: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, width))


def _labels(vectors: np.ndarray, *counts: int) -> list[list[int]]:
    """The branch of each row at each cut."""
    found = mc.Branches(counts).membership({}, vectors)
    assert found.values is None  # every membership is 1
    return found.indices.reshape(-1, len(counts)).T.tolist()


def _same(one: object, other: object) -> bool:
    """Whether two labellings are the same groups."""
    pairs = set(zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True))
    return len(pairs) == len(np.unique(one)) == len(np.unique(other))


@pytest.mark.parametrize("count", [2, 3, 17, 60, 150])
def test_cuts_are_those_of_average_linkage(count: int) -> None:
    vectors = _vectors(count, seed=count)
    tree = linkage(pdist(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)), "average")
    for wanted, labels in zip((2, 10, 40), _labels(vectors, 2, 10, 40), strict=True):
        assert _same(labels, fcluster(tree, min(wanted, count), "maxclust"))


def test_deeper_cuts_refine_and_order_does_not_matter() -> None:
    vectors = _vectors(80)
    coarse, fine = _labels(vectors, 5, 20)
    assert len(set(zip(coarse, fine, strict=True))) == len(set(fine)) == 20
    turned, again = _labels(vectors, 20, 5)
    assert _same(turned, fine)
    assert _same(again, coarse)
    shuffled = np.random.default_rng(1).permutation(80)
    assert _same(_labels(vectors[shuffled], 20)[0], np.array(fine)[shuffled])


def test_length_does_not_count_and_copies_are_one() -> None:
    vectors = _vectors(30)
    longer = vectors * np.random.default_rng(2).uniform(0.1, 9.0, (30, 1))
    assert _same(_labels(vectors, 8)[0], _labels(longer, 8)[0])
    doubled = _labels(np.concatenate([vectors, longer]), 8, 60)
    for labels in doubled:
        assert labels[:30] == labels[30:]
    assert len(set(doubled[1])) == 30


def test_few_rows() -> None:
    assert _labels(_vectors(1), 15, 30) == [[0], [1]]
    none = mc.Branches().membership({}, np.full((2, 3), np.nan))
    assert none.missing().all()
    assert none.sparse().dense().shape == (2, 1)
    zeros = mc.Branches((2,)).membership({}, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    assert zeros.dense().tolist() == [[1, 0], [0, 1], [0, 1]]


def test_missing_vectors() -> None:
    vectors = _vectors(20)
    vectors[[3, 8]] = np.nan
    found = mc.Branches((4, 9)).membership({}, vectors)
    assert np.flatnonzero(found.missing()).tolist() == [3, 8]
    rows = found.dense()
    assert (rows[[3, 8]] == 0).all()
    assert (np.delete(rows, [3, 8], axis=0).sum(axis=1) == 2).all()
    assert _same(_labels(np.delete(vectors, [3, 8], axis=0), 9)[0], np.delete(rows[:, 4:].argmax(axis=1), [3, 8]))


def test_an_odd_one_out_is_found() -> None:
    rng = np.random.default_rng(0)
    crowd = np.array([1.0, 0.0, 0.0, 0.0]) + 0.05 * rng.standard_normal((30, 4))
    vectors = np.concatenate([crowd, [[-1.0, 0.2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]])
    found = mc.Candidates(np.linspace(1.0, 0.5, 32), vectors=vectors)
    plain = mc.rerank(found, [], 4).ids
    spread = mc.rerank(found, [mc.spread(mc.Branches((3, 6)))], 5, mc.Mascot(0.8)).ids
    assert plain == [0, 1, 2, 3]
    assert {30, 31} <= set(spread)
    near = mc.rerank(found, [mc.focus(mc.Branches((3, 6)))], 5, mc.Mascot(0.8)).ids
    assert not {30, 31} & set(near)


def test_backends_and_batches_agree() -> None:
    rng = np.random.default_rng(5)
    asked = [mc.spread(mc.Branches((3, 9))), mc.spread(mc.Category("who"), 0.5)]
    lists = [
        mc.Candidates(rng.random(size), columns={"who": rng.integers(0, 6, size)}, vectors=_vectors(size, size))
        for size in (12, 40, 41, 90)
    ]
    together = mc.rerank_many(lists, asked, 8)
    for found, many in zip(lists, together, strict=True):
        alone = [mc.rerank(found, asked, 8, backend=backend).ids for backend in ("numpy", "native")]
        assert alone[0] == alone[1] == many.ids
    size = 40
    batch = mc.Batch(np.stack([lists[1].scores] * 2), {"who": np.stack([lists[1].columns["who"]] * 2)},
                     np.stack([lists[1].vectors] * 2))  # fmt: skip
    assert [r.ids for r in mc.rerank_many(batch, asked, 8)] == [together[1].ids] * 2
    ranker = mc.Reranker(asked).fit(lists[1].columns, lists[1].vectors)
    assert ranker.rerank(np.arange(size), lists[1].scores, 8).ids == together[1].ids


def test_features_are_as_far_apart_as_labels() -> None:
    features = mc.Branches((2, 4, 8)).features({}, _vectors(30))
    np.testing.assert_allclose((features**2).sum(axis=1), 1.0)
    assert np.linalg.norm(features[:, None] - features, axis=-1).max() == pytest.approx(np.sqrt(2))


def test_bins_have_names() -> None:
    found = mc.Candidates([0.9, 0.8, 0.7], vectors=[[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    ranking = mc.rerank(found, [mc.spread(mc.Branches((2,)))], 2, mc.Mascot(protect=1))
    assert ranking.ids == [0, 2]
    names = mc.Branches((2, 3)).membership({}, np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])).name
    assert [names(bin_) for bin_ in (0, 1, 2, 4)] == ["look 1 of 2", "look 2 of 2", "look 1 of 3", "look 3 of 3"]


def test_errors() -> None:
    with pytest.raises(mc.InputError, match="Branches needs vectors, got none"):
        mc.Branches().membership({}, None)
    with pytest.raises(mc.InputError, match="Branches compares all pairs and takes at most 10000 rows, got 10001"):
        mc.Branches().membership({}, np.ones((10_001, 1)))
    for counts in ((), (0,), (3, -1)):
        with pytest.raises(mc.OptionError, match=r"Branches.counts must be whole numbers >= 1"):
            mc.Branches(counts)
    with pytest.raises(mc.OptionError, match=r"Branches.missing must be"):
        mc.Branches(missing="first")  # type: ignore[arg-type]


def test_it_is_a_value() -> None:
    assert mc.Branches([15, 30, 60]) == mc.Branches()
    assert hash(mc.Branches()) == hash(mc.Branches((15, 30, 60)))
    assert mc.Branches(**{k: v for k, v in mc.Branches((2, 5)).to_dict().items() if k != "kind"}) == mc.Branches((2, 5))
