"""The rows of the sample library, read from postcards.csv."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from io import StringIO
from random import Random
from typing import Any, Literal

from mascot.errors import require

Tag = Literal["right", "absent", "wrong"]


@dataclass(frozen=True, slots=True)
class SampleCamera:
    """A camera as EXIF describes it. `artist` is "" for phones."""

    make: str
    model: str
    lens: str
    focal_mm: float
    artist: str = ""


CAMERAS = {
    camera.model: camera
    for camera in (
        SampleCamera("Canon", "Canon EOS 80D", "EF-S18-135mm f/3.5-5.6 IS USM", 35.0, "Ines Moreira"),
        SampleCamera("FUJIFILM", "X-T3", "XF18-55mmF2.8-4 R LM OIS", 23.0, "Ines Moreira"),
        SampleCamera("SONY", "ILCE-7M3", "FE 24-105mm F4 G OSS", 50.0, "Jonas Brandt"),
        SampleCamera("Apple", "iPhone 7", "iPhone 7 back camera 3.99mm f/1.8", 3.99),
        SampleCamera("samsung", "SM-G950F", "Samsung Galaxy S8 rear camera 4.2mm f/1.7", 4.2),
        SampleCamera("Google", "Pixel 6", "Pixel 6 back camera 6.81mm f/1.85", 6.81),
    )
}


@dataclass(frozen=True, slots=True)
class Postcard:
    """One file of the sample: its true place and time, and whether its metadata has them."""

    path: str  # relative, with forward slashes
    picture: str  # the file in pictures/ that it shows, without the extension
    view: str  # equal for the frames of one burst
    subject: str
    place: str
    city: str
    country: str  # ISO 3166-1 alpha-2
    lat: float
    lon: float
    metres: float  # above sea level
    taken: datetime  # local time, without a zone
    offset_h: float  # hours ahead of UTC
    sun: float  # altitude of the sun in degrees
    camera: SampleCamera
    caption: str | None
    keywords: tuple[str, ...]
    rating: int | None
    gps: Tag  # "wrong" is 0, 0
    clock: Tag  # "wrong" is 0000:00:00 00:00:00
    orientation: int  # EXIF orientation of the stored picture: 1, 3, 6 or 8
    portrait: bool


def plan(count: int = 600, seed: int = 0) -> list[Postcard]:
    """Return the postcards of a sample library, sorted by path.

    The table has 600 rows. A smaller `count` selects some of them by `seed`, and a smaller selection is part of every
    larger one; a larger `count` repeats rows under new names. Another `seed` also gives other views of the pictures.
    """
    require(count >= 1, "sample.count", "must be >= 1", count)
    rows = list(_table())
    Random(f"{seed}/order").shuffle(rows)
    cards = []
    for number in range(count):
        card = rows[number % len(rows)]
        path, copy = card.path, number // len(rows)
        if copy:
            stem, _, extension = path.rpartition(".")
            path = f"{stem} ({copy + 1}).{extension}"
        cards.append(replace(card, path=path, view=f"{seed}/{card.view}"))
    return sorted(cards, key=lambda card: card.path)


_CONVERSIONS: dict[str, Callable[[str], Any]] = {  # of columns that are not text
    **dict.fromkeys(("lat", "lon", "metres", "offset_h", "sun"), float),
    "taken": datetime.fromisoformat,
    "camera": CAMERAS.__getitem__,
    "caption": lambda text: text or None,
    "keywords": lambda text: tuple(text.split(";")) if text else (),
    "rating": lambda text: int(text) if text else None,
    "orientation": int,
    "portrait": lambda text: text == "yes",
}


@cache
def _table() -> tuple[Postcard, ...]:
    text = (files("mascot.photos.sample") / "postcards.csv").read_text(encoding="utf-8")
    return tuple(
        Postcard(**{column: _CONVERSIONS.get(column, str)(value) for column, value in row.items()})
        for row in csv.DictReader(StringIO(text))
    )
