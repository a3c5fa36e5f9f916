"""What files say: the 95 real photographs against their manifest, files written here, and damaged ones."""

from __future__ import annotations

import csv
import io
import random
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from PIL import ExifTags, Image
from PIL.PngImagePlugin import PngInfo
from PIL.TiffImagePlugin import IFDRational

from mascot.photos.files.images import Unreadable, open_image, upright
from mascot.photos.metadata.exif import camera_name
from mascot.photos.metadata.metadata import Metadata
from mascot.photos.metadata.validate import Implausible, height, human_text
from tests.photos.libraries import read_metadata

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
BASE, GPS = ExifTags.Base, ExifTags.GPS

KYOTO_GPS = {1: "N", 2: (35.0, 1.0, 30.0), 3: "E", 4: (135.0, 46.0, 12.0), 5: b"\x00", 6: 51.5}
KYOTO_EXPOSURE = {
    BASE.DateTimeOriginal: "2019:11:23 17:04:05",
    BASE.SubsecTimeOriginal: "25",
    BASE.OffsetTimeOriginal: "+09:00",
    BASE.LensModel: "XF23mmF2 R WR",
}
KYOTO_PICTURE = {BASE.Make: "FUJIFILM", BASE.Model: "X-T3", BASE.ImageDescription: "Maples"}


def manifest() -> list[dict[str, str]]:
    path = DATA / "photos_manifest.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


REAL: dict[str, dict[str, Any]] = {
    "photoprism__Iceland-sRGB.jpg": {"camera": "NIKON D800E"},
    "pypi-geopic__img_invalid_gps_date.jpg": {"camera": "samsung M-G930F"},  # its first letter is a null byte
    "drewnoakes__Olympus_FE230-X790.jpg": {"camera": "OLYMPUS FE230/X790", "caption": None},
    "photoprism__digikam.jpg": {"width": 500, "height": 375},  # orientation 0, which does not exist
    "photoprism__photoshop.jpg": {"altitude": 0.0},  # "0 below the sea"
    # Its camera is padded with blanks.
    "photoprism__altitude.jpg": {
        "camera": "TCT TCL S950", "problems": ("altitude: 4294967284 m is not a plausible altitude",),
    },
    "pypi-imagereorder__pixel5a.jpg": {"taken": datetime(2023, 9, 3, 9, 36, 43, 90_000), "offset": -360},
    "pypi-geopic__img_categorisee.jpg": {  # stored lying, shown standing
        "title": "Observatoire", "keywords": ("panneau de randonnée (PDIPR)",), "width": 192, "height": 256,
    },
    # Windows wrote the title into ImageDescription too.
    "exifr__IMG_5910.jpg": {"title": "Squirrel at berkely", "caption": "This is a comment", "rating": 3},
    "exifr__iptc-agency-photographer-example.jpg": {"title": "drp2091169d", "rating": 2, "lens": "70.0-200.0 mm f/2.8"},
    "drewnoakes__Samsung_SM-N900A_(Galaxy_Note_3).jpg": {"caption": None},  # binary UserComment
    "pypi-geopic__int_long_tag.jpg": {  # its tag number is damaged
        "lat": None, "lon": None, "problems": ("place: the longitude does not say whether it is E or W",),
    },
}  # fmt: skip


@pytest.mark.skipif(not manifest(), reason="needs the real data set at ../shared/data")
def test_every_real_photograph_gives_the_place_and_the_time_of_the_manifest() -> None:
    assert len(manifest()) == 95
    for row in manifest():
        metadata, fields = read_metadata(DATA / "photos" / row["file"]), REAL.get(row["file"], {})
        taken = datetime.strptime(row["DateTimeOriginal"], "%Y:%m:%d %H:%M:%S")
        assert metadata.taken is not None
        assert metadata.taken.replace(microsecond=0) == taken, row["file"]
        if "lat" not in fields:
            place = (float(row["lat"]), float(row["lon"]))
            assert (metadata.lat, metadata.lon) == pytest.approx(place, abs=1e-4), row["file"]
        assert {field: getattr(metadata, field) for field in fields} == fields, row["file"]
        assert str(metadata.altitude) != "-0.0"
        assert len(set(metadata.keywords)) == len(metadata.keywords)


# Files written here

Tags = dict[int, Any]


def exif_of(gps: Tags | None = None, exposure: Tags | None = None, picture: Tags | None = None) -> Image.Exif:
    exif = Image.Exif()
    exif.update(picture or {})
    for block, tags in ((ExifTags.IFD.Exif, exposure), (ExifTags.IFD.GPSInfo, gps)):
        if tags:
            exif[block] = tags
    return exif


def kyoto() -> Image.Exif:
    return exif_of(KYOTO_GPS, KYOTO_EXPOSURE, KYOTO_PICTURE)


def xmp_of(attributes: str = "", elements: str = "") -> bytes:
    return f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" {attributes}>
{elements}</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>""".encode()


def iptc_of(*sets: tuple[int, bytes]) -> bytes:
    records = b"".join(struct.pack(">BBBH", 0x1C, 2, number, len(value)) + value for number, value in sets)
    body = b"Photoshop 3.0\x00" + b"8BIM\x04\x04\x00\x00" + struct.pack(">I", len(records)) + records
    body += b"\x00" * (len(records) % 2)
    return b"\xff\xed" + struct.pack(">H", len(body) + 2) + body


def saved(format: str = "JPEG", size: tuple[int, int] = (64, 48), **options: Any) -> bytes:
    if isinstance(options.get("exif"), Image.Exif):
        options["exif"] = options["exif"].tobytes()
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(out, format, **options)
    return out.getvalue()


def read(data: bytes) -> Metadata:
    return read_metadata(io.BytesIO(data))


def written(gps: Tags | None = None, exposure: Tags | None = None, picture: Tags | None = None) -> Metadata:
    return read(saved(exif=exif_of(gps, exposure, picture)))


FORMATS = pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])


@FORMATS
def test_every_format_gives_back_its_exif(format: str) -> None:
    metadata = read(saved(format, exif=kyoto()))
    assert (metadata.lat, metadata.lon, metadata.altitude) == pytest.approx((35.025, 135.77, 51.5))
    assert (metadata.taken, metadata.offset) == (datetime(2019, 11, 23, 17, 4, 5, 250_000), 540)
    assert (metadata.camera, metadata.lens, metadata.caption) == ("FUJIFILM X-T3", "XF23mmF2 R WR", "Maples")
    assert (metadata.width, metadata.height, metadata.problems) == (64, 48, ())


@FORMATS
def test_every_format_gives_back_its_xmp(format: str) -> None:
    packet = xmp_of(
        'xmp:Rating="4" exif:GPSLatitude="33,51.3S" exif:GPSLongitude="151,12,34.5E" exif:GPSAltitude="120/10" '
        'exif:GPSAltitudeRef="1" photoshop:DateCreated="2001-02-03T04:05:06.5-07:00"',
        "<dc:title><rdf:Alt><rdf:li xml:lang='de'>Brücke</rdf:li><rdf:li xml:lang='x-default'>Bridge</rdf:li></rdf:Alt>"
        "</dc:title><dc:description>Über dem Hafen 🌉</dc:description>"
        "<dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li> steel </rdf:li><rdf:li>sea</rdf:li></rdf:Bag></dc:subject>",
    )
    options: dict[str, Any] = {"xmp": packet}
    if format == "PNG":
        options = {"pnginfo": PngInfo()}
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", packet.decode())
    elif format == "TIFF":
        options = {"tiffinfo": {700: packet}}
    metadata = read(saved(format, **options))
    place = (-33.855, 151 + 12 / 60 + 34.5 / 3600, -12)
    assert (metadata.lat, metadata.lon, metadata.altitude) == pytest.approx(place)
    assert (metadata.taken, metadata.offset) == (datetime(2001, 2, 3, 4, 5, 6, 500_000), -420)
    assert (metadata.title, metadata.caption) == ("Bridge", "Über dem Hafen 🌉")
    assert (metadata.keywords, metadata.rating, metadata.problems) == (("sea", "steel"), 4, ())


def test_png_with_its_blocks_behind_the_pixels() -> None:
    turned = exif_of(exposure=KYOTO_EXPOSURE, picture={BASE.Orientation: 6}).tobytes().removeprefix(b"Exif\x00\x00")
    text = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(xmp_of('xmp:Rating="4"'))
    data = saved("PNG")
    for kind, body in ((b"eXIf", turned), (b"iTXt", text)):
        chunk = struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        data = data[:-12] + chunk + data[-12:]
    metadata = read(data)
    assert metadata.taken == datetime(2019, 11, 23, 17, 4, 5, 250_000)
    assert (metadata.rating, metadata.width, metadata.height) == (4, 48, 64)
    with open_image(data) as image:
        assert upright(image, 512).size == (48, 64)


def test_iptc_is_read_where_nothing_else_speaks() -> None:
    data = saved()
    segment = iptc_of((5, b"Harvest"), (120, "Getreide für alle".encode()), (25, b"field"), (25, b"Getreide"),
                      (55, b"20020728"), (60, b"155005+0000"))  # fmt: skip
    metadata = read(data[:2] + segment + data[2:])
    words = ("Harvest", "Getreide für alle", ("field", "Getreide"))
    assert (metadata.title, metadata.caption, metadata.keywords) == words
    assert (metadata.taken, metadata.offset) == (datetime(2002, 7, 28, 15, 50, 5), None)  # +0000 means "unknown"
    assert read(saved("TIFF", tiffinfo={33723: b"\x1c\x02\x05\x00\x07Harvest"})).title == "Harvest"
    segment = iptc_of((5, b"Harvest"), (25, b"field")).replace(b"\x00\x05field", b"\x00\x55field")
    cut = read(data[:2] + segment + data[2:])
    assert (cut.title, cut.keywords) == ("Harvest", ())


def test_people_s_words_come_from_programs_and_measurements_from_the_camera() -> None:
    packet = xmp_of(
        'xmp:Rating="5" exif:GPSLatitude="1,0N" exif:GPSLongitude="1,0E" exif:DateTimeOriginal="2001-01-01T00:00:01"',
        "<dc:description><rdf:Alt><rdf:li>Told by a program</rdf:li></rdf:Alt></dc:description>",
    )
    picture = {**KYOTO_PICTURE, BASE.Rating: 2}
    metadata = read(saved(exif=exif_of(KYOTO_GPS, KYOTO_EXPOSURE, picture), xmp=packet))
    assert (metadata.caption, metadata.rating) == ("Told by a program", 5)
    assert (metadata.lat, metadata.taken) == (pytest.approx(35.025), datetime(2019, 11, 23, 17, 4, 5, 250_000))
    wrong = exif_of(KYOTO_GPS | {2: (91.0, 0.0, 0.0)})
    metadata = read(saved(exif=wrong, xmp=xmp_of('exif:GPSLatitude="48.5" exif:GPSLongitude="-9.25"')))
    assert (metadata.lat, metadata.lon, metadata.problems) == (48.5, -9.25, ()), "a wrong place gives way to the next"


WINDOWS = {
    BASE.XPTitle: "Titel\0".encode("utf-16-le"),
    BASE.XPComment: "第一 comment\0".encode("utf-16-le"),
    BASE.XPKeywords: "lake; Éte ;;lake\0".encode("utf-16-le"),
}


@pytest.mark.parametrize(
    ("picture", "exposure", "fields"),
    [
        (WINDOWS, {}, {"title": "Titel", "caption": "第一 comment", "keywords": ("lake", "Éte")}),
        ({}, {BASE.UserComment: b"ASCII\0\0\0At the lake\0\0"}, {"caption": "At the lake"}),
        ({}, {BASE.UserComment: b"UNICODE\0" + "Am See".encode("utf-16")}, {"caption": "Am See"}),
        ({}, {BASE.UserComment: b"ASCII\0\0\0\n\0\0\0JKJK\x03\xab"}, {"caption": None}),
        ({BASE.ImageDescription: "Zürich, 東京".encode()}, {}, {"caption": "Zürich, 東京"}),
        ({BASE.ImageDescription: "Zürich".encode("latin-1")}, {}, {"caption": "Zürich"}),
        ({BASE.ImageDescription: b"\0\0Lake\0\0rest"}, {}, {"caption": "Lake"}),
        ({BASE.ImageDescription: b"\x01\x02\x03\x80\x81abc"}, {}, {"caption": None}),
        ({}, {BASE.LensModel: "0.0 mm f/0.0"}, {"lens": None}),
        (
            {},
            {BASE.DateTimeOriginal: "    :  :     :  :  ", BASE.OffsetTimeOriginal: "   :  "},  # "unknown"
            {"taken": None, "offset": None, "problems": ()},
        ),
    ],
)
def test_fields_of_exif(picture: Tags, exposure: Tags, fields: dict[str, Any]) -> None:
    metadata = written(None, exposure, picture)
    assert {field: getattr(metadata, field) for field in fields} == fields


@pytest.mark.parametrize(
    ("gps", "problem"),
    [
        ({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}, "place: 0,0 is where a camera without a fix says it is"),
        ({2: (91.0, 0.0, 0.0)}, "place: 91,135.77 is not on the globe"),
        ({2: (IFDRational(0, 0),) * 3}, "place: (nan, nan, nan) is not an angle"),
        ({3: "Q"}, "place: the longitude's reference is 'Q', not E or W"),
        ({4: None}, "place: there is no longitude"),
    ],
)
def test_wrong_places_are_missing_and_say_why(gps: Tags, problem: str) -> None:
    metadata = written({tag: value for tag, value in (KYOTO_GPS | gps).items() if value is not None})
    assert (metadata.lat, metadata.lon, metadata.problems) == (None, None, (problem,))


def test_references_are_read_as_people_write_them() -> None:
    for reference, lat in (("s", -35.025), ("North", 35.025), (b"N\x00\x00", 35.025)):
        assert written(KYOTO_GPS | {1: reference}).lat == pytest.approx(lat)
    satellites = {GPS.GPSTimeStamp: (8.0, 4.0, 5.0), GPS.GPSDateStamp: "2019:11:23"}
    assert written(KYOTO_GPS | satellites).taken is None, "not a local time"


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        ("2018:02:30 10:00:00", "is not a date"),
        ("1800:01:01 10:00:00", "is before the invention of photography"),
        ("9018:01:01 10:00:00", "is in the future"),
        ("2018:01:01", "has no time of day"),
        ("2018:01:01 10:00:00Z", "is in UTC, not in local time"),
        ("2002:12:08 12:00:00", "is the default of a camera whose clock was never set"),
    ],
)
def test_wrong_times_are_missing_and_say_why(clock: str, why: str) -> None:
    metadata = written(exposure={BASE.DateTimeOriginal: clock})
    assert (metadata.taken, metadata.problems) == (None, (f"taken: {clock!r} {why}",))
    metadata = written(exposure=KYOTO_EXPOSURE | {BASE.OffsetTimeOriginal: clock})  # does not cost the time
    assert metadata.taken is not None
    assert (metadata.offset, metadata.problems) == (None, (f"offset: {clock!r} is not a UTC offset",))


def test_ratings_have_five_stars_and_the_dead_sea_has_the_lowest_shore() -> None:
    metadata = read(saved(xmp=xmp_of('xmp:Rating="6"')))
    assert (metadata.rating, metadata.problems) == (None, ("rating: 6 is not one of 0 to 5 stars",))
    assert height(-430) == -430
    with pytest.raises(Implausible, match="-1224 m is not a plausible altitude"):
        height(-1224)  # as a camera wrote on Vesuvius


def test_fillers_are_no_captions_from_any_source_and_people_s_captions_stay() -> None:
    for text in ("DCIM\\100MEDIA\\DJI_0042.JPG", "SONY DSC", '{"MAPLatitude": 47}', "X-T3", "Ohne Titel"):
        packet = xmp_of(elements=f"<dc:description>{text}</dc:description>")
        metadata = read(saved(exif=exif_of(picture={**KYOTO_PICTURE, BASE.ImageDescription: text}), xmp=packet))
        assert (metadata.caption, metadata.problems) == (None, ())
    for text in ("Digital camera museum", "Default Street at night", "❤️", "A camera", "海"):
        assert human_text(text, "FUJIFILM", "X-T3") == text
    assert camera_name("NIKON CORPORATION", "NIKON D70") == "NIKON D70"
    assert camera_name("SAMSUNG TECHWIN CO., LTD.", "NV3") == "SAMSUNG TECHWIN NV3"


# Attacks and damage


@pytest.mark.parametrize(
    ("packet", "problem"),
    [
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "contains a document type"),
        (b"\xff\xfe\x00 nonsense", "is not XML"),
    ],
)
def test_xmp_bombs_and_rubbish_are_refused(packet: bytes, problem: str) -> None:
    metadata = read(saved(exif=kyoto(), xmp=packet))
    assert metadata.lat == pytest.approx(35.025)  # the camera's block is not touched by it
    assert [text.startswith(f"xmp: {problem}") for text in metadata.problems] == [True]


def test_xmp_in_utf_16_and_damaged_exif() -> None:
    packet = xmp_of('xmp:Rating="3"').decode().split("?>", 1)[1].rsplit("<?", 1)[0].encode("utf-16")
    assert read(saved(xmp=packet)).rating == 3
    metadata = read(saved(exif=b"Exif\x00\x00rubbish that is no block of tags"))
    assert any(problem.startswith("exif: damaged: ") for problem in metadata.problems)


@FORMATS
def test_damaged_headers_give_metadata_or_unreadable_and_nothing_else(format: str) -> None:
    packet = xmp_of('xmp:Rating="4" exif:GPSLatitude="33,51.3S" exif:GPSLongitude="151,12.5E"')
    rng, whole = random.Random(format), saved(format, exif=kyoto(), xmp=packet)
    outcomes = set()
    for _ in range(100):
        data = bytearray(whole)
        reach = min(len(data), rng.choice([64, 512, 4096]))
        for _ in range(rng.randint(1, 10)):
            data[rng.randrange(reach)] = rng.choice([0, 255, rng.randrange(256)])
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        try:
            metadata = read(bytes(data))
        except Unreadable:
            outcomes.add("unreadable")
        else:
            assert (metadata.lat is None) == (metadata.lon is None)
            assert metadata.lat is None or (-90 <= metadata.lat <= 90 and -180 <= metadata.lon <= 180)
            assert metadata.taken is None or metadata.taken.tzinfo is None
            str(metadata).encode()  # no lone surrogates, which no database would store
            outcomes.add("read")
    assert outcomes == {"read", "unreadable"}


def test_threads_leave_the_warning_filters_as_they_were() -> None:
    data, before = saved(exif=kyoto().tobytes()[:150]), list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(read, [data] * 60))) == 1
    assert list(warnings.filters) == before
