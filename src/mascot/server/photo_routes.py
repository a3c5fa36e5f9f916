"""Routes for the photo library; without one they say how to make one."""

from __future__ import annotations

from collections.abc import Callable
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
_SEARCHES, _PICTURES = 4, 4  # threads
_NO_LIBRARY = (
    "this server has no photo library: make one with `mascot index FOLDER`, then start it with "
    "`mascot serve --library FOLDER`"
)
_Found = TypeVar("_Found")


def operations(service: Any, settings: Settings, budget: ByteBudget) -> list[Operation]:
    """Return the operations on photographs of the service's library, or of none where `service` is None."""
    if service is None:
        handlers = dict.fromkeys(("search", "photo", "thumbnail", "image", "library"), _without_library)
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
    decoder = JsonDecoder(models.Search)

    async def search(request: Request) -> Response:
        """Search the library and steer the result.

        Asking again with other wishes re-ranks the same candidates: the text is not encoded again.
        """
        refuse_compressed(request.headers)
        body = await read_body(
            request.receive, request.headers, budget, settings.request_bytes, settings.body_timeout_s
        )
        if body:
            format_of(request.headers, JSON)
        query = decoder.decode(body)
        return JsonAnswer(await searches.run_while_connected(request.receive, service.search, query))

    async def photo(request: Request) -> Response:
        """What the library knows of a photograph."""
        return JsonAnswer(photo_out(await files.run(_found, service.photo, _id(request))))

    async def thumbnail(request: Request) -> Response:
        """A small picture, as JPEG."""
        return pictures.thumbnail(request, await files.run(_found, service.thumbnail, _id(request)))

    async def image(request: Request) -> Response:
        """The photograph itself; as JPEG where browsers cannot show its format."""
        row = await files.run(_found, service.photo, _id(request))
        try:
            return await files.run_while_connected(
                request.receive, lambda: pictures.photograph(request, service.file(row), row)
            )
        except Unreadable as error:
            raise HTTPException(404, f"{row.path!r}: {error}") from None
        except (mc.InputError, OSError) as error:
            raise HTTPException(404, str(error)) from None

    async def library(request: Request) -> Response:
        """What is in the library, and which attributes can be steered."""
        return JsonAnswer(await files.run(service.overview))

    return {"search": search, "photo": photo, "thumbnail": thumbnail, "image": image, "library": library}


def _id(request: Request) -> int:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= 2**53 and len(text) <= 20):
        raise BadBody(f"id must be a whole number from 1 to {2**53}, got {text[:40]!r}")
    return int(text)


def _found(find: Callable[[int], _Found], id_: int) -> _Found:
    try:
        return find(id_)
    except mc.InputError as error:
        raise HTTPException(404, str(error)) from None
