"""EXIF as image crawlers store it: a JSON object of tag names and printed values."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from PIL import ExifTags

from mascot.bench.prepare.outcomes import Loss
from mascot.photos.metadata.exif import Exif

_BASE = ExifTags.Base
_LARGEST = {"GPSLatitude": 90, "GPSLongitude": 180}  # degrees
_NEGATIVE = {"GPSLatitude": "S", "GPSLongitude": "W"}
_DATE = re.compile(r"(\d{4})(?:\D(\d{1,2})\D(\d{1,2}))?")
_CLOCK = re.compile(r"[ T]+(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?")


def read_tags(text: str) -> dict[str, Any]:
    """Return the tags by name, such as ``GPS GPSLatitude``."""
    try:
        content = json.loads(text)
        content = json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError) as error:
        raise Loss("no metadata", f"not JSON: {error}") from None
    if not isinstance(content, dict) or not content:
        raise Loss("no metadata")
    return content


def study_place(tags: Mapping[str, Any]) -> tuple[float, float]:
    """Return latitude and longitude in degrees as the published study read them, perhaps out of range.

    Only tags with their usual prefix are read. A coordinate is a Python literal of three numbers, of any size, and
    ``[51, 45, 4467/100]`` is not one. An empty reference means north or east.
    """
    angles = []
    for name, letter in _NEGATIVE.items():
        value, reference = tags.get(f"GPS {name}"), tags.get(f"GPS {name}Ref")
        if value is None or reference is None:
            raise Loss("no place", f"no {name} or {name}Ref")
        try:
            parts = [float(number) for number in (ast.literal_eval(value) if isinstance(value, str) else value)]
        except (ValueError, TypeError, SyntaxError, OverflowError, MemoryError, RecursionError):
            raise Loss("no whole numbers", f"{name} {value!r:.60}") from None
        if len(parts) != 3 or not any(parts):
            raise Loss("no place", f"{name} is {value!r:.60}")
        angle = parts[0] + parts[1] / 60 + parts[2] / 3600
        angles.append(-angle if _text(reference) == letter else angle)
    return angles[0], angles[1]


def study_time(value: Any, clock_alone: bool = False) -> datetime:
    """Return a time as the published study read it: a date without a time is 00:00, and no date is implausible.

    With `clock_alone` the hours and minutes are read, and the date may be missing. A date that is not in the calendar
    becomes 1 January of its year, of year 1 at the earliest: the benchmark uses only the time of day.
    """
    text = _text(value) or ""
    date, clock = _DATE.match(text), _CLOCK.search(text)
    if (clock if clock_alone else date) is not None:
        year, month, day = (int(part or 0) for part in (date.groups() if date else (1, 1, 1)))
        hour, minute, second = (int(part or 0) for part in (clock.groups() if clock else (0, 0, 0)))
        for numbers in ((year, month, day), (max(year, 1), 1, 1)):
            with suppress(ValueError):
                return datetime(*numbers, hour, minute, min(second, 59))
    raise Loss("no time", f"{text!r:.60}" if text else "")


def study_clock(tags: Exif) -> datetime:
    """Return hours and minutes of DateTimeOriginal, or if it is missing of DateTime (tag 306), whatever the date."""
    return study_time(tags.exposure.get(_BASE.DateTimeOriginal) or tags.picture.get(_BASE.DateTime), clock_alone=True)


def check_range(name: str, degrees: float) -> None:
    """Refuse a ``GPSLatitude`` or ``GPSLongitude`` that is not on the globe."""
    if not abs(degrees) <= _LARGEST[name]:
        raise Loss("out of range", f"{name} {degrees:g}")


def _text(value: Any) -> str | None:
    while isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if len(value) else None
    return value.strip() if isinstance(value, str) else None
