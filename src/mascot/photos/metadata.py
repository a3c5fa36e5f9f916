"""What a photograph's file and its sidecars say about it: where, when, with what, and in whose words.

Several blocks may say the same thing. Sidecars come first: they were written later, by a person's program. Then the
camera is trusted for what it measured, programs for what people typed:

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

A wrong value is passed over for the next in line. If nothing is left, the field is missing and `problems`
says why. A time in Greenwich (GPS, or marked Z) and a date without a time of day never become `taken`: neither
says what the clock on the spot showed. Where the file has no time, its name may (`names`), and then Takeout.
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
    """What a file says about its photograph; None, or (), where it says nothing that can be meant."""

    width: int  # pixels as shown, after orientation
    height: int
    lat: float | None  # degrees; both or neither
    lon: float | None
    altitude: float | None  # metres above the sea
    taken: datetime | None  # the clock on the spot, without a time zone
    offset: int | None  # minutes east of Greenwich, where the file says
    camera: str | None
    lens: str | None
    title: str | None
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None  # 0..5
    problems: tuple[str, ...]  # why something is missing
    taken_utc: datetime | None = None  # where a sidecar says when, but not what the clock on the spot showed


def read_metadata(source: Path | BinaryIO) -> Metadata:
    """The metadata of a picture file. Raises `Unreadable` if it is none; wrong values never raise."""
    with open_image(source) as image:
        return metadata_of(image)


def metadata_of(image: Image.Image, sidecars: Sidecars | None = None) -> Metadata:
    """The same of an image opened by `open_image` and not yet decoded by `upright`, and of its sidecars."""
    width, height = shown_size(image)
    reading = _Reading()
    beside = sidecars or Sidecars()
    packets, takeout = beside.packets, beside.takeout
    reading.problems += beside.problems
    camera_says = exif.read(image)
    programs_say = reading.of("xmp", lambda: xmp.parse(image.info.get("xmp"))) or {}
    agencies_say = iptc.read(image)

    def in_sidecars(name: str) -> list[Callable[[], str | None]]:
        return [partial(xmp.text, packet, name) for packet in packets]

    place = reading.of(
        "place",
        *(partial(xmp.place, packet) for packet in packets),
        takeout.place,
        lambda: exif.place(camera_says),
        lambda: xmp.place(programs_say),
    )
    altitude = reading.of(
        "altitude",
        *(partial(xmp.altitude, packet) for packet in packets),
        takeout.altitude,
        lambda: exif.altitude(camera_says),
        lambda: xmp.altitude(programs_say),
    )
    moment = reading.of(
        "taken",
        *(partial(xmp.moment, packet, name) for packet in packets for name in _SIDECAR_TIMES),
        lambda: exif.original(camera_says),
        lambda: exif.digitized(camera_says),
        lambda: xmp.moment(programs_say, "exif:DateTimeOriginal"),
        lambda: xmp.moment(programs_say, "photoshop:DateCreated"),
        lambda: xmp.moment(programs_say, "xmp:CreateDate"),
        lambda: iptc.moment(agencies_say),
    )
    offset = reading.of("offset", lambda: plausible.minutes_east(moment.offset if moment else None))
    maker = reading.of("camera", lambda: exif.maker(camera_says), lambda: xmp.text(programs_say, "tiff:Make"),
                       *in_sidecars("tiff:Make"))  # fmt: skip
    model = reading.of("camera", lambda: exif.model(camera_says), lambda: xmp.text(programs_say, "tiff:Model"),
                       *in_sidecars("tiff:Model"))  # fmt: skip
    lens = reading.of(
        "lens",
        lambda: exif.lens(camera_says),
        lambda: exif.lens_name(xmp.text(programs_say, "exifEX:LensModel")),
        lambda: exif.lens_name(xmp.text(programs_say, "aux:Lens")),
        *(partial(_sidecar_lens, packet) for packet in packets),
    )
    title = reading.of(
        "title",
        *in_sidecars("dc:title"),
        lambda: plausible.told(xmp.text(programs_say, "dc:title"), maker, model),
        lambda: plausible.told(iptc.title(agencies_say), maker, model),
        lambda: plausible.told(exif.title(camera_says), maker, model),
    )
    caption = reading.of(
        "caption",
        *in_sidecars("dc:description"),
        takeout.caption,
        lambda: plausible.told(xmp.text(programs_say, "dc:description"), maker, model),
        lambda: plausible.told(iptc.caption(agencies_say), maker, model),
        lambda: plausible.told(exif.description(camera_says), maker, model),
        lambda: plausible.told(exif.comment(camera_says), maker, model),
        lambda: plausible.told(exif.user_comment(camera_says), maker, model),
    )
    rating = reading.of(
        "rating",
        *(partial(xmp.rating, packet) for packet in packets),
        lambda: xmp.rating(programs_say),
        lambda: exif.rating(camera_says),
    )
    if not rating and takeout.is_favourite():
        rating = _FAVOURITE
    words = [
        *(word for packet in packets for word in packet.get("dc:subject", ())),
        *takeout.people(),
        *programs_say.get("dc:subject", ()),
        *iptc.keywords(agencies_say),
        *(reading.of("keywords", lambda: exif.keywords(camera_says)) or ()),
    ]
    keywords = [reading.of("keywords", partial(_keyword, word)) for word in words[: plausible.MOST_KEYWORDS]]
    reading.note_cut("caption", len(caption or ""), plausible.LONGEST_TEXT, "characters")
    reading.note_cut("keywords", len(words), plausible.MOST_KEYWORDS, "keywords")
    if camera_says.damage and (place is None or moment is None):
        reading.problems.append(f"exif: damaged: {camera_says.damage}")
    taken_utc = reading.of("taken", takeout.taken_utc) if moment is None else None
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
        problems=tuple(dict.fromkeys(reading.problems))[:_MOST_PROBLEMS],
        taken_utc=taken_utc,
    )


class _Reading:
    """Takes the first value that means something, and notes why there is none."""

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
    return plausible.line(plausible.clean(word) if isinstance(word, str) else plausible.decoded(word))


def _sidecar_lens(packet: xmp.Xmp) -> str | None:
    return exif.lens_name(xmp.text(packet, "exifEX:LensModel") or xmp.text(packet, "aux:Lens"))
