"""Run a benchmark: search on the validation split, then measure on the test split, on all cores, resumably."""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from mascot.bench.choosing import Choice, choose, timed
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.grid import best, search
from mascot.bench.material import Material
from mascot.bench.measure import measure
from mascot.bench.points import Point
from mascot.bench.results import Record, Store, digest, versions
from mascot.bench.studies import Plan, studies
from mascot.bench.tasks import CLUSTERS
from mascot.kernels.parallel import cores
from mascot.methods import Clustering, KDpp, Mmr, MsDpp

_TIMED = 40  # queries timed one by one
_AT_ONCE = 24  # points in a job, unless they share work
_COSTS = {KDpp: 10.0, MsDpp: 10.0, Clustering: 40.0, Mmr: 5.0}  # of a point, with coverage as 1
_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


class Source(Protocol):
    """Where a dataset comes from: a frozen dataclass, so that a worker can load it again."""

    def load(self) -> Dataset: ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Suite:
    """A dataset of one or several seeds, and what is asked of it.

    Parameters
    ----------
    name
        As the records have it.
    sources
        The dataset of each seed.
    plan
        What is measured.
    validation, test
        How many queries of these splits; None is all of them.
    metric
        What the search maximises, a name in the summary.
    retrieval
        What HM takes for relevance, a name in the summary: ``"r@10"`` or ``"map"``.
    judged
        Column of judged clusters, for CR@k.
    extra
        Points on the test split beside the plan's.
    subsets
        Splits within the test split, to be summed up on their own.
    notes
        What tables should say: which methods or queries were left out, and why.
    """

    name: str
    sources: tuple[tuple[int, Source], ...]
    plan: Plan
    validation: int | None = 50
    test: int | None = None
    metric: str = "hm"
    retrieval: str = "r@10"
    judged: str | None = None
    extra: tuple[Point, ...] = ()
    subsets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def limit(self, split: str) -> int | None:
        return self.validation if split == "validation" else self.test


@dataclass(frozen=True, slots=True)
class Job:
    """Points of one split of one dataset, to be done by one process."""

    suite: str
    seed: int
    source: Source
    data_hash: str
    limit: int | None
    judged: str | None
    retrieval: str
    folder: Path
    points: tuple[Point, ...]
    subsets: tuple[str, ...] = ()

    def key(self, point: Point) -> dict[str, Any]:
        return {
            **point.to_dict(),
            "dataset": self.suite,
            "data_hash": self.data_hash,
            "seed": self.seed,
            "limit": self.limit,
            "versions": versions(),
        }


class Crew(Protocol):
    """Who does the jobs, inside a `with`: processes of this machine, or of a cluster."""

    def __enter__(self) -> Crew: ...

    def __exit__(self, *_: object) -> None: ...

    def each(self, jobs: Sequence[Job], width: int | None = None) -> Iterator[int]:
        """Do the jobs, at most `width` at a time, and yield how many points each had as they end."""
        ...


def run(
    suite: Suite,
    folder: Path,
    jobs: int | None = None,
    report: Callable[[str, int, int], None] | None = None,
    crew: Crew | None = None,
) -> list[Record]:
    """Run what is not there yet, and return the records of the test split, each once.

    Parameters
    ----------
    suite
        What to run.
    folder
        Where the results are, or will be.
    jobs
        Processes; all cores unless given.
    report
        Called with the stage, the points done and the points in all.
    crew
        Who does it in place of so many processes: `mascot.scale.benchmarking.RayCrew`.
    """
    store = Store(folder)
    tell = report or (lambda stage, done, total: None)
    hashes = {seed: _loaded(source).content_hash for seed, source in suite.sources}
    asked = {"dataset": suite.name, "validation": suite.validation, "test": suite.test, "n": suite.plan.n}
    store.claim(asked, hashes, suite.notes)

    def job(seed: int, source: Source, points: Sequence[Point]) -> Job:
        split = points[0].split if points else ""
        subsets = suite.subsets if split == "test" else ()
        made = Job(
            suite.name,
            seed,
            source,
            hashes[seed],
            suite.limit(split),
            suite.judged,
            suite.retrieval,
            folder,
            (),
            subsets,
        )
        # Points may differ in what nothing sees, such as the width of places where only hours are asked for.
        once: dict[str, Point] = {}
        for point in points:
            once.setdefault(digest(made.key(point)), point)
        return replace(made, points=tuple(once.values()))

    with crew or _Workers(jobs or cores()) as workers:
        looked = list(_searched(suite))
        _do([job(seed, source, looked) for seed, source in suite.sources], workers, tell, "search")
        whole = []
        for seed, source in suite.sources:
            before = job(seed, source, looked)
            records = [store.get(before.key(point)) for point in before.points]
            chosen = best(before.points, [record for record in records if record is not None], suite.metric)
            points = [*studies(suite.plan, chosen), *suite.extra]
            for split in dict.fromkeys(point.split for point in points):  # a few studies are of the validation split
                part = job(seed, source, [point for point in points if point.split == split])
                whole.append(part if split == "test" else replace(part, limit=None))
        _do(whole, workers, tell, "test")
    store.finish()
    found = [store.get(one.key(point)) for one in whole for point in one.points]
    return [record for record in found if record is not None]


def _searched(suite: Suite) -> Iterator[Point]:
    if not any("validation" in _loaded(source).splits for _, source in suite.sources):
        return
    plan = suite.plan
    yield from search(plan.labels, plan.tasks, plan.directions, plan.n, plan.search_k, plan.published)
    if plan.clusters:
        central = [label for label in plan.labels if label == "mascot"]
        yield from search(central, [CLUSTERS], plan.directions, plan.n, plan.search_k)


def _do(jobs: Sequence[Job], workers: Crew, tell: Callable[[str, int, int], None], stage: str) -> None:
    """Run the missing points of some jobs, cut into portions of shared work, the longest first."""
    total = sum(len(job.points) for job in jobs)
    portions = [portion for job in jobs for portion in _portions(_missing(job))]
    done = total - sum(len(portion.points) for portion in portions)
    tell(stage, done, total)
    # Timing comes last, when nothing else is waiting for the cores.
    quiet = [portion for portion in portions if portion.points[0].study == "runtime"]
    busy = [portion for portion in portions if portion.points[0].study != "runtime"]
    busy.sort(key=lambda portion: -_weight(portion))
    for some, width in ((busy, None), (quiet, 1)):
        for count in workers.each(some, width):
            done += count
            tell(stage, done, total)


def _missing(job: Job) -> Job:
    store = Store(job.folder)
    return replace(job, points=tuple(point for point in job.points if not store.has(job.key(point))))


def _portions(job: Job) -> Iterator[Job]:
    groups: dict[tuple[Any, ...], list[Point]] = defaultdict(list)
    for point in job.points:
        if point.study == "runtime":
            key: tuple[Any, ...] = ("runtime",)
        elif isinstance(point.method, (KDpp, MsDpp)):
            key = ("dpp", point.split, point.n, point.k, point.task.name)  # share their logarithms
        else:
            key = ("other", point.split, point.n, type(point.method).__name__, point.task.name)
        groups[key].append(point)
    for key, points in groups.items():
        size = len(points) if key[0] != "other" else _AT_ONCE
        for first in range(0, len(points), size):
            yield replace(job, points=tuple(points[first : first + size]))


def _weight(job: Job) -> float:
    """Which jobs take longest, roughly."""
    once = _COSTS.get(type(job.points[0].method), 1.0)
    return len(job.points) * once * (1.0 if job.points[0].split == "test" else 0.1)


@lru_cache(maxsize=4)
def _loaded(source: Source) -> Dataset:
    return source.load()


@lru_cache(maxsize=4)
def _material(source: Source, split: str, n: int, limit: int | None, judged: str | None) -> Material:
    return Material(_loaded(source), split, n, limit, judged)


def material_of(job: Job) -> Material:
    """What the points of a job are asked about."""
    first = job.points[0]
    return _material(job.source, first.split, first.n, job.limit, job.judged)


def _work(job: Job) -> int:
    """Choose, measure and write the points of a job; how many."""
    store = Store(job.folder)
    for point, record in records(job):
        store.put(job.key(point), record)
    return len(job.points)


def records(job: Job, chosen: Iterable[Choice] | None = None) -> Iterator[tuple[Point, Record]]:
    """The points of a job with their records; where it was `chosen` already, it is only measured."""
    first = job.points[0]
    material = material_of(job)
    known = {
        "dataset": job.suite,
        "data_hash": job.data_hash,
        "seed": job.seed,
        "retrieval": job.retrieval,
        "queries": material.queries.tolist(),
        "sizes": {
            name: {"images": len(split.images), "queries": len(split.queries)}
            for name, split in material.dataset.splits.items()
        },
        "places": material.dataset_places,
        "versions": versions(),
    }
    single = [point for point in job.points if point.study == "runtime" and point.point == "single"]
    several = [point for point in job.points if point not in set(single)]
    for point in single:
        choice = timed(point, material, _TIMED)
        asked = material.queries[: len(choice.positions)]
        few = _material(job.source, first.split, first.n, len(asked), job.judged)
        record = {
            **known,
            **point.to_dict(),
            **_sizes(point, few),
            **measure(point, choice.positions, few, job.retrieval),
            "seconds": choice.seconds,
        }
        yield point, {**record, "queries": asked.tolist()}
    for choice in choose(several, material) if chosen is None else chosen:
        point = choice.point
        measured = measure(point, choice.positions, material, job.retrieval, job.subsets)
        if choice.first_gain is not None:
            measured["per_query"]["first_gain"] = [round(float(gain), 6) for gain in choice.first_gain]
            measured["summary"]["first_gain"] = float(choice.first_gain.mean())
        yield point, {**known, **point.to_dict(), **_sizes(point, material), **measured, "seconds": choice.seconds}


def _sizes(point: Point, material: Material) -> dict[str, int]:
    """Results and candidates there were, which may be fewer than were asked for."""
    k = min(point.k, material.largest)
    short = sum(len(rows) < k for rows in material.rows)
    bare = int((~material.answered).sum())
    return {"k": k, "n": min(point.n, material.largest), "short": short, "bare": bare}


class _Workers:
    """Processes that do jobs; with a single one the caller's own process does."""

    def __init__(self, count: int) -> None:
        self._count = max(1, count)
        self._pool: ProcessPoolExecutor | None = None
        self._alive: tuple[Connection, Connection] | None = None  # workers end when the second is closed
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> _Workers:
        if self._count > 1:
            # One thread of linear algebra a process: the processes are the parallelism. Children inherit it.
            self._before = {name: os.environ.get(name) for name in _BLAS}
            os.environ.update(dict.fromkeys(_BLAS, "1"))
            context = get_context("spawn")
            self._alive = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self._count, context, initializer=_end_with, initargs=(self._alive[0],))
        return self

    def __exit__(self, *raised: object) -> None:
        if self._pool is not None and self._alive is not None:
            if any(isinstance(one, KeyboardInterrupt) for one in raised):
                self._alive[1].close()  # nobody waits for what is under way: the next run does it again
            self._pool.shutdown(cancel_futures=True)
            for end in self._alive:
                end.close()
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def each(self, jobs: Sequence[Job], width: int | None = None) -> Iterator[int]:
        """Do the jobs, at most `width` at a time, and yield how many points each had as they end."""
        if self._pool is None:
            yield from map(_work, jobs)
            return
        left = list(reversed(jobs))
        running: set[Future[int]] = set()
        while left or running:
            while left and len(running) < (width or self._count):
                with _deaf():
                    running.add(self._pool.submit(_work, left.pop()))
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that begin here do not hear Ctrl-C, which is for the one who asks; it hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(alive: Connection) -> None:
    """End this worker as soon as the parent closes its end of the pipe, or is gone, however it went."""

    def watch() -> None:
        with suppress(OSError):
            alive.poll(None)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where a signal cannot be blocked before
    threading.Thread(target=watch, daemon=True).start()
