"""Parsers of metadata values. An implausible value raises `Implausible` with the reason."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

LONGEST_TEXT = 10_000  # characters of a caption
LONGEST_LINE = 500  # characters of a title, a keyword or a name
MOST_KEYWORDS = 1000
_LONGEST_INPUT = LONGEST_TEXT + 100  # a little more, to detect truncation
_LONGEST_BYTES = 4 * _LONGEST_INPUT
_FIRST_YEAR = 1826  # the year of the oldest surviving photograph
_NULL_ISLAND = 0.001  # degrees around 0,0, which is open sea
_MIN_ALTITUDE, _MAX_ALTITUDE = -450, 100_000  # metres; the shore of the Dead Sea is at -430
_MAX_OFFSET = 15 * 60  # minutes; time zones range from -12 to +14 hours

_MOMENT = re.compile(
    r"(\d{4})(?:[:/.-] ?(\d{1,2})(?:[:/.-] ?(\d{1,2})"
    r"(?:[ T]+(\d{1,2}): ?(\d{1,2})(?:: ?(\d{1,2})(?:[.,](\d+))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?)?"
)
_STAMP = re.compile(  # in the name of a file
    r"(?<!\d)((?:18|19|20)\d\d)([-_.:]?)(\d\d)\2(\d\d)"  # 20190704, 2019-07-04
    r"(?:[-_. T]*|[ _-]+at[ _-]+)"
    r"(\d\d|\d(?=[-.:]))([-_.:]?)(\d\d)\6(\d\d)(?:\d{3})?(?!\d)"  # 181512, 18.15.12, 6.15.12; perhaps milliseconds
    r"(?:[\s_]?([AaPp])\.?[Mm]\b)?"
)
_UTC_NAME = re.compile(r"PXL_", re.I)  # Pixel phones name files in UTC, not in local time
_UNSET_CLOCKS = {datetime(2002, 12, 8, 12), datetime(1970, 1, 1)}  # defaults of cameras whose clock was never set

_FILLER = re.compile(
    r"""
    (?:[\w-]+\ )*digital\ (?:still\ )?camera      # OLYMPUS DIGITAL CAMERA, KODAK Digital Still Camera
    | (?:olympus|sony|kodak|samsung|konica|minolta)\ (?:camera|dsc)(?:\ pictures)? | samsung
    | exif[_\ ]jpeg[_\ ]picture | \<digimax.*\> | created\ by\ imlib.*
    | default | untitled | ohne\ titel | sans\ titre | none | null | n/?a | unknown | image(?:\ description)?
    | picture | photo | camera | created\ with\ gimp | processed\ with\ vsco.* | charset=ascii
    | (?:oz)?nor(?:wo)? | r?hdr(?:pl)? | sdr(?:_hdrb)? | cof | dav | edf | mde(?:_soft)? | [bfr]bt | btf(?:hdr|mdn)?
    | ptr | qrf | rpt | burst | frem                            # camera modes of phones
    | dcim[\\/].* | [^\s]+\.(?:jpe?g|heic|heif|png|tiff?|dng|webp)   # a path or file name
    | \{.*\}                                                    # JSON
    | [!-/:-@\[-`{-~\s]+                                        # punctuation alone
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


class Implausible(ValueError):
    """A value that is present but implausible; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The local time at which a photograph was taken, and its UTC offset as the file states it."""

    clock: datetime
    offset: str | None


def quote(value: object) -> str:
    """Return a value for a message, truncated to a readable length."""
    quoted = repr(value[:60] if isinstance(value, (str, bytes)) else value)
    return quoted if len(quoted) <= 60 else quoted[:56] + "..." + quoted[-1]


def decode(value: object) -> str | None:
    """Decode text of unknown encoding as UTF-8, else as Windows-1252. Return None if it is blank or not text."""
    if isinstance(value, str):
        value = value[:_LONGEST_BYTES]
        try:
            raw = value.encode("latin-1")  # Pillow decodes EXIF text as Latin-1, whatever its encoding
        except UnicodeEncodeError:
            return clean(value)
    elif isinstance(value, bytes):
        raw = value[:_LONGEST_BYTES]
    else:
        return None
    try:
        return clean(raw.decode())
    except UnicodeDecodeError as error:
        if len(raw) == _LONGEST_BYTES and error.start > len(raw) - 4:  # a character was cut in two
            return clean(raw[: error.start].decode())
        return clean(raw.decode("cp1252", "replace"))


def clean(text: str) -> str | None:
    """Return text without null bytes, control characters and outer blanks; None if nothing remains.

    Little more than the first `LONGEST_TEXT` characters are read.
    """
    text = next((part for part in text[:_LONGEST_INPUT].split("\0") if part.strip()), "")
    text = re.sub(r"\r\n?", "\n", text).strip()
    printable = "".join(character for character in text if _is_printable(character))
    if len(text) - len(printable) > len(text) / 4:
        raise Implausible(f"{quote(text)} is not readable text")
    return unicodedata.normalize("NFC", printable).strip() or None


def line(text: str | None) -> str | None:
    """Return text on one line of at most `LONGEST_LINE` characters, with single blanks between words."""
    return " ".join(text[:LONGEST_LINE].split()) or None if text else None


def human_text(text: str | None, *names: str | None) -> str | None:
    """Return text that a person wrote; None for texts that cameras write by default, such as their own `names`."""
    if text is None or _FILLER.fullmatch(text):
        return None
    return None if text.casefold() in {name.casefold() for name in names if name} else text


def moment(text: str | None, fraction: str | None = None, offset: str | None = None) -> Moment | None:
    """Parse a local time such as `2018:01:11 13:09:38` or `2018-01-11T13:09:38.321+02:00`; None if it is blank."""
    if text is None or not text.strip(" :"):
        return None  # EXIF writes spaces and colons for "unknown"
    match = _MOMENT.fullmatch(text)
    if not match:
        raise Implausible(f"{quote(text)} is not a date")
    *numbers, text_fraction, text_offset = match.groups()
    if numbers[3] is None:
        raise Implausible(f"{quote(text)} has no time of day")
    if text_offset == "Z":
        raise Implausible(f"{quote(text)} is in UTC, not in local time")
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    digits = re.findall(r"^\d*", text_fraction or fraction or "")[0]
    try:
        clock = datetime(year, month, day, hour, minute, second, int(f"{digits:0<6}"[:6]))
    except ValueError:
        raise Implausible(f"{quote(text)} is not a date") from None
    if clock.replace(microsecond=0) in _UNSET_CLOCKS:
        raise Implausible(f"{quote(text)} is the default of a camera whose clock was never set")
    if clock.year < _FIRST_YEAR:
        raise Implausible(f"{quote(text)} is before the invention of photography")
    if is_future(clock.year):
        raise Implausible(f"{quote(text)} is in the future")
    return Moment(clock, text_offset or offset)


def time_in_name(path: str) -> datetime | None:
    """Return the local time in a file name, as phones and messengers write it; None unless date and time are complete.

    >>> time_in_name("IMG_20190704_181512.jpg").isoformat()
    '2019-07-04T18:15:12'
    >>> time_in_name("WhatsApp Image 2019-07-04 at 6.15.12 PM.jpeg").isoformat()
    '2019-07-04T18:15:12'
    >>> time_in_name("IMG-20190704-WA0001.jpg"), time_in_name("PXL_20190704_181512345.jpg")
    (None, None)
    """
    name = PurePosixPath(path).name
    for match in () if _UTC_NAME.match(name) else _STAMP.finditer(name):
        year, _, month, day, hour, _, minute, second, half = match.groups()
        if half is not None:
            if not 1 <= int(hour) <= 12:
                continue
            hour = str(int(hour) % 12 + (12 if half in "pP" else 0))
        with suppress(Implausible):  # digits that are not a date
            stamp = moment(f"{year}-{month}-{day} {hour}:{minute}:{second}")
            return None if stamp is None else stamp.clock
    return None


def is_future(year: int) -> bool:
    """Return whether a year is in the future, with a tolerance of a year for time zones and slow clocks."""
    return year > datetime.now().year + 1


def minutes_east(text: str | None) -> int | None:
    """Parse a UTC offset such as `+05:30` into minutes. Return None if it is blank."""
    if text is None or not text.strip(" :"):
        return None
    if text == "Z":
        return 0
    match = re.fullmatch(r"([+-])(\d{1,2}):?([0-5]\d)", text)
    minutes = int(match[2]) * 60 + int(match[3]) if match else 0
    if match is None or minutes > _MAX_OFFSET:
        raise Implausible(f"{quote(text)} is not a UTC offset")
    return -minutes if match[1] == "-" else minutes


def angle(parts: Sequence[float]) -> float:
    """Return degrees from degrees, minutes and seconds; minutes and seconds are optional."""
    text = ", ".join(f"{part:g}" for part in parts)
    if not 1 <= len(parts) <= 3 or not all(map(math.isfinite, parts)) or any(not 0 <= part <= 60 for part in parts[1:]):
        raise Implausible(f"({text}) is not an angle")
    size = sum(abs(part) / 60**power for power, part in enumerate(parts))
    return -size if parts[0] < 0 else size


def place(lat: float, lon: float) -> tuple[float, float]:
    """Return latitude and longitude in degrees; raise `Implausible` unless they are a plausible place."""
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise Implausible(f"{lat:g},{lon:g} is not on the globe")
    if abs(lat) < _NULL_ISLAND and abs(lon) < _NULL_ISLAND:
        raise Implausible("0,0 is where a camera without a fix says it is")
    return lat, lon


def height(metres: float, reference: str | None = None) -> float:
    """Return an altitude in metres, below sea level if the reference of EXIF is 1 or 3; or raise `Implausible`."""
    if math.isnan(metres):
        raise Implausible("is not a number")
    if reference in ("1", "3"):
        metres = 0 - metres  # -x would be -0.0 for 0
    if not _MIN_ALTITUDE <= metres <= _MAX_ALTITUDE:
        raise Implausible(f"{metres:.10g} m is not a plausible altitude")
    return metres


def stars(value: object) -> int | None:
    """Parse a rating from 0 to 5 stars. Return None if it is blank."""
    if value is None or value == "":
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, ZeroDivisionError):
        raise Implausible(f"{quote(value)} is not a number of stars") from None
    if number not in range(6):
        raise Implausible(f"{number:g} is not one of 0 to 5 stars")
    return int(number)


def _is_printable(character: str) -> bool:
    # Excludes control characters, surrogates, unassigned code points, the replacement character and BOMs.
    return character in "\n\t" or (
        unicodedata.category(character) not in ("Cc", "Cs", "Cn") and character not in "\ufffd\ufeff"
    )
