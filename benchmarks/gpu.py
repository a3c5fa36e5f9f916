"""Microseconds per query on a GPU, in one run: `python -m benchmarks.gpu [--quick] [--tune] [--knobs] [--starts]`.

Figures are medians of timed runs after a warm-up; the device is synchronised before and after each. In every row the
numpy reference selects for some queries, too, and "differ" counts the selections that differ.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import mascot as mc
from mascot.bins import one_hot
from mascot.gpu.device_batch import DeviceBatch
from mascot.kernels import gpu
from mascot.kernels.gpu import launch, plan
from mascot.kernels.gpu.launch import DeviceQueries
from mascot.kernels.native.pack import pack_bins

N, K, QUERIES, RUNS = 200, 20, 65_536, 21
GRID, HOUR, GLOBE = mc.Place.grid(), mc.HourOfDay("hour"), mc.Place()
DIRECTIONS: dict[str, tuple[Any, Any]] = {
    "spread": (mc.spread, mc.spread),
    "focus": (mc.focus, mc.focus),
    "mixed": (mc.spread, mc.focus),
}


class Pairs:
    """The grid's bins given as explicit pairs, some 36 a row: any sparse matrix."""

    name, missing = "pairs", "last"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return GRID.membership(columns, vectors).sparse()

    def features(self, columns: Any, vectors: Any) -> Any:
        return GRID.features(columns, vectors)


class Codes:
    """`Category` without its dictionary of labels: integers below 40."""

    name, missing = "who", "last"

    def membership(self, columns: Any, vectors: Any) -> Any:
        return one_hot(np.asarray(columns["who"]), 40)

    def features(self, columns: Any, vectors: Any) -> Any:
        return np.asarray(columns["who"])[:, None].astype(float)


def world(queries: int, n: int, seed: int = 0) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(seed)
    rows = queries * n
    columns = {
        "lat": np.degrees(np.arcsin(rng.uniform(-1, 1, rows))),
        "lon": rng.uniform(-180, 180, rows),
        "hour": rng.uniform(0, 24, rows),
        "who": rng.integers(0, 40, rows),
    }
    return columns, np.ascontiguousarray(np.sort(rng.uniform(0.28, 0.45, (queries, n)), axis=1)[:, ::-1])


def median(work: Callable[[], Any], runs: int = RUNS) -> float:
    """Median seconds of a run, the device idle before and after."""
    cp = gpu.cupy()
    for _ in range(3):
        work()
    times = []
    for _ in range(runs):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        work()
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Case:
    """Wishes and a method over queries that lie on the device."""

    def __init__(
        self, asked: Sequence[Any], method: mc.Mascot, columns: dict[str, Any], scores: Any, k: int = K,
        queries: int | None = None,
    ) -> None:  # fmt: skip
        cp = gpu.cupy()
        self.asked, self.method, self.columns, self.scores, self.k = list(asked), method, columns, scores, k
        self.n = scores.shape[1]
        coverage = [wish for wish in asked if isinstance(wish, mc.Wish)]
        labels = one_hot(columns["who"], 40)
        quotas = [wish.for_k(wish.quota(labels), k) for wish in asked if not isinstance(wish, mc.Wish)]
        packed = [pack_bins(wish.bins(columns, None, scores.size)) for wish in coverage]
        self.queries = queries or len(scores)
        rows = None
        if self.queries > len(scores):  # the same rows several times over, where more would not fit the host
            turns = self.queries // len(scores)
            rows = cp.tile(cp.arange(scores.size), turns)
            scores = np.tile(scores, (turns, 1))
        weights = np.ones(len(coverage))
        task = plan.Task(
            plan.alike([plan.KernelBins.of(part, cp) for part in packed]), tuple(float(w.sign) for w in coverage),
            tuple(weights), (0,) * len(coverage), gpu.quotas_on_device(quotas), method.kernel_options(k, weights, 0.0),
        )  # fmt: skip
        self.layout = plan.plan_task(task, self.n, True, self.queries <= launch._FEW)
        self.run = gpu.launcher(task, DeviceQueries(self.queries, self.n, cp.asarray(scores), rows=rows))

    def differ(self, count: int) -> str:
        """Return how many of the first queries the reference selects differently."""
        positions, wrong = self.run().host().positions[:count], 0
        for q in range(count):
            here = slice(q * self.n, (q + 1) * self.n)
            query = mc.Candidates(self.scores[q], columns={key: part[here] for key, part in self.columns.items()})
            reference = mc.rerank(query, self.asked, self.k, self.method, backend="numpy")._selection.positions[0]
            wrong += not np.array_equal(reference[reference >= 0], positions[q][positions[q] >= 0])
        return f"{wrong}/{count}"


def resident(columns: dict[str, Any], scores: Any, runs: int, check: int) -> dict[str, float]:
    print(f"\n{QUERIES:,} queries on the device, N={N}, K={K}, 424 bins (15 degrees, 1.5 h), float64")
    print(f"{'':<34}{'us/query':>10}{'bar':>7}{'million/s':>11}{'differ':>10}")
    took = {}
    for title, method in (("guarded default", mc.Mascot()), ("paper, strength 0.5", mc.Mascot.paper(0.5))):
        for name, (where, when) in DIRECTIONS.items():
            case = Case([where(GRID), when(HOUR)], method, columns, scores)
            each = median(case.run, runs) / QUERIES * 1e6
            took[f"{title}, {name}"] = each
            print(
                f"{title + ', ' + name:<34}{each:>10.4f}{0.45:>7}{1 / each:>11.2f}{case.differ(check):>10}", flush=True
            )
    for title, asked in (
        ("with limit(who, 2)", [mc.spread(GRID), mc.focus(HOUR), mc.limit(Codes(), 2)]),
        ("with a share of one code", [mc.spread(GRID), mc.focus(HOUR), mc.share(Codes(), {"3": 0.3})]),
    ):
        case = Case(asked, mc.Mascot(), columns, scores)
        each = median(case.run, runs) / QUERIES * 1e6
        more = each / took["guarded default, mixed"] - 1
        print(f"{'guarded, mixed, ' + title:<42}{each:>10.4f}{more:>+8.0%}{case.differ(check):>10}", flush=True)
    return took


def bandwidth() -> float:
    """Bytes read and written per second by a large copy."""
    cp = gpu.cupy()
    a = cp.ones(1 << 28)
    b = cp.empty_like(a)

    def copy() -> None:
        b[...] = a

    return 2 * a.nbytes / median(copy, 9)


def host(columns: dict[str, Any], scores: Any, runs: int) -> None:
    cp = gpu.cupy()
    asked, method = [mc.spread(GRID), mc.focus(HOUR)], mc.Mascot()
    packed = [pack_bins(wish.bins(columns, None, scores.size)) for wish in asked]
    ptr, signs, weights = np.arange(0, scores.size + 1, N), np.array([1.0, -1.0]), np.ones(2)
    options = method.kernel_options(K, weights, 0.0)

    def arrays() -> Any:
        return gpu.select(ptr, None, scores.reshape(-1), None, None, packed, signs, weights, [0, 0], [], options)

    sources = [scores.reshape(-1), columns["lat"], columns["lon"], columns["hour"]]
    pinned = np.frombuffer(cp.cuda.alloc_pinned_memory(scores.nbytes), np.float64, scores.size)
    pinned[:] = sources[0]
    target = cp.empty(scores.size)
    bus = median(lambda: target.data.copy_from_host_async(pinned.ctypes.data, pinned.nbytes), 9) * len(sources)
    batch = mc.Batch(scores, {key: columns[key].reshape(scores.shape) for key in ("lat", "lon", "hour")})
    print(f"\nNumpy arrays in and out, {len(scores):,} queries, mixed, guarded; us/query")
    print(f"  the bus alone: 4 columns of float64 from pinned memory  {bus / len(scores) * 1e6:>9.3f}")
    print(f"  arrays in, arrays out, transfers overlapped (bar 1.5)   {median(arrays, runs) / len(scores) * 1e6:>9.3f}")
    whole = median(lambda: mc.rerank_many(batch, asked, K, backend="gpu"), max(3, runs // 5))
    print(f"  rerank_many(Batch(...)), values checked and parsed      {whole / len(scores) * 1e6:>9.3f}", flush=True)


def torch_loop(torch: Any, lat: Any, lon: Any, hour: Any, scores: Any, sign: float = 1.0) -> Any:
    """The usual vectorised loop for one query, all bins dense."""
    device = scores.device
    grid_lat = torch.linspace(-90, 90, 20, device=device, dtype=torch.float64)
    grid_lon = torch.linspace(-180, 180, 20, device=device, dtype=torch.float64)
    squared = (lat[:, None] - grid_lat)[:, :, None] ** 2 + (lon[:, None] - grid_lon)[:, None, :] ** 2
    place = torch.exp(-squared.reshape(len(lat), -1) / (2 * 15.0**2))
    apart = (hour[:, None] - torch.arange(24, device=device, dtype=torch.float64)).abs()
    clock = torch.exp(-(torch.minimum(apart, 24 - apart) ** 2) / (2 * 1.5**2))
    p = torch.cat([place, clock], dim=1)
    p = torch.where(p >= 0.01, p, 0.0)
    r = (scores - scores.min()) / (scores.max() - scores.min() + 1e-8)
    state = (p * r[:, None]).amax(dim=0)
    gone = torch.zeros(len(r), dtype=torch.bool, device=device)
    picked = []
    for _ in range(K):
        gains = 0.5 * r + sign * 0.5 * (p * state).sum(dim=1)
        best = torch.where(gone, -torch.inf, gains).argmax()
        picked.append(best)
        gone[best] = True
        state = state * (1 - p[best])
    return torch.stack(picked)


def _one(batch: Any, asked: Any, method: mc.Mascot) -> Any:
    return mc.rerank_many(batch, asked, K, method, backend="gpu").positions


def on_device(work: Callable[[], Any], times: int = 50) -> float:
    """Seconds of a launch on the device, by events around many of them, one after the other."""
    cp = gpu.cupy()
    found = []
    for _ in range(RUNS):
        first, last = cp.cuda.Event(), cp.cuda.Event()
        first.record()
        for _ in range(times):
            work()
        last.record()
        last.synchronize()
        found.append(cp.cuda.get_elapsed_time(first, last) / times / 1e3)
    return statistics.median(found)


def single(columns: dict[str, Any], scores: Any) -> None:
    cp = gpu.cupy()
    one = {key: cp.asarray(columns[key][:N].reshape(1, N)) for key in ("lat", "lon", "hour")}
    given = cp.asarray(scores[:1])
    print(f"\nOne query from device arrays to device results, N={N}, K={K}; us (bar 80)")
    print(f"  {'':<30}{'end to end':>12}{'kernel':>9}{'differ':>9}")
    for name, (where, when) in DIRECTIONS.items():
        asked = (where(GRID), when(HOUR))
        for title, method in (("guarded", mc.Mascot()), ("paper", mc.Mascot.paper(0.5))):
            batch = DeviceBatch(given, one)
            each = median(functools.partial(_one, batch, asked, method), 101)
            kernel = on_device(batch._last[-1])
            first = mc.Candidates(scores[0], columns={key: columns[key][:N] for key in one})
            reference = mc.rerank(first, asked, K, method, backend="numpy").ids
            wrong = int(_one(batch, asked, method)[0].tolist() != reference)
            print(f"  {title + ', ' + name:<30}{each * 1e6:>12.1f}{kernel * 1e6:>9.1f}{wrong:>7}/1", flush=True)
    try:
        import torch
    except ImportError:
        print("  torch is not installed: no yardstick")
        return
    lat, lon, hour, r = (torch.from_dlpack(x).reshape(-1) for x in (one["lat"], one["lon"], one["hour"], given))
    for name, sign in (("spread", 1.0), ("focus", -1.0)):
        each = median(functools.partial(torch_loop, torch, lat, lon, hour, r, sign), 21)
        print(f"  {'a torch loop on the GPU, ' + name:<30}{each * 1e6:>12.1f}", flush=True)


def shapes(columns: dict[str, Any], scores: Any, runs: int, check: int) -> None:
    print(f"\nOther attributes beside the hour, {QUERIES:,} queries, guarded (bar: Place at most 2 times the grid)")
    print(f"{'':<34}{'us/query':>10}{'times':>8}{'differ':>10}")
    few = 8192
    some = {key: part[: few * N] for key, part in columns.items()}
    for name, direction in (("spread", mc.spread), ("focus", mc.focus)):
        base = 0.0
        kinds: dict[str, Any] = {
            "Place.grid": GRID, "Place, self-scaling": GLOBE, "Category": Codes(), "sparse matrix, 36 a row": Pairs(),
        }  # fmt: skip
        for title, attribute in kinds.items():
            asked = [direction(attribute), direction(HOUR)]
            if isinstance(attribute, Pairs):
                case = Case(asked, mc.Mascot(), some, scores[:few], queries=QUERIES)
            else:
                case = Case(asked, mc.Mascot(), columns, scores)
            each = median(case.run, runs) / QUERIES * 1e6
            base = base or each
            print(f"{title + ', ' + name:<34}{each:>10.4f}{each / base:>7.2f}x{case.differ(check):>10}", flush=True)


def starts(columns: dict[str, Any], scores: Any, runs: int, check: int) -> None:
    """What the three runs of a focus cost beside a single one."""
    print("\nA focus in three runs (the default) beside one run, 8,192 queries, guarded; us/query (bar: 3 times)")
    print(f"{'':<34}{'one run':>10}{'three':>10}{'times':>8}{'differ':>10}")
    few = 8192
    some = {key: part[: few * N] for key, part in columns.items()}
    cases: dict[str, list[Any]] = {
        "grid": [GRID], "hour": [HOUR], "grid + hour": [GRID, HOUR], "place": [GLOBE], "place + hour": [GLOBE, HOUR],
        "label": [Codes()],
    }  # fmt: skip
    for name, attributes in cases.items():
        asked = [mc.focus(attribute) for attribute in attributes]
        one, several = (Case(asked, method, some, scores[:few]) for method in (mc.Mascot(starts=0), mc.Mascot()))
        first, second = (median(case.run, runs) / few * 1e6 for case in (one, several))
        differ = several.differ(check)
        print(f"{name:<34}{first:>10.4f}{second:>10.4f}{second / first:>7.2f}x{differ:>10}", flush=True)


def scaling(runs: int, check: int) -> None:
    print("\nScaling: spread place, focus hour, guarded; us/query (queries x N = 1.6 million)")
    print(f"{'N':>6}{'K':>6}{'bins':>7}{'us/query':>11}{'arena KiB':>11}{'threads':>9}{'differ':>9}")
    cases = [(n, 20, 20) for n in (50, 100, 200, 500, 1000, 2048)] + [(200, k, 20) for k in (5, 10, 50, 100)]
    cases += [(200, 20, cells) for cells in (10, 40, 60, 126)] + [(2048, 256, 20)]
    for n, k, cells in cases:
        queries = max(264, 1_638_400 // n)
        columns, scores = world(queries, n, seed=n)
        case = Case([mc.spread(mc.Place.grid(cells=cells)), mc.focus(HOUR)], mc.Mascot(), columns, scores, k)
        each = median(case.run, runs) / queries * 1e6
        layout = case.layout
        where = f"{layout.size / 1024:.1f}" + ("*" if layout.slab else "")
        bins = cells * cells + 24
        print(f"{n:>6}{k:>6}{bins:>7}{each:>11.4f}{where:>11}{layout.threads:>9}{case.differ(check):>9}", flush=True)
    print("* the arena is in global memory")


def tune(columns: dict[str, Any], scores: Any, runs: int) -> None:
    """Time `Place` with several numbers of threads per query: the constant is `plan._GLOBE_THREADS`."""
    print(f"\nThreads per query for Place, self-scaling, {QUERIES:,} queries, guarded; us/query")
    chosen = plan._GLOBE_THREADS
    for threads in (64, 96, 128, 192, 256):
        plan._GLOBE_THREADS = threads
        times = [
            median(Case([direction(GLOBE), direction(HOUR)], mc.Mascot(), columns, scores).run, runs) / QUERIES * 1e6
            for direction in (mc.spread, mc.focus)
        ]
        print(f"{threads:>6}{times[0]:>10.4f} spread{times[1]:>10.4f} focus", flush=True)
    plan._GLOBE_THREADS = chosen


# What each knob of `Config` is set to in order to turn it off. The record of the plan stays the same.
KNOBS: dict[str, dict[str, int]] = {
    "EAGER: evaluate all candidates in every step": {"EAGER": 0},
    "HELD_BINS: bins of lines in registers": {"HELD_BINS": 0},
    "LANES: several threads per candidate": {"LANES": 1},
    "PER_THREAD: unrolled loops over candidates": {"PER_THREAD": 64},
    "COLUMNS: as many as the grid needs": {"COLUMNS": 8},
    "BLOCKS: fewer registers for more blocks": {"BLOCKS": 1},
    "SPREAD, FOCUS: directions known": {"SPREAD": -1, "FOCUS": -1},
    "ATTRIBUTES, SHAPES: shapes known": {"ATTRIBUTES": -1},
    "KEEP, NEUTRAL, ...: code left out": dict.fromkeys(
        ("KEEP", "NEUTRAL", "QUERY_WEIGHT", "ROBUST", "BALANCE", "QUOTAS", "STARTS"), 1
    ),
}


def configuration(layout: plan.KernelPlan) -> dict[str, str]:
    return dict(name.split("=", 1) for name in layout.names)


@contextmanager
def configured(values: Mapping[str, int]) -> Iterator[None]:
    """Compile kernels with these members of `Config` instead of those that `plan_task` chooses."""

    def plan_task(*arguments: Any) -> plan.KernelPlan:
        layout = plan.plan_task(*arguments)
        config = configuration(layout) | {name: str(value) for name, value in values.items()}
        return replace(layout, names=tuple(f"{name}={value}" for name, value in config.items()))

    with mock.patch.object(launch, "plan_task", plan_task):
        yield


def knobs(columns: dict[str, Any], scores: Any, runs: int, check: int) -> None:
    """Time each knob on and off, in turns; a ratio above 1 says that the kernel is slower without the knob."""
    guarded, paper = mc.Mascot(), mc.Mascot.paper(0.5)
    one, few = {key: part[:N] for key, part in columns.items()}, 8192
    some = {key: part[: few * N] for key, part in columns.items()}
    cases: dict[str, Callable[[], Case]] = {
        "guarded, mixed": lambda: Case([mc.spread(GRID), mc.focus(HOUR)], guarded, columns, scores),
        "paper, focus": lambda: Case([mc.focus(GRID), mc.focus(HOUR)], paper, columns, scores),
        "Place, spread": lambda: Case([mc.spread(GLOBE), mc.spread(HOUR)], guarded, columns, scores),
        "sparse matrix, spread": lambda: Case([mc.spread(Pairs()), mc.spread(HOUR)], guarded, some, scores[:few]),
        "one query, guarded, mixed": lambda: Case([mc.spread(GRID), mc.focus(HOUR)], guarded, one, scores[:1]),
        "one query, paper, focus": lambda: Case([mc.focus(GRID), mc.focus(HOUR)], paper, one, scores[:1]),
    }
    print(f"{'':<52}{'on, us':>10}{'off, us':>10}{'off / on':>10}{'differ':>9}")
    for title, make in cases.items():
        print(title, flush=True)
        case = make()
        chosen = configuration(case.layout)
        for knob, values in KNOBS.items():
            if all(chosen[name] == str(value) for name, value in values.items()):
                continue  # this case does not use the knob
            with configured(values):
                without = make()
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(3):
                for work, seconds in zip((case.run, without.run), times, strict=True):
                    seconds.append(median(work, runs) / case.queries * 1e6)
            on, off = map(statistics.median, times)
            wrong = without.differ(min(check, len(without.scores)))
            print(f"  {knob:<50}{on:>10.4f}{off:>10.4f}{off / on:>10.3f}{wrong:>9}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs, no scaling table")
    parser.add_argument("--tune", action="store_true", help="only compare numbers of threads per query for Place")
    parser.add_argument("--starts", action="store_true", help="only compare a focus in three runs with one run")
    parser.add_argument("--knobs", action="store_true", help="only compare every tuning knob of the kernel on and off")
    options = parser.parse_args()
    cp = gpu.cupy()
    properties = cp.cuda.runtime.getDeviceProperties(0)
    runs, check = (5, 20) if options.quick else (RUNS, 200)
    driver, runtime = cp.cuda.runtime.driverGetVersion(), cp.cuda.runtime.runtimeGetVersion()
    versions = f"CuPy {cp.__version__}, CUDA {runtime} on driver API {driver}, numpy {np.__version__}"
    print(f"{properties['name'].decode()}, {versions}")
    columns, scores = world(QUERIES, N)
    if options.tune:
        tune(columns, scores, runs)
        return
    if options.starts:
        starts(columns, scores, runs, check // 2)
        return
    if options.knobs:
        knobs(columns, scores, runs, check // 10)
        return
    took = resident(columns, scores, runs, check)
    moved = 4 * 8 * N + 2 * 4 * K + 8 * 8  # scores and three columns in, positions twice and eight numbers out
    copy, rate = bandwidth(), moved / took["guarded default, spread"] * 1e6
    print(
        f"device memory moved: {moved:,} bytes a query, {rate / 1e9:,.0f} GB/s of {copy / 1e9:,.0f} that a copy reaches"
    )
    single(columns, scores)
    host(columns, scores, runs)
    shapes(columns, scores, runs, check // 2)
    starts(columns, scores, runs, check // 2)
    if not options.quick:
        scaling(runs, 5)


if __name__ == "__main__":
    main()
