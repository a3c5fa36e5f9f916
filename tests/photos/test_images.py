"""Opening, decoding and shrinking: every format and mode, and everything that is no picture."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from PIL import ExifTags, Image, ImageCms

from mascot.errors import InputError, OptionError
from mascot.photos.images import SUFFIXES, Unreadable, open_image, orientation, shown_size, thumbnail, upright

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "photos"


def corners(size: tuple[int, int] = (80, 40)) -> Image.Image:
    """Red, green, blue and white quarters, so that every turn shows."""
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


def opened(data: bytes, side: int = 512) -> Image.Image:
    with open_image(data) as image:
        return upright(image, side)


def quarter_colours(image: Image.Image) -> list[tuple[int, ...]]:
    """The four quarters' middles, rounded to black or full."""
    w, h = image.size
    points = [(w // 4, h // 4), (3 * w // 4, h // 4), (w // 4, 3 * h // 4), (3 * w // 4, 3 * h // 4)]
    return [tuple(255 * round(channel / 255) for channel in image.getpixel(point)) for point in points]


RED, LIME, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])
def test_every_format_is_decoded(format: str) -> None:
    found = opened(saved(corners(), format))
    assert (found.mode, found.size) == ("RGB", (80, 40))
    assert quarter_colours(found) == [RED, LIME, BLUE, WHITE]


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])
@pytest.mark.parametrize(
    ("code", "colours"),
    [
        (1, [RED, LIME, BLUE, WHITE]),
        (2, [LIME, RED, WHITE, BLUE]),
        (3, [WHITE, BLUE, LIME, RED]),
        (4, [BLUE, WHITE, RED, LIME]),
        (5, [RED, BLUE, LIME, WHITE]),
        (6, [BLUE, RED, WHITE, LIME]),
        (7, [WHITE, LIME, BLUE, RED]),
        (8, [LIME, WHITE, RED, BLUE]),
    ],
)
def test_every_orientation_is_turned_upright(format: str, code: int, colours: list[tuple[int, ...]]) -> None:
    with open_image(saved(corners(), format, exif=turned(code))) as image:
        size = shown_size(image)
        found = upright(image, 512)
    assert quarter_colours(found) == colours
    assert found.size == size == ((40, 80) if code >= 5 else (80, 40))


@pytest.mark.parametrize("code", [0, 9, 77])
def test_an_orientation_that_does_not_exist_turns_nothing(code: int) -> None:
    with open_image(saved(corners(), "JPEG", exif=turned(code))) as image:
        assert orientation(image) == 1
        assert upright(image, 512).size == (80, 40)


@pytest.mark.parametrize("size", [(3000, 2000), (2000, 3000), (1001, 999), (5000, 7)])
@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_the_longest_side_is_at_most_that(format: str, size: tuple[int, int]) -> None:
    found = opened(saved(corners(size), format), side=100)
    assert max(found.size) == 100
    assert found.size == tuple(max(1, round(length * 100 / max(size))) for length in size)


def test_small_pictures_are_not_enlarged() -> None:
    assert opened(saved(corners((8, 4)), "PNG"), side=512).size == (8, 4)


def test_a_jpeg_is_decoded_at_a_smaller_scale_and_looks_the_same() -> None:
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)).resize((2000, 1500))
    data = saved(coarse, "JPEG", quality=95)
    with open_image(data) as image:
        small = upright(image, 200)
        assert image.size == (500, 375)  # what the decoder itself made of 2000 x 1500
    whole = Image.open(io.BytesIO(data)).resize((200, 150), Image.Resampling.BICUBIC)
    assert np.abs(np.asarray(small, float) - np.asarray(whole, float)).mean() < 3


# Modes


def test_transparent_parts_are_white() -> None:
    clear = corners().convert("RGBA")
    clear.putalpha(Image.linear_gradient("L").resize((80, 40)).point(lambda value: 255 * (value > 127)))
    found = opened(saved(clear, "PNG"))
    assert quarter_colours(found) == [WHITE, WHITE, BLUE, WHITE]


def test_a_palette_with_a_transparent_colour() -> None:
    palette = corners().convert("P", palette=Image.Palette.ADAPTIVE, colors=4)
    red = palette.getpixel((0, 0))
    assert quarter_colours(opened(saved(palette, "PNG"))) == [RED, LIME, BLUE, WHITE]
    assert quarter_colours(opened(saved(palette, "PNG", transparency=red))) == [WHITE, LIME, BLUE, WHITE]
    levels = bytes(0 if index == red else 255 for index in range(4))  # which Pillow warns of when not handled
    assert quarter_colours(opened(saved(palette, "PNG", transparency=levels))) == [WHITE, LIME, BLUE, WHITE]


def test_cmyk_and_gray_jpegs() -> None:
    assert quarter_colours(opened(saved(corners().convert("CMYK"), "JPEG"))) == [RED, LIME, BLUE, WHITE]
    grey = opened(saved(Image.new("L", (20, 20), 200), "JPEG"))
    assert (grey.mode, grey.getpixel((5, 5))) == ("RGB", (200, 200, 200))


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_sixteen_bits_keep_their_brightness(format: str) -> None:
    grey = Image.fromarray(np.linspace(0, 65535, 256, dtype=np.uint16)[None, :].repeat(16, axis=0))
    found = np.asarray(opened(saved(grey, format)))
    assert np.abs(found[8, :, 0].astype(int) - np.arange(256)).max() <= 1


def test_floats_and_long_integers_of_a_tiff() -> None:
    ramp = np.linspace(0, 1, 256, dtype=np.float32)[None, :].repeat(4, axis=0)
    ramp[0, 0] = np.nan
    floats = np.asarray(opened(saved(Image.fromarray(ramp), "TIFF")))
    assert np.abs(floats[2, :, 0].astype(int) - np.arange(256)).max() <= 1
    integers = np.asarray(opened(saved(Image.fromarray((ramp[1:] * 65535).astype(np.int32)), "TIFF")))
    assert np.abs(integers[1, :, 0].astype(int) - np.arange(256)).max() <= 1


def test_one_bit_and_lab() -> None:
    bits = opened(saved(Image.new("1", (9, 9), 1), "PNG"))
    assert bits.getpixel((4, 4)) == WHITE
    to_lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")
    lab = ImageCms.applyTransform(corners(), to_lab)
    assert lab is not None
    assert quarter_colours(opened(saved(lab, "TIFF"))) == [RED, LIME, BLUE, WHITE]


@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF", "MPO"])
def test_of_several_frames_the_first_is_the_picture(format: str) -> None:
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue", "lime")]
    data = saved(frames[0], format, save_all=True, append_images=frames[1:])
    with open_image(data) as image:
        assert image.n_frames == 3
        assert quarter_colours(upright(image, 64)) == [RED] * 4


def test_upright_images_can_be_used_after_the_file_is_closed() -> None:
    found = opened(saved(corners(), "PNG"))
    assert found.resize((4, 4)).getpixel((0, 0)) == RED


# Thumbnails


def test_thumbnails_are_small_jpegs_without_metadata() -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "SecretCam"
    exif[ExifTags.IFD.GPSInfo] = {1: "N", 2: (35.0, 1.0, 30.0), 3: "E", 4: (135.0, 46.0, 12.0)}
    data = saved(corners((1200, 800)), "JPEG", exif=exif, comment=b"my comment", xmp=b"<x>private</x>", dpi=(300, 300))
    found = opened(data, side=1000)
    small = thumbnail(found)
    assert small[:2] == b"\xff\xd8"
    assert not [word for word in (b"Exif", b"SecretCam", b"comment", b"private", b"ICC_PROFILE") if word in small]
    with Image.open(io.BytesIO(small)) as image:
        assert (image.size, image.mode) == ((500, 334), "RGB")  # a half: up to a tenth smaller, and quicker
        assert not image.getexif()
    assert len(small) < 20_000
    assert found.size == (1000, 667)  # the given image is left as it was
    with Image.open(io.BytesIO(thumbnail(found, side=64))) as image:
        assert image.size == (63, 42)
    with Image.open(io.BytesIO(thumbnail(found, side=300))) as image:
        assert image.size == (300, 200)


# What is no picture


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"Dear diary, these are only words.", "not an image"),
        (b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "not an image"),  # never handed to another program
    ],
)
def test_what_is_no_picture(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(data)
    for source in (path, data, io.BytesIO(data)):
        with pytest.raises(Unreadable, match=reason):
            open_image(source)


def test_unreadable_is_an_input_error_with_plain_words() -> None:
    with pytest.raises(InputError, match=r"^empty file$"):
        open_image(b"")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="cannot be read: No such file"):
        open_image(tmp_path / "gone.jpg")
    with pytest.raises(Unreadable, match="cannot be read: Is a directory"):
        open_image(tmp_path)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "HEIF", "TIFF"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_truncated_pictures(format: str, share: float) -> None:
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (300, 400, 3), dtype=np.uint8))
    data = saved(noise, format)
    with pytest.raises(Unreadable) as caught:
        opened(data[: int(len(data) * share)])
    if format in ("JPEG", "PNG", "TIFF") and share == 0.9:
        assert str(caught.value) == "truncated"


def test_damaged_pixels_are_unreadable_and_not_an_error_of_the_decoder() -> None:
    data = bytearray(saved(corners((400, 300)), "PNG"))
    start = data.index(b"IDAT") + 4
    data[start + 2 : start + 40] = b"\xff" * 38
    with pytest.raises(Unreadable):
        opened(bytes(data))


def test_a_stream_that_the_caller_opened_stays_open() -> None:
    stream = io.BytesIO(bomb_png(20_000, 10_000))
    with pytest.raises(Unreadable):
        open_image(stream)
    assert not stream.closed
    good = io.BytesIO(saved(corners(), "PNG"))
    with open_image(good) as image:
        upright(image, 64)
    assert not good.closed


def bomb_png(width: int, height: int) -> bytes:
    """A header, and no pixels worth the name."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"not pixels") + chunk(b"IEND", b"")


def bomb_jpeg(width: int, height: int) -> bytes:
    data = bytearray(saved(corners(), "JPEG"))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = struct.pack(">HH", height, width)
    return bytes(data)


@pytest.mark.parametrize("bomb", [bomb_png, bomb_jpeg])
def test_bombs_are_refused_by_their_header(bomb: Any) -> None:
    with pytest.raises(Unreadable, match=r"^200 megapixels, more than the 150 allowed \(--max-megapixels\)$"):
        open_image(bomb(20_000, 10_000))
    with pytest.raises(Unreadable, match="4225 megapixels"):
        open_image(bomb(65_000, 65_000))
    with open_image(bomb(20_000, 10_000), max_megapixels=250) as image:  # a header is not decoded
        assert image.size == (20_000, 10_000)


def test_a_large_picture_is_decoded_where_it_is_allowed() -> None:
    data = saved(Image.new("1", (20_000, 10_000), 1), "PNG")
    with pytest.raises(Unreadable, match="200 megapixels"):
        open_image(data)
    limit = Image.MAX_IMAGE_PIXELS
    with open_image(data, max_megapixels=200) as image:
        found = upright(image, 100)
    assert (found.size, found.getpixel((50, 25))) == ((100, 50), WHITE)
    assert limit == Image.MAX_IMAGE_PIXELS  # Pillow's own limit stands for everybody else


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match=r"open_image.max_megapixels must be > 0, got 0"):
        open_image(b"", max_megapixels=0)
    with pytest.raises(OptionError, match=r"upright.side must be >= 1, got 0"):
        upright(corners(), 0)
    with pytest.raises(OptionError, match=r"shrunk.side must be >= 1, got -1"):
        thumbnail(corners(), -1)


def test_suffixes_are_lower_case() -> None:
    assert {".jpg", ".heic", ".gif", ".avif", ".bmp", ".dng", ".cr3"} < SUFFIXES
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in SUFFIXES)


def test_nothing_is_written_to_standard_error() -> None:
    code = (
        "import io; from PIL import Image; from mascot.photos.images import *\n"
        "out = io.BytesIO(); Image.new('RGB', (8, 8)).save(out, 'TIFF'); data = bytearray(out.getvalue())\n"
        "at = data.index(b'\\x15\\x01\\x03\\x00'); data[at + 8] = 116  # samples per pixel\n"
        "try: open_image(bytes(data))\n"
        "except Unreadable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("not an image (JPEG, PNG, WebP, HEIC, TIFF, GIF, AVIF, BMP or RAW)\n", "")


def test_all_real_photographs_decode() -> None:
    if not DATA.is_dir():
        pytest.skip("needs the real data set at ../shared/data")
    paths = sorted(DATA.iterdir())
    assert len(paths) == 95
    for path in paths:
        with open_image(path) as image:
            shown = shown_size(image)
            found = upright(image, 224)
        assert found.mode == "RGB"
        assert max(found.size) == min(224, max(shown))
        assert (found.width > found.height) == (shown[0] > shown[1])
        assert 0 < len(thumbnail(found, 128)) < 20_000
