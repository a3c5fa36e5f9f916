"""Routes of the photo library. Without a library they answer 404 with the command that makes one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NoReturn, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc
from mascot.server import models
from mascot.server.answers import JSON, BadBody, JsonAnswer, NoLibrary
from mascot.server.bodies import BodyDecoder, ByteBudget, read_body
from mascot.server.operations import Operation
from mascot.server.settings import Settings
from mascot.server.threads import Threads

_CHOICE = "/api/choices/{name:path}"
_SENDING = (400, 401, 404, 408, 413, 415, 422, 503)
_SEARCHES, _PICTURES = 4, 4  # threads
_NO_LIBRARY = (
    "this server has no photo library: make one with `mascot index FOLDER`, then start it with "
    "`mascot serve --library FOLDER`"
)
# Name, method, path, type of the answer, type of the body, failures.
_OPERATIONS: list[tuple[str, str, str, dict[str, Any], dict[str, Any], tuple[int, ...]]] = [
    ("search", "POST", "/api/search", {JSON: models.SearchOut}, {JSON: models.Search}, _SENDING),
    ("photo", "GET", "/api/photos/{id}", {JSON: models.PhotoOut}, {}, (401, 404, 422, 503)),
    ("thumbnail", "GET", "/api/photos/{id}/thumb", {"image/jpeg": None}, {}, (304, 401, 404, 422, 503)),
    ("image", "GET", "/api/photos/{id}/image", {"image/*": None}, {}, (206, 304, 401, 404, 416, 422, 503)),
    ("library", "GET", "/api/library", {JSON: models.LibraryOut}, {}, (401, 404, 503)),
    ("choices", "GET", "/api/choices", {JSON: models.ChoicesOut}, {}, (400, 401, 404, 503)),
    ("save_choice", "PUT", _CHOICE, {JSON: models.ChoiceOut}, {JSON: models.ChoiceIn}, _SENDING),
    ("delete_choice", "DELETE", _CHOICE, {JSON: models.Deleted}, {}, (400, 401, 404, 503)),
    ("export", "POST", "/api/export", {"application/zip": None, "text/html": None}, {JSON: models.Export}, _SENDING),
]
_COMPRESSED = ("search", "library")
_DECODERS = {type_: BodyDecoder(type_) for type_ in (models.Search, models.ChoiceIn, models.Export)}
_Value = TypeVar("_Value")


def operations(service: Any, settings: Settings, budget: ByteBudget) -> list[Operation]:
    """Return the operations on the photographs of a library; without a service they answer 404."""
    handlers: Any = dict.fromkeys((row[0] for row in _OPERATIONS), _without_library)
    if service is not None:
        routes = _PhotoRoutes(service, settings, budget)
        handlers = {name: getattr(routes, name) for name in handlers}
    return [
        Operation(name, method, path, "photographs", handlers[name], answers, bodies, failures, name in _COMPRESSED)
        for name, method, path, answers, bodies, failures in _OPERATIONS
    ]


async def _without_library(request: Request) -> NoReturn:
    """Photographs need a library; this server has none."""
    raise NoLibrary(_NO_LIBRARY)


class _PhotoRoutes:
    """The handlers, named after their operations."""

    def __init__(self, service: Any, settings: Settings, budget: ByteBudget) -> None:
        from mascot.server import pictures

        self._service, self._settings, self._budget, self._pictures = service, settings, budget, pictures
        self._searches, self._files = Threads("search", _SEARCHES), Threads("picture", _PICTURES)

    async def _body(self, request: Request, type_: Any) -> Any:
        body, _ = await read_body(request, self._budget, self._settings, JSON)
        return _DECODERS[type_].decode(body)

    async def search(self, request: Request) -> Response:
        """Search the library and steer the result.

        A further search with the same text and other wishes re-ranks the same candidates: nothing is encoded again.
        """
        query = await self._body(request, models.Search)
        return JsonAnswer(await self._searches.run_while_connected(request.receive, self._service.search, query))

    async def photo(self, request: Request) -> Response:
        """Return the metadata of a photograph."""
        return JsonAnswer((await self._files.run(_or_404, self._service.photo, _id(request))).to_dict())

    async def thumbnail(self, request: Request) -> Response:
        """Return a small picture, as JPEG."""
        content = await self._files.run(_or_404, self._service.thumbnail, _id(request))
        return self._pictures.thumbnail(request, content)

    async def image(self, request: Request) -> Response:
        """Return the photograph itself; converted to JPEG if browsers cannot show its format."""
        return await self._files.run_while_connected(request.receive, self._image, request, _id(request))

    def _image(self, request: Request, id_: int) -> Response:
        from mascot.photos.images import Unreadable

        photo = _or_404(self._service.photo, id_)
        try:
            return self._pictures.photograph(request, self._service.file(photo), photo)
        except Unreadable as error:
            raise HTTPException(404, f"{photo.path!r}: {error}") from None
        except (mc.InputError, OSError) as error:
            raise HTTPException(404, str(error)) from None

    async def library(self, request: Request) -> Response:
        """Return what the library contains, and which attributes can be steered."""
        return JsonAnswer(await self._files.run(self._service.overview))

    async def choices(self, request: Request) -> Response:
        """Return the saved choices: named sets of photographs."""
        return JsonAnswer(await self._files.run(self._service.choices))

    async def save_choice(self, request: Request) -> Response:
        """Save a choice; an existing one of that name is replaced."""
        choice = await self._body(request, models.ChoiceIn)
        return JsonAnswer(await self._files.run(self._service.save_choice, request.path_params["name"], choice))

    async def delete_choice(self, request: Request) -> Response:
        """Delete a choice. The photographs stay."""
        return JsonAnswer(await self._files.run(_or_404, self._service.delete_choice, request.path_params["name"]))

    async def export(self, request: Request) -> Response:
        """Download photographs: a ZIP archive of their files, or an album, which is one HTML file.

        Missing files are listed in a text file inside the archive.
        """
        body = await self._body(request, models.Export)
        make, kind = (self._service.archive, "zip") if body.format == "zip" else (self._service.album, "html")
        return self._pictures.download(self._chunks(await self._files.run(make, body)), body.title, kind)

    async def _chunks(self, parts: Iterator[Any]) -> AsyncIterator[Any]:
        while (part := await self._files.run(next, parts, None)) is not None:
            yield part


def _id(request: Request) -> int:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= 2**53 and len(text) <= 20):
        raise BadBody(f"id must be a whole number from 1 to {2**53}, got {text[:40]!r}")
    return int(text)


def _or_404(find: Callable[[Any], _Value], key: Any) -> _Value:
    """Return what `find` returns; an `InputError` is answered 404."""
    try:
        return find(key)
    except mc.InputError as error:
        raise HTTPException(404, str(error)) from None
