"""Routes of the photo library. Without a library they answer 404 with the command that makes one."""

from __future__ import annotations

from collections.abc import Callable
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
from mascot.server.request_body import ByteBudget, decode, read_body
from mascot.server.rerank.rerank_task import decode_wish
from mascot.server.responses import JSON, BadBody, JsonAnswer
from mascot.server.run.threads import Threads
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
        body, _ = await read_body(request, budget, settings, JSON)
        return decode(body, type_)

    async def run(request: Request, threads: Threads, call: Callable[..., Any], *arguments: Any) -> Any:
        return await threads.run_while_connected(request.receive, call, *arguments)

    async def run_named(request: Request, call: Callable[..., Any], *arguments: Any) -> Any:
        """Run a call about what the path names; if the library does not hold it, the answer is 404."""
        try:
            return await run(request, service.files, call, *arguments)
        except mc.InputError as error:
            raise HTTPException(404, str(error)) from None

    async def search(request: Request) -> Response:
        """Search the library and steer the result.

        A further search with the same text and other wishes re-ranks the same candidates: nothing is encoded again.
        """
        body = await body_of(request, schemas.Search)
        for place, wish in enumerate(body.wishes):
            decode_wish(wish, place, schemas.PHOTO_WISHES)  # refuses what does not match the schema
        search_request = SearchRequest(**msgspec.structs.asdict(body))
        return JsonAnswer(await run(request, service.searches, service.search, search_request))

    async def photo(request: Request) -> Response:
        """Return the metadata of a photograph."""
        return JsonAnswer(await run_named(request, service.photo, _id_of(request)))

    async def thumbnail(request: Request) -> Response:
        """Return a small picture, as JPEG."""
        response: Response = await run_named(request, service.thumbnail, _id_of(request), request.headers)
        return response

    async def image(request: Request) -> Response:
        """Return the photograph itself; converted to JPEG if browsers cannot show its format."""
        response: Response = await run_named(request, service.image, _id_of(request), request.headers)
        return response

    async def library(request: Request) -> Response:
        """Return what the library contains, and which attributes can be steered."""
        return JsonAnswer(await run(request, service.files, service.library))

    async def choices(request: Request) -> Response:
        """Return the saved choices: named sets of photographs."""
        return JsonAnswer(await run(request, service.files, service.choices))

    async def save_choice(request: Request) -> Response:
        """Save a choice; an existing one of that name is replaced."""
        choice = await body_of(request, schemas.ChoiceIn)
        return JsonAnswer(await run(request, service.files, service.save_choice, request.path_params["name"], choice))

    async def delete_choice(request: Request) -> Response:
        """Delete a choice. The photographs stay."""
        return JsonAnswer(await run_named(request, service.delete_choice, request.path_params["name"]))

    async def export(request: Request) -> Response:
        """Download photographs: a ZIP archive of their files, or an album, which is one HTML file.

        Missing files are listed in a text file inside the archive.
        """
        response: Response = await run(request, service.files, service.export, await body_of(request, schemas.Export))
        return response

    def operation(
        handler: Any, method: str, path: str, answer: Any, body: Any, failures: str, **more: Any
    ) -> Operation:
        answers = answer if isinstance(answer, dict) else {JSON: answer}
        bodies = {} if body is None else {JSON: body}
        return Operation(handler.__name__, method, path, _TAG, handler, answers, bodies, _FAILURES[failures], **more)

    archive = {"application/zip": None, "text/html": None}
    table = [
        operation(search, "POST", "/api/search", schemas.SearchOut, schemas.Search, "body", compressed=True),
        operation(photo, "GET", _PHOTO, schemas.PhotoOut, None, "photo"),
        operation(thumbnail, "GET", f"{_PHOTO}/thumb", {"image/jpeg": None}, None, "thumbnail"),
        operation(image, "GET", f"{_PHOTO}/image", {"image/*": None}, None, "image"),
        operation(library, "GET", "/api/library", schemas.LibraryOut, None, "library", compressed=True),
        operation(choices, "GET", "/api/choices", schemas.ChoicesOut, None, "choice"),
        operation(save_choice, "PUT", _CHOICE, schemas.ChoiceOut, schemas.ChoiceIn, "body"),
        operation(delete_choice, "DELETE", _CHOICE, schemas.Deleted, None, "choice"),
        operation(export, "POST", "/api/export", archive, schemas.Export, "body"),
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
