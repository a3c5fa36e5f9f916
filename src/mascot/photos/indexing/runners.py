"""Runners of the stages of indexing; this one runs them in this process."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from itertools import islice
from typing import Any, Protocol, TypeVar

from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.indexing.stages import Order, Stage

T = TypeVar("T")

_FIRST = 8  # files of the first batch, so that the progress bar moves soon
_WORKER_FILES = 8  # another worker is started per this many files: starting it takes as long as reading them


class Runner(Protocol):
    """Runs stages over many files."""

    encoding_s: float  # seconds spent on encoding so far

    def run(self, stage: Stage, orders: Iterable[Order], count: int) -> Generator[list[Any], None, None]:
        """Yield the results of `count` orders, batch by batch, each batch in any order."""


class LocalRunner(AbstractContextManager["LocalRunner"]):
    """Runs stages in this process: threads and their decoders read the next batch while this thread encodes."""

    def __init__(self, limits: Limits) -> None:
        self._decoders = DecoderPool(limits)
        self.encoding_s = 0.0

    def __exit__(self, *_: object) -> None:
        self._decoders.close()

    def run(self, stage: Stage, orders: Iterable[Order], count: int) -> Generator[list[Any], None, None]:
        """Yield the results of `count` orders, batch by batch in order."""
        finish = stage.open()
        with closing(self._read(stage, iter(orders), count)) as batches:  # on Ctrl-C at once, to end the decoders
            for batch in batches:
                start = time.monotonic()
                results = finish(batch)
                self.encoding_s += time.monotonic() - start if stage.encodes else 0.0
                yield results

    def _read(self, stage: Stage, orders: Iterator[Order], count: int) -> Generator[list[Any], None, None]:
        ahead: deque[list[Future[Any]]] = deque()
        with ThreadPoolExecutor(min(os.cpu_count() or 1, 1 + count // _WORKER_FILES)) as pool:
            try:
                size = min(_FIRST, stage.batch)
                while batch := list(islice(orders, size)):
                    ahead.append([pool.submit(stage.read, order, self._decoders) for order in batch])
                    size = stage.batch
                    if len(ahead) == 2:
                        yield [future.result() for future in ahead.popleft()]
                for futures in ahead:
                    yield [future.result() for future in futures]
            except BaseException:
                self._decoders.close()  # or the threads would wait for what they are decoding
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of up to `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
