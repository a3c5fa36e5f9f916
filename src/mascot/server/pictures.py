"""Thumbnails and photographs as browsers expect them: with an ETag, in ranges, in a format they can show."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from cachetools import LRUCache
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from mascot.photos.decoding import DecoderPool
from mascot.photos.export import safe_name
from mascot.photos.limits import Limits
from mascot.photos.photo import Photo

_LARGEST_SIDE = 4096  # pixels of a photograph that must be converted for the browser
_MEGAPIXELS = 150.0  # of a photograph that was changed since it was indexed; none that was indexed is too large
_DECODERS = DecoderPool(Limits())
_CONVERTING = threading.Semaphore(2)  # photographs at once: decoded, one may take half a gigabyte
_CONVERTED: LRUCache[tuple[Path, str], bytes] = LRUCache(64 * 1024 * 1024, len)  # so that none is decoded twice
_LOCK = threading.Lock()


class _File(FileResponse):
    """A file, or the ranges of it that are asked for; a range it does not have is a failure like others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ranges = Headers(scope=scope).get("range", "")
        size = self.headers["content-length"]

        async def checked(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (400, 416):
                raise HTTPException(416, f"the file has no such part: {ranges!r}", {"content-range": f"bytes */{size}"})
            await send(message)

        if ranges.partition("=")[0].strip().lower() != "bytes":  # an unknown unit: send the whole file
            scope = {**scope, "headers": [header for header in scope["headers"] if header[0] != b"range"]}
        await super().__call__(scope, receive, checked)


def thumbnail(request: Request, content: bytes) -> Response:
    """Return a small picture; the browser may keep it, and asks whether it is still the same."""
    headers = {"cache-control": "private, no-cache", "etag": f'"{blake2b(content, digest_size=12).hexdigest()}"'}
    if _has(request, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)


def photograph(request: Request, path: Path, photo: Photo) -> Response:
    """Return a photograph from its file; the browser may keep it, and asks whether it is still the same."""
    status = path.stat()
    tag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    headers = {"cache-control": "private, no-cache", "etag": tag}
    if _has(request, tag):
        return Response(status_code=304, headers=headers)
    kind = _browser_type(path)
    if kind is not None:
        return _File(path, media_type=kind, headers=headers, stat_result=status)
    return Response(_jpeg(path, tag, photo), media_type="image/jpeg", headers=headers)


def download(parts: AsyncIterator[str | bytes], title: str, kind: str) -> Response:
    """Return a file to be saved under the title, sent as it is made; `kind` is `zip` or `html`."""
    name = f"{safe_name(title)}.{kind}"
    plain = "".join(letter if letter.isascii() and letter not in '"\\;%' else "_" for letter in name)
    headers = {
        "content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "cache-control": "no-store",
    }
    media_type = "application/zip" if kind == "zip" else "text/html; charset=utf-8"
    return StreamingResponse(parts, media_type=media_type, headers=headers)


def _browser_type(path: Path) -> str | None:
    """The type of a file that browsers can show, by its content: a phone may call its HEIC .jpg."""
    with path.open("rb") as file:
        start = file.read(12)
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    return "image/webp" if start[:4] == b"RIFF" and start[8:] == b"WEBP" else None


def _jpeg(path: Path, tag: str, photo: Photo) -> bytes:
    """A photograph that browsers cannot show, as JPEG."""
    content = _converted(path, tag)
    if content is not None:
        return content
    with _CONVERTING:
        content = _converted(path, tag)  # others may have waited for the same one
        if content is not None:
            return content
        content = _DECODERS.convert(path, _LARGEST_SIDE, max(_MEGAPIXELS, photo.width * photo.height / 1e6))
    with _LOCK, suppress(ValueError):  # larger than the whole cache
        _CONVERTED[path, tag] = content
    return content


def _converted(path: Path, tag: str) -> bytes | None:
    with _LOCK:
        return _CONVERTED.get((path, tag))


def _has(request: Request, tag: str) -> bool:
    """Whether the browser holds this version already."""
    held = request.headers.get("if-none-match", "")
    return any(part.strip().removeprefix("W/") in (tag, "*") for part in held.split(","))
