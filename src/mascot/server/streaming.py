"""Many requests as JSON lines: one request per line in, one answer or failure per line out, as they arrive."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from mascot.server.bodies import ByteBudget
from mascot.server.models import Failure, failure

Answering = Callable[[bytes], Awaitable[Any]]
_ENCODER = msgspec.json.Encoder()


class Duplex(StreamingResponse):
    """An answer that begins while the request is still being read.

    `StreamingResponse` itself listens for a disconnect meanwhile, and would consume the request body.
    """

    media_type = "application/x-ndjson"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def answers(
    receive: Receive, answer: Answering, budget: ByteBudget, longest: int, seconds: float
) -> AsyncIterator[bytes]:
    """Answer each line that is not blank; a line that is too long, or does not arrive in time, is a failure."""
    too_long = failure("TooLarge", f"a line must be at most {longest} bytes")
    try:
        async for line in lines(parts(receive, budget, seconds), longest):
            result = too_long if line is None else await answer(line)
            yield _ENCODER.encode(result) + b"\n"
    except HTTPException as error:
        yield _ENCODER.encode(_failure(error)) + b"\n"


def _failure(error: HTTPException) -> Failure:
    return failure({408: "Timeout", 503: "Busy"}.get(error.status_code, "HttpError"), str(error.detail))


async def parts(receive: Receive, budget: ByteBudget, seconds: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they arrive; bytes since the last line break count as held."""
    with budget.body() as body:
        while True:
            message = await body.part(receive, anyio.current_time() + seconds)
            if message["type"] == "http.disconnect":
                return
            part = message.get("body", b"")
            if b"\n" in part:
                body.clear()
                body.add(len(part) - part.rindex(b"\n") - 1)
            else:
                body.add(len(part))
            yield part
            if not message.get("more_body", False):
                return


async def lines(chunks: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes | None]:
    """Yield the lines of a body, without blank lines; None for a line that is too long.

    No more than a line and a part are held, however long the body is.
    """
    line, too_long = bytearray(), False
    async for chunk in chunks:
        *ends, tail = chunk.split(b"\n")
        for end in ends:
            result = None if too_long or len(line) + len(end) > longest else bytes(line + end)
            line, too_long = bytearray(), False
            if result is None or not _is_blank(result):
                yield result
        too_long = too_long or len(line) + len(tail) > longest
        if too_long:
            line.clear()
        else:
            line += tail
    if too_long or not _is_blank(line):
        yield None if too_long else bytes(line)


def _is_blank(line: bytes | bytearray) -> bool:
    return not line.removeprefix(BOM_UTF8).strip()
