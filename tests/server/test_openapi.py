"""What `/openapi.json` promises of routes, token and limits, and random requests made from it."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import httpx
import jsonschema_rs
import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import Served

import mascot as mc
from mascot.server import make_app, models
from mascot.server.settings import Settings

SENDING = {400, 401, 403, 404, 408, 413, 415, 422, 503}
OPERATIONS = {
    "search": SENDING, "save_choice": SENDING, "export": SENDING, "rerank": SENDING - {404},
    "rerank_stream": {401, 403, 415}, "photo": {401, 403, 404, 422, 503}, "thumbnail": {304, 401, 403, 404, 422, 503},
    "image": {206, 304, 401, 403, 404, 416, 422, 503}, "library": {401, 403, 404, 503},
    "choices": {400, 401, 403, 404, 503}, "delete_choice": {400, 401, 403, 404, 503},
    "health": {403}, "ready": {403, 503}, "metrics": {401, 403, 503},
}  # fmt: skip


@cache
def _document() -> dict[str, Any]:
    return dict(make_app(Settings()).state.openapi)


def test_operations_have_names_and_the_answers_they_may_give() -> None:
    operations = [operation for methods in _document()["paths"].values() for operation in methods.values()]
    statuses = {operation["operationId"]: {int(status) for status in operation["responses"]} - {200}
                for operation in operations}  # fmt: skip
    assert statuses == OPERATIONS
    assert all(operation["description"] for operation in operations)


def test_everything_that_the_library_knows_is_in_the_schema() -> None:
    with pytest.raises(mc.OptionError) as error:
        mc.from_dict({"kind": "?"})
    kinds = set(str(error.value).partition("one of ")[2].partition(", got")[0].split(", "))
    values = {name for name in kinds if not hasattr(getattr(mc, name), "attribute")}  # without the wishes
    schemas = _document()["components"]["schemas"]
    assert set(models.ATTRIBUTES) | set(models.METHODS) == values <= set(schemas)
    references = schemas["Rerank"]["properties"]["wishes"]["items"]["anyOf"]
    wishes = {reference["$ref"].rpartition("/")[2] for reference in references}
    assert wishes == {cls.__name__ for cls in models.WISHES.values()} <= set(schemas)
    assert {"spread", "focus", "limit", "share"} <= set(models.WISHES)
    options = set(models.RerankOptions.__struct_fields__)
    assert set(inspect.signature(mc.rerank).parameters) - {"candidates", "backend"} <= options


# Random requests: no failure of the server, no undocumented answer

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, negative_data_rejection,
]  # fmt: skip
WRONG = ("rerank", "search")
REQUESTS = {"rerank": 8, "search": 6} | dict.fromkeys(("library", "choices", "health", "ready", "metrics"), 1)


@schemathesis.serializer("application/x-ndjson")
def lines(_: Any, value: Any) -> bytes:
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "surrogatepass")


@schemathesis.serializer("application/msgpack")
def msgpack(_: Any, value: Any) -> bytes:
    try:
        return msgspec.msgpack.encode(value)
    except OverflowError:  # a whole number that msgpack cannot hold
        return b"\xc1"


@schemathesis.serializer("application/vnd.apache.arrow.stream")
def arrow(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def api(server: Served) -> Any:
    return schemathesis.openapi.from_url(f"{server.address}/openapi.json")


@pytest.mark.parametrize("name", OPERATIONS)
def test_random_requests_have_documented_answers(api: Any, name: str) -> None:
    """Requests that fit the schema, and for each kind of body and path also requests that do not."""
    (path, method), = ((path, method) for path, methods in _document()["paths"].items()
                       for method, operation in methods.items() if operation["operationId"] == name)  # fmt: skip
    with requests.Session() as session:
        session.trust_env = False
        for mode in GenerationMode if name in WRONG else [GenerationMode.POSITIVE]:

            @settings(
                max_examples=REQUESTS.get(name, 3), derandomize=True, database=None, phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=api[path][method.upper()].as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                case.call_and_validate(checks=CHECKS, session=session)

            check()


def test_the_document_is_valid_and_its_examples_are_answered(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    schemas = document["components"]["schemas"]
    for model in schemas.values():
        jsonschema_rs.meta.validate(model)
    for name, path in (("Search", "/api/search"), ("Rerank", "/api/rerank")):
        (example,) = schemas[name]["examples"]
        jsonschema_rs.validate({"$ref": f"#/components/schemas/{name}", "components": document["components"]}, example)
        assert client.post(path, json=example).status_code == 200
