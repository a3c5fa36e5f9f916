"""What a request says: bodies in JSON, and the mistakes in them told so that they can be mended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.exceptions import HTTPException

_SHOWN = 40  # letters of a value that is told


class NotJson(ValueError):
    """A body, or a line of a stream, that is no JSON object in UTF-8."""


def parsed(body: bytes) -> dict[str, Any]:
    """What a body says; a mark of the order of bytes before it is let pass."""
    try:
        said = from_json(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotJson(f"the request must be JSON in UTF-8, and its byte {error.start + 1} is not") from None
    except ValueError as error:
        raise NotJson(f"the request must be JSON: {error}") from None
    if not isinstance(said, dict):
        raise NotJson(f"the request must be a JSON object, got {_shown(said)}")
    return said


class JsonRoute(APIRoute):
    """A route whose body, where it takes one, must be JSON and say so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handled(request: Request) -> Response:
            sent = _Sent(request.scope, request.receive)
            refuse_packed(sent.headers)
            if not await sent.body():
                raise HTTPException(422, "the request must be JSON, and its body is empty")
            kind = sent.headers.get("content-type", "")
            if not _is_json(kind):
                raise HTTPException(415, f"send content-type: application/json, got {kind or 'none'}")
            return await handle(sent)

        return handled


class _Sent(Request):
    async def json(self) -> Any:
        try:
            return parsed(await self.body())
        except NotJson as error:
            raise HTTPException(422, str(error)) from None


def refuse_packed(headers: Mapping[str, str]) -> None:
    """Bodies are read as they are: one that was packed could be a thousand times as large as it looks."""
    coding = headers.get("content-encoding", "identity")
    if coding.lower() != "identity":
        raise HTTPException(415, f"send the request as it is, without content-encoding, got {coding}")


def _is_json(kind: str) -> bool:
    return re.fullmatch(r"application/([^/]+\+)?json", kind.partition(";")[0].strip().lower()) is not None


def first_mistake(errors: Sequence[Any], outer: int = 0) -> str:
    """The first of the mistakes in a request, with its place but for so many outer parts of it."""
    error = errors[0]
    where = ".".join(map(str, error["loc"][outer:]))
    said = error["msg"]
    if error["type"] == "one_of":  # as `models.OneOf` has it
        said += f", got {_shown(error['input'])}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where}: {said}{more}" if where else f"{said}{more}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _SHOWN:
        return text
    if not isinstance(value, (str, list)):
        return f"{text[:_SHOWN]}..."
    return f"{text[:_SHOWN]}... ({len(value):,} {'letters' if isinstance(value, str) else 'in all'})"
