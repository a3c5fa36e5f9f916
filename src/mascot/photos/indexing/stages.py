"""The stages of indexing: threads read files, and make rows of the files of a batch, which are encoded together."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mascot.photos.encoders.encoder import Encoder
from mascot.photos.files.decoder_pool import BrokenDecoder, DecoderPool
from mascot.photos.files.images import Unreadable
from mascot.photos.files.reading import File, Reading, content_hash, photos_of, picture
from mascot.photos.files.walk import PictureFile
from mascot.photos.photo import Photo

T = TypeVar("T")

_FIRST = 8  # files of the first batch, so that the progress bar moves soon
_BATCH = 32  # files of the other batches, which are encoded together
_WORKER_FILES = 8  # another worker is started per this many files: starting it takes as long as reading them


@dataclass(frozen=True, slots=True)
class Order:
    """A file to read."""

    source: PictureFile
    path: str  # its name in the index
    words_path: str  # the path whose words describe it

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
    """A complete row."""

    photo: Photo
    thumbnail: bytes
    look: NDArray[np.float32]
    vectors: NDArray[np.float32]  # tokens x dim


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


def make_rows(items: Sequence[Any], encoder: Encoder) -> list[IndexRow | Hashed | Unread]:
    """Make rows of the files that were read; return them and the other items."""
    reads = [item for item in items if isinstance(item, ReadFile)]
    photos = photos_of([item.order.file(item.hash) for item in reads], [item.reading for item in reads])
    vectors: Sequence[NDArray[np.float32]] = ()
    if reads:
        pictures = [
            picture(replace(photo, path=item.order.words_path), item.reading)
            for item, photo in zip(reads, photos, strict=True)
        ]
        vectors = list(interruptible(partial(encoder.pictures, pictures)))
    results = [item for item in items if not isinstance(item, ReadFile)]
    for item, photo, tokens in zip(reads, photos, vectors, strict=True):
        results.append(IndexRow(item.order, photo, item.reading.thumbnail, item.reading.look, tokens))
    return results


def read_batches(
    read: Callable[[Order], Any], orders: Iterator[Order], count: int, decoders: DecoderPool
) -> Generator[list[Any], None, None]:
    """Yield the results of `count` orders, batch by batch in order, while threads read the next batch."""
    ahead: deque[list[Future[Any]]] = deque()
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 1 + count // _WORKER_FILES)) as pool:
        try:
            size = _FIRST
            while batch := list(islice(orders, size)):
                ahead.append([pool.submit(read, order) for order in batch])
                size = _BATCH
                if len(ahead) == 2:
                    yield [future.result() for future in ahead.popleft()]
            for futures in ahead:
                yield [future.result() for future in futures]
        except BaseException:
            decoders.close()  # or the threads would wait for what they are decoding
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of up to `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
