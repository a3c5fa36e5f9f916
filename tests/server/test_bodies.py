"""What a request says, and how its mistakes are told: of a body and of a line of a stream alike."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.server.bodies import NotJson, parsed
from mascot.server.streaming import lines

BOM = b"\xef\xbb\xbf"
NUMBER, TEXT = "a number within 1e+100 either way", "a text of at most 1,000 letters"
CELL = f"must be {NUMBER}, {TEXT}, a list of at most 100 such texts, or null"
ID = f"must be {TEXT} or a whole number of 64 bits"
NEAR = f"must be {NUMBER}, {TEXT}, a list of two such numbers, or null"
LONG, LONG_TOLD = "x" * 1200, '"' + "x" * 39 + "... (1,200 letters)"


def _told(client: httpx.Client, body: bytes) -> str:
    """What both routes say of the same mistake."""
    answer = client.post("/api/rerank", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    line = client.post("/api/rerank/stream", content=body)
    assert line.json() == answer.json()
    assert answer.json()["error"]["kind"] == "ValidationError"
    return str(answer.json()["error"]["message"])


def _near(value: Any) -> dict[str, Any]:
    return {"wishes": [{"attribute": {"kind": "Place"}, "direction": "focus", "near": value}]}


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"columns": {"d": [1, LONG]}}, f"columns.d.1: {CELL}, got {LONG_TOLD}"),
        ({"columns": {"d": [True]}}, f"columns.d.0: {CELL}, got true"),
        ({"columns": {"d": [{"a": 1}]}}, f'columns.d.0: {CELL}, got {{"a": 1}}'),
        ({"columns": {"d": [["a", 1]]}}, f'columns.d.0: {CELL}, got ["a", 1]'),
        ({"columns": {"d": [[1] * 101]}}, f"columns.d.0: {CELL}, got [{'1, ' * 13}... (101 in all)"),
        ({"columns": {"d": [1e101, 1e102]}}, f"columns.d.0: {CELL}, got 1e+101 (and 1 more)"),
        ({"columns": {"body": [False]}}, f"columns.body.0: {CELL}, got false"),
        ({"ids": ["a", LONG]}, f"ids.1: {ID}, got {LONG_TOLD}"),
        ({"ids": [None, "b"]}, f"ids.0: {ID}, got null"),
        ({"ids": [1.5, "b"]}, f"ids.0: {ID}, got 1.5"),
        ({"ids": [2**63, "b"]}, f"ids.0: {ID}, got 9223372036854775808"),
        (_near(LONG), f"wishes.0.near: {NEAR}, got {LONG_TOLD}"),
        (_near([1]), f"wishes.0.near: {NEAR}, got [1]"),
        (_near({"é": "é" * 50}), f'wishes.0.near: {NEAR}, got {{"é": "{"é" * 33}...'),
    ],
)  # fmt: skip
def test_a_value_of_several_types_is_told_by_one_rule(client: httpx.Client, parts: dict[str, Any], text: str) -> None:
    told = _told(client, json.dumps({"scores": [2, 1]} | parts).encode())
    assert told == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"scores": [1]', "JSON: EOF while parsing an object at line 1 column 14"),
        (b"[" * 100_000, "JSON: recursion limit exceeded at line 1 column 202"),
        (b'{"scores": [' + b"9" * 5000 + b"]}", "JSON: number out of range at line 1 column 4314"),
        (b'{"scores": ["\xff"]}', "JSON in UTF-8, and its byte 14 is not"),
        (gzip.compress(b'{"scores": [1]}', mtime=0), "JSON in UTF-8, and its byte 2 is not"),
        (b"null", "a JSON object, got null"),
        (b"[1, 2]", "a JSON object, got [1, 2]"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_told_as_one_kind(client: httpx.Client, body: bytes, text: str) -> None:
    assert _told(client, body) == f"the request must be {text}"


def test_a_request_without_a_body_says_so(client: httpx.Client) -> None:
    for path in ("/api/search", "/api/rerank"):
        for headers in ({}, {"content-type": "application/json"}):
            answer = client.post(path, headers=headers)
            assert answer.status_code == 422
            assert answer.json()["error"]["message"] == "the request must be JSON, and its body is empty"
    assert client.post("/api/rerank/stream").content == b""


def test_packed_requests_are_refused(client: httpx.Client) -> None:
    packed = gzip.compress(b'{"scores": [1]}')
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    for path in ("/api/search", "/api/rerank", "/api/rerank/stream"):
        answer = client.post(path, content=packed, headers=headers)
        assert answer.status_code == 415
        text = "send the request as it is, without content-encoding, got gzip"
        assert answer.json() == {"error": {"kind": "UnsupportedMediaType", "message": text}}
    plain = client.post("/api/rerank", content=b'{"scores": [1]}', headers=headers | {"content-encoding": "identity"})
    assert plain.status_code == 200


def test_a_mark_of_the_order_of_bytes_is_let_pass(client: httpx.Client) -> None:
    body = BOM + b'{"scores": [0.1, 0.2], "k": 1}'
    one = client.post("/api/rerank", content=body, headers={"content-type": "application/json"})
    for sent in (body, BOM + b"\n" + body, body + b"\r\n"):
        line = client.post("/api/rerank/stream", content=sent)
        assert [json.loads(told) for told in line.text.splitlines()] == [one.json()]
    assert one.json()["results"][0]["id"] == 1
    assert client.post("/api/rerank/stream", content=BOM).content == b""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@settings(max_examples=40)
@given(st.dictionaries(st.text(), JSON), st.booleans())
def test_json_is_read_as_python_reads_it(said: dict[str, Any], marked: bool) -> None:
    body = json.dumps(said, ensure_ascii=False).encode()
    assert parsed(BOM * marked + body) == json.loads(body)


@given(st.binary(max_size=30))
def test_whatever_bytes_come_only_not_json_is_raised(body: bytes) -> None:
    with suppress(NotJson):
        assert isinstance(parsed(body), dict)


@given(st.lists(st.sampled_from([b"", b" ", BOM, b"{}", b"[1]"]), max_size=6), st.data())
def test_lines_are_the_same_however_they_are_cut(sent: list[bytes], data: st.DataObject) -> None:
    body = b"\n".join(sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]

    async def coming() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def found() -> list[bytes | None]:
        return [line async for line in lines(coming(), 100)]

    assert asyncio.run(found()) == [line for line in sent if line in (b"{}", b"[1]")]
