"""Run a benchmark: search on the validation split, then measure on the test split, on all cores, resumably."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import mascot as mc
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.methods import Clustering, KDpp, MsDpp
from mascot.bench.protocol.search_space import best, is_dpp
from mascot.bench.protocol.studies import Benchmark, searched, studies
from mascot.bench.protocol.tasks import Point
from mascot.bench.running.measure import measure
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.records import Record, RecordStore, digest, versions
from mascot.bench.running.select import PointSelection, choose, time_single
from mascot.bench.running.workers import Each, job_workers

_TIMED = 40  # queries timed one by one
_POINTS_PER_JOB = 24  # for points that share no work
_COSTS = {KDpp: 10.0, MsDpp: 10.0, Clustering: 40.0, mc.Mmr: 5.0}  # of a point, with coverage as 1


@dataclass(frozen=True, slots=True)
class Job:
    """Points of one split of one dataset, to be done by one process."""

    benchmark: Benchmark
    seed: int
    source: Any  # see `Benchmark.sources`
    data_hash: str
    folder: Path
    limit: int | None  # of the queries
    points: tuple[Point, ...]

    def key(self, point: Point) -> dict[str, Any]:
        """Return all that the result of a point depends on."""
        origin = {"dataset": self.benchmark.name, "data_hash": self.data_hash, "seed": self.seed}
        return {**point.to_dict(), **origin, "limit": self.limit, "versions": versions()}

    def stored(self) -> Iterator[tuple[Point, Record | None]]:
        """Yield the points with their records, or with None if there is no record yet."""
        store = RecordStore(self.folder)
        return ((point, store.get(self.key(point))) for point in self.points)


def run(
    benchmark: Benchmark,
    folder: Path,
    jobs: int | None = None,
    report: Callable[[str, int, int], None] | None = None,
) -> list[Record]:
    """Run the points that have no result in the folder yet, and return the records of the test split, each once.

    `jobs` is the number of processes (default: all cores). `report` is called with the stage, the number of points
    that are done, and the total.
    """
    store = RecordStore(folder)
    hashes = {seed: _loaded(source).content_hash for seed, source in benchmark.sources}
    settings = {"dataset": benchmark.name, "validation": benchmark.validation, "test": benchmark.test, "n": benchmark.n}
    store.claim(settings, hashes, benchmark.notes)
    described = replace(benchmark, sources=(), extra=())  # what is sent to a worker

    def job(seed: int, source: Any, points: Sequence[Point], limit: int | None) -> Job:
        empty = Job(described, seed, source, hashes[seed], folder, limit, ())
        # Points may differ in parameters without effect, such as the width of places in a task about hours.
        unique = {digest(empty.key(point)): point for point in reversed(points)}
        return replace(empty, points=tuple(reversed(unique.values())))

    with job_workers(do, jobs) as each:
        searched_points = list(searched(benchmark))
        searches = [job(*origin, searched_points, benchmark.validation) for origin in benchmark.sources]
        _do_all(searches, each, report, "search")
        tests = []
        for search_job in searches:
            records = [record for _, record in search_job.stored() if record is not None]
            points = [*studies(benchmark, best(search_job.points, records, benchmark.metric)), *benchmark.extra]
            for split in dict.fromkeys(point.split for point in points):  # a few studies are of the validation split
                part = [point for point in points if point.split == split]
                limit = benchmark.test if split == "test" else benchmark.validation
                tests.append(job(search_job.seed, search_job.source, part, limit))
        _do_all(tests, each, report, "test")
    store.finish()
    return [record for test in tests for _, record in test.stored() if record is not None]


def _do_all(jobs: Sequence[Job], each: Each, report: Callable[[str, int, int], None] | None, stage: str) -> None:
    """Run the missing points of jobs, cut into portions of shared work, the longest first."""
    total = sum(len(job.points) for job in jobs)
    portions = [portion for job in jobs for portion in _portions(job)]
    finished = total - sum(len(portion.points) for portion in portions)
    # Timing comes last, when nothing else is waiting for the cores.
    timed = [portion for portion in portions if portion.points[0].study == "runtime"]
    untimed = sorted((portion for portion in portions if portion not in timed), key=_cost, reverse=True)
    for counts in ((0,), each(untimed, False), each(timed, True)):
        for count in counts:
            finished += count
            if report is not None:
                report(stage, finished, total)


def _portions(job: Job) -> Iterator[Job]:
    """Yield jobs of the points that have no record yet."""
    groups: dict[tuple[Any, ...], list[Point]] = defaultdict(list)
    for point in (point for point, record in job.stored() if record is None):
        kind = "dpp" if is_dpp(point.method) else type(point.method).__name__  # DPPs share their logarithms
        key = ("runtime",) if point.study == "runtime" else (kind, point.split, point.n, point.task.name)
        groups[key].append(point)
    for key, points in groups.items():
        size = len(points) if key[0] in ("dpp", "runtime") else _POINTS_PER_JOB
        for first in range(0, len(points), size):
            yield replace(job, points=tuple(points[first : first + size]))


def _cost(job: Job) -> float:
    point_cost = _COSTS.get(type(job.points[0].method), 1.0)
    return len(job.points) * point_cost * (1.0 if job.points[0].split == "test" else 0.1)


@lru_cache(maxsize=4)
def _loaded(source: Any) -> Dataset:
    dataset: Dataset = source.load()
    return dataset


@lru_cache(maxsize=4)
def _query_set(source: Any, split: str, n: int, limit: int | None, judged: str | None) -> QuerySet:
    return QuerySet(_loaded(source), split, n, limit, judged)


def do(job: Job) -> int:
    """Choose, measure and write the points of a job; return how many they are."""
    store = RecordStore(job.folder)
    for point, record in records(job):
        store.put(job.key(point), record)
    return len(job.points)


def records(job: Job) -> Iterator[tuple[Point, Record]]:
    """Yield the points of a job with their records."""
    first = job.points[0]
    queries = _query_set(job.source, first.split, first.n, job.limit, job.benchmark.judged)
    single = [point for point in job.points if (point.study, point.point) == ("runtime", "single")]
    for point in single:
        choice = time_single(point, queries, _TIMED)
        timed = _query_set(job.source, point.split, point.n, len(choice.positions), job.benchmark.judged)
        yield point, _record(job, choice, timed, ())
    subsets = job.benchmark.subsets if job.points[0].split == "test" else ()
    batched = [point for point in job.points if point not in single]
    for choice in choose(batched, queries):
        yield choice.point, _record(job, choice, queries, subsets)


def _record(job: Job, choice: PointSelection, queries: QuerySet, subsets: Sequence[str]) -> Record:
    point, retrieval = choice.point, job.benchmark.retrieval
    measured = measure(point, choice.positions, queries, retrieval, subsets)
    if choice.first_gain is not None:
        measured["per_query"]["first_gain"] = [round(float(gain), 6) for gain in choice.first_gain]
        measured["summary"]["first_gain"] = float(choice.first_gain.mean())
    splits = queries.dataset.splits.items()
    k = min(point.k, queries.largest)
    record = {
        **point.to_dict(),
        "dataset": job.benchmark.name,
        "data_hash": job.data_hash,
        "seed": job.seed,
        "retrieval": retrieval,
        "queries": queries.queries.tolist(),
        "sizes": {name: {"images": len(split.images), "queries": len(split.queries)} for name, split in splits},
        "places": queries.dataset_places,
        "versions": versions(),
        # The actual numbers of results and candidates, which may be smaller than requested.
        "k": k,
        "n": min(point.n, queries.largest),
        "short": sum(len(rows) < k for rows in queries.rows),
        "bare": int((~queries.answered).sum()),
        **measured,
        "seconds": choice.seconds,
    }
    return cast(Record, record)
