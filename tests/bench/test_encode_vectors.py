"""The best images of each query, and ready-made vectors in the layout of a model's own."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mascot.bench.datasets.folder import Folder, Query, read_folder, write_folder
from mascot.bench.encode import best_lists, scoring, store_vectors
from mascot.errors import InputError, OptionError

_IMAGES = 40


def _vectors(seed: int, *shape: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal(shape)
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def _scores(tokens: np.ndarray, texts: np.ndarray) -> np.ndarray:
    return np.einsum("itd,qd->qit", tokens.astype(float), texts.astype(float)).max(2)


@pytest.mark.parametrize(("length", "text_length"), [(1.0, 1.0), (1e4, 1e-3)])
def test_the_best_by_the_largest_dot_product(length: float, text_length: float) -> None:
    tokens, texts = length * _vectors(0, 300, 8, 24), text_length * _vectors(1, 60, 24)
    rows, queries = np.arange(50, 300), np.arange(3, 60, 2)
    lists = best_lists(tokens, texts, rows, queries, 20)
    scores = _scores(tokens, texts)[np.ix_(queries, rows)]
    np.testing.assert_array_equal(lists.queries, queries)
    np.testing.assert_array_equal(lists.rows, rows[np.argsort(-scores, axis=1)[:, :20]])
    np.testing.assert_allclose(lists.scores, -np.sort(-scores, axis=1)[:, :20], rtol=1e-5, atol=1e-6)


def test_equal_images_have_equal_scores_and_the_lower_row_comes_first() -> None:
    """A matrix product gives copies of one image different scores, by their position."""
    copies = np.random.default_rng(2).integers(0, 37, 1003)  # 37 pictures in 1003 rows
    tokens, texts = _vectors(3, 37, 5, 51)[copies], _vectors(4, 29, 51)
    lists = best_lists(tokens, texts, np.arange(1003), np.arange(29), 100)
    for rows, scores in zip(lists.rows, lists.scores, strict=True):
        np.testing.assert_array_equal(np.lexsort((rows, -scores)), np.arange(100))
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
        reports: list[int] = []
        report = lambda count, _, reports=reports: reports.append(count)  # noqa: E731
        lists = best_lists(tokens, texts, np.arange(211), np.arange(40), 30, report=report)
        np.testing.assert_array_equal(lists.rows, reference.rows)
        np.testing.assert_array_equal(lists.scores, reference.scores)
        assert reports == [min(end, 40) for end in range(queries, 40 + queries, queries)]


def test_files_are_read_in_place(tmp_path: Path) -> None:
    tokens, texts = _vectors(7, 90, 4, 16).astype(np.float16), _vectors(8, 12, 16)
    np.save(tmp_path / "tokens.npy", tokens)
    scattered = np.arange(1, 90, 3)
    lists = best_lists(np.load(tmp_path / "tokens.npy", mmap_mode="r"), texts, scattered[::-1], [4, 2], 10)
    assert lists.queries.tolist() == [4, 2]
    assert set(lists.rows.ravel().tolist()) <= set(scattered.tolist())
    scores = _scores(tokens[scattered], texts[[4, 2]])
    np.testing.assert_allclose(lists.scores, -np.sort(-scores, axis=1)[:, :10], atol=1e-6)


def test_one_vector_an_image_and_fewer_images_than_asked_for() -> None:
    images, texts = _vectors(9, 8, 16), _vectors(10, 3, 16)
    lists = best_lists(images, texts, [6, 1, 3], [0, 1, 2], 5)
    assert (lists.rows[:, 3:] == -1).all()
    assert (lists.scores[:, 3:] == -np.inf).all()
    assert np.sort(lists.rows[:, :3], axis=1).tolist() == [[1, 3, 6]] * 3
    assert best_lists(images, texts, [1, 2], [], 5).rows.shape == (0, 5)


def test_memory_does_not_follow_the_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_SCORES", "_TOKENS", "_DOTS"):
        monkeypatch.setattr(scoring, limit, getattr(scoring, limit) >> 4)
    tokens, texts = _vectors(13, 4_000, 4, 16), _vectors(14, 600, 16)  # 38 MB of dot products
    tracemalloc.start()
    try:
        best_lists(tokens, texts, np.arange(4_000), np.arange(600), 50)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6


def test_lists_that_cannot_be_made() -> None:
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


# Ready-made vectors

TOKENS, TEXTS = np.random.default_rng(0).standard_normal((_IMAGES, 3, 12)), _vectors(0, _IMAGES, 12).astype(float)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    columns = {
        "id": [f"photo {row}" for row in range(_IMAGES)],
        "file": [f"images/{row}.jpg" for row in range(_IMAGES)],
        "lat": [float(row) for row in range(_IMAGES)],
        "lon": [float(-row) for row in range(_IMAGES)],
        "taken": [datetime(2021, 1, 1, row % 24) for row in range(_IMAGES)],
    }
    queries = [Query(f"caption {row}", (row,)) for row in range(_IMAGES)]
    write_folder(tmp_path / "data", "simulated", columns, 8, queries, {"made": "by hand"})
    return tmp_path / "data"


def test_a_benchmark_reads_them(folder: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    where = store_vectors(folder, "mine", TOKENS, TEXTS, candidates=15, report=lambda *step: reports.append(step))
    arrays = {"texts.npy", "tokens.npy", "vectors.npy", "lists-test.npz", "lists-validation.npz"}
    assert {path.name for path in where.iterdir()} == arrays | {"model.json"}
    assert reports == [("images", 40, 40), ("texts", 40, 40), ("lists", 8, 40), ("lists", 40, 40)]
    np.testing.assert_array_equal(np.load(where / "tokens.npy"), TOKENS.astype(np.float32))
    np.testing.assert_array_equal(np.load(where / "texts.npy"), TEXTS.astype(np.float32))
    expected_info = {"model": "mine", "device": "given", "complete": True, "candidates": 15}
    assert expected_info.items() <= json.loads((where / "model.json").read_text()).items()

    dataset = Folder(folder, "mine").load()
    assert dataset.name == "simulated-mine"
    mean = TOKENS.mean(1)
    np.testing.assert_allclose(dataset.vectors, mean / np.linalg.norm(mean, axis=1)[:, None], atol=1e-6)
    expected = best_lists(TOKENS.astype(np.float32), TEXTS.astype(np.float32), range(8, 40), [20], 15)
    hits = dataset.candidates(20, n=15)
    np.testing.assert_array_equal(hits.images, expected.rows[0])
    np.testing.assert_allclose(hits.scores, expected.scores[0])
    again = store_vectors(folder, "again", TOKENS, TEXTS, candidates=15)
    assert all((where / name).read_bytes() == (again / name).read_bytes() for name in arrays)


def test_storing_again(folder: Path) -> None:
    def store(tokens: np.ndarray, candidates: int) -> set[str]:
        stages: set[str] = set()
        report = lambda stage, *_: stages.add(stage)  # noqa: E731
        store_vectors(folder, "mine", tokens, TEXTS, candidates=candidates, report=report)
        return stages

    everything = {"images", "texts", "lists"}
    assert store(TOKENS, 5) == everything
    assert store(TOKENS, 5) == set()
    assert store(TOKENS, 6) == {"lists"}
    assert store(TOKENS[:, 0], 6) == everything  # one vector an image
    assert np.load(folder / "encoded" / "mine" / "tokens.npy").shape == (40, 1, 12)
    assert store(-TOKENS[:, 0], 6) == everything
    with pytest.raises(InputError, match="holds the vectors of mine, and Mine would have the same name there"):
        store_vectors(folder, "Mine", TOKENS, TEXTS)


def test_vectors_that_cannot_be_stored(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tokens \[40, T, D\] and texts \[40, D\], got shapes \(39, 3, 12\)"):
        store_vectors(folder, "mine", TOKENS[1:], TEXTS)
    with pytest.raises(InputError, match=r"and \(40, 11\)"):
        store_vectors(folder, "mine", TOKENS, TEXTS[:, 1:])
    with pytest.raises(OptionError, match=r"store_vectors\.candidates must be >= 1, got 0"):
        store_vectors(folder, "mine", TOKENS, TEXTS, candidates=0)
    with pytest.raises(OptionError, match=r"store_vectors\.model must have a letter or a digit, got '\.\.'"):
        store_vectors(folder, "..", TOKENS, TEXTS)
    with pytest.raises(InputError, match="mascot bench prepare"):
        store_vectors(tmp_path, "mine", TOKENS, TEXTS)
    nothing, broken = TOKENS.copy(), TEXTS.copy()
    nothing[7, :2], nothing[7, 2] = 1, -2
    broken[3, 3] = np.inf
    with pytest.raises(InputError, match="must not average to zero"):
        store_vectors(folder, "mine", nothing, TEXTS)
    with pytest.raises(InputError, match=r"texts\.npy must be finite"):
        store_vectors(folder, "mine", TOKENS, broken)
    with pytest.raises(InputError, match="has no vectors of mine"):
        Folder(folder, "mine").load()


_SMALL_DISK = """
import resource, sys
from pathlib import Path
import numpy as np
from mascot.bench.encode import store_vectors
from mascot.errors import InputError
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    store_vectors(Path(sys.argv[1]), "mine", np.ones((40, 30, 12)), np.ones((40, 12)))
except InputError as error:
    print(error)
print(sorted({"PIL", "torch", "transformers"} & set(sys.modules)))
"""


def test_no_room_is_said_and_neither_torch_nor_pillow_is_loaded(folder: Path) -> None:
    command = [sys.executable, "-c", _SMALL_DISK, str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    message, loaded = process.stdout.splitlines()
    assert message.endswith("tokens.npy cannot be written (File too large); it needs 0.1 MB")
    assert loaded == "[]"
    assert read_folder(folder).images == _IMAGES
