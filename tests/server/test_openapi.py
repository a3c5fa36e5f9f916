"""`/openapi.json`, and random requests made from it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mascot.server import make_app
from mascot.server.settings import Settings

DOCUMENT: dict[str, Any] = dict(make_app(Settings()).state.openapi)
OPERATIONS = {operation["operationId"]: (path, method.upper())
              for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()}  # fmt: skip


SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
REQUESTS = {"rerank": 24, "search": 12}  # examples per operation (default: 3)
NOISE = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20))


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw JSON that fits a schema of the document, with short lists."""
    if "$ref" in schema:
        return st.deferred(lambda: values(SCHEMAS[schema["$ref"].rpartition("/")[2]]))
    if "anyOf" in schema:
        return st.one_of(list(map(values, schema["anyOf"])))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            properties = {name: values(property_) for name, property_ in schema.get("properties", {}).items()}
            required = schema.get("required", [])
            return st.fixed_dictionaries(
                {name: properties.pop(name) for name in required if name in properties}, optional=properties
            )
        case "array" if "prefixItems" in schema:
            return st.tuples(*map(values, schema["prefixItems"])).map(list)
        case "array":
            least = schema.get("minItems", 0)
            return st.lists(values(schema.get("items", {})), min_size=least, max_size=max(least, 4))
        case "integer":
            return st.integers(schema.get("minimum", -99), schema.get("maximum", 99))
        case "number":
            bounds = schema.get("minimum", schema.get("exclusiveMinimum", -1e9)), schema.get("maximum", 1e9)
            return st.floats(*bounds, exclude_min="exclusiveMinimum" in schema)
        case "string":
            return st.text(min_size=schema.get("minLength", 0), max_size=min(20, schema.get("maxLength", 20)))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return NOISE


def altered(body: Any, field: str, value: Any) -> Any:
    """Return a body with one field that the schema does not allow, or an unlikely value."""
    return body | {field: value} if isinstance(body, dict) else value


@pytest.mark.parametrize("name", OPERATIONS)
def test_random_requests_have_documented_answers(client: httpx.Client, name: str) -> None:
    """Requests that fit the schema, and such requests with one field that is replaced."""
    path, method = OPERATIONS[name]
    operation = DOCUMENT["paths"][path][method.lower()]
    parameters = {each["name"]: values(each["schema"]) for each in operation.get("parameters", ())}
    content = operation.get("requestBody", {}).get("content", {})
    body: dict[str, Any] = next(iter(content.values()), {"schema": {"type": "null"}})["schema"]
    fields = list(SCHEMAS.get(body.get("$ref", "").rpartition("/")[2], {}).get("properties", {}))

    @settings(
        max_examples=REQUESTS.get(name, 3), derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(
        st.fixed_dictionaries(parameters),
        values(body),
        st.none() | st.sampled_from([*fields, "more"]),
        NOISE,
        st.data(),
    )
    def check(arguments: dict[str, Any], value: Any, field: str | None, noise: Any, data: st.DataObject) -> None:
        value = value if field is None else altered(value, field, noise)
        url = path.format_map({key: quote(str(argument), safe="") for key, argument in arguments.items()})
        kind = data.draw(st.sampled_from(list(content))) if content else ""
        encode = msgspec.msgpack.encode if kind.endswith("msgpack") else msgspec.json.encode
        sent = {"content": encode(value), "headers": {"content-type": kind}} if kind else {}
        answer = client.request(method, url, **sent)
        assert answer.status_code < 500 or answer.status_code == 503
        documented = operation["responses"][str(answer.status_code)].get("content", {})
        media = answer.headers.get("content-type", "").partition(";")[0]
        assert media in documented or "image/*" in documented or not documented
        if media == "application/json":
            model = documented[media]["schema"] | {"components": DOCUMENT["components"]}
            jsonschema.validate(answer.json(), model)

    check()


def test_the_document_is_valid_and_its_examples_are_answered(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert len(OPERATIONS) == 16
    statuses = set(document["paths"]["/api/search"]["post"]["responses"])
    assert statuses == {"200", "400", "401", "403", "404", "408", "413", "415", "422", "503"}
    schemas = document["components"]["schemas"]
    for model in schemas.values():
        jsonschema.Draft202012Validator.check_schema(model)
    for name, path in (("Search", "/api/search"), ("Rerank", "/api/rerank")):
        (example,) = schemas[name]["examples"]
        jsonschema.validate(example, {"$ref": f"#/components/schemas/{name}", "components": document["components"]})
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
