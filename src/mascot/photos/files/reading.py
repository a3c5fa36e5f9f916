"""Turn the bytes of a file into a row: pixels, metadata, names of place and time, and words for encoders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mascot.photos.encoders.describe import describe
from mascot.photos.encoders.encoder import Encoder, Picture
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.images import Unreadable, open_image, shrunk, thumbnail, upright
from mascot.photos.metadata.gazetteer import City, gazetteer
from mascot.photos.metadata.look import look
from mascot.photos.metadata.metadata import Metadata, metadata_of
from mascot.photos.metadata.moments import part_of_day, season
from mascot.photos.metadata.quality import quality
from mascot.photos.metadata.sidecars import Sidecars, local_time
from mascot.photos.metadata.validate import time_in_name
from mascot.photos.photo import COLUMNS, Photo

if TYPE_CHECKING:
    from PIL.Image import Image

_METADATA = {field.name for field in fields(Metadata)} & set(COLUMNS)  # columns that come from the file itself
SIDE = 512  # longest side, in pixels, of thumbnails and of the input of encoders


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of one file."""

    metadata: Metadata
    image: Image  # upright, longest side at most 512
    thumbnail: bytes
    look: NDArray[np.float32]
    quality: float


@dataclass(frozen=True, slots=True)
class File:
    """The identity and state of a file."""

    path: str  # relative to the library
    size: int
    mtime_ns: int
    hash: str
    sidecars: str = ""  # the state of its sidecars


def content_hash(path: Path) -> str:
    """Return the hash by which equal files are recognized. Raises `Unreadable`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).hexdigest()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None


def read(
    source: bytes | BinaryIO, max_megapixels: float = Limits.max_megapixels, sidecars: Sidecars | None = None
) -> Reading:
    """Decode a photograph once and return everything that the library stores. Raises `Unreadable`."""
    image = open_image(source, max_megapixels)
    metadata = metadata_of(image, sidecars)
    image = upright(image, SIDE)
    content = thumbnail(image, SIDE)
    return Reading(metadata, image, content, look(shrunk(image)), quality(content).score)


def photos_of(files: Sequence[File], readings: Sequence[Reading]) -> list[Photo]:
    """Return the rows of photographs, with the names of their places. Ids are 0 until they are stored."""
    located = [i for i, reading in enumerate(readings) if reading.metadata.lat is not None]
    points = np.array([(readings[i].metadata.lat, readings[i].metadata.lon) for i in located], np.float64)
    cities = dict(zip(located, gazetteer().nearest(*points.T), strict=True)) if located else {}
    photos = []
    for i, (file, reading) in enumerate(zip(files, readings, strict=True)):
        city = cities.get(i)
        metadata = _with_time(reading.metadata, file.path, city)
        values = {name: getattr(metadata, name) for name in _METADATA}
        values |= {"path": file.path, "size": file.size, "mtime_ns": file.mtime_ns, "hash": file.hash}
        values |= {"folder": folder_of(file.path), "city": city and city.name, "country": city and city.country}
        values |= {"season": season(metadata.taken, metadata.lat), "part_of_day": part_of_day(metadata.taken)}
        photos.append(Photo(id=0, moment=None, quality=reading.quality, **values))
    return photos


def _with_time(metadata: Metadata, path: str, city: City | None) -> Metadata:
    """Return the metadata; a missing time, as in pictures from messengers, is taken from the name or a sidecar."""
    if metadata.taken is not None:
        return metadata
    taken, offset = time_in_name(path), metadata.offset
    if taken is None and metadata.taken_utc is not None:
        taken, offset = local_time(metadata.taken_utc, city.timezone if city else None, metadata.lon)
    if taken is None:
        return metadata
    problems = tuple(problem for problem in metadata.problems if not problem.startswith("taken:"))
    return replace(metadata, taken=taken, offset=offset, problems=problems)


def picture(photo: Photo, reading: Reading) -> Picture:
    """Return a photograph as input for an encoder: its pixels, and its description in words."""
    words = describe(
        title=photo.title,
        caption=photo.caption,
        keywords=photo.keywords,
        path=photo.path,
        city=photo.city,
        country=gazetteer().country_name(photo.country) if photo.country else None,
        season=photo.season,
        part_of_day=photo.part_of_day,
    )
    return Picture(reading.image, words)


def query_vector(encoder: Encoder, text: str | None, like: str | os.PathLike[str] | None = None) -> NDArray[np.float32]:
    """Return the query vector of a text, or else of the photograph in a file. Raises `Unreadable`."""
    if text is not None:
        return encoder.texts([text])[0]
    path = Path(like or "")
    reading = read_file(path)
    photo = photos_of([File(path.name, 0, 0, "")], [reading])[0]
    mean = encoder.pictures([picture(photo, reading)])[0].mean(axis=0)
    return mean / max(float(np.linalg.norm(mean)), 1e-12)


def read_file(path: Path, limits: Limits | None = None) -> Reading:
    """Decode a photograph outside the library, in another process. Raises `Unreadable`."""
    from mascot.photos.files.decoder_pool import DecoderPool

    try:
        with DecoderPool(limits or Limits()) as decoders:
            return decoders.read(path)
    except Unreadable as error:
        separator = " " if str(error).startswith("cannot be read") else ": "
        raise Unreadable(f"{path}{separator}{error}") from None


def folder_of(path: str) -> str:
    """Return the folder of a path: `2019/Lisbon` of `2019/Lisbon/a.jpg`; `.` at the top."""
    return str(PurePosixPath(path).parent)
