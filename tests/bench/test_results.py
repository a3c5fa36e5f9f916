"""The store of results: whole files or none, names by content."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mascot.bench import results
from mascot.bench.experiment import run
from mascot.bench.results import Store, digest, read
from mascot.bench.suites import only, pixelprose
from mascot.bench.tasks import GEO, HOUR
from mascot.errors import InputError

_RUN = """
import sys
from pathlib import Path
from mascot.bench.experiment import run
from mascot.bench.suites import arrays, only
if __name__ == "__main__":
    suite = arrays(Path(sys.argv[1]), ["base", "mascot"], quick=True)
    run(only(suite, [task for task in suite.plan.tasks if task.name == "hour"]), Path(sys.argv[2]), jobs=2)
"""
_FIELDS = {
    "dataset": str, "data_hash": str, "seed": int, "split": str, "study": str, "task": str, "direction": str,
    "label": str, "method": dict, "wishes": list, "k": int, "n": int, "queries": list, "per_query": dict,
    "summary": dict, "versions": dict, "id": str,
}  # fmt: skip


def _suite(labels: tuple[str, ...] = ("base", "mascot")):
    return only(pixelprose((0,), labels, quick=True), [HOUR])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("results")
    run(_suite(), where, jobs=1)
    return where


def test_every_record_has_every_field(folder: Path) -> None:
    records = read(folder)
    assert {record["study"] for record in records} >= {
        "main",
        "search",
        "strength",
        "sigma_time",
        "clusters",
        "runtime",
    }
    for record in records:
        for field, kind in _FIELDS.items():
            assert isinstance(record[field], kind), (field, record["study"])
        assert {"value", "seconds", "point"} <= record.keys()
        queries = len(record["queries"])
        assert all(len(values) == queries for values in record["per_query"].values())
        assert {"r@1", "r@10", "appearance", "metadata", "top1", "displaced", "other_bin", "kept"} <= set(
            record["per_query"]
        )
        assert {"dm", "hm", "r@10"} <= record["summary"].keys()
        assert set(record["per_query"]["r@1"]) <= {0, 1}


def test_a_second_run_computes_nothing(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "points").iterdir()}
    run(_suite(), folder, jobs=1)
    assert {path: path.stat().st_mtime_ns for path in (folder / "points").iterdir()} == before


@pytest.mark.parametrize("content", [b"", b'{"study": "main"', b"[1, 2]", b'{"id": "another"}', b"\xff\xfe"])
def test_a_corrupt_file_is_ignored_and_computed_again(folder: Path, content: bytes) -> None:
    path = sorted((folder / "points").iterdir())[0]
    whole = read(folder)
    path.write_bytes(content)
    assert len(read(folder)) == len(whole) - 1
    run(_suite(), folder, jobs=1)
    again = {record["id"]: record["summary"] for record in read(folder)}
    assert again == {record["id"]: record["summary"] for record in whole}


def test_keys_name_their_content() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_a_folder_of_another_run_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"holds a run with validation 16; this one has 50"):
        run(only(pixelprose((0,), ("base",)), [GEO]), folder, jobs=1)


def test_a_missing_folder_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mascot bench run"):
        read(tmp_path / "nothing")


def test_versions_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put({"versions": results.versions()}, {"study": "main"})
    monkeypatch.setattr("mascot.__version__", "99")
    assert not store.has({"versions": results.versions()})


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    """SIGKILL in the middle, then once more: the files that were there are not touched, the rest is added."""
    script, out, data = tmp_path / "go.py", tmp_path / "out", tmp_path / "mine.npz"
    script.write_text(_RUN)
    rng = np.random.default_rng(0)
    hours = {"column:taken": rng.uniform(0, 24, 60), "positives": np.arange(30)}
    np.savez(data, scores=rng.random((30, 60)), vectors=rng.standard_normal((60, 8)), **hours)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(script), str(data), str(out)]
    started = subprocess.Popen(command, env=environment, start_new_session=True)
    points = out / "points"
    for _ in range(1200):
        if points.is_dir() and len(list(points.glob("[!.]*.json"))) >= 5:
            break
        assert started.poll() is None, "the run ended before it could be killed"
        time.sleep(0.05)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    time.sleep(1.5)  # workers notice that their parent is gone
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in points.glob("[!.]*.json")}
    assert len(before) >= 5
    assert len(read(out)) == len(before)
    subprocess.run(command, env=environment, check=True, timeout=120)
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in points.glob("[!.]*.json")}
    assert len(after) > len(before)
    assert {path: after[path] for path in before} == before
    assert len(read(out)) == len(after)
