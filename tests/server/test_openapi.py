"""What `/openapi.json` promises of the routes, the token and the limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mascot as mc
from mascot.photos import Library
from mascot.server import models
from mascot.server.http import make_app

OPERATIONS = {
    "search": {400, 401, 403, 413, 415, 422, 503},
    "photo": {401, 403, 404, 422, 503},
    "thumbnail": {304, 401, 403, 404, 422, 503},
    "image": {206, 304, 401, 403, 404, 416, 422, 503},
    "library": {401, 403, 503},
    "rerank": {400, 401, 403, 413, 415, 422},
    "rerank_stream": {401, 403, 415},
    "health": {403, 503},
    "metrics": {401, 403, 503},
}  # and what they may answer beside 200


def _told(photographs: Path, token: str | None) -> dict[str, Any]:
    with Library(photographs) as library:
        return make_app(library, token).openapi()


def test_operations_have_names_and_the_answers_they_may_give(photographs: Path) -> None:
    told = _told(photographs, None)
    every = [operation for methods in told["paths"].values() for operation in methods.values()]
    found = {one["operationId"]: {int(status) for status in one["responses"]} - {200} for one in every}
    assert found == OPERATIONS
    for one in every:
        for status, answer in one["responses"].items():
            if int(status) >= 400:
                assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Failure"}


def test_the_token_is_described(photographs: Path) -> None:
    for token, wanted in ((None, [{}, {"token": []}]), ("s3cret", [{"token": []}])):
        told = _told(photographs, token)
        assert told["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
        assert told["security"] == wanted
        own = {path: one["security"] for path, methods in told["paths"].items() for one in methods.values()
               if "security" in one}  # fmt: skip
        assert own == {"/healthz": []}


def test_a_stream_is_described_by_its_lines(photographs: Path) -> None:
    stream = _told(photographs, None)["paths"]["/api/rerank/stream"]["post"]
    assert stream["requestBody"]["required"] is True
    (asked,) = stream["requestBody"]["content"].items()
    (answer,) = stream["responses"]["200"]["content"].items()
    assert asked[0] == answer[0] == "application/x-ndjson"
    for (_, told), names in ((asked, ["Rerank"]), (answer, ["RerankOut", "Failure"])):
        assert "type" not in told["schema"]
        assert told["schema"]["anyOf"] == [{"$ref": f"#/components/schemas/{name}"} for name in names]


def _numbers() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every number that an attribute or a method takes, with its bounds."""
    for name, model in models.Rerank.model_json_schema()["$defs"].items():
        for field, told in model["properties"].items():
            for one in told.get("anyOf", [told]):
                if "kind" in model["properties"] and one.get("type") in ("integer", "number"):
                    yield name.removesuffix("In"), field, {**told, **one}


def _taken(kind: str, field: str, value: float) -> bool:
    """Whether a request may say so, and the library takes it."""
    said: dict[str, Any] = {"kind": kind, field: value}
    if kind in ("Category", "Cycle", "Number"):
        said["column"] = "n"
    if kind == "Cycle":
        said.setdefault("period", 360)
    asked = (
        {"method": said}
        if hasattr(getattr(mc, kind), "strength")
        else {"wishes": [{"attribute": said, "direction": "spread"}]}
    )
    try:
        read = models.Rerank.model_validate({"scores": [1]} | asked)
        mc.from_dict((read.method or read.wishes[0].attribute).model_dump())
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("kind", "field", "told"), _numbers())
def test_the_bounds_of_numbers_are_those_that_hold(kind: str, field: str, told: dict[str, Any]) -> None:
    step = 1 if told["type"] == "integer" else 1e-9
    assert _taken(kind, field, told["maximum"])
    assert not _taken(kind, field, told["maximum"] * (1 + 1e-9) + step)
    if "exclusiveMinimum" in told:
        assert not _taken(kind, field, told["exclusiveMinimum"])
        assert _taken(kind, field, told["exclusiveMinimum"] + 1e-9)
    else:
        assert _taken(kind, field, told["minimum"])
        assert not _taken(kind, field, told["minimum"] - step)
