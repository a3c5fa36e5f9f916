"""Long batches as JSON lines: a request a line in, an answer or a failure a line out, as they come."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

Answer = Callable[[bytes], dict[str, Any]]


class Duplex(StreamingResponse):
    """An answer that begins while the request is still being read.

    The class it is made from listens for the client's leaving meanwhile, and would swallow the request.
    """

    media_type = "application/x-ndjson"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def answers(
    parts: AsyncIterator[bytes], answer: Answer, too_long: dict[str, Any], limiter: CapacityLimiter, longest: int
) -> AsyncIterator[bytes]:
    """One line for each line that has anything in it; `too_long` for one that is longer than allowed."""
    try:
        async for line in lines(parts, longest):
            told = too_long if line is None else await to_thread.run_sync(answer, line, limiter=limiter)
            yield json.dumps(told).encode() + b"\n"
    except ClientDisconnect:
        return


async def lines(parts: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes | None]:
    """The lines of a body that comes in parts, blank ones left out; None stands for one that is too long.

    No more than a line and a part are held, however long the body is.
    """
    held, lost = bytearray(), False
    async for part in parts:
        *whole, rest = part.split(b"\n")
        for end in whole:
            line = None if lost or len(held) + len(end) > longest else bytes(held + end)
            held, lost = bytearray(), False
            if line is None or not _is_blank(line):
                yield line
        lost = lost or len(held) + len(rest) > longest
        if lost:
            held.clear()
        else:
            held += rest
    if lost or not _is_blank(held):
        yield None if lost else bytes(held)


def _is_blank(line: bytes | bytearray) -> bool:
    return not line.removeprefix(BOM_UTF8).strip()
