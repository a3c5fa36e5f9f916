"""What `/openapi.json` promises of the routes, the token and the limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import mascot as mc
from mascot.server import make_app, models
from mascot.server.failures import BadBody
from mascot.server.settings import Settings
from mascot.server.wishes import wishes_of

OPERATIONS = {
    "search": {400, 401, 403, 404, 408, 413, 415, 422, 503},
    "photo": {401, 403, 404, 422, 503},
    "thumbnail": {304, 401, 403, 404, 422, 503},
    "image": {206, 304, 401, 403, 404, 416, 422, 503},
    "library": {401, 403, 404, 503},
    "choices": {400, 401, 403, 404, 503},
    "save_choice": {400, 401, 403, 404, 408, 413, 415, 422, 503},
    "delete_choice": {400, 401, 403, 404, 503},
    "export": {400, 401, 403, 404, 408, 413, 415, 422, 503},
    "rerank": {400, 401, 403, 408, 413, 415, 422, 503},
    "rerank_stream": {401, 403, 415},
    "health": {403},
    "ready": {403, 503},
    "metrics": {401, 403, 503},
}  # and what they may answer beside 200


def _document(token: str | None = None) -> dict[str, Any]:
    document: dict[str, Any] = make_app(Settings(token=token)).state.openapi
    return document


def test_operations_have_names_and_the_answers_they_may_give() -> None:
    operations = [operation for methods in _document()["paths"].values() for operation in methods.values()]
    statuses = {
        operation["operationId"]: {int(status) for status in operation["responses"]} - {200} for operation in operations
    }
    assert statuses == OPERATIONS
    for operation in operations:
        assert operation["description"]
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Failure"}


def test_the_token_is_described() -> None:
    for token, wanted in ((None, [{}, {"token": []}]), ("s3cret", [{"token": []}])):
        document = _document(token)
        assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
        assert document["security"] == wanted
        own = {path: operation["security"] for path, methods in document["paths"].items()
               for operation in methods.values() if "security" in operation}  # fmt: skip
        assert own == {"/healthz": [], "/readyz": []}


def test_a_stream_is_described_by_its_lines() -> None:
    stream = _document()["paths"]["/api/rerank/stream"]["post"]
    assert stream["requestBody"]["required"] is True
    (request,) = stream["requestBody"]["content"].items()
    (answer,) = stream["responses"]["200"]["content"].items()
    assert request[0] == answer[0] == "application/x-ndjson"
    for (_, content), names in ((request, ["Rerank"]), (answer, ["RerankOut", "Failure"])):
        assert content["schema"]["anyOf"] == [{"$ref": f"#/components/schemas/{name}"} for name in names]


# Everything the library can say


def _kinds_of_the_library() -> set[str]:
    """The names that `mascot.from_dict` knows, in its own words."""
    with pytest.raises(mc.OptionError) as error:
        mc.from_dict({"kind": "?"})
    return set(str(error.value).partition("one of ")[2].partition(", got")[0].split(", "))


def test_every_attribute_and_method_of_the_library_is_in_the_schema() -> None:
    offered = set(models.ATTRIBUTES) | set(models.METHODS)
    wishes = {name for name in _kinds_of_the_library() if hasattr(getattr(mc, name), "attribute")}
    assert offered == _kinds_of_the_library() - wishes
    schemas = _document()["components"]["schemas"]
    assert offered <= set(schemas)
    wish_types = {reference["$ref"].rpartition("/")[2] for reference in
                  schemas["Rerank"]["properties"]["wishes"]["items"]["anyOf"]}  # fmt: skip
    assert wish_types == {cls.__name__ for cls in models.WISHES.values()} <= set(schemas)


def test_every_kind_of_wish_of_the_library_can_be_sent() -> None:
    makers = {name for name in ("spread", "focus", "limit", "share") if hasattr(mc, name)}
    assert {"spread", "focus"} <= makers <= set(models.WISHES)
    parts: dict[str, dict[str, Any]] = {"limit": {"n": 2}, "share": {"shares": {"a": 0.6, "b": 0.4}}}
    for name in ("spread", "focus", "limit", "share"):
        request = [{name: "seller", **parts.get(name, {})}]
        if name in makers:
            assert len(wishes_of(request)) == 1
        else:
            with pytest.raises(BadBody, match=rf"wishes\[0\]: this version of the library does not know `{name}`"):
                wishes_of(request)


def test_every_parameter_of_rerank_can_be_sent() -> None:
    import inspect

    options = set(models.RerankOptions.__struct_fields__)
    assert set(inspect.signature(mc.rerank).parameters) - {"candidates", "backend"} <= options
    assert set(models.Rerank.__struct_fields__) == options | {"scores", "ids", "columns", "vectors"}


def _numbers() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every field of an attribute or a method that is a number, and its bounds."""
    schemas = _document()["components"]["schemas"]
    for kind in [*models.ATTRIBUTES, *models.METHODS]:
        for field, schema in schemas[kind]["properties"].items():
            for part in schema.get("anyOf", [schema]):
                if part.get("type") in ("integer", "number"):
                    yield kind, field, part


def _accepts(kind: str, field: str, value: float) -> bool:
    """Whether the schema's type and the library both take this value."""
    part: dict[str, Any] = {"kind": kind, field: value}
    if kind in ("Category", "Cycle", "Number"):
        part["column"] = "n"
    if kind == "Cycle":
        part.setdefault("period", 360)
    try:
        models.value_of(msgspec.convert(part, models.METHODS.get(kind) or models.ATTRIBUTES[kind]))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("kind", "field", "bounds"), _numbers())
def test_the_bounds_of_numbers_are_those_that_hold(kind: str, field: str, bounds: dict[str, Any]) -> None:
    step = 1 if bounds["type"] == "integer" else 1e-9
    assert _accepts(kind, field, bounds["maximum"])
    assert not _accepts(kind, field, bounds["maximum"] * (1 + 1e-9) + step)
    if "exclusiveMinimum" in bounds:
        assert not _accepts(kind, field, bounds["exclusiveMinimum"])
        assert _accepts(kind, field, bounds["exclusiveMinimum"] + 1e-9)
    else:
        assert _accepts(kind, field, bounds["minimum"])
        assert not _accepts(kind, field, bounds["minimum"] - step)
