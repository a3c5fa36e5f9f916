"""A dataset in a folder: what is written comes back, and a run on it is the paper's protocol of that dataset."""

from __future__ import annotations

import json
from pathlib import Path

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

IMAGES, VALIDATION, TOKENS, WIDTH = 60, 12, 3, 16
FEW = ("base", "mmr", "mascot", "guarded")


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def _columns() -> dict[str, list[object]]:
    rng = np.random.default_rng(1)
    return {
        "id": [f"image {row}" for row in range(IMAGES)],
        "file": [f"images/{row}.jpg" for row in range(IMAGES)],
        "lat": rng.uniform(-60, 60, IMAGES).tolist(),
        "lon": rng.uniform(-180, 180, IMAGES).tolist(),
        "url": [f"http://somewhere/{row}" for row in range(IMAGES)],
    }


def _many() -> list[Query]:
    """Queries with several positives in both splits, and one of the test split alone."""
    rng = np.random.default_rng(2)
    some = [
        Query(
            f"kind {q}", (*rng.choice(VALIDATION, 3, False).tolist(), *rng.choice(np.arange(12, 60), 6, False).tolist())
        )
        for q in range(6)
    ]
    return [*some, Query("late", (20, 21))]


def _made(folder: Path, name: str, queries: list[Query], model: str = "blip2", **about: object) -> Path:
    write_folder(folder, name, _columns(), VALIDATION, queries, about)
    rng = np.random.default_rng(3)
    store_vectors(
        folder, model, _unit(rng.normal(size=(IMAGES, TOKENS, WIDTH))), _unit(rng.normal(size=(len(queries), WIDTH)))
    )
    return folder


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _made(tmp_path_factory.mktemp("folder") / "data", "incidents1m", _many(), measure="map", seed=4)


@pytest.fixture(scope="module")
def results(incidents: Path) -> Path:
    out = incidents.parent / "results"
    run(presets.folder(incidents, labels=FEW), out, jobs=1)
    return out


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", "mine", _columns(), VALIDATION, _many(), {"seed": 7})
    found = read_folder(tmp_path / "a")
    assert (found.name, found.validation, found.images) == ("mine", VALIDATION, IMAGES)
    assert found.queries == tuple(_many())
    assert {name: column.tolist() for name, column in found.columns.items()} == _columns()
    assert found.about["seed"] == 7
    parts = splits(found)
    assert parts["validation"][0].tolist() == list(range(VALIDATION))
    assert parts["validation"][1].tolist() == [0, 1, 2, 3, 4, 5]
    assert parts["test"][0].tolist() == list(range(VALIDATION, IMAGES))
    assert parts["test"][1].tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_folder(tmp_path / name, "mine", _columns(), VALIDATION, _many(), {"z": 1, "a": 2})
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("a", "b"))
    assert first == second
    assert sorted(first) == ["dataset.json", "images.parquet", "queries.parquet"]


@pytest.mark.parametrize(
    ("changed", "said"),
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
def test_what_cannot_be_a_dataset_is_refused(tmp_path: Path, changed: dict[str, object], said: str) -> None:
    asked = {"columns": _columns(), "validation": VALIDATION, "queries": _many()} | changed
    with pytest.raises(InputError, match=said):
        write_folder(tmp_path, "mine", **asked, about={})  # type: ignore[arg-type]
    assert not (tmp_path / "dataset.json").exists()


def test_candidates_are_the_best_of_the_split_by_the_best_token(incidents: Path) -> None:
    data = Folder(incidents).load()
    tokens = np.load(incidents / "encoded" / "blip2" / "tokens.npy")
    texts = np.load(incidents / "encoded" / "blip2" / "texts.npy")
    scores = (tokens.astype(np.float64) @ texts.astype(np.float64).T).max(axis=1).T  # [Q, M]
    for split, (rows, queries) in splits(read_folder(incidents)).items():
        for query in queries.tolist():
            hits = data.candidates(query, 200, split)
            best = rows[np.argsort(-scores[query, rows], kind="stable")]
            assert hits.images.tolist() == best.tolist()
            np.testing.assert_allclose(hits.scores, scores[query, best], atol=1e-6)
            assert hits.images[hits.relevant].tolist() == [r for r in best if r in data.positives[query]]
    mean = _unit(tokens.astype(np.float64).mean(axis=1))
    np.testing.assert_allclose(data.vectors, mean, atol=1e-6)
    assert list(data.columns) == ["lat", "lon"]  # nothing is to be spread by a web address


def test_incidents_are_measured_by_map(results: Path) -> None:
    records = read(results)
    assert {record["seed"] for record in records} == {4}
    main = [r for r in records if r["study"] == "main" and r["split"] == "test"]
    assert {record["retrieval"] for record in main} == {"map"}
    for record in main:
        found = record["summary"]
        assert found["map"] == pytest.approx(np.mean(record["per_query"]["map"]), abs=1e-6)
        assert found["hm"] == pytest.approx(metrics.overall(found["map"], found["dm"]))
    base = next(record for record in main if record["label"] == "base")
    assert 0 < base["summary"]["map"] < 1
    searched = [r for r in records if r["split"] == "validation"]
    assert {len(record["queries"]) for record in searched} == {6}  # all there are, not fifty
    assert {record["k"] for record in searched} == {10}


def test_average_precision_is_over_the_positives_found(incidents: Path, results: Path) -> None:
    data = Folder(incidents).load()
    base = next(r for r in read(results) if r["label"] == "base" and r["study"] == "main" and r["split"] == "test")
    for query, told in zip(base["queries"], base["per_query"]["map"], strict=True):
        right = data.candidates(query, 20).relevant
        precisions = [right[: rank + 1].mean() for rank in np.flatnonzero(right)]
        assert told == pytest.approx(np.mean(precisions) if precisions else 0.0, abs=1e-6)


def test_published_settings_and_rows_are_those_of_the_dataset(results: Path) -> None:
    records = read(results)
    point = next(r for r in records if r["point"] == "published" and r["direction"] == "focus")
    assert point["label"] == "mascot"
    assert point["method"]["strength"] == 0.7
    assert point["wishes"][0]["attribute"]["sigma"] == 5.0
    found = {(d.label, d.direction, d.point, d.measure): d.published for d in differences(records)}
    assert found["mascot", "focus", "published", "map"] == 0.6949
    assert found["base", "spread", "default", "hm"] == 0.7955
    assert not any(measure == "r@10" for *_, measure in found)
    text = tables.write(results)
    assert "MAP" in text
    assert "0.6949" in text
    assert "R@10" not in text.split("Recall")[0]


def test_each_dataset_has_its_own_tasks_and_validation(tmp_path: Path) -> None:
    single = [Query(f"caption {row}", (row,)) for row in range(IMAGES)]
    suite = presets.folder(_made(tmp_path / "sky", "skyscript", single))
    assert (suite.name, suite.validation, suite.retrieval) == ("skyscript", 50, "r@10")
    assert [task.name for task in suite.tasks] == ["geo"]
    other = presets.folder(_made(tmp_path / "clip", "skyscript", single, "clip"))
    assert other.name == "skyscript-clip"  # nobody published that
    assert presets.folder(_made(tmp_path / "own", "my trips", single)).published is None


def test_what_is_missing_is_named(incidents: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mascot bench prepare NAME"):
        read_folder(tmp_path)
    write_folder(tmp_path / "plain", "mine", _columns(), VALIDATION, _many(), {})
    with pytest.raises(InputError, match=r"no vectors; make them with: mascot bench encode .* --model blip2"):
        Folder(tmp_path / "plain").load()
    with pytest.raises(InputError, match="no vectors of clip"):
        Folder(incidents, "clip").load()
    both = _made(tmp_path / "both", "mine", _many())
    rng = np.random.default_rng(0)
    store_vectors(both, "clip", _unit(rng.normal(size=(IMAGES, 4))), _unit(rng.normal(size=(7, 4))))
    with pytest.raises(InputError, match="is encoded by blip2, clip: choose one with --model"):
        Folder(both).load()
    assert Folder(both, "clip").load().vectors.shape == (IMAGES, 4)
    write_folder(both, "mine", _columns(), VALIDATION, _many()[1:], {})
    with pytest.raises(InputError, match="was made of other images or queries"):
        Folder(both, "clip").load()
    told = json.loads((both / "dataset.json").read_text())
    (both / "dataset.json").write_text(json.dumps(told | {"format": 9}))
    with pytest.raises(InputError, match="format must be 1, got 9"):
        read_folder(both)


def test_a_folder_encoded_again_is_another_dataset(tmp_path: Path) -> None:
    folder = _made(tmp_path, "mine", _many())
    before = Folder(folder)
    assert Folder(folder) == before
    rng = np.random.default_rng(0)
    store_vectors(folder, "blip2", _unit(rng.normal(size=(IMAGES, 4))), _unit(rng.normal(size=(7, 4))))
    assert Folder(folder) != before


def test_attributes_are_checked(tmp_path: Path) -> None:
    folder = _made(tmp_path, "mine", _many(), attributes=["lat"])
    with pytest.raises(InputError, match=r"images.parquet: column 'lat' needs 'lon' beside it"):
        Folder(folder).load()


def test_scores_below_zero_leave_out_the_methods_that_take_logarithms(incidents: Path) -> None:
    suite = presets.folder(incidents, labels=("base", "ms-dpp", "ms-dpp+tn"))
    assert suite.labels == ("base", "ms-dpp")
    assert "the lowest is -" in suite.notes[0]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("blip2", "blip2"),
        ("clip:/models/Tiny CLIP", "clip-tiny-clip"),
        ("blip2:a/../b", "blip2-b"),
        ("clip:..", "clip"),
    ],
)
def test_a_models_folder_is_a_plain_name(model: str, name: str) -> None:
    assert slug(model) == name


def test_the_command_runs_a_folder(incidents: Path, tmp_path: Path) -> None:
    asked = ["run", str(incidents), "--out", str(tmp_path / "out"), "--methods", "base", "--quick", "--jobs", "1"]
    done = CliRunner().invoke(bench, [*asked, "--model", "blip2"])
    assert done.exit_code == 0, done.output
    compared = CliRunner().invoke(bench, ["compare", str(tmp_path / "out")])
    assert "MAP" in compared.output
    refused = CliRunner().invoke(bench, [*asked, "--model", "clip"])
    assert refused.exit_code == 2
    assert "mascot bench encode" in refused.output
    nowhere = CliRunner().invoke(bench, ["run", str(tmp_path / "nothing"), "--out", str(tmp_path / "out")])
    assert nowhere.exit_code == 2
    assert "a prepared folder, got" in nowhere.output


def test_the_commands_name_what_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("urllib3", reason="needs mascot-rerank[prepare]")
    out = str(tmp_path / "out")
    for words, said in (
        (["prepare", "imagenet", "--out", out], "must be one of pixelprose, visual-genome"),
        (["prepare", "skyscript", "--out", out, "--source", "there"], "--source must be NAME=VALUE, got 'there'"),
        (["prepare", "skyscript", "--out", out, "--source", "moon=there"], "skyscript has base="),
        (
            ["prepare", "skyscript", "--out", out, "--option", "?"],
            "skyscript has rows=20000, smallest=32",
        ),
        (["prepare", "skyscript", "--out", out, "--option", "rows=few"], "rows must be like 20000, got 'few'"),
        (["prepare", "skyscript", "--out", out, "--as", "better"], "is not one of"),
        (["encode", str(tmp_path)], "mascot bench prepare"),
    ):
        done = CliRunner().invoke(bench, words)
        assert done.exit_code == 2
        assert said in done.output, done.output
