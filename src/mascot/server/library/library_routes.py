"""Routes of the photo library. Without a library they answer 404 with the command that makes one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc
from mascot.photos.request import SearchRequest
from mascot.server import schemas
from mascot.server.openapi import Operation
from mascot.server.request_body import LARGE, ByteBudget, decode, received_body
from mascot.server.rerank.rerank_task import decode_wish
from mascot.server.responses import JSON, BadBody, JsonAnswer
from mascot.server.settings import Settings

_TAG = "photographs"
_PHOTO, _CHOICE = "/api/photos/{id}", "/api/choices/{name:path}"
_FAILURES = {
    "body": (400, 401, 404, 408, 413, 415, 422, 503),
    "choice": (400, 401, 404, 503),
    "library": (401, 404, 503),
    "photo": (401, 404, 422, 503),
    "thumbnail": (304, 401, 404, 422, 503),
    "image": (206, 304, 401, 404, 416, 422, 503),
}


class NoLibrary(HTTPException):
    """The server has no photo library."""

    kind = "NoLibrary"


def operations(service: Any, settings: Settings, budget: ByteBudget) -> list[Operation]:
    """Return the operations on the photographs of a library; without a service they answer 404."""

    async def body_of(request: Request, type_: Any) -> Any:
        async with received_body(request, budget, settings, JSON) as (body, _):
            if len(body) > LARGE:
                return await budget.threads.run(decode, body, type_)
            return decode(body, type_)

    async def search(request: Request) -> Response:
        """Search the library and steer the result.

        A further search with the same text and other wishes re-ranks the same candidates: nothing is encoded again.
        """
        body = await body_of(request, schemas.Search)
        for place, wish in enumerate(body.wishes):
            decode_wish(wish, place, schemas.PHOTO_WISHES)  # refuses what does not match the schema
        fields = msgspec.structs.asdict(body)
        sentence = fields.pop("sentence")
        if sentence is not None and (body.text is not None or body.like is not None):
            raise mc.OptionError("a search takes a sentence, a text or a photograph to be like, and only one of them")
        call = service.searches.run_while_connected(request.receive, service.search, SearchRequest(**fields), sentence)
        return JsonAnswer(await call)

    def operation(name: str, method: str, path: str, answer: Any, body: Any, failures: str, **more: Any) -> Operation:
        """Return the operation that calls the method of the service with this name, and has its docstring.

        The arguments are what the path names, the headers for a picture, and the body.
        """
        answers = answer if isinstance(answer, dict) else {JSON: answer}
        call = getattr(service, name, None)

        async def handler(request: Request) -> Response:
            arguments: list[Any] = [_id_of(request)] if "{id}" in path else list(request.path_params.values())
            arguments += [request.headers] if failures in ("thumbnail", "image") else []
            arguments += [] if body is None else [await body_of(request, body)]
            try:
                result = await service.files.run_while_connected(request.receive, call, *arguments)
            except mc.InputError as error:
                if body is not None or not request.path_params:
                    raise
                raise HTTPException(404, str(error)) from None  # the library does not hold what the path names
            return result if isinstance(result, Response) else JsonAnswer(result)

        handler.__doc__ = getattr(call, "__doc__", None)
        bodies = {} if body is None else {JSON: body}
        handle = search if name == "search" else handler
        return Operation(name, method, path, _TAG, handle, answers, bodies, _FAILURES[failures], **more)

    archive = {"application/zip": None, "text/html": None}
    table = [
        operation("search", "POST", "/api/search", schemas.SearchOut, schemas.Search, "body", compressed=True),
        operation("understand", "POST", "/api/understand", schemas.UnderstoodOut, schemas.Sentence, "body"),
        operation("photo", "GET", _PHOTO, schemas.PhotoDetails, None, "photo"),
        operation("thumbnail", "GET", f"{_PHOTO}/thumb", {"image/jpeg": None}, None, "thumbnail"),
        operation("image", "GET", f"{_PHOTO}/image", {"image/*": None}, None, "image"),
        operation("library", "GET", "/api/library", schemas.LibraryOut, None, "library", compressed=True),
        operation("trips", "GET", "/api/trips", schemas.TripsOut, None, "library", compressed=True),
        operation("choices", "GET", "/api/choices", schemas.ChoicesOut, None, "choice"),
        operation("save_choice", "PUT", _CHOICE, schemas.ChoiceOut, schemas.ChoiceIn, "body"),
        operation("delete_choice", "DELETE", _CHOICE, schemas.Deleted, None, "choice"),
        operation("export", "POST", "/api/export", archive, schemas.Export, "body"),
    ]
    return table if service is not None else [replace(entry, handler=_without_library) for entry in table]


async def _without_library(request: Request) -> NoReturn:
    """Photographs need a library; this server has none."""
    raise NoLibrary(
        404,
        "this server has no photo library: make one with `mascot index FOLDER`, then start it with "
        "`mascot serve --library FOLDER`",
    )


def _id_of(request: Request) -> int:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= 2**53 and len(text) <= 20):
        raise BadBody(f"id must be a whole number from 1 to {2**53}, got {text[:40]!r}")
    return int(text)
