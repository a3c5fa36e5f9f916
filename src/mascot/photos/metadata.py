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

from collections.abc import Callable
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

T = TypeVar("T")
_MOST_PROBLEMS = 50
_FAVOURITE = 5  # stars
_SIDECAR_TIMES = ("exif:DateTimeOriginal", "photoshop:DateCreated")


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
    reader = _MetadataReader()
    files_beside = sidecars or Sidecars()
    packets, takeout = files_beside.packets, files_beside.takeout
    reader.problems += files_beside.problems
    exif_block = exif.read(image)
    xmp_packet = reader.of("xmp", lambda: xmp.parse(image.info.get("xmp"))) or {}
    iptc_records = iptc.read(image)

    def in_sidecars(name: str) -> list[Callable[[], str | None]]:
        return [partial(xmp.text, packet, name) for packet in packets]

    place = reader.of(
        "place",
        *(partial(xmp.place, packet) for packet in packets),
        takeout.place,
        lambda: exif.place(exif_block),
        lambda: xmp.place(xmp_packet),
    )
    altitude = reader.of(
        "altitude",
        *(partial(xmp.altitude, packet) for packet in packets),
        takeout.altitude,
        lambda: exif.altitude(exif_block),
        lambda: xmp.altitude(xmp_packet),
    )
    moment = reader.of(
        "taken",
        *(partial(xmp.moment, packet, name) for packet in packets for name in _SIDECAR_TIMES),
        lambda: exif.original(exif_block),
        lambda: exif.digitized(exif_block),
        lambda: xmp.moment(xmp_packet, "exif:DateTimeOriginal"),
        lambda: xmp.moment(xmp_packet, "photoshop:DateCreated"),
        lambda: xmp.moment(xmp_packet, "xmp:CreateDate"),
        lambda: iptc.moment(iptc_records),
    )
    offset = reader.of("offset", lambda: plausible.minutes_east(moment.offset if moment else None))
    maker = reader.of("camera", lambda: exif.maker(exif_block), lambda: xmp.text(xmp_packet, "tiff:Make"),
                       *in_sidecars("tiff:Make"))  # fmt: skip
    model = reader.of("camera", lambda: exif.model(exif_block), lambda: xmp.text(xmp_packet, "tiff:Model"),
                       *in_sidecars("tiff:Model"))  # fmt: skip
    lens = reader.of(
        "lens",
        lambda: exif.lens(exif_block),
        lambda: exif.lens_name(xmp.text(xmp_packet, "exifEX:LensModel")),
        lambda: exif.lens_name(xmp.text(xmp_packet, "aux:Lens")),
        *(partial(_sidecar_lens, packet) for packet in packets),
    )
    title = reader.of(
        "title",
        *in_sidecars("dc:title"),
        lambda: plausible.human_text(xmp.text(xmp_packet, "dc:title"), maker, model),
        lambda: plausible.human_text(iptc.title(iptc_records), maker, model),
        lambda: plausible.human_text(exif.title(exif_block), maker, model),
    )
    caption = reader.of(
        "caption",
        *in_sidecars("dc:description"),
        takeout.caption,
        lambda: plausible.human_text(xmp.text(xmp_packet, "dc:description"), maker, model),
        lambda: plausible.human_text(iptc.caption(iptc_records), maker, model),
        lambda: plausible.human_text(exif.description(exif_block), maker, model),
        lambda: plausible.human_text(exif.comment(exif_block), maker, model),
        lambda: plausible.human_text(exif.user_comment(exif_block), maker, model),
    )
    rating = reader.of(
        "rating",
        *(partial(xmp.rating, packet) for packet in packets),
        lambda: xmp.rating(xmp_packet),
        lambda: exif.rating(exif_block),
    )
    if not rating and takeout.is_favourite():
        rating = _FAVOURITE
    words = [
        *(word for packet in packets for word in packet.get("dc:subject", ())),
        *takeout.people(),
        *xmp_packet.get("dc:subject", ()),
        *iptc.keywords(iptc_records),
        *(reader.of("keywords", lambda: exif.keywords(exif_block)) or ()),
    ]
    keywords = [reader.of("keywords", partial(_keyword, word)) for word in words[: plausible.MOST_KEYWORDS]]
    reader.note_cut("caption", len(caption or ""), plausible.LONGEST_TEXT, "characters")
    reader.note_cut("keywords", len(words), plausible.MOST_KEYWORDS, "keywords")
    if exif_block.damage and (place is None or moment is None):
        reader.problems.append(f"exif: damaged: {exif_block.damage}")
    taken_utc = reader.of("taken", takeout.taken_utc) if moment is None else None
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
        problems=tuple(dict.fromkeys(reader.problems))[:_MOST_PROBLEMS],
        taken_utc=taken_utc,
    )


class _MetadataReader:
    """Takes the first plausible value of each field, and collects the reasons where there is none."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def of(self, name: str, *sources: Callable[[], T | None]) -> T | None:
        wrong: list[str] = []
        for source in sources:
            try:
                value = source()
            except Wrong as reason:
                wrong.append(f"{name}: {reason}")
                continue
            if value is not None:
                return value
        self.problems += wrong
        return None

    def note_cut(self, name: str, length: int, most: int, unit: str) -> None:
        """Record that only a part of a long field is used."""
        if length > most:
            self.problems.append(f"{name}: only the first {most} {unit} are used")


def _keyword(word: str | bytes) -> str | None:
    return plausible.line(plausible.clean(word) if isinstance(word, str) else plausible.decode(word))


def _sidecar_lens(packet: xmp.Xmp) -> str | None:
    return exif.lens_name(xmp.text(packet, "exifEX:LensModel") or xmp.text(packet, "aux:Lens"))
