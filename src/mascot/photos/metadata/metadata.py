"""The metadata of a photograph, from its file and its sidecars: place, time, camera and words.

If several sources have the same field, the first plausible value is used; `metadata_of` lists the sources in order.
Sidecars come first, because they were written later, by a program that a person used. Then EXIF is preferred for what
the camera measured, and XMP for what people typed. If no value is plausible, the field is missing and `problems` says
why. A time in UTC (GPS, or marked Z) and a date without a time of day never become `taken`, because they are not local
times. If the file has no time, its name is tried, and then Takeout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from PIL import Image
from PIL.ExifTags import Base
from PIL.TiffImagePlugin import TiffImageFile

from mascot.photos.files.images import shown_size
from mascot.photos.metadata import exif, validate, xmp
from mascot.photos.metadata.exif import lens_name
from mascot.photos.metadata.sidecars import FAVOURITE, Sidecars, taken_utc
from mascot.photos.metadata.validate import Implausible, Moment
from mascot.photos.metadata.xmp import Xmp

T = TypeVar("T")
_MOST_PROBLEMS = 50
_IPTC_TITLE, _IPTC_KEYWORD, _IPTC_DATE, _IPTC_TIME, _IPTC_CAPTION = 5, 25, 55, 60, 120
_IPTC_IN_PHOTOSHOP, _IPTC_IN_TIFF = 0x0404, 33723
_FAVOURITE_STARS = 5
_LENSES = ("exifEX:LensModel", "aux:Lens")
# In a sidecar, xmp:CreateDate is the date of the sidecar itself.
_TIMES = ("exif:DateTimeOriginal", "photoshop:DateCreated", "xmp:CreateDate")


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
    problems: tuple[str, ...]  # reasons why values are missing
    taken_utc: datetime | None = None  # if a sidecar has the time in UTC but not the local time


def metadata_of(image: Image.Image, sidecars: Sidecars | None = None) -> Metadata:
    """Return the metadata of an image from `open_image`, not yet decoded by `upright`, and of its sidecars.

    Implausible values never raise.
    """
    width, height = shown_size(image)
    besides = sidecars.packets if sidecars else ()
    problems = list(sidecars.problems) if sidecars else []

    def first(name: str, *sources: Callable[[], T | None]) -> T | None:
        """Return the first plausible value; if there is none, return None and record the reasons."""
        wrong: list[str] = []
        for source in sources:
            try:
                value = source()
            except Implausible as reason:
                wrong.append(f"{name}: {reason}")
                continue
            if value is not None:
                return value
        problems.extend(wrong)
        return None

    def each(packets: Iterable[Xmp], *names: str, read: Callable[[Xmp, str], T | None]) -> list[Callable[[], T | None]]:
        return [partial(read, packet, name) for packet in packets for name in names]

    def human(read: Callable[..., str | None], *arguments: Any) -> Callable[[], str | None]:
        return lambda: validate.human_text(read(*arguments), maker, model)

    tags, records = exif.read(image), _iptc(image)
    packet = first("xmp", lambda: xmp.parse(image.info.get("xmp"))) or Xmp()
    packets = (packet, *besides)
    place = first("place", *(beside.place for beside in besides), tags.place, packet.place)
    altitude = first("altitude", *(beside.altitude for beside in besides), tags.altitude, packet.altitude)
    moment = first(
        "taken",
        *each(besides, *_TIMES[:2], read=Xmp.moment),
        tags.original,
        tags.digitized,
        *each([packet], *_TIMES, read=Xmp.moment),
        partial(_iptc_moment, records),
    )
    offset = first("offset", lambda: validate.minutes_east(moment.offset if moment else None))
    maker = first("camera", partial(tags.line, Base.Make), *each(packets, "tiff:Make", read=Xmp.text))
    model = first("camera", partial(tags.line, Base.Model), *each(packets, "tiff:Model", read=Xmp.text))
    lens = first("lens", tags.lens, *each(packets, *_LENSES, read=lambda packet, name: lens_name(packet.text(name))))
    title = first(
        "title",
        *each(besides, "dc:title", read=Xmp.text),
        human(packet.text, "dc:title"),
        human(_iptc_text, records, _IPTC_TITLE),
        human(tags.windows_text, Base.XPTitle),
    )
    caption = first(
        "caption",
        *each(besides, "dc:description", read=Xmp.text),
        human(packet.text, "dc:description"),
        human(_iptc_text, records, _IPTC_CAPTION),
        human(tags.description),
        human(tags.windows_text, Base.XPComment),
        human(tags.user_comment),
    )
    rating = first("rating", *(beside.rating for beside in besides), packet.rating, tags.rating)
    if not rating and any(FAVOURITE in beside.properties for beside in besides):
        rating = _FAVOURITE_STARS
    words = [
        *(word for source in (*besides, packet) for word in source.keywords()),
        *records.get(_IPTC_KEYWORD, ()),
        *(first("keywords", tags.keywords) or ()),
    ]
    keywords = [first("keywords", partial(_keyword, word)) for word in words[: validate.MOST_KEYWORDS]]
    if len(caption or "") > validate.LONGEST_TEXT:
        problems.append(f"caption: only the first {validate.LONGEST_TEXT} characters are used")
    if len(words) > validate.MOST_KEYWORDS:
        problems.append(f"keywords: only the first {validate.MOST_KEYWORDS} keywords are used")
    if tags.damage and (place is None or moment is None):
        problems.append(f"exif: damaged: {tags.damage}")
    utc = first("taken", *(partial(taken_utc, beside) for beside in besides)) if moment is None else None
    lat, lon = place or (None, None)
    return Metadata(
        width=width,
        height=height,
        lat=lat,
        lon=lon,
        altitude=altitude,
        taken=moment.clock if moment else None,
        offset=offset,
        camera=validate.line(exif.camera_name(maker, model)),
        lens=lens,
        title=validate.line(title),
        caption=caption[: validate.LONGEST_TEXT].strip() if caption else None,
        keywords=tuple(dict.fromkeys(word for word in keywords if word)),
        rating=rating,
        problems=tuple(dict.fromkeys(problems))[:_MOST_PROBLEMS],
        taken_utc=utc,
    )


def _keyword(word: str | bytes) -> str | None:
    return validate.line(validate.clean(word) if isinstance(word, str) else validate.decode(word))


def _iptc(image: Image.Image) -> dict[int, list[bytes]]:
    """Return the data sets of the IPTC record 2, which picture agencies write, by number, as far as they can be read.

    A data set is 0x1C, record, number, length in two bytes, and value; anything else ends them.
    """
    blocks: Any = image.info.get("photoshop")
    data: Any = blocks.get(_IPTC_IN_PHOTOSHOP) if isinstance(blocks, dict) else None
    if data is None and isinstance(image, TiffImageFile):
        data = image.tag_v2.get(_IPTC_IN_TIFF)
    data = data if isinstance(data, bytes) else b""
    sets: dict[int, list[bytes]] = {}
    at = 0
    while data[at : at + 1] == b"\x1c" and at + 5 <= len(data):
        record, number, length = data[at + 1], data[at + 2], int.from_bytes(data[at + 3 : at + 5], "big")
        value = data[at + 5 : at + 5 + length]
        if length >= 0x8000 or len(value) < length:  # longer than any text that is used
            break
        if record == 2:
            sets.setdefault(number, []).append(value)
        at += 5 + length
    return sets


def _iptc_text(sets: dict[int, list[bytes]], number: int) -> str | None:
    return validate.decode(sets[number][0]) if number in sets else None


def _iptc_moment(sets: dict[int, list[bytes]]) -> Moment | None:
    """Return date and time created. An offset of +00:00 is ignored: programs write it for an unknown one."""
    date, time = _iptc_text(sets, _IPTC_DATE) or "", _iptc_text(sets, _IPTC_TIME) or ""
    if not date.strip("0"):
        return None
    date = re.sub(r"(\d{4})(\d\d)(\d\d)", r"\1-\2-\3", date)
    time = re.sub(r"(\d\d)(\d\d)(\d\d)", r"\1:\2:\3", re.sub(r"\+00:?00$", "", time), count=1)
    return validate.moment(f"{date} {time}".strip())
