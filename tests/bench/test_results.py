"""The store of results: whole files or none, names by content; and what commands say of one small run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from mascot.bench.protocol.presets import pixelprose
from mascot.bench.protocol.tasks import FOCUS, GEO_HOUR
from mascot.bench.report import run_results
from mascot.bench.report.compare import differences
from mascot.bench.running import records
from mascot.bench.running.records import Record, RecordStore, read
from mascot.bench.running.run import run
from mascot.cli.bench_commands import bench
from mascot.errors import InputError
from tests.retelling import run_command, wait_for

_FIELDS = Record.__annotations__.keys() - {"subsets"}
_MEASURES = {"r@1", "r@10", "found_at", "appearance", "metadata", "top1", "displaced", "other_bin", "kept"}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The base and MASCOT on four queries of the simulated PixelProse: the `suite` and its results in `folder`."""
    suite = pixelprose((0,), ("base", "mascot"), (GEO_HOUR,), quick=True)
    suite = replace(suite, directions=(FOCUS,), validation=2, test=4)
    folder = tmp_path_factory.mktemp("simulated")
    run(suite, folder, jobs=1)
    return SimpleNamespace(suite=suite, folder=folder)


def test_every_record_has_every_field(simulated: SimpleNamespace) -> None:
    records = read(simulated.folder)
    studies = {record["study"] for record in records}
    assert studies >= {"main", "search", "strength", "sigma_time", "clusters", "runtime"}
    for record in records:
        assert record.keys() >= _FIELDS
        assert record["per_query"].keys() >= _MEASURES
        assert {len(values) for values in record["per_query"].values()} == {len(record["queries"])}
        assert {"dm", "hm", "r@10"} <= record["summary"].keys()


def test_a_run_compares_the_released_studies(simulated: SimpleNamespace) -> None:
    for format, part in (("markdown", "| geo + hour |"), ("csv", "geo_hour,focus,mascot")):
        done = CliRunner().invoke(bench, ["compare", str(simulated.folder), "--format", format])
        # MASCOT's published R@10 of geo + hour focus
        assert (done.exit_code, part in done.output, "0.9410" in done.output) == (0, True, True)
    rows = differences(read(simulated.folder))
    tables = set(rows.set_index("label").loc["mascot", ["table", "point"]].itertuples(index=False, name=None))
    expected = {("mixed", "published"), ("mixed", "inferred"), ("clusters", "published"), ("clusters", "validated")}
    assert expected | {("prs", "published")} <= tables
    sizes = rows[rows["table"] == "sizes"].set_index("measure")[["ours", "published"]]
    assert sizes.T.to_dict("list") == {"validation images": [199, 199], "test images": [797, 797]}


def test_one_table_alone_and_into_a_new_folder(simulated: SimpleNamespace, tmp_path: Path) -> None:
    words = ["tables", str(simulated.folder), "--out", f"{tmp_path / 'new'}/", "--only"]
    assert CliRunner().invoke(bench, [*words, "sizes"]).exit_code == 0
    text = (tmp_path / "new" / "tables.txt").read_text(encoding="utf-8")
    assert (text.startswith("The dataset"), text.count("test split")) == (True, 1)
    wrong = run_command("bench", *words, "nothing")
    assert (wrong.returncode, "only must be one of" in wrong.stderr) == (2, True)


def test_only_corrupt_files_are_computed_again(simulated: SimpleNamespace) -> None:
    paths = sorted((simulated.folder / "points").iterdir())
    whole = {record["id"]: record["summary"] for record in read(simulated.folder)}
    contents = [b"", b'{"study": "main"', b"[1, 2]", b'{"id": "another"}', b"[" * 100_000]
    for path, content in zip(paths, contents, strict=False):
        path.write_bytes(content)
    untouched = {path: path.stat().st_mtime_ns for path in paths[len(contents) :]}
    assert len(read(simulated.folder)) == len(whole) - len(contents)
    run(simulated.suite, simulated.folder, jobs=1)
    assert {record["id"]: record["summary"] for record in read(simulated.folder)} == whole
    assert {path: path.stat().st_mtime_ns for path in untouched} == untouched


def test_a_folder_of_another_run_is_refused(simulated: SimpleNamespace) -> None:
    with pytest.raises(InputError, match=r"holds a run with validation 2; this one has 50 .--quick asks fewer"):
        run(replace(simulated.suite, validation=50), simulated.folder, jobs=1)


def _put(store: RecordStore, number: int, seed: int = 0, **fields: object) -> None:
    known = {"dataset": "mine", "seed": seed, "data_hash": "a", "split": "test", "versions": records.versions()}
    store.put({"number": number}, {**known, "study": "main", "label": "base", **fields})


def test_the_record_written_last_is_the_last(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for number in range(8):
        _put(store, number, versions={"mascot": str(number)}, value=number)
        os.utime(store.path({"number": number}), ns=(number, number))
    assert [record["value"] for record in read(tmp_path)] == list(range(8))


def test_a_partial_run_is_known_as_such(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.claim({"dataset": "mine"}, {0: "a", 1: "a"})
    _put(store, 0, 0)
    _put(store, 1, 1)
    _put(store, 2, 1, label="mmr")
    (partial,) = run_results.read(tmp_path)
    assert partial.run_seeds == (0, 1)
    assert [(point[4], seeds) for point, seeds in partial.missing.items()] == [("mmr", [0])]
    assert "the last run into this folder did not finish: points may be missing" in partial.notes
    assert "1 of 2 points were not measured on every seed (0, 1)" in partial.notes
    store.finish()
    assert not any("did not finish" in note for note in run_results.read(tmp_path)[0].notes)


def test_keys_name_the_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.put({"versions": records.versions()}, {"study": "main"})
    monkeypatch.setattr("mascot.__version__", "99")
    assert store.get({"versions": records.versions()}) is None


def _contents(out: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (out / "points").glob("[!.]*.json")}


_HANGING = """
import time
from mascot.bench.running.records import RecordStore
from mascot.cli import main
keys, put = [], RecordStore.put
def put_or_hang(self, key, record):
    keys.append(key)
    if len(keys) > 5:
        time.sleep(3600)
    put(self, key, record)
RecordStore.put = put_or_hang  # also in the workers, which import this file
if __name__ == "__main__":
    main()
"""


def _run_until_there_are(points: int, words: list[str], out: Path) -> subprocess.Popen[str]:
    """Start a run whose processes hang after five points each, in a session of its own; wait for so many points."""
    script = out.with_name("hanging.py")
    script.write_text(_HANGING)
    process = subprocess.Popen(
        [sys.executable, str(script), "bench", *words], start_new_session=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(lambda: process.poll() is not None or (out.is_dir() and len(_contents(out)) >= points))
    assert process.poll() is None, "the run ended before it could be stopped"
    return process


def _is_gone(group: int) -> bool:
    """Return whether all processes of a group have ended."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
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
    wait_for(lambda: _is_gone(killed.pid))
    before = _contents(out)
    assert len(read(out)) == len(before)
    stopped = _run_until_there_are(len(before) + 3, [*words, "2"], out)
    os.killpg(stopped.pid, signal.SIGINT)
    output, errors = stopped.communicate(timeout=240)
    lines = [line for line in errors.splitlines() if not re.match("(search|test): ", line)]
    assert (output, lines) == ("", ["mascot: stopped; the same mascot bench run resumes it"])
    assert stopped.returncode == 130
    wait_for(lambda: _is_gone(stopped.pid))
    between = _contents(out)
    done = CliRunner().invoke(bench, [*words, "1"])
    assert done.exit_code == 0, done.output
    after = _contents(out)
    assert before.items() <= between.items() <= after.items()
    assert len(read(out)) == len(after) > len(between)
