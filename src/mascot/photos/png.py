"""The EXIF and XMP blocks that a PNG keeps behind its pixels, found without decoding those."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import IO

from PIL import Image

_XMP = b"XML:com.adobe.xmp"
_LARGEST_XMP = 16 << 20  # bytes, unpacked


def take_late_blocks(image: Image.Image) -> None:
    """Put them into `image.info`, where Pillow would put them only after decoding."""
    file: IO[bytes] | None = getattr(image, "fp", None)
    if file is None:
        return
    here = file.tell()
    for kind, body in _chunks(file):
        if kind == b"eXIf":
            image.info.setdefault("exif", b"Exif\0\0" + body)
        elif body.startswith(_XMP + b"\0") and (packet := _text(body)):
            image.info.setdefault("xmp", packet)
    file.seek(here)


def _chunks(file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The chunks that may hold a block; the others are stepped over."""
    file.seek(8)
    while len(head := file.read(8)) == 8:
        length, kind = int.from_bytes(head[:4], "big"), head[4:]
        if kind in (b"eXIf", b"iTXt"):
            body = file.read(length)
            if len(body) == length:
                yield kind, body
            file.seek(4, os.SEEK_CUR)
        else:
            file.seek(length + 4, os.SEEK_CUR)


def _text(body: bytes) -> bytes | None:
    """The text of an iTXt chunk: behind the keyword two bytes about packing, a language and a translation."""
    rest = body[len(_XMP) + 1 :]
    packed, parts = rest[:1] == b"\1", rest[2:].split(b"\0", 2)
    if len(parts) < 3:
        return None
    if not packed:
        return parts[2]
    try:
        return zlib.decompressobj().decompress(parts[2], _LARGEST_XMP)
    except zlib.error:
        return None
