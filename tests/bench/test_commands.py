"""`mascot bench`: words in, results out."""

from __future__ import annotations

from pathlib import Path

import pytest

from mascot.cli.bench_commands import _benchmark
from tests.retelling import run_command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing", "--out", "x"], "DATASET must be pixelprose-sim, div400, a file"),
        (["run", "pixelprose-sim", "--seeds", "one", "--out", "x"], "--seeds must be whole numbers"),
        (["run", "div400", "--out", "x"], "div400 needs --data PATH (or MASCOT_DIV400 in the environment)"),
        (["run", "div400", "--quick", "--data", ".", "--out", "x"], "all of its 57 topics are run"),
        (["run", "mine.npz", "--seeds", "1", "--out", "x"], "--seeds must not be given with a file"),
        (["compare", "."], ". holds no test results"),
        (["figures", ".", "--data", "mine.csv"], "--data must be an encoded folder or a file .npz or .parquet, got"),
        (["prepare", "skyscript", "--source", "?x", "--out", "x"], "skyscript has base=https://"),
        (["prepare", "skyscript"], "prepare needs --out DIR"),
        (["prepare", "pixelprose", "--images", "none.csv", "--out", "x"], "none.csv must be a list of pictures"),
    ],
)
def test_refusals_are_one_line(arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASCOT_DIV400", raising=False)
    done = run_command("bench", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_a_question_mark_lists_sources() -> None:
    done = run_command("bench", "prepare", "incidents1m", "--source", "?")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["annotations= (not set)", "hosts= (not set)"]


def test_methods_and_tasks_of_div400_are_its_own(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASCOT_DIV400", str(data / "div400"))
    suite = _benchmark("div400", None, None, "pyversity-mmr", None, None, False)
    assert {point.label for point in suite.extra} == {"pyversity-mmr"}
    assert suite.subsets == ("unseen",)
    suite = _benchmark("div400", None, None, "base,mmr", "all-k-means", None, False)
    assert {point.task.name for point in suite.extra} == {"all-k-means"} == {task.name for task in suite.tasks}
