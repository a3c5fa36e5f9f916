"""A dataset in a folder: what is written comes back, and a run on it is the paper's protocol of that dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mascot import metrics
from mascot.bench import presets, tables
from mascot.bench.compare import differences
from mascot.bench.datasets.folder import Folder, Query, read_folder, slug, splits, write_folder
from mascot.bench.encode import store_vectors
from mascot.bench.results import read
from mascot.bench.run import run
from mascot.cli.bench import bench
from mascot.errors import InputError

pytest.importorskip("pyarrow", reason="needs mascot-rerank[parquet]")

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
MANY = [
    Query(
        f"kind {query}",
        (
            *RANDOM.choice(VALIDATION, 3, False).tolist(),
            *RANDOM.choice(np.arange(VALIDATION, IMAGES), 6, False).tolist(),
        ),
    )
    for query in range(6)
] + [Query("late", (20, 21))]


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def _write(folder: Path, name: str = "mine", **changes: Any) -> Path:
    arguments = {"columns": COLUMNS, "validation": VALIDATION, "queries": MANY, "about": {}} | changes
    write_folder(folder, name, **arguments)
    return folder


def _encoded(folder: Path, name: str = "mine", model: str = "blip2", width: int = 16, **changes: Any) -> Path:
    queries = len(_write(folder, name, **changes) and changes.get("queries", MANY))
    rng = np.random.default_rng(3)
    tokens, texts = _unit(rng.normal(size=(IMAGES, 3, width))), _unit(rng.normal(size=(queries, width)))
    store_vectors(folder, model, tokens, texts)
    return folder


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _encoded(tmp_path_factory.mktemp("folder") / "data", "incidents1m", about={"measure": "map", "seed": 4})


@pytest.fixture(scope="module")
def results(incidents: Path) -> Path:
    out = incidents.parent / "results"
    run(presets.folder(incidents, labels=("base", "mmr", "mascot", "guarded")), out, jobs=1)
    return out


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    stored = read_folder(_write(tmp_path / "a", about={"seed": 7, "a": 2}))
    assert (stored.name, stored.validation, stored.images) == ("mine", VALIDATION, IMAGES)
    assert stored.queries == tuple(MANY)
    assert {name: column.tolist() for name, column in stored.columns.items()} == COLUMNS
    assert stored.about["seed"] == 7
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
        ({"columns": {"id": ["a"]}}, "needs id and file"),
        ({"columns": {"id": ["a", "b"], "file": ["a"]}}, "columns of one length"),
        ({"validation": 0}, "must have 1 to 59 of 60 images, got 0"),
        ({"validation": 60}, "must have 1 to 59 of 60 images, got 60"),
        ({"queries": []}, "at least one query"),
        ({"queries": [Query("far", (60,))]}, r"query 'far' must have positives in 0\.\.59, got \(60,\)"),
        ({"queries": [Query("none", ())]}, "query 'none' must have positives"),
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
    assert 0 < base["summary"]["map"] < 1
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
    published = {(row.label, row.direction, row.point, row.measure): row.published for row in differences(records)}
    assert published["mascot", "focus", "published", "map"] == 0.6949
    assert published["base", "spread", "default", "hm"] == 0.7955
    assert not any(measure == "r@10" for *_, measure in published)
    text = tables.write(results)
    assert "MAP" in text
    assert "0.6949" in text
    assert "R@10" not in text.split("Recall")[0]


def test_each_dataset_has_its_own_tasks_and_validation(tmp_path: Path) -> None:
    single = [Query(f"caption {row}", (row,)) for row in range(IMAGES)]
    suite = presets.folder(_encoded(tmp_path / "sky", "skyscript", queries=single))
    assert (suite.name, suite.validation, suite.retrieval) == ("skyscript", 50, "r@10")
    assert [task.name for task in suite.tasks] == ["geo"]
    other = presets.folder(_encoded(tmp_path / "clip", "skyscript", "clip", queries=single))
    assert other.name == "skyscript-clip"  # nobody published that
    assert presets.folder(_encoded(tmp_path / "own", "my trips", queries=single)).published is None


def test_what_is_missing_is_named(incidents: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mascot bench prepare NAME"):
        read_folder(tmp_path)
    with pytest.raises(InputError, match=r"no vectors; make them with: mascot bench encode .* --model blip2"):
        Folder(_write(tmp_path / "plain")).load()
    with pytest.raises(InputError, match="no vectors of clip"):
        Folder(incidents, "clip").load()
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
    with pytest.raises(InputError, match=r"images.parquet: column 'lat' needs 'lon' beside it"):
        Folder(_encoded(tmp_path / "place", about={"attributes": ["lat"]})).load()


def test_scores_below_zero_leave_out_the_methods_that_take_logarithms(incidents: Path) -> None:
    suite = presets.folder(incidents, labels=("base", "ms-dpp", "ms-dpp+tn"))
    assert suite.labels == ("base", "ms-dpp")
    assert "the lowest is -" in suite.notes[0]


def test_a_models_folder_is_a_plain_name() -> None:
    names = {"blip2": "blip2", "clip:/models/Tiny CLIP": "clip-tiny-clip", "blip2:a/../b": "blip2-b", "clip:..": "clip"}
    assert {model: slug(model) for model in names} == names


def test_the_command_runs_a_folder(incidents: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    words = ["run", str(incidents), "--out", out, "--methods", "base", "--quick", "--jobs", "1", "--model"]
    result = CliRunner().invoke(bench, [*words, "blip2"])
    assert result.exit_code == 0, result.output
    assert "MAP" in CliRunner().invoke(bench, ["compare", out]).output
    refused = CliRunner().invoke(bench, [*words, "clip"])
    assert (refused.exit_code, "mascot bench encode" in refused.output) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "nothing"], "a prepared folder, got"),
        (["prepare", "imagenet"], "must be one of pixelprose, visual-genome"),
        (["prepare", "skyscript", "--source", "there"], "--source must be NAME=VALUE, got 'there'"),
        (["prepare", "skyscript", "--source", "moon=there"], "skyscript has base="),
        (["prepare", "skyscript", "--option", "?"], "skyscript has rows=20000, smallest=32"),
        (["prepare", "skyscript", "--option", "rows=few"], "rows must be like 20000, got 'few'"),
        (["prepare", "skyscript", "--as", "better"], "is not one of"),
        (["encode", "."], "mascot bench prepare"),
    ],
)
def test_the_commands_name_what_is_wrong(
    tmp_path: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("urllib3", reason="needs mascot-rerank[prepare]")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(bench, words if words[0] == "encode" else [*words, "--out", "out"])
    assert result.exit_code == 2
    assert message in result.output, result.output
