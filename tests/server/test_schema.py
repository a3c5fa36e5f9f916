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

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance,
    response_schema_conformance, negative_data_rejection,
]  # fmt: skip
REQUESTS = {
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
    ("POST", "/api/rerank"): 40,
    ("POST", "/api/rerank/stream"): 15,
    ("POST", "/api/search"): 30,
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


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_requests_made_up_from_the_schema(api: Any, method: str, path: str) -> None:
    """Requests that fit the schema, and requests that do not."""
    with requests.Session() as session:
        session.trust_env = False
        for mode in GenerationMode if path != "/api/rerank/stream" else [GenerationMode.POSITIVE]:

            @settings(
                max_examples=REQUESTS[method, path], derandomize=True, database=None, phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=api[path][method].as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                case.call_and_validate(checks=CHECKS, session=session)

            try:
                check()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # nothing about a request without parameters can be wrong


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
    assert {(method.upper(), path) for path, methods in document["paths"].items() for method in methods} == set(
        REQUESTS
    )
