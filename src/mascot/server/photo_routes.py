"""Routes of the photo library. Without a library they answer 404 with the command that makes one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NoReturn, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc
from mascot.server import models
from mascot.server.bodies import JSON, ByteBudget, JsonDecoder, format_of, read_body, refuse_compressed
from mascot.server.failures import BadBody, NoLibrary
from mascot.server.operations import JsonAnswer, Operation
from mascot.server.settings import Settings
from mascot.server.threads import Threads

_TAG = "photographs"
_NAMES = (
    "search", "photo", "thumbnail", "image", "library", "choices", "save_choice", "delete_choice", "export",
)  # fmt: skip
_CHOICE = "/api/choices/{name:path}"
_SEARCHES, _PICTURES = 4, 4  # threads
_NO_LIBRARY = (
    "this server has no photo library: make one with `mascot index FOLDER`, then start it with "
    "`mascot serve --library FOLDER`"
)
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def operations(service: Any, settings: Settings, budget: ByteBudget) -> list[Operation]:
    """Return the operations on the photographs of a library; without a service they answer 404."""
    if service is None:
        handlers = dict.fromkeys(_NAMES, _without_library)
    else:
        handlers = _handlers(service, settings, budget)
    return [
        Operation(
            "search", "POST", "/api/search", _TAG, handlers["search"], {JSON: models.SearchOut},
            {JSON: models.Search}, (400, 401, 404, 408, 413, 415, 422, 503),
        ),
        Operation(
            "photo", "GET", "/api/photos/{id}", _TAG, handlers["photo"], {JSON: models.PhotoOut},
            failures=(401, 404, 422, 503),
        ),
        Operation(
            "thumbnail", "GET", "/api/photos/{id}/thumb", _TAG, handlers["thumbnail"], {"image/jpeg": None},
            failures=(304, 401, 404, 422, 503),
        ),
        Operation(
            "image", "GET", "/api/photos/{id}/image", _TAG, handlers["image"], {"image/*": None},
            failures=(206, 304, 401, 404, 416, 422, 503),
        ),
        Operation(
            "library", "GET", "/api/library", _TAG, handlers["library"], {JSON: models.LibraryOut},
            failures=(401, 404, 503),
        ),
        Operation(
            "choices", "GET", "/api/choices", _TAG, handlers["choices"], {JSON: models.ChoicesOut},
            failures=(400, 401, 404, 503),
        ),
        Operation(
            "save_choice", "PUT", _CHOICE, _TAG, handlers["save_choice"], {JSON: models.ChoiceOut},
            {JSON: models.ChoiceIn}, (400, 401, 404, 408, 413, 415, 422, 503),
        ),
        Operation(
            "delete_choice", "DELETE", _CHOICE, _TAG, handlers["delete_choice"], {JSON: models.Deleted},
            failures=(400, 401, 404, 503),
        ),
        Operation(
            "export", "POST", "/api/export", _TAG, handlers["export"], {"application/zip": None, "text/html": None},
            {JSON: models.Export}, (400, 401, 404, 408, 413, 415, 422, 503),
        ),
    ]  # fmt: skip


async def _without_library(request: Request) -> NoReturn:
    """Photographs need a library; this server has none."""
    raise NoLibrary(_NO_LIBRARY)


def _handlers(service: Any, settings: Settings, budget: ByteBudget) -> dict[str, Any]:
    from mascot.photos.images import Unreadable
    from mascot.server import pictures
    from mascot.server.service import photo_out
    from mascot.server.threads import STOPPING

    searches, files = Threads("search", _SEARCHES, STOPPING), Threads("picture", _PICTURES)
    decoders = {type_: JsonDecoder(type_) for type_ in (models.Search, models.ChoiceIn, models.Export)}

    async def body_of(request: Request, type_: Any) -> Any:
        refuse_compressed(request.headers)
        body = await read_body(
            request.receive, request.headers, budget, settings.request_bytes, settings.body_timeout_s
        )
        if body:
            format_of(request.headers, JSON)
        return decoders[type_].decode(body)

    async def search(request: Request) -> Response:
        """Search the library and steer the result.

        A further search with the same text and other wishes re-ranks the same candidates: nothing is encoded again.
        """
        query = await body_of(request, models.Search)
        return JsonAnswer(await searches.run_while_connected(request.receive, service.search, query))

    async def photo(request: Request) -> Response:
        """Return the metadata of a photograph."""
        return JsonAnswer(photo_out(await files.run(_or_404, service.photo, _id(request))))

    async def thumbnail(request: Request) -> Response:
        """Return a small picture, as JPEG."""
        return pictures.thumbnail(request, await files.run(_or_404, service.thumbnail, _id(request)))

    async def image(request: Request) -> Response:
        """Return the photograph itself; converted to JPEG if browsers cannot show its format."""
        row = await files.run(_or_404, service.photo, _id(request))
        try:
            return await files.run_while_connected(
                request.receive, lambda: pictures.photograph(request, service.file(row), row)
            )
        except Unreadable as error:
            raise HTTPException(404, f"{row.path!r}: {error}") from None
        except (mc.InputError, OSError) as error:
            raise HTTPException(404, str(error)) from None

    async def library(request: Request) -> Response:
        """Return what the library contains, and which attributes can be steered."""
        return JsonAnswer(await files.run(service.overview))

    async def pieces(parts: Iterator[Any]) -> AsyncIterator[Any]:
        while (part := await files.run(next, parts, None)) is not None:
            yield part

    async def choices(request: Request) -> Response:
        """Return the saved choices: named sets of photographs."""
        return JsonAnswer(await files.run(service.choices))

    async def save_choice(request: Request) -> Response:
        """Save a choice; an existing one of that name is replaced."""
        choice = await body_of(request, models.ChoiceIn)
        return JsonAnswer(await files.run(service.save_choice, request.path_params["name"], choice))

    async def delete_choice(request: Request) -> Response:
        """Delete a choice. The photographs stay."""
        return JsonAnswer(await files.run(_or_404, service.delete_choice, request.path_params["name"]))

    async def export(request: Request) -> Response:
        """Download photographs: a ZIP archive of their files, or an album, which is one HTML file.

        Missing files are listed in a text file inside the archive.
        """
        body = await body_of(request, models.Export)
        if body.format == "zip":
            return pictures.download(pieces(await files.run(service.archive, body)), body.title, "zip")
        return pictures.download(pieces(await files.run(service.album, body)), body.title, "html")

    return {
        "search": search, "photo": photo, "thumbnail": thumbnail, "image": image, "library": library,
        "choices": choices, "save_choice": save_choice, "delete_choice": delete_choice, "export": export,
    }  # fmt: skip


def _id(request: Request) -> int:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= 2**53 and len(text) <= 20):
        raise BadBody(f"id must be a whole number from 1 to {2**53}, got {text[:40]!r}")
    return int(text)


def _or_404(find: Callable[[_Key], _Value], key: _Key) -> _Value:
    """Return what `find` returns; an `InputError` is answered 404."""
    try:
        return find(key)
    except mc.InputError as error:
        raise HTTPException(404, str(error)) from None
