"""Answers in JSON, and the answer to each kind of error."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

import mascot as mc
from mascot.removed import instead

JSON = "application/json"
# By status: the kind of the error in the answer, and the description in the OpenAPI document.
STATUSES: dict[str, dict[str, str]] = msgspec.json.decode(Path(__file__).with_name("statuses.json").read_bytes())


class BadBody(HTTPException):
    """A body that does not match the schema."""

    def __init__(self, message: str) -> None:
        super().__init__(422, message)


class FailureOut(msgspec.Struct):
    """The kind of an error, and a message."""

    kind: str
    message: str


class Failure(msgspec.Struct):
    """The body of every error answer."""

    error: FailureOut


class JsonAnswer(Response):
    media_type = JSON

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def failure(kind: str, message: str) -> Failure:
    return Failure(FailureOut(kind, message))


def refusal(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JsonAnswer(failure(kind, message), status, headers)


INTERNAL = failure("InternalError", "the server failed; see its log")


def failure_of(error: Exception) -> tuple[int, Failure]:
    """Return the status and the body of the answer to an error."""
    if isinstance(error, HTTPException):
        status = STATUSES.get(str(error.status_code), {})
        return error.status_code, failure(getattr(error, "kind", status.get("kind", "HttpError")), error.detail)
    if isinstance(error, sqlite3.Error):
        return 503, failure("LibraryError", f"the library cannot be read ({error}): is its folder still there?")
    return 400, failure(type(error).__name__, str(error))


async def _answer(request: Request, error: Any) -> Response:
    status, body = failure_of(error)
    body.error.message += instead(request.url.path)
    return JsonAnswer(body, status, getattr(error, "headers", None))


EXCEPTION_HANDLERS: dict[Any, Any] = dict.fromkeys((mc.MascotError, HTTPException, sqlite3.Error), _answer)
