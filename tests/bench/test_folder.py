"""A dataset in a folder: what is written comes back, and a run on it is the paper's protocol of that dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mascot.bench import metrics
from mascot.bench.datasets.folder import Folder, Query, read_folder, splits, write_folder
from mascot.bench.encode import best_lists, scoring, store_vectors
from mascot.bench.protocol import presets
from mascot.bench.report import tables
from mascot.bench.report.compare import differences
from mascot.bench.running.records import read
from mascot.cli.bench_commands import bench
from mascot.errors import InputError, MascotError
from tests.retelling import run_command

pytest.importorskip("pyarrow", reason="needs mascot-rerank[bench]")

IMAGES, VALIDATION = 60, 12
RANDOM = np.random.default_rng(1)
COLUMNS: dict[str, list[Any]] = {
    "id": [f"image {row}" for row in range(IMAGES)],
    "file": [f"images/{row}.jpg" for row in range(IMAGES)],
    "lat": RANDOM.uniform(-60, 60, IMAGES).tolist(),
    "lon": RANDOM.uniform(-180, 180, IMAGES).tolist(),
    "url": [f"http://somewhere/{row}" for row in range(IMAGES)],
}
# Six queries with several positives in both splits, and one of the test split alone.
EARLY, LATE = np.split(np.arange(IMAGES), [VALIDATION])
ROWS = [(*RANDOM.choice(EARLY, 3, False).tolist(), *RANDOM.choice(LATE, 6, False).tolist()) for _ in range(6)]
MANY = [Query(f"kind {query}", rows) for query, rows in enumerate(ROWS)] + [Query("late", (20, 21))]


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def _random(seed: int, *shape: int) -> np.ndarray:
    return _unit(np.random.default_rng(seed).standard_normal(shape))


def _write(folder: Path, name: str = "mine", **changes: Any) -> Path:
    arguments = {"columns": COLUMNS, "validation": VALIDATION, "queries": MANY, "about": {}} | changes
    write_folder(folder, name, **arguments)
    return folder


def _encoded(folder: Path, name: str = "mine", model: str = "blip2", width: int = 16, **changes: Any) -> Path:
    queries = changes.get("queries", MANY)
    store_vectors(_write(folder, name, **changes), model, _random(3, IMAGES, 3, width), _random(4, len(queries), width))
    return folder


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _encoded(tmp_path_factory.mktemp("folder") / "data", "incidents1m", about={"measure": "map", "seed": 4})


@pytest.fixture(scope="module")
def results(incidents: Path) -> Path:
    out = incidents.parent / "results"
    words = ["run", str(incidents), "--out", str(out), "--jobs", "1", "--model"]
    done = CliRunner().invoke(bench, [*words, "blip2", "--methods", "base,mascot,guarded"])
    assert done.exit_code == 0, done.output
    refused = run_command("bench", *words, "clip")
    assert (refused.returncode, "mascot bench encode" in refused.stderr) == (2, True)
    return out


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    stored = read_folder(_write(tmp_path / "a", about={"seed": 7, "a": 2}))
    assert (stored.name, stored.validation, stored.images) == ("mine", VALIDATION, IMAGES)
    assert stored.queries == tuple(MANY)
    assert {name: column.tolist() for name, column in stored.columns.items()} == COLUMNS
    parts = {name: (rows.tolist(), queries.tolist()) for name, (rows, queries) in splits(stored).items()}
    assert parts == {
        "validation": (list(range(VALIDATION)), [0, 1, 2, 3, 4, 5]),
        "test": (list(range(VALIDATION, IMAGES)), [0, 1, 2, 3, 4, 5, 6]),
    }
    _write(tmp_path / "b", about={"a": 2, "seed": 7})
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("a", "b"))
    assert first == second
    assert sorted(first) == ["dataset.json", "images.parquet", "queries.parquet"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": {"id": ["a", "b"], "file": ["a"]}}, "columns of one length"),
        ({"validation": 60}, "must have 1 to 59 of 60 images, got 60"),
        ({"queries": [Query("far", (60,))]}, r"query 'far' must have positives in 0\.\.59, got \(60,\)"),
    ],
)
def test_what_cannot_be_a_dataset_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _write(tmp_path, **changes)
    assert not (tmp_path / "dataset.json").exists()


def test_candidates_are_the_best_of_the_split_by_the_best_token(incidents: Path) -> None:
    dataset = Folder(incidents).load()
    tokens, texts = (np.load(incidents / "encoded" / "blip2" / f"{name}.npy") for name in ("tokens", "texts"))
    scores = (tokens.astype(np.float64) @ texts.astype(np.float64).T).max(axis=1).T  # [Q, M]
    for split, (rows, queries) in splits(read_folder(incidents)).items():
        for query in queries.tolist():
            hits = dataset.candidates(query, 200, split)
            best = rows[np.argsort(-scores[query, rows], kind="stable")]
            assert hits.images.tolist() == best.tolist()
            np.testing.assert_allclose(hits.scores, scores[query, best], atol=1e-6)
            assert hits.images[hits.relevant].tolist() == [row for row in best if row in dataset.positives[query]]
    np.testing.assert_allclose(dataset.vectors, _unit(tokens.astype(np.float64).mean(axis=1)), atol=1e-6)
    assert list(dataset.columns) == ["lat", "lon"]  # nothing is to be spread by a web address


def test_incidents_are_measured_by_map(incidents: Path, results: Path) -> None:
    records = read(results)
    assert {record["seed"] for record in records} == {4}
    main = [record for record in records if record["study"] == "main" and record["split"] == "test"]
    assert {record["retrieval"] for record in main} == {"map"}
    for record in main:
        summary = record["summary"]
        assert summary["map"] == pytest.approx(np.mean(record["per_query"]["map"]), abs=1e-6)
        assert summary["hm"] == pytest.approx(metrics.overall(summary["map"], summary["dm"]))
    searched = [record for record in records if record["split"] == "validation"]
    assert {len(record["queries"]) for record in searched} == {6}  # all there are, not fifty
    assert {record["k"] for record in searched} == {10}
    dataset, base = Folder(incidents).load(), next(record for record in main if record["label"] == "base")
    for query, precision in zip(base["queries"], base["per_query"]["map"], strict=True):
        right = dataset.candidates(query, 20).relevant  # averaged over the positives that were found
        precisions = [right[: rank + 1].mean() for rank in np.flatnonzero(right)]
        assert precision == pytest.approx(np.mean(precisions) if precisions else 0.0, abs=1e-6)


def test_published_settings_and_rows_are_those_of_the_dataset(results: Path) -> None:
    records = read(results)
    point = next(record for record in records if record["point"] == "published" and record["direction"] == "focus")
    assert point["label"] == "mascot"
    assert point["method"]["strength"] == 0.7
    assert point["wishes"][0]["attribute"]["sigma"] == 5.0
    published = differences(records).set_index(["label", "direction", "point", "measure"])["published"].to_dict()
    assert published["mascot", "focus", "published", "map"] == 0.6949
    assert published["base", "spread", "default", "hm"] == 0.7955
    assert not any(measure == "r@10" for *_, measure in published)
    text = tables.write(results)
    assert ("MAP" in text, "0.6949" in text, "R@10" in text.split("Recall")[0]) == (True, True, False)


def test_each_dataset_has_its_own_tasks_and_validation(tmp_path: Path) -> None:
    single = [Query(f"caption {row}", (row,)) for row in range(IMAGES)]
    suite = presets.folder(_encoded(tmp_path / "sky", "skyscript", queries=single))
    assert (suite.name, suite.validation, suite.retrieval) == ("skyscript", 50, "r@10")
    assert [task.name for task in suite.tasks] == ["geo"]
    other = presets.folder(_encoded(tmp_path / "clip", "skyscript", "clip", queries=single))
    assert other.name == "skyscript-clip"  # nobody published that


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mascot bench prepare NAME"):
        read_folder(tmp_path)
    with pytest.raises(InputError, match=r"no vectors; make them with: mascot bench encode .* --model blip2"):
        Folder(_write(tmp_path / "plain")).load()
    both = _encoded(tmp_path / "both")
    _encoded(both, model="clip", width=4)
    with pytest.raises(InputError, match="is encoded by blip2, clip: choose one with --model"):
        Folder(both).load()
    before = Folder(both, "clip")
    assert before.load().vectors.shape == (IMAGES, 4)
    _encoded(both, model="clip", width=5)
    assert Folder(both, "clip") != before  # a folder that was encoded again is another dataset
    _write(both, queries=MANY[1:])
    with pytest.raises(InputError, match="was made of other images or queries"):
        Folder(both, "clip").load()
    about = json.loads((both / "dataset.json").read_text())
    (both / "dataset.json").write_text(json.dumps(about | {"format": 9}))
    with pytest.raises(InputError, match="format must be 1, got 9"):
        read_folder(both)


def test_equal_images_have_equal_scores_and_the_lower_row_comes_first() -> None:
    """A matrix product gives copies of one image different scores, by their position."""
    copies = np.random.default_rng(2).integers(0, 37, 1003)  # 37 pictures in 1003 rows
    tokens, texts = _random(3, 37, 5, 51)[copies], _random(4, 29, 51)
    lists = best_lists(tokens, texts, np.arange(1003), np.arange(29), 100)
    for rows, scores in zip(lists.rows, lists.scores, strict=True):
        np.testing.assert_array_equal(np.lexsort((rows, -scores)), np.arange(100))
        pictures = copies[rows]
        assert len(np.unique(scores)) == len(np.unique(pictures))
        for picture in np.unique(pictures):
            of_it = np.flatnonzero(copies == picture)
            assert rows[pictures == picture].tolist() == of_it[: (pictures == picture).sum()].tolist()


def test_the_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, texts = _random(5, 211, 3, 19), _random(6, 40, 19)
    tokens[100:150] = tokens[20:70]
    reference = best_lists(tokens, texts, np.arange(211), np.arange(40), 30)
    for queries, images in ((1, 1), (7, 4096)):
        for limit, size in (("_QUERIES", queries), ("_TOKENS", images), ("_DOTS", images)):
            monkeypatch.setattr(scoring, limit, size)
        lists = best_lists(tokens, texts, np.arange(211), np.arange(40), 30)
        np.testing.assert_array_equal(lists.rows, reference.rows)
        np.testing.assert_array_equal(lists.scores, reference.scores)


def test_short_lists_are_padded() -> None:
    lists = best_lists(_random(7, 90, 16), _random(8, 12, 16), [6, 1, 3], [0, 1, 2], 5)  # one vector an image
    assert (lists.rows[:, 3:] == -1).all()
    assert (lists.scores[:, 3:] == -np.inf).all()
    assert np.sort(lists.rows[:, :3], axis=1).tolist() == [[1, 3, 6]] * 3


TOKENS, TEXTS = _random(19, IMAGES, 3, 12), _random(20, len(MANY), 12)


def test_storing_again(tmp_path: Path) -> None:
    folder = _write(tmp_path)

    def store(tokens: np.ndarray, candidates: int) -> list[tuple[str, int, int]]:
        steps: list[tuple[str, int, int]] = []
        report = lambda *step: steps.append(step)  # noqa: E731
        store_vectors(folder, "mine", tokens, TEXTS, candidates=candidates, report=report)
        return steps

    everything = [("images", 60, 60), ("texts", 7, 7), ("lists", 6, 13), ("lists", 13, 13)]
    assert store(TOKENS, 5) == everything
    where = folder / "encoded" / "mine"
    expected_info = {"model": "mine", "device": "given", "complete": True, "candidates": 5}
    assert expected_info.items() <= json.loads((where / "model.json").read_text()).items()
    assert Folder(folder, "mine").load().name == "mine-mine"
    assert store(TOKENS, 5) == []
    assert store(TOKENS, 6) == everything[2:]
    assert store(TOKENS[:, 0], 6) == everything  # one vector an image
    assert np.load(where / "tokens.npy").shape == (IMAGES, 1, 12)
    assert store(-TOKENS[:, 0], 6) == everything
    with pytest.raises(InputError, match="holds the vectors of mine, and Mine would have the same name there"):
        store_vectors(folder, "Mine", TOKENS, TEXTS)


def test_vectors_that_cannot_be_stored(tmp_path: Path) -> None:
    folder = _write(tmp_path / "data")
    for message, model, *arrays in (
        (r"tokens \[60, T, D\] and texts \[7, D\], got shapes \(59, 3, 12\)", "mine", TOKENS[1:], TEXTS),
        (r"texts\.npy must be finite", "mine", TOKENS, np.full_like(TEXTS, np.inf)),
        (r"store_vectors\.model must have a letter or a digit, got '\.\.'", "..", TOKENS, TEXTS),
    ):
        with pytest.raises(MascotError, match=message):
            store_vectors(folder, model, *arrays)
    with pytest.raises(InputError, match="has no vectors of mine"):
        Folder(folder, "mine").load()
