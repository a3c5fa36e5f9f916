"""A user's own file: what it may hold, and which field an error names."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mascot.bench.datasets.arrays import Arrays
from mascot.bench.protocol.presets import arrays
from mascot.bench.protocol.search_space import LABELS
from mascot.bench.report import run_results
from mascot.bench.running.run import run
from mascot.cli.bench_commands import bench
from mascot.errors import InputError


def _fields(**changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    fields: dict[str, Any] = {
        "scores": rng.random((10, 30)),
        "vectors": rng.standard_normal((30, 4)),
        "positives": np.arange(10),
        "column:lat": rng.uniform(-60, 60, 30),
        "column:lon": rng.uniform(-180, 180, 30),
        "column:taken": rng.uniform(0, 24, 30),
        "column:camera": np.array(["a", "b", "c"] * 10),
    }
    fields.update(changed)
    return {name: value for name, value in fields.items() if value is not None}


def npz_file(folder: Path, **changed: Any) -> Path:
    path = folder / "mine.npz"
    np.savez(path, **_fields(**changed))
    return path


def parquet_file(folder: Path, sizes: Sequence[int] = (25,) * 6, **changed: Any) -> Path:
    """A query for each size, with so many images."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as writer

    rng = np.random.default_rng(0)
    rows = [(query, image) for query, size in enumerate(sizes) for image in range(size)]
    columns: dict[str, Any] = {
        "query": [f"q{query}" for query, _ in rows],
        "id": [image for _, image in rows],
        "score": rng.random(len(rows)).tolist(),
        "positive": [query == image for query, image in rows],
        "camera": ["ab"[image % 2] for _, image in rows],
        "vector": [[float(image), 1.0] for _, image in rows],
    }
    columns.update(changed)
    path = folder / "mine.parquet"
    writer.write_table(pa.table({name: value for name, value in columns.items() if value is not None}), path)
    return path


def test_files_round_trip(tmp_path: Path) -> None:
    data = Arrays(npz_file(tmp_path)).load()
    assert (data.images, data.queries) == (30, 10)
    assert {name: len(split.queries) for name, split in data.splits.items()} == {"validation": 2, "test": 8}
    query = int(data.splits["test"].queries[0])
    np.testing.assert_array_equal(data.candidates(query, 5).images, np.argsort(-_fields()["scores"][query])[:5])
    assert data.positives[3].tolist() == [3]
    pairs = Arrays(npz_file(tmp_path, positives=np.array([[0, 4], [0, 5], [9, 1]]))).load().positives
    assert [pairs[0].tolist(), pairs[1].tolist(), pairs[9].tolist()] == [[4, 5], [], [1]]
    assert Arrays(npz_file(tmp_path, scores=None, query_vectors=np.ones((10, 4)))).load().query_vectors is not None
    data = Arrays(parquet_file(tmp_path)).load()
    assert (data.images, data.queries, data.positives[5].tolist()) == (25, 6, [5])
    assert data.vectors is not None
    np.testing.assert_array_equal(data.vectors[7], [7.0, 1.0])


@pytest.mark.parametrize(
    ("write", "changed", "message"),
    [
        (npz_file, {"scores": None}, "must hold either scores or query_vectors"),
        (npz_file, {"column:lat": np.ones(31)}, "column:lat must have 30 values like scores, got 31"),
        (npz_file, {"camera": np.ones(30)}, "'camera' is not known; an attribute is named column:camera"),
        (npz_file, {"positives": np.arange(9)}, r"positives must be 10 rows or pairs \(query, row\), got shape \(9,\)"),
        (npz_file, {"positives": np.array([[10, 0]])}, r"positives queries must lie in 0..9, got 10"),
        (npz_file, {"vectors": np.full((30, 4), np.inf)}, r"mine.npz: vectors must be finite, got inf"),
        (npz_file, {"column:r@10": np.ones(30)}, "column:r@10 must have another name: 'r@10' is a measure"),
        (npz_file, {"column:lon": None}, "column:lat needs 'lon' beside it"),
        (npz_file, {"column:taken": np.full(30, 25)}, "column:taken cannot be read: .* got 25"),
        (npz_file, {"vectors": np.zeros((30, 4))}, "vectors must not be 0 or missing everywhere"),
        (npz_file, {"column:who": np.array(["a", None] * 15, object)}, "column:who must hold .* no Python objects"),
        (parquet_file, {"positive": ["yes"] * 150}, "row 1: positive must be true or false, got 'yes'"),
        (parquet_file, {"id": [0] * 150}, "an id must not occur twice in one query"),
        (parquet_file, {"camera": [str(row) for row in range(150)]}, "row 26: camera must be the same for id 0"),
        (parquet_file, {"score": [None] * 150}, "row 2: score must be a finite number, got None"),
        (parquet_file, {"camera": [{"make": "a"}] * 150}, "must hold numbers, times, text or lists of them"),
    ],
)
def test_errors_name_the_field(write: Any, tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Arrays(write(tmp_path, **changed)).load()


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    whole = npz_file(tmp_path).read_bytes()
    array = io.BytesIO()
    np.save(array, np.ones(3))
    contents = {"text": b"no", "cut": whole[:2000], "empty": b"", "npy": array.getvalue()}
    for name, content in contents.items():
        (tmp_path / f"{name}.npz").write_bytes(content)
        with pytest.raises(InputError, match=rf"{name}.npz: not an npz file") as refused:
            Arrays(tmp_path / f"{name}.npz").load()
        assert "pickle" not in str(refused.value)
    with pytest.raises(InputError, match="suffix must be one of"):
        Arrays(tmp_path / "a.csv").load()


def test_methods_that_take_logarithms_are_left_out_with_a_note(tmp_path: Path) -> None:
    plain = arrays(npz_file(tmp_path))
    assert [task.name for task in plain.tasks] == ["geo_hour", "geo", "hour", "camera"]
    path = npz_file(tmp_path, scores=np.random.default_rng(1).random((10, 30)) - 0.5)
    suite = arrays(path)
    assert set(LABELS) - set(suite.labels) == {"ms-dpp+tn", "ms-dpp+tn+tvms"}
    with pytest.raises(InputError, match="no other method was asked for"):
        arrays(path, ["ms-dpp+tn"])
    out = tmp_path / "out"
    words = ["--quick", "--methods", "base,ms-dpp+tn", "--tasks", "hour", "--jobs", "1", "--out", str(out)]
    done = CliRunner().invoke(bench, ["run", str(path), *words])
    assert done.exit_code == 0, done.output
    assert "note: ms-dpp+tn take" in done.output
    assert any("were left out" in note for note in run_results.read(out)[0].notes)


def test_changed_data_shows_its_own_numbers(tmp_path: Path) -> None:
    """The file is read again in the same process, and what it held before is not shown beside it."""
    scores = np.zeros((10, 30))
    scores[np.arange(10), np.arange(10)] = 1.0
    recalls = []
    for positives in (np.arange(10), np.arange(10) + 15, np.arange(10)):
        path = npz_file(tmp_path, scores=scores, positives=positives)
        suite = arrays(path, ["base"], quick=True)
        run(replace(suite, tasks=suite.tasks[-1:]), tmp_path / "out", jobs=1)
        (results,) = run_results.read(tmp_path / "out")
        recalls.append(results.where(study="main", direction="spread").frame["r@1"].mean())
        assert not any("more than once" in note for note in results.notes)
    assert recalls == [1.0, 0.0, 1.0]


def test_a_file_that_changes_in_use_is_refused(tmp_path: Path) -> None:
    source = Arrays(npz_file(tmp_path))
    assert Arrays(npz_file(tmp_path, positives=np.arange(10)[::-1])) != source
    with pytest.raises(InputError, match="the file changed while it was in use"):
        source.load()


def test_short_lists_do_not_shorten_the_others(tmp_path: Path) -> None:
    """A query of two candidates and one of a single one are measured on what they show."""
    sizes = [25, 2, 25, 25, 1, 25]
    rows = [(query, image) for query, size in enumerate(sizes) for image in range(size)]
    right = [image == min(query, sizes[query] - 1) for query, image in rows]
    path = parquet_file(tmp_path, sizes, score=[1.0 - image / 100 for _, image in rows], positive=right)
    suite = arrays(path, ["base", "k-dpp", "guarded"], quick=True)
    main = [record for record in run(suite, tmp_path / "out", jobs=1) if record["study"] == "main"]
    assert {record["label"] for record in main} == {"base", "k-dpp", "guarded"}
    for record in main:
        assert (record["k"], record["n"], record["short"]) == (20, 25, 2)
        assert {"r@10", "r@20", "hm"} <= record["summary"].keys()
        missing = [value is None for value in record["per_query"]["metadata"]]
        assert missing == [sizes[query] < 2 for query in record["queries"]]
        assert all(record["per_query"]["r@10"])
    (results,) = run_results.read(tmp_path / "out")
    assert "5 queries (2 of them have fewer than K candidates)" in results.setting
