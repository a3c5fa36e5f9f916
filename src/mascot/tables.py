"""Tables to candidates: JSON lines, CSV or Parquet, from a file or from standard input."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mascot.candidates import Candidates
from mascot.errors import InputError, MissingExtra
from mascot.memberships import Floats

Record = dict[str, Any]

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}

# A number as JSON writes it. "007" and "1e5x" stay text, so that ids survive.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Table:
    """Records in the order they came, each with where it stands."""

    name: str  # the file as it was given, or "standard input"
    records: list[Record]
    lines: list[int]  # of each record, from 1
    unit: str = "line"

    @cached_property
    def columns(self) -> list[str]:
        """Every column that some record has, in the order of appearance."""
        return list(dict.fromkeys(name for record in self.records for name in record))

    def place(self, row: int) -> str:
        return f"{self.name} {self.unit} {self.lines[row]}"

    def require(self, column: str, cure: str) -> None:
        """Raise unless there is such a column; the message names those that exist, and the cure."""
        if column not in self.columns:
            known = ", ".join(self.columns)
            raise InputError(f"{self.name} has no column {column!r}; its columns: {known}; {cure}")


@dataclass(frozen=True)
class Query:
    """The records of one query and the candidates made of them."""

    name: Any  # None where the table has no column of queries
    records: list[Record]
    candidates: Candidates


def read(path: str | None = None, kind: str | None = None) -> Table:
    """Read a table.

    Parameters
    ----------
    path
        A file; None or ``"-"`` is standard input.
    kind
        ``"jsonl"``, ``"csv"`` or ``"parquet"``; by the file's suffix unless given, JSON lines on standard input.
    """
    name = "standard input" if path in (None, "-") else str(path)
    kind = kind or ("jsonl" if path in (None, "-") else SUFFIXES.get(Path(name).suffix.lower()))
    if kind is None:
        known = ", ".join(SUFFIXES)
        raise InputError(f"{name}: the suffix must be one of {known}, or say --input-format")
    with _opened(None if path in (None, "-") else path, name) as stream:
        if kind == "parquet":
            records = _parquet(stream, name)
            table = Table(name, records, list(range(1, len(records) + 1)), "row")
        else:
            numbered = list(_json_lines(stream, name) if kind == "jsonl" else _csv(stream, name))
            table = Table(name, [record for _, record in numbered], [line for line, _ in numbered])
    if not table.records:
        raise InputError(f"{name} holds no records")
    return table


def queries(
    table: Table, score: str = "score", id: str | None = None, query: str | None = None, vector: str | None = None
) -> list[Query]:
    """The table's candidates, query by query in the order of appearance.

    Without `id`, `query` or `vector` the columns of those names are used where they exist: ids are row numbers
    without one, all rows are one query's, and there are no vectors.
    """
    table.require(score, "name another with --score")
    id_column = _optional(table, id, "id")
    query_column = _optional(table, query, "query")
    vector_column = _optional(table, vector, "vector")
    groups: dict[Any, list[int]] = {}
    for row, record in enumerate(table.records):
        name = record.get(query_column) if query_column else None
        if isinstance(name, (list, dict)):
            raise InputError(f"{table.place(row)}: {query_column} must be text or a number, got {name!r}")
        groups.setdefault(name, []).append(row)
    scores = [_score(record.get(score), table, row, score) for row, record in enumerate(table.records)]
    vectors = _vectors(table, vector_column) if vector_column else None
    columns = [name for name in table.columns if name != vector_column]
    found = []
    for name, rows in groups.items():
        records = [table.records[row] for row in rows]
        candidates = Candidates(
            scores=[scores[row] for row in rows],
            ids=[_hashable(record.get(id_column)) for record in records] if id_column else None,
            columns={column: [record.get(column) for record in records] for column in columns},
            vectors=None if vectors is None else vectors[rows],
        )
        found.append(Query(name, records, candidates))
    return found


def _optional(table: Table, given: str | None, usual: str) -> str | None:
    if given is None:
        return usual if usual in table.columns else None
    table.require(given, f"name another with --{usual}")
    return given


def _hashable(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _score(value: Any, table: Table, row: int, column: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        raise InputError(f"{table.place(row)}: {column} must be a finite number, got {value!r}")
    return number


def _vectors(table: Table, column: str) -> Floats:
    """The column as an N x D array; a record without one has a row of NaN."""
    rows: list[Floats | None] = []
    for row, record in enumerate(table.records):
        value = record.get(column)
        try:
            value = json.loads(value) if isinstance(value, str) else value  # CSV holds lists as text
            made = None if value is None else np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            made = np.empty(0)
        if made is not None and (made.ndim != 1 or not len(made)):
            raise InputError(f"{table.place(row)}: {column} must be a list of numbers, got {value!r:.60}")
        rows.append(made)
    size = next((len(made) for made in rows if made is not None), 1)
    for row, made in enumerate(rows):
        if made is not None and len(made) != size:
            raise InputError(f"{table.place(row)}: {column} must have {size} numbers like the first, got {len(made)}")
    return np.stack([np.full(size, np.nan) if made is None else made for made in rows])


@contextmanager
def _opened(path: str | None, name: str) -> Iterator[BinaryIO]:
    if path is None:
        if sys.stdin.isatty():
            raise InputError("no file was given and nothing is piped in; name a file, or see --help")
        yield sys.stdin.buffer
        return
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; only opening may fail as a missing file does
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from None
    with stream:
        yield stream


def _json_lines(stream: Iterable[bytes], name: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.strip())
        except json.JSONDecodeError as error:
            raise InputError(f"{name} line {number}: not JSON: {error.msg} at column {error.colno}") from None
        except UnicodeDecodeError:
            raise InputError(f"{name} line {number}: not UTF-8 text") from None
        if not isinstance(record, dict):
            raise InputError(f"{name} line {number}: must be an object in braces, got {line.decode().strip():.60}")
        yield number, record


def _csv(stream: BinaryIO, name: str) -> Iterator[tuple[int, Record]]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    reader = csv.reader(text, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        header = next(reader, [])
        if len(set(header)) < len(header):
            twice = next(column for column in header if header.count(column) > 1)
            raise InputError(f"{name} line 1: the column {twice!r} stands there twice")
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise InputError(f"{name} line {reader.line_num}: {len(row)} values, the header has {len(header)}")
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{name} line {reader.line_num}: not CSV: {error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{name} after line {reader.line_num}: not UTF-8 text") from None
    finally:
        text.detach()  # the stream is its owner's to close
    columns = [_typed(column) for column in zip(*rows, strict=True)]
    for line, values in zip(lines, zip(*columns, strict=True), strict=True):
        yield line, dict(zip(header, values, strict=True))


def _typed(column: Sequence[str]) -> list[Any]:
    """A CSV column as numbers if every value is one, else as text; nothing between two commas is None."""
    if not all(_NUMBER.fullmatch(value) for value in column if value):
        return [value or None for value in column]
    return [json.loads(value) if value else None for value in column]


def _parquet(stream: BinaryIO, name: str) -> list[Record]:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("reading Parquet needs: pip install 'mascot[parquet]'") from None
    try:
        # On one thread: Arrow's own now and then abort the process while Python shuts down (apache/arrow#34314).
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(stream.read()), pre_buffer=False)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name}: not a Parquet file: {str(error).splitlines()[0]}") from None
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":  # finer than a datetime can hold
            coarse = pa.timestamp("us", field.type.tz)
            table = table.set_column(i, field.name, table.column(i).cast(coarse, safe=False))
    records: list[Record] = table.to_pylist()
    return records
