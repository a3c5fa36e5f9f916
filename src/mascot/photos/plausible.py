"""What a written value means: text, a moment, a place, or `Wrong` with the reason why it means nothing."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

LONGEST_TEXT = 10_000  # characters of a caption
LONGEST_LINE = 500  # characters of a title, a keyword or a name
MOST_KEYWORDS = 1000
_LONGEST_READ = LONGEST_TEXT + 100  # a little more, so that it shows whether something was cut off
_LONGEST_BYTES = 4 * _LONGEST_READ
_FIRST_YEAR = 1826  # the year of the oldest photograph that survives
_NULL_ISLAND = 0.001  # degrees around 0,0, where there is open sea
_DEEPEST, _HIGHEST = -450, 100_000  # metres: the shore of the Dead Sea lies at -430
_WIDEST_OFFSET = 15 * 60  # minutes; clocks on Earth go from -12 to +14 hours

_MOMENT = re.compile(
    r"(\d{4})(?:[:/.-] ?(\d{1,2})(?:[:/.-] ?(\d{1,2})"
    r"(?:[ T]+(\d{1,2}): ?(\d{1,2})(?:: ?(\d{1,2})(?:[.,](\d+))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?)?"
)
_NEVER_SET = {datetime(2002, 12, 8, 12), datetime(1970, 1, 1)}  # what phones write that do not know the time

_FILLER = re.compile(
    r"""
    (?:[\w-]+\ )*digital\ (?:still\ )?camera      # OLYMPUS DIGITAL CAMERA, KODAK Digital Still Camera
    | sony\ dsc | samsung(?:\ camera\ pictures)? | exif_jpeg_picture | \<digimax.*\> | created\ by\ imlib.*
    | default | untitled | none | null | n/?a | unknown | image | picture | photo | camera
    | (?:oz)?nor(?:wo)? | r?hdr(?:pl)? | sdr(?:_hdrb)? | cof | dav | edf | mde(?:_soft)? | [bfr]bt | btf(?:hdr|mdn)?
    | ptr | qrf | rpt | burst | frem                            # what some phones call their modes
    | dcim[\\/].* | [^\s]+\.(?:jpe?g|heic|heif|png|tiff?|dng|webp)   # the path or the name of the file
    | \{.*\}                                                    # a record for programs
    | [!-/:-@\[-`{-~\s]+                                        # punctuation alone
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


class Wrong(ValueError):
    """A value that is there but means nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A clock as it stood where the photograph was taken, and what the file says of its offset."""

    clock: datetime
    offset: str | None


def shown(value: object) -> str:
    """A value as a message quotes it, cut to a readable length."""
    quoted = repr(value[:60] if isinstance(value, (str, bytes)) else value)
    return quoted if len(quoted) <= 60 else quoted[:56] + "..." + quoted[-1]


def decoded(value: object) -> str | None:
    """Text of unknown encoding: UTF-8 where it is that, else Western European. None if blank, or no text at all."""
    if isinstance(value, str):
        value = value[:_LONGEST_BYTES]
        try:
            raw = value.encode("latin-1")  # as Pillow decodes EXIF text, whatever it was written in
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
    """Text without nulls, control characters and outer blanks; None if nothing is left.

    Little more than the first `LONGEST_TEXT` characters are looked at, here and in all that is built on this.
    """
    text = next((part for part in text[:_LONGEST_READ].split("\0") if part.strip()), "")
    text = re.sub(r"\r\n?", "\n", text).strip()
    good = "".join(mark for mark in text if _is_writing(mark))
    if len(text) - len(good) > len(text) / 4:
        raise Wrong(f"{shown(text)} is no readable text")
    return unicodedata.normalize("NFC", good).strip() or None


def line(text: str | None) -> str | None:
    """The same on one line of at most `LONGEST_LINE` characters, single blanks between words."""
    return " ".join(text[:LONGEST_LINE].split()) or None if text else None


def told(text: str | None, *names: str | None) -> str | None:
    """What a person wrote; None for what cameras write by themselves, such as their own `names`."""
    if text is None or _FILLER.fullmatch(text):
        return None
    return None if text.casefold() in {name.casefold() for name in names if name} else text


def moment(text: str | None, fraction: str | None = None, offset: str | None = None) -> Moment | None:
    """A clock time such as `2018:01:11 13:09:38` or `2018-01-11T13:09:38.321+02:00`; None if blank."""
    if text is None or not text.strip(" :"):
        return None  # blanks and colons are how EXIF writes "not known"
    found = _MOMENT.fullmatch(text)
    if not found:
        raise Wrong(f"{shown(text)} is no date")
    *numbers, own_fraction, own_offset = found.groups()
    if numbers[3] is None:
        raise Wrong(f"{shown(text)} has no time of day")
    if own_offset == "Z":
        raise Wrong(f"{shown(text)} is the time in Greenwich, not on the spot")
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    digits = re.findall(r"^\d*", own_fraction or fraction or "")[0]
    try:
        clock = datetime(year, month, day, hour, minute, second, int(f"{digits:0<6}"[:6]))
    except ValueError:
        raise Wrong(f"{shown(text)} is no date") from None
    if clock.replace(microsecond=0) in _NEVER_SET:
        raise Wrong(f"{shown(text)} is what a camera says whose clock was never set")
    if clock.year < _FIRST_YEAR:
        raise Wrong(f"{shown(text)} is before there was photography")
    if is_future(clock.year):
        raise Wrong(f"{shown(text)} is in the future")
    return Moment(clock, own_offset or offset)


def is_future(year: int) -> bool:
    """Whether a year cannot have come yet, by this machine's clock; time zones and slow clocks get a year."""
    return year > datetime.now().year + 1


def minutes_east(text: str | None) -> int | None:
    """An offset such as `+05:30` in minutes; None if blank."""
    if text is None or not text.strip(" :"):
        return None
    if text == "Z":
        return 0
    found = re.fullmatch(r"([+-])(\d{1,2}):?(\d{2})", text)
    minutes = int(found[2]) * 60 + int(found[3]) if found else _WIDEST_OFFSET + 1
    if not found or minutes > _WIDEST_OFFSET or int(found[3]) > 59:
        raise Wrong(f"{shown(text)} is no offset from Greenwich")
    return -minutes if found[1] == "-" else minutes


def angle(parts: Sequence[float]) -> float:
    """Degrees from degrees, minutes and seconds, of which the later ones may be absent."""
    written = ", ".join(f"{part:g}" for part in parts)
    if not 1 <= len(parts) <= 3 or not all(map(math.isfinite, parts)) or any(not 0 <= part <= 60 for part in parts[1:]):
        raise Wrong(f"({written}) is no angle")
    size = sum(abs(part) / 60**power for power, part in enumerate(parts))
    return -size if parts[0] < 0 else size


def place(lat: float, lon: float) -> tuple[float, float]:
    """Latitude and longitude, if that is a place on the globe."""
    if not (abs(lat) <= 90 and abs(lon) <= 180):
        raise Wrong(f"{lat:g},{lon:g} is not on the globe")
    if abs(lat) < _NULL_ISLAND and abs(lon) < _NULL_ISLAND:
        raise Wrong("0,0 is where a camera without a fix says it is")
    return lat, lon


def height(metres: float) -> float:
    """An altitude, if there can be one."""
    if math.isnan(metres):
        raise Wrong("is no number")
    if not _DEEPEST <= metres <= _HIGHEST:
        raise Wrong(f"{metres:.10g} m is no height of a place")
    return metres


def stars(value: object) -> int | None:
    """A rating from 0 to 5."""
    if value is None or value == "":
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, ZeroDivisionError):
        raise Wrong(f"{shown(value)} is no number of stars") from None
    if number not in range(6):
        raise Wrong(f"{number:g} is not one of 0 to 5 stars")
    return int(number)


def _is_writing(mark: str) -> bool:
    # Other controls, surrogates, and the marks of failed decoding.
    return mark in "\n\t" or (unicodedata.category(mark) not in ("Cc", "Cs", "Cn") and mark not in "\ufffd\ufeff")
