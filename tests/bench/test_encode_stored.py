"""Ready-made vectors in the layout of a model's own."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from mascot.bench.datasets.folder import Folder, Query, read_folder, write_folder
from mascot.bench.encode import best_lists, store_vectors
from mascot.errors import InputError, OptionError

_IMAGES = 40


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


@pytest.fixture
def vectors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((_IMAGES, 3, 12)), rng.standard_normal((_IMAGES, 12))


def test_a_benchmark_reads_them(folder: Path, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    tokens, texts = vectors
    reports: list[tuple[str, int, int]] = []
    where = store_vectors(folder, "mine", tokens, texts, candidates=15, report=lambda *step: reports.append(step))
    assert sorted(path.name for path in where.iterdir()) == [
        "lists-test.npz", "lists-validation.npz", "model.json", "texts.npy", "tokens.npy", "vectors.npy",
    ]  # fmt: skip
    assert reports == [("images", 40, 40), ("texts", 40, 40), ("lists", 8, 40), ("lists", 40, 40)]
    np.testing.assert_array_equal(np.load(where / "tokens.npy"), tokens.astype(np.float32))
    np.testing.assert_array_equal(np.load(where / "texts.npy"), texts.astype(np.float32))
    facts = json.loads((where / "model.json").read_text())
    assert (facts["model"], facts["device"], facts["complete"], facts["candidates"]) == ("mine", "given", True, 15)

    dataset = Folder(folder, "mine").load()
    assert dataset.name == "simulated-mine"
    assert dataset.vectors is not None
    mean = tokens.mean(1)
    np.testing.assert_allclose(dataset.vectors, mean / np.linalg.norm(mean, axis=1)[:, None], atol=1e-6)
    expected = best_lists(tokens.astype(np.float32), texts.astype(np.float32), range(8, 40), [20], 15)
    hits = dataset.candidates(20, n=15)
    np.testing.assert_array_equal(hits.images, expected.rows[0])
    np.testing.assert_allclose(hits.scores, expected.scores[0])


def test_storing_again(folder: Path, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    tokens, texts = vectors
    reports: list[str] = []

    def store(tokens: np.ndarray, candidates: int) -> set[str]:
        reports.clear()
        store_vectors(
            folder, "mine", tokens, texts, candidates=candidates, report=lambda stage, *_: reports.append(stage)
        )
        return set(reports)

    everything = {"images", "texts", "lists"}
    assert store(tokens, 5) == everything
    assert store(tokens, 5) == set()
    assert store(tokens, 6) == {"lists"}
    assert store(tokens[:, 0], 6) == everything  # one vector an image
    assert np.load(folder / "encoded" / "mine" / "tokens.npy").shape == (40, 1, 12)
    assert store(-tokens[:, 0], 6) == everything
    with pytest.raises(InputError, match="holds the vectors of mine, and Mine would have the same name there"):
        store_vectors(folder, "Mine", tokens, texts)


def test_the_same_vectors_give_the_same_bytes(folder: Path, vectors: tuple[np.ndarray, np.ndarray]) -> None:
    first = store_vectors(folder, "one", *vectors)
    second = store_vectors(folder, "two", *vectors)
    for name in ("tokens.npy", "vectors.npy", "texts.npy", "lists-validation.npz", "lists-test.npz"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_refusals(folder: Path, vectors: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    tokens, texts = vectors
    with pytest.raises(InputError, match=r"tokens \[40, T, D\] and texts \[40, D\], got shapes \(39, 3, 12\)"):
        store_vectors(folder, "mine", tokens[1:], texts)
    with pytest.raises(InputError, match=r"and \(40, 11\)"):
        store_vectors(folder, "mine", tokens, texts[:, 1:])
    with pytest.raises(OptionError, match=r"store_vectors\.candidates must be >= 1, got 0"):
        store_vectors(folder, "mine", tokens, texts, candidates=0)
    with pytest.raises(OptionError, match=r"store_vectors\.model must have a letter or a digit, got '\.\.'"):
        store_vectors(folder, "..", tokens, texts)
    with pytest.raises(InputError, match="mascot bench prepare"):
        store_vectors(tmp_path, "mine", tokens, texts)
    nothing = tokens.copy()
    nothing[7, 2] = -nothing[7, 0] - nothing[7, 1]
    nothing[7] = np.round(nothing[7])
    nothing[7, 2] = -nothing[7, 0] - nothing[7, 1]
    with pytest.raises(InputError, match="must not average to zero"):
        store_vectors(folder, "mine", nothing, texts)
    broken = texts.copy()
    broken[3, 3] = np.inf
    with pytest.raises(InputError, match=r"texts\.npy must be finite"):
        store_vectors(folder, "mine", tokens, broken)
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
    process = subprocess.run(
        [sys.executable, "-c", _SMALL_DISK, str(folder)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    message, loaded = process.stdout.splitlines()
    assert message.endswith("tokens.npy cannot be written (File too large); it needs 0.1 MB")
    assert loaded == "[]"
    assert read_folder(folder).images == _IMAGES
