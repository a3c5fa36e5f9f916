"""The HTTP API and the page, on FastAPI."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError
from starlette.exceptions import HTTPException

import mascot as mc
from mascot.photos.images import Unreadable
from mascot.photos.library import Library
from mascot.server import models, pictures
from mascot.server.bodies import JsonRoute, NotJson, first_mistake, parsed, refuse_packed
from mascot.server.guard import HEALTH, Guard, Headed
from mascot.server.metrics import CONTENT_TYPE, FAILED, Counted, Metrics, log
from mascot.server.service import LibraryGone, Service, photo_out, rerank
from mascot.server.streaming import Duplex, answers
from mascot.server.threads import Threads

LARGEST_REQUEST = 16 * 1024 * 1024  # bytes of a request, and of a line of a stream
_STATIC = Path(__file__).parent / "static"
_STREAM = "/api/rerank/stream"
_PICTURE = re.compile(r"/api/photos/[^/]+/(thumb|image)")
_AT_ONCE = max(2, os.cpu_count() or 1)  # lists of the caller's own that are re-ranked; pictures never wait for them
_KINDS = {
    404: "NotFound",
    405: "MethodNotAllowed",
    415: "UnsupportedMediaType",
    416: "BadRange",
    422: "ValidationError",
}
_TEXTS = {
    400: "Something the library refuses, in its own words",
    401: "The token is missing or wrong",
    403: "A foreign host or origin",
    404: "No such photograph",
    413: "The request is too large",
    415: "The body is not said to be JSON, or it is packed",
    416: "The file has no such part",
    422: "It is no JSON, or a field is missing, unknown, of the wrong type or beyond a limit",
    503: "The library cannot be read",
}
_PART: dict[int | str, dict[str, Any]] = {206: {"description": "The part that was asked for"}}
_Found = TypeVar("_Found")
_Id = Annotated[int, InPath(ge=1, le=2**53, description="A photograph of the library.")]


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": models.Failure, "description": _TEXTS[status]} for status in statuses}


def make_app(
    library: Library,
    token: str | None = None,
    largest: int = LARGEST_REQUEST,
    cors: list[str] | None = None,
    hosts: list[str] | None = None,
) -> FastAPI:
    """The application over one library. Its `state.service` answers without HTTP.

    Parameters
    ----------
    token
        Wanted from every client but the health check; without one only local host names are answered.
    largest
        Bytes a request, or a line of a stream, may have.
    cors
        Origins whose pages may use the API; none unless asked.
    hosts
        Names this server answers to where there is no token.
    """
    app = FastAPI(
        title="MASCOT",
        version=mc.__version__,
        description="Search photographs, and steer what the result is made of.",
        responses=_failures(403),
        docs_url=None,  # its page loads scripts from elsewhere; /openapi.json is here
        redoc_url=None,
    )
    app.router.route_class = JsonRoute
    app.state.service = service = Service(library)
    metrics, apart = Metrics(service.count), Threads()
    _explain_failures(app)
    _add_photographs(app, service, apart)
    _add_own(app, largest)
    _add_running(app, service, metrics, apart)
    _describe_token(app, wanted=token is not None)
    app.mount("/static", _Static(directory=_STATIC), name="static")
    # From the innermost: a browser asks about CORS without a token, and every answer has its headers.
    app.add_middleware(Guard, token=token, largest=largest, hosts=hosts, origins=cors, unmeasured=[_STREAM])
    if cors:
        headers = ["authorization", "content-type"]
        app.add_middleware(CORSMiddleware, allow_origins=cors, allow_methods=["GET", "POST"], allow_headers=headers)
    app.add_middleware(Counted, metrics=metrics)
    app.add_middleware(Headed, shared=_PICTURE if cors else None)
    return app


class _Static(StaticFiles):
    """The page's parts, asked for anew each time: after an update none of them may be an older one."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = "no-cache"
        return response


def _describe_token(app: FastAPI, wanted: bool) -> None:
    """The token as the schema tells it: which header, and that the health is told without."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        told = describe()
        told["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        told["security"] = [{"token": []}] if wanted else [{}, {"token": []}]
        told["paths"][HEALTH]["get"]["security"] = []
        return told

    app.openapi = described  # type: ignore[method-assign]


def _add_photographs(app: FastAPI, service: Service, apart: Threads) -> None:
    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_STATIC / "index.html", headers={"cache-control": "no-cache"})

    @app.post(
        "/api/search",
        operation_id="search",
        tags=["photographs"],
        responses=_failures(400, 401, 413, 415, 422, 503),
    )
    async def search(asked: models.Search) -> models.SearchOut:
        """Search the library and steer the result.

        Asking again with other wishes re-ranks the same candidates: the text is not encoded again.
        """
        return await apart(service.search, asked)

    @app.get("/api/photos/{id}", operation_id="photo", tags=["photographs"], responses=_failures(401, 404, 422, 503))
    async def photo(id: _Id) -> models.PhotoOut:
        """What the library knows of a photograph."""
        return photo_out(await apart(_found, service.photo, id))

    @app.get(
        "/api/photos/{id}/thumb",
        operation_id="thumbnail",
        tags=["photographs"],
        response_class=Response,
        responses=_pictures("image/jpeg") | _failures(401, 404, 422, 503),
    )
    async def thumb(id: _Id, request: Request) -> Response:
        """A small picture, as JPEG."""
        return pictures.thumbnail(request, await apart(_found, service.thumbnail, id))

    @app.get(
        "/api/photos/{id}/image",
        operation_id="image",
        tags=["photographs"],
        response_class=Response,
        responses=_pictures("image/*") | _failures(401, 404, 416, 422, 503) | _PART,
    )
    async def image(id: _Id, request: Request) -> Response:
        """The photograph itself; as JPEG where browsers cannot show its format."""
        known = await apart(_found, service.photo, id)
        try:
            return await to_thread.run_sync(lambda: pictures.photograph(request, service.file(known), known))
        except Unreadable as error:
            raise HTTPException(404, f"{known.path!r}: {error}") from None
        except (mc.InputError, OSError) as error:
            raise HTTPException(404, str(error)) from None

    @app.get("/api/library", operation_id="library", tags=["photographs"], responses=_failures(401, 503))
    async def overview() -> models.LibraryOut:
        """What is in the library, and which attributes can be steered."""
        return await apart(service.overview)


def _add_own(app: FastAPI, largest: int) -> None:
    limiter = CapacityLimiter(_AT_ONCE)

    @app.post(
        "/api/rerank",
        operation_id="rerank",
        tags=["your own candidates"],
        responses=_failures(400, 401, 413, 415, 422),
        response_model_exclude_none=True,
    )
    async def own(asked: models.Rerank) -> models.RerankOut:
        """Steer candidates you bring."""
        return await to_thread.run_sync(rerank, asked, limiter=limiter)

    def lines(*names: str) -> dict[str, Any]:
        schemas = [{"$ref": f"#/components/schemas/{name}"} for name in names]
        return {Duplex.media_type: {"schema": {"description": "One of the lines.", "anyOf": schemas}}}

    @app.post(
        _STREAM,
        operation_id="rerank_stream",
        tags=["your own candidates"],
        response_class=Response,  # with a kind of its own the schema would call it a string
        responses=_failures(401, 415) | {200: {"content": lines("RerankOut", "Failure")}},
        openapi_extra={"requestBody": {"required": True, "content": lines("Rerank")}},
    )
    async def stream(request: Request) -> Duplex:
        """Steer many lists: a request of `/api/rerank` a line in, an answer or an error a line out, as they come."""
        refuse_packed(request.headers)
        too_long = _failure("TooLarge", f"a line must be at most {largest} bytes")
        return Duplex(answers(request.stream(), _answered, too_long, limiter, largest))


def _add_running(app: FastAPI, service: Service, metrics: Metrics, apart: Threads) -> None:
    @app.get(HEALTH, operation_id="health", tags=["running it"], responses=_failures(503))
    async def health() -> models.Health:
        """Whether the library can be read."""
        await apart(service.count)
        return models.Health(status="ok")

    text = {"text/plain": {"schema": {"type": "string"}}}

    @app.get(
        "/metrics",
        operation_id="metrics",
        tags=["running it"],
        response_class=Response,
        responses=_failures(401, 503) | {200: {"content": text}},
    )
    async def counts() -> Response:
        """Counts and times of requests, for Prometheus."""
        return Response(await apart(metrics.text), media_type=CONTENT_TYPE)


def _found(find: Callable[[int], _Found], id_: int) -> _Found:
    try:
        return find(id_)
    except mc.InputError as error:
        raise HTTPException(404, str(error)) from None


def _pictures(kind: str) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "The client has it already"},
    }


def _answered(line: bytes) -> dict[str, Any]:
    """The answer to one line of a stream."""
    try:
        return rerank(models.Rerank.model_validate(parsed(line))).model_dump(exclude_none=True)
    except NotJson as error:
        return _failure("ValidationError", str(error))
    except ValidationError as error:
        return _failure("ValidationError", first_mistake(error.errors(include_url=False)))
    except mc.MascotError as error:
        return _failure(type(error).__name__, str(error))
    except Exception:
        log.exception("a line of a stream failed")
        return FAILED  # the lines after it go on


def _failure(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message}}


class _Told(JSONResponse):
    """A failure. Its text may repeat what was sent, letters that cannot be written as UTF-8 among it."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()


def _explain_failures(app: FastAPI) -> None:
    """Every failure has one shape, with the library's own words."""

    @app.exception_handler(mc.MascotError)
    async def refused(_: Request, error: mc.MascotError) -> JSONResponse:
        return _Told(_failure(type(error).__name__, str(error)), 400)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return _Told(_failure("ValidationError", first_mistake(error.errors(), outer=1)), 422)

    @app.exception_handler(HTTPException)
    async def missing(_: Request, error: HTTPException) -> JSONResponse:
        kind = _KINDS.get(error.status_code, "HttpError")
        return _Told(_failure(kind, str(error.detail)), error.status_code, headers=error.headers)

    @app.exception_handler(LibraryGone)
    @app.exception_handler(sqlite3.Error)
    async def unreadable(_: Request, error: Exception) -> JSONResponse:
        message = f"the library cannot be read ({error}): is its folder still there?"
        return _Told(_failure("LibraryError", message), 503)
