"""EXIF as image crawlers store it: a JSON object of tag names and printed values."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from PIL import ExifTags

from mascot.bench.prepare.outcomes import Loss
from mascot.photos.metadata import validate
from mascot.photos.metadata.exif import Exif
from mascot.photos.metadata.validate import Implausible

_BASE, _GPS = ExifTags.Base, ExifTags.GPS
_LARGEST = {"GPSLatitude": 90, "GPSLongitude": 180}  # degrees
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:\s*/\s*\d+)?")


def parse(text: str, fractions: bool = True) -> Exif:
    """Return the tags of place and time. Names may have their block in front (`GPS GPSLatitude`) or not.

    Without `fractions` a coordinate must be a Python literal, as in the published study; ``[51, 4467/100]`` is not one.
    """
    try:
        content = json.loads(text)
        content = json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError) as error:
        raise Loss("no metadata", f"not JSON: {error}") from None
    if not isinstance(content, dict) or not content:
        raise Loss("no metadata")
    tags: dict[str, Any] = {}
    for name in sorted(content, key=lambda name: not name.startswith(("EXIF ", "GPS "))):
        tags.setdefault(name.rpartition(" ")[2], content[name])
    gps: dict[int, Any] = {}
    for name in _LARGEST:
        gps[_GPS[f"{name}Ref"]] = _text(tags.get(f"{name}Ref"))
        gps[_GPS[name]] = tuple(_numbers(tags.get(name)) if fractions else _literal(name, tags.get(name, ())))
    return Exif(exposure={_BASE.DateTimeOriginal: _text(tags.get("DateTimeOriginal"))}, gps=gps)


def taken(tags: Exif, fallback: bool = False) -> datetime:
    """Return the time of the photograph; `fallback` takes DateTime (tag 306) if DateTimeOriginal is missing."""
    try:
        moment = tags.original()
        if moment is None and fallback:
            moment = Exif(exposure={_BASE.DateTimeOriginal: tags.picture.get(_BASE.DateTime)}).original()
    except Implausible as wrong:
        raise Loss("no time", str(wrong)) from None
    if moment is None:
        raise Loss("no time")
    return moment.clock


def place(tags: Exif, zero: str = "both") -> tuple[float, float]:
    """Return latitude and longitude in degrees; `zero` refuses a place if ``"both"`` or ``"either"`` is 0."""
    try:
        for name, largest in _LARGEST.items():
            angle = tags.gps.get(_GPS[name])
            if not angle or not tags.gps.get(_GPS[f"{name}Ref"]):
                raise Loss("no place", f"no {name} or {name}Ref")
            degrees = validate.angle(angle)
            if abs(degrees) > largest:
                raise Loss("out of range", f"{name} {degrees:g}")
            if zero == "either" and degrees == 0:
                raise Loss("no place", f"{name} is [0, 0, 0]")
        return cast("tuple[float, float]", tags.place())  # both angles are there
    except Implausible as wrong:
        raise Loss("no place", str(wrong)) from None


def _text(value: Any) -> str | None:
    while isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if len(value) else None
    return value.strip() if isinstance(value, str) else None


def _literal(name: str, value: Any) -> list[float]:
    try:
        return [float(number) for number in (ast.literal_eval(value) if isinstance(value, str) else value)]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Loss("no whole numbers", f"{name} {value!r:.60}") from None


def _numbers(value: Any) -> list[float]:
    """Return the numbers of `[48, 51, 2953/100]`: text, or a list of numbers, texts or pairs."""
    if isinstance(value, str):
        return [_ratio(*part.split("/")) for part in _NUMBER.findall(value)]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [float(value)]
    if isinstance(value, Sequence):
        pair = len(value) == 2 and all(isinstance(part, int) for part in value)
        return [_ratio(*value)] if pair else [number for part in value for number in _numbers(part)]
    return []


def _ratio(above: Any, below: Any = 1) -> float:
    try:
        return float(above) / float(below)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return math.nan
