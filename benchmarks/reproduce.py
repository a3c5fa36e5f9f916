"""A run of SkyScript's size: 15,650 images, 12,520 test queries, random vectors, every method that is no DPP.

    python -m benchmarks.reproduce [--images 15650] [--tokens 32] [--folder DIR]

Makes a prepared folder (places at random, no pictures) with vectors of its own, lets `mascot bench run` do the whole
protocol on it in a process of its own, and prints how long it took and how much memory it held.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import mascot as mc
from mascot.bench.datasets.folder import Query, write_folder
from mascot.bench.encode import store_vectors
from mascot.bench.grid import DPPS, LABELS
from mascot.bench.prepare.splits import validation

_DIM = 256
_MINUTES, _GIB = 15.0, 8.0


def make(folder: Path, images: int, tokens: int) -> None:
    """Image i answers query i; its vectors are those of the query with noise."""
    rng = np.random.default_rng(0)
    texts = _unit(rng.normal(size=(images, _DIM)).astype(np.float32))
    noise = rng.normal(size=(images, tokens, _DIM)).astype(np.float32)
    vectors = _unit(texts[:, None, :] + 0.5 * noise)
    place = _unit(rng.normal(size=(images, 3)))
    columns = {
        "id": [str(row) for row in range(images)],
        "file": [f"images/{row}.jpg" for row in range(images)],
        "lat": np.degrees(np.arcsin(place[:, 2])).tolist(),
        "lon": np.degrees(np.arctan2(place[:, 1], place[:, 0])).tolist(),
    }
    queries = [Query(f"caption {row}", (row,)) for row in range(images)]
    write_folder(folder, "skyscript-sim", columns, validation(images), queries, {"seed": 0})
    store_vectors(folder, "random", vectors, texts)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


class Watch:
    """The most memory that a process and its children held together, looked at twice a second."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while Path(f"/proc/{self._pid}").exists():
            self.peak = max(self.peak, sum(map(_proportional, _family(self._pid))))
            time.sleep(0.5)


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:  # it has just ended
            continue
    return found


def _proportional(pid: int) -> int:
    """Bytes; what several processes share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", type=int, default=15650)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    test = asked.images - validation(asked.images)
    print(f"mascot {mc.__version__}, {os.cpu_count()} cores; {asked.images:,} images, {test:,} test queries")
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        data, out = folder / "data", folder / "results"
        started = time.perf_counter()
        make(data, asked.images, asked.tokens)
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        listing = time.perf_counter() - started
        print(f"vectors and lists ({asked.tokens} vectors an image): {listing:.0f} s, {own:.1f} GiB", flush=True)
        methods = ",".join(label for label in LABELS if label not in DPPS)
        command = [
            str(Path(sys.executable).with_name("mascot")),
            "bench",
            "run",
            str(data),
            "--out",
            str(out),
            "--methods",
            methods,
        ]
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watch = Watch(child.pid)
        said = child.communicate()[0].strip().replace(str(out), "DIR")
        minutes = (time.perf_counter() - started) / 60
        if child.returncode:
            raise SystemExit(f"the run failed: {said}")
        print(said)
        records = [json.loads(path.read_bytes()) for path in (out / "points").glob("*.json")]
        tested = [record for record in records if record["split"] == "test"]
    print(f"methods: {', '.join(sorted({record['label'] for record in tested}))}")
    peak = watch.peak / 2**30
    searched = len(records) - len(tested)
    print(f"{searched} points searched and {len(tested)} tested in {minutes:.1f} minutes (bar {_MINUTES:.0f})")
    print(f"peak memory of all its processes {peak:.2f} GiB (bar {_GIB:.0f})")


if __name__ == "__main__":
    main()
