"""Operations of the API, from which both the routes and the OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
from mascot.server.responses import JSON, STATUSES, Failure

GZIP = Middleware(GZipMiddleware, minimum_size=8 * 1024, compresslevel=5)  # compressing less is not worth it
_REFS = "#/components/schemas/{name}"
# The parts of the document that do not depend on the operations: parameters of paths, examples.
_FIXED: dict[str, Any] = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
_WISHES = {"Rerank": schemas.WISHES, "Search": schemas.PHOTO_WISHES}


@dataclass(frozen=True)
class Operation:
    """One operation of the API, described by the docstring of its handler."""

    name: str
    method: str
    path: str
    tag: str
    handler: Callable[[Request], Awaitable[Response]]
    answers: Mapping[str, Any]  # by content type: a struct, None for bytes, str for text
    bodies: Mapping[str, Any] = field(default_factory=dict)  # likewise for the request
    failures: Sequence[int] = ()
    compressed: bool = False  # for long lists of text

    @property
    def template(self) -> str:
        """The path in the OpenAPI document: `/api/choices/{name}`."""
        return self.path.replace(":path}", "}")

    def route(self) -> Route:
        return Route(self.path, self, methods=[self.method], middleware=[GZIP] if self.compressed else None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as an ASGI application."""
        scope["route_path"] = self.template
        response = await self.handler(Request(scope, receive, send))
        await response(scope, receive, send)


def document(operations: Sequence[Operation], token: bool) -> dict[str, Any]:
    types: set[Any] = {Failure, *schemas.WISHES.values(), *schemas.PHOTO_WISHES.values()}
    for operation in operations:
        for content in (*operation.bodies.values(), *operation.answers.values()):
            types |= {content} - {None, str}
    _, components = msgspec.json.schema_components(sorted(types, key=lambda type_: type_.__name__), ref_template=_REFS)
    for name in _FIXED["examples"].keys() & components.keys():
        components[name]["examples"] = [_FIXED["examples"][name]]
    for name in _WISHES.keys() & components.keys():
        components[name]["properties"]["wishes"]["items"] = {"anyOf": [_schema(cls) for cls in _WISHES[name].values()]}
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.template, {})[operation.method.lower()] = _openapi_entry(operation)
    fixed = _FIXED["document"]
    return fixed | {
        "info": fixed["info"] | {"version": mc.__version__},
        "paths": paths,
        "components": fixed["components"] | {"schemas": components},
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
    for name, schema in _FIXED["parameters"].items():
        if f"{{{name}}}" in operation.template:
            entry["parameters"] = [{"name": name, "in": "path", "required": True, "schema": schema}]
    if operation.bodies:
        entry["requestBody"] = {"required": True, "content": _content(operation.bodies)}
    for status in sorted({*operation.failures, 403}):
        content = {"content": _content({JSON: Failure})} if status >= 400 else {}
        entry["responses"][str(status)] = {"description": STATUSES[str(status)]["description"], **content}
    return entry


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: {"schema": _schema(type_)} for kind, type_ in content.items()}


def _schema(type_: Any) -> dict[str, Any]:
    if type_ is None:
        return {"type": "string", "format": "binary"}
    if type_ is str:
        return {"type": "string"}
    return {"$ref": _REFS.format(name=type_.__name__)}
