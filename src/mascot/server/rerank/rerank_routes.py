"""Routes that re-rank the caller's own candidates: one request, or a stream of JSON lines."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import anyio
import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

import mascot as mc
from mascot.server import schemas
from mascot.server.middleware import log, request_name
from mascot.server.openapi import Operation
from mascot.server.request_body import LARGE, MSGPACK, ByteBudget, HeldBody, received_body, refuse_compressed
from mascot.server.rerank.audit import AuditLog, Record
from mascot.server.rerank.effect import EffectMetrics
from mascot.server.rerank.profile_store import ProfilesOut, ProfileStore
from mascot.server.rerank.rerank_task import RerankTask
from mascot.server.responses import INTERNAL, JSON, Failure, JsonAnswer, failure, failure_of
from mascot.server.run.threads import Threads
from mascot.server.settings import Settings

_TAG = "your own candidates"
_LINES = "application/x-ndjson"
Run = Callable[[Callable[[], schemas.RerankOut]], Awaitable[schemas.RerankOut]]


def operations(settings: Settings, budget: ByteBudget, profiles: ProfileStore, registry: Any) -> list[Operation]:
    threads, effect = Threads("rerank", max(2, os.cpu_count() or 1)), EffectMetrics(registry)
    audit = AuditLog(settings.audit, settings.audit_share)

    async def rerank(request: Request) -> Response:
        """Re-rank the candidates of the request: JSON or msgpack."""
        run = partial(threads.run_while_connected, request.receive)
        recorders = effect.record, *audit.recorders(request.scope)
        async with received_body(request, budget, settings, JSON, MSGPACK) as (content, format_):
            answer = await answer_to(content, format_, run, recorders)
        if request.headers.get("accept", "").lower() == MSGPACK:
            return Response(msgspec.msgpack.encode(answer), media_type=MSGPACK)
        return JsonAnswer(answer)

    async def answer_to(content: bytes, format_: str, run: Run, recorders: Sequence[Record]) -> schemas.RerankOut:
        """Answer a small request at once, and others in a thread, so that health checks do not wait for them."""
        if len(content) > LARGE:
            return await run(lambda: RerankTask(content, format_, profiles).answer(*recorders))
        task = RerankTask(content, format_, profiles)
        call = partial(task.answer, *recorders)
        return call() if task.small else await run(call)

    async def stream(request: Request) -> Response:
        """Re-rank many lists: one request of `/api/rerank` per line in, one answer or error per line out."""
        refuse_compressed(request.headers)
        return _Duplex(answers(request.scope, request.receive), media_type=_LINES)

    async def answers(scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
        too_long = failure("TooLarge", f"a line must be at most {settings.request_bytes} bytes")
        number = 0
        try:
            with budget.body() as body:
                async for line in lines(_parts(receive, body, settings.body_timeout_s), settings.request_bytes):
                    number += 1
                    answer = too_long if line is None else await answer_of(bytes(line), body, scope, number)
                    yield msgspec.json.encode(answer) + b"\n"
                    await anyio.sleep(0)  # other clients have their turn
        except HTTPException as error:
            yield msgspec.json.encode(failure_of(error)[1]) + b"\n"

    async def answer_of(line: bytes, body: HeldBody, scope: Scope, number: int) -> schemas.RerankOut | Failure:
        body.add(len(line))
        try:
            async with budget.decoding(line, JSON, body):
                return await answer_to(line, JSON, threads.run, [effect.record, *audit.recorders(scope, number)])
        except (HTTPException, mc.MascotError) as error:
            if body.refused:
                raise
            return failure_of(error)[1]
        except Exception:
            log.exception("line %d of a stream failed (%s)", number, request_name(scope))
            return INTERNAL  # further lines are still answered
        finally:
            body.add(-len(line))

    async def list_profiles(request: Request) -> Response:
        """List the profiles that requests can name, their versions and rules, and the errors in their files."""
        return JsonAnswer(profiles.describe())

    return [
        Operation(
            "rerank", "POST", "/api/rerank", _TAG, rerank, {JSON: schemas.RerankOut, MSGPACK: schemas.RerankOut},
            {JSON: schemas.Rerank, MSGPACK: schemas.Rerank}, (400, 401, 408, 413, 415, 422, 503),
        ),
        Operation(
            "rerank_stream", "POST", "/api/rerank/stream", _TAG, stream, {_LINES: (schemas.RerankOut, Failure)},
            {_LINES: (schemas.Rerank,)}, (401, 415),
        ),
        Operation("profiles", "GET", "/api/profiles", _TAG, list_profiles, {JSON: ProfilesOut}, failures=(401,)),
    ]  # fmt: skip


class _Duplex(StreamingResponse):
    """An answer that starts while the request is read. Listening for a disconnect would consume the request body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def _parts(receive: Receive, body: HeldBody, seconds: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they arrive. Bytes after the last line break count as held."""
    more = True
    while more:
        part, more = await body.part(receive, anyio.current_time() + seconds)
        if b"\n" in part:
            body.clear()
        body.add(len(part) - part.rfind(b"\n") - 1)
        yield part


async def lines(parts: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytearray | None]:
    """Yield the lines of a body, without blank lines; None for a line that is too long.

    At most one line and one part are in memory, however long the body is.
    """
    line: bytearray | None = bytearray()
    async for part in parts:
        for number, piece in enumerate(part.split(b"\n")):
            if number > 0:  # the line before this piece is complete
                if not _is_blank(line):
                    yield line
                line = bytearray()
            if line is not None and len(line) + len(piece) <= longest:
                line += piece
            else:
                line = None
    if not _is_blank(line):
        yield line


def _is_blank(line: bytearray | None) -> bool:
    return line is not None and not line.removeprefix(BOM_UTF8).strip()
