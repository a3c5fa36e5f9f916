"""The benchmark on Ray: workers get points and blocks of queries, and this process writes the records they return.

The results of a query do not depend on other queries, so the selections of a split can be made block by block and then
joined. They are measured as a whole, so that every number equals that of a local run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from mascot.bench.datasets.dataset import Dataset, Floats, Ints
from mascot.bench.protocol.tasks import Point
from mascot.bench.running.records import Record, RecordStore, versions
from mascot.bench.running.run import Job, queries_of, records
from mascot.bench.running.select import PointSelection, choose
from mascot.bench.running.workers import Each
from mascot.cluster import LOCAL
from mascot.cluster.connection import cluster
from mascot.errors import InputError

_QUERIES = 100  # in a block
_RETRIES = 5  # of a task whose worker died
_AHEAD = 2  # jobs submitted for each core


@dataclass(frozen=True, slots=True)
class _SentDataset:
    """A dataset that the driver sent: workers do not read files, and load equal content once."""

    data_hash: str
    dataset: Dataset = field(compare=False)

    def load(self) -> Dataset:
        return self.dataset


def _with_dataset(job: Job, dataset: Dataset) -> Job:
    return replace(job, source=_SentDataset(job.data_hash, dataset))


def _choose(job: Job, dataset: Dataset, first: int, last: int) -> list[PointSelection]:
    """Return what the methods of a job select for one block of queries."""
    queries = queries_of(_with_dataset(job, dataset))
    return list(choose(job.points, replace(queries, first=first, limit=last)))


def _measure(job: Job, dataset: Dataset, *parts: list[PointSelection]) -> list[tuple[Point, Record]]:
    """Return the records of a job, measured on the selections in `parts`, or on new ones if there are none."""
    return list(records(_with_dataset(job, dataset), _joined(parts) if parts else None))


def _joined(parts: Sequence[list[PointSelection]]) -> Iterator[PointSelection]:
    by_point: dict[Point, list[PointSelection]] = {}
    for choice in chain.from_iterable(parts):
        by_point.setdefault(choice.point, []).append(choice)
    for point, choices in by_point.items():
        positions: Ints = np.concatenate([choice.positions for choice in choices])
        times = [choice.seconds for choice in choices if choice.seconds is not None]
        weights = [len(choice.positions) for choice in choices if choice.seconds is not None]
        gains: list[Floats] = [choice.first_gain for choice in choices if choice.first_gain is not None]
        yield PointSelection(
            point,
            positions,
            float(np.average(times, weights=weights)) if times else None,
            np.concatenate(gains) if gains else None,
        )


class RayCrew:
    """Workers of a Ray cluster, for `mascot.bench.running.run.run`. A task whose worker dies is retried.

    For `address` and `cpus` see `mascot.cluster.connection.cluster`. `block` is the number of queries per task.
    """

    def __init__(self, address: str = LOCAL, cpus: int | None = None, block: int = _QUERIES) -> None:
        self._address, self._cpus, self._block = address, cpus, block
        self._open = ExitStack()
        self._ray: Any = None
        self._references: dict[str, Any] = {}  # of datasets, by content

    def __enter__(self) -> Each:
        self._ray = self._open.enter_context(cluster(self._address, self._cpus))
        as_task = self._ray.remote(num_cpus=1, max_retries=_RETRIES)
        self._choose, self._measure = as_task(_choose), as_task(_measure)
        return self._each

    def __exit__(self, *_: object) -> None:
        self._references.clear()
        self._open.close()

    def _each(self, jobs: Sequence[Job], width: int | None) -> Iterator[int]:
        """Run the jobs, at most `width` at a time, and yield the number of points of each as it ends."""
        at_once = width or _AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        pending = list(reversed(jobs))
        running: dict[Any, Job] = {}
        while pending or running:
            while pending and len(running) < at_once:
                job = pending.pop()
                # A timed job is not divided, and runs alone.
                running[self._submit(job, undivided=width == 1)] = job
            finished, _ = self._ray.wait(list(running))
            for reference in finished:
                job = running.pop(reference)
                yield _write(job, self._ray.get(reference))

    def _submit(self, job: Job, undivided: bool) -> Any:
        if job.data_hash not in self._references:
            self._references[job.data_hash] = self._ray.put(job.source.load())
        dataset = self._references[job.data_hash]
        worker_job = replace(job, source=None)
        queries = 0 if undivided else len(queries_of(job).queries)
        blocks = [(first, min(first + self._block, queries)) for first in range(0, queries, self._block)]
        parts = [self._choose.remote(worker_job, dataset, *block) for block in blocks] if len(blocks) > 1 else []
        return self._measure.remote(worker_job, dataset, *parts)


def _write(job: Job, results: Sequence[tuple[Point, Record]]) -> int:
    store = RecordStore(job.folder)
    for point, record in results:
        if record["versions"] != versions():
            raise InputError(
                f"workers have {record['versions']} and this process has {versions()}: install the same versions"
            )
        store.put(job.key(point), record)
    return len(results)
