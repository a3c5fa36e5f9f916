"""Thumbnails and photographs as browsers want them: with a tag, in parts, in a format they can show."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b
from io import BytesIO
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import FileResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from mascot.photos.images import open_image, upright
from mascot.photos.photo import Photo

_LARGEST_SIDE = 4096  # pixels of a photograph that must be converted for the browser
_MEGAPIXELS = 150.0  # of a photograph that was changed since it was indexed; none that was indexed is too large
_CONVERTING = threading.Semaphore(2)  # photographs at once: decoded, one may take half a gigabyte


class _Converted:
    """The photographs converted last, so that looking at one again does not decode it again."""

    def __init__(self, largest: int) -> None:
        self._largest = largest  # bytes of all of them together
        self._kept: OrderedDict[tuple[Path, str], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[Path, str]) -> bytes | None:
        with self._lock:
            content = self._kept.get(key)
            if content is not None:
                self._kept.move_to_end(key)
            return content

    def put(self, key: tuple[Path, str], content: bytes) -> None:
        with self._lock:
            self._kept[key] = content
            while sum(map(len, self._kept.values())) > self._largest:
                self._kept.popitem(last=False)


_CONVERTED = _Converted(64 * 1024 * 1024)


class _File(FileResponse):
    """A file, or the parts of it that are asked for; those that it does not have are a failure like others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = Headers(scope=scope).get("range", "")
        size = self.headers["content-length"]

        async def checked(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (400, 416):
                raise HTTPException(416, f"the file has no such part: {asked!r}", {"content-range": f"bytes */{size}"})
            await send(message)

        if asked.partition("=")[0].strip().lower() != "bytes":  # parts in a unit we do not know: then the whole
            scope = {**scope, "headers": [header for header in scope["headers"] if header[0] != b"range"]}
        await super().__call__(scope, receive, checked)


def thumbnail(request: Request, content: bytes) -> Response:
    """A small picture; the browser may keep it, and asks whether it is still the same."""
    headers = {"cache-control": "private, no-cache", "etag": f'"{blake2b(content, digest_size=12).hexdigest()}"'}
    if _has(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)


def photograph(request: Request, path: Path, photo: Photo) -> Response:
    """A photograph, out of its file; the browser may keep it, and asks whether it is still the same."""
    about = path.stat()
    tag = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
    headers = {"cache-control": "private, no-cache", "etag": tag}
    if _has(request, tag):
        return Response(status_code=304, headers=headers)
    kind = _shown_as_it_is(path)
    if kind is not None:
        return _File(path, media_type=kind, headers=headers, stat_result=about)
    return Response(_jpeg(path, tag, photo), media_type="image/jpeg", headers=headers)


def _shown_as_it_is(path: Path) -> str | None:
    """The type of a format that browsers show. The content says it: names lie, and a phone calls its HEIC .jpg."""
    with path.open("rb") as file:
        start = file.read(12)
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    return "image/webp" if start[:4] == b"RIFF" and start[8:] == b"WEBP" else None


def _jpeg(path: Path, tag: str, photo: Photo) -> bytes:
    """A photograph that browsers cannot show, as JPEG."""
    known = _CONVERTED.get((path, tag))
    if known is not None:
        return known
    with _CONVERTING:
        known = _CONVERTED.get((path, tag))  # others may have waited for the same one
        if known is not None:
            return known
        content = BytesIO()
        with open_image(path, max(_MEGAPIXELS, photo.width * photo.height / 1e6)) as image:
            upright(image, _LARGEST_SIDE).save(content, "JPEG", quality=90)
        _CONVERTED.put((path, tag), content.getvalue())
        return content.getvalue()


def _has(request: Request, tag: str) -> bool:
    """Whether the browser holds this version already."""
    held = request.headers.get("if-none-match", "")
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in held.split(","))
