"""Thumbnails and photographs as browsers want them: with a tag, in parts, in a format they can show."""

from __future__ import annotations

import threading
from io import BytesIO
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import FileResponse

from mascot.photos.images import open_image, upright

_SHOWN_AS_THEY_ARE = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".jpe": "image/jpeg", ".png": "image/png",
                      ".webp": "image/webp"}  # fmt: skip
_LARGEST_SIDE = 4096  # pixels of a photograph that must be converted for the browser
_CONVERTING = threading.Semaphore(2)  # photographs at once: decoded, one may take half a gigabyte


def thumbnail(request: Request, content: bytes, tag: str) -> Response:
    """A small picture; the browser may keep it for an hour without asking again."""
    headers = {"cache-control": "private, max-age=3600", "etag": f'"{tag}"'}
    if _has(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)


def photograph(request: Request, path: Path) -> Response:
    """A photograph; the browser may keep it, and asks whether it is still the same."""
    about = path.stat()
    headers = {"cache-control": "private, no-cache", "etag": f'"{about.st_mtime_ns:x}-{about.st_size:x}"'}
    if _has(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    kind = _SHOWN_AS_THEY_ARE.get(path.suffix.lower())
    if kind is not None:
        return FileResponse(path, media_type=kind, headers=headers, stat_result=about)
    with _CONVERTING:
        content = BytesIO()
        with open_image(path) as image:
            upright(image, _LARGEST_SIDE).save(content, "JPEG", quality=90)
    return Response(content.getvalue(), media_type="image/jpeg", headers=headers)


def _has(request: Request, tag: str) -> bool:
    """Whether the browser holds this version already."""
    held = request.headers.get("if-none-match", "")
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in held.split(","))
