"""Read request bodies within limits of time and memory, and decode them from JSON or msgpack."""

from __future__ import annotations

import asyncio
import math
import re
import zlib
from codecs import BOM_UTF8
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

import anyio
import msgspec
import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive

from mascot.removed import instead
from mascot.server.responses import JSON, BadBody
from mascot.server.run.threads import ClientLeft, Threads
from mascot.server.settings import Settings

MSGPACK = "application/msgpack"
_CLOSE = {"connection": "close"}
_MSGPACK_NAMES = (MSGPACK, "application/x-msgpack", "application/vnd.msgpack")
_JSON_NAME = re.compile(r"application/([^/]+\+)?json")
_Result = TypeVar("_Result")
LARGE = 32 << 10  # bytes of a body above which it is decoded in a thread
_MOST_CONTAINERS = 300_000  # lists and objects of a body in JSON, which are decoded in a quarter of a second
_MANY_COLUMNS = b"columns\xdf"  # an object of more than 65,535 fields in msgpack


@dataclass(eq=False, slots=True)
class HeldBody:
    """An unfinished body, and the number of its bytes in memory."""

    budget: ByteBudget
    size: int = 0
    refused: bool = False
    scope: anyio.CancelScope | None = None  # of the wait for its next part

    def add(self, count: int) -> None:
        """Count bytes, and refuse the oldest unfinished bodies if the budget is exceeded."""
        self.size += count
        self.budget.total += count
        self.budget.make_room()

    def release(self) -> None:
        """Stop counting the body."""
        self.budget.bodies.pop(self, None)
        self.budget.total -= self.size
        self.size = 0

    async def part(self, receive: Receive, deadline: float) -> tuple[bytes, bool]:
        """Return the next part of the body, and whether there are more. Raise `ClientLeft` at a disconnect."""
        message = await self.wait(receive, deadline)
        if message["type"] == "http.disconnect":
            raise ClientLeft
        return message.get("body", b""), message.get("more_body", False)

    async def wait(self, call: Callable[[], Awaitable[_Result]], deadline: float = math.inf) -> _Result:
        """Await the call. Raise an `HTTPException` if it takes too long, or if the body is refused meanwhile."""
        with anyio.CancelScope(deadline=deadline) as scope:
            self.scope = scope
            if not self.refused:
                return await call()
        if self.refused:
            raise HTTPException(503, "too many unfinished requests: send it again", {"retry-after": "1", **_CLOSE})
        raise HTTPException(408, "the request did not arrive in time", _CLOSE)


@dataclass(slots=True)
class ByteBudget:
    """Limits on the memory of requests over all connections: bodies that wait, and bodies that are being answered."""

    most: int
    most_decoded: int
    total: int = 0
    decoded: int = 0  # estimated bytes of the bodies that are being answered
    bodies: OrderedDict[HeldBody, None] = field(default_factory=OrderedDict)  # that wait; the oldest first
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # of the first of the bodies that wait for memory
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    threads: Threads = field(default_factory=lambda: Threads("bodies", 1))

    @contextmanager
    def body(self) -> Iterator[HeldBody]:
        """Count one body while the block runs."""
        body = HeldBody(self)
        self.bodies[body] = None
        try:
            yield body
        finally:
            body.release()

    def make_room(self) -> None:
        """Refuse the oldest bodies until the others fit. A client that sends at normal speed is not among them."""
        excess = self.total - self.most
        while excess > 0 and self.bodies:
            oldest, _ = self.bodies.popitem(last=False)
            oldest.refused = True
            excess -= oldest.size
            if oldest.scope is not None:
                oldest.scope.cancel()

    @asynccontextmanager
    async def decoding(self, content: bytes, format_: str, body: HeldBody) -> AsyncIterator[None]:
        """Wait until there is memory for the decoded content; it counts while the block runs."""
        is_large = len(content) > LARGE
        size = await self.threads.run(decoded_size, content, format_) if is_large else decoded_size(content, format_)
        if size > self.most_decoded:
            rule = f"{size:,} > {self.most_decoded:,} bytes of memory"
            raise HTTPException(413, f"the request has too many values ({rule}): send fewer")
        await body.wait(partial(self._acquire, size))
        try:
            yield
        finally:
            self.decoded -= size
            self.freed.set()

    async def _acquire(self, size: int) -> None:
        """Wait for memory, in the order of arrival."""
        async with self.turn:
            while self.decoded + size > self.most_decoded:
                self.freed.clear()
                await self.freed.wait()
            self.decoded += size


def decoded_size(content: bytes, format_: str) -> int:
    """Return an upper bound of the bytes that a body takes when it is decoded: Python objects are large.

    Raises an `HTTPException` for a body whose decoding would block other threads for long.
    """
    if format_ == JSON:
        containers, texts = content.count(b"[") + content.count(b"{"), content.count(b'"') // 2
        if containers > _MOST_CONTAINERS:
            rule = f"{containers:,} > {_MOST_CONTAINERS:,} lists and objects"
            raise HTTPException(413, f"the request has too many values ({rule}): send fewer")
        return 4 * len(content) + 192 * containers + 32 * content.count(b",") + 80 * texts
    # A byte of a number can look like the first byte of a list or text, so this is larger than it needs to be.
    if _MANY_COLUMNS in content:
        raise HTTPException(413, "the request has too many columns")
    first = np.frombuffer(content, np.uint8)
    containers = int(np.count_nonzero((first & 0xE0) == 0x80)) + int(np.count_nonzero(first >= 0xDC))
    return 8 * len(content) + 96 * containers + 80 * int(np.count_nonzero((first & 0xE0) == 0xA0))


@asynccontextmanager
async def received_body(
    request: Request, budget: ByteBudget, settings: Settings, *formats: str
) -> AsyncIterator[tuple[bytes, str]]:
    """Yield the whole body and its format. Its memory counts until the block ends."""
    coding = request.headers.get("content-encoding", "identity")
    if coding.lower() not in ("identity", "gzip"):
        raise HTTPException(415, f"send the request uncompressed or with content-encoding: gzip, got {coding}")
    largest = settings.request_bytes
    length = request.headers.get("content-length", "")
    too_large = HTTPException(413, f"a request must be at most {largest} bytes")
    if length and (not length.isdecimal() or int(length[:20]) > largest):
        raise too_large
    parts: list[bytes] = []
    with budget.body() as body:
        deadline = anyio.current_time() + settings.body_timeout_s
        more = bool(length) or "transfer-encoding" in request.headers
        while more:
            part, more = await body.part(request.receive, deadline)
            parts.append(part)
            if body.size + len(part) > largest:
                raise too_large
            body.add(len(part))
        content = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        if coding.lower() == "gzip" and content:
            content = await budget.threads.run(_decompressed, content, largest, too_large)
            body.add(len(content) - body.size)
        if not content:
            raise BadBody("the body of the request is empty")
        format_ = _format_of(request.headers, formats)
        async with budget.decoding(content, format_, body):
            body.release()  # from now on its decoded content counts
            yield content, format_


def _decompressed(content: bytes, largest: int, too_large: HTTPException) -> bytes:
    """Return the content of a gzip body. At most `largest` bytes are written to memory."""
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = stream.decompress(content, largest + 1)
    except zlib.error as error:
        raise BadBody(f"the body must be gzip, as content-encoding says: {error}") from None
    if len(plain) > largest:
        raise too_large
    if not stream.eof or stream.unused_data:
        raise BadBody("the body must be one whole gzip stream")
    return plain


def _format_of(headers: Mapping[str, str], formats: tuple[str, ...]) -> str:
    kind = headers.get("content-type", "")
    name = kind.partition(";")[0].strip().lower()
    if _JSON_NAME.fullmatch(name):
        name = JSON
    elif name in _MSGPACK_NAMES:
        name = MSGPACK
    if name not in formats:
        raise HTTPException(415, f"send content-type: {' or '.join(formats)}, got {kind or 'none'}{instead(name)}")
    return name


def _error_text(error: msgspec.ValidationError, owner: str = "") -> str:
    """Return the message of a validation error after its path: `wishes[0].spread.bins: Expected `int` <= 1440`."""
    message, _, place = str(error).partition(" - at `$")
    where = owner + place.rstrip("`")
    return f"{where.lstrip('.')}: {message}" if where else message


def convert(value: Any, type_: Any, owner: str) -> Any:
    """Return a decoded part of a body as this type; raise `BadBody` with the owner's name if it does not match."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise BadBody(_error_text(error, owner)) from None


@cache
def _decoder(type_: Any, format_: str) -> Any:
    return msgspec.json.Decoder(type_) if format_ == JSON else msgspec.msgpack.Decoder(type_)


def decode(body: bytes, type_: Any, format_: str = JSON) -> Any:
    """Decode a body as this type; raise `BadBody` if it does not match. JSON may have a BOM."""
    try:
        return _decoder(type_, format_).decode(body.removeprefix(BOM_UTF8) if format_ == JSON else body)
    except msgspec.ValidationError as error:
        raise BadBody(_error_text(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBody(f"the request must be {'JSON in UTF-8' if format_ == JSON else 'msgpack'}: {error}") from None
