"""The stages that workers run on lists of files: read headers, hash, read pixels, encode."""

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
    suspect: bool = False  # an earlier run could not read it, and it has not changed since
    sidecars: tuple[Path, ...] = ()
    sidecar_state: str = ""


@dataclass(frozen=True, slots=True)
class Bad:
    """A file that gives no row, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Order:
    """A row to be made from a file."""

    file: Path
    photo: Photo  # complete but for the hash
    twin: str  # the path used for its text: its own, or that of the first file with the same content
    stamp: str

    @property
    def path(self) -> str:
        return self.photo.path


@dataclass(frozen=True, slots=True)
class PictureOrder:
    """A row whose picture is read and not yet encoded."""

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
    """Return the decoders of this process, which end with it."""
    return DecoderPool(limits)


def look(files: Sequence[Seen], limits: Limits) -> list[Photo | Bad]:
    """Return rows from the headers; pixels are decoded only of files that failed before."""
    results: dict[str, Reading | Bad] = {seen.path: _header(seen, limits) for seen in files}
    good = [seen for seen in files if isinstance(results[seen.path], Reading)]
    readings = [reading for reading in results.values() if isinstance(reading, Reading)]
    rows = photos_of([File(seen.path, seen.size, seen.mtime_ns, "") for seen in good], readings)
    return [*rows, *(bad for bad in results.values() if isinstance(bad, Bad))]


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
    """Return the path and hash of each file."""
    hashes: list[tuple[str, str] | Bad] = []
    for seen in files:
        try:
            hashes.append((seen.path, _decoders(limits).read(seen.file, lambda digest: False).hash))
        except Unreadable as error:
            hashes.append(Bad(seen.path, str(error)))
    return hashes


def read_pictures(orders: Sequence[Order], limits: Limits) -> list[PictureOrder | Bad]:
    """Return the pictures for the encoder."""
    return [_picture(order, limits) for order in orders]


def _picture(order: Order, limits: Limits) -> PictureOrder | Bad:
    try:
        decoded = _decoders(limits).read(order.file)
    except Unreadable as error:
        return Bad(order.path, str(error))
    assert decoded.reading is not None
    encoder_picture = picture(replace(order.photo, path=order.twin), decoded.reading)
    return PictureOrder(replace(order, photo=replace(order.photo, hash=decoded.hash)), encoder_picture)


class Encode:
    """An encoder, opened once for each worker."""

    def __init__(self, encoder: str | Encoder, device: str, fingerprint: str) -> None:
        self._encoder = open_encoder(encoder, device=device) if isinstance(encoder, str) else encoder
        if self._encoder.fingerprint != fingerprint:
            raise InputError(
                f"a worker's {self._encoder.name} has the fingerprint {self._encoder.fingerprint} and this process's "
                f"{fingerprint}: install the same model and packages on every machine"
            )

    def __call__(self, orders: Sequence[PictureOrder | Bad]) -> list[Row | Bad]:
        ready = [item for item in orders if isinstance(item, PictureOrder)]
        bad = [item for item in orders if isinstance(item, Bad)]
        if not ready:
            return [*bad]
        vectors = interruptible(lambda: self._encoder.pictures([item.picture for item in ready]))
        rows = [Row(item.order.photo, item.order.stamp, tokens) for item, tokens in zip(ready, vectors, strict=True)]
        return [*rows, *bad]
