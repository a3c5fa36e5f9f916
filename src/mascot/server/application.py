"""The ASGI application: re-ranking, photographs where there is a library, health and metrics."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

import mascot as mc
from mascot.server import kernel, models, photo_routes, rerank_routes
from mascot.server.bodies import JSON, ByteBudget
from mascot.server.failures import BadBody, ClientLeft, ExportTooLarge, LibraryGone, NoLibrary
from mascot.server.guard import REQUEST_ID, AnswerHeaders, Guard
from mascot.server.memory import keep_freed_memory
from mascot.server.metrics import CONTENT_TYPE, Metrics, RequestCounter
from mascot.server.operations import JsonAnswer, Operation, document
from mascot.server.settings import Settings
from mascot.server.threads import Threads

_STATIC = Path(__file__).parent / "static"
_PICTURE = re.compile(r"/api/photos/[^/]+/(thumb|image)")
_COMPRESSED = ("/api/search", "/api/library", "/openapi.json", "/static/")
_GZIP_BYTES = 8 * 1024  # smaller answers are sent as they are: compressing takes longer than sending
_CLIENT_LEFT = 499
_KINDS = {
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "TooLarge",
    415: "UnsupportedMediaType",
    416: "BadRange",
    422: "ValidationError",
    503: "Busy",
}


def make_app(settings: Settings | None = None) -> Starlette:
    """Return the application (default: settings from the environment).

    `app.state.service` answers about the library without HTTP; it is None if there is no library.
    """
    settings = Settings.from_environment() if settings is None else settings
    budget = ByteBudget(settings.held_bytes)
    service = _service(settings.library)
    metrics = Metrics(None if service is None else service.count)
    operations = [
        *rerank_routes.operations(settings, budget),
        *photo_routes.operations(service, settings, budget),
        *_status_operations(service, metrics, budget),
    ]
    schema = document(operations, settings.token is not None)

    async def openapi(request: Request) -> Response:
        return JsonAnswer(schema)

    async def page(request: Request) -> Response:
        return FileResponse(_STATIC / "index.html", headers={"cache-control": "no-cache"})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        keep_freed_memory()
        for load in (kernel.name, *(() if service is None else (service.warm,))):  # before the first requests need them
            threading.Thread(target=load, daemon=True).start()
        yield
        metrics.close()

    routes: list[Any] = [operation.route() for operation in operations]
    routes += [Route("/openapi.json", openapi), Route("/", page), Mount("/static", _Static(directory=_STATIC))]
    # From the outermost: every answer has its headers, and CORS preflight requests carry no token.
    middleware = [
        Middleware(AnswerHeaders, shared=_PICTURE if settings.cors else None),
        Middleware(RequestCounter, metrics=metrics),
    ]
    if settings.cors:
        middleware.append(
            Middleware(
                CORSMiddleware, allow_origins=list(settings.cors), allow_methods=["GET", "POST"],
                allow_headers=["authorization", "content-type", REQUEST_ID], expose_headers=[REQUEST_ID],
            )
        )  # fmt: skip
    middleware += [
        Middleware(Guard, token=settings.token, hosts=settings.hosts, origins=settings.cors),
        Middleware(_Compressed),
    ]
    app = Starlette(
        routes=routes, middleware=middleware, exception_handlers=_EXCEPTION_HANDLERS, lifespan=lifespan
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.service, app.state.settings, app.state.openapi = service, settings, schema
    return app


def _service(library: str | None) -> Any:
    """Return the photo service; its packages are imported only if there is a library."""
    if library is None:
        return None
    from mascot.photos.library import Library
    from mascot.server.service import Service

    return Service(Library.open(library))


class _Compressed:
    """Middleware: gzip for pages and long lists. Pictures are compressed already, and re-ranking is not worth it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._gzip = app, GZipMiddleware(app, _GZIP_BYTES, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_compressed = scope["type"] == "http" and scope["path"].startswith(_COMPRESSED)
        await (self._gzip if is_compressed else self._app)(scope, receive, send)


class _Static(StaticFiles):
    """The files of the page. Browsers revalidate them on each load, so that an update never mixes versions."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route_path"] = "/static"
        await super().__call__(scope, receive, send)

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["cache-control"] = "no-cache"
        return response


def _status_operations(service: Any, metrics: Metrics, budget: ByteBudget) -> list[Operation]:
    threads = Threads("health", 1)

    async def health(request: Request) -> Response:
        """Whether the process is alive."""
        return JsonAnswer(models.Health("ok"))

    async def ready(request: Request) -> Response:
        """Whether the kernel is loaded and the library, if there is one, can be read."""
        photos = None if service is None else await threads.run(service.count)
        return JsonAnswer(models.Readiness("ok", kernel.name(), photos))

    async def counts(request: Request) -> Response:
        """Return counts and times of requests, for Prometheus."""
        metrics.held_bytes.set(budget.total)
        return Response(await threads.run(metrics.text), media_type=CONTENT_TYPE)

    tag = "running it"
    return [
        Operation("health", "GET", "/healthz", tag, health, {JSON: models.Health}),
        Operation("ready", "GET", "/readyz", tag, ready, {JSON: models.Readiness}, failures=(503,)),
        Operation("metrics", "GET", "/metrics", tag, counts, {"text/plain": str}, failures=(401, 503)),
    ]


async def _bad_request(_: Request, error: Any) -> Response:
    return JsonAnswer(models.failure(type(error).__name__, str(error)), 400)


async def _no_library(_: Request, error: Any) -> Response:
    return JsonAnswer(models.failure("NoLibrary", str(error)), 404)


async def _too_large(_: Request, error: Any) -> Response:
    return JsonAnswer(models.failure("TooLarge", str(error)), 413)


async def _invalid(_: Request, error: Any) -> Response:
    return JsonAnswer(models.failure("ValidationError", str(error)), 422)


async def _http_error(_: Request, error: Any) -> Response:
    kind = _KINDS.get(error.status_code, "HttpError")
    return JsonAnswer(models.failure(kind, str(error.detail)), error.status_code, headers=error.headers)


async def _library_unreadable(_: Request, error: Any) -> Response:
    message = f"the library cannot be read ({error}): is its folder still there?"
    return JsonAnswer(models.failure("LibraryError", message), 503)


async def _client_left(_: Request, error: Any) -> Response:
    return Response(status_code=_CLIENT_LEFT)


_EXCEPTION_HANDLERS: dict[Any, Any] = {
    mc.MascotError: _bad_request,
    NoLibrary: _no_library,
    ExportTooLarge: _too_large,
    BadBody: _invalid,
    HTTPException: _http_error,
    LibraryGone: _library_unreadable,
    sqlite3.Error: _library_unreadable,
    ClientLeft: _client_left,
}
