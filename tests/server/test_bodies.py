"""Request bodies: decoding of JSON, msgpack and Arrow, and how mistakes in them are reported."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.server import arrow, models
from mascot.server.bodies import ARROW, MSGPACK, ByteBudget, JsonDecoder, MsgpackDecoder
from mascot.server.failures import BadBody
from mascot.server.streaming import lines

BOM = b"\xef\xbb\xbf"
LONG = "x" * 1200


def _message(client: httpx.Client, body: bytes) -> str:
    """What both routes say of the same mistake."""
    answer = client.post("/api/rerank", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    line = client.post("/api/rerank/stream", content=body)
    assert line.json() == answer.json()
    assert answer.json()["error"]["kind"] == "ValidationError"
    return str(answer.json()["error"]["message"])


def _near(value: Any) -> dict[str, Any]:
    return {"wishes": [{"focus": {"kind": "Place"}, "near": value}]}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"columns": {"d": [1, LONG]}}, "columns[...][1]: Expected `str` of length <= 1000"),
        ({"columns": {"d": [[{}]]}}, "columns[...][0][0]: Expected `bool | int | float | str | null`, got `object`"),
        ({"columns": {"d": [[1] * 4097]}}, "columns[...][0]: Expected `array` of length <= 4096"),
        ({"columns": {"d": [1e101, 1e102]}}, "columns[...][0]: Expected `float` <= 1e+100"),
        ({"ids": ["a", LONG]}, "ids[1]: Expected `str` of length <= 1000"),
        ({"ids": [None, "b"]}, "ids[0]: Expected `int | str`, got `null`"),
        ({"ids": [1.5, "b"]}, "ids[0]: Expected `int | str`, got `float`"),
        ({"ids": [2**63, "b"]}, "ids[0]: Expected `int` <= 9223372036854775807"),
        ({"k": "20"}, "k: Expected `int`, got `str`"),
        ({"nonsense": 1}, "Object contains unknown field `nonsense`"),
        (_near(LONG), "wishes[0].near: Expected `str` of length <= 1000"),
        (_near([1]), "wishes[0].near: Expected `array` of length >= 2"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_place(client: httpx.Client, parts: dict[str, Any], message: str) -> None:
    assert _message(client, json.dumps({"scores": [2, 1]} | parts).encode()) == message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"scores": [1]', "JSON in UTF-8: Input data was truncated"),
        (b'{"columns": {"a": [' + b'{"a":' * 100_000, "JSON in UTF-8: "),
        (b'{"scores": [NaN]}', "JSON in UTF-8: JSON is malformed: invalid character (byte 12)"),
        (gzip.compress(b'{"scores": [1]}', mtime=0), "JSON in UTF-8: JSON is malformed"),
    ],
)  # fmt: skip
def test_a_body_that_is_not_json_is_a_mistake_like_others(client: httpx.Client, body: bytes, message: str) -> None:
    assert _message(client, body).startswith(f"the request must be {message}")


def test_numbers_beyond_float64_and_other_values_are_refused(client: httpx.Client) -> None:
    assert _message(client, b'{"scores": [' + b"9" * 5000 + b"]}") == "scores[0]: Number out of range"
    assert _message(client, b"null") == "Expected `object`, got `null`"


def test_a_request_without_a_body_says_so(client: httpx.Client) -> None:
    for path in ("/api/search", "/api/rerank"):
        for headers in ({}, {"content-type": "application/json"}):
            answer = client.post(path, headers=headers)
            assert answer.status_code == 422
            assert "empty" in answer.json()["error"]["message"]
    assert client.post("/api/rerank/stream").content == b""


def test_compressed_requests_are_refused(client: httpx.Client) -> None:
    packed = gzip.compress(b'{"scores": [1]}')
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    for path in ("/api/search", "/api/rerank", "/api/rerank/stream"):
        answer = client.post(path, content=packed, headers=headers)
        assert answer.status_code == 415
        message = "send the request uncompressed, without content-encoding, got gzip"
        assert answer.json() == {"error": {"kind": "UnsupportedMediaType", "message": message}}
    plain = client.post("/api/rerank", content=b'{"scores": [1]}', headers=headers | {"content-encoding": "identity"})
    assert plain.status_code == 200


def test_a_bom_is_accepted(client: httpx.Client) -> None:
    body = BOM + b'{"scores": [0.1, 0.2], "k": 1}'
    answer = client.post("/api/rerank", content=body, headers={"content-type": "application/json"})
    for stream in (body, BOM + b"\n" + body, body + b"\r\n"):
        line = client.post("/api/rerank/stream", content=stream)
        assert [json.loads(text) for text in line.text.splitlines()] == [answer.json()]
    assert answer.json()["results"][0]["id"] == 1
    assert client.post("/api/rerank/stream", content=BOM).content == b""


def _table(**columns: Any) -> pa.Table:
    return pa.table({"score": [0.9, 0.8, 0.7], **columns})


def _stream(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    table = table.replace_schema_metadata({"mascot": json.dumps(options)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_all_formats_give_the_same_answer(client: httpx.Client) -> None:
    """Text, numbers, missing values, booleans, lists, times and vectors."""
    times = ["2019-07-14T20:15:00", None, "2020-01-01T10:00:00"]
    columns = {"n": [1.5, 2.5, None], "flag": [True, False, True], "tags": [["a", "b"], [], ["c"]], "i": [1, 2, 3]}
    vectors = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    options = {
        "k": 2, "protect": 1, "gains": True,
        "wishes": [{"spread": "flag"}, {"focus": {"kind": "Number", "column": "n"}, "near": 2}, {"spread": "tags"},
                   {"spread": {"kind": "HourOfDay"}}, {"spread": {"kind": "Branches", "counts": [2]}}],
    }  # fmt: skip
    request = {
        "scores": [0.9, 0.8, 0.7],
        "ids": ["a", 2, "c"],
        "columns": columns | {"taken": times},
        "vectors": vectors,
    }
    wanted = client.post("/api/rerank", json=request | options)
    assert wanted.status_code == 200, wanted.text
    packed = client.post(
        "/api/rerank",
        content=msgspec.msgpack.encode(request | options),
        headers={"content-type": MSGPACK, "accept": MSGPACK},
    )
    assert packed.headers["content-type"] == MSGPACK
    assert msgspec.msgpack.decode(packed.content) == wanted.json()
    clock = pa.array([None if time is None else np.datetime64(time, "s") for time in times], pa.timestamp("s"))
    for kind in (
        pa.list_(pa.float32(), 2),
        pa.list_(pa.float32()),
        pa.list_(pa.float64()),
        pa.large_list(pa.float32()),
    ):
        table = _table(**columns, id=["a", "2", "c"], taken=clock, vector=pa.array(vectors, kind))
        answer = client.post("/api/rerank", content=_stream(table, **options), headers={"content-type": ARROW})
        assert answer.status_code == 200, answer.text
        shown = answer.json()["results"]
        for result, other in zip(shown, wanted.json()["results"], strict=True):
            assert result | {"id": 0} == other | {"id": 0}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "empty"), (b"ARROW1", "the request must be an Arrow IPC stream"),
        (_stream(pa.table({"a": [1]})), "the table must have a column 'score'"),
        (_stream(pa.table({"score": pa.array([], pa.float64())})), "rows must be 1 to 5000, got 0"),
        (_stream(pa.table({"score": [1.0] * 5001})), "rows must be 1 to 5000, got 5001"),
        (_stream(_table(), k=0), "k: Expected `int` >= 1"),
        (_stream(_table(), scores=[1]), "Object contains unknown field `scores`"),
        (_stream(_table(vector=[1.0, 2.0, 3.0])), "vector must be a list of numbers in each row, got double"),
        (_stream(_table(vector=[[], [], []])), "vector must be a list of numbers in each row, got list<"),
        (_stream(_table(vector=[[1e101], [1.0], [1.0]])), "vector must be numbers within 1e+100 either way"),
        (_stream(_table(vector=[[1.0] * 4097] * 3)), "vector must have 1 to 4096 numbers, got 4097"),
        (_stream(_table(n=[1e200, 1.0, 2.0])), "n must be numbers within 1e+100 either way"),
        (_stream(_table(n=["x" * 2000, "", ""])), "n[0]: Expected `str` of length <= 1000"),
        (_stream(_table(**{f"c{i}": [1, 2, 3] for i in range(60)})), "columns must be at most 50"),
    ],
)  # fmt: skip
def test_mistakes_in_arrow_bodies(client: httpx.Client, body: bytes, message: str) -> None:
    answer = client.post("/api/rerank", content=body, headers={"content-type": ARROW})
    assert answer.status_code == 422, answer.text
    assert message in answer.json()["error"]["message"]


def test_vectors_may_be_missing_but_not_of_several_lengths(client: httpx.Client) -> None:
    wishes = [{"spread": {"kind": "Clusters", "count": 2}}]
    for vectors, status in (([[1.0, 2.0], None, [2.0, 1.0]], 200), ([[1.0], [2.0, 3.0], [4.0]], 400)):
        body = _stream(_table(vector=vectors), wishes=wishes)
        answer = client.post("/api/rerank", content=body, headers={"content-type": ARROW})
        assert answer.status_code == status, answer.text


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_arrow_bodies_are_refused_or_read(data: st.DataObject) -> None:
    body = bytearray(_stream(_table(id=["a", "b", "c"], vector=[[1.0, 2.0]] * 3), wishes=[{"spread": "x"}]))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with suppress(BadBody):
        arrow.decode(bytes(body))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(), JSON), st.booleans())
def test_json_is_read_as_python_reads_it(value: dict[str, Any], bom: bool) -> None:
    body = json.dumps(value, ensure_ascii=False).encode()
    assert JsonDecoder(dict[str, Any]).decode(BOM * bom + body) == json.loads(body)


@settings(deadline=None)
@given(st.binary(max_size=30))
def test_any_bytes_are_decoded_or_refused(body: bytes) -> None:
    for decoder in (JsonDecoder(models.Rerank), MsgpackDecoder(models.Rerank)):
        with suppress(BadBody):
            decoder.decode(body)


@settings(deadline=None)
@given(st.lists(st.sampled_from([b"", b" ", BOM, b"{}", b"[1]"]), max_size=6), st.data())
def test_lines_are_the_same_however_they_are_cut(sent: list[bytes], data: st.DataObject) -> None:
    body = b"\n".join(sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]

    async def coming() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def collected() -> list[bytes | None]:
        return [line async for line in lines(coming(), 100)]

    assert asyncio.run(collected()) == [line for line in sent if line in (b"{}", b"[1]")]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 50)), max_size=40))
def test_held_bytes_never_exceed_the_budget_and_the_newest_stays(parts: list[tuple[int, int]]) -> None:
    budget = ByteBudget(100)
    contexts = [budget.body() for _ in range(6)]
    bodies = [context.__enter__() for context in contexts]
    for place, size in parts:
        if not bodies[place].refused:
            bodies[place].add(size)
        assert sum(body.size for body in bodies if not body.refused) <= 100
    refused = [body.refused for body in bodies]
    assert refused == sorted(refused, reverse=True), "the oldest make room first"
    for context in contexts:
        context.__exit__(None, None, None)
    assert budget.total == 0
