"""`mascot bench`: words in, results out."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mascot.bench.commands import bench

_RUN = ["run", "pixelprose-sim", "--quick", "--methods", "base,mascot", "--tasks", "hour", "--jobs", "1", "--out"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench") / "out"
    done = CliRunner().invoke(bench, [*_RUN, str(out)])
    assert done.exit_code == 0, done.output
    assert "mascot bench tables" in done.output
    return out


@pytest.mark.parametrize(
    ("format", "part"), [("text", "MASCOT"), ("markdown", "| hour |"), ("csv", "hour,focus,mascot")]
)
def test_compare(results: Path, format: str, part: str) -> None:
    done = CliRunner().invoke(bench, ["compare", str(results), "--format", format])
    assert done.exit_code == 0
    assert part in done.output
    assert "0.9059" in done.output  # MASCOT's published R@10 of hour focus


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing", "--out", "x"], "DATASET must be pixelprose-sim, div400, a file"),
        (["run", "pixelprose-sim", "--methods", "magic", "--out", "x"], "method must be one of base, "),
        (["run", "pixelprose-sim", "--tasks", "colour", "--out", "x"], "task must be one of geo_hour, hour, geo"),
        (["run", "pixelprose-sim", "--seeds", "one", "--out", "x"], "--seeds must be whole numbers"),
        (["run", "div400", "--data", "no/such", "--out", "x"], "div400 needs --data PATH"),
        (["run", "mine.npz", "--out", "x"], "mine.npz: no such file"),
        (["compare", "no/such"], "no such folder"),
    ],
)
def test_refusals_are_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 2
    lines = done.output.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]
