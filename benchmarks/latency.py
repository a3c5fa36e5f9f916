"""Microseconds per query, ours and the alternatives in one run: `python -m benchmarks.latency [--quick]`.

Medians over interleaved rounds, so that a noisy neighbour hits all alike.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

import mascot as mc
from benchmarks import dense

N, K, QUERIES = 200, 20, 2048
GRID, HOUR, GLOBE = mc.Place.grid(), mc.HourOfDay("hour"), mc.Place()


def corpus(rows: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    lat = np.degrees(np.arcsin(rng.uniform(-1, 1, rows)))
    return {"lat": lat, "lon": rng.uniform(-180, 180, rows), "hour": rng.uniform(0, 24, rows)}


def in_turns(tasks: dict[str, tuple[Callable[[], Any], int]], rounds: int) -> dict[str, float]:
    """Median microseconds per query of each task, one round of all after the other."""
    for work, _ in tasks.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, (work, queries) in tasks.items():
            start = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - start) / queries * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def speed(rounds: int) -> None:
    columns = corpus(QUERIES * N)
    rows = np.arange(QUERIES * N).reshape(QUERIES, N)
    scores = np.sort(np.random.default_rng(1).uniform(0.28, 0.45, (QUERIES, N)), axis=1)[:, ::-1].copy()
    cases: list[tuple[str, list[mc.Wish], mc.Mascot, float]] = [
        ("paper, spread", [mc.spread(GRID), mc.spread(HOUR)], mc.Mascot.paper(0.5), 25),
        ("paper, focus", [mc.focus(GRID), mc.focus(HOUR)], mc.Mascot.paper(0.5), 25),
        ("paper, mixed", [mc.spread(GRID), mc.focus(HOUR)], mc.Mascot.paper(0.5), 20),
        ("paper, mixed the other way", [mc.focus(GRID), mc.spread(HOUR)], mc.Mascot.paper(0.5), 20),
        ("guarded on the grid, spread", [mc.spread(GRID), mc.spread(HOUR)], mc.Mascot(), 25),
        ("guarded on the grid, focus", [mc.focus(GRID), mc.focus(HOUR)], mc.Mascot(), 25),
        ("default: self-scaling, spread", [mc.spread(GLOBE), mc.spread(HOUR)], mc.Mascot(), 12),
        ("default: self-scaling, focus", [mc.focus(GLOBE), mc.focus(HOUR)], mc.Mascot(), 12),
    ]
    print(f"One query: N={N}, K={K}, binning included, one thread; medians of {rounds} rounds, microseconds")
    print(f"{'':<32}{'dense numpy':>12}{'ours':>8}{'ratio':>8}{'bar':>6}{'two cores':>11}{'gain':>7}{'queries/s':>12}")
    for name, asked, method, bar in cases:
        ranker = mc.Reranker(asked, method).fit(columns)
        corpus_ = ranker._fitted()
        queries = corpus_._queries(list(rows), list(scores), None, None)
        signs = [wish.sign for wish in asked]
        near_globe = asked[0].attribute == GLOBE
        some = range(0, QUERIES, 256)
        centres = {q: mesh(columns, rows[q]) for q in some} if near_globe else {}

        def numpy_loop(
            signs: list[int] = signs, method: mc.Mascot = method, some: range = some, centres: dict[int, Any] = centres
        ) -> None:
            for q in some:
                mine = {key: values[rows[q]] for key, values in columns.items()}
                if centres:
                    where, sigma = centres[q]
                    place = dense.globe(np.radians(mine["lat"]), np.radians(mine["lon"]), where, sigma)
                else:
                    place = dense.planar(mine["lat"], mine["lon"])
                dense.greedy(
                    scores[q], [place, dense.clock(mine["hour"])], signs, float(method.strength or 0), K, method.scale
                )

        def one(method: mc.Mascot = method, queries: Any = queries) -> Any:
            return method.select_many(queries, K, threads=1)

        def two(method: mc.Mascot = method, queries: Any = queries) -> Any:
            return method.select_many(queries, K, threads=2)

        took = in_turns({"numpy": (numpy_loop, len(some)), "one": (one, QUERIES), "two": (two, QUERIES)}, rounds)
        print(
            f"{name:<32}{took['numpy']:>12,.0f}{took['one']:>8.1f}{took['numpy'] / took['one']:>7.1f}x{bar:>5.0f}x"
            f"{took['two']:>11.1f}{took['one'] / took['two']:>6.2f}x{1e6 / took['two']:>12,.0f}"
        )


def _spin(count: int) -> None:
    total = 0
    for number in range(count):
        total += number


def two_cores() -> None:
    """What this machine's second core gives to anybody: two busy processes against one."""
    gains = []
    for _ in range(5):
        start = time.perf_counter()
        _spin(10_000_000)
        alone = time.perf_counter() - start
        both = [multiprocessing.Process(target=_spin, args=(10_000_000,)) for _ in range(2)]
        start = time.perf_counter()
        for process in both:
            process.start()
        for process in both:
            process.join()
        gains.append(2 * alone / (time.perf_counter() - start))
    print(f"Two busy processes get through {statistics.median(gains):.2f} times the work of one here.")


def mesh(columns: dict[str, Any], rows: Any) -> tuple[Any, float]:
    """Centres of all cells within reach of these rows, and the width: given to the dense loop for free."""
    member = GLOBE.membership({key: values[rows] for key, values in columns.items()}, None).resolve()
    used = np.unique(member.sparse().indices)
    ring, cell = used >> 32, used & 0xFFFFFFFF
    lat = (ring + 0.5) * np.pi / member.rings - np.pi / 2
    cells = np.maximum(np.floor(2 * member.rings * np.cos(lat) + 0.5), 1)
    return np.stack([lat, (cell + 0.5) * 2 * np.pi / cells - np.pi]), member.sigma_km


def neighbours(rounds: int) -> None:
    """pyversity's MMR and DPP on the same N and K."""
    try:
        import pyversity
    except ImportError:
        print("\npyversity is not installed: pip install 'mascot[dev]'")
        return
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(N, 256))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = np.sort(rng.uniform(0.28, 0.45, N))[::-1].copy()
    tasks: dict[str, tuple[Callable[[], Any], int]] = {}
    for name in ("mmr", "dpp"):
        strategy = pyversity.Strategy(name)

        def diversify(strategy: Any = strategy) -> Any:
            return pyversity.diversify(vectors, scores, k=K, strategy=strategy, diversity=0.5)

        tasks[f"pyversity {name.upper()}"] = (diversify, 1)
    found = mc.Candidates(scores=scores, columns=corpus(N), vectors=vectors)
    asked = [mc.spread(GLOBE), mc.spread(HOUR)]
    tasks["mascot.rerank, one call, numba"] = (lambda: mc.rerank(found, asked, K, backend="numba"), 1)
    tasks["mascot.rerank, one call, numpy"] = (lambda: mc.rerank(found, asked, K, backend="numpy"), 1)
    print(f"\nOne call, N={N}, K={K}, from Python objects to a result (pyversity pushes 256-d vectors apart)")
    for name, took in in_turns(tasks, 3 * rounds).items():
        print(f"{name:<32}{took:>10,.0f} us")


GROWTH = [
    (200, 20, 20), (1_000, 20, 20), (10_000, 20, 20), (100_000, 20, 20),
    (10_000, 100, 20), (10_000, 1_000, 20), (10_000, 20, 60), (10_000, 20, 126), (100_000, 100, 126),
    (100_000, 1_000, 20),
]  # fmt: skip


def grow(n: int, k: int, cells: int) -> None:
    """One growth measurement, in a process of its own so that its peak memory is its own."""
    columns = corpus(n)
    scores = np.sort(np.random.default_rng(1).uniform(0.28, 0.45, n))[::-1].copy()
    asked = [mc.spread(mc.Place.grid(cells=cells)), mc.focus(HOUR)]
    small = mc.Candidates(scores=scores[:50], columns={key: values[:50] for key, values in columns.items()})
    mc.rerank(small, asked, 5, backend="numba")  # compiled code from the cache
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = mc.Candidates(scores=scores, columns=columns)
    start = time.perf_counter()
    mc.rerank(found, asked, k, backend="numba")
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bins, grown = cells * cells + 24, (peak - before) / 1024
    print(f"{n:>9,}{k:>7,}{bins:>9,}{took * 1e3:>12.1f}{took / n * 1e9:>14.0f}{peak / 1024:>11,.0f}{grown:>9,.0f}")


def growth() -> None:
    print("\nGrowth: one query, spread place (15 degrees), focus hour, guarded; peak memory of the whole process")
    print(f"{'N':>9}{'K':>7}{'bins':>9}{'ms':>12}{'ns/candidate':>14}{'peak MiB':>11}{'+ MiB':>9}", flush=True)
    for n, k, cells in GROWTH:
        subprocess.run([sys.executable, "-m", "benchmarks.latency", "--grow", f"{n},{k},{cells}"], check=True)


def starts() -> None:
    """Fresh processes: import, and import with a first single rerank."""
    first = (
        "import numpy as np, mascot as mc; r = np.random.default_rng(0); columns = {'lat': r.uniform(-90, 90, 200),"
        "'lon': r.uniform(-180, 180, 200), 'hour': r.uniform(0, 24, 200)};"
        "mc.rerank(mc.Candidates(scores=r.random(200), columns=columns),"
        "[mc.spread(mc.Place()), mc.focus(mc.HourOfDay('hour'))], 20)"
    )
    cases = {
        "python alone": "pass",
        "import numpy": "import numpy",
        "import mascot": "import mascot",
        "and a first rerank": first,
    }
    print("\nFresh process, seconds (median of 7)")
    for name, code in cases.items():
        times = []
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        print(f"{name:<32}{statistics.median(times):>8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no growth table")
    parser.add_argument("--grow", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.grow:
        n, k, cells = (int(part) for part in options.grow.split(","))
        grow(n, k, cells)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, numpy {np.__version__}\n")
    rounds = 5 if options.quick else 15
    speed(rounds)
    two_cores()
    neighbours(rounds)
    if not options.quick:
        growth()
    starts()


if __name__ == "__main__":
    main()
