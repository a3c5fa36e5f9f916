"""What the engines share: tables that close once, searches and their hits, and the ids, columns and scores of hits."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import mascot as mc
from mascot.connect.converters.hit_lists import LazyHits, NamedColumns, names_of, row_of, stem_of
from mascot.connect.engines.address import Address
from mascot.connect.frameworks.documents import warn
from mascot.errors import InputError, MascotError, OptionError, check_whole, require
from mascot.photos.photo import LISTS, TYPES

if TYPE_CHECKING:
    from typing_extensions import Unpack

CANDIDATES = 200
States = Iterator[tuple[str, tuple[int, int, str, str]]]  # path; size, mtime_ns, hash, stamp

# A photograph's columns as the library stores them, and the stamp of its encoding; the key is the first.
FIELDS: dict[str, type] = {
    "path": str,
    **{name: float if float in types else types[0] for name, types in TYPES.items()},
    "stamp": str,
}
VECTOR = "vector"
_AT_ONCE = 256
STATE = ("path", "size", "mtime_ns", "hash", "stamp")
_Self = TypeVar("_Self", bound="EngineTable")


class SearchOptions(TypedDict, total=False):
    """Options of a search, as for `EngineSource.search`."""

    where: str | None
    columns: Sequence[str] | None
    vectors: bool


class NoKey(UserWarning):
    """A table without a column of ids: ids are positions in the result, which differ between searches."""


@dataclass(frozen=True, slots=True)
class Found:
    """What an engine found for one vector, best first."""

    ids: list[Any]
    scores: NDArray[np.float64]  # higher is better
    columns: dict[str, list[Any]]  # None where a value is missing
    vectors: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def candidates(self) -> mc.Candidates:
        """Return the same for `mascot.rerank`; `records()` of its rankings are those of `Found.records`.

        Keywords are lists of labels, and `location.lat` is within `location`. A column that no row has counts as
        missing, with one warning.
        """
        for name, values in self.columns.items():
            if len(values) != len(self):
                raise InputError(f"Found.columns[{name!r}] must have {len(self)} values like ids, got {len(values)}")
        result: mc.Candidates = mc.Candidates(self.scores, self.ids, None, self.vectors)
        result.columns = NamedColumns(len(self), self.columns, self._cells)
        result.source = self._records()
        return result

    def _cells(self, name: str) -> list[Any]:
        return list(map(_labels, self.columns[name])) if name in LISTS else self.columns[name]

    def records(self) -> list[dict[str, Any]]:
        """Return a plain record for each row: its columns, its `id` and its `score`.

        Columns of the table that have these names and other values are `own_id` and `own_score`.
        """
        return list(self._records())

    def _records(self) -> LazyHits:
        id_and_score = {"id": self.ids, "score": self.scores.tolist()}
        columns = {name: values for name, values in self.columns.items() if name not in id_and_score}
        for name, values in id_and_score.items():
            column = self.columns.get(name, values)
            if column != values and any(value is not None for value in column):
                columns[f"own_{name}"] = column
        return LazyHits(len(self), partial(row_of, {**columns, **id_and_score}))


def _labels(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value.startswith("[") else value


class EngineTable(ABC):
    """A table of an engine. Closing it twice has no effect; using it after that raises."""

    _address: Address
    _errors: Any  # the engine's exceptions
    _closed = False

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._release()

    def facts(self) -> dict[str, str]:
        """Return how the table was made: `encoder`, `fingerprint` and so on, as in a library; empty if unknown."""
        with self._in_use():
            return dict(self._read_facts())

    @abstractmethod
    def _read_facts(self) -> Mapping[str, str]: ...

    @abstractmethod
    def _release(self) -> None:
        """Release the engine; called once."""

    def _message(self, error: Any) -> str:
        return one_line(error)

    def _blames_where(self, error: Any) -> bool:
        """Return whether an error of a search with a filter is about the filter."""
        return True

    @contextmanager
    def _in_use(self, where: str | None = None) -> Iterator[None]:
        """Refuse a closed table, and turn errors of the engine into ours: about the filter, else about the table."""
        self._must_be_open()
        try:
            yield
        except MascotError:
            raise
        except self._errors as error:
            if where is not None and self._blames_where(error):
                raise OptionError(f"where: {self._message(error)} in {where!r}") from None
            raise InputError(f"cannot use {self._address.label}: {self._message(error)}") from None

    def _must_be_open(self) -> None:
        if self._closed:
            raise InputError(f"{self._address.label} is closed: open it anew")

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Close the table where opening it fails."""
        try:
            with self._in_use():
                yield
        except BaseException:
            self.close()
            raise


@dataclass(frozen=True, slots=True)
class Request:
    """A checked search request."""

    queries: Sequence[NDArray[np.float32]]  # at least one
    count: int  # rows for each query
    where: str | None  # None where there is no filter
    columns: Sequence[str] | None  # None for all
    vectors: bool  # whether to fetch them


class EngineSource(EngineTable):
    """A table of an engine, searched one query or several at a time, by threads or by tasks of an event loop."""

    _dim: int | None  # numbers of a vector; None where the engine does not say

    def search(
        self,
        vector: ArrayLike,
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> Found:
        """Return the nearest rows.

        Parameters
        ----------
        vector
            What to search with.
        candidates
            How many rows (default: 200).
        where
            A filter in the engine's own language (default: None, all rows).
        columns
            Columns to fetch (default: None, all).
        vectors
            Whether to fetch the vectors (default: True).
        """
        return self._answers([vector], candidates, where, columns, vectors)[0]

    def search_many(
        self, queries: ArrayLike, *, candidates: int = CANDIDATES, **options: Unpack[SearchOptions]
    ) -> list[Found]:
        """Return the nearest rows of each query, a row of `queries`. The options are those of `search`.

        Qdrant and Milvus answer all of them in one request; LanceDB and PostgreSQL one after the other.
        """
        return self._answers(np.asarray(queries, np.float32), candidates, **options)

    async def asearch(
        self, vector: ArrayLike, *, candidates: int = CANDIDATES, **options: Unpack[SearchOptions]
    ) -> Found:
        """Return what `search` returns. It runs in a thread, so that other tasks of the event loop continue."""
        return await asyncio.to_thread(self.search, vector, candidates=candidates, **options)

    def _answers(
        self,
        queries: Iterable[ArrayLike],
        candidates: int,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> list[Found]:
        """Check the arguments of a search, and search; an empty filter is None."""
        check_whole("candidates", candidates, 1)
        require(where is None or isinstance(where, str), "where", "must be text in the engine's own language", where)
        where = where if where and where.strip() else None
        with self._in_use(where):
            arrays = list(map(self._query, queries))
            return self._search(Request(arrays, int(candidates), where, columns, vectors)) if arrays else []

    def _query(self, vector: ArrayLike) -> NDArray[np.float32]:
        try:
            query = np.asarray(vector, np.float32)
        except (TypeError, ValueError):
            raise InputError(f"a search needs one vector of finite numbers, got {vector!r:.60}") from None
        if query.ndim != 1 or not np.isfinite(query).all():
            raise InputError(f"a search needs one vector of finite numbers, got shape {query.shape}")
        if self._dim is not None and len(query) != self._dim:
            raise InputError(
                f"{self._address.label} holds vectors of {self._dim} numbers, and the one to search with has "
                f"{len(query)}"
            )
        return np.ascontiguousarray(query)

    @abstractmethod
    def _search(self, request: Request) -> list[Found]:
        """Return the hits of each query."""


class Sink(Protocol):
    """Where an index is written. Writing is idempotent."""

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Insert rows and their vectors, n x dim or n x tokens x dim, or replace those of the same path."""

    def states(self) -> States:
        """Yield the path of each row, and its size, mtime_ns, hash and stamp."""

    def remove(self, paths: Sequence[str]) -> None:
        """Delete these rows; paths that do not exist are ignored."""

    def set_facts(self, facts: Mapping[str, str]) -> None: ...

    def facts(self) -> dict[str, str]: ...

    def close(self) -> None:
        """Close it; closing twice has no effect."""


class OpenSink(EngineTable, Sink):
    """A table of an engine, to be written to. It closes at the end of a `with`."""

    _dim: int
    _tokens: int

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        with self._in_use():
            records, numbers = checked(rows, vectors, self._dim, self._tokens)
            if records:
                self._put(records, numbers)

    def states(self) -> States:
        with self._in_use():
            yield from map(state_of, self._states())

    def remove(self, paths: Sequence[str]) -> None:
        with self._in_use():
            for batch in chunks(paths):
                self._remove(batch)

    def set_facts(self, facts: Mapping[str, str]) -> None:
        with self._in_use():
            self._write_facts(facts)

    @abstractmethod
    def _put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Insert or replace rows with every column; the vectors are n x tokens x dim."""

    @abstractmethod
    def _states(self) -> Iterable[Mapping[str, Any]]:
        """Yield the columns `STATE` of every row."""

    @abstractmethod
    def _remove(self, paths: Sequence[str]) -> None: ...

    @abstractmethod
    def _write_facts(self, facts: Mapping[str, str]) -> None: ...


def one_line(error: object) -> str:
    """Return an error message on one line."""
    return " ".join(str(error).split())


def best_first(
    ids: Sequence[Any],
    scores: Sequence[float] | NDArray[np.floating],
    columns: Mapping[str, Sequence[Any]],
    vectors: NDArray[np.float32] | None,
) -> Found:
    """Return a `Found` in order. A row without a score, which a vector of zeros has under cosine, is left out."""
    numbers = np.asarray(scores, np.float64)
    order = np.argsort(-numbers, kind="stable")
    order = order[np.isfinite(numbers[order])]
    return Found(
        [ids[i] for i in order],
        numbers[order],
        {name: [values[i] for i in order] for name, values in columns.items()},
        None if vectors is None else np.asarray(vectors, np.float32)[order],
    )


def key_of(names: Sequence[str], address: Address, table_key: str | None = None) -> str | None:
    """Return the column of ids: the one the address names, else `path`, the primary key, or `id`; warn if none."""
    if address.id is not None and address.id not in names:
        raise InputError(f"{address.label} has no column {address.id!r}; it has: {', '.join(names)}")
    key = address.id or next((name for name in ("path", table_key, "id") if name in names), None)
    if key is None:
        warn(f"{address.label} has no key of one column: ids are places in the result; name a column with ?id=", NoKey)
    return key


def cells_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows that may each have other names."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def named_ids(cells: Mapping[str, Sequence[Any]], keys: list[Any], address: Address) -> list[Any]:
    """Return the ids of hits: the column that the address names, else `path`; the table's own keys where it is missing.

    Warn where no hit has the column that the address names, which can happen in a table without fixed columns.
    """
    column = cells.get(address.id or "path")
    if address.id is not None and column is None and keys:
        warn(f"{address.label}: no hit has {address.id!r}: ids are the table's own keys", NoKey)
    if column is None:
        return keys
    if address.id is not None:
        return list(column)  # a row without one has none
    return [key if id_ is None else id_ for id_, key in zip(column, keys, strict=True)]


def fetched(columns: Sequence[str] | None, names: Sequence[str], key: str | None, label: str) -> list[str]:
    """Return the columns to fetch (default: all), with that of ids; `location` for the name `location.lat`."""
    if columns is None:
        return list(names)
    stems = {name: stem_of(name, names) for name in names_of(columns)}
    for name, stem in stems.items():
        if stem not in names:
            raise InputError(f"{label} has no column {name!r}; it has: {', '.join(names)}")
    return list(dict.fromkeys([*stems.values(), *([] if key is None else [key])]))


def from_l2(distances: NDArray[np.floating] | Sequence[float], squared: bool) -> NDArray[np.float64]:
    """Return Euclidean distances as scores, 1 - d²/2: the cosine for unit vectors."""
    numbers = np.asarray(distances, np.float64)
    return 1 - (numbers if squared else numbers**2) / 2


def matrix_of(rows: Sequence[Any], dim: int, several: bool) -> NDArray[np.float32]:
    """Return one vector for each row; of rows of several vectors, the mean as a unit vector."""
    if not several:
        return np.asarray(rows, np.float32).reshape(len(rows), dim)
    matrix = np.zeros((len(rows), dim), np.float32)
    for at, tokens in enumerate(rows):
        mean = np.asarray(tokens, np.float32).reshape(-1, dim).mean(axis=0)
        matrix[at] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return matrix


def same_shape(label: str, table: tuple[int, bool], dim: int, tokens: int) -> None:
    """Refuse to mix vectors of several shapes in one table, whose dim and whether a row has several are `table`."""
    expected, actual = (f"{1 + several} x {size}" for size, several in (table, (dim, tokens > 1)))
    if expected != actual:
        raise InputError(f"{label} holds vectors of {expected} numbers, and these have {actual}: name another table")


def checked(
    rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.floating], dim: int, tokens: int
) -> tuple[list[dict[str, Any]], NDArray[np.float32]]:
    """Return rows with every column, and their vectors as n x tokens x dim; of two rows of one path, the last."""
    numbers = np.asarray(vectors, np.float32)
    if numbers.ndim == 2 and tokens == 1:
        numbers = numbers[:, None]
    if numbers.shape != (len(rows), tokens, dim):
        shape = " x ".join(map(str, np.shape(vectors)))
        raise InputError(f"vectors must be {len(rows)} x {tokens} x {dim}, a row each, got {shape}")
    if not np.isfinite(numbers).all():
        raise InputError("vectors must be finite")
    for row in rows:
        if not isinstance(row.get("path"), str) or not row["path"]:
            raise InputError(f"a row must have a path, got {row.get('path')!r}")
    last = {row["path"]: place for place, row in enumerate(rows)}
    unknown = sorted({name for row in rows for name in row} - set(FIELDS))
    if unknown:
        raise InputError(f"a row has the columns {', '.join(FIELDS)}; got {', '.join(unknown)} besides")
    places = list(last.values())
    records = [{name: _value(rows[place].get(name), kind) for name, kind in FIELDS.items()} for place in places]
    return records, numbers[places]


def fits(address: Address, names: Iterable[str]) -> None:
    """Refuse to write photographs into a table that was made for something else."""
    columns = set(names)
    lacks = [name for name in FIELDS if name not in columns]
    if lacks:
        names_lacking = ", ".join(lacks[:3]) + (f" and {len(lacks) - 3} more" if len(lacks) > 3 else "")
        raise InputError(
            f"{address.label}: {address.table!r} is not a table of photographs, its columns lack {names_lacking}: "
            "name another table"
        )


def _value(value: Any, kind: type) -> Any:
    if value is None or value != value:  # tables without None write NaN
        return None
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value), ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat()
    return kind(value)


def state_of(row: Mapping[str, Any]) -> tuple[str, tuple[int, int, str, str]]:
    """Return the path of a row, and what a later run compares the file with."""
    size, mtime_ns = int(row["size"] or 0), int(row["mtime_ns"] or 0)
    return row["path"], (size, mtime_ns, str(row["hash"] or ""), str(row["stamp"] or ""))


def chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the items in as many at once as every engine takes."""
    for first in range(0, len(items), _AT_ONCE):
        yield items[first : first + _AT_ONCE]
