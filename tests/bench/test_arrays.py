"""A user's own file: what it may hold, and which field an error names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mascot.bench.datasets.arrays import Arrays
from mascot.bench.experiment import run
from mascot.bench.suites import arrays
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


def _npz(folder: Path, **changed: Any) -> Path:
    path = folder / "mine.npz"
    np.savez(path, **_fields(**changed))
    return path


def _parquet(folder: Path, **changed: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as writer

    rng = np.random.default_rng(0)
    rows = [(query, image) for query in range(6) for image in range(25)]
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


def test_npz_round_trip(tmp_path: Path) -> None:
    data = Arrays(_npz(tmp_path)).load()
    fields = _fields()
    assert (data.images, data.queries) == (30, 10)
    assert {name: len(split.queries) for name, split in data.splits.items()} == {"validation": 2, "test": 8}
    query = int(data.splits["test"].queries[0])
    hits = data.candidates(query, 5)
    np.testing.assert_array_equal(hits.images, np.argsort(-fields["scores"][query])[:5])
    assert data.positives[3].tolist() == [3]


def test_pairs_of_positives(tmp_path: Path) -> None:
    data = Arrays(_npz(tmp_path, positives=np.array([[0, 4], [0, 5], [9, 1]]))).load()
    assert [data.positives[0].tolist(), data.positives[1].tolist(), data.positives[9].tolist()] == [[4, 5], [], [1]]


def test_query_vectors_instead_of_scores(tmp_path: Path) -> None:
    data = Arrays(_npz(tmp_path, scores=None, query_vectors=np.ones((10, 4)))).load()
    assert data.query_vectors is not None


def test_parquet_round_trip(tmp_path: Path) -> None:
    data = Arrays(_parquet(tmp_path)).load()
    assert (data.images, data.queries, data.positives[5].tolist()) == (25, 6, [5])
    assert data.vectors is not None
    np.testing.assert_array_equal(data.vectors[7], [7.0, 1.0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": None}, "must hold either scores or query_vectors"),
        ({"scores": np.ones((10, 30)) * np.nan}, "scores must be finite, got nan"),
        ({"scores": np.ones(30)}, r"scores must be numbers of 2 dimensions, got float64 \(30,\)"),
        ({"scores": np.array([["a"]])}, "scores must be numbers of 2 dimensions, got <U1"),
        ({"vectors": np.ones((29, 4))}, "vectors must have 30 values like scores, got 29"),
        ({"column:lat": np.ones(31)}, "column:lat must have 30 values like scores, got 31"),
        ({"camera": np.ones(30)}, "'camera' is not known; an attribute is named column:camera"),
        ({"positives": None}, "must hold positives"),
        ({"positives": np.arange(9)}, r"positives must be 10 rows, or pairs \(query, row\), got shape \(9,\)"),
        ({"positives": np.arange(10) + 25}, r"positives rows must lie in 0..29, got 30"),
        ({"positives": np.array([[10, 0]])}, r"positives queries must lie in 0..9, got 10"),
        ({"positives": np.ones(10)}, "positives must be integers, got float64"),
    ],
)
def test_npz_errors_name_the_field(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Arrays(_npz(tmp_path, **changed)).load()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"score": None}, "needs a column 'score'"),
        ({"score": [float("nan")] * 150}, "row 1: score must be a finite number, got nan"),
        ({"positive": ["yes"] * 150}, "row 1: positive must be true or false, got 'yes'"),
        ({"id": [0] * 150}, "an id must not occur twice in one query"),
        ({"camera": [str(row) for row in range(150)]}, "row 26: camera must be the same for id 0, got '25'"),
        ({"vector": [[1.0]] * 149 + [[1.0, 2.0]]}, None),
    ],
)
def test_parquet_errors_name_the_column(tmp_path: Path, changed: dict[str, Any], message: str | None) -> None:
    path = _parquet(tmp_path, **changed)
    if message is None:  # the first occurrence of an id counts for its vector
        assert Arrays(path).load().images == 25
        return
    with pytest.raises(InputError, match=message):
        Arrays(path).load()


@pytest.mark.parametrize(("name", "message"), [("a.csv", "suffix must be one of"), ("a.npz", "no such file")])
def test_files_that_are_none(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Arrays(tmp_path / name).load()


def test_a_file_that_is_no_npz(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_text("no")
    with pytest.raises(InputError, match="not an npz file"):
        Arrays(tmp_path / "a.npz").load()


def test_a_users_file_runs(tmp_path: Path) -> None:
    suite = arrays(_npz(tmp_path), ["base", "mmr", "ms-dpp", "mascot", "guarded"], quick=True)
    assert [task.name for task in suite.plan.tasks] == ["geo_hour", "geo", "hour", "camera"]
    records = run(suite, tmp_path / "out", jobs=1)
    main = [record for record in records if record["study"] == "main"]
    assert {record["label"] for record in main} == {"base", "mmr", "ms-dpp", "mascot", "guarded"}
    assert all(record["dataset"] == "mine" for record in records)
