"""Read candidates from JSON lines, a JSON array, CSV or the response of an engine, in a file or on standard input.

A column name may be a path into dictionaries: `at.lat` is the `lat` of each record's `at`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from mascot.bins import Floats
from mascot.candidates import Candidates, RecordColumns
from mascot.connect import converters
from mascot.connect.converters import convert
from mascot.connect.converters.hit_lists import records_of
from mascot.errors import InputError, MascotError, quoted
from mascot.removed import instead

Record = dict[str, Any]

SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv"}
ENGINES = tuple(sorted(set(convert.ENGINES) - {"chroma"}))  # those whose responses are JSON
NAMES = ("id", "_id", "query")  # columns whose values stay text by default
FORMATS = (*dict.fromkeys(SUFFIXES.values()), *ENGINES)
_UNITS = {"json": "record", **dict.fromkeys(ENGINES, "hit")}  # formats without lines

# A number as in JSON: "007" and "1e5x" stay text, and so do integers that are too long for Python.
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,300})(\.\d+)?([eE][+-]?\d{1,9})?")
_TIME = re.compile(r"\d{4}[-:]\d{2}[-:]\d{2}.*")
_LONGEST = 1 << 24  # characters of a CSV cell: a list of numbers may be long
_LISTED = 50  # columns that a message lists
_MISSING_TEXTS = ("", "na", "n/a", "nan", "none", "null")  # spellings of a missing number or time


@dataclass(frozen=True)
class RecordTable:
    """The records of a file in order, and their line numbers."""

    name: str  # the path as typed, or "standard input"
    records: list[Record]
    lines: list[int]  # of each record, from 1
    unit: str = "line"

    @cached_property
    def columns(self) -> RecordColumns:
        """All columns; a name may also be a path into objects."""
        return RecordColumns(self.records, plain=True)

    def place(self, row: int) -> str:
        return f"{self.name} {self.unit} {self.lines[row]}"

    def require(self, column: str, remedy: str) -> None:
        """Raise unless the column exists; the message lists the columns and the remedy."""
        if column not in self.columns:
            names = list(self.columns)
            columns = ", ".join(f"{name:.80}" for name in names[:_LISTED])
            if len(names) > _LISTED:
                columns += f" and {len(names) - _LISTED} more"
            raise InputError(f"{self.name} has no column {column!r}; its columns: {columns}; {remedy}{instead(column)}")


@dataclass(frozen=True)
class RecordedQuery:
    """The records of one query, and its candidates."""

    name: Any  # None if the table has no column of queries
    records: list[Record]
    candidates: Candidates


def read(path: str | None = None, kind: str | None = None, names: Collection[str] = NAMES) -> RecordTable:
    """Read a file, or standard input if `path` is None or "-".

    `kind` is one of the values of `SUFFIXES`, or the engine of a response (default: by the suffix; JSON lines on
    standard input). `names` are columns of a CSV file that stay text: as numbers, 1.10 and 1.1 would be equal.
    """
    suffix = ".jsonl" if path is None or path == "-" else Path(path.lower()).suffix
    kind = kind or SUFFIXES.get(suffix)
    if kind is None:
        suffixes = ", ".join(SUFFIXES)
        raise InputError(f"{path}: unknown suffix; use {suffixes}, or set --input-format{instead(suffix)}")
    with _open(path) as (stream, name):
        if kind == "csv":
            numbered = list(_csv(stream, name, names))
        elif kind == "jsonl":
            numbered = list(_json_lines(stream, name))
        else:
            records = _json_array(stream, name) if kind == "json" else _response(kind, stream, name)
            numbered = list(enumerate(records, 1))
    if not numbered:
        raise InputError(f"{name} has no records")
    lines, rows = map(list, zip(*numbered, strict=True))
    return RecordTable(name, rows, lines, _UNITS.get(kind, "line"))


def queries(
    table: RecordTable,
    score: str = "score",
    id: str | None = None,
    query: str | None = None,
    vector: str | None = None,
    inner: Iterable[str] = (),
) -> list[RecordedQuery]:
    """Return the candidates of a table, query by query in the order of appearance.

    `id`, `query` and `vector` default to the columns with these names; `id` and `score` may begin with an underscore.
    Without them ids are row numbers, all rows are one query, and there are no vectors. `inner` are names of further
    columns, within dictionaries.
    """
    if score == "score" and score not in table.columns and "_score" in table.columns:
        score = "_score"
    table.require(score, "name another with --score")
    id_column, query_column = _optional(table, id, "id"), _optional(table, query, "query")
    vector_column = _optional(table, vector, "vector")
    groups: dict[Any, list[int]] = {}
    query_names = table.columns.cells(query_column) if query_column else [None] * len(table.records)
    for row, name in enumerate(query_names):
        if isinstance(name, (list, dict)):
            raise InputError(f"{table.place(row)}: {query_column} must be text or a number, got {name!r}")
        groups.setdefault(name, []).append(row)
    scores = [_score(value, table, row, score) for row, value in enumerate(table.columns.cells(score))]
    id_cells = table.columns.cells(id_column) if id_column else ()
    ids = [_id(value, table, row, id_column) for row, value in enumerate(id_cells)]
    vectors = _vectors(table, vector_column) if vector_column else None
    columns = [name for name in dict.fromkeys([*table.columns, *inner]) if name != vector_column or name in inner]
    result = []
    for name, rows in groups.items():
        records = [table.records[row] for row in rows]
        rows_of_query = RecordColumns(records)
        cells = {column: rows_of_query.cells(column) for column in columns}
        group_ids = [ids[row] for row in rows] if ids else None
        group_vectors = None if vectors is None else vectors[rows]
        candidates = Candidates([scores[row] for row in rows], group_ids, cells, group_vectors)
        result.append(RecordedQuery(name, records, candidates))
    return result


def _optional(table: RecordTable, name: str | None, usual: str) -> str | None:
    if name is None:
        return next((name for name in (usual, f"_{usual}") if name in table.columns), None)
    table.require(name, f"name another with --{usual}")
    return name


def _id(value: Any, table: RecordTable, row: int, column: str | None) -> Any:
    if value is None:
        raise InputError(f"{table.place(row)} has no {column}, and others have: name another with --id")
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _score(value: Any, table: RecordTable, row: int, column: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # OverflowError: an integer of 400 digits
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        raise InputError(f"{table.place(row)}: {column} must be a finite number, got {quoted(value)}")
    return number


def _vectors(table: RecordTable, column: str) -> Floats:
    """Return the column as an N x D array; a missing vector is a row of NaN."""
    rows: list[Floats | None] = []
    for row, value in enumerate(table.columns.cells(column)):
        try:
            value = json.loads(value) if isinstance(value, str) else value  # CSV holds lists as text
            vector = None if value is None else np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.empty(0)
        if vector is not None and (vector.ndim != 1 or not len(vector)):
            raise InputError(f"{table.place(row)}: {column} must be a list of numbers, got {value!r:.60}")
        rows.append(vector)
    size = next((len(vector) for vector in rows if vector is not None), 1)
    for row, vector in enumerate(rows):
        if vector is not None and len(vector) != size:
            raise InputError(f"{table.place(row)}: {column} must have {size} numbers like the first, got {len(vector)}")
    return np.stack([np.full(size, np.nan) if vector is None else vector for vector in rows])


@contextmanager
def _open(path: str | None) -> Iterator[tuple[BinaryIO, str]]:
    """Yield a stream of bytes, and its name in messages."""
    if path is None or path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("no input: name a FILE or pipe records to standard input; see --help")
        yield sys.stdin.buffer, "standard input"
        return
    try:
        with open(path, "rb") as stream:
            yield stream, path
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _json_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, Record]]:
    """Yield the number and the record of each line."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        place = f"{name} line {number}"
        if line.lstrip(b"\xef\xbb\xbf \t").startswith(b"["):
            start = f"{line.decode(errors='replace').strip():.60}"
            raise InputError(f"{place}: must be an object in braces, got {start}; an array needs --input-format json")
        yield number, _object(_parsed(line.strip(), place), place)


def _json_array(stream: BinaryIO, name: str) -> list[Record]:
    records = _parsed(stream.read(), name)
    if not isinstance(records, list):
        raise InputError(
            f"{name}: must be an array of objects; JSON lines need --input-format jsonl, the response of an "
            "engine its name, such as --input-format elasticsearch"
        )
    return [_object(record, f"{name} record {number}") for number, record in enumerate(records, 1)]


def _response(engine: str, stream: BinaryIO, name: str) -> Iterator[Record]:
    """Yield the hits in the JSON response of an engine: fields, id, score, and the query if there are several."""
    response, converter = _parsed(stream.read(), name), getattr(converters, f"from_{engine}")
    try:
        lists = converters.each_query(converter, response)
    except MascotError as error:
        raise InputError(f"{name}: {error}") from None
    for query, candidates in enumerate(lists):
        columns = cast(RecordColumns, candidates.columns)
        cells: dict[str, Any] = {column: columns.cells(column) for column in columns}
        fixed = {"id": candidates.ids, "score": candidates.scores.tolist(), "query": [query] * len(candidates)}
        # A field with one of these names and another value is renamed.
        own = {f"own_{name}": cells.pop(name) for name in fixed if cells.get(name, fixed[name]) != fixed[name]}
        if len(lists) == 1:
            del fixed["query"]
        yield from records_of({**cells, **own, **fixed})


def _parsed(text: bytes, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} column {error.colno}"
        raise InputError(f"{place}: not JSON: {error.msg} at {at}") from None
    except (ValueError, RecursionError) as error:  # bytes that are not UTF-8, deep nesting
        raise InputError(f"{place}: not JSON: {error}") from None


def _object(value: Any, place: str) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be an object in braces, got {json.dumps(value):.60}")
    return value


def _csv(stream: BinaryIO, name: str, names: Collection[str]) -> Iterator[tuple[int, Record]]:
    """Yield the rows of a CSV file."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    before = csv.field_size_limit(_LONGEST)
    reader = csv.reader(())
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        first = text.readline()
        reader = csv.reader(chain([first], text), delimiter=_delimiter_of(first), strict=True)
        header = next(reader, [])
        if twice := [column for column, count in Counter(header).items() if count > 1]:
            raise InputError(f"{name} line 1: the column {twice[0]!r} occurs twice")
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise InputError(f"{name} line {reader.line_num}: {len(row)} values, the header has {len(header)}")
            rows.append(row)
            lines.append(reader.line_num)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{name} line {reader.line_num}: not CSV: {error}") from None
    finally:
        text.detach()  # the caller closes the stream
        csv.field_size_limit(before)
    columns = [
        [value or None for value in column] if title in names else _typed(column)
        for title, column in zip(header, zip(*rows, strict=True), strict=bool(rows))
    ]
    for line, values in zip(lines, zip(*columns, strict=True), strict=True):
        yield line, dict(zip(header, values, strict=True))


def _delimiter_of(header: str) -> str:
    """Return the delimiter of a header: a comma, or a semicolon if there is no comma."""
    is_one_column = len(next(csv.reader([header]), [])) <= 1
    return ";" if is_one_column and len(next(csv.reader([header], delimiter=";"), [])) > 1 else ","


def _typed(column: Sequence[str]) -> list[Any]:
    """Return a CSV column as numbers if all values are numbers, otherwise as text. An empty cell is None.

    NA and similar spellings are None among numbers and times. Elsewhere they are text, because NA is also Namibia.
    """
    is_missing = [value.lower() in _MISSING_TEXTS for value in column]
    values = [value for value, missing in zip(column, is_missing, strict=True) if not missing]
    is_numeric = bool(values) and all(map(_NUMBER.fullmatch, values))
    if is_numeric or (values and all(map(_TIME.fullmatch, values))):
        read_cell: Callable[[str], Any] = json.loads if is_numeric else str
        return [None if missing else read_cell(value) for value, missing in zip(column, is_missing, strict=True)]
    return [value or None for value in column]
