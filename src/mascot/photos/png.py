"""The EXIF and XMP chunks behind the pixels of a PNG, read without decoding the pixels."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import IO

from PIL import Image

_XMP = b"XML:com.adobe.xmp"
_LARGEST_XMP = 16 << 20  # bytes, decompressed


def take_late_blocks(image: Image.Image) -> None:
    """Put late chunks into `image.info`, where Pillow would put them only after decoding."""
    file: IO[bytes] | None = getattr(image, "fp", None)
    if file is None:
        return
    position = file.tell()
    for kind, body in _chunks(file):
        if kind == b"eXIf":
            image.info.setdefault("exif", b"Exif\0\0" + body)
        elif body.startswith(_XMP + b"\0") and (packet := _text(body)):
            image.info.setdefault("xmp", packet)
    file.seek(position)


def _chunks(file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the chunks that may hold EXIF or XMP; seek past the others."""
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
    """Return the text of an iTXt chunk, after the keyword, two compression bytes, a language and a translation."""
    fields = body[len(_XMP) + 1 :]
    is_compressed, parts = fields[:1] == b"\1", fields[2:].split(b"\0", 2)
    if len(parts) < 3:
        return None
    if not is_compressed:
        return parts[2]
    try:
        return zlib.decompressobj().decompress(parts[2], _LARGEST_XMP)
    except zlib.error:
        return None
