"""EXIF as image crawlers store it: a JSON object of tag names and printed values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import ExifTags

from mascot.bench.prepare.lost import Lost
from mascot.photos import exif, plausible
from mascot.photos.exif import Exif
from mascot.photos.plausible import Moment, Wrong

_BASE, _GPS = ExifTags.Base, ExifTags.GPS
_TEXTS = {
    "DateTimeOriginal": _BASE.DateTimeOriginal,
    "SubSecTimeOriginal": _BASE.SubsecTimeOriginal,
    "OffsetTimeOriginal": _BASE.OffsetTimeOriginal,
}
_REFERENCES = {"GPSLatitudeRef": _GPS.GPSLatitudeRef, "GPSLongitudeRef": _GPS.GPSLongitudeRef}
_ANGLES = {"GPSLatitude": _GPS.GPSLatitude, "GPSLongitude": _GPS.GPSLongitude}
_LARGEST = {_GPS.GPSLatitude: 90, _GPS.GPSLongitude: 180}
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:\s*/\s*\d+)?")


def parse(text: str) -> Exif:
    """The tags of place and time. Names may have their block in front (`GPS GPSLatitude`) or not."""
    try:
        found = json.loads(text)
        found = json.loads(found) if isinstance(found, str) else found
    except (ValueError, RecursionError) as error:
        raise Lost("no metadata", f"not JSON: {error}") from None
    if not isinstance(found, dict) or not found:
        raise Lost("no metadata")
    tags = _by_name(found)
    exposure: dict[int, Any] = {tag: _text(tags[name]) for name, tag in _TEXTS.items() if name in tags}
    gps: dict[int, Any] = {tag: _text(tags[name]) for name, tag in _REFERENCES.items() if name in tags}
    gps |= {tag: tuple(_numbers(tags[name])) for name, tag in _ANGLES.items() if name in tags}
    return Exif(exposure=exposure, gps=gps)


def taken(tags: Exif) -> Moment:
    """When the shutter opened, by the plausibility rules for photographs; raises `Lost`."""
    try:
        found = exif.original(tags)
    except Wrong as wrong:
        raise Lost("no time", str(wrong)) from None
    if found is None:
        raise Lost("no time")
    return found


def place(tags: Exif) -> tuple[float, float]:
    """Latitude and longitude in degrees, by the plausibility rules for photographs; raises `Lost`."""
    missing = [tag for tag in (*_ANGLES.values(), *_REFERENCES.values()) if not tags.gps.get(tag)]
    if missing:
        raise Lost("no place", f"no {_GPS(missing[0]).name}")
    try:
        for tag, largest in _LARGEST.items():
            degrees = plausible.angle(tags.gps[tag])
            if abs(degrees) > largest:
                raise Lost("out of range", f"{_GPS(tag).name} {degrees:g}")
        found = exif.place(tags)
    except Wrong as wrong:
        raise Lost("no place", str(wrong)) from None
    if found is None:
        raise Lost("no place")
    return found


def _by_name(found: Mapping[str, Any]) -> dict[str, Any]:
    """By the tag's own name; the block it belongs to (`EXIF`, `GPS`) goes before any other."""
    tags: dict[str, Any] = {}
    for name in sorted(found, key=lambda name: not name.startswith(("EXIF ", "GPS "))):
        tags.setdefault(name.rpartition(" ")[2], found[name])
    return tags


def _text(value: Any) -> str | None:
    while isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if len(value) else None
    return value.strip() if isinstance(value, str) else None


def _numbers(value: Any) -> list[float]:
    """Numbers of `[48, 51, 2953/100]`, whether that is text, or a list of numbers, texts or pairs."""
    if isinstance(value, str):
        return [_ratio(*part.split("/")) for part in _NUMBER.findall(value)]
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, Mapping):  # a ratio by names
        return [_ratio(*list(value.values())[:2])]
    if isinstance(value, Sequence):
        pair = len(value) == 2 and all(isinstance(part, int) for part in value)
        return [_ratio(*value)] if pair else [number for part in value for number in _numbers(part)]
    return []


def _ratio(above: Any, below: Any = 1) -> float:
    try:
        return float(above) / float(below)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return math.nan
