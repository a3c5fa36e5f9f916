"""Open the preview inside a RAW file (DNG, NEF, CR2, CR3, ARW, RAF, ...), with the metadata of the photograph."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from typing import BinaryIO

import rawpy
from PIL import Image
from PIL.ExifTags import Base

from mascot.photos.metadata import exif

SIZE = "mascot.size"  # key in `Image.info` of a preview: width and height of its RAW file
_TIFF = (b"II*\0", b"MM\0*")
# Signatures of TIFF files of Olympus and Panasonic, and the usual signatures that they replace.
_VARIANTS = {b"IIRO": b"II*\0", b"IIRS": b"II*\0", b"MMOR": b"MM\0*", b"IIU\0": b"II*\0"}
_CANON = b"ftypcrx "
_START = 4 << 20  # bytes in which the tags of these two kinds are


class NoPreview(ValueError):
    """A RAW file without a preview."""


def open_preview(file: BinaryIO) -> Image.Image | None:
    """Return the largest preview of a RAW file, None for a file of another kind. Raises `NoPreview`."""
    file.seek(0)
    try:
        with rawpy.imread(file) as photograph:
            size = (photograph.sizes.width, photograph.sizes.height)
            preview = photograph.extract_thumb()
    except (rawpy.LibRawNoThumbnailError, rawpy.LibRawUnsupportedThumbnailError):
        raise NoPreview("a RAW file without a preview") from None
    except rawpy.LibRawError:
        return None
    if isinstance(preview.data, bytes):
        image: Image.Image = Image.open(io.BytesIO(preview.data), formats=["JPEG"])
    else:
        image = Image.fromarray(preview.data)
    image.info[SIZE] = max(size, image.size, key=lambda size: size[0] * size[1])
    _add_tags(image, raw_tags(file))
    return image


def _add_tags(image: Image.Image, tags: exif.Exif) -> None:
    """Let the tags of the RAW file stand for those of its preview, unless only the preview describes the exposure."""
    software = str(exif.read(image).picture.get(Base.Software))
    is_made = software.startswith("dcraw")  # LibRaw writes a short block if the preview has none
    if tags.exposure or (is_made and tags.picture):
        image.info[exif.CONTAINER] = tags
        packet = tags.picture.get(Base.XMLPacket)
        if isinstance(packet, bytes):
            image.info.setdefault("xmp", packet)


def raw_tags(file: BinaryIO) -> exif.Exif:
    """Return the tags of a RAW file that is a TIFF, or contains TIFF blocks; otherwise none."""
    file.seek(0)
    start = file.read(_START)
    if start.startswith(_TIFF):
        file.seek(0)
        return exif.read_block(lambda block: block.load_from_fp(file))
    if start[4:12] == _CANON:  # each block has its tags in a directory of its own
        picture, exposure, gps = (
            exif.read_block(partial(Image.Exif.load, data=_box(start, kind))) for kind in (b"CMT1", b"CMT2", b"CMT4")
        )
        return replace(picture, exposure=exposure.picture, gps=gps.picture)
    if start[:4] in _VARIANTS:
        content = _VARIANTS[start[:4]] + start[4:]
        return exif.read_block(lambda block: block.load(content))
    return exif.Exif()


def _box(content: bytes, kind: bytes) -> bytes:
    """Return the body of a box of a CR3, whose length is in front of its kind."""
    at = content.find(kind)
    return content[at + 4 : at - 4 + int.from_bytes(content[at - 4 : at], "big")] if at >= 4 else b""
