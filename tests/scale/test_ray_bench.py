"""The benchmark on Ray: the records of a local run, block by block, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from engines_of_tests import busy_worker, gone
from typer.testing import CliRunner

from mascot.bench.presets import arrays
from mascot.bench.run import run
from mascot.bench.studies import Benchmark
from mascot.cli.bench import bench
from mascot.scale.benchmarking import RayCrew

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

QUERIES, IMAGES, BLOCK = 60, 90, 8


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Coverage, MMR and DPPs over place and hour, on a user's own file."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("bench") / "mine.npz"
    np.savez(
        path,
        scores=rng.random((QUERIES, IMAGES)),
        vectors=rng.standard_normal((IMAGES, 6)),
        positives=np.arange(QUERIES),
        **{
            "column:lat": rng.uniform(-60, 60, IMAGES),
            "column:lon": rng.uniform(-180, 180, IMAGES),
            "column:taken": rng.uniform(0, 24, IMAGES),
        },
    )
    found = arrays(path, ["base", "mmr", "ms-dpp", "mascot", "guarded"], quick=True)
    return replace(found, test=None, tasks=tuple(task for task in found.tasks if task.name == "geo"))


@pytest.fixture(scope="module")
def local(suite: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("local")
    run(suite, out, jobs=1)
    return _records(out)


def _records(folder: Path) -> dict[str, Any]:
    """Everything but the times."""
    found = {path.name: json.loads(path.read_bytes()) for path in (folder / "points").glob("*.json")}
    for record in found.values():
        del record["seconds"]
    return found


def test_the_records_are_those_of_a_local_run(
    ray: Any, suite: Benchmark, local: dict[str, Any], tmp_path: Path
) -> None:
    told: list[tuple[str, int, int]] = []
    run(suite, tmp_path, report=lambda *step: told.append(step), workers=RayCrew(block=BLOCK))
    assert len(local) > 20
    assert max(len(record["queries"]) for record in local.values()) > 2 * BLOCK
    assert _records(tmp_path) == local
    assert told[-1][1] == told[-1][2]


def test_a_killed_worker_changes_nothing(ray: Any, suite: Benchmark, local: dict[str, Any], tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        killed.append(busy_worker("_choose"))
        os.kill(killed[0], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    run(suite, tmp_path, workers=RayCrew(block=BLOCK))
    killer.join()
    assert len(killed) == 1
    assert gone(killed[0])
    assert _records(tmp_path) == local


def test_a_stopped_run_goes_on(ray: Any, suite: Benchmark, local: dict[str, Any], tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "test" and done > total // 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(suite, tmp_path, report=stop, workers=RayCrew(block=BLOCK))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "points").glob("*.json")}
    assert 0 < len(before) < len(local)
    run(suite, tmp_path, workers=RayCrew(block=BLOCK))
    assert _records(tmp_path) == local
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())


@pytest.mark.parametrize("words", [["--ray"], ["--ray", "local"]])
def test_the_command(ray: Any, suite: Benchmark, words: list[str], tmp_path: Path) -> None:
    file = suite.sources[0][1].path  # type: ignore[attr-defined]
    done = CliRunner().invoke(
        bench, ["run", str(file), "--out", str(tmp_path), "--quick", "--methods", "base", "--tasks", "geo", *words]
    )
    assert done.exit_code == 0, done.output
    assert "mascot bench tables" in done.output
    assert _records(tmp_path)
