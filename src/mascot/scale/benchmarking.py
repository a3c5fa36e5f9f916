"""The benchmark on Ray: points and blocks of queries go to the workers, records come back and are written here.

What a query's results are depends on no other query, so that a split can be chosen block by block and put together
again; it is measured whole, so that every number is the one of a local run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from mascot.bench.choosing import PointSelection, choose
from mascot.bench.datasets.dataset import Dataset, Floats, Ints
from mascot.bench.points import Point
from mascot.bench.query_set import QuerySet
from mascot.bench.results import Record, RecordStore, versions
from mascot.bench.run import Job, queries_of, records
from mascot.errors import InputError
from mascot.scale import LOCAL
from mascot.scale.cluster import cluster

_QUERIES = 100  # in a block
_RETRIES = 5  # of a task whose worker died
_AHEAD = 2  # jobs submitted for each core

_sent: dict[str, Dataset] = {}  # of this worker, by content


@dataclass(frozen=True, slots=True)
class _Sent:
    """A dataset that came to this worker from the one who asks; nobody reads a file twice."""

    data_hash: str

    def load(self) -> Dataset:
        return _sent[self.data_hash]


class _Part(QuerySet):
    """Some consecutive queries of a query set."""

    def __init__(self, whole: QuerySet, first: int, last: int) -> None:
        super().__init__(whole.dataset, whole.split, whole.n, whole.limit, whole.judged)
        rows, scores, relevant = whole._hits
        # These are cached properties; what does not depend on the queries is shared.
        self.__dict__ |= {
            "queries": whole.queries[first:last],
            "_hits": (rows[first:last], scores[first:last], relevant[first:last]),
        }


def _here(job: Job, dataset: Dataset) -> Job:
    _sent.setdefault(job.data_hash, dataset)
    return job


def _choose(job: Job, dataset: Dataset, first: int, last: int) -> list[PointSelection]:
    """What the methods of a job choose for one block of queries."""
    return list(choose(job.points, _Part(queries_of(_here(job, dataset)), first, last)))


def _measure(job: Job, dataset: Dataset, *parts: list[PointSelection]) -> list[tuple[Point, Record]]:
    """The records of a job, of blocks chosen before or of what is chosen now."""
    return list(records(_here(job, dataset), _joined(parts) if parts else None))


def _joined(parts: Sequence[list[PointSelection]]) -> Iterator[PointSelection]:
    found: dict[Point, list[PointSelection]] = {}
    for choice in chain.from_iterable(parts):
        found.setdefault(choice.point, []).append(choice)
    for point, choices in found.items():
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
    """Workers of a Ray cluster, for `mascot.bench.run.run`. A task whose worker dies is done again.

    Parameters
    ----------
    address
        `local`, `auto`, or a cluster's.
    cpus
        Cores of a local one; all unless given.
    block
        Queries chosen for by one task.
    """

    def __init__(self, address: str = LOCAL, cpus: int | None = None, block: int = _QUERIES) -> None:
        self._address, self._cpus, self._block = address, cpus, block
        self._open = ExitStack()
        self._ray: Any = None
        self._datasets: dict[str, Any] = {}  # references, by content
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> RayCrew:
        self._ray = self._open.enter_context(cluster(self._address, self._cpus))
        self._tasks = {
            function.__name__: self._ray.remote(num_cpus=1, max_retries=_RETRIES)(function)
            for function in (_choose, _measure)
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._datasets.clear()
        self._open.close()

    def each(self, jobs: Sequence[Job], width: int | None = None) -> Iterator[int]:
        """Do the jobs, at most `width` at a time, and yield how many points each had as they end."""
        at_once = width or _AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        left = list(reversed(jobs))
        running: dict[Any, Job] = {}
        while left or running:
            while left and len(running) < at_once:
                job = left.pop()
                # What is timed must not be cut, nor have a neighbour.
                running[self._submit(job, whole=width == 1)] = job
            ended, _ = self._ray.wait(list(running))
            for reference in ended:
                job = running.pop(reference)
                yield _write(job, self._ray.get(reference))

    def _submit(self, job: Job, whole: bool) -> Any:
        dataset = self._dataset(job.data_hash, job.source)
        there = replace(job, source=_Sent(job.data_hash))
        queries = 0 if whole else len(queries_of(job).queries)
        starts = range(0, queries, self._block) if queries > self._block else ()
        parts = [self._tasks["_choose"].remote(there, dataset, first, first + self._block) for first in starts]
        return self._tasks["_measure"].remote(there, dataset, *parts)

    def _dataset(self, data_hash: str, source: Any) -> Any:
        if data_hash not in self._datasets:
            self._datasets[data_hash] = self._ray.put(source.load())
        return self._datasets[data_hash]


def _write(job: Job, made: Sequence[tuple[Point, Record]]) -> int:
    store = RecordStore(job.folder)
    for point, record in made:
        if record["versions"] != versions():
            raise InputError(
                f"the cluster's workers have {record['versions']} and this process {versions()}: install the same"
            )
        store.put(job.key(point), record)
    return len(made)
