"""Pictures of a dataset: decoded as a check, turned upright, and made small enough."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mascot.bench.files import replacing
from mascot.bench.prepare.outcomes import Loss
from mascot.photos.images import Unreadable, open_image, orientation, upright

FOLDER = "images"
_LONGEST = 1024  # pixels of the longest side, as published
_FORMATS = ("JPEG", "MPO")  # MPO is a JPEG with further pictures after it, as telephones write


def store(data: bytes, out: Path, id_: str, longest: int | None = _LONGEST, smallest: int = 0) -> dict[str, Any]:
    """Store the picture of an id as a JPEG in a dataset, and return its file and size for a journal.

    An upright JPEG whose sides have at most `longest` pixels is stored as it is, any other is encoded again. Colour
    profiles are not applied: the published encoders saw the numbers as they are. Below `smallest` pixels it is lost.
    """
    try:
        with open_image(data) as image:
            if min(image.size) < smallest:
                raise Loss("too small", f"{image.width} x {image.height} pixels, below {smallest}")
            side = longest or max(image.size)
            plain = image.format in _FORMATS and image.mode in ("RGB", "L")
            plain = plain and orientation(image) == 1 and max(image.size) <= side
            decoded = upright(image, side, srgb=False)
    except Unreadable as error:
        raise Loss("not a picture", f"{error}; it begins with {data[:16]!r}") from None
    path = out / file_of(id_)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not plain:
        stream = io.BytesIO()
        decoded.save(stream, "JPEG", quality=95)
        data = stream.getvalue()
    with replacing(path) as file:
        file.write(data)
    return {"file": file_of(id_), "bytes": len(data)}


def exists(out: Path, entry: Mapping[str, Any]) -> bool:
    """Return whether a journaled picture is still there."""
    path = out / entry["file"]
    return path.is_file() and bool(path.stat().st_size == entry["bytes"])


def file_of(id_: str) -> str:
    """Return the file of a picture relative to the dataset; different ids have different files.

    >>> file_of("2317")
    'images/2317.jpg'
    """
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", id_).strip("-")[:80]
    if safe != id_:
        safe = f"{safe}-{hashlib.sha256(id_.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}".lstrip("-")
    return f"{FOLDER}/{safe}.jpg"
