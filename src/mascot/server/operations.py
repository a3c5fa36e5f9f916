"""The operations of the API. The routes and the OpenAPI document are both made from this list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import mascot as mc
from mascot.server import models
from mascot.server.bodies import JSON
from mascot.server.guard import OPEN_PATHS

_REFS = "#/components/schemas/{name}"
_TEXTS = {
    206: "The requested range",
    304: "The client has this version already",
    400: "The library refuses the request; the message says why",
    401: "The token is missing or wrong",
    403: "A foreign host or origin",
    404: "There is no such photograph, or no library",
    408: "The body did not arrive in time",
    413: "The request is too large",
    415: "The content type is not supported, or the body is compressed",
    416: "The file has no such range",
    422: "The body cannot be decoded, or a field is missing, unknown, of the wrong type or beyond a limit",
    503: "The library cannot be read, or too many requests are unfinished",
}
_EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "Search": [
        {
            "text": "sunset over water",
            "k": 20,
            "wishes": [
                {"name": "place", "direction": "spread"},
                {"name": "hour", "direction": "focus", "near": "18"},
            ],
        }
    ],
    "Rerank": [
        {
            "ids": ["a", "b", "c"],
            "scores": [0.9, 0.8, 0.7],
            "columns": {"camera": ["X100", "X100", "Pixel"]},
            "wishes": [{"spread": {"kind": "Category", "column": "camera"}}],
            "k": 2,
        }
    ],
}


@dataclass(frozen=True)
class Operation:
    """One operation of the API, described by the docstring of its handler."""

    name: str
    method: str
    path: str
    tag: str
    handler: Callable[[Request], Awaitable[Response]]
    answers: Mapping[str, Any]  # type of the answer by content type; None is bytes, str is text
    bodies: Mapping[str, Any] = field(default_factory=dict)  # the same for the request
    failures: Sequence[int] = ()
    lines: bool = False  # bodies and answers are lines, each of one of the types

    @property
    def template(self) -> str:
        """The path as clients read it: `/api/choices/{name}`."""
        return self.path.replace(":path}", "}")

    def route(self) -> Route:
        """Return the route that calls the handler."""
        return Route(self.path, _Endpoint(self), methods=[self.method])


class _Endpoint:
    """The handler of an operation as an ASGI application."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route_path"] = self._operation.template
        response = await self._operation.handler(Request(scope, receive, send))
        await response(scope, receive, send)


def document(operations: Sequence[Operation], token: bool) -> dict[str, Any]:
    """Return the OpenAPI document."""
    types = {type_ for operation in operations for type_ in _types(operation)} | {models.Failure}
    types |= {*models.WISHES.values(), *models.PHOTO_WISHES.values()}
    _, components = msgspec.json.schema_components(sorted(types, key=lambda type_: type_.__name__), ref_template=_REFS)
    for name, examples in _EXAMPLES.items():
        if name in components:
            components[name]["examples"] = examples
    kinds = {"Rerank": models.WISHES, "RerankOptions": models.WISHES, "Search": models.PHOTO_WISHES}
    for name in kinds.keys() & components.keys():
        wishes = [{"$ref": _REFS.format(name=cls.__name__)} for cls in kinds[name].values()]
        components[name]["properties"]["wishes"]["items"] = {"anyOf": wishes}
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.template, {})[operation.method.lower()] = _openapi_entry(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MASCOT",
            "version": mc.__version__,
            "description": "Re-rank search results: spread or focus any attribute, keep the best matches.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if token else [{}, {"token": []}],
    }


def _types(operation: Operation) -> set[Any]:
    return {
        type_
        for content in (operation.bodies, operation.answers)
        for part in content.values()
        for type_ in (part if isinstance(part, tuple) else (part,))
        if isinstance(type_, type) and issubclass(type_, msgspec.Struct)
    }


def _openapi_entry(operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "description": (operation.handler.__doc__ or "").strip(),
        "responses": {"200": {"description": "Success", "content": _content(operation.answers, operation.lines)}},
    }
    if operation.path in OPEN_PATHS:
        entry["security"] = []
    if "{id" in operation.path:
        schema = {"type": "integer", "minimum": 1, "maximum": 2**53}
        entry["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": schema}]
    if "{name" in operation.path:
        schema = {"type": "string", "minLength": 1, "maxLength": 200}
        entry["parameters"] = [{"name": "name", "in": "path", "required": True, "schema": schema}]
    if operation.bodies:
        entry["requestBody"] = {"required": True, "content": _content(operation.bodies, operation.lines)}
    failure_content = _content({JSON: models.Failure})
    for status in sorted({*operation.failures, 403}):
        entry["responses"][str(status)] = {"description": _TEXTS[status]} | (
            {"content": failure_content} if status >= 400 else {}
        )
    return entry


def _content(content: Mapping[str, Any], lines: bool = False) -> dict[str, Any]:
    return {kind: {"schema": _schema(type_, lines)} for kind, type_ in content.items()}


def _schema(type_: Any, lines: bool) -> dict[str, Any]:
    if type_ is None:
        return {"type": "string", "format": "binary"}
    if type_ is str:
        return {"type": "string"}
    parts = type_ if isinstance(type_, tuple) else (type_,)
    refs = [{"$ref": _REFS.format(name=part.__name__)} for part in parts]
    return {"description": "One of the lines.", "anyOf": refs} if lines else refs[0]


class JsonAnswer(Response):
    """A value of the API as JSON."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)
