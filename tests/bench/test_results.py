"""The store of results: whole files or none, names by content."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from mascot.bench import averages, results
from mascot.bench.results import RecordStore, digest, read
from mascot.bench.run import run
from mascot.bench.studies import studies
from mascot.cli.bench import bench
from mascot.errors import InputError

_FIELDS = {
    "dataset", "data_hash", "seed", "split", "study", "task", "direction", "label", "method", "wishes", "k", "n",
    "short", "bare", "queries", "per_query", "summary", "versions", "id", "value", "seconds", "point", "retrieval",
    "sizes", "places",
}  # fmt: skip
_MEASURES = {"r@1", "r@10", "found_at", "appearance", "metadata", "top1", "displaced", "other_bin", "kept"}


def test_every_record_has_every_field(simulated: SimpleNamespace) -> None:
    records = read(simulated.folder)
    assert {record["study"] for record in records} >= {
        "main",
        "search",
        "strength",
        "sigma_time",
        "clusters",
        "runtime",
    }
    for record in records:
        assert record.keys() >= _FIELDS
        assert record["per_query"].keys() >= _MEASURES
        assert {len(values) for values in record["per_query"].values()} == {len(record["queries"])}
        assert {"dm", "hm", "r@10"} <= record["summary"].keys()
        assert set(record["per_query"]["r@1"]) <= {0, 1}


def test_a_second_run_computes_nothing_and_counts_a_point_once(simulated: SimpleNamespace) -> None:
    points = simulated.folder / "points"
    before = {path: path.stat().st_mtime_ns for path in points.iterdir()}
    again = tuple(point for point in studies(simulated.suite, {}) if point.label == "base")
    ids = [record["id"] for record in run(replace(simulated.suite, extra=again), simulated.folder, jobs=1)]
    assert {path: path.stat().st_mtime_ns for path in points.iterdir()} == before
    assert len(ids) == len(set(ids))


def test_corrupt_files_are_ignored_and_computed_again(simulated: SimpleNamespace) -> None:
    paths = sorted((simulated.folder / "points").iterdir())
    whole = {record["id"]: record["summary"] for record in read(simulated.folder)}
    contents = [b"", b'{"study": "main"', b"[1, 2]", b'{"id": "another"}', b"\xff\xfe"]
    for path, content in zip(paths, contents, strict=False):
        path.write_bytes(content)
    assert len(read(simulated.folder)) == len(whole) - len(contents)
    run(simulated.suite, simulated.folder, jobs=1)
    assert {record["id"]: record["summary"] for record in read(simulated.folder)} == whole


def test_a_folder_of_another_run_is_refused(simulated: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds a run with validation 2; this one has 50: --quick asks fewer"):
        run(replace(simulated.suite, validation=50), simulated.folder, jobs=1)
    with pytest.raises(InputError, match="mascot bench run"):
        read(tmp_path / "nothing")


def _put(store: RecordStore, number: int, seed: int = 0, data: str = "a", **fields: object) -> None:
    known = {"dataset": "mine", "seed": seed, "data_hash": data, "split": "test", "versions": results.versions()}
    store.put({"number": number}, {**known, "study": "main", "label": "base", **fields})


def test_only_records_of_the_present_data_are_read(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.claim({"dataset": "mine"}, {0: "a", 1: "a"})
    for seed in (0, 1):
        _put(store, seed, seed)
    store.claim({"dataset": "mine"}, {0: "b"})
    _put(store, 2, 0, "b")
    assert [(record["seed"], record["data_hash"]) for record in read(tmp_path)] == [(1, "a"), (0, "b")]
    run_of = results.run_info(tmp_path)
    assert run_of is not None
    assert run_of.notes == ("the data of seed 0 changed: records of the earlier data are not read",)
    store.claim({"dataset": "mine"}, {0: "a"})  # back again
    assert [(record["seed"], record["data_hash"]) for record in read(tmp_path)] == [(0, "a"), (1, "a")]


def test_the_record_written_last_is_the_last(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for number in range(8):
        _put(store, number, versions={"mascot": str(number)}, value=number)
        os.utime(store.path({"number": number}), ns=(number, number))
    assert [record["value"] for record in read(tmp_path)] == list(range(8))
    _put(store, 3, value=3)
    os.utime(store.path({"number": 3}), ns=(0, 0))
    store.claim({"dataset": "mine"}, {0: "a"})
    assert read(tmp_path)[-1]["value"] == 3  # of the versions of the last run, whenever it was written


def test_a_partial_run_is_known_as_such(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.claim({"dataset": "mine"}, {0: "a", 1: "a"})
    _put(store, 0, 0)
    _put(store, 1, 1)
    _put(store, 2, 1, label="mmr")
    (partial,) = averages.read(tmp_path)
    assert partial.run_seeds == (0, 1)
    assert [(point[4], seeds) for point, seeds in partial.missing.items()] == [("mmr", [0])]
    assert partial.where(label="base").missing == {}
    assert "the last run into this folder did not come to its end: points may be missing" in partial.notes
    assert "1 of 2 points were not measured on every seed (0, 1)" in partial.notes
    store.finish()
    assert not any("did not come to its end" in note for note in averages.read(tmp_path)[0].notes)


def test_recall_at_every_k() -> None:
    record = {"k": 5, "summary": {"r@1": 0.25}, "per_query": {"found_at": [1, 0, 3, 4]}}
    assert [averages.recall(k)(record) for k in (1, 2, 3, 4, 5, 6)] == [0.25, 0.25, 0.5, 0.75, 0.75, None]


def test_keys_name_their_content_and_the_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    store = RecordStore(tmp_path)
    store.put({"versions": results.versions()}, {"study": "main"})
    monkeypatch.setattr("mascot.__version__", "99")
    assert store.get({"versions": results.versions()}) is None


def _contents(out: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (out / "points").glob("[!.]*.json")}


def _run_until_there_are(points: int, words: list[str], out: Path) -> subprocess.Popen[str]:
    """Start the command in a session of its own, and return once there are so many points."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mascot", "bench", *words], start_new_session=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 120
    while not out.is_dir() or len(_contents(out)) < points:
        assert process.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < until
        time.sleep(0.05)
    return process


def _is_gone(group: int) -> bool:
    """Return whether all processes of a group end within a few seconds."""
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_killed_and_a_stopped_run_resume(tmp_path: Path) -> None:
    """SIGKILL, then Ctrl-C for the command and its workers: complete files stay as they are, the rest is added."""
    rng, out = np.random.default_rng(0), tmp_path / "out"
    fields = {"vectors": rng.standard_normal((60, 8)), "column:taken": rng.uniform(0, 24, 60)}
    np.savez(tmp_path / "mine.npz", scores=rng.random((30, 60)), positives=np.arange(30), **fields)
    words = ["run", str(tmp_path / "mine.npz"), "--methods", "base,mascot,k-dpp", "--out", str(out), "--jobs"]
    killed = _run_until_there_are(5, [*words, "2"], out)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert _is_gone(killed.pid), "a worker is left"
    before = _contents(out)
    assert len(read(out)) == len(before)
    stopped = _run_until_there_are(len(before) + 3, [*words, "2"], out)
    os.killpg(stopped.pid, signal.SIGINT)
    output, errors = stopped.communicate(timeout=240)
    lines = [line for line in errors.splitlines() if not re.match("(search|test): ", line)]
    assert (output, lines) == ("", ["mascot: stopped; the same mascot bench run resumes it"])
    assert stopped.returncode == 130
    assert _is_gone(stopped.pid), "a worker is left"
    between = _contents(out)
    done = CliRunner().invoke(bench, [*words, "1"])
    assert done.exit_code == 0, done.output
    after = _contents(out)
    assert before.items() <= between.items() <= after.items()
    assert len(read(out)) == len(after) > len(between)
