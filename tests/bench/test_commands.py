"""`mascot bench`: words in, results out."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

from mascot.bench.presets import DIV400_TASKS
from mascot.bench.progress import Lines
from mascot.cli.bench import _benchmark, bench


@pytest.mark.parametrize(
    ("format", "part"), [("text", "MASCOT"), ("markdown", "| geo + hour |"), ("csv", "geo_hour,focus,mascot")]
)
def test_compare(simulated: SimpleNamespace, format: str, part: str) -> None:
    done = CliRunner().invoke(bench, ["compare", str(simulated.folder), "--format", format])
    assert done.exit_code == 0
    assert part in done.output
    assert "0.9410" in done.output  # MASCOT's published R@10 of geo + hour focus


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing", "--out", "x"], "DATASET must be pixelprose-sim, div400, a file"),
        (["run", "pixelprose-sim", "--methods", "magic", "--out", "x"], "method must be one of base, "),
        (["run", "pixelprose-sim", "--tasks", "colour", "--out", "x"], "task must be one of geo_hour, hour, geo"),
        (["run", "pixelprose-sim", "--seeds", "one", "--out", "x"], "--seeds must be whole numbers"),
        (["run", "div400", "--data", "no/such", "--out", "x"], "div400 needs --data PATH"),
        (["run", "div400", "--out", "x"], "div400 needs --data PATH (or MASCOT_DIV400 in the environment)"),
        (["run", "div400", "--methods", "mascot", "--data", ".", "--out", "x"], "method must be one of base, "),
        (["run", "div400", "--quick", "--data", ".", "--out", "x"], "it asks all of its 57 topics"),
        (["run", "div400", "--tasks", "geo", "--data", ".", "--out", "x"], "task must be one of all, all-k-means"),
        (["run", "mine.npz", "--seeds", "1", "--out", "x"], "--seeds must not be given with a file"),
        (["run", "mine.npz", "--data", ".", "--out", "x"], "--data must not be given with a file"),
        (["run", "mine.npz", "--model", "clip", "--out", "x"], "--model must not be given with a file"),
        (["run", ".", "--seeds", "1", "--out", "x"], "--seeds must not be given with a folder"),
        (["run", "pixelprose-sim", "--model", "clip", "--out", "x"], "--model must not be given with pixelprose-sim"),
        (["run", "mine.npz", "--out", "x"], "mine.npz: no such file"),
        (["compare", "."], ". holds no test results"),
        (["tables", "."], ". holds no test results"),
        (["compare", "no/such"], "no such folder"),
        (["figures", ".", "--data", "mine.csv"], "--data must be an encoded folder or a file .npz or .parquet, got"),
        (["steering", "--only", "tokyo"], "tokyo needs --data"),
        (["steering", "--only", "atlantis", "--data", "."], "no dataset is called 'atlantis'"),
        (["steering", "--only", "dresden", "--data", "nowhere"], "nowhere/flickr_dresden_cc-by.csv.gz: No such file"),
    ],
)
def test_refusals_are_one_line(arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASCOT_DIV400", raising=False)
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 2
    lines = done.output.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_one_table_alone_and_into_a_new_folder(simulated: SimpleNamespace, tmp_path: Path) -> None:
    def invoke(*words: str) -> Result:
        return CliRunner().invoke(bench, ["tables", str(simulated.folder), "--only", *words])

    sizes = invoke("sizes")
    assert (sizes.exit_code, sizes.stdout.count("test split")) == (0, 1)
    assert sizes.stdout.startswith("The dataset")
    wrong = invoke("nothing")
    assert (wrong.exit_code, "only must be one of" in wrong.output) == (2, True)
    assert invoke("top1", "--out", f"{tmp_path / 'new'}/").exit_code == 0
    assert (tmp_path / "new" / "tables.txt").is_file()


def test_methods_and_tasks_of_div400_are_its_own(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASCOT_DIV400", str(data / "div400"))
    suite = _benchmark("div400", None, None, "pyversity-mmr", None, None, False)
    assert {point.label for point in suite.extra} == {"pyversity-mmr"}
    assert suite.subsets == ("unseen",)
    suite = _benchmark("div400", None, None, "base,mmr", "all-k-means", None, False)
    assert {point.task.name for point in suite.extra} == {"all-k-means"} == {task.name for task in suite.tasks}
    assert not any("," in task.name for task in DIV400_TASKS)


def test_seeds_may_be_given_to_a_quick_run() -> None:
    def seeds(given: str | None, quick: bool) -> list[int]:
        return [seed for seed, _ in _benchmark("pixelprose-sim", None, None, "base", None, given, quick).sources]

    assert [seeds(None, False), seeds(None, True), seeds("3,4,3", True)] == [[0, 1, 2], [0], [3, 4]]


def test_without_a_terminal_progress_is_lines() -> None:
    stream, seconds = io.StringIO(), iter([0.0, 1.0, 3.0, 4.0, 33.0, 34.0, 100.0])
    report = Lines(stream, lambda: next(seconds))
    for stage, done, total in (
        ("search", 50, 100),  # too early to say anything
        ("search", 60, 100),
        ("search", 90, 100),  # too soon again
        ("search", 91, 100),  # half a minute nearly, and more than a tenth
        ("test", 0, 100),
        ("pictures", 7, None),
    ):
        report(stage, done, total)
    assert stream.getvalue().splitlines() == ["search: 60 of 100", "search: 91 of 100", "pictures: 7"]
