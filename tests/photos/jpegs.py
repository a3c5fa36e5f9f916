"""Writing real JPEGs with EXIF for tests."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from PIL import ExifTags, Image

_CITIES = {"Lisbon": (38.7223, -9.1393), "Tokyo": (35.6895, 139.6917), "Sydney": (-33.8688, 151.2093),
           "Porto": (41.1496, -8.611), "Paris": (48.8566, 2.3522)}  # fmt: skip


def write_jpeg(
    path: Path,
    caption: str | None = None,
    city: str | None = None,
    taken: str | None = None,
    camera: str | None = "X100",
    colour: tuple[int, int, int] = (90, 120, 200),
    place: tuple[float, float] | None = None,
) -> Path:
    """A small photograph that says what it is told to say."""
    exif = Image.Exif()
    if caption:
        exif[ExifTags.Base.ImageDescription] = caption
    if camera:
        exif[ExifTags.Base.Model] = camera
    if taken:
        clock = f"{datetime.fromisoformat(taken):%Y:%m:%d %H:%M:%S}"
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = clock
    where = place or (_CITIES[city] if city else None)
    if where:
        gps = exif.get_ifd(ExifTags.IFD.GPSInfo)
        gps[ExifTags.GPS.GPSLatitudeRef] = "N" if where[0] >= 0 else "S"
        gps[ExifTags.GPS.GPSLatitude] = (abs(where[0]), 0.0, 0.0)
        gps[ExifTags.GPS.GPSLongitudeRef] = "E" if where[1] >= 0 else "W"
        gps[ExifTags.GPS.GPSLongitude] = (abs(where[1]), 0.0, 0.0)
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (48, 32), colour)
    # Distinct bytes for distinct names: equal content would be recognised as a copy.
    for i, byte in enumerate(path.name.encode("utf-8", "surrogateescape")[:48]):
        image.putpixel((i, 0), (byte, 255 - byte, 128))
    image.save(path, "JPEG", exif=exif, quality=95)
    return path


def small_library(root: Path) -> Path:
    """Thirty photographs of three cities: a burst, a trip, and some that say little."""
    # Unlike their neighbours, so that a search shows each of them.
    colours = ((220, 30, 30), (30, 200, 40), (30, 60, 220), (230, 220, 40))
    for i in range(12):
        taken = f"2019-07-14T20:15:{i:02d}"
        write_jpeg(root / f"Lisbon/burst {i}.jpg", "Sunset over the water", "Lisbon", taken, colour=colours[i % 4])
    for i, hour in enumerate((6, 9, 12, 15, 18, 21)):
        caption, taken = "Sunset and tower" if i % 2 else "Morning market", f"2020-11-0{i + 1}T{hour:02d}:30:00"
        write_jpeg(root / f"Tokyo/t{i}.jpg", caption, "Tokyo", taken, "Pixel 5", (20 * i, 90, 60))
    for i, hour in enumerate((5, 8, 11, 14, 17, 20)):
        caption, taken = "Sunset over the harbour water", f"2021-01-0{i + 1}T{hour:02d}:00:00"
        write_jpeg(root / f"Sydney/s{i}.jpg", caption, "Sydney", taken, "Pixel 5", (200, 30 * i, 60))
    for i in range(6):
        write_jpeg(root / f"plain{i}.jpg", camera=None, colour=(10, 40 * i, 10))
    return root
