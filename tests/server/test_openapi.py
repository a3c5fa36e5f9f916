"""`/openapi.json`, and random requests made from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
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
from schemathesis.specs.openapi import checks

from mascot.server import make_app
from mascot.server.settings import Settings
from tests.retelling import PATIENCE_S
from tests.server.serving import Served, served

DOCUMENT: dict[str, Any] = dict(make_app(Settings()).state.openapi)
OPERATIONS = {operation["operationId"]: (path, method.upper())
              for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()}  # fmt: skip


# Random requests: no failure of the server, no undocumented answer

CHECKS = [
    not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
    checks.response_headers_conformance, checks.response_schema_conformance, checks.negative_data_rejection,
]  # fmt: skip
WRONG = ("rerank", "search")
REQUESTS = {"rerank": 8, "search": 6} | dict.fromkeys(
    ("library", "profiles", "choices", "health", "ready", "metrics"), 1
)


@schemathesis.serializer("application/msgpack")
def msgpack(_: Any, value: Any) -> bytes:
    try:
        return msgspec.msgpack.encode(value)
    except OverflowError:  # a whole number that msgpack cannot hold
        return b"\xc1"


@pytest.fixture(scope="module")
def server(photographs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A process of its own: CPython 3.11 may fail if two threads parse source, as Hypothesis and tracebacks do."""
    with served(tmp_path_factory.mktemp("state"), "--library", str(photographs)) as running:
        yield running


@pytest.fixture(scope="module")
def api(server: Served) -> Any:
    return schemathesis.openapi.from_url(f"{server.address}/openapi.json", timeout=PATIENCE_S)


@pytest.mark.parametrize("name", OPERATIONS)
def test_random_requests_have_documented_answers(api: Any, name: str) -> None:
    """Requests that fit the schema, and for each kind of body and path also requests that do not."""
    path, method = OPERATIONS[name]
    with requests.Session() as session:
        session.trust_env = False
        for mode in GenerationMode if name in WRONG else [GenerationMode.POSITIVE]:

            @settings(
                max_examples=REQUESTS.get(name, 3), derandomize=True, database=None, phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=api[path][method].as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                case.call_and_validate(checks=CHECKS, session=session, timeout=PATIENCE_S)

            check()


def test_the_document_is_valid_and_its_examples_are_answered(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert len(OPERATIONS) == 16
    statuses = set(document["paths"]["/api/search"]["post"]["responses"])
    assert statuses == {"200", "400", "401", "403", "404", "408", "413", "415", "422", "503"}
    schemas = document["components"]["schemas"]
    for model in schemas.values():
        jsonschema_rs.meta.validate(model)
    for name, path in (("Search", "/api/search"), ("Rerank", "/api/rerank")):
        (example,) = schemas[name]["examples"]
        jsonschema_rs.validate({"$ref": f"#/components/schemas/{name}", "components": document["components"]}, example)
        assert client.post(path, json=example).status_code == 200


def test_the_docs_page_shows_every_operation_and_type_without_scripts(client: httpx.Client) -> None:
    page = client.get("/docs").text
    ids, links = (set(re.findall(pattern, page)) for pattern in (r' id="([^"]+)"', r'href="#([^"]+)"'))
    assert ids == {*OPERATIONS, *(f"type-{name}" for name in DOCUMENT["components"]["schemas"])}
    assert links <= ids
    assert not re.search("<script|<style| style=| on[a-z]+=", page)  # the content security policy blocks these
    for part in ("POST /api/rerank", "integer, &gt;= 1, &lt;= 200 or null", "<code>/api/profiles</code>"):
        assert part in page
    for path in re.findall(r'href="([^#"]+)"', page):
        assert client.get(f"/{path}").status_code == 200
