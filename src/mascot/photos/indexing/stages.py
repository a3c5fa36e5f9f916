"""The stages of indexing, and the runner of this process.

Each stage has two parts. The first reads one file, in a thread or a worker; the second makes the results of a batch.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mascot.errors import InputError
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import BrokenDecoder, DecoderPool
from mascot.photos.files.images import Unreadable
from mascot.photos.files.reading import File, Reading, content_hash, photos_of, picture
from mascot.photos.files.walk import PictureFile
from mascot.photos.photo import Photo

T = TypeVar("T")
Finish = Callable[[Sequence[Any]], list[Any]]  # the second part of a stage

_FIRST = 8  # files of the first batch, so that the progress bar moves soon
_WORKER_FILES = 8  # another worker is started per this many files: starting it takes as long as reading them
_EMPTY, _NO_IMAGE = np.empty(0, np.float32), Image.new("RGB", (1, 1))


@dataclass(frozen=True, slots=True)
class Order:
    """A file to read, and the values of its row that do not come from the file."""

    source: PictureFile
    path: str  # its name in the index
    words_path: str  # the path whose words describe it
    stamp: str = ""
    moment: str | None = None
    checks_pixels: bool = False  # decode the pixels too: an earlier run could not, although the header was sound

    def file(self, digest: str) -> File:
        """Return the identity of the file, with the hash of its content."""
        return File(self.path, self.source.size, self.source.mtime_ns, digest, self.source.sidecar_state)


@dataclass(frozen=True, slots=True)
class OrderResult:
    order: Order

    @property
    def path(self) -> str:
        return self.order.path


@dataclass(frozen=True, slots=True)
class Unread(OrderResult):
    """A file that gives no row, and why."""

    reason: str
    is_broken: bool = False  # it breaks its decoder, so it is not tried again until it changes


@dataclass(frozen=True, slots=True)
class Hashed(OrderResult):
    """A file that was hashed but not decoded."""

    hash: str


@dataclass(frozen=True, slots=True)
class ReadFile(OrderResult):
    """A file that is read but not encoded."""

    hash: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class IndexRow(OrderResult):
    """A complete row, or the values of a header alone."""

    photo: Photo
    thumbnail: bytes
    look: NDArray[np.float32]
    vectors: NDArray[np.float32]  # tokens x dim


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the pipeline that every file goes through."""

    read: Callable[[Order, DecoderPool], Any]
    open: Callable[[], Finish]
    batch: int
    encodes: bool = False


def read_header(order: Order, decoders: DecoderPool) -> ReadFile | Unread:
    try:
        metadata = decoders.look(order.source.path, order.checks_pixels, order.source.sidecars)
    except Unreadable as error:
        return Unread(order, str(error))
    return ReadFile(order, "", Reading(metadata, _NO_IMAGE, b"", _EMPTY, None))


def read_picture(
    order: Order, decoders: DecoderPool, wants: Callable[[Order, str], bool], broken: dict[str, str]
) -> ReadFile | Hashed | Unread:
    """Hash a file, and decode it if its content is wanted.

    `broken` has the reasons, by hash, of contents that broke a decoder; they are not tried again.
    """
    try:
        digest = content_hash(order.source.path)
        if digest not in broken and not wants(order, digest):
            return Hashed(order, digest)
        if digest not in broken:
            return ReadFile(order, digest, decoders.read(order.source.path, order.source.sidecars))
    except BrokenDecoder as error:
        broken[digest] = str(error)
    except Unreadable as error:
        return Unread(order, str(error))
    return Unread(order, broken[digest], is_broken=True)


def interruptible(call: Callable[[], T]) -> T:
    """Run `call` in another thread: Ctrl-C interrupts the waiting main thread at once, even if native code computes.

    An interrupted call continues in the background, and its result is discarded.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not reach it
        return call()
    pool = ThreadPoolExecutor(1, "mascot-interruptible")
    try:
        return pool.submit(call).result()
    finally:
        pool.shutdown(wait=False)


def make_rows(items: Sequence[Any], encoder: Encoder | None = None) -> list[Any]:
    """Make rows of files that were read, without vectors if there is no encoder; return them and the other items."""
    reads = [item for item in items if isinstance(item, ReadFile)]
    photos = photos_of([item.order.file(item.hash) for item in reads], [item.reading for item in reads])
    vectors: Sequence[NDArray[np.float32]] = [_EMPTY] * len(reads)
    if encoder is not None and reads:
        pictures = [
            picture(replace(photo, path=item.order.words_path), item.reading)
            for item, photo in zip(reads, photos, strict=True)
        ]
        vectors = list(interruptible(partial(encoder.pictures, pictures)))
    results = [item for item in items if not isinstance(item, ReadFile)]
    for item, photo, tokens in zip(reads, photos, vectors, strict=True):
        row = replace(photo, moment=item.order.moment)
        results.append(IndexRow(item.order, row, item.reading.thumbnail, item.reading.look, tokens))
    return results


def encode_with(encoder: str | Encoder, device: str = "auto", fingerprint: str | None = None) -> Finish:
    """Return `make_rows` with an encoder. One given by its name is opened here, and must have this fingerprint."""
    model = open_encoder(encoder, device=device)
    if fingerprint not in (None, model.fingerprint):
        raise InputError(
            f"{model.name} has the fingerprint {model.fingerprint} on a worker, and {fingerprint} "
            "in this process: install the same model and packages on every machine"
        )
    return partial(make_rows, encoder=model)


HEADERS = Stage(read_header, lambda: make_rows, 256)


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
