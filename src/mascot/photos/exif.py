"""What cameras write: the EXIF block."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from PIL import ExifTags, Image

from mascot.photos import plausible
from mascot.photos.plausible import Moment, Wrong
from mascot.photos.quiet import quietly

CONTAINER = "mascot.exif"  # in `Image.info` of a preview: the EXIF of its RAW file

_BASE, _GPS = ExifTags.Base, ExifTags.GPS
_USUAL_SUFFIX = re.compile(
    r"[\s,]+(corporation|corp|company|co|ltd|limited|inc|imaging|optical|electronics|technologies)\.?(?=[\s,]|$)", re.I
)
_BINARY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")
_NO_LENS = re.compile(r"[\W\d_]*|[0.\- ]+mm( f/?[0.\- ]+)?|unknown.*|none|n/?a|no lens.*", re.I)


@dataclass(frozen=True, slots=True)
class Exif:
    """The tags of one photograph: of the picture, of the exposure, and of the satellites."""

    picture: Mapping[int, Any] = field(default_factory=dict)
    exposure: Mapping[int, Any] = field(default_factory=dict)
    gps: Mapping[int, Any] = field(default_factory=dict)
    little_endian: bool = True
    damage: str | None = None  # what could not be read


def read(image: Image.Image) -> Exif:
    """The EXIF block of an opened image, as far as it can be read; empty if there is none. Of a RAW file, its own."""
    if CONTAINER in image.info:
        container: Exif = image.info[CONTAINER]
        return container
    content = image.info.get("exif")
    if isinstance(content, bytes):
        # Read afresh: Pillow may have read it on opening, and its warnings were lost there.
        return read_block(lambda block: block.load(content))
    # Not the method of PNG, which decodes the picture first.
    return read_block(lambda block: Image.Image.getexif(image))


def read_block(load: Callable[[Image.Exif], Image.Exif | None]) -> Exif:
    """The block that `load` fills or returns."""
    block = Image.Exif()
    tags: dict[str, Mapping[int, Any]] = {"picture": {}, "exposure": {}, "gps": {}}
    failure: str | None = None
    with quietly() as warned:
        try:
            loaded = load(block)
            block = block if loaded is None else loaded
            tags["picture"] = dict(block)
            tags["exposure"] = block.get_ifd(ExifTags.IFD.Exif)
            tags["gps"] = block.get_ifd(ExifTags.IFD.GPSInfo)
        except Exception as error:  # Pillow raises whatever a damaged block leads to
            failure = str(error) or type(error).__name__
    damage = failure or next((str(each.message).strip() for each in warned), None)
    return Exif(**tags, little_endian=block.endian != ">", damage=damage)


def place(exif: Exif) -> tuple[float, float] | None:
    """Latitude and longitude in degrees."""
    lat, lon = exif.gps.get(_GPS.GPSLatitude), exif.gps.get(_GPS.GPSLongitude)
    if lat is None and lon is None:
        return None
    if lat is None or lon is None:
        raise Wrong(f"there is no {'latitude' if lat is None else 'longitude'}")
    north = _signed(plausible.angle(_numbers(lat)), exif.gps.get(_GPS.GPSLatitudeRef), "NS", "latitude")
    east = _signed(plausible.angle(_numbers(lon)), exif.gps.get(_GPS.GPSLongitudeRef), "EW", "longitude")
    return plausible.place(north, east)


def altitude(exif: Exif) -> float | None:
    """Metres above the sea."""
    value = exif.gps.get(_GPS.GPSAltitude)
    if value is None:
        return None
    reference = exif.gps.get(_GPS.GPSAltitudeRef, 0)
    if isinstance(reference, bytes):
        reference = int.from_bytes(reference[:1], "big")
    metres = sum(_numbers(value)[:1])
    # 0 - x and not -x: there is no negative zero metres. 3 is a newer way to write 1.
    return plausible.height(0 - metres if reference in (1, 3, "1", "3") else metres)


def original(exif: Exif) -> Moment | None:
    """When the shutter opened."""
    return _moment(exif, _BASE.DateTimeOriginal, _BASE.SubsecTimeOriginal, _BASE.OffsetTimeOriginal)


def digitized(exif: Exif) -> Moment | None:
    """When the file was made, which a camera does at once."""
    return _moment(exif, _BASE.DateTimeDigitized, _BASE.SubsecTimeDigitized, _BASE.OffsetTimeDigitized)


def maker(exif: Exif) -> str | None:
    return plausible.line(plausible.decoded(exif.picture.get(_BASE.Make)))


def model(exif: Exif) -> str | None:
    return plausible.line(plausible.decoded(exif.picture.get(_BASE.Model)))


def camera_name(maker: str | None, model: str | None) -> str | None:
    """One name of both: `Apple iPhone 6`, but `NIKON D70` of "NIKON CORPORATION" and "NIKON D70".

    >>> camera_name("EASTMAN KODAK COMPANY", "KODAK DC240 ZOOM"), camera_name("OLYMPUS IMAGING CORP.", "FE230")
    ('KODAK DC240 ZOOM', 'OLYMPUS FE230')
    """
    short = _USUAL_SUFFIX.sub("", maker) if maker else ""
    if not model or not short:
        return model or short or None
    first = re.split(r"[\s_-]", model.casefold())[0]
    doubled = first in maker.casefold().split() if maker else False
    return model if doubled or model.casefold().startswith(short.casefold()) else f"{short} {model}"


def lens(exif: Exif) -> str | None:
    return lens_name(plausible.decoded(exif.exposure.get(_BASE.LensModel)))


def lens_name(text: str | None) -> str | None:
    """A lens as written; None for what stands where none was recognised, such as `0.0 mm f/0.0`."""
    name = plausible.line(text)
    return None if name is None or _NO_LENS.fullmatch(name) else name


def description(exif: Exif) -> str | None:
    """ImageDescription; not where Windows has written the title there."""
    text = plausible.decoded(exif.picture.get(_BASE.ImageDescription))
    return None if text == title(exif) else text


def title(exif: Exif) -> str | None:
    return _wide(exif.picture.get(_BASE.XPTitle))


def comment(exif: Exif) -> str | None:
    return _wide(exif.picture.get(_BASE.XPComment))


def user_comment(exif: Exif) -> str | None:
    """UserComment where it declares its encoding and holds text; many cameras keep binary notes there."""
    value = exif.exposure.get(_BASE.UserComment)
    if not isinstance(value, bytes):
        return None
    code, body = value[:8], value[8 : 8 + 2 * plausible.LONGEST_TEXT]
    if code == b"UNICODE\0":
        text = _utf_16(body, exif.little_endian)
    elif code == b"ASCII\0\0\0":
        text = body.decode("utf-8", "replace")
    else:
        return None
    text = text.rstrip("\0 ")
    return None if _BINARY.search(text) else plausible.clean(text)


def keywords(exif: Exif) -> list[str]:
    """XPKeywords, which are divided by semicolons."""
    return (_wide(exif.picture.get(_BASE.XPKeywords)) or "").split(";")


def rating(exif: Exif) -> int | None:
    return plausible.stars(exif.picture.get(_BASE.Rating))


def _moment(exif: Exif, clock: int, fraction: int, offset: int) -> Moment | None:
    return plausible.moment(*(_written(exif.exposure.get(tag)) for tag in (clock, fraction, offset)))


def _utf_16(body: bytes, little_endian: bool) -> str:
    """The byte order is what its mark says, else what the nulls show, else that of the block, which writers ignore."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace")
    lead = body[1::2].count(0) - body[::2].count(0)
    return body.decode("utf-16-le" if lead > 0 or (lead == 0 and little_endian) else "utf-16-be", "replace")


def _written(value: Any) -> str | None:
    """Text as it stands, up to its null; for what is checked letter by letter anyway."""
    if isinstance(value, bytes):
        value = value[: plausible.LONGEST_LINE].decode("latin-1")
    return value[: plausible.LONGEST_LINE].split("\0")[0].strip() if isinstance(value, str) else None


def _numbers(value: Any) -> list[float]:
    """The first numbers of a tag, more than an angle has; NaN for one over zero."""
    return [_number(part) for part in (value[:4] if isinstance(value, tuple) else (value,))]


def _number(part: Any) -> float:
    if isinstance(part, (str, bytes)):
        return math.nan
    try:
        return float(part)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan


def _signed(degrees: float, reference: Any, letters: str, name: str) -> float:
    letter = (plausible.decoded(reference) or "")[:1].upper()
    if letter and letter not in letters:
        raise Wrong(f"the {name}'s reference is {plausible.shown(reference)}, not {letters[0]} or {letters[1]}")
    if not letter and degrees > 0:
        raise Wrong(f"the {name} does not say whether it is {letters[0]} or {letters[1]}")
    return -abs(degrees) if letter == letters[1] else degrees


def _wide(value: Any) -> str | None:
    """Text as Windows writes it."""
    if not isinstance(value, bytes):
        return None
    return plausible.clean(value[: 2 * plausible.LONGEST_TEXT].decode("utf-16-le", "replace"))
