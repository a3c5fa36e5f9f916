"""Routes of the photo library. Without a library they answer 404 with the command that makes one."""

from __future__ import annotations

from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc
from mascot.server import schemas
from mascot.server.openapi import Operation
from mascot.server.request_body import ByteBudget, decode, read_body
from mascot.server.responses import JSON, BadBody, JsonAnswer
from mascot.server.settings import Settings

_CHOICE = "/api/choices/{name:path}"
_SENDING = (400, 401, 404, 408, 413, 415, 422, 503)
# Name, method, path, type of the answer, type of the body, failures. `Service` has a method of each name.
_OPERATIONS: list[tuple[str, str, str, dict[str, Any], dict[str, Any], tuple[int, ...]]] = [
    ("search", "POST", "/api/search", {JSON: schemas.SearchOut}, {JSON: schemas.Search}, _SENDING),
    ("photo", "GET", "/api/photos/{id}", {JSON: schemas.PhotoOut}, {}, (401, 404, 422, 503)),
    ("thumbnail", "GET", "/api/photos/{id}/thumb", {"image/jpeg": None}, {}, (304, 401, 404, 422, 503)),
    ("image", "GET", "/api/photos/{id}/image", {"image/*": None}, {}, (206, 304, 401, 404, 416, 422, 503)),
    ("library", "GET", "/api/library", {JSON: schemas.LibraryOut}, {}, (401, 404, 503)),
    ("choices", "GET", "/api/choices", {JSON: schemas.ChoicesOut}, {}, (400, 401, 404, 503)),
    ("save_choice", "PUT", _CHOICE, {JSON: schemas.ChoiceOut}, {JSON: schemas.ChoiceIn}, _SENDING),
    ("delete_choice", "DELETE", _CHOICE, {JSON: schemas.Deleted}, {}, (400, 401, 404, 503)),
    ("export", "POST", "/api/export", {"application/zip": None, "text/html": None}, {JSON: schemas.Export}, _SENDING),
]
_COMPRESSED = ("search", "library")
_PICTURES = ("thumbnail", "image")  # these get the headers of the request too: the browser may have them already


class NoLibrary(HTTPException):
    """The server has no photo library."""

    kind = "NoLibrary"


def operations(service: Any, settings: Settings, budget: ByteBudget) -> list[Operation]:
    """Return the operations on the photographs of a library; without a service they answer 404."""

    def handler(name: str, type_: Any) -> Any:
        call, threads = getattr(service, name), service.searches if name == "search" else service.files

        async def handle(request: Request) -> Response:
            arguments: list[Any] = [_id(text) if key == "id" else text for key, text in request.path_params.items()]
            if type_ is not None:
                body, _ = await read_body(request, budget, settings, JSON)
                arguments.append(decode(body, type_))
            elif name in _PICTURES:
                arguments.append(request.headers)
            try:
                answer = await threads.run_while_connected(request.receive, call, *arguments)
            except mc.InputError as error:
                if type_ is None and request.path_params:  # there is nothing of the name in the path
                    raise HTTPException(404, str(error)) from None
                raise
            return answer if isinstance(answer, Response) else JsonAnswer(answer)

        handle.__doc__ = call.__doc__
        return handle

    return [
        Operation(
            name, method, path, "photographs",
            _without_library if service is None else handler(name, bodies.get(JSON)), answers, bodies, failures,
            compressed=name in _COMPRESSED,
        )
        for name, method, path, answers, bodies, failures in _OPERATIONS
    ]  # fmt: skip


async def _without_library(request: Request) -> NoReturn:
    """Photographs need a library; this server has none."""
    raise NoLibrary(
        404,
        "this server has no photo library: make one with `mascot index FOLDER`, then start it with "
        "`mascot serve --library FOLDER`",
    )


def _id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= 2**53 and len(text) <= 20):
        raise BadBody(f"id must be a whole number from 1 to {2**53}, got {text[:40]!r}")
    return int(text)
