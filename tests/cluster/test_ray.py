"""Indexing and the benchmark on one Ray cluster: the results of one process, whichever worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from mascot.bench.protocol.presets import arrays
from mascot.bench.protocol.studies import Benchmark
from mascot.bench.running.run import run
from mascot.cli.bench_commands import bench
from mascot.cluster import ray_runner
from mascot.cluster.bench_workers import RayCrew
from mascot.errors import MascotError, OptionError
from mascot.photos.indexing import indexer, table_sink
from mascot.photos.sample import write_sample
from tests.cluster import engines_of_tests
from tests.cluster.engines_of_tests import COUNT, MemorySink, PathReader, assert_same, busy_worker, index_on_ray

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning"),
]
QUERIES, IMAGES, BLOCK = 24, 40, 8


def test_a_failed_run_continues_and_its_rows_are_those_of_a_library(
    ray: Any, folder: Path, sink: MemorySink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sink, "_ROWS", 2)
    monkeypatch.setattr(indexer, "_BATCH", 4)
    with pytest.raises(MascotError, match=r"(?i)^a worker failed at '.*\.jpg', .*: RuntimeError: CUDA out of memory$"):
        index_on_ray(folder, sink, engines_of_tests.Failing(dim=64))
    written = len(sink.rows)
    assert 0 < written < COUNT
    summary = index_on_ray(folder, sink, PathReader(dim=64))
    assert (summary.new, summary.unchanged) == (COUNT - written, written)
    local = assert_same(sink, folder, tmp_path, PathReader(dim=64))
    assert set(summary.skipped) == set(local.skipped)


def test_an_error_of_ours_is_passed_on_as_it_is() -> None:
    error = OptionError("the encoder must see, got dark")

    def work(items: Any) -> Any:
        raise error

    assert ray_runner._results_or_error(work, []) is error
    assert ray_runner.Worker().work([], error) is error


@pytest.mark.slow
def test_a_picture_that_kills_its_worker_is_skipped(
    ray: Any, sink: MemorySink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_runner, "_RETRIES", 1)
    root = tmp_path / "own"
    write_sample(root, 3)
    Image.new("RGB", engines_of_tests.DEADLY).save(root / "deadly.png")
    summary = index_on_ray(root, sink, engines_of_tests.Mortal(dim=64), workers=1)
    assert len(sink.rows) == summary.new == 3
    [skipped] = summary.skipped
    assert skipped.path.name == "deadly.png"
    assert skipped.reason == "killed its worker 2 times: a crash, or too little memory"
    monkeypatch.setattr(ray_runner, "_MOST_LOST", 0)
    os.utime(root / "deadly.png", (1, 1))
    with pytest.raises(MascotError, match=r"workers died at 1 batches.*index these without --ray: 'deadly.png'"):
        index_on_ray(root, sink, engines_of_tests.Mortal(dim=64), workers=1)


_ON_A_GPU = """
import ray, sys
from pathlib import Path
from tests.cluster.engines_of_tests import MemorySink, PathReader, index_on_ray
ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, object_store_memory=128 << 20)
print("new:", index_on_ray(Path(sys.argv[1]), MemorySink(), PathReader(dim=64)).new)
"""


@pytest.mark.slow
def test_tasks_read_for_encoders_on_gpus(tmp_path: Path) -> None:
    """Ray does not check that there is a GPU, and this encoder needs none."""
    pytest.importorskip("ray")
    write_sample(tmp_path / "trips", 3)
    command = [sys.executable, "-c", _ON_A_GPU, str(tmp_path / "trips")]
    environment = os.environ | {"PYTHONPATH": engines_of_tests.PYTHONPATH, "RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "new: 3" in process.stdout, process.stderr


# The benchmark


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
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


def _records(folder: Path) -> dict[str, Any]:
    records = {path.name: json.loads(path.read_bytes()) for path in (folder / "points").glob("*.json")}
    for record in records.values():
        del record["seconds"]
    return records


def test_a_stopped_benchmark_continues_and_has_the_records_of_a_local_run_also_if_a_worker_is_killed(
    ray: Any, suite: Benchmark, tmp_path: Path
) -> None:
    run(suite, tmp_path / "local", jobs=1)
    local = _records(tmp_path / "local")
    assert len(local) > 20
    assert max(len(record["queries"]) for record in local.values()) > 2 * BLOCK

    def stop(stage: str, count: int, total: int) -> None:
        if stage == "test" and count > total // 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(suite, tmp_path / "ray", report=stop, workers=RayCrew(block=BLOCK))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "ray" / "points").glob("*.json")}
    assert 0 < len(before) < len(local)
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(lambda: os.kill(busy_worker("_choose"), signal.SIGKILL))
        run(suite, tmp_path / "ray", workers=RayCrew(block=BLOCK))
    killed.result()
    assert _records(tmp_path / "ray") == local
    assert all(path.stat().st_mtime_ns == time_ns for path, time_ns in before.items())


def test_the_command(ray: Any, suite: Benchmark, tmp_path: Path) -> None:
    file = suite.sources[0][1].path  # type: ignore[attr-defined]
    words = ["run", str(file), "--out", str(tmp_path), "--quick", "--methods", "base", "--tasks", "geo", "--ray"]
    result = CliRunner().invoke(bench, words)
    assert result.exit_code == 0, result.output
    assert "mascot bench tables" in result.output
    assert _records(tmp_path)
