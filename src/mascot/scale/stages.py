"""What workers do with lists of files: look at headers, hash, read pixels, encode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mascot.errors import InputError
from mascot.photos.decoding import BrokenDecoder, DecoderPool
from mascot.photos.encoders import open_encoder
from mascot.photos.encoders.encoder import Encoder, Picture
from mascot.photos.images import Unreadable
from mascot.photos.interrupts import interruptible
from mascot.photos.limits import Limits
from mascot.photos.photo import Photo
from mascot.photos.reading import File, Reading, photos_of, picture

_NO_LOOK, _NO_IMAGE = np.empty(0, np.float32), Image.new("RGB", (1, 1))


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that the walk found."""

    file: Path
    path: str  # relative to the library
    size: int
    mtime_ns: int
    suspect: bool = False  # it could not be read in its present state before
    sidecars: tuple[Path, ...] = ()
    sidecar_state: str = ""


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


@lru_cache(maxsize=1)
def _decoders(limits: Limits) -> DecoderPool:
    """This process's own; they end with it."""
    return DecoderPool(limits)


def look(files: Sequence[Seen], limits: Limits) -> list[Photo | Bad]:
    """Rows of what the headers say; pixels are decoded only where that failed before."""
    found: dict[str, Reading | Bad] = {seen.path: _header(seen, limits) for seen in files}
    good = [seen for seen in files if isinstance(found[seen.path], Reading)]
    readings = [reading for reading in found.values() if isinstance(reading, Reading)]
    rows = photos_of([File(seen.path, seen.size, seen.mtime_ns, "") for seen in good], readings)
    return [*rows, *(bad for bad in found.values() if isinstance(bad, Bad))]


def _header(seen: Seen, limits: Limits) -> Reading | Bad:
    try:
        try:
            metadata = _decoders(limits).look(seen.file, seen.suspect, seen.sidecars)
        except BrokenDecoder:
            if not seen.sidecars:
                raise
            metadata = _decoders(limits).look(seen.file, seen.suspect)
        return Reading(metadata, _NO_IMAGE, b"", _NO_LOOK)
    except Unreadable as error:
        return Bad(seen.path, str(error))


def digest(files: Sequence[Seen], limits: Limits) -> list[tuple[str, str] | Bad]:
    """Path and hash of each."""
    hashes: list[tuple[str, str] | Bad] = []
    for seen in files:
        try:
            hashes.append((seen.path, _decoders(limits).read(seen.file, lambda digest: False).hash))
        except Unreadable as error:
            hashes.append(Bad(seen.path, str(error)))
    return hashes


def read(orders: Sequence[Order], limits: Limits) -> list[Shown | Bad]:
    """The pictures an encoder sees."""
    return [_picture(order, limits) for order in orders]


def _picture(order: Order, limits: Limits) -> Shown | Bad:
    try:
        decoded = _decoders(limits).read(order.file)
    except Unreadable as error:
        return Bad(order.path, str(error))
    assert decoded.reading is not None
    seen = picture(replace(order.photo, path=order.twin), decoded.reading)
    return Shown(replace(order, photo=replace(order.photo, hash=decoded.hash)), seen)


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
        vectors = interruptible(lambda: self._encoder.pictures([item.picture for item in ready]))
        rows = [Row(item.order.photo, item.order.stamp, one) for item, one in zip(ready, vectors, strict=True)]
        return [*rows, *bad]
