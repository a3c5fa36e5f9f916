"""Embedded colour profiles are applied, and damaged ones are ignored."""

from __future__ import annotations

import io
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs the extra photos")
pytest.importorskip("pillow_heif", reason="needs the extra photos")

from PIL import Image, ImageCms, features

from mascot.photos.colours import in_srgb
from mascot.photos.images import open_image, upright

pytestmark = pytest.mark.skipif(not features.check("littlecms2"), reason="this Pillow cannot read colour profiles")

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
LAB = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()


def swapped_profile() -> bytes:
    """Return an sRGB profile with red and blue exchanged."""
    data = bytearray(SRGB.replace("sRGB".encode("utf-16-be"), "swap".encode("utf-16-be")))
    tags = {}
    for i in range(struct.unpack_from(">I", data, 128)[0]):
        at = 132 + 12 * i
        tags[bytes(data[at : at + 4])] = at
    red, blue = tags[b"rXYZ"], tags[b"bXYZ"]
    data[red + 4 : red + 12], data[blue + 4 : blue + 12] = data[blue + 4 : blue + 12], data[red + 4 : red + 12]
    return bytes(data)


def encoded(image: Image.Image, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def centre_pixel(data: bytes, **options: Any) -> np.ndarray:
    with open_image(data) as image:
        result = upright(image, 16, **options)
    assert (result.mode, result.info) == ("RGB", {})
    return np.array(result.getpixel((result.width // 2, result.height // 2)))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "HEIF"])
def test_the_profile_is_applied(format: str) -> None:
    red = encoded(Image.new("RGB", (32, 32), "red"), format, icc_profile=swapped_profile(), quality=95)
    assert np.abs(centre_pixel(red) - [0, 0, 255]).max() <= 12
    assert np.abs(centre_pixel(red, srgb=False) - [255, 0, 0]).max() <= 12


def test_transparent_parts_become_white() -> None:
    image = Image.new("RGBA", (32, 32), (255, 0, 0, 255))
    image.paste((255, 0, 0, 0), (16, 0, 32, 32))
    with open_image(encoded(image, "PNG", icc_profile=swapped_profile())) as opened:
        result = upright(opened, 32)
    assert np.abs(np.array(result.getpixel((4, 16))) - [0, 0, 255]).max() <= 12
    assert result.getpixel((28, 16)) == (255, 255, 255)


def test_an_srgb_image_is_returned_unchanged() -> None:
    image = Image.new("RGB", (8, 8), (200, 30, 90))
    assert in_srgb(image, SRGB) is image
    assert in_srgb(image, None) is image


@pytest.mark.parametrize(
    "profile",
    [b"", b"not a profile", SRGB[:100], swapped_profile()[:-300], LAB, bytes(5 << 20)],
    ids=["empty", "text", "a header", "cut off", "for another mode", "too large"],
)
def test_an_unusable_profile_is_ignored(profile: bytes) -> None:
    for mode in ("RGB", "RGBA", "CMYK", "L"):
        image = Image.new(mode, (8, 8), 7)
        assert in_srgb(image, profile) is image
    assert centre_pixel(encoded(Image.new("RGB", (32, 32), "red"), "JPEG", icc_profile=profile[:60_000])).argmax() == 0


def test_many_threads_share_a_profile() -> None:
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8)) for _ in range(40)]
    profile = swapped_profile()
    sequential = [np.asarray(in_srgb(image, profile)) for image in images]
    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(lambda image: np.asarray(in_srgb(image, profile)), images))
    assert all(np.array_equal(a, b) for a, b in zip(sequential, parallel, strict=True))
    assert not np.array_equal(sequential[0], np.asarray(images[0]))
