"""Check an Arrow IPC stream before Arrow reads it, because Arrow allocates what the metadata asks for.

The metadata of a message is a flatbuffer. Its fields are numbered as in Schema.fbs and Message.fbs of Arrow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from mascot.server import schemas
from mascot.server.responses import BadBody

_CONTINUATION = b"\xff\xff\xff\xff"
_MOST_MESSAGES = 1000
_MOST_METADATA = 1 << 20  # bytes of one message
_MOST_PAIRS = 100  # keys of the metadata of a schema or of a field
_MOST_FIELDS = 4 * schemas.MOST_COLUMNS  # of the table and of its structs
_DEEPEST = 4  # of lists and structs in each other
_LONGEST_NAME = 200  # bytes of the name of a column or of a time zone
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # the types of messages
_TIMESTAMP, _STRUCT = 10, 13
_LEAVES = {2, 3, 5, 6, 8, _TIMESTAMP, 20}  # Int, FloatingPoint, Utf8, Bool, Date, LargeUtf8
_LISTS = {12, 16, 21}  # List, FixedSizeList, LargeList
_NULL, _UTF8_VIEW = 1, 24
_REFUSED = (b"ARROW:experimental_compression", b"ARROW:extension:name")  # keys of metadata


def check(body: bytes) -> None:
    """Refuse a stream that Arrow would expand, or whose types have no use here."""
    try:
        for kind, message in _messages(body):
            header = message.table(2)
            if kind == _SCHEMA:
                _check_schema(message, header)
                continue
            if kind == _DICTIONARY:
                _require(header.number(2, "B") == 0, "delta dictionaries are not accepted")
                header = header.table(1)
            _require(header.position(3) == 0, "send the buffers uncompressed")
    except struct.error:
        raise BadBody("the request must be an Arrow IPC stream: a message is damaged") from None


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise BadBody(f"the request must be an Arrow IPC stream: {rule}")


class _FlatTable:
    """A table of a flatbuffer. A position of 0 means that the field is absent."""

    def __init__(self, buffer: bytes, start: int) -> None:
        self._buffer, self._start = buffer, start
        self._fields = start - self._read("i", start)
        self._size = self._read("H", self._fields)

    def _read(self, format_: str, position: int) -> Any:
        if position < 0:
            raise struct.error
        return struct.unpack_from("<" + format_, self._buffer, position)[0]

    def position(self, field: int) -> int:
        entry = 4 + 2 * field
        offset: int = self._read("H", self._fields + entry) if entry < self._size else 0
        return self._start + offset if offset else 0

    def number(self, field: int, format_: str) -> int:
        """Return a field that is a number (default: 0)."""
        position = self.position(field)
        return int(self._read(format_, position)) if position else 0

    def table(self, field: int) -> _FlatTable:
        position = self.position(field)
        if not position:
            raise struct.error
        return _FlatTable(self._buffer, position + self._read("I", position))

    def length(self, field: int) -> int:
        """Return the length of a text or of a list (default: 0)."""
        position = self.position(field)
        return int(self._read("I", position + self._read("I", position))) if position else 0

    def tables(self, field: int) -> Iterator[_FlatTable]:
        count = self.length(field)
        first = self.position(field) + self._read("I", self.position(field)) + 4 if count else 0
        for entry in range(first, first + 4 * count, 4):
            yield _FlatTable(self._buffer, entry + self._read("I", entry))


def _messages(body: bytes) -> Iterator[tuple[int, _FlatTable]]:
    """Yield the type and the metadata of each message up to the end of the stream."""
    start = 0
    for _ in range(_MOST_MESSAGES):
        if start == len(body):
            return
        _require(body[start : start + 4] == _CONTINUATION, "a message must begin with a continuation marker")
        (size,) = struct.unpack_from("<i", body, start + 4)
        if size == 0:
            return
        _require(0 < size <= _MOST_METADATA, f"the metadata of a message must be at most {_MOST_METADATA} bytes")
        metadata = body[start + 8 : start + 8 + size]
        _require(not any(key in metadata for key in _REFUSED), "compression and extension types are not accepted")
        message = _FlatTable(metadata, *struct.unpack_from("<I", metadata))
        kind, length = message.number(1, "B"), message.number(3, "q")
        _require(kind in (_SCHEMA, _DICTIONARY, _BATCH), "messages must be a schema, dictionaries and record batches")
        _require(0 <= length <= len(body) - start - 8 - size, "a message is cut off")
        yield kind, message
        start += 8 + size + length
    _require(start == len(body), f"messages must be at most {_MOST_MESSAGES}")


def _check_schema(message: _FlatTable, schema: _FlatTable) -> None:
    """Check the fields, which may share parts of the metadata: a short schema can describe a huge table."""
    _require(schema.number(0, "h") == 0, "numbers must be little-endian")
    columns = schema.length(1)
    most = schemas.MOST_COLUMNS + 3
    if columns > most:
        raise BadBody(f"columns must be at most {schemas.MOST_COLUMNS}, besides id, score and vector, got {columns}")
    fields, level = [], list(schema.tables(1))
    for depth in range(_DEEPEST):
        fields += level
        children = sum(field.length(5) for field in level)
        _require(len(fields) + children <= _MOST_FIELDS, f"columns with their parts must be at most {_MOST_FIELDS}")
        for field in level:
            _check_field(field, is_column=depth == 0)
        level = [child for field in level for child in field.tables(5)]
    _require(not level, f"lists and structs must be at most {_DEEPEST} levels deep")
    owners = [(message, 4), (schema, 2), *((field, 6) for field in fields)]
    _require(all(owner.length(field) <= _MOST_PAIRS for owner, field in owners), "there are too many metadata")
    pairs = [pair for owner, field in owners for pair in owner.tables(field)]
    _require(sum(pair.length(0) + pair.length(1) for pair in pairs) <= _MOST_METADATA, "the metadata are too large")


def _check_field(field: _FlatTable, is_column: bool) -> None:
    """Check one column, or a part of one."""
    kind, children, is_dictionary = field.number(2, "B"), list(field.tables(5)), field.position(4) != 0
    zone = field.table(3).length(1) if kind == _TIMESTAMP else 0
    _require(max(field.length(0), zone) <= _LONGEST_NAME, f"names must be at most {_LONGEST_NAME} bytes")
    _require(is_column or not is_dictionary, "dictionaries are accepted only for whole columns")
    if kind in _LISTS and not is_dictionary:
        parts = {child.number(2, "B") for child in children}
        _require(
            len(children) == 1 and parts <= _LEAVES | {_STRUCT}, "lists must hold numbers, texts, times or structs"
        )
    elif kind != _STRUCT or is_dictionary:
        is_accepted = kind in _LEAVES or (is_column and kind in (_NULL, _UTF8_VIEW))
        _require(is_accepted and not children, "columns must be numbers, texts, times, lists or structs")
