"""From a file's bytes to a row: pixels, metadata, names of place and time, and the words an encoder may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mascot.photos import names
from mascot.photos.encoders.describe import describe
from mascot.photos.encoders.encoder import Picture
from mascot.photos.gazetteer import City, gazetteer
from mascot.photos.images import Unreadable, open_image, shrunk, thumbnail, upright
from mascot.photos.limits import Limits
from mascot.photos.look import look
from mascot.photos.metadata import Metadata, metadata_of
from mascot.photos.photo import Photo
from mascot.photos.seasons import part_of_day, season
from mascot.photos.sidecars import Sidecars, local_time

if TYPE_CHECKING:
    from PIL.Image import Image

MEGAPIXELS = Limits().max_megapixels
SIDE = 512  # longest side, in pixels, of thumbnails and of what encoders see


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file holds."""

    metadata: Metadata
    image: Image  # upright, longest side at most 512
    thumbnail: bytes
    look: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class File:
    """Which file it is, and in which state."""

    path: str  # relative to the library
    size: int
    mtime_ns: int
    hash: str
    sidecars: str = ""  # the state of its sidecars


def read(source: bytes | BinaryIO, max_megapixels: float = MEGAPIXELS, sidecars: Sidecars | None = None) -> Reading:
    """Decode a photograph once and take from it all that the library stores. Raises `Unreadable`."""
    image = open_image(source, max_megapixels)
    metadata = metadata_of(image, sidecars)
    image = upright(image, SIDE)
    return Reading(metadata, image, thumbnail(image, SIDE), look(shrunk(image)))


def photos_of(files: Sequence[File], readings: Sequence[Reading]) -> list[Photo]:
    """Rows for photographs just read, with the names of their places. Ids are 0 until they are stored."""
    placed = [i for i, reading in enumerate(readings) if reading.metadata.lat is not None]
    points = np.array([(readings[i].metadata.lat, readings[i].metadata.lon) for i in placed], np.float64)
    cities = dict(zip(placed, gazetteer().nearest(*points.T), strict=True)) if placed else {}
    photos = []
    for i, (file, reading) in enumerate(zip(files, readings, strict=True)):
        city = cities.get(i)
        known = _dated(reading.metadata, file.path, city)
        photos.append(
            Photo(
                id=0,
                path=file.path,
                folder=folder_of(file.path),
                size=file.size,
                mtime_ns=file.mtime_ns,
                hash=file.hash,
                width=known.width,
                height=known.height,
                lat=known.lat,
                lon=known.lon,
                altitude=known.altitude,
                taken=known.taken,
                offset=known.offset,
                camera=known.camera,
                lens=known.lens,
                title=known.title,
                caption=known.caption,
                keywords=known.keywords,
                rating=known.rating,
                city=city.name if city else None,
                country=city.country if city else None,
                season=season(known.taken, known.lat),
                part_of_day=part_of_day(known.taken),
                moment=None,
                problems=known.problems,
            )
        )
    return photos


def _dated(metadata: Metadata, path: str, city: City | None) -> Metadata:
    """Where the file has no time, as with pictures that came through a messenger: that of its name, or of a sidecar."""
    if metadata.taken is not None:
        return metadata
    named, offset = names.moment(PurePosixPath(path).name), metadata.offset
    if named is not None:
        taken = named.clock
    elif metadata.taken_utc is not None:
        taken, offset = local_time(metadata.taken_utc, city.timezone if city else None, metadata.lon)
    else:
        return metadata
    problems = tuple(problem for problem in metadata.problems if not problem.startswith("taken:"))
    return replace(metadata, taken=taken, offset=offset, problems=problems)


def says_when(path: str) -> str | None:
    """The time in a file's name, as a row would have it."""
    moment = names.moment(PurePosixPath(path).name)
    return None if moment is None else moment.clock.isoformat()


def picture(photo: Photo, reading: Reading) -> Picture:
    """A photograph as an encoder sees it: its pixels, and what is known of it without looking."""
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


def look_of_file(path: Path, limits: Limits | None = None) -> NDArray[np.float32]:
    """The visual descriptor of a photograph outside the library. Raises `Unreadable`."""
    return _reading_of_file(path, limits).look


def picture_of_file(path: Path, limits: Limits | None = None) -> Picture:
    """A photograph outside the library, as an encoder sees it. Raises `Unreadable`."""
    reading = _reading_of_file(path, limits)
    photo = photos_of([File(path.name, 0, 0, "")], [reading])[0]
    return picture(photo, reading)


def _reading_of_file(path: Path, limits: Limits | None) -> Reading:
    """Decode a file in a worker process."""
    from mascot.photos.decoding import DecoderPool

    try:
        with DecoderPool(limits or Limits()) as decoders:
            reading = decoders.read(path).reading
    except Unreadable as error:
        separator = " " if str(error).startswith("cannot be read") else ": "
        raise Unreadable(f"{path}{separator}{error}") from None
    assert reading is not None
    return reading


def folder_of(path: str) -> str:
    """`2019/Lisbon` of `2019/Lisbon/a.jpg`; `.` at the top."""
    return str(PurePosixPath(path).parent)
