"""A user's own file: what it may hold, and which field an error names."""

from __future__ import annotations

import io
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from mascot.bench import averages
from mascot.bench.datasets.arrays import Arrays
from mascot.bench.grid import LABELS
from mascot.bench.presets import arrays
from mascot.bench.run import run
from mascot.cli.bench import bench
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


def parquet_file(folder: Path, **changed: Any) -> Path:
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


def test_files_round_trip(tmp_path: Path) -> None:
    data = Arrays(npz_file(tmp_path)).load()
    assert (data.images, data.queries) == (30, 10)
    assert {name: len(split.queries) for name, split in data.splits.items()} == {"validation": 2, "test": 8}
    query = int(data.splits["test"].queries[0])
    np.testing.assert_array_equal(data.candidates(query, 5).images, np.argsort(-_fields()["scores"][query])[:5])
    assert data.positives[3].tolist() == [3]
    pairs = Arrays(npz_file(tmp_path, positives=np.array([[0, 4], [0, 5], [9, 1]]))).load().positives
    assert [pairs[0].tolist(), pairs[1].tolist(), pairs[9].tolist()] == [[4, 5], [], [1]]
    data = Arrays(npz_file(tmp_path, scores=None, query_vectors=np.ones((10, 4)))).load()
    assert data.query_vectors is not None
    data = Arrays(parquet_file(tmp_path)).load()
    assert (data.images, data.queries, data.positives[5].tolist()) == (25, 6, [5])
    assert data.vectors is not None
    np.testing.assert_array_equal(data.vectors[7], [7.0, 1.0])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": None}, "must hold either scores or query_vectors"),
        ({"scores": np.ones((10, 30)) * np.nan}, "scores must be finite, got nan"),
        ({"scores": np.ones(30)}, r"scores must be numbers of 2 dimensions, got float64 \(30,\)"),
        ({"vectors": np.ones((29, 4))}, "vectors must have 30 values like scores, got 29"),
        ({"column:lat": np.ones(31)}, "column:lat must have 30 values like scores, got 31"),
        ({"camera": np.ones(30)}, "'camera' is not known; an attribute is named column:camera"),
        ({"positives": None}, "must hold positives"),
        ({"positives": np.arange(9)}, r"positives must be 10 rows or pairs \(query, row\), got shape \(9,\)"),
        ({"positives": np.arange(10) + 25}, r"positives rows must lie in 0..29, got 30"),
        ({"positives": np.array([[10, 0]])}, r"positives queries must lie in 0..9, got 10"),
        ({"positives": np.ones(10)}, "positives must be integers, got float64"),
        ({"positives": np.empty((0, 2), int)}, "at least one query must have a positive, got none"),
        ({"vectors": np.full((30, 4), np.inf)}, r"mine.npz: vectors must be finite, got inf"),
        ({"column:camera": np.array("a")}, r"column:camera must hold one value for each image, got shape \(\)"),
        ({"column:camera": np.ones(30, complex)}, "column:camera must hold numbers, times or text, got complex128"),
        ({"column:": np.ones(30)}, "column: must have a name"),
        ({"column:r@10": np.ones(30)}, "column:r@10 must have another name: 'r@10' is a measure"),
        ({"column:geo": np.ones(30)}, "'geo' is a task of the benchmark"),
        ({"column:lon": None}, "column:lat needs 'lon' beside it"),
        ({"column:lat": np.ones(30, bool)}, "column:lat must be degrees, got bool"),
        ({"column:lat": np.full(30, np.nan)}, "column:lat must hold at least one value"),
        ({"column:taken": np.full(30, 25)}, "column:taken cannot be read: .* got 25"),
        ({"column:weight": np.full(30, np.nan)}, "column:weight must hold at least one value, got none"),
        ({"column:camera": np.array(["", " "] * 15)}, "column:camera must hold at least one value, got none"),
        ({"vectors": np.zeros((30, 4))}, "vectors must not be 0 or missing everywhere"),
        ({"column:who": np.array(["a", None] * 15, object)}, r"mine.npz: column:who must hold .* no Python objects"),
        ({"column:cluster": np.full(30, -1)}, "column:cluster must hold at least one cluster, got none"),
        ({"column:cluster": np.ones((30, 2))}, r"column:cluster must hold one value for each image, got shape"),
    ],
)
def test_npz_errors_name_the_field(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Arrays(npz_file(tmp_path, **changed)).load()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"score": None}, "needs a column 'score'"),
        ({"score": [float("nan")] * 150}, "row 1: score must be a finite number, got nan"),
        ({"positive": ["yes"] * 150}, "row 1: positive must be true or false, got 'yes'"),
        ({"id": [0] * 150}, "an id must not occur twice in one query"),
        (
            {"camera": [str(row) for row in range(150)]},
            "row 26: camera must be the same for id 0, got '25' and in row 1 '0'",
        ),
        ({"camera": [[None]] * 150}, "column 'camera' must hold at least one value, got none"),
        ({"cluster": [[1]] * 150}, "column 'cluster' must hold numbers or text, got"),
        ({"score": [None] * 150}, "row 2: score must be a finite number, got None"),
        ({"query": [["q"]] * 150}, r"row 1: query must be text or a number, got \['q'\]"),
        ({"vector": ["text"] * 150}, "vector must be a list of numbers, got 'text'"),
        ({"positive": [False] * 150}, "at least one query must have a positive"),
        ({"camera": [{"make": "a"}] * 150}, "column 'camera' must hold numbers, times, text or lists of them"),
        ({"kept": ["a"] * 150}, "column 'kept' must have another name"),
    ],
)
def test_parquet_errors_name_the_column(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Arrays(parquet_file(tmp_path, **changed)).load()


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
    for name, message in (("a.csv", "suffix must be one of"), ("a.npz", "no such file")):
        with pytest.raises(InputError, match=message):
            Arrays(tmp_path / name).load()


@settings(max_examples=25, deadline=None)
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_harmless(small: bytes, at: float, bit: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.npz"
        flipped = bytearray(small)
        flipped[int(at * len(flipped))] ^= 1 << bit
        path.write_bytes(flipped)
        with suppress(InputError):
            Arrays(path).load()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return npz_file(tmp_path_factory.mktemp("small")).read_bytes()


def test_methods_that_take_logarithms_are_left_out_with_a_note(tmp_path: Path) -> None:
    plain = arrays(npz_file(tmp_path))
    assert plain.notes == ()
    assert [task.name for task in plain.tasks] == ["geo_hour", "geo", "hour", "camera"]
    path = npz_file(tmp_path, scores=np.random.default_rng(1).random((10, 30)) - 0.5)
    suite = arrays(path)
    assert set(LABELS) - set(suite.labels) == {"ms-dpp+tn", "ms-dpp+tn+tvms"}
    assert re.match(r"ms-dpp\+tn and ms-dpp\+tn\+tvms take the logarithm .* the lowest is -0\.4", suite.notes[0])
    with pytest.raises(InputError, match="no other method was asked for"):
        arrays(path, ["ms-dpp+tn"])
    out = tmp_path / "out"
    words = ["--quick", "--methods", "base,ms-dpp+tn", "--tasks", "hour", "--jobs", "1", "--out", str(out)]
    done = CliRunner().invoke(bench, ["run", str(path), *words])
    assert done.exit_code == 0, done.output
    assert "note: ms-dpp+tn take" in done.output
    assert f"points in {out}; next: mascot bench tables {out}" in done.output
    assert any("were left out" in note for note in averages.read(out)[0].notes)


def test_changed_data_shows_its_own_numbers(tmp_path: Path) -> None:
    """The file is read again in the same process, and what it held before is not shown beside it."""
    scores = np.zeros((10, 30))
    scores[np.arange(10), np.arange(10)] = 1.0
    recalls = []
    for positives in (np.arange(10), np.arange(10) + 15, np.arange(10)):
        path = npz_file(tmp_path, scores=scores, positives=positives)
        suite = arrays(path, ["base"], quick=True)
        run(replace(suite, tasks=suite.tasks[-1:]), tmp_path / "out", jobs=1)
        (results,) = averages.read(tmp_path / "out")
        recalls.append(results.where(study="main", direction="spread").average(averages.summary("r@1")).value)  # type: ignore[union-attr]
        changed = len(recalls) > 1
        assert any("the data of seed 0 changed" in note for note in results.notes) == changed
        assert not any("more than once" in note for note in results.notes)
    assert recalls == [1.0, 0.0, 1.0]


def test_a_file_that_changes_in_use_is_refused(tmp_path: Path) -> None:
    source = Arrays(npz_file(tmp_path))
    assert Arrays(npz_file(tmp_path, positives=np.arange(10)[::-1])) != source
    with pytest.raises(InputError, match="the file changed while it was in use"):
        source.load()


def _of_sizes(folder: Path, sizes: list[int]) -> Path:
    """A query for each size, with so many candidates; its last one is right."""
    rows = [(query, image, size) for query, size in enumerate(sizes) for image in range(size)]
    return parquet_file(
        folder,
        query=[f"q{query}" for query, *_ in rows],
        id=[image for _, image, _ in rows],
        score=[1.0 - image / 100 for _, image, _ in rows],
        positive=[image == min(query, size - 1) for query, image, size in rows],
        camera=["ab"[image % 2] for _, image, _ in rows],
        vector=[[float(image), 1.0] for _, image, _ in rows],
    )


def test_short_lists_do_not_shorten_the_others(tmp_path: Path) -> None:
    """A query of two candidates and one of a single one are measured on what they show."""
    sizes = [25, 2, 25, 25, 1, 25]
    suite = arrays(_of_sizes(tmp_path, sizes), ["base", "k-dpp", "guarded"], quick=True)
    main = [record for record in run(suite, tmp_path / "out", jobs=1) if record["study"] == "main"]
    assert {record["label"] for record in main} == {"base", "k-dpp", "guarded"}
    for record in main:
        shown = [sizes[query] for query in record["queries"]]
        assert (record["k"], record["n"], record["short"]) == (20, 25, 2)
        assert {"r@10", "r@20", "hm"} <= record["summary"].keys()
        assert [value is None for value in record["per_query"]["metadata"]] == [size < 2 for size in shown]
        assert all(record["per_query"]["r@10"])
    (found,) = averages.read(tmp_path / "out")
    assert "5 queries (2 of them have fewer than K candidates)" in found.setting


def test_a_search_without_its_measure_is_refused(tmp_path: Path) -> None:
    suite = arrays(_of_sizes(tmp_path, [25, 25, 25, 1, 25, 25]), ["mmr"], quick=True)  # query 3 is the validation split
    with pytest.raises(InputError, match="the search needs hm of every setting, got none for mmr on camera"):
        run(suite, tmp_path / "out", jobs=1)
