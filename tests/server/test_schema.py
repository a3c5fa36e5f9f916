"""The API against its own schema, with requests made up from it: no failure of the server, no undocumented answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema_rs
import msgspec
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
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

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
)


OPERATIONS = {
    ("DELETE", "/api/choices/{name}"): 15,
    ("GET", "/api/choices"): 4,
    ("GET", "/api/library"): 4,
    ("GET", "/api/photos/{id}"): 15,
    ("GET", "/api/photos/{id}/image"): 15,
    ("GET", "/api/photos/{id}/thumb"): 15,
    ("GET", "/healthz"): 4,
    ("GET", "/metrics"): 4,
    ("GET", "/readyz"): 4,
    ("POST", "/api/export"): 20,
    ("POST", "/api/rerank"): 60,
    ("POST", "/api/rerank/stream"): 15,
    ("POST", "/api/search"): 50,
    ("PUT", "/api/choices/{name}"): 25,
}  # and how many requests are made up, in each of the two ways


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


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_requests_made_up_from_the_schema(api: Any, method: str, path: str) -> None:
    """Requests that fit the schema, and requests that do not."""
    with requests.Session() as session:
        session.trust_env = False
        for mode in GenerationMode if path != "/api/rerank/stream" else [GenerationMode.POSITIVE]:

            @settings(
                max_examples=OPERATIONS[method, path],
                deadline=None,
                derandomize=True,
                database=None,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )
            @given(case=api[path][method].as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                case.call_and_validate(checks=list(CHECKS), session=session)

            try:
                check()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # nothing about a request without parameters can be wrong


def test_the_schema_is_one(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    for model in told["components"]["schemas"].values():
        jsonschema_rs.meta.validate(model)
    for name in ("Search", "Rerank"):
        whole = {"$ref": f"#/components/schemas/{name}", "components": told["components"]}
        for example in told["components"]["schemas"][name]["examples"]:
            jsonschema_rs.validate(whole, example)
    assert {(method.upper(), path) for path, methods in told["paths"].items() for method in methods} == set(OPERATIONS)
    assert "HTTPValidationError" not in json.dumps(told)
