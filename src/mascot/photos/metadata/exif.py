"""Read the EXIF block, which cameras write."""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from PIL import ExifTags, Image

from mascot.photos.metadata import validate
from mascot.photos.metadata.validate import Implausible, Moment

CONTAINER = "mascot.exif"  # key in `Image.info` of a preview: the EXIF of its RAW file

_BASE, _GPS = ExifTags.Base, ExifTags.GPS
_USUAL_SUFFIX = re.compile(
    r"[\s,]+(corporation|corp|company|co|ltd|limited|inc|imaging|optical|electronics|technologies)\.?(?=[\s,]|$)", re.I
)
_BINARY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")
_NO_LENS = re.compile(r"[\W\d_]*|[0.\- ]+mm( f/?[0.\- ]+)?|unknown.*|none|n/?a|no lens.*", re.I)
_LOCK = threading.RLock()


@contextmanager
def quietly() -> Iterator[list[warnings.WarningMessage]]:
    """Catch the warnings of Pillow about damaged files, in one thread at a time: warning filters are global."""
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of a file elsewhere that is collected meanwhile
        yield caught


@dataclass(frozen=True, slots=True)
class Exif:
    """The tags of one photograph: of the picture, of the exposure, and of GPS. Methods raise `Implausible`."""

    picture: Mapping[int, Any] = field(default_factory=dict)
    exposure: Mapping[int, Any] = field(default_factory=dict)
    gps: Mapping[int, Any] = field(default_factory=dict)
    little_endian: bool = True
    damage: str | None = None  # why a part could not be read

    def place(self) -> tuple[float, float] | None:
        """Return latitude and longitude in degrees."""
        lat, lon = self.gps.get(_GPS.GPSLatitude), self.gps.get(_GPS.GPSLongitude)
        if lat is None and lon is None:
            return None
        if lat is None or lon is None:
            raise Implausible(f"there is no {'latitude' if lat is None else 'longitude'}")
        north = _signed_degrees(lat, self.gps.get(_GPS.GPSLatitudeRef), "NS", "latitude")
        east = _signed_degrees(lon, self.gps.get(_GPS.GPSLongitudeRef), "EW", "longitude")
        return validate.place(north, east)

    def altitude(self) -> float | None:
        """Return metres above sea level."""
        value = self.gps.get(_GPS.GPSAltitude)
        if value is None:
            return None
        reference = self.gps.get(_GPS.GPSAltitudeRef, 0)
        if isinstance(reference, bytes):
            reference = int.from_bytes(reference[:1], "big")
        return validate.height(sum(_numbers(value)[:1]), str(reference))

    def original(self) -> Moment | None:
        """Return the time of DateTimeOriginal: when the shutter opened."""
        return self._moment(_BASE.DateTimeOriginal, _BASE.SubsecTimeOriginal, _BASE.OffsetTimeOriginal)

    def digitized(self) -> Moment | None:
        """Return the time of DateTimeDigitized: when the file was written, for cameras the same moment."""
        return self._moment(_BASE.DateTimeDigitized, _BASE.SubsecTimeDigitized, _BASE.OffsetTimeDigitized)

    def _moment(self, *tags: int) -> Moment | None:
        return validate.moment(*(_raw_text(self.exposure.get(tag)) for tag in tags))

    def line(self, tag: int) -> str | None:
        return validate.line(validate.decode(self.picture.get(tag)))

    def lens(self) -> str | None:
        return lens_name(validate.decode(self.exposure.get(_BASE.LensModel)))

    def description(self) -> str | None:
        """Return ImageDescription; None if it is the title, which Windows writes there."""
        text = validate.decode(self.picture.get(_BASE.ImageDescription))
        return None if text == self.windows_text(_BASE.XPTitle) else text

    def user_comment(self) -> str | None:
        """Return UserComment if it declares its encoding and is text; many cameras write binary data there."""
        value = self.exposure.get(_BASE.UserComment)
        if not isinstance(value, bytes):
            return None
        code, body = value[:8], value[8 : 8 + 2 * validate.LONGEST_TEXT]
        if code == b"UNICODE\0":
            text = _utf_16(body, self.little_endian)
        elif code == b"ASCII\0\0\0":
            text = body.decode("utf-8", "replace")
        else:
            return None
        text = text.rstrip("\0 ")
        return None if _BINARY.search(text) else validate.clean(text)

    def keywords(self) -> list[str]:
        """Return XPKeywords, which are separated by semicolons."""
        return (self.windows_text(_BASE.XPKeywords) or "").split(";")

    def rating(self) -> int | None:
        return validate.stars(self.picture.get(_BASE.Rating))

    def windows_text(self, tag: int) -> str | None:
        """Return a tag of the picture in UTF-16, as Windows writes it."""
        value = self.picture.get(tag)
        if not isinstance(value, bytes):
            return None
        return validate.clean(value[: 2 * validate.LONGEST_TEXT].decode("utf-16-le", "replace"))


def read(image: Image.Image) -> Exif:
    """Return the EXIF of an opened image as far as it can be read, for a preview that of its RAW file."""
    if CONTAINER in image.info:
        container: Exif = image.info[CONTAINER]
        return container
    content = image.info.get("exif")
    if isinstance(content, bytes):
        # Read again: Pillow may have read it on opening, where its warnings were lost.
        return read_block(lambda block: block.load(content))
    # Not `PngImageFile.getexif`, which decodes the picture first.
    return read_block(lambda block: Image.Image.getexif(image))


def read_block(load: Callable[[Image.Exif], Image.Exif | None]) -> Exif:
    """Return the EXIF of the block that `load` fills or returns."""
    block = Image.Exif()
    tags: dict[str, Mapping[int, Any]] = {}
    failure: str | None = None
    with quietly() as caught:
        try:
            loaded = load(block)
            block = block if loaded is None else loaded  # an empty one is false
            tags["picture"] = dict(block)
            tags["exposure"] = block.get_ifd(ExifTags.IFD.Exif)
            tags["gps"] = block.get_ifd(ExifTags.IFD.GPSInfo)
        except Exception as error:  # Pillow raises whatever a damaged block leads to
            failure = str(error) or type(error).__name__
    damage = failure or next((str(warning.message).strip() for warning in caught), None)
    return Exif(**tags, little_endian=block.endian != ">", damage=damage)


def camera_name(maker: str | None, model: str | None) -> str | None:
    """Return one name of maker and model: `Apple iPhone 6`, but `NIKON D70` of "NIKON CORPORATION" and "NIKON D70".

    >>> camera_name("EASTMAN KODAK COMPANY", "KODAK DC240 ZOOM"), camera_name("OLYMPUS IMAGING CORP.", "FE230")
    ('KODAK DC240 ZOOM', 'OLYMPUS FE230')
    """
    short = _USUAL_SUFFIX.sub("", maker or "")
    if not model or not short:
        return model or short or None
    first = re.split(r"[\s_-]", model.casefold())[0]
    has_maker = first in (maker or "").casefold().split() or model.casefold().startswith(short.casefold())
    return model if has_maker else f"{short} {model}"


def lens_name(text: str | None) -> str | None:
    """Return the name of a lens; None for placeholders such as `0.0 mm f/0.0`."""
    name = validate.line(text)
    return None if name is None or _NO_LENS.fullmatch(name) else name


def _utf_16(body: bytes, little_endian: bool) -> str:
    """Decode UTF-16. The byte order comes from the BOM, otherwise from the null bytes, otherwise from the block."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace")
    excess = body[1::2].count(0) - body[::2].count(0)
    return body.decode("utf-16-le" if excess > 0 or (excess == 0 and little_endian) else "utf-16-be", "replace")


def _raw_text(value: Any) -> str | None:
    """Return text up to its null byte, without cleaning, for values that are parsed strictly."""
    if isinstance(value, bytes):
        value = value[: validate.LONGEST_LINE].decode("latin-1")
    return value[: validate.LONGEST_LINE].split("\0")[0].strip() if isinstance(value, str) else None


def _numbers(value: Any) -> list[float]:
    """Return the first four numbers of a tag; NaN for a division by zero and for text."""
    numbers = []
    for part in value[:4] if isinstance(value, tuple) else (value,):
        try:
            numbers.append(math.nan if isinstance(part, (str, bytes)) else float(part))
        except (TypeError, ValueError, ArithmeticError):
            numbers.append(math.nan)
    return numbers


def _signed_degrees(value: Any, reference: Any, letters: str, name: str) -> float:
    degrees = validate.angle(_numbers(value))
    letter = (validate.decode(reference) or "")[:1].upper()
    if letter and letter not in letters:
        raise Implausible(f"the {name}'s reference is {validate.quote(reference)}, not {letters[0]} or {letters[1]}")
    if not letter and degrees > 0:
        raise Implausible(f"the {name} does not say whether it is {letters[0]} or {letters[1]}")
    return -abs(degrees) if letter == letters[1] else degrees
