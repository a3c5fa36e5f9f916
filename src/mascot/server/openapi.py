"""Operations of the API, from which both the routes and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import mascot as mc
from mascot.server import schemas
from mascot.server.guard import OPEN_PATHS
from mascot.server.responses import JSON, Failure

GZIP = Middleware(GZipMiddleware, minimum_size=8 * 1024, compresslevel=5)  # compressing less is not worth it
_REFS = "#/components/schemas/{name}"
_TEXTS = {
    206: "The requested range",
    304: "The client already has this version",
    400: "The request is refused; the message says why",
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
_EXAMPLES: dict[str, dict[str, Any]] = {
    "Search": {
        "text": "sunset over water",
        "k": 20,
        "wishes": [{"spread": "place"}, {"focus": "hour", "near": "18:00"}],
    },
    "Rerank": {
        "ids": ["a", "b", "c"],
        "scores": [0.9, 0.8, 0.7],
        "columns": {"camera": ["X100", "X100", "Pixel"]},
        "wishes": [{"spread": {"kind": "Category", "column": "camera"}}],
        "k": 2,
    },
}
_WISHES = {"Rerank": schemas.WISHES, "RerankOptions": schemas.WISHES, "Search": schemas.PHOTO_WISHES}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "id": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "name": {"type": "string", "minLength": 1, "maxLength": 200},
}


@dataclass(frozen=True)
class Operation:
    """One operation of the API, described by the docstring of its handler."""

    name: str
    method: str
    path: str
    tag: str
    handler: Callable[[Request], Awaitable[Response]]
    answers: Mapping[str, Any]  # by content type: a struct, a tuple of structs for lines, None for bytes, str for text
    bodies: Mapping[str, Any] = field(default_factory=dict)  # likewise for the request
    failures: Sequence[int] = ()
    compressed: bool = False  # for long lists of text

    @property
    def template(self) -> str:
        """The path in the OpenAPI document: `/api/choices/{name}`."""
        return self.path.replace(":path}", "}")

    def route(self) -> Route:
        """Return the Starlette route."""
        return Route(self.path, self, methods=[self.method], middleware=[GZIP] if self.compressed else None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as an ASGI application."""
        scope["route_path"] = self.template
        response = await self.handler(Request(scope, receive, send))
        await response(scope, receive, send)


def document(operations: Sequence[Operation], token: bool) -> dict[str, Any]:
    """Return the OpenAPI document."""
    types: set[Any] = {Failure, *schemas.WISHES.values(), *schemas.PHOTO_WISHES.values()}
    for operation in operations:
        for content in (*operation.bodies.values(), *operation.answers.values()):
            types |= set(content) if isinstance(content, tuple) else {content} - {None, str}
    _, components = msgspec.json.schema_components(sorted(types, key=lambda type_: type_.__name__), ref_template=_REFS)
    for name in _EXAMPLES.keys() & components.keys():
        components[name]["examples"] = [_EXAMPLES[name]]
    for name in _WISHES.keys() & components.keys():
        components[name]["properties"]["wishes"]["items"] = {"anyOf": [_schema(cls) for cls in _WISHES[name].values()]}
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
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}] if token else [{}, {"token": []}],
    }


def _openapi_entry(operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "description": (operation.handler.__doc__ or "").strip(),
        "responses": {"200": {"description": "Success", "content": _content(operation.answers)}},
    }
    if operation.path in OPEN_PATHS:
        entry["security"] = []
    for name, schema in _PARAMETERS.items():
        if f"{{{name}}}" in operation.template:
            entry["parameters"] = [{"name": name, "in": "path", "required": True, "schema": schema}]
    if operation.bodies:
        entry["requestBody"] = {"required": True, "content": _content(operation.bodies)}
    for status in sorted({*operation.failures, 403}):
        content = {"content": _content({JSON: Failure})} if status >= 400 else {}
        entry["responses"][str(status)] = {"description": _TEXTS[status], **content}
    return entry


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: {"schema": _schema(type_)} for kind, type_ in content.items()}


def _schema(type_: Any) -> dict[str, Any]:
    if type_ is None:
        return {"type": "string", "format": "binary"}
    if type_ is str:
        return {"type": "string"}
    if isinstance(type_, tuple):
        return {"description": "One of the lines.", "anyOf": [_schema(part) for part in type_]}
    return {"$ref": _REFS.format(name=type_.__name__)}
