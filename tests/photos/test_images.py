"""Opening, decoding and shrinking: every format, mode and colour profile, and everything that is no picture."""

from __future__ import annotations

import io
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image, ImageCms, features

from mascot.errors import InputError
from mascot.photos.files.images import Unreadable, in_srgb, open_image, shown_size, thumbnail, upright
from mascot.photos.files.raw import raw_tags
from mascot.photos.files.reading import read

RED, LIME, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
FORMATS = pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])


def corners(size: tuple[int, int] = (80, 40)) -> Image.Image:
    width, height = size
    image = Image.new("RGB", size, "white")
    image.paste("red", (0, 0, width // 2, height // 2))
    image.paste("lime", (width // 2, 0, width, height // 2))
    image.paste("blue", (0, height // 2, width // 2, height))
    return image


def saved(image: Image.Image, format: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def turned(code: int) -> bytes:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = code
    return exif.tobytes()


def opened(data: bytes, side: int = 512, **options: Any) -> Image.Image:
    with open_image(data) as image:
        picture = upright(image, side, **options)
    assert (picture.mode, picture.info) == ("RGB", {})
    return picture


def quarter_colours(image: Image.Image) -> list[tuple[int, ...]]:
    w, h = image.size
    points = [(w // 4, h // 4), (3 * w // 4, h // 4), (w // 4, 3 * h // 4), (3 * w // 4, 3 * h // 4)]
    return [tuple(255 * round(channel / 255) for channel in image.getpixel(point)) for point in points]


ORIENTATIONS = {
    1: [RED, LIME, BLUE, WHITE], 2: [LIME, RED, WHITE, BLUE], 3: [WHITE, BLUE, LIME, RED], 4: [BLUE, WHITE, RED, LIME],
    5: [RED, BLUE, LIME, WHITE], 6: [BLUE, RED, WHITE, LIME], 7: [WHITE, LIME, BLUE, RED], 8: [LIME, WHITE, RED, BLUE],
    77: [RED, LIME, BLUE, WHITE],  # does not exist, so it turns nothing
}  # fmt: skip


@FORMATS
def test_every_orientation_of_every_format_is_turned_upright(format: str) -> None:
    for code, colours in ORIENTATIONS.items():
        with open_image(saved(corners(), format, exif=turned(code))) as image:
            size = shown_size(image)
            picture = upright(image, 512)
        assert quarter_colours(picture) == colours
        assert picture.size == size == ((40, 80) if 5 <= code <= 8 else (80, 40))


def test_the_longest_side_is_at_most_that_and_nothing_is_enlarged() -> None:
    for size in ((1500, 1000), (501, 499), (7, 5000), (8, 4)):
        side = min(100, max(size))
        shown = tuple(max(1, round(length * side / max(size))) for length in size)
        assert opened(saved(corners(size), "JPEG"), side=100).size == shown


# Modes and colours


def test_transparent_parts_are_white() -> None:
    clear = corners().convert("RGBA")
    clear.putalpha(Image.linear_gradient("L").resize((80, 40)).point(lambda value: 255 * (value > 127)))
    assert quarter_colours(opened(saved(clear, "PNG"))) == [WHITE, WHITE, BLUE, WHITE]
    palette = corners().convert("P", palette=Image.Palette.ADAPTIVE, colors=4)
    red = palette.getpixel((0, 0))
    assert quarter_colours(opened(saved(palette, "PNG"))) == [RED, LIME, BLUE, WHITE]
    levels = bytes(0 if index == red else 255 for index in range(4))  # which Pillow warns of when not handled
    for transparency in (red, levels):
        picture = opened(saved(palette, "PNG", transparency=transparency))
        assert quarter_colours(picture) == [WHITE, LIME, BLUE, WHITE]


def test_other_formats_and_modes() -> None:
    for format in ("BMP", "AVIF") if features.check("avif") else ("BMP",):
        assert quarter_colours(opened(saved(corners(), format))) == [RED, LIME, BLUE, WHITE]
    assert quarter_colours(opened(saved(corners().convert("CMYK"), "JPEG"))) == [RED, LIME, BLUE, WHITE]
    assert opened(saved(Image.new("L", (20, 20), 200), "JPEG")).getpixel((5, 5)) == (200, 200, 200)
    assert opened(saved(Image.new("1", (9, 9), 1), "PNG")).getpixel((4, 4)) == WHITE
    to_lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")
    lab = ImageCms.applyTransform(corners(), to_lab)
    assert lab is not None
    assert quarter_colours(opened(saved(lab, "TIFF"))) == [RED, LIME, BLUE, WHITE]


@pytest.mark.parametrize(("format", "dtype", "white"), [("PNG", np.uint16, 65535), ("TIFF", np.float32, 1)])
def test_greys_of_more_than_eight_bits_keep_their_brightness(format: str, dtype: Any, white: float) -> None:
    ramp = (np.linspace(0, 1, 256)[None, :].repeat(300, axis=0) * white).astype(dtype)
    if dtype is np.float32:
        ramp[0, 0] = np.nan
    pixels = np.asarray(opened(saved(Image.fromarray(ramp), format)))
    assert np.abs(pixels[pixels.shape[0] // 2, :, 0].astype(int) - np.arange(256)).max() <= 1


needs_profiles = pytest.mark.skipif(not features.check("littlecms2"), reason="this Pillow cannot read colour profiles")
SRGB, LAB = (ImageCms.ImageCmsProfile(ImageCms.createProfile(name)).tobytes() for name in ("sRGB", "LAB"))


def swapped_profile() -> bytes:
    data = bytearray(SRGB.replace("sRGB".encode("utf-16-be"), "swap".encode("utf-16-be")))
    starts = range(132, 132 + 12 * struct.unpack_from(">I", data, 128)[0], 12)
    red, blue = (next(at for at in starts if data[at : at + 4] == name) for name in (b"rXYZ", b"bXYZ"))
    data[red + 4 : red + 12], data[blue + 4 : blue + 12] = data[blue + 4 : blue + 12], data[red + 4 : red + 12]
    return bytes(data)


@needs_profiles
@FORMATS
def test_a_colour_profile_is_applied(format: str) -> None:
    red = saved(Image.new("RGB", (32, 32), "red"), format, icc_profile=swapped_profile(), quality=95)
    assert np.abs(np.array(opened(red).getpixel((16, 16))) - BLUE).max() <= 12
    assert np.abs(np.array(opened(red, srgb=False).getpixel((16, 16))) - RED).max() <= 12


@needs_profiles
@pytest.mark.parametrize(
    "profile",
    [SRGB, b"not a profile", swapped_profile()[:-300], LAB, bytes(5 << 20)],
    ids=["sRGB", "text", "cut off", "for another mode", "too large"],
)
def test_a_profile_of_srgb_or_an_unusable_one_changes_nothing(profile: bytes) -> None:
    for mode in ("RGB", "RGBA", "CMYK", "L"):
        image = Image.new(mode, (8, 8), 7)
        assert in_srgb(image, profile) is image
    red = saved(Image.new("RGB", (32, 32), "red"), "JPEG", icc_profile=profile[:60_000])
    assert quarter_colours(opened(red))[0] == RED


def test_thumbnails_are_small_jpegs_without_metadata() -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "SecretCam"
    exif[ExifTags.IFD.GPSInfo] = {1: "N", 2: (35.0, 1.0, 30.0), 3: "E", 4: (135.0, 46.0, 12.0)}
    data = saved(corners((1200, 800)), "JPEG", exif=exif, comment=b"my comment", xmp=b"<x>private</x>", dpi=(300, 300))
    picture = opened(data, side=1000)
    small = thumbnail(picture)
    assert small[:2] == b"\xff\xd8"
    assert not [word for word in (b"Exif", b"SecretCam", b"comment", b"private", b"ICC_PROFILE") if word in small]
    assert len(small) < 20_000
    assert picture.size == (1000, 667)  # the given image is left as it was
    # A half is up to a tenth smaller than asked for, and quicker.
    for options, size in (({}, (500, 334)), ({"side": 64}, (63, 42)), ({"side": 300}, (300, 200))):
        with Image.open(io.BytesIO(thumbnail(picture, **options))) as image:
            assert (image.size, image.mode) == (size, "RGB")


# What is no picture


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "^empty file$"),
        (b"Dear diary, these are only words.", "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "not an image"),  # never handed to another program
        (b"\x89PNG\r\n\x1a\n", "."),
    ],
)
def test_what_is_no_picture(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(data)
    for source in (path, data, io.BytesIO(data)):
        with pytest.raises(Unreadable, match=reason):
            open_image(source)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        open_image(tmp_path / "gone.jpg")


@FORMATS
def test_truncated_pictures(format: str) -> None:
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (120, 160, 3), dtype=np.uint8))
    data = saved(noise, format)
    with pytest.raises(Unreadable) as caught:
        opened(data[: int(len(data) * 0.9)])
    if format in ("JPEG", "PNG", "TIFF"):
        assert str(caught.value) == "truncated"


def bomb_png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + header + struct.pack(">I", zlib.crc32(header)) + b"\0\0\0\0IDAT"


def test_bombs_are_refused_by_their_header() -> None:
    stream = io.BytesIO(bomb_png(20_000, 10_000))
    with pytest.raises(Unreadable, match=r"^200 megapixels, more than the 150 allowed \(--max-megapixels\)$"):
        open_image(stream)
    assert not stream.closed, "the caller opened it"
    limit = Image.MAX_IMAGE_PIXELS
    with open_image(stream.getvalue(), max_megapixels=250) as image:  # a header is not decoded
        assert image.size == (20_000, 10_000)
    assert limit == Image.MAX_IMAGE_PIXELS  # Pillow's own limit stands for everybody else


# RAW files by their previews; they are written here, byte by byte

SENSOR, LARGE = (1200, 800), (900, 600)
NUMBER_BYTES = {1: 1, 2: 1, 3: 2, 4: 4}  # of a value, by the type of a TIFF tag
SUB_DIRECTORY, IN_FILE = 0x014A, 0x0111  # tags whose value is an offset


def tags_of(size: tuple[int, int], compression: int, colours: int, content: bytes) -> dict[int, tuple[int, Any]]:
    return {
        0x0100: (4, size[0]), 0x0101: (4, size[1]), 0x0103: (3, compression), 0x0106: (3, colours),
        IN_FILE: (4, content), 0x0115: (3, 1), 0x0116: (4, size[1]), 0x0117: (4, len(content)),
    }  # fmt: skip


def tiff(*directories: dict[int, tuple[int, Any]]) -> bytes:
    """A little-endian TIFF: the first directory, and those that it refers to; bytes are stored behind."""
    out, behind = bytearray(struct.pack("<2sHI", b"II", 42, 8)), list[tuple[int, bytes]]()
    reference = 0  # position of the offset of the next directory
    for tags in directories:
        if reference:
            struct.pack_into("<I", out, reference, len(out))
        out += struct.pack("<H", len(tags))
        for tag, (kind, value) in sorted(tags.items()):
            is_block = isinstance(value, bytes) and tag != IN_FILE
            out += struct.pack("<HHI", tag, kind, len(value) // NUMBER_BYTES[kind] if is_block else 1)
            reference = len(out) if tag == SUB_DIRECTORY else reference
            if isinstance(value, bytes) and (tag == IN_FILE or len(value) > 4):
                behind.append((len(out), value))
                value = 0
            out += value.ljust(4, b"\0") if isinstance(value, bytes) else struct.pack("<I", value)
        out += bytes(4)
    for at, content in behind:
        struct.pack_into("<I", out, at, len(out))
        out += content + bytes(len(content) % 2)
    return bytes(out)


def dng(*previews: tuple[int, int], turn: int = 6) -> bytes:
    """Sensor values in the first directory, and a preview in the second."""
    tags = tags_of(SENSOR, 1, 32803, bytes(2 * SENSOR[0] * SENSOR[1])) | {
        0x00FE: (4, 0), 0x0102: (3, 16), 0x010F: (2, b"Google\0"), 0x0110: (2, b"Pixel 6\0"), 0x0112: (3, turn),
        0x828D: (3, struct.pack("<HH", 2, 2)), 0x828E: (1, bytes([0, 1, 1, 2])), 0xC612: (1, bytes([1, 4, 0, 0])),
    }  # fmt: skip
    if not previews:
        return tiff(tags)
    content = saved(Image.new("RGB", previews[0], "red"), "JPEG")
    preview = tags_of(previews[0], 7, 6, content) | {0x00FE: (4, 1), 0x0115: (3, 3)}
    return tiff(tags | {SUB_DIRECTORY: (4, 0)}, preview)


@pytest.mark.parametrize("turn", [1, 6])
def test_the_preview_of_a_raw_file_is_the_picture(turn: int) -> None:
    content = dng(LARGE, turn=turn)
    with open_image(content) as image:
        assert image.size == LARGE
        assert shown_size(image) == (SENSOR if turn == 1 else SENSOR[::-1])
        picture = upright(image, 64)
    assert quarter_colours(picture) == [RED] * 4
    assert picture.size == ((64, 43) if turn == 1 else (43, 64))
    metadata = read(content).metadata
    assert (metadata.camera, metadata.taken) == ("Google Pixel 6", None)


def test_raw_files_contain_tiff_blocks() -> None:
    picture, exposure = Image.Exif(), Image.Exif()
    picture.endian = "<"
    picture[ExifTags.Base.Model], exposure[ExifTags.Base.DateTimeOriginal] = "Camera", "2019:07:14 18:05:00"
    blocks = [tags.tobytes().removeprefix(b"Exif\0\0") for tags in (picture, exposure)]
    boxes = [struct.pack(">I", len(block) + 8) + b"CMT%d" % number + block for number, block in enumerate(blocks, 1)]
    canon = raw_tags(io.BytesIO(struct.pack(">I", 16) + b"ftypcrx \0\0\0\1" + b"".join(boxes)))
    assert canon.picture[ExifTags.Base.Model] == "Camera"
    assert canon.exposure[ExifTags.Base.DateTimeOriginal] == "2019:07:14 18:05:00"
    panasonic = raw_tags(io.BytesIO(b"IIU\0" + blocks[0][4:]))
    assert panasonic.picture[ExifTags.Base.Model] == "Camera"
    assert raw_tags(io.BytesIO(b"FUJIFILMCCD-RAW")).picture == {}


def test_raw_files_without_a_preview() -> None:
    with pytest.raises(Unreadable, match="a RAW file without a preview"):
        open_image(dng())


@pytest.mark.parametrize("mode", ["1", "L", "I;16", "RGB"])
def test_a_tiff_of_a_camera_is_no_raw_file(mode: str) -> None:
    tags = Image.Exif()
    tags[ExifTags.Base.Make], tags[ExifTags.Base.Model] = "Nikon", "NIKON D750"
    with open_image(saved(Image.new(mode, (300, 200)), "TIFF", exif=tags)) as image:
        assert (image.format, image.mode) == ("TIFF", mode)
        assert upright(image, 64).size == (64, 43)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8), st.integers(0, 3000))
@settings(deadline=None, max_examples=60)
def test_damaged_tables_give_a_picture_or_a_reason(at: int, patch: bytes, length: int) -> None:
    content = bytearray(dng(LARGE))
    content[at : at + len(patch)] = patch
    for damaged in (bytes(content), bytes(content[:length])):
        with suppress(Unreadable), open_image(damaged) as image:
            assert image.width > 0
