"""Routes that re-rank the caller's own candidates."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from mascot.server import schemas
from mascot.server.openapi import Operation
from mascot.server.request_body import LARGE, MSGPACK, ByteBudget, received_body
from mascot.server.rerank.audit import AuditLog
from mascot.server.rerank.effect import EffectMetrics
from mascot.server.rerank.profile_store import ProfilesOut, ProfileStore
from mascot.server.rerank.rerank_task import RerankTask
from mascot.server.responses import JSON, JsonAnswer
from mascot.server.run.threads import Threads
from mascot.server.settings import Settings

_TAG = "your own candidates"


def operations(settings: Settings, budget: ByteBudget, profiles: ProfileStore, registry: Any) -> list[Operation]:
    threads, effect = Threads("rerank", max(2, os.cpu_count() or 1)), EffectMetrics(registry)
    audit = AuditLog(settings.audit, settings.audit_share)

    async def rerank(request: Request) -> Response:
        """Re-rank the candidates of the request: JSON or msgpack."""
        run = partial(threads.run_while_connected, request.receive)
        recorders = effect.record, *audit.recorders(request.scope)
        async with received_body(request, budget, settings, JSON, MSGPACK) as (content, format_):
            # A small request is answered at once, others in a thread, so that health checks do not wait for them.
            if len(content) > LARGE:
                answer = await run(lambda: RerankTask(content, format_, profiles).answer(*recorders))
            else:
                task = RerankTask(content, format_, profiles)
                answer = task.answer(*recorders) if task.small else await run(task.answer, *recorders)
        if request.headers.get("accept", "").lower() == MSGPACK:
            return Response(msgspec.msgpack.encode(answer), media_type=MSGPACK)
        return JsonAnswer(answer)

    async def list_profiles(request: Request) -> Response:
        """List the profiles that requests can name, their versions and rules, and the errors in their files."""
        return JsonAnswer(profiles.describe())

    return [
        Operation(
            "rerank", "POST", "/api/rerank", _TAG, rerank, {JSON: schemas.RerankOut, MSGPACK: schemas.RerankOut},
            {JSON: schemas.Rerank, MSGPACK: schemas.Rerank}, (400, 401, 408, 413, 415, 422, 503),
        ),
        Operation("profiles", "GET", "/api/profiles", _TAG, list_profiles, {JSON: ProfilesOut}, failures=(401,)),
    ]  # fmt: skip
