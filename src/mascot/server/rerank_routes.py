"""Routes for re-ranking the caller's own candidates."""

from __future__ import annotations

import os
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc
from mascot.server import models
from mascot.server.bodies import ARROW, JSON, MSGPACK, ByteBudget, format_of, read_body, refuse_compressed
from mascot.server.failures import BadBody
from mascot.server.metrics import FAILED, log
from mascot.server.operations import Operation
from mascot.server.reranking import RerankTask
from mascot.server.settings import Settings
from mascot.server.streaming import Duplex, answers
from mascot.server.threads import Threads

_TAG = "your own candidates"
_JSON, _MSGPACK = msgspec.json.Encoder(), msgspec.msgpack.Encoder()


def operations(settings: Settings, budget: ByteBudget) -> list[Operation]:
    """Return the operations on the caller's own candidates."""
    threads = Threads("rerank", max(2, os.cpu_count() or 1))

    async def rerank(request: Request) -> Response:
        """Re-rank the candidates of the request: JSON, msgpack, or an Arrow IPC stream."""
        headers = request.headers
        refuse_compressed(headers)
        body = await read_body(request.receive, headers, budget, settings.request_bytes, settings.body_timeout_s)
        if not body:
            raise BadBody("the request must have a body, and it is empty")
        task = RerankTask(body, format_of(headers, JSON, MSGPACK, ARROW))
        if task.small:
            answer = task.answer()
        else:
            answer = await threads.run_while_connected(request.receive, task.answer)
        if headers.get("accept", "").lower() == MSGPACK:
            return Response(_MSGPACK.encode(answer), media_type=MSGPACK)
        return Response(_JSON.encode(answer), media_type=JSON)

    async def stream(request: Request) -> Response:
        """Re-rank many lists: one request of `/api/rerank` per line in, one answer or error per line out."""
        refuse_compressed(request.headers)

        async def answer(line: bytes) -> Any:
            try:
                task = RerankTask(line)
                return task.answer() if task.small else await threads.run(task.answer)
            except BadBody as error:
                return models.failure("ValidationError", str(error))
            except mc.MascotError as error:
                return models.failure(type(error).__name__, str(error))
            except Exception:
                log.exception("a line of a stream failed")
                return FAILED  # the next lines are still answered

        parts = answers(request.receive, answer, budget, settings.request_bytes, settings.body_timeout_s)
        return Duplex(parts)

    return [
        Operation(
            "rerank", "POST", "/api/rerank", _TAG, rerank,
            {JSON: models.RerankOut, MSGPACK: models.RerankOut},
            {JSON: models.Rerank, MSGPACK: models.Rerank, ARROW: None},
            (400, 401, 408, 413, 415, 422, 503),
        ),
        Operation(
            "rerank_stream", "POST", "/api/rerank/stream", _TAG, stream,
            {Duplex.media_type: (models.RerankOut, models.Failure)}, {Duplex.media_type: (models.Rerank,)},
            (401, 415), lines=True,
        ),
    ]  # fmt: skip
