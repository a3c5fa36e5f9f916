"""Open, decode and shrink picture files, with errors that say what is wrong with a file."""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError, MissingExtra
from mascot.extras import install_extra

try:
    import pillow_heif
    from PIL import Image, ImageCms, UnidentifiedImageError, features
    from PIL.ExifTags import Base
    from PIL.PngImagePlugin import PngStream
    from PIL.TiffImagePlugin import TiffImageFile

    from mascot.photos.files.raw import SIZE, NoPreview, open_preview
except ModuleNotFoundError:
    raise MissingExtra(f"reading photographs needs: {install_extra('photos')}") from None

from mascot.photos.files.file_groups import RAW_SUFFIXES
from mascot.photos.metadata import exif
from mascot.photos.metadata.exif import quietly

SUFFIXES = RAW_SUFFIXES | {
    ".jpg", ".jpeg", ".jpe", ".png", ".webp", ".heic", ".heif", ".tif", ".tiff", ".gif", ".avif", ".bmp",
}  # fmt: skip

_FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "HEIF", "TIFF", "GIF", "BMP")
_KINDS = "JPEG, PNG, WebP, HEIC, TIFF, GIF, AVIF, BMP or RAW"
_TURNED_ON_LOADING = ("TIFF", "HEIF")
_TURN = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_MAX_SHRINK = 1.1  # factor by which a picture may become too small
_THUMBNAIL_QUALITY = 75
_BAND_ROWS = 256
_SRGB_MODES = {"RGB": "RGB", "RGBA": "RGBA", "CMYK": "RGB"}  # by input mode; others have no colour profile
_LARGEST_PROFILE = 4 << 20  # bytes; profiles of printers have 1 to 2 MB

pillow_heif.register_heif_opener()
# Pillow also logs problems of files; without a handler they would go to standard error.
logging.getLogger("PIL").addHandler(logging.NullHandler())


class Unreadable(InputError):
    """A file that cannot be decoded; the message says why."""


def open_image(source: Path | bytes | BinaryIO, max_megapixels: float = 150) -> Image.Image:
    """Open a picture and read its header; nothing is decoded yet.

    Raises `Unreadable` for other formats than JPEG, PNG, WebP, HEIC, TIFF, GIF, AVIF, BMP and RAW, and for pictures of
    more than `max_megapixels`. If there are several frames, the first one (in HEIC the primary one) is used. For a RAW
    file the largest preview is used, with the metadata of the file.
    """
    try:
        content = source.read_bytes() if isinstance(source, Path) else source
        stream = io.BytesIO(content) if isinstance(content, bytes) else content
        with quietly():
            image = _open(stream)
            if image.format == "PNG":
                _take_late_chunks(image, stream)
    except UnidentifiedImageError:
        raise Unreadable(f"not an image ({_KINDS})" if stream.seek(0, io.SEEK_END) else "empty file") from None
    except NoPreview as error:
        raise Unreadable(str(error)) from None
    except MemoryError:
        raise
    except Exception as error:  # decoders raise whatever they like on damaged headers
        raise Unreadable(_reason(error)) from error
    megapixels = image.width * image.height / 1e6
    if megapixels <= 0:
        raise Unreadable(f"no pixels ({image.width} x {image.height})")
    if megapixels > max_megapixels:
        allowed = f"{max_megapixels:g} allowed (--max-megapixels)"
        raise Unreadable(f"{math.ceil(megapixels)} megapixels, more than the {allowed}")
    return image


def orientation(image: Image.Image) -> int:
    """Return the rotation that the stored pixels still need, as an EXIF code 1..8, where 1 is upright."""
    if image.format in _TURNED_ON_LOADING:
        return 1
    try:
        with quietly():
            # Not `PngImageFile.getexif`, which decodes the picture first.
            code = Image.Image.getexif(image).get(Base.Orientation)
    except Exception:  # a damaged block has no orientation
        return 1
    if code is None and exif.CONTAINER in image.info:
        code = image.info[exif.CONTAINER].picture.get(Base.Orientation)
    return code if isinstance(code, int) and code in _TURN else 1


def shown_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height after rotation, for an image that `upright` has not decoded yet."""
    width, height = image.info.get(SIZE, image.size)
    return (height, width) if orientation(image) >= 5 else (width, height)


def upright(image: Image.Image, side: int, *, srgb: bool = True) -> Image.Image:
    """Decode to RGB, rotated upright, the longest side at most `side` pixels; never enlarge.

    Transparent parts become white. Colours are converted from the embedded profile to sRGB, unless `srgb` is False.
    Read the metadata first: a JPEG decoded at a smaller scale keeps that smaller size. Raises `Unreadable` if the data
    are truncated or damaged.
    """
    turn = _TURN.get(orientation(image))
    shrink = min(1.0, side / max(image.size))
    size = (max(1, round(image.width * shrink)), max(1, round(image.height * shrink)))
    try:
        if shrink < 1:
            # The decoder itself scales a JPEG to 1/2, 1/4 or 1/8; a margin of one half is left for a good filter.
            image.draft(None, (size[0] * 3 // 2, size[1] * 3 // 2))
        with quietly() if image.format == "TIFF" else nullcontext():
            image.load()
        pixels = _resizable(image)
        if pixels.size != size:
            pixels = pixels.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0)
        pixels = _on_white(in_srgb(pixels, image.info.get("icc_profile")) if srgb else pixels)
    except MemoryError:
        raise
    except Exception as error:  # decoders raise whatever they like on damaged data
        raise Unreadable(_reason(error)) from error
    return pixels.transpose(turn) if turn is not None else pixels


def in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return the image in sRGB. An image without a readable profile is taken to be in sRGB already."""
    if not profile or image.mode not in _SRGB_MODES or len(profile) > _LARGEST_PROFILE:
        return image
    transform = _srgb_transform(bytes(profile), image.mode)
    return image if transform is None else ImageCms.applyTransform(image, transform) or image


def shrunk(image: Image.Image, side: int = 256) -> Image.Image:
    """Return the picture with a longest side of at most `side` pixels."""
    times = max(image.size) / side
    if times <= 1:
        return image
    if math.ceil(times) < _MAX_SHRINK * times:  # averaging whole squares of pixels is several times as fast
        return image.reduce(math.ceil(times))
    size = (max(1, round(image.width / times)), max(1, round(image.height / times)))
    return image.resize(size, Image.Resampling.BILINEAR, reducing_gap=3.0)


def thumbnail(image: Image.Image, side: int = 512) -> bytes:
    """Return a small JPEG of an upright RGB image, without the metadata of the original."""
    small = shrunk(image, side)
    if small.info:  # otherwise the encoder would copy comments and XMP
        small = small.copy()
        small.info = {}
    out = io.BytesIO()
    small.save(out, "JPEG", quality=_THUMBNAIL_QUALITY)
    return out.getvalue()


def _open(stream: BinaryIO) -> Image.Image:
    """Open a picture, or the preview of a RAW file. To Pillow, many RAW files are a TIFF with a small picture."""
    # The limit of Pillow is global to the process; ours is checked from the same header.
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        image = Image.open(stream, formats=_FORMATS)
        if isinstance(image, TiffImageFile) and Base.Make in image.tag_v2:
            with suppress(NoPreview):
                return open_preview(stream) or image
        return image
    except UnidentifiedImageError:
        preview = open_preview(stream)
        if preview is None:
            raise
        return preview
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def _take_late_chunks(image: Image.Image, file: BinaryIO) -> None:
    """Put the EXIF and XMP behind the pixels of a PNG into `image.info`; Pillow does so only after decoding."""
    position, chunks = file.tell(), PngStream(file)
    file.seek(8)
    with suppress(Exception):  # at the end, and at damage
        while True:
            kind, start, length = chunks.read()
            if kind in (b"eXIf", b"iTXt"):
                chunks.call(kind, start, length)
            file.seek(start + length + 4)
    for name in {"exif", "xmp"} & chunks.im_info.keys():
        image.info.setdefault(name, chunks.im_info[name])
    file.seek(position)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    message = str(error).strip() or type(error).__name__
    return "truncated" if isinstance(error, EOFError) or "truncated" in message.lower() else f"damaged: {message}"


@lru_cache(maxsize=32)
def _srgb_transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return the transform to sRGB; None if the profile is sRGB, damaged or for another mode."""
    if not features.check("littlecms2"):
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if "sRGB" in ImageCms.getProfileDescription(source):
            return None
        target = ImageCms.createProfile("sRGB")
        # Threads share the transform, and its one-pixel cache is not thread-safe.
        return ImageCms.buildTransform(source, target, mode, _SRGB_MODES[mode], flags=ImageCms.Flags.NOCACHE)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return None


def _resizable(image: Image.Image) -> Image.Image:
    """Return the picture in a mode in which neighbouring pixels can be averaged."""
    if image.mode.startswith(("I", "F")):
        return _eight_bits(image)
    if image.has_transparency_data:
        straight = image.convert("LA") if image.mode == "La" else image
        return straight if straight.mode == "RGBA" else straight.convert("RGBA")  # a copy would double the memory
    if image.mode in ("1", "L"):
        return image.convert("L")
    return image if image.mode in ("RGB", "CMYK") else image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale greys of more than eight bits to 0..255, by the smallest usual white level not below their maximum."""
    top = max((float(band.max(initial=0)) for band in _bands(image)), default=0.0)
    whites = {"F": (1, 255, 65535), "I": (255, 65535)}.get(image.mode, (65535,))
    white = next((value for value in whites if top <= value), top)
    grey = np.concatenate([np.clip(band * (255 / white), 0, 255).round().astype(np.uint8) for band in _bands(image)])
    return Image.fromarray(grey)


def _bands(image: Image.Image) -> Iterator[NDArray[np.float32]]:
    """Yield the pixels as finite numbers, a band of rows at a time: all at once would take 16 bytes per pixel."""
    for first in range(0, image.height, _BAND_ROWS):
        rows = image.crop((0, first, image.width, min(first + _BAND_ROWS, image.height)))
        yield np.nan_to_num(np.asarray(rows, np.float32), nan=0.0, posinf=0.0, neginf=0.0)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGBA":
        page = Image.new("RGB", image.size, "white")
        page.paste(image, mask=image.getchannel("A"))
        return page
    flat = image.convert("RGB") if image.mode != "RGB" else image.copy()
    flat.info = {}
    return flat
