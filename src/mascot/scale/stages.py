"""What workers do with lists of files: look at headers, hash, read pixels, encode."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder, Picture
from mascot.photos.images import Unreadable, open_image, upright
from mascot.photos.metadata import metadata_of
from mascot.photos.photo import Photo
from mascot.photos.reading import File, Reading, photos_of, picture

_SIDE = 512  # as `mascot.photos.reading` shows encoders
_NO_LOOK = np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that the walk found."""

    file: Path
    path: str  # relative to the library
    size: int
    mtime_ns: int
    suspect: bool = False  # it could not be read in its present state before


@dataclass(frozen=True, slots=True)
class Bad:
    """A file that gives no row, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Order:
    """A row to be made of a file."""

    file: Path
    photo: Photo  # complete but for the hash
    twin: str  # the path whose words count: its own, or that of the first file of the same content
    stamp: str

    @property
    def path(self) -> str:
        return self.photo.path


@dataclass(frozen=True, slots=True)
class Shown:
    """A row that waits for its vector."""

    order: Order
    picture: Picture

    @property
    def path(self) -> str:
        return self.order.path


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its vectors, ready to be written."""

    photo: Photo
    stamp: str
    vectors: NDArray[np.float32]  # tokens x dim


def look(files: Sequence[Seen], max_megapixels: float) -> list[Photo | Bad]:
    """Rows of what the headers say; pixels are decoded only where that failed before."""
    found: dict[str, Reading | Bad] = {seen.path: _header(seen, max_megapixels) for seen in files}
    good = [seen for seen in files if isinstance(found[seen.path], Reading)]
    readings = [reading for reading in found.values() if isinstance(reading, Reading)]
    rows = photos_of([File(seen.path, seen.size, seen.mtime_ns, "") for seen in good], readings)
    return [*rows, *(bad for bad in found.values() if isinstance(bad, Bad))]


def _header(seen: Seen, max_megapixels: float) -> Reading | Bad:
    try:
        with open_image(seen.file, max_megapixels) as image:
            reading = Reading(metadata_of(image), image, b"", _NO_LOOK)
            if seen.suspect:
                upright(image, _SIDE)
    except Unreadable as error:
        return Bad(seen.path, str(error))
    return reading


def digest(files: Sequence[Seen]) -> list[tuple[str, str] | Bad]:
    """Path and hash of each."""
    found: list[tuple[str, str] | Bad] = []
    for seen in files:
        content = _content(seen.file, seen.path)
        found.append(content if isinstance(content, Bad) else (seen.path, _hash(content)))
    return found


def read(orders: Sequence[Order], max_megapixels: float) -> list[Shown | Bad]:
    """The pictures an encoder sees."""
    return [_picture(order, max_megapixels) for order in orders]


def _picture(order: Order, max_megapixels: float) -> Shown | Bad:
    content = _content(order.file, order.path)
    if isinstance(content, Bad):
        return content
    try:
        image = open_image(content, max_megapixels)
        reading = Reading(metadata_of(image), upright(image, _SIDE), b"", _NO_LOOK)
    except Unreadable as error:
        return Bad(order.path, str(error))
    seen = picture(replace(order.photo, path=order.twin), reading)
    return Shown(replace(order, photo=replace(order.photo, hash=_hash(content))), seen)


def _content(file: Path, path: str) -> bytes | Bad:
    try:
        return file.read_bytes()
    except OSError as error:
        return Bad(path, f"cannot be read: {error.strerror or error}")


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class Encode:
    """An encoder, opened once for each worker."""

    def __init__(self, encoder: str | Encoder, device: str, fingerprint: str) -> None:
        self._encoder = open_encoder(encoder, device=device) if isinstance(encoder, str) else encoder
        if self._encoder.fingerprint != fingerprint:
            raise InputError(
                f"a worker's {self._encoder.name} has the fingerprint {self._encoder.fingerprint} and this process's "
                f"{fingerprint}: install the same model and packages on every machine"
            )

    def __call__(self, shown: Sequence[Shown | Bad]) -> list[Row | Bad]:
        ready = [item for item in shown if isinstance(item, Shown)]
        bad = [item for item in shown if isinstance(item, Bad)]
        if not ready:
            return [*bad]
        vectors = self._encoder.pictures([item.picture for item in ready])
        rows = [Row(item.order.photo, item.order.stamp, one) for item, one in zip(ready, vectors, strict=True)]
        return [*rows, *bad]
