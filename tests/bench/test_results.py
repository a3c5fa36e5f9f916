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

from mascot.bench import averages, results
from mascot.bench.results import RecordStore, digest, read
from mascot.bench.run import run
from mascot.bench.studies import studies
from mascot.errors import InputError

_RUN = """
import sys
from pathlib import Path
from mascot.bench.run import run
from dataclasses import replace
from mascot.bench.presets import arrays
if __name__ == "__main__":
    suite = arrays(Path(sys.argv[1]), ["base", "mascot"], quick=True)
    run(replace(suite, tasks=tuple(task for task in suite.tasks if task.name == "hour")), Path(sys.argv[2]), jobs=2)
"""
_FIELDS = {
    "dataset": str, "data_hash": str, "seed": int, "split": str, "study": str, "task": str, "direction": str,
    "label": str, "method": dict, "wishes": list, "k": int, "n": int, "queries": list, "per_query": dict,
    "summary": dict, "versions": dict, "id": str, "short": int,
}  # fmt: skip


def test_every_record_has_every_field(simulated: SimpleNamespace) -> None:
    records = read(simulated.folder)
    studies = {"main", "search", "strength", "sigma_time", "clusters", "runtime"}
    assert {record["study"] for record in records} >= studies
    for record in records:
        for field, kind in _FIELDS.items():
            assert isinstance(record[field], kind), (field, record["study"])
        assert {"value", "seconds", "point"} <= record.keys()
        queries = len(record["queries"])
        assert all(len(values) == queries for values in record["per_query"].values())
        assert {"r@1", "r@10", "found_at", "appearance", "metadata", "top1", "displaced", "other_bin", "kept"} <= set(
            record["per_query"]
        )
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


def test_keys_name_their_content() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


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
    (found,) = averages.read(tmp_path)
    assert found.run_seeds == (0, 1)
    assert [(point[4], seeds) for point, seeds in found.missing.items()] == [("mmr", [0])]
    assert found.where(label="base").missing == {}
    assert "the last run into this folder did not come to its end: points may be missing" in found.notes
    assert "1 of 2 points were not measured on every seed (0, 1)" in found.notes
    store.finish()
    assert not any("did not come to its end" in note for note in averages.read(tmp_path)[0].notes)


def test_recall_at_every_k() -> None:
    record = {"k": 5, "summary": {"r@1": 0.25}, "per_query": {"found_at": [1, 0, 3, 4]}}
    assert [averages.recall(k)(record) for k in (1, 2, 3, 4, 5, 6)] == [0.25, 0.25, 0.5, 0.75, 0.75, None]


def test_versions_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.put({"versions": results.versions()}, {"study": "main"})
    monkeypatch.setattr("mascot.__version__", "99")
    assert store.get({"versions": results.versions()}) is None


def _own(folder: Path) -> Path:
    """A small file of one's own, with hours."""
    rng = np.random.default_rng(0)
    hours = {"column:taken": rng.uniform(0, 24, 60), "positives": np.arange(30)}
    np.savez(folder / "mine.npz", scores=rng.random((30, 60)), vectors=rng.standard_normal((60, 8)), **hours)
    return folder / "mine.npz"


def _until_there_are_points(points: Path, started: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if points.is_dir() and len(list(points.glob("[!.]*.json"))) >= 5:
            return
        assert started.poll() is None, "the run ended before it could be stopped"
        time.sleep(0.05)


def _gone(group: int) -> bool:
    """Whether all processes of a group end within a few seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_ctrl_c_says_how_to_go_on_and_nothing_else(tmp_path: Path) -> None:
    """The terminal sends SIGINT to the command and to its workers."""
    out = tmp_path / "out"
    words = ["bench", "run", str(_own(tmp_path)), "--methods", "base,ms-dpp,k-dpp", "--jobs", "2", "--out", str(out)]
    command = [sys.executable, "-m", "mascot", *words]
    started = subprocess.Popen(
        command, env=_ENVIRONMENT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    _until_there_are_points(out / "points", started)
    os.killpg(started.pid, signal.SIGINT)
    said, told = started.communicate(timeout=240)
    lines = [line for line in told.splitlines() if not re.match("(search|test): ", line)]
    assert (said, lines) == ("", ["mascot: stopped; the same mascot bench run resumes it"])
    assert started.returncode == 130
    assert _gone(started.pid), "a worker is left"


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    """SIGKILL in the middle, then once more: the files that were there are not touched, the rest is added."""
    script, out = tmp_path / "go.py", tmp_path / "out"
    script.write_text(_RUN)
    command = [sys.executable, str(script), str(_own(tmp_path)), str(out)]
    started = subprocess.Popen(command, env=_ENVIRONMENT, start_new_session=True, text=True)
    points = out / "points"
    _until_there_are_points(points, started)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    time.sleep(1.5)  # workers notice that their parent is gone
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in points.glob("[!.]*.json")}
    assert len(before) >= 5
    assert len(read(out)) == len(before)
    subprocess.run(command, env=_ENVIRONMENT, check=True, timeout=300)
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in points.glob("[!.]*.json")}
    assert len(after) > len(before)
    assert {path: after[path] for path in before} == before
    assert len(read(out)) == len(after)
