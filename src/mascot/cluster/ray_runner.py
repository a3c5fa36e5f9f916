"""Run the stages of indexing on a Ray cluster: actors work on batches that this process distributes.

A crash ends the process of a worker. Ray starts it again and retries its batches; a batch that kills it too often is
taken apart, and its files are tried one by one.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache, partial
from typing import Any

from mascot.cluster.connection import cluster
from mascot.errors import MascotError
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.indexing.stages import Order, Stage, Unread, in_batches

_Work = Callable[[Sequence[Any]], list[Any]]

_WINDOW = 1 << 17  # files that are in memory at once
_SHARE = 0.5  # of a core per actor: readers wait for disks, and encoders must leave room for them
_READERS = 2  # threads of a worker that read files
_AHEAD = 2  # batches that an actor has at once: while it works on one, the next is sent
_RETRIES = 2  # of a batch whose worker died, then of each of its files
_MOST_LOST = 16  # batches, or single files, that may be lost in one window


@contextmanager
def ray_runner(address: str, limits: Limits, device: str = "auto", workers: int | None = None) -> Iterator[RayRunner]:
    """Connect to a Ray cluster, and yield a runner on it; for `address` see `mascot.cluster.connection.cluster`.

    If encoders run on GPUs, CPU tasks read files for them. `workers` is the number of encoders (default: one for each
    GPU, or one for each core without GPUs).
    """
    with cluster(address) as ray, RayRunner(ray, limits, device, workers) as runner:
        yield runner


class RayRunner(AbstractContextManager["RayRunner"]):
    """A Ray cluster. Actors are reused from stage to stage, and end with the block; see `ray_runner`."""

    def __init__(self, ray: Any, limits: Limits, device: str, workers: int | None) -> None:
        self._ray, self._limits = ray, limits
        resources = ray.cluster_resources()
        self._gpus = 0 if device == "cpu" else int(resources.get("GPU", 0))
        self._cores = max(1, int(resources.get("CPU", 1)))
        self._encoders = workers or self._gpus or self._cores
        self._actors: dict[bool, list[Any]] = {False: [], True: []}  # without and with a GPU
        self.encoding_s = 0.0

    def __exit__(self, *_: object) -> None:
        for actor in (*self._actors[False], *self._actors[True]):
            self._ray.kill(actor)

    def run(self, stage: Stage, orders: Iterable[Order], count: int) -> Generator[list[Any], None, None]:
        """Yield the results of orders, batch by batch in the order of completion."""
        start = time.monotonic()
        for window in in_batches(orders, _WINDOW):
            lost_batches = yield from self._results(stage, list(in_batches(window, stage.batch)), _AHEAD)
            # If an actor with a single file dies, that file is to blame.
            killers = yield from self._results(stage, [[order] for batch in lost_batches for order in batch], 1)
            if killers:
                reason = f"killed its worker {1 + _RETRIES} times: a crash, or too little memory"
                yield [Unread(order, reason) for [order] in killers]
        self.encoding_s += time.monotonic() - start if stage.encodes else 0.0

    def _results(
        self, stage: Stage, batches: Sequence[list[Order]], ahead: int
    ) -> Generator[list[Any], None, list[list[Order]]]:
        """Yield the results of batches; return the batches that killed every worker that tried them."""
        on_gpu = stage.encodes and self._gpus > 0
        submit = self._submitter(stage, on_gpu)
        actors = self._actors[on_gpu]
        size = min(self._encoders if stage.encodes else self._cores, len(batches))
        actors += [self._new_actor(on_gpu) for _ in range(size - len(actors))]
        # Actors that are still starting, and how many batches each takes once it is ready, by reference.
        starting = {_ready(actor): (actor, ahead) for actor in actors[:size]}
        running: dict[Any, tuple[Any, list[Order]]] = {}  # actor and batch, by reference
        free: deque[Any] = deque()
        lost_batches: list[list[Order]] = []
        pending = deque(batches)
        while pending or running:
            while pending and free:
                actor, batch = free.popleft(), pending.popleft()
                running[submit(actor, batch)] = (actor, batch)
            [reference], _ = self._ray.wait([*running, *starting], num_returns=1)
            try:
                results = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                if reference in starting:
                    actor, _ = starting.pop(reference)
                    actors[:] = [other for other in actors if other is not actor]
                    if not (starting or running or free):
                        raise MascotError(f"a worker failed: {str(error).strip().splitlines()[-1].strip()}") from None
                    continue
                actor, batch = running.pop(reference)
                starting[_ready(actor)] = (actor, 1)
                lost_batches.append(batch)
                if len(lost_batches) > _MOST_LOST:
                    raise _too_many_lost(lost_batches) from None
                continue
            if reference in starting:
                actor, places = starting.pop(reference)
                free += [actor] * places
                continue
            if isinstance(results, MascotError):
                raise results
            free.append(running.pop(reference)[0])
            yield results
        return lost_batches

    def _new_actor(self, on_gpu: bool) -> Any:
        share = {"num_gpus": 1} if on_gpu else {"num_cpus": _SHARE}
        return self._ray.remote(max_restarts=-1, max_task_retries=_RETRIES, **share)(Worker).remote()

    def _submitter(self, stage: Stage, on_gpu: bool) -> Callable[[Any, list[Order]], Any]:
        """Return a function that gives an actor a batch, and returns the reference of its results."""
        put, pickled = self._ray.put, self._ray.cloudpickle.dumps
        # In a list, because Ray would otherwise send it with every batch.
        opener = [put(pickled(stage.open if on_gpu else partial(_whole, stage, self._limits)))]
        if not on_gpu:
            return lambda actor, batch: actor.work.remote(opener, batch)
        read = _reading(stage, self._limits)
        task = self._ray.remote(num_cpus=_SHARE, max_retries=_RETRIES)(lambda batch: _results_or_error(read, batch))
        return lambda actor, batch: actor.work.remote(opener, task.remote(batch))


def _ready(actor: Any) -> Any:
    """Return a reference that is ready when the actor has started or restarted."""
    return actor.ready.options(max_task_retries=-1).remote()


def _too_many_lost(batches: Sequence[Sequence[Order]]) -> MascotError:
    return MascotError(
        f"workers died at {len(batches)} batches, {1 + _RETRIES} times at each: the cause is probably the encoder "
        "or too little memory, not a file; to find out, index these without --ray: "
        f"{first_paths([order.path for batch in batches for order in batch])}"
    )


class Worker:
    """An actor that works on batches. Errors are returned, because Ray would add its own traceback to exceptions."""

    def ready(self) -> None:
        """Do nothing: the actor has started."""

    def work(self, opener: list[Any], items: list[Any] | MascotError) -> list[Any] | MascotError:
        """Return the results of a batch; `opener` has the reference of a pickled function that opens the work."""
        if isinstance(items, MascotError):
            return items
        return _results_or_error(lambda batch: _opened(opener[0])(batch), items)


@lru_cache(maxsize=1)
def _opened(opener: Any) -> _Work:
    import ray

    work: _Work = pickle.loads(ray.get(opener))()
    return work


def _results_or_error(work: _Work, items: Sequence[Any]) -> list[Any] | MascotError:
    try:
        return work(items)
    except MascotError as error:
        return error
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        return MascotError(f"a worker failed at {first_paths([item.path for item in items])}: {reason}")


@lru_cache(maxsize=1)
def _decoders(limits: Limits) -> DecoderPool:
    """Return the decoders of this process, which end with it."""
    return DecoderPool(limits)


def _reading(stage: Stage, limits: Limits) -> _Work:
    """Open the first part of a stage."""

    def read(orders: Sequence[Order]) -> list[Any]:
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(lambda order: stage.read(order, _decoders(limits)), orders))

    return read


def _whole(stage: Stage, limits: Limits) -> _Work:
    """Open both parts of a stage."""
    read, finish = _reading(stage, limits), stage.open()
    return lambda orders: finish(read(orders))


def first_paths(paths: Sequence[str]) -> str:
    """Return the first three paths as text, and how many more there are.

    >>> first_paths(["a.jpg"]), first_paths(["a.jpg", "b.jpg", "c.jpg", "d.jpg"])
    ("'a.jpg'", "'a.jpg', 'b.jpg', 'c.jpg' and 1 more")
    """
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(map(repr, paths[:3])) + more
