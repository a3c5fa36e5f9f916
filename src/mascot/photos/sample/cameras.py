"""The cameras of the two travellers, and how each names its files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Camera:
    make: str
    model: str
    lens: str
    focal_mm: float
    artist: str  # "" for the phones, which do not know their owner
    first: date
    last: date
    pattern: str  # of its file names
    start: int  # where its counter stood when the first trip began


_INES, _JONAS = "Ines Moreira", "Jonas Brandt"

CAMERAS = (
    Camera("Canon", "Canon EOS 80D", "EF-S18-135mm f/3.5-5.6 IS USM", 35.0, _INES,
           date(2016, 1, 1), date(2019, 6, 30), "IMG_{number:04d}.JPG", 1204),
    Camera("FUJIFILM", "X-T3", "XF18-55mmF2.8-4 R LM OIS", 23.0, _INES,
           date(2019, 7, 1), date(2024, 12, 31), "DSCF{number:04d}.JPG", 312),
    Camera("SONY", "ILCE-7M3", "FE 24-105mm F4 G OSS", 50.0, _JONAS,
           date(2018, 1, 1), date(2024, 12, 31), "DSC{number:05d}.JPG", 88),
    Camera("Apple", "iPhone 7", "iPhone 7 back camera 3.99mm f/1.8", 3.99, "",
           date(2016, 1, 1), date(2021, 8, 31), "IMG_{number:04d}.jpg", 5),
    Camera("samsung", "SM-G950F", "Samsung Galaxy S8 rear camera 4.2mm f/1.7", 4.2, "",
           date(2017, 5, 1), date(2021, 12, 31), "{taken:%Y%m%d_%H%M%S}.jpg", 0),
    Camera("Google", "Pixel 6", "Pixel 6 back camera 6.81mm f/1.85", 6.81, "",
           date(2021, 9, 1), date(2024, 12, 31), "PXL_{taken:%Y%m%d_%H%M%S}{milli:03d}.jpg", 0),
)  # fmt: skip


def file_name(camera: Camera, taken: datetime, number: int) -> str:
    """The name of the `number`th picture of a camera."""
    return camera.pattern.format(number=camera.start + number, taken=taken, milli=taken.microsecond // 1000)
