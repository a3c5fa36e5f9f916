"""The benchmark on Ray: the records of a local run, block by block, whichever worker is killed."""

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

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore::FutureWarning")]

QUERIES, IMAGES, BLOCK = 40, 60, 8


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
    suite = arrays(path, ["base", "mmr", "ms-dpp", "mascot", "guarded"], quick=True)
    return replace(suite, test=None, tasks=tuple(task for task in suite.tasks if task.name == "geo"))


@pytest.fixture(scope="module")
def local(suite: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("local")
    run(suite, out, jobs=1)
    return _records(out)


def _records(folder: Path) -> dict[str, Any]:
    """Everything but the times."""
    records = {path.name: json.loads(path.read_bytes()) for path in (folder / "points").glob("*.json")}
    for record in records.values():
        del record["seconds"]
    return records


def test_the_records_are_those_of_a_local_run_also_if_a_worker_is_killed(
    ray: Any, suite: Benchmark, local: dict[str, Any], tmp_path: Path
) -> None:
    reports: list[tuple[str, int, int]] = []
    killed: list[int] = []

    def kill() -> None:
        killed.append(busy_worker("_choose"))
        os.kill(killed[0], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    run(suite, tmp_path, report=lambda *step: reports.append(step), workers=RayCrew(block=BLOCK))
    killer.join()
    assert gone(killed[0])
    assert len(local) > 20
    assert max(len(record["queries"]) for record in local.values()) > 2 * BLOCK
    assert _records(tmp_path) == local
    assert reports[-1][1] == reports[-1][2]


def test_a_stopped_run_continues(ray: Any, suite: Benchmark, local: dict[str, Any], tmp_path: Path) -> None:
    def stop(stage: str, count: int, total: int) -> None:
        if stage == "test" and count > total // 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(suite, tmp_path, report=stop, workers=RayCrew(block=BLOCK))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "points").glob("*.json")}
    assert 0 < len(before) < len(local)
    run(suite, tmp_path, workers=RayCrew(block=BLOCK))
    assert _records(tmp_path) == local
    assert all(path.stat().st_mtime_ns == time_ns for path, time_ns in before.items())


def test_the_command(ray: Any, suite: Benchmark, tmp_path: Path) -> None:
    file = suite.sources[0][1].path  # type: ignore[attr-defined]
    words = ["run", str(file), "--out", str(tmp_path), "--quick", "--methods", "base", "--tasks", "geo", "--ray"]
    result = CliRunner().invoke(bench, words)
    assert result.exit_code == 0, result.output
    assert "mascot bench tables" in result.output
    assert _records(tmp_path)
