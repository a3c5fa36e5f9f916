"""Arrow streams to attack with: one of every type, mutations of them, and small ones that expand."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

_OPTIONS = {"wishes": [{"spread": "x"}], "k": 3}


def stream(columns: dict[str, Any], compression: str | None = None, options: dict[str, Any] | None = None) -> bytes:
    """Return a table as a body of `/api/rerank`."""
    table = pa.table(columns).replace_schema_metadata({"mascot": json.dumps(options or _OPTIONS)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def of_every_type() -> list[bytes]:
    """Return a body of five rows for every type of column, accepted or not."""
    texts = ["a", "b", None, "c", "a"]
    lists = [["a", "b"], [], None, ["c"], ["d"]]
    structs = pa.array([{"a": 1, "b": ["x"]}, {"a": None, "b": []}, None, {"a": 3, "b": None}, {"a": 4, "b": ["y"]}])
    run_ends = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["a", "b"]))
    which, offsets = pa.array([0, 1, 0, 1, 0], pa.int8()), pa.array([0, 0, 1, 1, 2], pa.int32())
    children = [pa.array([1, 2, 3]), pa.array(["a", "b"])]
    columns = [
        pa.array(texts), pa.array(texts, pa.large_string()), pa.array(texts, pa.string_view()), pa.nulls(5),
        pa.array(texts).dictionary_encode(), pa.array(lists), pa.array(lists, pa.large_list(pa.string())), structs,
        run_ends, pa.UnionArray.from_dense(which, offsets, children), pa.array(texts, pa.binary()),
        pa.array([[1.0, 2.0]] * 5, pa.list_(pa.float32(), 2)), pa.array([True, None, False, True, True]),
        pa.array([0, 1, 2, None, 4], pa.timestamp("ms", "Europe/Berlin")), pa.array([0, 1, 2, None, 4], pa.date32()),
        pa.array([[1], [2], [3], None, [4]], pa.list_view(pa.int64())), pa.array([1, 2, 3, 4, 5], pa.decimal128(9)),
    ]  # fmt: skip
    scores, vectors = [0.9, 0.8, 0.7, 0.6, 0.5], pa.array([[1.0, 0.5]] * 5, pa.list_(pa.float32()))
    return [stream({"score": scores, "id": list("vwxyz"), "x": column, "vector": vectors}) for column in columns]


def mutated(body: bytes, chance: random.Random) -> bytes:
    """Return a body with some bytes changed, to any value or to one that is likely to be an offset."""
    content = bytearray(body)
    first = chance.choice([0, len(content) // 2])  # the second half has the batches
    for _ in range(chance.choice([1, 2, 4, 16])):
        content[chance.randrange(first, len(content))] = chance.choice([chance.randrange(256), 0, 1, 8, 255])
    if chance.random() < 0.1:
        del content[chance.randrange(len(content)) :]
    return bytes(content)


def _dictionary(value: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int16()), value)


def _few(column: Any) -> dict[str, Any]:
    return {"score": [0.5] * len(column), "x": column}


# Bodies of at most 16 MB that would take gigabytes if they were expanded.
BOMBS: dict[str, Callable[[], bytes]] = {
    "dictionary of one long list": lambda: stream(_few(_dictionary(pa.array([["a"] * 1_000_000])))),
    "dictionary of one long text": lambda: stream(_few(_dictionary(pa.array(["a" * 4_000_000])))),
    "list, zstd": lambda: stream(_few(pa.array([[0] * 10_000_000])), "zstd"),
    "text, zstd": lambda: stream(_few(pa.array(["a" * 60_000_000])), "zstd"),
    "text, lz4": lambda: stream(_few(pa.array(["a" * 60_000_000])), "lz4"),
    "list of bits": lambda: stream(_few(pa.FixedSizeListArray.from_arrays(_bits(120_000_000), 120_000_000))),
    "list of small numbers": lambda: stream(_few(pa.array([[300] * 7_000_000], pa.list_(pa.int16())))),
    "list of structs without parts": lambda: stream(_few(pa.array([[{}] * 1_000_000]))),
    "run of one long text": lambda: stream(
        _few(pa.RunEndEncodedArray.from_arrays(pa.array([5000], pa.int32()), pa.array(["a" * 1_000_000])))
    ),
    "views of one text": lambda: stream(_few(_views(5000, 4_000_000))),
    "columns of one text": lambda: stream(
        {"score": [0.5], **{f"x{number}": pa.array(["a" * 300_000]) for number in range(50)}}
    ),
}


def _bits(count: int) -> pa.Array:
    return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(bytes(count // 8))])


def _views(count: int, length: int) -> pa.Array:
    """Return texts that are all the same bytes."""
    view = length.to_bytes(4, "little") + b"aaaa" + bytes(8)
    return pa.Array.from_buffers(
        pa.string_view(), count, [None, pa.py_buffer(view * count), pa.py_buffer(b"a" * length)]
    )
