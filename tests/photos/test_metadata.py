"""What files say: the 95 real photographs against their manifest, files written here, and damaged ones."""

from __future__ import annotations

import csv
import io
import random
import struct
import threading
import warnings
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from PIL import ExifTags, Image
from PIL.PngImagePlugin import PngInfo
from PIL.TiffImagePlugin import IFDRational

from mascot.photos.exif import camera_name
from mascot.photos.images import Unreadable, open_image, upright
from mascot.photos.metadata import Metadata, metadata_of, read_metadata
from mascot.photos.plausible import Wrong, height, human_text, minutes_east, moment

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

# Photographs of the manifest that are read otherwise than it says, and why.
PLACE_EXCEPTIONS = {
    "pypi-geopic__int_long_tag.jpg": "the longitude does not say whether it is E or W",  # its tag number is damaged
}


def manifest() -> list[dict[str, str]]:
    path = DATA / "photos_manifest.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def real(name: str) -> Path:
    path = DATA / "photos" / name
    if not path.is_file():
        pytest.skip("needs the real data set at ../shared/data")
    return path


@pytest.mark.skipif(not manifest(), reason="needs the real data set at ../shared/data")
@pytest.mark.parametrize("row", manifest(), ids=lambda row: row["file"])
def test_every_real_photograph_gives_the_place_and_the_time_of_the_manifest(row: dict[str, str]) -> None:
    found = read_metadata(DATA / "photos" / row["file"])
    assert found.taken is not None
    assert found.taken.replace(microsecond=0) == datetime.strptime(row["DateTimeOriginal"], "%Y:%m:%d %H:%M:%S")
    if row["file"] in PLACE_EXCEPTIONS:
        assert found.lat is None
        assert found.lon is None
        assert found.problems == (f"place: {PLACE_EXCEPTIONS[row['file']]}",)
    else:
        assert found.lat == pytest.approx(float(row["lat"]), abs=1e-4)
        assert found.lon == pytest.approx(float(row["lon"]), abs=1e-4)


def test_all_95_are_there() -> None:
    if not manifest():
        pytest.skip("needs the real data set at ../shared/data")
    assert len(manifest()) == 95


@pytest.mark.parametrize(
    ("name", "camera"),
    [
        ("drewnoakes__Apple_iPhone_6.jpg", "Apple iPhone 6"),
        ("photoprism__Iceland-sRGB.jpg", "NIKON D800E"),
        ("exifsamples__DSCN0010.jpg", "NIKON COOLPIX P6000"),
        ("photoprism__altitude.jpg", "TCT TCL S950"),  # padded with blanks
        ("pypi-exif__excess_ascii_null_bytes.jpg", "Apple iPhone"),
        ("pypi-geopic__img_invalid_gps_date.jpg", "samsung M-G930F"),  # its first letter is a null byte
        ("drewnoakes__Olympus_FE230-X790.jpg", "OLYMPUS FE230/X790"),
        ("pypi-geopic__img_Ricoh_Theta.jpg", "RICOH THETA m15"),
        ("pypi-sigal__flickr_jerquiaga_2394751088_cc-by-nc.jpg", "HTC-8900"),
        ("pypi-gramps__O0.jpg", None),
    ],
)
def test_cameras_of_real_photographs(name: str, camera: str | None) -> None:
    assert read_metadata(real(name)).camera == camera


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("pypi-geopic__img_categorisee.jpg", (192, 256)),  # stored lying, shown standing
        ("drewnoakes__Apple_iPhone_5.jpg", (900, 675)),  # upside down
        ("photoprism__digikam.jpg", (500, 375)),  # orientation 0, which does not exist
        ("drewnoakes__Nexus_4.jpg", (675, 900)),
    ],
)
def test_sizes_of_real_photographs_are_as_shown(name: str, size: tuple[int, int]) -> None:
    found = read_metadata(real(name))
    assert (found.width, found.height) == size


@pytest.mark.parametrize(
    ("name", "altitude", "problem"),
    [
        ("pypi-exif__grand_canyon.jpg", 2189.99, None),
        ("photoprism__beach_sand.jpg", -1.99, None),  # below the sea
        ("photoprism__photoshop.jpg", 0.0, None),  # "0 below the sea" is not -0.0
        ("photoprism__altitude.jpg", None, "altitude: 4294967284 m is not a plausible altitude"),
        ("photoprism__panorama360.jpg", None, "altitude: is not a number"),  # nothing over nothing
    ],
)
def test_altitudes_of_real_photographs(name: str, altitude: float | None, problem: str | None) -> None:
    found = read_metadata(real(name))
    assert found.altitude == (None if altitude is None else pytest.approx(altitude, abs=0.01))
    assert str(found.altitude) != "-0.0"
    assert found.problems == (() if problem is None else (problem,))


def test_nothing_lies_deeper_than_the_shore_of_the_dead_sea() -> None:
    assert height(-430) == -430
    with pytest.raises(Wrong, match="-1224 m is not a plausible altitude"):
        height(-1224)  # as a camera wrote on Vesuvius


def test_subseconds_and_offset_of_a_real_photograph() -> None:
    found = read_metadata(real("pypi-imagereorder__pixel5a.jpg"))
    assert found.taken == datetime(2023, 9, 3, 9, 36, 43, 90_000)
    assert found.offset == -360


def test_words_of_real_photographs() -> None:
    lincoln = read_metadata(real("exifr__iptc-agency-photographer-example.jpg"))
    assert lincoln.title == "drp2091169d"
    assert lincoln.caption is not None
    assert lincoln.caption.startswith("This statue of the 16th President")
    assert lincoln.keywords[:2] == ("North America", "United States of America")
    assert len(set(lincoln.keywords)) == len(lincoln.keywords)
    assert lincoln.rating == 2
    assert lincoln.lens == "70.0-200.0 mm f/2.8"

    trail = read_metadata(real("pypi-geopic__img_categorisee.jpg"))
    assert (trail.title, trail.keywords) == ("Observatoire", ("panneau de randonnée (PDIPR)",))

    squirrel = read_metadata(real("exifr__IMG_5910.jpg"))  # Windows wrote the title into ImageDescription too
    assert (squirrel.title, squirrel.caption, squirrel.rating) == ("Squirrel at berkely", "This is a comment", 3)


@pytest.mark.parametrize(
    "name",
    [
        "drewnoakes__Olympus_FE230-X790.jpg",  # OLYMPUS DIGITAL CAMERA
        "photoprism__panorama360.jpg",  # SAMSUNG
        "drewnoakes__Sony_DSC-HX5V_(2).jpg",  # blanks
        "pypi-geopic__img_datetimeoriginal.jpg",  # a record in JSON
        "drewnoakes__Samsung_SM-N900A_(Galaxy_Note_3).jpg",  # binary UserComment
        "pypi-mediaanalyzer__tent.jpg",  # UserComment without a declared encoding
    ],
)
def test_what_cameras_write_by_themselves_is_no_caption(name: str) -> None:
    assert read_metadata(real(name)).caption is None


# Files written here


def exif_of(
    gps: dict[int, Any] | None = None, exposure: dict[int, Any] | None = None, picture: dict[int, Any] | None = None
) -> Image.Exif:
    exif = Image.Exif()
    for tag, value in (picture or {}).items():
        exif[tag] = value
    if exposure:
        exif[ExifTags.IFD.Exif] = exposure
    if gps:
        exif[ExifTags.IFD.GPSInfo] = gps
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
    """A Photoshop segment with IPTC records, as it stands in a JPEG."""
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


def written(
    gps: dict[int, Any] | None = None, exposure: dict[int, Any] | None = None, picture: dict[int, Any] | None = None
) -> Metadata:
    return read(saved(exif=exif_of(gps, exposure, picture)))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])
def test_every_format_gives_back_its_exif(format: str) -> None:
    found = read(saved(format, exif=kyoto()))
    assert (found.lat, found.lon) == (pytest.approx(35.025), pytest.approx(135.77))
    assert found.altitude == pytest.approx(51.5)
    assert found.taken == datetime(2019, 11, 23, 17, 4, 5, 250_000)
    assert found.offset == 540
    assert (found.camera, found.lens, found.caption) == ("FUJIFILM X-T3", "XF23mmF2 R WR", "Maples")
    assert (found.width, found.height) == (64, 48)
    assert found.problems == ()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])
def test_every_format_gives_back_its_xmp(format: str) -> None:
    packet = xmp_of(
        'xmp:Rating="4" exif:GPSLatitude="33,51.3S" exif:GPSLongitude="151,12,34.5E" exif:GPSAltitude="120/10" '
        'exif:GPSAltitudeRef="1" photoshop:DateCreated="2001-02-03T04:05:06.5-07:00"',
        "<dc:title><rdf:Alt><rdf:li xml:lang='de'>Brücke</rdf:li><rdf:li xml:lang='x-default'>Bridge</rdf:li></rdf:Alt>"
        "</dc:title><dc:description>Über dem Hafen 🌉</dc:description>"
        "<dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li> steel </rdf:li><rdf:li>sea</rdf:li></rdf:Bag></dc:subject>",
    )
    if format == "PNG":
        chunk = PngInfo()
        chunk.add_itxt("XML:com.adobe.xmp", packet.decode())
        data = saved(format, pnginfo=chunk)
    elif format == "TIFF":
        data = saved(format, tiffinfo={700: packet})
    else:
        data = saved(format, xmp=packet)
    found = read(data)
    assert (found.lat, found.lon) == (pytest.approx(-33.855), pytest.approx(151 + 12 / 60 + 34.5 / 3600))
    assert found.altitude == -12
    assert (found.taken, found.offset) == (datetime(2001, 2, 3, 4, 5, 6, 500_000), -420)
    assert (found.title, found.caption) == ("Bridge", "Über dem Hafen 🌉")
    assert (found.keywords, found.rating, found.problems) == (("sea", "steel"), 4, ())


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


@pytest.mark.parametrize("packed", [False, True])
def test_png_with_its_blocks_behind_the_pixels(packed: bool) -> None:
    turned = exif_of(exposure=KYOTO_EXPOSURE, picture={BASE.Orientation: 6}).tobytes().removeprefix(b"Exif\x00\x00")
    packet = xmp_of('xmp:Rating="4"')
    text = b"XML:com.adobe.xmp\0" + (b"\1\0\0\0" + zlib.compress(packet) if packed else b"\0\0\0\0" + packet)
    plain = saved("PNG")
    data = plain[:-12] + png_chunk(b"eXIf", turned) + png_chunk(b"iTXt", text) + plain[-12:]
    found = read(data)
    assert found.taken == datetime(2019, 11, 23, 17, 4, 5, 250_000)
    assert (found.rating, found.width, found.height) == (4, 48, 64)
    with open_image(data) as image:
        assert upright(image, 512).size == (48, 64)


def test_png_whose_late_blocks_are_cut_off_still_reads() -> None:
    plain, exif = saved("PNG"), kyoto().tobytes().removeprefix(b"Exif\x00\x00")
    whole = plain[:-12] + png_chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0") + png_chunk(b"eXIf", exif)
    assert read(whole[:-100]).taken is None


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])
@pytest.mark.parametrize("turn", [1, 3, 6, 8])
def test_sizes_are_as_shown_in_every_format(format: str, turn: int) -> None:
    found = read(saved(format, exif=exif_of(picture={BASE.Orientation: turn})))
    assert (found.width, found.height) == ((48, 64) if turn >= 5 else (64, 48))


def test_iptc_is_read_where_nothing_else_speaks() -> None:
    data = saved()
    segment = iptc_of((5, b"Harvest"), (120, "Getreide für alle".encode()), (25, b"field"), (25, b"Getreide"),
                      (55, b"20020728"), (60, b"155005+0000"))  # fmt: skip
    found = read(data[:2] + segment + data[2:])
    assert (found.title, found.caption) == ("Harvest", "Getreide für alle")
    assert found.keywords == ("field", "Getreide")
    assert (found.taken, found.offset) == (datetime(2002, 7, 28, 15, 50, 5), None)  # +0000 stands for "unknown"


def test_iptc_of_a_tiff() -> None:
    found = read(saved("TIFF", tiffinfo={33723: b"\x1c\x02\x05\x00\x07Harvest"}))
    assert found.title == "Harvest"


def test_iptc_that_ends_too_early_gives_what_came_before() -> None:
    data = saved()
    segment = iptc_of((5, b"Harvest"), (25, b"field")).replace(b"\x00\x05field", b"\x00\x55field")
    found = read(data[:2] + segment + data[2:])
    assert (found.title, found.keywords) == ("Harvest", ())


def test_people_s_words_come_from_programs_and_measurements_from_the_camera() -> None:
    packet = xmp_of(
        'xmp:Rating="5" exif:GPSLatitude="1,0N" exif:GPSLongitude="1,0E" exif:DateTimeOriginal="2001-01-01T00:00:01"',
        "<dc:description><rdf:Alt><rdf:li>Told by a program</rdf:li></rdf:Alt></dc:description>",
    )
    picture = {**KYOTO_PICTURE, BASE.Rating: 2}
    found = read(saved(exif=exif_of(KYOTO_GPS, KYOTO_EXPOSURE, picture), xmp=packet))
    assert (found.caption, found.rating) == ("Told by a program", 5)
    assert found.lat == pytest.approx(35.025)
    assert found.taken == datetime(2019, 11, 23, 17, 4, 5, 250_000)


def test_windows_words() -> None:
    found = written(
        picture={
            BASE.XPTitle: "Titel\0".encode("utf-16-le"),
            BASE.XPComment: "第一 comment\0".encode("utf-16-le"),
            BASE.XPKeywords: "lake; Éte ;;lake\0".encode("utf-16-le"),
        }
    )
    assert (found.title, found.caption, found.keywords) == ("Titel", "第一 comment", ("lake", "Éte"))


@pytest.mark.parametrize(
    ("comment", "caption"),
    [
        (b"ASCII\0\0\0At the lake\0\0", "At the lake"),
        (b"UNICODE\0" + "Am See".encode("utf-16-le"), "Am See"),
        (b"UNICODE\0" + "Am See".encode("utf-16"), "Am See"),
        (b"ASCII\0\0\0\n\0\0\0JKJK\x03\xab", None),
        (b"\0" * 40, None),
        (b"   FM0   FC00000", None),
    ],
)
def test_user_comments(comment: bytes, caption: str | None) -> None:
    assert written(exposure={BASE.UserComment: comment}).caption == caption


# Wrong values


@pytest.mark.parametrize(
    ("gps", "problem"),
    [
        ({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}, "place: 0,0 is where a camera without a fix says it is"),
        ({2: (91.0, 0.0, 0.0)}, "place: 91,135.77 is not on the globe"),
        ({4: (181.0, 0.0, 0.0)}, "place: 35.025,181 is not on the globe"),
        ({2: (IFDRational(0, 0),) * 3}, "place: (nan, nan, nan) is not an angle"),
        ({2: (35.0, 75.0, 0.0)}, "place: (35, 75, 0) is not an angle"),
        ({1: None}, "place: the latitude does not say whether it is N or S"),
        ({3: "Q"}, "place: the longitude's reference is 'Q', not E or W"),
        ({4: None}, "place: there is no longitude"),
        ({2: None}, "place: there is no latitude"),
    ],
)
def test_wrong_places_are_missing_and_say_why(gps: dict[int, Any], problem: str) -> None:
    tags = {tag: value for tag, value in (KYOTO_GPS | gps).items() if value is not None}
    found = written(tags)
    assert (found.lat, found.lon) == (None, None)
    assert found.problems == (problem,)


def test_a_wrong_place_gives_way_to_the_next_without_a_problem() -> None:
    packet = xmp_of('exif:GPSLatitude="48.5" exif:GPSLongitude="-9.25"')
    found = read(saved(exif=exif_of(KYOTO_GPS | {2: (91.0, 0.0, 0.0)}), xmp=packet))
    assert (found.lat, found.lon, found.problems) == (48.5, -9.25, ())


@pytest.mark.parametrize(
    ("reference", "lat"), [("S", -35.025), ("s", -35.025), ("North", 35.025), (b"N\x00\x00", 35.025)]
)
def test_references_are_read_as_people_write_them(reference: Any, lat: float) -> None:
    assert written(KYOTO_GPS | {1: reference}).lat == pytest.approx(lat)


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        ("0000:00:00 00:00:00", "is not a date"),
        ("2018:13:01 10:00:00", "is not a date"),
        ("2018:02:30 10:00:00", "is not a date"),
        ("2018:02:03 25:00:00", "is not a date"),
        ("yesterday", "is not a date"),
        ("1800:01:01 10:00:00", "is before the invention of photography"),
        ("9018:01:01 10:00:00", "is in the future"),
        ("2018:01:01", "has no time of day"),
        ("2018:01:01 10:00:00Z", "is in UTC, not in local time"),
        ("2002:12:08 12:00:00", "is the default of a camera whose clock was never set"),
    ],
)
def test_wrong_times_are_missing_and_say_why(clock: str, why: str) -> None:
    found = written(exposure={BASE.DateTimeOriginal: clock})
    assert found.taken is None
    assert found.problems == (f"taken: {clock!r} {why}",)


def test_a_wrong_time_gives_way_to_the_next() -> None:
    found = written(
        exposure={BASE.DateTimeOriginal: "0000:00:00 00:00:00", BASE.DateTimeDigitized: "2020:02:29 23:59:59"}
    )
    assert (found.taken, found.problems) == (datetime(2020, 2, 29, 23, 59, 59), ())


def test_time_of_the_satellites_is_no_local_time() -> None:
    found = written(KYOTO_GPS | {GPS.GPSTimeStamp: (8.0, 4.0, 5.0), GPS.GPSDateStamp: "2019:11:23"})
    assert found.taken is None
    assert found.lat is not None


def test_unknown_as_the_standard_writes_it_is_no_problem() -> None:
    found = written(exposure={BASE.DateTimeOriginal: "    :  :     :  :  ", BASE.OffsetTimeOriginal: "   :  "})
    assert (found.taken, found.offset, found.problems) == (None, None, ())


@pytest.mark.parametrize(
    ("text", "fraction", "clock"),
    [
        ("2018:01:11 13:09:38", "321", datetime(2018, 1, 11, 13, 9, 38, 321_000)),
        ("2018-01-11T13:09", None, datetime(2018, 1, 11, 13, 9)),
        ("2018/1/11 3:09:38.25", "9", datetime(2018, 1, 11, 3, 9, 38, 250_000)),
        ("2018:01:11 13:09:38", "1234567", datetime(2018, 1, 11, 13, 9, 38, 123_456)),
        ("2018:01:11 13:09:38", "x", datetime(2018, 1, 11, 13, 9, 38)),
        ("1839:01:11 13:09:38", "", datetime(1839, 1, 11, 13, 9, 38)),
    ],
)
def test_moments(text: str, fraction: str | None, clock: datetime) -> None:
    found = moment(text, fraction)
    assert found is not None
    assert found.clock == clock


@pytest.mark.parametrize(("text", "minutes"), [("+05:30", 330), ("-0330", -210), ("Z", 0), ("+00:00", 0), (" ", None)])
def test_offsets(text: str, minutes: int | None) -> None:
    assert minutes_east(text) == minutes


@pytest.mark.parametrize("text", ["+25:00", "5", "+05:75", "east"])
def test_a_wrong_offset_does_not_cost_the_time(text: str) -> None:
    with pytest.raises(Wrong):
        minutes_east(text)
    found = written(exposure=KYOTO_EXPOSURE | {BASE.OffsetTimeOriginal: text})
    assert found.taken is not None
    assert found.offset is None
    assert found.problems == (f"offset: {text!r} is not a UTC offset",)


@pytest.mark.parametrize("stars", [-1, 6, 99])
def test_ratings_have_five_stars_at_most(stars: int) -> None:
    found = read(saved(xmp=xmp_of(f'xmp:Rating="{stars}"')))
    assert (found.rating, found.problems) == (None, (f"rating: {stars} is not one of 0 to 5 stars",))


def test_text_of_other_encodings() -> None:
    assert written(picture={BASE.ImageDescription: "Zürich, 東京"}).caption == "Z?rich, ??"  # as Pillow writes it
    assert written(picture={BASE.ImageDescription: "Zürich, 東京".encode()}).caption == "Zürich, 東京"
    assert written(picture={BASE.ImageDescription: "Zürich".encode("latin-1")}).caption == "Zürich"
    assert written(picture={BASE.ImageDescription: b"\0\0Lake\0\0rest"}).caption == "Lake"
    garbage = written(picture={BASE.ImageDescription: b"\x01\x02\x03\x80\x81abc"})
    assert garbage.caption is None
    assert garbage.problems[0].startswith("caption: ")
    assert garbage.problems[0].endswith("is not readable text")


@pytest.mark.parametrize(
    "text",
    ["OLYMPUS DIGITAL CAMERA", "SONY DSC", "Default", "DCIM\\100MEDIA\\DJI_0042.JPG", "KODAK Digital Still Camera",
     "Exif_JPEG_PICTURE", "cof", "IMG_1234.JPG", '{"MAPLatitude": 47}', "X-T3", "fujifilm", " - "],
)  # fmt: skip
def test_fillers_are_no_captions_from_any_source(text: str) -> None:
    packet = xmp_of(elements=f"<dc:description>{text}</dc:description>")
    found = read(saved(exif=exif_of(picture={**KYOTO_PICTURE, BASE.ImageDescription: text}), xmp=packet))
    assert found.caption is None
    assert found.problems == ()


@pytest.mark.parametrize("text", ["Digital camera museum", "Default Street at night", "❤️", "A camera", "Nora", "海"])
def test_people_s_captions_stay(text: str) -> None:
    assert human_text(text, "FUJIFILM", "X-T3") == text


@pytest.mark.parametrize(
    ("maker", "model", "name"),
    [
        ("Apple", "iPhone 6", "Apple iPhone 6"),
        ("NIKON CORPORATION", "NIKON D70", "NIKON D70"),
        ("NIKON", "COOLPIX P6000", "NIKON COOLPIX P6000"),
        ("SAMSUNG", "SAMSUNG-SM-N900A", "SAMSUNG-SM-N900A"),
        ("EASTMAN KODAK COMPANY", "KODAK DC240", "KODAK DC240"),
        ("OLYMPUS IMAGING CORP.", "E-M5", "OLYMPUS E-M5"),
        ("SAMSUNG TECHWIN CO., LTD.", "NV3", "SAMSUNG TECHWIN NV3"),
        ("Canon", None, "Canon"),
        (None, "X100", "X100"),
        (None, None, None),
    ],
)
def test_the_maker_is_not_said_twice(maker: str | None, model: str | None, name: str | None) -> None:
    assert camera_name(maker, model) == name


@pytest.mark.parametrize("text", ["----", "0.0 mm f/0.0", "  ", "Unknown (4)"])
def test_a_lens_nobody_recognised_is_none(text: str) -> None:
    assert written(exposure={BASE.LensModel: text}).lens is None


# Attacks and damage


@pytest.mark.parametrize(
    ("packet", "problem"),
    [
        (
            b'<!DOCTYPE a [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;">]><a>&b;</a>',
            "xmp: contains a document type or an entity",
        ),
        (
            b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
            "xmp: contains a document type or an entity",
        ),
        (b"<x:xmpmeta><unclosed>", "xmp: is not XML"),
        (b"\xff\xfe\x00 nonsense", "xmp: is not XML"),
    ],
)
def test_xmp_bombs_and_rubbish_are_refused(packet: bytes, problem: str) -> None:
    found = read(saved(exif=kyoto(), xmp=packet))
    assert found.lat == pytest.approx(35.025)  # the camera's block is not touched by it
    assert len(found.problems) == 1
    assert found.problems[0].startswith(problem)


def test_xmp_in_utf_16() -> None:
    packet = xmp_of('xmp:Rating="3"').decode().split("?>", 1)[1].rsplit("<?", 1)[0].encode("utf-16")
    assert read(saved(xmp=packet)).rating == 3


def test_truncated_exif_says_so() -> None:
    whole = kyoto().tobytes()
    found = read(saved(exif=whole[: len(whole) // 2]))
    assert found.taken is None
    assert any(problem.startswith("exif: damaged: ") for problem in found.problems)


def test_exif_that_is_no_exif() -> None:
    found = read(saved(exif=b"Exif\x00\x00rubbish that is no block of tags"))
    assert found.taken is None
    assert found.problems[0].startswith("exif: damaged: ")


@pytest.mark.parametrize(("format", "pixels"), [("JPEG", b"\xff\xda"), ("PNG", b"IDAT")])
def test_metadata_of_does_not_decode(format: str, pixels: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    whole = saved(format, size=(640, 480), exif=kyoto())
    path.write_bytes(whole[: whole.index(pixels) + 40])  # the header and a little of the pixels
    with open_image(path) as image:
        assert metadata_of(image).taken is not None
        with pytest.raises(Unreadable, match="truncated"):
            upright(image, 64)
    assert read_metadata(path).camera == "FUJIFILM X-T3"


@pytest.mark.parametrize("data", [b"", b"just words", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read(data)


def seeds() -> dict[str, bytes]:
    """Small files with all three blocks in them."""
    packet = xmp_of('xmp:Rating="4" exif:GPSLatitude="33,51.3S" exif:GPSLongitude="151,12.5E"')
    jpeg = saved(exif=kyoto(), xmp=packet)
    files = {
        "jpeg": jpeg[:2] + iptc_of((5, b"Harvest"), (25, b"field"), (55, b"20020728"), (60, b"155005")) + jpeg[2:],
        "png": saved("PNG", exif=kyoto()),
        "webp": saved("WEBP", exif=kyoto(), xmp=packet),
        "heic": saved("HEIF", exif=kyoto(), xmp=packet),
        "tiff": saved("TIFF", exif=kyoto()),
    }
    if (DATA / "photos").is_dir():
        for name in ("npm-exif__test2.jpg", "exifr__issue-exifr-3.jpg", "pypi-geopic__img_categorisee.jpg"):
            files[name] = (DATA / "photos" / name).read_bytes()
    return files


@pytest.mark.parametrize("name", seeds())
def test_damaged_headers_give_metadata_or_unreadable_and_nothing_else(name: str) -> None:
    rng, whole = random.Random(name), seeds()[name]
    outcomes = set()
    for _ in range(250):
        data = bytearray(whole)
        reach = min(len(data), rng.choice([64, 512, 4096]))
        for _ in range(rng.randint(1, 10)):
            data[rng.randrange(reach)] = rng.choice([0, 255, rng.randrange(256)])
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        try:
            found = read(bytes(data))
        except Unreadable:
            outcomes.add("unreadable")
        else:
            assert (found.lat is None) == (found.lon is None)
            assert found.lat is None or (-90 <= found.lat <= 90 and -180 <= found.lon <= 180)
            assert found.taken is None or found.taken.tzinfo is None
            str(found).encode()  # no lone surrogates, which no database would store
            outcomes.add("read")
    assert outcomes == {"read", "unreadable"}


def test_threads_leave_the_warning_filters_as_they_were() -> None:
    whole = kyoto().tobytes()
    data = saved(exif=whole[: len(whole) // 2])
    before, found = list(warnings.filters), []

    def work() -> None:
        for _ in range(30):
            found.append(read(data))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 120
    assert len(set(found)) == 1
    assert list(warnings.filters) == before
