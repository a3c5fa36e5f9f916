"""EXIF in its JSON form, made from real photographs as crawlers make it."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import exifread
import pytest
from PIL import ExifTags
from PIL.TiffImagePlugin import IFDRational

from mascot.bench.prepare import exif_text
from mascot.bench.prepare.outcomes import Loss
from mascot.photos import exif
from mascot.photos.exif import Exif
from mascot.photos.images import open_image

GOOD: dict[str, Any] = {
    "Image Model": "X100",
    "EXIF DateTimeOriginal": "2018:01:11 13:09:38",
    "GPS GPSLatitudeRef": "N",
    "GPS GPSLatitude": "[48, 51, 2953/100]",
    "GPS GPSLongitudeRef": "W",
    "GPS GPSLongitude": "[2, 17, 4019/100]",
}
PLACE = (48 + 51 / 60 + 29.53 / 3600, -(2 + 17 / 60 + 40.19 / 3600))


def stored_text(path: Path) -> str:
    """The EXIF of a file as image crawlers store it: every tag by its printed name, with its printed value.

    In a few files exifread finds nothing; there it is what our own reader finds, printed in the same form.
    """
    with open(path, "rb") as stream:
        tags = exifread.process_file(stream, details=False)
    names = {name: str(value).strip() for name, value in tags.items() if value is not None}
    if not names:
        with open_image(path) as image:
            content = exif.read(image)
        names = {f"EXIF {ExifTags.TAGS.get(tag, tag)}": _printed(value) for tag, value in content.exposure.items()}
        names |= {f"GPS {ExifTags.GPSTAGS.get(tag, tag)}": _printed(value) for tag, value in content.gps.items()}
    return json.dumps(names)


def _printed(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_printed, value))}]"
    if isinstance(value, IFDRational):
        return f"{value.numerator}/{value.denominator}" if value.denominator != 1 else str(value.numerator)
    return str(value)


def parsed(**changes: Any) -> tuple[tuple[float, float], str]:
    tags = exif_text.parse(json.dumps({**GOOD, **{name.replace("_", " "): value for name, value in changes.items()}}))
    return exif_text.place(tags), exif_text.taken(tags).isoformat()


def test_real_photographs_have_the_place_and_time_of_their_manifest(data: Path) -> None:
    """A coordinate such as [51, 45, 4467/100] is not a Python literal, so the released study dropped it."""
    with open(data / "photos_manifest.csv", newline="", encoding="utf-8") as stream:
        manifest = list(csv.DictReader(stream))
    published = correct = 0
    for row in manifest:
        text = stored_text(data / "photos" / row["file"])
        tags = exif_text.parse(text)
        assert exif_text.taken(tags).strftime("%Y:%m:%d %H:%M:%S") == row["DateTimeOriginal"], row["file"]
        if row["file"] == "pypi-geopic__int_long_tag.jpg":
            with pytest.raises(Loss, match="GPSLongitudeRef"):
                exif_text.place(tags)
            continue
        expected = (float(row["lat"]), float(row["lon"]))
        assert exif_text.place(tags) == pytest.approx(expected, abs=1e-5), row["file"]
        correct += 1
        with contextlib.suppress(Loss):
            exif_text.place(exif_text.parse(text, fractions=False), "either")
            published += 1
    assert (published, correct, len(manifest)) == (5, 94, 95)


def test_a_coordinate_of_zero_is_dropped_as_published() -> None:
    tags = exif_text.parse(json.dumps({**GOOD, "GPS GPSLongitude": "[0, 0, 0]"}))
    assert exif_text.place(tags) == pytest.approx((PLACE[0], 0))
    with pytest.raises(Loss, match="no place"):
        exif_text.place(tags, "either")


def test_the_time_of_the_last_change_is_a_fallback() -> None:
    changed = Exif(picture={ExifTags.Base.DateTime: "2019:02:03 04:05:06"})
    assert exif_text.taken(changed, fallback=True).isoformat() == "2019-02-03T04:05:06"
    with pytest.raises(Loss, match="no time"):
        exif_text.taken(changed)
    both = Exif(changed.picture, {ExifTags.Base.DateTimeOriginal: "2018:01:01 00:00:01"})
    assert exif_text.taken(both, fallback=True).year == 2018


@pytest.mark.parametrize(
    "angle",
    [
        "[48, 51, 2953/100]", [48, 51, 29.53], ["48", "51", "2953/100"], [[48, 1], [51, 1], [2953, 100]],
        "48, 51, 29.53", "(48, 51, 29.53)", "[48/1, 51/1, 2953 / 100]", "[48, 51.49216666667]", "48.85820277778",
        48.85820277778, [48.85820277778],
    ],
)  # fmt: skip
def test_angles_in_all_spellings(angle: Any) -> None:
    place, taken = parsed(GPS_GPSLatitude=angle)
    assert place == pytest.approx(PLACE)
    assert taken == "2018-01-11T13:09:38"


def test_names_without_their_block_and_noise_around_letters() -> None:
    plain = {name.rpartition(" ")[2]: value for name, value in GOOD.items()}
    tags = exif_text.parse(json.dumps(plain))
    assert exif_text.place(tags) == pytest.approx(PLACE)
    assert exif_text.taken(tags).year == 2018
    both = exif_text.parse(json.dumps({"Thumbnail DateTimeOriginal": "1999:01:01 00:00:01", **GOOD}))
    assert exif_text.taken(both).year == 2018
    assert exif_text.place(exif_text.parse(json.dumps(json.dumps(GOOD)))) == pytest.approx(PLACE)
    assert parsed(GPS_GPSLatitudeRef=" s\0", GPS_GPSLongitudeRef=["E"])[0] == pytest.approx((-PLACE[0], -PLACE[1]))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"GPS_GPSLatitude": "[97, 0, 0]"}, "out of range"),
        ({"GPS_GPSLongitude": "[181, 0, 0]"}, "out of range"),
        *(({"GPS_GPSLatitude": angle}, "no place") for angle in ("[48, 61, 0]", "[48, 51, 0/0]", "[]", None)),
        ({"GPS_GPSLatitude": "[1, 2, 3, 4]"}, "no place"),
        ({"GPS_GPSLatitude": "[0, 0, 0]", "GPS_GPSLongitude": "[0, 0, 0]"}, "no place"),
        *(({"GPS_GPSLatitudeRef": letter}, "no place") for letter in ("", "E", None)),
        *(({"EXIF_DateTimeOriginal": time}, "no time") for time in ("0000:00:00 00:00:00", "    :  :     :  :  ")),
        *(({"EXIF_DateTimeOriginal": time}, "no time") for time in ("2018:01:11", "2018:13:11 10:00:00")),
        *(({"EXIF_DateTimeOriginal": time}, "no time") for time in ("3018:01:11 10:00:00", 2018, None)),
    ],
)
def test_what_means_nothing_is_lost_for_a_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Loss) as caught:
        parsed(**changes)
    assert caught.value.reason == reason


@pytest.mark.parametrize("text", ["", "{}", "null", "[]", "{bad", '"text"', "3", "[" * 100_000])
def test_what_is_no_record_at_all(text: str) -> None:
    with pytest.raises(Loss, match="no metadata"):
        exif_text.parse(text)
