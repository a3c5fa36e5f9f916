"""Run datasets of the paper's largest sizes with random vectors, and measure time and memory.

    python -m benchmarks.sizes [skyscript|incidents1m] [--tokens 32] [--folder DIR]

`skyscript` has 15,650 images with a caption each, of which 12,520 are test queries, and runs every method except the
DPPs; `incidents1m` has 26,517 images, 92 queries with many answers, and runs every method. The program writes a
prepared folder with random places and vectors, without pictures, and runs the whole protocol of `mascot bench run` on
it in a separate process.
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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mascot as mc
from mascot.bench.datasets.folder import Query, write_folder
from mascot.bench.encode import store_vectors
from mascot.bench.protocol.search_space import DPPS, LABELS

_DIM = 256
_MINUTES, _GIB = 15.0, 8.0


@dataclass(frozen=True)
class Size:
    """How large a dataset is, and what is run on it."""

    images: int
    queries: int
    methods: tuple[str, ...]
    measure: str


_SIZES = {
    "skyscript": Size(15650, 15650, tuple(label for label in LABELS if label not in DPPS), "r@10"),
    "incidents1m": Size(26517, 92, LABELS, "map"),
}


def make(folder: Path, name: str, tokens: int) -> None:
    """Image i answers query i, or i modulo the queries; its vectors are those of the query with noise."""
    size = _SIZES[name]
    rng = np.random.default_rng(0)
    texts = _unit(rng.normal(size=(size.queries, _DIM)).astype(np.float32))
    query_of_image = np.arange(size.images) % size.queries
    vectors = rng.normal(size=(size.images, tokens, _DIM)).astype(np.float32)
    vectors *= 0.5
    vectors += texts[query_of_image, None, :]
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    place = _unit(rng.normal(size=(size.images, 3)))
    columns = {
        "id": [str(row) for row in range(size.images)],
        "file": [f"images/{row}.jpg" for row in range(size.images)],
        "lat": np.degrees(np.arcsin(place[:, 2])).tolist(),
        "lon": np.degrees(np.arctan2(place[:, 1], place[:, 0])).tolist(),
    }
    queries = [Query(f"query {q}", tuple(np.flatnonzero(query_of_image == q).tolist())) for q in range(size.queries)]
    about = {"seed": 0, "measure": size.measure}
    write_folder(folder, f"{name}-sim", columns, size.images // 5, queries, about)
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
    processes = [pid]
    for process in processes:
        try:
            for task in Path(f"/proc/{process}/task").iterdir():
                processes += [int(child) for child in (task / "children").read_text().split()]
        except OSError:  # it has just ended
            continue
    return processes


def _proportional(pid: int) -> int:
    """Bytes; what several processes share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("dataset", nargs="?", choices=sorted(_SIZES), default="skyscript")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    size = _SIZES[options.dataset]
    print(f"mascot {mc.__version__}, {os.cpu_count()} cores; {options.dataset}: {size.images:,} images, random vectors")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        data, out = folder / "data", folder / "results"
        started = time.perf_counter()
        make(data, options.dataset, options.tokens)
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        listing = time.perf_counter() - started
        print(f"vectors and lists ({options.tokens} vectors per image): {listing:.0f} s, {own:.1f} GiB", flush=True)
        program = str(Path(sys.executable).with_name("mascot"))
        command = [program, "bench", "run", str(data), "--out", str(out), "--methods", ",".join(size.methods)]
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watch = Watch(child.pid)
        output = child.communicate()[0].strip().replace(str(out), "DIR")
        minutes = (time.perf_counter() - started) / 60
        if child.returncode:
            raise SystemExit(f"the run failed: {output}")
        print(output)
        records = [json.loads(path.read_bytes()) for path in (out / "points").glob("*.json")]
        tested = [record for record in records if record["split"] == "test"]
    queries = max(len(record["queries"]) for record in tested)
    print(f"{queries:,} test queries; methods: {', '.join(sorted({record['label'] for record in tested}))}")
    peak = watch.peak / 2**30
    searched = len(records) - len(tested)
    bar = f" (bar {_MINUTES:.0f})" if options.dataset == "skyscript" else ""
    print(f"{searched} points searched and {len(tested)} tested in {minutes:.1f} minutes{bar}")
    print(f"peak memory of all its processes {peak:.2f} GiB (bar {_GIB:.0f})")


if __name__ == "__main__":
    main()
