"""The metadata of a photograph, from its file and its sidecars: place, time, camera and words.

Several blocks may have the same field. Sidecars come first: they were written later, by a program that a person used.
Then EXIF is preferred for what the camera measured, and XMP for what people typed:

=================  ==========================================================================================
place, altitude    sidecar (XMP, Takeout); EXIF, then XMP
taken              sidecar (XMP); EXIF DateTimeOriginal, then DateTimeDigitized; XMP exif:DateTimeOriginal,
                   photoshop:DateCreated, xmp:CreateDate; IPTC date and time created
offset             from where `taken` is
camera, lens       EXIF, then XMP, then sidecar (XMP)
title              sidecar (XMP), XMP, IPTC, EXIF XPTitle
caption            sidecar (XMP, Takeout), XMP, IPTC, EXIF ImageDescription, XPComment, UserComment
keywords           all of the sidecars, XMP, IPTC and XPKeywords, and Takeout's people
rating             sidecar (XMP), XMP, then EXIF; a favourite of Takeout without stars has 5
taken_utc          Takeout
=================  ==========================================================================================

An implausible value is skipped in favour of the next source. If none remains, the field is missing and `problems`
says why. A time in UTC (GPS, or marked Z) and a date without a time of day never become `taken`: neither is a local
time. If the file has no time, its name is tried (`names`), and then Takeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from PIL import Image

from mascot.photos import exif, iptc, plausible, xmp
from mascot.photos.images import open_image, shown_size
from mascot.photos.plausible import Wrong
from mascot.photos.sidecars import Sidecars
from mascot.photos.xmp import Xmp

T = TypeVar("T")
_MOST_PROBLEMS = 50
_FAVOURITE = 5  # stars
_LENSES = ("exifEX:LensModel", "aux:Lens")
_TIMES = ("exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate")  # the last is of the file, in a sidecar


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata in a file; None, or (), for fields without a plausible value."""

    width: int  # pixels, after rotation
    height: int
    lat: float | None  # degrees; both or neither
    lon: float | None
    altitude: float | None  # metres above sea level
    taken: datetime | None  # local time, without a time zone
    offset: int | None  # minutes east of UTC, if the file has it
    camera: str | None
    lens: str | None
    title: str | None
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None  # 0..5
    problems: tuple[str, ...]  # why something is missing
    taken_utc: datetime | None = None  # if a sidecar has the time in UTC but not the local time


def read_metadata(source: Path | BinaryIO) -> Metadata:
    """Return the metadata of a picture file. Raises `Unreadable` if it is not one; implausible values never raise."""
    with open_image(source) as image:
        return metadata_of(image)


def metadata_of(image: Image.Image, sidecars: Sidecars | None = None) -> Metadata:
    """Return the metadata of an image from `open_image`, not yet decoded by `upright`, and of its sidecars."""
    width, height = shown_size(image)
    sidecars = sidecars or Sidecars()
    besides, takeout = sidecars.packets, sidecars.takeout
    problems = list(sidecars.problems)

    def first(name: str, *sources: Callable[[], T | None]) -> T | None:
        """Return the first plausible value, or None and note why there is none."""
        wrong: list[str] = []
        for source in sources:
            try:
                value = source()
            except Wrong as reason:
                wrong.append(f"{name}: {reason}")
                continue
            if value is not None:
                return value
        problems.extend(wrong)
        return None

    def texts(name: str, packets: Iterable[Xmp]) -> list[Callable[[], str | None]]:
        return [partial(packet.text, name) for packet in packets]

    def human(*sources: Callable[[], str | None]) -> list[Callable[[], str | None]]:
        return [partial(_human_text, source, maker, model) for source in sources]

    tags, records = exif.read(image), iptc.read(image)
    packet = first("xmp", lambda: xmp.parse(image.info.get("xmp"))) or Xmp()
    packets = (packet, *besides)
    place = first("place", *(beside.place for beside in besides), takeout.place, tags.place, packet.place)
    altitude = first(
        "altitude", *(beside.altitude for beside in besides), takeout.altitude, tags.altitude, packet.altitude
    )
    moment = first(
        "taken",
        *(partial(beside.moment, name) for beside in besides for name in _TIMES[:2]),
        tags.original,
        tags.digitized,
        *(partial(packet.moment, name) for name in _TIMES),
        records.moment,
    )
    offset = first("offset", lambda: plausible.minutes_east(moment.offset if moment else None))
    maker = first("camera", tags.maker, *texts("tiff:Make", packets))
    model = first("camera", tags.model, *texts("tiff:Model", packets))
    lens = first("lens", tags.lens, *(partial(_lens, source, name) for source in packets for name in _LENSES))
    title = first(
        "title",
        *texts("dc:title", besides),
        *human(partial(packet.text, "dc:title"), records.title, tags.title),
    )
    caption = first(
        "caption",
        *texts("dc:description", besides),
        takeout.caption,
        *human(partial(packet.text, "dc:description"), records.caption),
        *human(tags.description, tags.comment, tags.user_comment),
    )
    rating = first("rating", *(beside.rating for beside in besides), packet.rating, tags.rating)
    if not rating and takeout.is_favourite():
        rating = _FAVOURITE
    words = [
        *(word for beside in besides for word in beside.keywords()),
        *takeout.people(),
        *packet.keywords(),
        *records.keywords(),
        *(first("keywords", tags.keywords) or ()),
    ]
    keywords = [first("keywords", partial(_keyword, word)) for word in words[: plausible.MOST_KEYWORDS]]
    if len(caption or "") > plausible.LONGEST_TEXT:
        problems.append(f"caption: only the first {plausible.LONGEST_TEXT} characters are used")
    if len(words) > plausible.MOST_KEYWORDS:
        problems.append(f"keywords: only the first {plausible.MOST_KEYWORDS} keywords are used")
    if tags.damage and (place is None or moment is None):
        problems.append(f"exif: damaged: {tags.damage}")
    taken_utc = first("taken", takeout.taken_utc) if moment is None else None
    lat, lon = place or (None, None)
    return Metadata(
        width=width,
        height=height,
        lat=lat,
        lon=lon,
        altitude=altitude,
        taken=moment.clock if moment else None,
        offset=offset,
        camera=plausible.line(exif.camera_name(maker, model)),
        lens=lens,
        title=plausible.line(title),
        caption=caption[: plausible.LONGEST_TEXT].strip() if caption else None,
        keywords=tuple(dict.fromkeys(word for word in keywords if word)),
        rating=rating,
        problems=tuple(dict.fromkeys(problems))[:_MOST_PROBLEMS],
        taken_utc=taken_utc,
    )


def _human_text(source: Callable[[], str | None], maker: str | None, model: str | None) -> str | None:
    return plausible.human_text(source(), maker, model)


def _lens(packet: Xmp, name: str) -> str | None:
    return exif.lens_name(packet.text(name))


def _keyword(word: str | bytes) -> str | None:
    return plausible.line(plausible.clean(word) if isinstance(word, str) else plausible.decode(word))
