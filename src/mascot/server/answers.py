"""Answers in JSON, and which answer each error of a request has."""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc

JSON = "application/json"


class BadBody(ValueError):
    """A body, or a line of a stream, that does not match the schema."""


class ExportTooLarge(mc.MascotError):
    """The photographs to download exceed the size limit of an answer."""


class NoLibrary(mc.MascotError):
    """The server has no photo library."""


class LibraryGone(mc.MascotError):
    """The library was removed while it was served."""


class FailureOut(msgspec.Struct):
    """What was wrong with a request."""

    kind: str
    message: str


class Failure(msgspec.Struct):
    """The body of every error answer."""

    error: FailureOut


_ERRORS: dict[type[Exception], tuple[int, str]] = {
    BadBody: (422, "ValidationError"),
    ExportTooLarge: (413, "TooLarge"),
    NoLibrary: (404, "NoLibrary"),
}
_KINDS = {
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "TooLarge",
    415: "UnsupportedMediaType",
    416: "BadRange",
    422: "ValidationError",
    503: "Busy",
}


class JsonAnswer(Response):
    """A value of the API as JSON."""

    media_type = JSON

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def failure(kind: str, message: str) -> Failure:
    """Return the body of a failed request."""
    return Failure(FailureOut(kind, message))


INTERNAL = failure("InternalError", "the server failed; its log says where")


def failure_of(error: Exception) -> tuple[int, Failure]:
    """Return the status and the body that answer an error."""
    if isinstance(error, HTTPException):
        return error.status_code, failure(_KINDS.get(error.status_code, "HttpError"), error.detail)
    if isinstance(error, (LibraryGone, sqlite3.Error)):
        return 503, failure("LibraryError", f"the library cannot be read ({error}): is its folder still there?")
    status, kind = _ERRORS.get(type(error), (400, type(error).__name__))
    return status, failure(kind, str(error))


async def _answer(_: Request, error: Any) -> Response:
    status, body = failure_of(error)
    return JsonAnswer(body, status, getattr(error, "headers", None))


EXCEPTION_HANDLERS: dict[Any, Any] = dict.fromkeys((BadBody, mc.MascotError, HTTPException, sqlite3.Error), _answer)
