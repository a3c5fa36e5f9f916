"""Who runs the stages of indexing: this process alone, or a Ray cluster as Ray Data pipelines."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from mascot.errors import MascotError
from mascot.photos.encoders.encoder import Encoder
from mascot.scale.stages import Bad, Encode, Order, Row, read

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_BATCH = 32  # photographs encoded together
_HEADERS = 256  # files looked at by one task
_WINDOW = 1 << 17  # photographs in one pipeline, so that its plan stays small
# Shares of a core. Equal, so that Ray Data joins the two where both need cores alone, and a picture never leaves the
# process that read it; halves, so that encoders for all cores would leave room for readers were they not joined.
_READING, _ENCODING = 0.5, 0.5


class Runner(Protocol):
    """Runs stages over many items; results come in any order."""

    def each(self, stage: Callable[[Sequence[_In]], list[_Out]], items: Sequence[_In]) -> Iterator[_Out]:
        """A stage without memory."""

    def encode(
        self, orders: Sequence[Order], max_megapixels: float, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read and encode."""


class Here:
    """This process, batch by batch."""

    def each(self, stage: Callable[[Sequence[_In]], list[_Out]], items: Sequence[_In]) -> Iterator[_Out]:
        for some in _batches(items, _HEADERS):
            yield from stage(some)

    def encode(
        self, orders: Sequence[Order], max_megapixels: float, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read and encode."""
        if not orders:
            return
        encode = Encode(encoder, device, fingerprint)
        for some in _batches(orders, _BATCH):
            yield from encode(read(some, max_megapixels))


class OnRay:
    """A cluster. What a dead worker had in hand is done again by another.

    Parameters
    ----------
    ray
        The module, connected.
    workers
        Encoders at once; one for each GPU, else for each core, unless given.
    """

    def __init__(self, ray: Any, workers: int | None = None) -> None:
        self._ray = ray
        there = ray.cluster_resources()
        self._gpus = int(there.get("GPU", 0))
        self._workers = workers
        self._cores = max(1, int(there.get("CPU", 1)))
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)

    def each(self, stage: Callable[[Sequence[_In]], list[_Out]], items: Sequence[_In]) -> Iterator[_Out]:
        """A stage without memory."""
        for some in _batches(items, _WINDOW):
            dataset = self._dataset(some, _HEADERS)
            yield from self._run(dataset.map_batches(_Lifted(stage), **_WHOLE, num_cpus=_READING))

    def encode(
        self, orders: Sequence[Order], max_megapixels: float, encoder: str | Encoder, device: str, fingerprint: str
    ) -> Iterator[Row | Bad]:
        """Read on any core, encode in a pool of actors."""
        on_gpu = self._gpus > 0 and device != "cpu"
        workers = self._workers or (self._gpus if on_gpu else self._cores)
        share = {"num_gpus": 1} if on_gpu else {"num_cpus": _ENCODING}
        for some in _batches(orders, _WINDOW):
            pool = self._ray.data.ActorPoolStrategy(size=max(1, min(workers, -(-len(some) // _BATCH))))
            dataset = self._dataset(some, _BATCH).map_batches(
                _Lifted(_Reading(max_megapixels)), **_WHOLE, num_cpus=_READING
            )
            arguments = (encoder, device, fingerprint)
            yield from self._run(
                dataset.map_batches(_LiftedEncode, fn_constructor_args=arguments, compute=pool, **_WHOLE, **share)
            )

    def _dataset(self, items: Sequence[Any], size: int) -> Any:
        """A block for each batch: a block is what one task gets."""
        return self._ray.data.from_items(
            [{"item": pickle.dumps(some)} for some in _batches(items, size)],
            override_num_blocks=max(1, -(-len(items) // size)),
        )

    def _run(self, dataset: Any) -> Iterator[Any]:
        for block in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from _items(block)


_WHOLE: dict[str, Any] = {"batch_size": None, "batch_format": "pyarrow", "zero_copy_batch": True}


@dataclass(frozen=True, slots=True)
class _Refused:
    """What a worker refused to do; Ray would tell of it as of an accident, in a page of its own frames."""

    error: MascotError


def _items(table: Any) -> list[Any]:
    items = [item for block in table["item"].to_pylist() for item in pickle.loads(block)]
    for item in items:
        if isinstance(item, _Refused):
            raise item.error
    return items


def _table(items: Sequence[Any]) -> Any:
    import pyarrow

    # Large: pictures of one batch may pass two gigabytes, where the offsets of plain binary end.
    return pyarrow.table({"item": pyarrow.array([pickle.dumps(items, 5)], pyarrow.large_binary())})


class _Lifted:
    """A stage over tables of one column, whose cells are pickled lists."""

    def __init__(self, stage: Callable[[Sequence[Any]], list[Any]]) -> None:
        self._stage = stage
        self.__name__ = getattr(stage, "__name__", type(stage).__name__.strip("_").lower())

    def __call__(self, table: Any) -> Any:
        try:
            return _table(self._stage(_items(table)))
        except MascotError as error:
            return _table([_Refused(error)])


class _Reading:
    def __init__(self, max_megapixels: float) -> None:
        self._max_megapixels = max_megapixels

    def __call__(self, orders: Sequence[Order]) -> list[Any]:
        return [*read(orders, self._max_megapixels)]


class _LiftedEncode(_Lifted):
    def __init__(self, encoder: str | Encoder, device: str, fingerprint: str) -> None:
        super().__init__(self._encode)
        self._open = partial(Encode, encoder, device, fingerprint)

    @cached_property
    def _opened(self) -> Encode:
        return self._open()

    def _encode(self, shown: Sequence[Any]) -> list[Any]:
        return [*self._opened(shown)]


def _batches(items: Sequence[_In], size: int) -> Iterator[list[_In]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
