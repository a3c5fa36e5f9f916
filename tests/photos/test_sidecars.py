"""XMP sidecars and Google Takeout: what they say counts, and none of them stops a run or is written to."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.photos import Library
from mascot.photos.metadata.sidecars import local_time, parse_takeout, read_sidecars, taken_utc
from mascot.photos.metadata.validate import Implausible
from mascot.photos.photo import Photo
from tests.photos.bag_of_words import BagOfWords
from tests.photos.jpegs import write_jpeg
from tests.photos.libraries import photos_in

XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:exif="http://ns.adobe.com/exif/1.0/" xmp:Rating="4" exif:GPSLatitude="38,43.3N" exif:GPSLongitude="9,8.4W"
 exif:DateTimeOriginal="2019-07-14T18:05:00+01:00"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li>
</rdf:Alt></dc:title><dc:subject><rdf:Bag><rdf:li>harbour</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF>
</x:xmpmeta>"""
TAKEOUT = {
    "title": "IMG.jpg",
    "description": "Granny at the lake",
    "photoTakenTime": {"timestamp": "1562257512", "formatted": "4 Jul 2019, 16:25:12 UTC"},
    "geoData": {"latitude": 35.6895, "longitude": 139.6917, "altitude": 40.0},
    "people": [{"name": "Ada"}],
    "favorited": True,
}


def index(root: Path, **options: Any) -> dict[str, Photo]:
    with Library.open(root) as library:
        library.index(BagOfWords(), **options)
        return {photo.path: photo for photo in photos_in(library)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three photographs of the same content: with an XMP sidecar, with one of Takeout, and without."""
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        write_jpeg(tmp_path / name, None, None, None)
    (tmp_path / "a.xmp").write_text(XMP.format(title="Harbour"))
    (tmp_path / "b.jpg.json").write_text(json.dumps(TAKEOUT))
    return tmp_path


def test_the_metadata_of_sidecars_counts(folder: Path) -> None:
    sidecars = (folder / "a.xmp", folder / "b.jpg.json")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sidecars}
    photos = index(folder)
    a, b, c = photos["a.jpg"], photos["b.jpg"], photos["c.jpg"]
    assert (a.title, a.rating, a.keywords, a.taken, a.offset) == (
        "Harbour", 4, ("harbour",), datetime(2019, 7, 14, 18, 5), 60,
    )  # fmt: skip
    assert a.lat == pytest.approx(38.7217, abs=1e-3)
    assert (b.caption, b.rating, b.keywords, b.altitude, b.city) == ("Granny at the lake", 5, ("Ada",), 40.0, "Tokyo")
    assert (b.taken, b.offset) == (datetime(2019, 7, 5, 1, 25, 12), 540)  # the clock of Tokyo
    assert c.title is None  # the same content, and no sidecar
    assert all((path.read_bytes(), path.stat().st_mtime_ns) == state for path, state in before.items())


def test_a_changed_or_removed_sidecar_is_read_again(folder: Path) -> None:
    index(folder)
    (folder / "a.xmp").write_text(XMP.format(title="Old harbour"))
    (folder / "b.jpg.json").unlink()
    with Library.open(folder) as library:
        assert library.index(BagOfWords()).unchanged == 1
    photos = index(folder)
    assert (photos["a.jpg"].title, photos["b.jpg"].caption) == ("Old harbour", None)


def test_a_photograph_keeps_its_row_when_it_moves_with_its_sidecar(folder: Path) -> None:
    before = index(folder)["a.jpg"]
    (folder / "new").mkdir()
    for name in ("a.jpg", "a.xmp"):
        os.rename(folder / name, folder / "new" / name)
    moved = index(folder)["new/a.jpg"]
    assert (moved.title, moved.id) == ("Harbour", before.id)


HOSTILE = {
    "huge.jpg.json": b'{"description": "' + b"x" * (2 << 20) + b'"}',
    "deep.jpg.json": b"[" * 100_000,
    "latin.jpg.json": '{"description": "café"}'.encode("latin-1"),
    "types.jpg.json": json.dumps({
        "description": [1], "people": {"a": 3}, "favorited": "yes", "geoData": [], "photoTakenTime": {"timestamp": []},
    }).encode(),
    "numbers.jpg.json": b'{"geoData": {"latitude": 1e999, "longitude": "NaN"}, "photoTakenTime": {"timestamp": 9e99}}',
    "digits.jpg.json": b'{"photoTakenTime": {"timestamp": ' + b"9" * 10_000 + b"}}",
    "entities.xmp": b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>',
    "nested.xmp": b"<a>" * 200_000,
    "zeros.xmp": bytes(5 << 20),
    "script.xmp": XMP.format(title="&lt;script&gt;alert(1)&lt;/script&gt;").encode(),
}  # fmt: skip


def test_a_hostile_sidecar_costs_what_it_says_and_no_photograph(tmp_path: Path) -> None:
    for name, content in HOSTILE.items():
        (tmp_path / name).write_bytes(content)
        write_jpeg(tmp_path / f"{name.partition('.')[0]}.jpg", name, taken="2020-01-01T10:00:00")
    write_jpeg(tmp_path / "pipe.jpg", "its sidecar is not a file")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.xmp")
    photos = index(tmp_path)
    assert len(photos) == len(HOSTILE) + 1
    problems = {
        "huge.jpg": "JSON sidecar: more than 1048576 bytes",
        "latin.jpg": "JSON sidecar: is not JSON in UTF-8",
        "entities.jpg": "XMP sidecar: contains a document type or an entity",
        "zeros.jpg": "XMP sidecar: more than 4194304 bytes",
    }
    assert {name: "; ".join(photos[name].problems) for name in problems} == problems
    assert photos["types.jpg"].caption == "types.jpg.json"
    assert photos["script.jpg"].title == "<script>alert(1)</script>"
    assert index(tmp_path) == photos


NAMES = st.sampled_from(["latitude", "longitude", "altitude", "timestamp", "name"])
SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(NAMES, SCALARS, max_size=3)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from([*TAKEOUT]), VALUES | st.lists(VALUES, max_size=2)))
def test_any_values_are_read_or_wrong(values: dict[str, Any]) -> None:
    packet = parse_takeout(json.dumps({"geoData": None, **values}).encode())
    for read in (lambda: packet.text("dc:description"), packet.place, packet.altitude, lambda: taken_utc(packet)):
        with suppress(Implausible):
            read()
    assert all(isinstance(name, str) for name in packet.keywords())


def test_a_sidecar_that_is_gone_is_a_problem_and_the_zone_falls_back_to_the_place(tmp_path: Path) -> None:
    assert read_sidecars([tmp_path / "a.xmp"]).problems == ("XMP sidecar: cannot be read: No such file or directory",)
    noon = datetime(2019, 7, 4, 12)
    assert local_time(noon, "Asia/Kolkata", 77.0) == (datetime(2019, 7, 4, 17, 30), 330)
    assert local_time(noon, "No/Where", -30.0) == (datetime(2019, 7, 4, 10), None)
    assert abs(local_time(noon, None, None)[0] - noon).total_seconds() <= 15 * 3600
