"""Speed of the core beside its alternatives, in one run: `python -m benchmarks.latency [--quick] [--install]`.

Medians over interleaved rounds, so that a busy neighbour hits all alike. One thread, N=200 candidates, K=20 results,
binning included, unless a row says otherwise.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

import mascot as mc
from benchmarks import dense
from mascot.bins.globe import cell_counts
from mascot.kernels import native
from mascot.wishes import AnyWish

N, K, QUERIES = 200, 20, 1000
GRID, HOUR, GLOBE = mc.Place.grid(), mc.HourOfDay("hour"), mc.Place()
Task = tuple[Callable[[], Any], int]


def corpus(rows: int, seed: int = 0) -> dict[str, Any]:
    """Return places all over the globe and hours, as many as there are rows."""
    rng = np.random.default_rng(seed)
    lat = np.degrees(np.arcsin(rng.uniform(-1, 1, rows)))
    sellers = rng.choice(50, rows)
    return {"lat": lat, "lon": rng.uniform(-180, 180, rows), "hour": rng.uniform(0, 24, rows), "seller": sellers}


def queries(count: int, size: int, seed: int = 1) -> Any:
    return np.sort(np.random.default_rng(seed).uniform(0.28, 0.45, (count, size)), axis=1)[:, ::-1].copy()


def interleave(tasks: dict[str, Task], rounds: int) -> dict[str, float]:
    """Return the median microseconds per query of each task, one round of all after the other."""
    for work, _ in tasks.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, (work, count) in tasks.items():
            start = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - start) / count * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def report(name: str, theirs: str, other: float, ours: float, bar: str, unit: str = "us") -> None:
    ratio = f"{other / ours:.{1 if other > ours else 2}f}x"
    print(f"{name:<46}{theirs:<26}{other:>9,.1f}{ours:>9,.1f} {unit:<3}{ratio:>8}  {bar}", flush=True)


def one_call(rounds: int) -> None:
    """One `rerank` from Python objects beside pyversity's MMR on 256-d vectors."""
    import pyversity

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(N, 256))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    (scores,) = queries(1, N)
    columns = {name: column for name, column in corpus(N).items() if name != "seller"}
    wishes = [mc.spread(GLOBE), mc.spread(HOUR)]
    strategy = pyversity.Strategy.MMR
    times = interleave(
        {
            "pyversity": (lambda: pyversity.diversify(vectors, scores, k=K, strategy=strategy, diversity=0.5), 1),
            "rerank": (lambda: mc.rerank(mc.Candidates(scores, columns=columns), wishes, K), 1),
        },
        40 * rounds,
    )
    report(
        "one rerank call, place + hour",
        "pyversity MMR, 256-d",
        times["pyversity"],
        times["rerank"],
        "bar 2.5x",
    )


def hit_records() -> list[dict[str, Any]]:
    """Return the hits of an engine in no particular order: 15 sellers, a few of which have most of them."""
    rng = np.random.default_rng(4)
    sellers = rng.choice(15, N, p=(1 / np.arange(1, 16)) / (1 / np.arange(1, 16)).sum())
    listed = np.datetime64("2026-11-18T12:00:00") - rng.integers(0, 90 * 86400, N)
    return [
        {
            "id": f"hit {row}", "score": float(rng.uniform(0.28, 0.45)), "seller": f"seller {sellers[row]}",
            "_source": {
                "seller": {"name": f"seller {sellers[row]}"}, "category": f"category {rng.integers(8)}",
                "price": float(rng.lognormal(3)), "listed": f"{listed[row]}+00:00",
            },
        }
        for row in range(N)
    ]  # fmt: skip


def limited_by_hand(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the best hits with at most two of a seller, as one would write it without a library."""
    counts: Counter[str] = Counter()
    page: list[dict[str, Any]] = []
    for hit in sorted(hits, key=lambda hit: hit["score"], reverse=True):
        if counts[hit["seller"]] < 2:
            counts[hit["seller"]] += 1
            page.append(hit)
            if len(page) == K:
                break
    return page


def records(rounds: int) -> None:
    """Lists of dictionaries: nested names and four wishes beside pyversity's MMR, a limit beside a loop by hand."""
    import pyversity

    hits = hit_records()
    vectors = np.random.default_rng(0).normal(size=(N, 256))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = np.array([hit["score"] for hit in hits])
    strategy = pyversity.Strategy.MMR
    wishes: list[AnyWish] = [
        mc.limit("_source.seller.name", 2), mc.spread("_source.category"),
        mc.focus(mc.Number("_source.price"), near=25, within=10),
        mc.focus(mc.Date("_source.listed"), near="2026-11-18", within=7),
    ]  # fmt: skip
    limit = mc.limit("seller", 2)
    assert mc.rerank(hits, limit, K).records() == limited_by_hand(hits)
    nested = interleave(
        {
            "pyversity": (lambda: pyversity.diversify(vectors, scores, k=K, strategy=strategy, diversity=0.5), 1),
            "rerank": (lambda: mc.rerank(hits, wishes, K).records(), 1),
            "printed": (lambda: str(mc.rerank(hits, wishes, K).explain()), 1),
        },
        40 * rounds,
    )
    labels = interleave(
        {
            "loop": (lambda: limited_by_hand(hits), 1),
            "rerank": (lambda: mc.rerank(hits, limit, K).records(), 1),
        },
        40 * rounds,
    )
    bar = "bar 0.33x (3 times as long)"
    report("records, nested names, four wishes", "pyversity MMR, 256-d", nested["pyversity"], nested["rerank"], bar)
    printed = "records, four wishes, printed explanation"
    report(printed, "pyversity MMR, 256-d", nested["pyversity"], nested["printed"], "bar 0.20x (5 times as long)")
    report("records, limit of a label", "a loop by hand", labels["loop"], labels["rerank"], "")


def explain(rounds: int) -> None:
    """`explain()` of one ranking, without the rerank."""
    (scores,) = queries(1, N)
    candidates = mc.Candidates(scores, columns=corpus(N))
    cases: dict[str, list[AnyWish]] = {
        "limit and share": [mc.limit("seller", 2), mc.share("seller", {1: 0.1})],
        "spread of labels": [mc.spread("seller")],
        "spread of place and hour": [mc.spread(GLOBE), mc.spread(HOUR)],
    }
    tasks: dict[str, Task] = {}
    for name, wishes in cases.items():
        tasks[name] = (lambda wishes=wishes: mc.rerank(candidates, wishes, K), 1)  # type: ignore[misc]
        tasks[f"{name}, explained"] = (lambda wishes=wishes: mc.rerank(candidates, wishes, K).explain(), 1)  # type: ignore[misc]
    times = interleave(tasks, 20 * rounds)
    for name in cases:
        took = times[f"{name}, explained"] - times[name]
        report(f"explain, {name}", "the rerank", times[name], took, "bar 500 us")


def one_query_of_a_corpus(rounds: int) -> None:
    """A fitted `Reranker`: a corpus of 1,000,000 rows beside one of 10,000."""
    (scores,) = queries(1, N)
    tasks: dict[str, Task] = {}
    for rows in (10_000, 1_000_000):
        for name, wishes in (
            ("", [mc.spread(GLOBE), mc.spread(HOUR)]),
            (" near", [mc.focus(GLOBE, near=(48.9, 2.4)), mc.spread(HOUR)]),
        ):
            ranker = mc.Reranker(wishes).fit(corpus(rows))
            taken = np.random.default_rng(2).choice(rows, N, replace=False)
            tasks[f"{rows}{name}"] = (lambda ranker=ranker, taken=taken: ranker.rerank(taken, scores, K), 1)  # type: ignore[misc]
    times = interleave(tasks, 40 * rounds)
    for name in ("", " near"):
        small, large = times[f"10000{name}"], times[f"1000000{name}"]
        report(
            f"Reranker.rerank{name}, 1,000,000 rows",
            "the same, 10,000 rows",
            small,
            large,
            "bar 0.77x (1.3 times as long)",
        )


def mesh(columns: dict[str, Any], rows: Any) -> tuple[Any, float]:
    """Return the centres of all cells within reach of these rows, and the width: given to the dense loop for free."""
    bins = GLOBE.membership({key: values[rows] for key, values in columns.items()}, None).resolve()
    used = np.unique(bins.sparse().indices)
    ring, cell = used >> 32, used & 0xFFFFFFFF
    lat = (ring + 0.5) * np.pi / bins.rings - np.pi / 2
    lon = (cell + 0.5) * 2 * np.pi / cell_counts(ring, bins.rings) - np.pi
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]), bins.sigma_km


def batches(rounds: int) -> None:
    """Batches beside the dense loop."""
    columns, scores = corpus(QUERIES * N), queries(QUERIES, N)
    rows = np.arange(QUERIES * N).reshape(QUERIES, N)
    some = range(0, QUERIES, 125)

    def compare(name: str, wishes: list[Any], method: mc.Mascot, bar: str) -> None:
        ranker = mc.Reranker(wishes, method).fit(columns)
        signs = [wish.sign for wish in wishes]
        centres = {q: mesh(columns, rows[q]) for q in some} if wishes[0].attribute == GLOBE else {}
        strength = float(method.strength or 0)

        def memberships(q: int) -> list[Any]:
            own = {key: values[rows[q]] for key, values in columns.items()}
            if centres:
                place = dense.globe(np.radians(own["lat"]), np.radians(own["lon"]), *centres[q])
            else:
                place = dense.planar(own["lat"], own["lon"])
            return [place, dense.clock(own["hour"])]

        def one_run() -> None:
            for q in some:
                dense.greedy(scores[q], memberships(q), signs, strength, K, method.scale)

        def batch() -> Any:
            return ranker.rerank_many(rows, scores, K, threads=1)

        tasks: dict[str, Task] = {"batch": (batch, QUERIES), "dense loop, P @ w": (one_run, len(some))}
        ours, *theirs = interleave(tasks, rounds).values()
        for beside, loop in zip([*tasks][1:], theirs, strict=True):
            report(name, beside, loop, ours, bar)

    spread, focus = ([wish(GLOBE), wish(HOUR)] for wish in (mc.spread, mc.focus))
    paper_focus, paper_spread = ([wish(GRID), wish(HOUR)] for wish in (mc.focus, mc.spread))
    cases: list[tuple[str, list[Any], mc.Mascot, str]] = [
        ("paper bins, batch, focus", paper_focus, mc.Mascot.paper(0.5), "bar 12x"),
        ("paper bins, batch, spread", paper_spread, mc.Mascot.paper(0.5), "bar 12x"),
        ("guarded on the grid, batch, focus", paper_focus, mc.Mascot(), ""),
        ("guarded on the grid, batch, spread", paper_spread, mc.Mascot(), ""),
        ("self-scaling place + hour, batch, spread", spread, mc.Mascot(), "bar 8x"),
        ("self-scaling place + hour, batch, focus", focus, mc.Mascot(), "bar 8x"),
    ]
    for case in cases:
        compare(*case)


def constraints(rounds: int) -> None:
    """What limits and shares cost."""
    columns, scores = corpus(QUERIES * N), queries(QUERIES, N)
    rows = np.arange(QUERIES * N).reshape(QUERIES, N)
    plain = [mc.spread(GLOBE), mc.spread(HOUR)]
    rankers = {
        "plain": mc.Reranker(plain).fit(columns),
        "limit": mc.Reranker([*plain, mc.limit("seller", 2)]).fit(columns),
        "share": mc.Reranker([*plain, mc.share("seller", {"3": 0.3, "4": 0.2})]).fit(columns),
    }
    tasks: dict[str, Task] = {
        name: (lambda ranker=ranker: ranker.rerank_many(rows, scores, K, threads=1), QUERIES)  # type: ignore[misc]
        for name, ranker in rankers.items()
    }
    times = interleave(tasks, rounds)
    for name in ("limit", "share"):
        report(
            f"{name} beside place + hour, batch",
            "the same without",
            times["plain"],
            times[name],
            "bar 0.56x (1.8 times as long)",
        )


FIRST_BATCH = """
import time
start = time.perf_counter()
import numpy as np, mascot as mc
rng = np.random.default_rng(0)
shape = (1000, 200)
columns = {"lat": rng.uniform(-90, 90, shape), "lon": rng.uniform(-180, 180, shape), "hour": rng.uniform(0, 24, shape)}
batch = mc.Batch(rng.random(shape), columns)
mc.rerank_many(batch, [mc.spread(mc.Place()), mc.focus(mc.HourOfDay("hour"))], 20)
took = time.perf_counter() - start
peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))
print(took, int(peak.split()[1]) / 1024)
"""


def fresh_process() -> None:
    """Import and a first batch of 1,000 queries in a new process, without any cache of ours."""
    seconds, megabytes = [], []
    for _ in range(7):
        printed = subprocess.run([sys.executable, "-c", FIRST_BATCH], check=True, capture_output=True, text=True).stdout
        took, peak = map(float, printed.split())
        seconds.append(took)
        megabytes.append(peak)
    name = "import and first batch of 1,000 queries"
    print(f"{name:<72}{statistics.median(seconds):>9.2f} s           bar 1.0 s, goal 0.4 s")
    print(f"{'peak memory of that process':<72}{statistics.median(megabytes):>9.0f} MB          bar 120 MB, goal 80 MB")


def install_size() -> None:
    """Install the package alone into a new environment and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
        (packages,) = home.glob("lib/python*/site-packages")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(packages), "."]
        subprocess.run(command, check=True, capture_output=True)
        size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    print(f"{'core install, site-packages':<72}{size / 1e6:>9.0f} MB          bar 90 MB, goal 60 MB")


GROWTH = [
    (200, 20, 20), (1_000, 20, 20), (10_000, 20, 20), (100_000, 20, 20), (10_000, 100, 20), (10_000, 1_000, 20),
    (10_000, 20, 60), (10_000, 20, 126), (100_000, 100, 126), (100_000, 1_000, 20),
]  # fmt: skip


def grow(n: int, k: int, cells: int) -> None:
    """Measure one row of the growth table, in a process of its own so that its peak memory is its own."""
    columns = corpus(n)
    (scores,) = queries(1, n)
    wishes = [mc.spread(mc.Place.grid(cells=cells)), mc.focus(HOUR)]
    few = mc.Candidates(scores=scores[:50], columns={name: values[:50] for name, values in columns.items()})
    mc.rerank(few, wishes, 5)  # the library is loaded
    candidates = mc.Candidates(scores=scores, columns=columns)
    start = time.perf_counter()
    mc.rerank(candidates, wishes, k)
    took = time.perf_counter() - start
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(f"{n:>9,}{k:>7,}{cells * cells + 24:>9,}{took * 1e3:>12.1f}{took / n * 1e9:>14.0f}{peak / 1024:>11,.0f}")


def growth() -> None:
    print("\nGrowth: one query, first large call of its process, spread place (15 degrees), focus hour, guarded")
    print(f"{'N':>9}{'K':>7}{'bins':>9}{'ms':>12}{'ns/candidate':>14}{'peak MiB':>11}", flush=True)
    for n, k, cells in GROWTH:
        subprocess.run([sys.executable, "-m", "benchmarks.latency", "--grow", f"{n},{k},{cells}"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no growth table")
    parser.add_argument("--install", action="store_true", help="also install the package and measure its size")
    parser.add_argument("--grow", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.grow:
        n, k, cells = (int(part) for part in options.grow.split(","))
        grow(n, k, cells)
        return
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"{platform.machine()}, {versions}, kernel {native.description()}")
    print(f"N={N}, K={K}, one thread, binning included; medians\n")
    print(f"{'':<46}{'beside':<26}{'theirs':>9}{'ours':>9}{'':>4}{'ratio':>8}")
    rounds = 5 if options.quick else 15
    one_call(rounds)
    records(rounds)
    one_query_of_a_corpus(rounds)
    batches(rounds)
    constraints(rounds)
    explain(rounds)
    fresh_process()
    if options.install:
        install_size()
    if not options.quick:
        growth()


if __name__ == "__main__":
    main()
