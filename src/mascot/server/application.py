"""The ASGI application: re-ranking, photographs if there is a library, health and metrics."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from mascot.errors import require
from mascot.server.docs_page import docs_page
from mascot.server.guard import Guard
from mascot.server.library import library_routes
from mascot.server.middleware import REQUEST_ID, SHARED_FOLDER, TRACEPARENT, HeadersAndMetrics, Metrics
from mascot.server.openapi import GZIP, Operation, document
from mascot.server.request_body import ByteBudget
from mascot.server.rerank import rerank_routes
from mascot.server.rerank.profile_store import ProfileStore
from mascot.server.rerank.rerank_task import kernel_name
from mascot.server.responses import EXCEPTION_HANDLERS, JSON, JsonAnswer
from mascot.server.run.threads import Threads
from mascot.server.settings import Settings

_STATIC = Path(__file__).parent / "static"
_REVALIDATED = {"cache-control": "no-cache"}  # so that files of two versions are never mixed
_PICTURE = re.compile(r"/api/photos/[^/]+/(thumb|image)")
_TAG = "running it"
_MALLOC = {-1: 64 << 20, -3: 4 << 20}  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes


class Health(Struct):
    """The process is alive."""

    status: Literal["ok"]


class Readiness(Struct):
    """The server is ready: its kernel, and the number of photographs in its library."""

    status: Literal["ok"]
    kernel: str
    photos: int | None


def make_app(settings: Settings | None = None) -> Starlette:
    """Return the application (default: with settings from the environment).

    `app.state.service` is the photo service, or None if there is no library.
    """
    settings = Settings.from_environment() if settings is None else settings
    service: Any = None
    if settings.library is not None:  # otherwise the packages of photographs are not imported
        from mascot.photos.library import Library
        from mascot.server.library.service import Service

        service = Service(Library.open(settings.library))
    require(
        settings.memory_bytes > settings.held_bytes, "memory_bytes", "must be above held_bytes", settings.memory_bytes
    )
    budget = ByteBudget(settings.held_bytes, settings.memory_bytes - settings.held_bytes)
    profiles = ProfileStore(settings.profiles)
    metrics = Metrics(None if service is None else service.count)
    operations = [
        *rerank_routes.operations(settings, budget, profiles, metrics.registry),
        *library_routes.operations(service, settings, budget),
        *_status_operations(service, metrics, budget),
    ]
    schema = document(operations, settings.token is not None)

    async def openapi(request: Request) -> Response:
        return JsonAnswer(schema)

    async def docs(request: Request) -> Response:
        return HTMLResponse(docs_page(schema), headers=_REVALIDATED)

    async def page(request: Request) -> Response:
        return FileResponse(_STATIC / "index.html", headers=_REVALIDATED)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        _keep_freed_memory()
        # The kernel and the library are loaded before the first request.
        for call in (kernel_name, _stop_with_supervisor, *(() if service is None else (service.warm,))):
            threading.Thread(target=call, daemon=True).start()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(profiles.watch)
            yield
            tasks.cancel_scope.cancel()
        metrics.close()

    routes: list[Any] = [
        *(operation.route() for operation in operations),
        Route("/", page),
        Route("/openapi.json", openapi, middleware=[GZIP]),
        Route("/docs", docs, middleware=[GZIP]),
        Mount("/static", _Static(directory=_STATIC), middleware=[GZIP]),
    ]
    cors = Middleware(
        CORSMiddleware, allow_origins=list(settings.cors), allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", REQUEST_ID, TRACEPARENT],
        expose_headers=[REQUEST_ID, TRACEPARENT],
    )  # fmt: skip
    # The outermost comes first: it sets headers on every answer. CORS precedes the guard: preflights carry no token.
    middleware = [
        Middleware(HeadersAndMetrics, metrics=metrics, shared=_PICTURE if settings.cors else None),
        *([cors] if settings.cors else []),
        Middleware(
            Guard, token=settings.token, hosts=settings.hosts, origins=settings.cors, admin_token=settings.admin_token
        ),
    ]
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=EXCEPTION_HANDLERS, lifespan=lifespan)
    app.router.redirect_slashes = False
    app.state.service, app.state.openapi = service, schema
    return app


def _stop_with_supervisor() -> None:
    """Stop this worker process when its supervisor has died: otherwise it would keep the port."""
    supervisor = multiprocessing.parent_process()
    if supervisor is not None and SHARED_FOLDER in os.environ:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _keep_freed_memory() -> None:
    """Let glibc keep freed memory: mapping it again for each request takes longer than re-ranking."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform.startswith("linux") else None
    if mallopt is not None:  # musl does not have it
        for parameter, size in _MALLOC.items():
            mallopt(parameter, size)


class _Static(StaticFiles):
    """The files of the page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route_path"] = "/static"
        await super().__call__(scope, receive, send)

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers.update(_REVALIDATED)
        return response


def _status_operations(service: Any, metrics: Metrics, budget: ByteBudget) -> list[Operation]:
    threads = Threads("health", 1)

    async def health(request: Request) -> Response:
        """Return whether the process is alive."""
        return JsonAnswer(Health("ok"))

    async def ready(request: Request) -> Response:
        """Return whether the kernel is loaded and the library, if any, can be read."""
        photos = None if service is None else await threads.run(service.count)
        return JsonAnswer(Readiness("ok", kernel_name(), photos))

    async def counts(request: Request) -> Response:
        """Return the metrics in the format of Prometheus."""
        metrics.held_bytes.set(budget.total)
        return Response(await threads.run(metrics.text), media_type=CONTENT_TYPE_LATEST)

    return [
        Operation("health", "GET", "/healthz", _TAG, health, {JSON: Health}),
        Operation("ready", "GET", "/readyz", _TAG, ready, {JSON: Readiness}, failures=(503,)),
        Operation("metrics", "GET", "/metrics", _TAG, counts, {"text/plain": str}, failures=(401, 503)),
    ]
