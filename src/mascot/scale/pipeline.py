"""Runners of the stages of indexing: this process, or a Ray cluster with Ray Data pipelines."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from mascot.errors import MascotError
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.limits import Limits
from mascot.scale.stages import Bad, Encode, Order, Row, Seen, read_pictures
from mascot.scale.workers import Ledger, LostBatch, Stage, Worker, answers, first_paths

_In = TypeVar("_In")
_Out = TypeVar("_Out")
_Pipeline = Callable[[Any, int, bool], Any]  # takes a dataset, its number of batches, and whether they are single files

_BATCH = 32  # photographs encoded together
_HEADERS = 256  # files looked at by one task
_WINDOW = 1 << 17  # photographs in one pipeline, so that its plan stays small
_SHARE = 0.5  # of a core: readers wait for disks, and encoders on all cores must leave room for them
_RETRIES = 2  # of a batch whose worker died, then of each of its files
_MOST_LOST = 16  # batches, or single files, that a pipeline may lose


class Runner(Protocol):
    """Runs stages over many items; results are in any order."""

    def each(self, stage: Callable[[Sequence[Seen]], list[_Out]], files: Iterable[Seen]) -> Iterator[_Out | Bad]:
        """Run a stateless stage."""

    def encode(
        self, orders: Iterable[Order], limits: Limits, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read and encode."""


class LocalRunner:
    """This process, batch by batch."""

    def each(self, stage: Callable[[Sequence[Seen]], list[_Out]], files: Iterable[Seen]) -> Iterator[_Out | Bad]:
        """Run a stateless stage."""
        for batch in _batches(files, _HEADERS):
            yield from stage(batch)

    def encode(
        self, orders: Iterable[Order], limits: Limits, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read and encode."""
        encode = Encode(encoder, device, fingerprint)
        for batch in _batches(orders, _BATCH):
            yield from encode(read_pictures(batch, limits))


class RayRunner:
    """A Ray cluster. The batch of a dead worker is retried by another; a file that kills every worker is bad.

    Parameters
    ----------
    ray
        The module, connected.
    workers
        Number of encoders (default: one for each GPU, else one for each core).
    """

    def __init__(self, ray: Any, workers: int | None = None) -> None:
        self._ray = ray
        resources = ray.cluster_resources()
        self._gpus = int(resources.get("GPU", 0))
        self._workers = workers
        self._cores = max(1, int(resources.get("CPU", 1)))
        self._ledger = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Ledger).remote()
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)

    def each(self, stage: Callable[[Sequence[Seen]], list[_Out]], files: Iterable[Seen]) -> Iterator[_Out | Bad]:
        """Run a stateless stage."""
        opener = self._pickled(lambda: stage)
        return self._all(files, _HEADERS, lambda dataset, *_: self._in_tasks(dataset, opener))

    def encode(
        self, orders: Iterable[Order], limits: Limits, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Encode in a pool of actors. Where they use GPUs, CPU tasks read for them."""
        on_gpu = self._gpus > 0 and device != "cpu"
        workers = self._workers or (self._gpus if on_gpu else self._cores)
        share = {"num_gpus": 1} if on_gpu else {"num_cpus": _SHARE}
        reading = partial(read_pictures, limits=limits)
        encoding = partial(Encode, encoder, device, fingerprint)
        reader = self._pickled(lambda: reading)
        opener = self._pickled(encoding if on_gpu else partial(_joined, reading, encoding))

        def pipeline(dataset: Any, batches: int, single_files: bool) -> Any:
            if on_gpu:
                dataset = self._in_tasks(dataset, reader)
            pool = self._ray.data.ActorPoolStrategy(
                size=min(workers, batches),
                # With one task in flight, a result is fetched before the next task can kill the worker.
                max_tasks_in_flight_per_actor=1 if single_files else None,
            )
            return dataset.map_batches(
                Worker, fn_constructor_args=("encode", opener, self._ledger, _RETRIES), compute=pool, **_BY_ROW, **share
            )

        return self._all(orders, _BATCH, pipeline)

    def _in_tasks(self, dataset: Any, opener: bytes) -> Any:
        return dataset.map_batches(Worker("read", opener, self._ledger, _RETRIES), num_cpus=_SHARE, **_BY_ROW)

    def _pickled(self, opener: Callable[[], Any]) -> bytes:
        pickled: bytes = self._ray.cloudpickle.dumps(opener)
        return pickled

    def _all(self, items: Iterable[Any], size: int, pipeline: _Pipeline) -> Iterator[Any]:
        """Yield the results of items in batches of a size; files of lost batches are retried one by one."""
        for window in _batches(items, _WINDOW):
            lost_batches = yield from self._run(list(_batches(window, size)), pipeline, single_files=False)
            batches = [[item] for batch in lost_batches for item in batch]
            killers = (yield from self._run(batches, pipeline, single_files=True)) if batches else []
            for [item] in killers:
                yield Bad(item.path, f"killed its worker {1 + _RETRIES} times: a crash, or too little memory")

    def _run(
        self, batches: Sequence[list[_In]], pipeline: _Pipeline, single_files: bool
    ) -> Generator[Any, None, list[list[_In]]]:
        """Yield the results of batches; return the batches that were lost."""
        self._ray.get(self._ledger.forget.remote())
        dataset = self._ray.data.from_items(
            [{"number": number, "items": pickle.dumps(batch)} for number, batch in enumerate(batches)],
            override_num_blocks=len(batches),  # a block is what one task gets
        )
        context = dataset.context  # its own
        context.enable_progress_bars = context.print_on_execution_start = False
        lost_batches = []
        try:
            for block in pipeline(dataset, len(batches), single_files).iter_batches(
                batch_size=None, batch_format="pyarrow"
            ):
                for number, results in answers(block):
                    if isinstance(results, LostBatch):
                        lost_batches.append(batches[number])
                    else:
                        yield from results
                if len(lost_batches) > _MOST_LOST:
                    raise _too_many_lost(lost_batches)
        except self._ray.exceptions.RayError as error:
            # The last line of Ray's traceback is the cause.
            raise MascotError(f"a worker failed: {str(error).strip().rpartition(chr(10))[2].strip()}") from None
        return lost_batches


# A row of the table is one of our batches. Ray Data needs a batch size where there are GPUs.
_BY_ROW: dict[str, Any] = {"batch_size": 1, "batch_format": "pyarrow", "zero_copy_batch": True}


def _too_many_lost(lost_batches: Sequence[Sequence[Any]]) -> MascotError:
    return MascotError(
        f"workers died at {len(lost_batches)} batches, {1 + _RETRIES} times at each: the cause is probably the encoder "
        "or too little memory, not a file; index a few without --ray to see: "
        f"{first_paths([item.path for batch in lost_batches for item in batch])}"
    )


def _joined(reading: Stage, opening: Callable[[], Stage]) -> Stage:
    encode = opening()
    return lambda orders: encode(reading(orders))


def _batches(items: Iterable[_In], size: int) -> Iterator[list[_In]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
