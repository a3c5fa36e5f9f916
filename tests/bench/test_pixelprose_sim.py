"""The simulated PixelProse: sizes, determinism, and the base retriever's published rows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulation import base_figures, published_figures

from mascot.bench.datasets.dataset import Dataset, Split
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.errors import InputError

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def datasets() -> list[Dataset]:
    return [PixelProseSim(seed=seed).load() for seed in SEEDS]


def test_the_base_retriever_lands_on_its_published_row(datasets: list[Dataset]) -> None:
    runs, published = [base_figures(dataset) for dataset in datasets], published_figures()
    means = {key: float(np.mean([run[key] for run in runs])) for key in published}
    for figure, mean in means.items():
        tolerance = 0.01 if figure == "appearance" else 0.02
        assert mean == pytest.approx(published[figure], abs=tolerance), figure
    # The documented table is the printed one.
    text = (Path(__file__).parents[2] / "docs" / "notes" / "simulation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^(\S.*?) +(0\.\d{4}) +(0\.\d{4}) +[+-]", text, flags=re.MULTILINE)
    assert {name: float(value) for name, value, _ in rows} == published
    for name, _, simulated in rows:
        assert float(simulated) == pytest.approx(means[name], abs=0.002)


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(datasets: list[Dataset]) -> None:
    hashes = [dataset.content_hash for dataset in datasets]
    assert PixelProseSim(seed=1).load().content_hash == hashes[1]
    assert len(set(hashes)) == len(SEEDS)


def test_splits_vectors_and_columns(datasets: list[Dataset]) -> None:
    dataset = datasets[0]
    parts, columns = dataset.splits, dataset.columns
    rows = np.concatenate([parts[name].images for name in ("validation", "test")])
    np.testing.assert_array_equal(np.sort(rows), np.arange(996))
    assert all((split.images == split.queries).all() for split in parts.values())
    assert [rows.tolist() for rows in dataset.positives] == [[row] for row in range(996)]
    for vectors in (dataset.vectors, dataset.query_vectors):
        assert np.shape(vectors) == (996, 256)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for name, queries, count in (("validation", 199, 199), ("test", 797, 200)):
        scores = np.stack([hits.scores for hits in dataset.hits(200, name)])
        assert scores.shape == (queries, count)
        assert scores.min() > 0
    assert scores[:, 0].mean() == pytest.approx(0.44, abs=0.02)
    assert scores[:, -1].mean() == pytest.approx(0.29, abs=0.02)
    assert list(columns) == ["lat", "lon", "taken", "city", "country", "topic"]
    assert (columns["lat"] > 60).mean() < 0.02  # the paper: 0.4% of the test split lie north of 60 degrees


def test_all_queries_and_single_ones_agree_with_a_full_sort(datasets: list[Dataset]) -> None:
    dataset = datasets[0]
    vectors, query_vectors = np.asarray(dataset.vectors), np.asarray(dataset.query_vectors)
    test = dataset.splits["test"]
    pool, every = np.sort(test.images), list(dataset.hits(200))
    assert [hits.query for hits in every] == test.queries.tolist()
    for hits in every[5::200]:
        best = pool[np.argsort(-vectors[pool] @ query_vectors[hits.query], kind="stable")[:200]]
        np.testing.assert_array_equal(hits.images, best)
        np.testing.assert_array_equal(hits.relevant, best == hits.query)
        single = dataset.candidates(hits.query, 200)
        np.testing.assert_array_equal(single.images, best)
        np.testing.assert_allclose(single.scores, hits.scores, rtol=0, atol=2e-12)


def test_equal_images_tie_and_the_lower_row_comes_first_at_the_cut_too() -> None:
    vector, query = np.random.default_rng(3).standard_normal((2, 33))
    query *= np.sign(vector @ query)
    vectors = np.vstack([-vector, np.tile(vector, (8, 1)), 2 * vector])
    everything = Split(np.arange(10), np.arange(1))
    dataset = Dataset("ties", {}, [[4]], {"test": everything}, vectors, query[None])
    assert dataset.candidates(0, 5).images.tolist() == [9, 1, 2, 3, 4]


def _listed(positives: list[list[int]], name: str = "listed") -> Dataset:
    splits = {"validation": Split(np.array([3]), np.array([1])), "test": Split(np.array([0, 1, 2, 4]), np.arange(3))}
    columns = {"camera": np.array(["a", "b", None, "a", "c"], dtype=object)}
    lists, scores = [[4, 0, 2], [3, 1], []], [[0.2, 0.9, 0.9], [0.5, 0.4], []]
    return Dataset(name, columns, positives, splits, lists=lists, scores=scores)


def test_ready_made_lists_are_sorted_and_kept_to_the_split() -> None:
    dataset = _listed([[2, 4], [], [0]])
    every = list(dataset.hits(3))
    assert [hits.images.tolist() for hits in every] == [[0, 2, 4], [1], []]
    assert [hits.relevant.tolist() for hits in every] == [[False, True, True], [False], []]
    assert every[1].scores.tolist() == [0.4]
    assert dataset.candidates(1, 3, "validation").images.tolist() == [3]
    assert dataset.content_hash == _listed([[2, 4], [], [0]], "another name").content_hash
    assert dataset.content_hash != _listed([[2], [], [0]]).content_hash
    with pytest.raises(InputError, match="must be of the split 'validation', got 0"):
        dataset.candidates(0, 3, "validation")
