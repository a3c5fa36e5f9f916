"""Who runs the stages of indexing: this process alone, or a Ray cluster as Ray Data pipelines."""

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
from mascot.scale.stages import Bad, Encode, Order, Row, Seen, read
from mascot.scale.workers import Ledger, Lost, Stage, Worker, answers, named

_In = TypeVar("_In")
_Out = TypeVar("_Out")
_Pipeline = Callable[[Any, int, bool], Any]  # of a dataset, how many batches it has, and whether they are files alone

_BATCH = 32  # photographs encoded together
_HEADERS = 256  # files looked at by one task
_WINDOW = 1 << 17  # photographs in one pipeline, so that its plan stays small
_SHARE = 0.5  # of a core: readers wait for disks, and encoders for all cores leave room for readers
_RETRIES = 2  # of a batch whose worker died, then of each of its files alone
_LOST = 16  # batches of a pipeline that may be lost so, or files alone


class Runner(Protocol):
    """Runs stages over many items; results come in any order."""

    def each(self, stage: Callable[[Sequence[Seen]], list[_Out]], files: Iterable[Seen]) -> Iterator[_Out | Bad]:
        """A stage without memory."""

    def encode(
        self, orders: Iterable[Order], limits: Limits, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read and encode."""


class Here:
    """This process, batch by batch."""

    def each(self, stage: Callable[[Sequence[Seen]], list[_Out]], files: Iterable[Seen]) -> Iterator[_Out | Bad]:
        """A stage without memory."""
        for batch in _batches(files, _HEADERS):
            yield from stage(batch)

    def encode(
        self, orders: Iterable[Order], limits: Limits, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read and encode."""
        encode = Encode(encoder, device, fingerprint)
        for batch in _batches(orders, _BATCH):
            yield from encode(read(batch, limits))


class OnRay:
    """A cluster. What a dead worker had in hand is done again by another; a file that kills each of them is bad.

    Parameters
    ----------
    ray
        The module, connected.
    workers
        Encoders at once; one for each GPU, else for each core, unless given.
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
        """A stage without memory."""
        opener = self._pickled(lambda: stage)
        return self._all(files, _HEADERS, lambda dataset, *_: self._in_tasks(dataset, opener))

    def encode(
        self, orders: Iterable[Order], limits: Limits, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Encode in a pool of actors. Where they have GPUs, others read for them."""
        on_gpu = self._gpus > 0 and device != "cpu"
        workers = self._workers or (self._gpus if on_gpu else self._cores)
        share = {"num_gpus": 1} if on_gpu else {"num_cpus": _SHARE}
        reading = partial(read, limits=limits)
        encoding = partial(Encode, encoder, device, fingerprint)
        reader = self._pickled(lambda: reading)
        opener = self._pickled(encoding if on_gpu else partial(_joined, reading, encoding))

        def pipeline(dataset: Any, batches: int, alone: bool) -> Any:
            if on_gpu:
                dataset = self._in_tasks(dataset, reader)
            pool = self._ray.data.ActorPoolStrategy(
                size=min(workers, batches),
                # A result may die with its worker at the next task, unless that is sent only when it is here.
                max_tasks_in_flight_per_actor=1 if alone else None,
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
        """Results of items, in batches of a size; those of batches that were lost are done alone."""
        for window in _batches(items, _WINDOW):
            lost = yield from self._run(list(_batches(window, size)), pipeline, alone=False)
            alone = [[item] for batch in lost for item in batch]
            killers = (yield from self._run(alone, pipeline, alone=True)) if alone else []
            for [item] in killers:
                yield Bad(item.path, f"killed its worker {1 + _RETRIES} times: a crash, or too little memory")

    def _run(
        self, batches: Sequence[list[_In]], pipeline: _Pipeline, alone: bool
    ) -> Generator[Any, None, list[list[_In]]]:
        """Results of batches; returns those that were lost."""
        self._ray.get(self._ledger.forget.remote())
        dataset = self._ray.data.from_items(
            [{"number": number, "items": pickle.dumps(batch)} for number, batch in enumerate(batches)],
            override_num_blocks=len(batches),  # a block is what one task gets
        )
        context = dataset.context  # its own
        context.enable_progress_bars = context.print_on_execution_start = False
        lost = []
        try:
            for block in pipeline(dataset, len(batches), alone).iter_batches(batch_size=None, batch_format="pyarrow"):
                for number, results in answers(block):
                    if isinstance(results, Lost):
                        lost.append(batches[number])
                    else:
                        yield from results
                if len(lost) > _LOST:
                    raise _given_up(lost)
        except self._ray.exceptions.RayError as error:
            # Ray's page of frames says at its end what happened.
            raise MascotError(f"a worker failed: {str(error).strip().rpartition(chr(10))[2].strip()}") from None
        return lost


# A row of a table is a batch of ours. Ray Data wants a number where there are GPUs.
_BY_ROW: dict[str, Any] = {"batch_size": 1, "batch_format": "pyarrow", "zero_copy_batch": True}


def _given_up(lost: Sequence[Sequence[Any]]) -> MascotError:
    return MascotError(
        f"workers died at {len(lost)} batches, {1 + _RETRIES} times at each, so rather the encoder or too little "
        "memory is at fault than a file; index a few without --ray to see: "
        f"{named([item.path for batch in lost for item in batch])}"
    )


def _joined(reading: Stage, opening: Callable[[], Stage]) -> Stage:
    encode = opening()
    return lambda orders: encode(reading(orders))


def _batches(items: Iterable[_In], size: int) -> Iterator[list[_In]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
