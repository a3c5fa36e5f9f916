"""RAW files by their previews, and the formats GIF, AVIF and BMP; RAW files are written here, byte by byte."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, features

from mascot.photos.images import Unreadable, open_image, shown_size, upright
from mascot.photos.metadata import read_metadata
from mascot.photos.reading import read

SMALL, LARGE = (160, 120), (900, 600)


def jpeg(size: tuple[int, int], colour: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "JPEG")
    return out.getvalue()


def tiff(magic: bytes, directories: list[list[tuple[int, int, object]]], tail: bytes = b"") -> bytes:
    """A little-endian TIFF: each directory is a list of tag, type and value; a list of bytes is stored behind."""
    out = bytearray(magic + struct.pack("<I", 8 if len(magic) == 4 else 16))
    out += bytes(16 - len(out)) if len(magic) > 4 else b""
    blobs: list[tuple[int, bytes]] = []
    for number, entries in enumerate(directories):
        out += struct.pack("<H", len(entries))
        for tag, kind, value in entries:
            if isinstance(value, bytes):
                out += struct.pack("<HHI", tag, kind, len(value))
                blobs.append((len(out), value))
                out += bytes(4)
            else:
                out += struct.pack("<HHII", tag, kind, 1, value)
        last = number == len(directories) - 1
        out += struct.pack("<I", 0 if last else len(out) + 4)
    for at, content in blobs:
        struct.pack_into("<I", out, at, len(out))
        out += content
    return bytes(out) + tail


OFFSET = 1000
EXIF_DATE = b"2019:07:14 18:05:00\0"


def nef() -> bytes:
    """IFD0 with make, model, orientation and sensor data; IFD1 with a large preview."""
    preview = jpeg(LARGE)
    sensor: list[tuple[int, int, object]] = [
        (0x0100, 4, 6000), (0x0101, 4, 4000), (0x0103, 3, 34713), (0x0106, 3, 32803), (0x010F, 2, b"NIKON\0\0\0"),
        (0x0110, 2, b"NIKON D750\0"), (0x0112, 3, 6),
    ]  # fmt: skip
    content = tiff(b"II*\0", [sensor, [(0x0201, 4, OFFSET), (0x0202, 4, len(preview))]])
    assert len(content) < OFFSET
    return content.ljust(OFFSET, b"\0") + preview


def raf() -> bytes:
    preview = jpeg(LARGE)
    head = b"FUJIFILMCCD-RAW 0201FF383501X-T3".ljust(84, b"\0") + struct.pack(">II", 200, len(preview))
    return head.ljust(200, b"\0") + preview + bytes(500)


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content) + 8) + kind + content


def cr3() -> bytes:
    preview = jpeg(LARGE)
    first = tiff(b"II*\0", [[(0x010F, 2, b"Canon\0\0\0"), (0x0110, 2, b"Canon EOS R\0"), (0x0112, 3, 1)]])
    exposure = tiff(b"II*\0", [[(0x9003, 2, EXIF_DATE)]])
    canon = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48") + box(b"CMT1", first) + box(b"CMT2", exposure)
    start = b"\0\0\0\x18ftypcrx \0\0\0\1crx isom"

    def moov(offset: int) -> bytes:
        table = box(b"stsz", struct.pack(">IIII", 0, 0, 1, len(preview)))
        table += box(b"co64", struct.pack(">IIQ", 0, 1, offset))
        return box(b"moov", box(b"uuid", canon) + box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", table)))))

    offset = len(start) + len(moov(0)) + 8
    return start + moov(offset) + box(b"mdat", preview)


def rw2() -> bytes:
    return tiff(b"IIU\0", [[(0x0110, 2, b"DMC-G9\0\0"), (0x002E, 7, jpeg(LARGE))]])


def unlisted() -> bytes:
    """A DNG whose tables name a thumbnail only."""
    return tiff(b"II*\0", [[(0xC612, 1, 1), (0x0110, 2, b"Pixel 6\0")]], jpeg(SMALL, "blue") + bytes(99) + jpeg(LARGE))


RAW = {"a.nef": nef, "a.raf": raf, "a.cr3": cr3, "a.rw2": rw2, "a.dng": unlisted}


@pytest.mark.parametrize("name", RAW)
def test_the_largest_preview_is_the_picture(name: str) -> None:
    content = RAW[name]()
    with open_image(content) as image:
        assert image.size == LARGE
        size = shown_size(image)
        red, green, blue = upright(image, 64).getpixel((5, 5))  # type: ignore[misc]
        assert red > 200 > 50 > max(green, blue)
    assert size == {"a.nef": (4000, 6000)}.get(name, LARGE)
    assert read(content).metadata.camera == {
        "a.nef": "NIKON D750", "a.cr3": "Canon EOS R", "a.rw2": "DMC-G9", "a.dng": "Pixel 6",
    }.get(name)  # fmt: skip


def test_a_raw_file_says_when_it_was_taken_and_how_it_was_held() -> None:
    assert read_metadata(io.BytesIO(cr3())).taken == datetime(2019, 7, 14, 18, 5)
    with open_image(nef()) as image:
        assert upright(image, 64).size == (43, 64)  # turned


def test_raw_files_without_a_preview_and_plain_tiffs() -> None:
    with pytest.raises(Unreadable, match="a RAW file without a JPEG preview"):
        open_image(tiff(b"II*\0", [[(0x0106, 3, 32803), (0xC612, 1, 1)]]))
    out = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(out, "TIFF")
    with open_image(out.getvalue()) as image:
        assert (image.format, image.size) == ("TIFF", (30, 20))


@given(st.sampled_from([*RAW]), st.integers(0, 400), st.binary(min_size=1, max_size=8), st.integers(0, 3000))
@settings(deadline=None, max_examples=60)
def test_damaged_tables_give_a_picture_or_a_reason(name: str, at: int, patch: bytes, length: int) -> None:
    content = bytearray(RAW[name]())
    content[at : at + len(patch)] = patch
    for damaged in (bytes(content), bytes(content[:length])):
        with suppress(Unreadable), open_image(damaged) as image:
            assert image.width > 0


@pytest.mark.parametrize("kind", ["GIF", "BMP", "AVIF"])
def test_gif_bmp_and_avif_are_pictures(kind: str, tmp_path: Path) -> None:
    if kind == "AVIF" and not features.check("avif"):
        pytest.skip("Pillow without AVIF")
    path = tmp_path / f"a.{kind.lower()}"
    frames = {"save_all": True, "append_images": [Image.new("RGB", (60, 40), "blue")]} if kind == "GIF" else {}
    Image.new("RGB", (60, 40), "red").save(path, kind, **frames)
    with open_image(path) as image:
        assert shown_size(image) == (60, 40)
        red, _, blue = upright(image, 30).getpixel((5, 5))  # type: ignore[misc]
        assert red > 200 > 60 > blue
