"""Thumbnails and photographs for browsers: with an ETag, in ranges, in a format that browsers can show."""

from __future__ import annotations

import atexit
import re
import threading
from collections.abc import AsyncIterator, Mapping
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from cachetools import LRUCache, cached
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.photo import Photo
from mascot.photos.sharing.export import safe_name

_LARGEST_SIDE = 4096  # pixels of a photograph that must be converted for the browser
_MEGAPIXELS = 150.0  # of a photograph that has changed since it was indexed; indexed ones are never refused
_SIGNATURES = {
    rb"\xff\xd8\xff": "image/jpeg",
    rb"\x89PNG\r\n\x1a\n": "image/png",
    rb"GIF8[79]a": "image/gif",
    rb".{4}ftypavif": "image/avif",
    rb"RIFF.{4}WEBP": "image/webp",
}  # of the formats that browsers show
_DECODERS = DecoderPool(Limits())
atexit.register(_DECODERS.close)
_CONVERTING = threading.Semaphore(2)  # photographs at once: decoded, one may take half a gigabyte
_CONVERTED: LRUCache[tuple[Path, str], bytes] = LRUCache(64 * 1024 * 1024, len)


class _PictureResponse(FileResponse):
    """A file, or the requested ranges of it; a range beyond its end is answered 416 in JSON."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ranges = Headers(scope=scope).get("range", "")
        size = self.headers["content-length"]

        async def checked_send(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (400, 416):
                raise HTTPException(416, f"the file has no such part: {ranges!r}", {"content-range": f"bytes */{size}"})
            await send(message)

        if ranges.partition("=")[0].strip().lower() != "bytes":  # an unknown unit: send the whole file
            scope = {**scope, "headers": [header for header in scope["headers"] if header[0] != b"range"]}
        await super().__call__(scope, receive, checked_send)


def thumbnail(request_headers: Mapping[str, str], content: bytes) -> Response:
    """Return a small picture; the browser may cache it, and revalidates it."""
    headers = {"cache-control": "private, no-cache", "etag": f'"{blake2b(content, digest_size=12).hexdigest()}"'}
    if _has_version(request_headers, headers["etag"]):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="image/jpeg", headers=headers)


def photograph(request_headers: Mapping[str, str], path: Path, photo: Photo) -> Response:
    """Return a photograph from its file; the browser may cache it, and revalidates it."""
    status = path.stat()
    tag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    headers = {"cache-control": "private, no-cache", "etag": tag}
    if _has_version(request_headers, tag):
        return Response(status_code=304, headers=headers)
    kind = _browser_type(path)
    if kind is not None:
        return _PictureResponse(path, media_type=kind, headers=headers, stat_result=status)
    return Response(_jpeg(path, tag, photo), media_type="image/jpeg", headers=headers)


def download(parts: AsyncIterator[str | bytes], title: str, kind: str) -> Response:
    """Return a download named after the title, streamed as it is made; `kind` is `zip` or `html`."""
    name = f"{safe_name(title)}.{kind}"
    ascii_name = "".join(letter if letter.isascii() and letter not in '"\\;%' else "_" for letter in name)
    headers = {
        "content-disposition": f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}",
        "cache-control": "no-store",
    }
    media_type = "application/zip" if kind == "zip" else "text/html; charset=utf-8"
    return StreamingResponse(parts, media_type=media_type, headers=headers)


def _browser_type(path: Path) -> str | None:
    """Return the media type of a file by its content, None if browsers cannot show it; a `.jpg` may be HEIC."""
    with path.open("rb") as file:
        start = file.read(12)
    return next((kind for pattern, kind in _SIGNATURES.items() if re.match(pattern, start, re.DOTALL)), None)


@cached(_CONVERTED, key=lambda path, tag, photo: (path, tag), condition=threading.Condition())
def _jpeg(path: Path, tag: str, photo: Photo) -> bytes:
    """Return a photograph that browsers cannot show as JPEG; threads that need the same one wait for the first."""
    with _CONVERTING:
        return _DECODERS.convert(path, _LARGEST_SIDE, max(_MEGAPIXELS, photo.width * photo.height / 1e6))


def _has_version(headers: Mapping[str, str], tag: str) -> bool:
    """Return whether the browser has this version already."""
    tags = headers.get("if-none-match", "")
    return any(part.strip().removeprefix("W/") in (tag, "*") for part in tags.split(","))
