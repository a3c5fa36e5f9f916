"""Pictures on their way into a dataset: checked by decoding them, turned upright, made small enough."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mascot.bench.prepare.lost import Lost
from mascot.photos.images import Unreadable, open_image, orientation, upright

FOLDER = "images"
LONGEST = 1024  # pixels of the longest side, as published
_QUALITY = 95
_KEPT_FORMATS = ("JPEG", "MPO")  # MPO is a JPEG with further ones behind it, as telephones write
_KEPT_MODES = ("RGB", "L")


def save(data: bytes, path: Path, longest: int | None = LONGEST) -> tuple[int, int]:
    """Check a picture and store it as a JPEG; its width and height.

    The bytes stay as they are where they are an upright JPEG that is small enough. Else the picture is turned as it was
    held, made smaller and written anew: the paper speaks of the size alone, but encoders see pixels, not EXIF.
    Its colour profile is not applied: the published encoders saw the numbers as they are.
    """
    try:
        with open_image(data) as image:
            side = max(image.size) if longest is None else longest
            keep = (
                image.format in _KEPT_FORMATS
                and image.mode in _KEPT_MODES
                and max(image.size) <= side
                and orientation(image) == 1
            )
            plain = upright(image, side, srgb=False)
    except Unreadable as error:
        raise Lost("not a picture", f"{error}; it begins with {data[:16]!r}") from None
    if not keep:
        stream = io.BytesIO()
        plain.save(stream, "JPEG", quality=_QUALITY)
        data = stream.getvalue()
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(data)
    os.replace(aside, path)
    return plain.size


def keep(data: bytes, out: Path, id_: str, longest: int | None = LONGEST) -> dict[str, Any]:
    """Store the picture of that id in a dataset; what a journal notes of it."""
    file = file_of(id_)
    save(data, out / file, longest)
    return {"file": file, "bytes": (out / file).stat().st_size}


def still_there(out: Path, noted: Mapping[str, Any]) -> bool:
    """Whether a picture is as it was noted."""
    path = out / noted["file"]
    return path.is_file() and path.stat().st_size == noted["bytes"]


def file_of(id_: str) -> str:
    """Where the picture of that id lies, relative to the dataset.

    >>> file_of("2317")
    'images/2317.jpg'
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", id_).strip("-")[:80]
    if safe != id_:  # names that were made alike stay apart
        safe = f"{safe}-{hashlib.sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}".lstrip("-")
    return f"{FOLDER}/{safe}.jpg"
