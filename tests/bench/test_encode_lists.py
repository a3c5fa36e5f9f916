"""The best images of each query: exact, in order, the same however the work is cut, and small in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mascot.bench.encode import best_lists, scoring
from mascot.errors import InputError, OptionError


def _vectors(seed: int, *shape: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal(shape)
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def test_the_best_by_the_largest_dot_product() -> None:
    tokens, texts = _vectors(0, 300, 8, 24), _vectors(1, 60, 24)
    rows, queries = np.arange(50, 300), np.arange(3, 60, 2)
    lists = best_lists(tokens, texts, rows, queries, 20)
    scores = np.einsum("itd,qd->qit", tokens.astype(float), texts.astype(float)).max(2)[np.ix_(queries, rows)]
    np.testing.assert_array_equal(lists.queries, queries)
    np.testing.assert_array_equal(lists.rows, rows[np.argsort(-scores, axis=1)[:, :20]])
    np.testing.assert_allclose(lists.scores, -np.sort(-scores, axis=1)[:, :20], atol=1e-6)


def test_equal_images_have_equal_scores_and_the_lower_row_comes_first() -> None:
    """A matrix product gives copies of one image different scores, by where they stand."""
    rng = np.random.default_rng(2)
    copies = rng.integers(0, 37, 1003)  # 37 pictures in 1003 rows
    tokens, texts = _vectors(3, 37, 5, 51)[copies], _vectors(4, 29, 51)
    lists = best_lists(tokens, texts, np.arange(1003), np.arange(29), 100)
    for rows, scores in zip(lists.rows, lists.scores, strict=True):
        order = np.lexsort((rows, -scores))
        np.testing.assert_array_equal(order, np.arange(100))
        pictures = copies[rows]
        assert len(np.unique(scores)) == len(np.unique(pictures))
        for picture in np.unique(pictures):
            of_it = np.flatnonzero(copies == picture)
            assert rows[pictures == picture].tolist() == of_it[: (pictures == picture).sum()].tolist()


def test_the_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, texts = _vectors(5, 211, 3, 19), _vectors(6, 40, 19)
    tokens[100:150] = tokens[20:70]
    reference = best_lists(tokens, texts, np.arange(211), np.arange(40), 30)
    for queries, images in ((1, 1), (7, 4096), (16, 30_000)):
        monkeypatch.setattr(scoring, "_QUERIES", queries)
        monkeypatch.setattr(scoring, "_TOKENS", images)
        monkeypatch.setattr(scoring, "_DOTS", images)
        cut = best_lists(tokens, texts, np.arange(211), np.arange(40), 30)
        np.testing.assert_array_equal(cut.rows, reference.rows)
        np.testing.assert_array_equal(cut.scores, reference.scores)


def test_files_are_read_in_place(tmp_path: Path) -> None:
    tokens, texts = _vectors(7, 90, 4, 16).astype(np.float16), _vectors(8, 12, 16)
    np.save(tmp_path / "tokens.npy", tokens)
    stored = np.load(tmp_path / "tokens.npy", mmap_mode="r")
    scattered = np.arange(1, 90, 3)
    lists = best_lists(stored, texts, scattered[::-1], [4, 2], 10)
    assert lists.queries.tolist() == [4, 2]
    assert set(lists.rows.ravel().tolist()) <= set(scattered.tolist())
    scores = np.einsum("itd,qd->qit", tokens[scattered].astype(float), texts[[4, 2]].astype(float)).max(2)
    np.testing.assert_allclose(lists.scores, -np.sort(-scores, axis=1)[:, :10], atol=1e-6)


def test_one_vector_an_image_and_fewer_images_than_asked_for() -> None:
    images, texts = _vectors(9, 8, 16), _vectors(10, 3, 16)
    lists = best_lists(images, texts, [6, 1, 3], [0, 1, 2], 5)
    assert (lists.rows[:, 3:] == -1).all()
    assert (lists.scores[:, 3:] == -np.inf).all()
    assert np.sort(lists.rows[:, :3], axis=1).tolist() == [[1, 3, 6]] * 3
    assert best_lists(images, texts, [1, 2], [], 5).rows.shape == (0, 5)


def test_vectors_of_any_length() -> None:
    """The margin of the fast scores follows the lengths."""
    tokens, texts = 1e4 * _vectors(11, 400, 4, 32), 1e-3 * _vectors(12, 9, 32)
    small = best_lists(tokens, texts, np.arange(400), np.arange(9), 25)
    scores = np.einsum("itd,qd->qit", tokens.astype(float), texts.astype(float)).max(2)
    np.testing.assert_array_equal(small.rows, np.argsort(-scores, axis=1)[:, :25])


def test_memory_does_not_follow_the_queries() -> None:
    tokens, texts = _vectors(13, 20_000, 4, 16), _vectors(14, 1_500, 16)  # 480 MB of dot products
    tracemalloc.start()
    try:
        best_lists(tokens, texts, np.arange(20_000), np.arange(1_500), 50)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6


def test_progress_is_told() -> None:
    reports: list[tuple[int, int]] = []
    best_lists(
        _vectors(15, 5, 8), _vectors(16, 1100, 8), range(5), range(1100), 2, report=lambda *step: reports.append(step)
    )
    assert reports == [(512, 1100), (1024, 1100), (1100, 1100)]


def test_refusals() -> None:
    tokens, texts = _vectors(17, 6, 2, 8), _vectors(18, 4, 8)
    with pytest.raises(OptionError, match=r"best_lists\.n must be >= 1, got 0"):
        best_lists(tokens, texts, [0], [0], 0)
    with pytest.raises(InputError, match=r"best_lists\.rows must be between 0 and 5, got 6"):
        best_lists(tokens, texts, [0, 6], [0], 3)
    with pytest.raises(InputError, match=r"best_lists\.queries must be between 0 and 3, got -1"):
        best_lists(tokens, texts, [0], [-1], 3)
    with pytest.raises(InputError, match=r"got shapes \(6, 2, 8\) and \(4, 7\)"):
        best_lists(tokens, texts[:, :7], [0], [0], 3)
    tokens[2, 1, 3] = np.nan
    with pytest.raises(InputError, match="needs finite tokens and texts"):
        best_lists(tokens, texts, range(6), [0], 3)
