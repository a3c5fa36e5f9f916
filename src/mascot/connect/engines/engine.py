"""Tables of engines, and the hits of a search in them: ids, scores, columns and vectors."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import mascot as mc
from mascot.connect.converters.hit_lists import NamedColumns, names_of, records_of, stem_of
from mascot.connect.engines.address import Address
from mascot.errors import InputError, MascotError, OptionError, check_whole, require, warn

if TYPE_CHECKING:
    from typing_extensions import Unpack

CANDIDATES = 200
_Self = TypeVar("_Self", bound="EngineTable")


class SearchOptions(TypedDict, total=False):
    """Options of a search, as for `EngineSource.search`."""

    where: str | None
    columns: Sequence[str] | None
    vectors: bool


class NoKey(UserWarning):
    """The table has no column of ids. Ids are positions in the result, which differ between searches."""


@dataclass(frozen=True, slots=True)
class EngineHits:
    """The hits of an engine for one vector, best first."""

    ids: list[Any]
    scores: NDArray[np.float64]  # higher is better
    columns: dict[str, list[Any]]  # None where a value is missing
    vectors: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def candidates(self) -> mc.Candidates:
        """Return the hits as candidates, whose rankings return the records of `EngineHits.records`.

        A column of JSON arrays becomes lists of labels, and `location.lat` is the `lat` of a dictionary `location`.
        """
        for name, values in self.columns.items():
            if len(values) != len(self):
                raise InputError(
                    f"EngineHits.columns[{name!r}] must have {len(self)} values like ids, got {len(values)}"
                )
        result: mc.Candidates = mc.Candidates(self.scores, self.ids, None, self.vectors)
        result.columns = NamedColumns(len(self), self.columns, self._cells)
        result.source = self.records()
        return result

    def _cells(self, name: str) -> list[Any]:
        """Return a column. Sinks write lists as JSON arrays: a column of nothing else is a column of lists."""
        cells = self.columns[name]
        if not all(cell is None or (isinstance(cell, str) and cell[:1] == "[") for cell in cells):
            return cells
        try:
            return [None if cell is None else json.loads(cell) for cell in cells]
        except ValueError:
            return cells

    def records(self) -> list[dict[str, Any]]:
        """Return a plain record for each row: its columns, its `id` and its `score`.

        Columns of the table that have these names and other values are `own_id` and `own_score`.
        """
        id_and_score = {"id": self.ids, "score": self.scores.tolist()}
        columns = {name: values for name, values in self.columns.items() if name not in id_and_score}
        for name, values in id_and_score.items():
            column = self.columns.get(name, values)
            if column != values and any(value is not None for value in column):
                columns[f"own_{name}"] = column
        return records_of({**columns, **id_and_score})


class EngineTable(ABC):
    """A table of an engine. Closing it twice has no effect; using a closed table raises an error."""

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
        """Return what `set_facts` of a sink stored beside the table, such as its encoder; empty if there is nothing."""
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
        """Refuse a closed table. Convert the engine's errors to `OptionError` (the filter) or `InputError`."""
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
            raise InputError(f"{self._address.label} is closed: open it again")

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """Close the table if opening it fails."""
        try:
            with self._in_use():
                yield
        except BaseException:
            self.close()
            raise


@dataclass(frozen=True, slots=True)
class EngineRequest:
    queries: Sequence[NDArray[np.float32]]  # at least one
    count: int  # rows for each query
    where: str | None  # None: no filter
    columns: Sequence[str] | None  # None: all
    vectors: bool  # whether to fetch them


class EngineSource(EngineTable):
    """A table to be searched with one vector or several, from threads or from tasks of an event loop."""

    _dim: int  # dimension of the vectors; 0 if the engine does not say

    def search(
        self, vector: ArrayLike, *, candidates: int = CANDIDATES, **options: Unpack[SearchOptions]
    ) -> EngineHits:
        """Return the nearest rows.

        Parameters
        ----------
        vector
            The query.
        candidates
            The number of rows (default: 200).
        where
            A filter in the engine's own language (default: None, all rows).
        columns
            Columns to fetch (default: None, all).
        vectors
            Whether to fetch the vectors (default: True).
        """
        return self.search_many([vector], candidates=candidates, **options)[0]

    def search_many(
        self,
        queries: Iterable[ArrayLike],
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> list[EngineHits]:
        """Return the nearest rows for each row of `queries`. The options are those of `search`.

        Qdrant and Milvus answer all of them in one request; LanceDB and PostgreSQL one after the other.
        """
        check_whole("candidates", candidates, 1)
        require(where is None or isinstance(where, str), "where", "must be text in the engine's own language", where)
        where = where if where and where.strip() else None  # an empty filter means no filter
        with self._in_use(where):
            arrays = list(map(self._query, queries))
            return self._search(EngineRequest(arrays, int(candidates), where, columns, vectors)) if arrays else []

    async def asearch(
        self, vector: ArrayLike, *, candidates: int = CANDIDATES, **options: Unpack[SearchOptions]
    ) -> EngineHits:
        """Run `search` in a thread, so that other tasks of the event loop continue."""
        return await asyncio.to_thread(self.search, vector, candidates=candidates, **options)

    def _query(self, vector: ArrayLike) -> NDArray[np.float32]:
        try:
            query = np.asarray(vector, np.float32)
        except (TypeError, ValueError):
            raise InputError(f"a search needs one vector of finite numbers, got {vector!r:.60}") from None
        if query.ndim != 1 or not np.isfinite(query).all():
            raise InputError(f"a search needs one vector of finite numbers, got shape {query.shape}")
        if self._dim and len(query) != self._dim:
            raise InputError(
                f"{self._address.label} holds vectors of {self._dim} numbers, but the query has {len(query)}"
            )
        return np.ascontiguousarray(query)

    @abstractmethod
    def _search(self, request: EngineRequest) -> list[EngineHits]:
        """Return the hits of each query."""


def one_line(error: object) -> str:
    return " ".join(str(error).split())


def best_first(
    ids: Sequence[Any],
    scores: Sequence[float] | NDArray[np.floating],
    columns: Mapping[str, Sequence[Any]],
    vectors: NDArray[np.float32] | None,
) -> EngineHits:
    """Return the hits in order. Rows without a score, such as zero vectors under cosine, are omitted."""
    numbers = np.asarray(scores, np.float64)
    order = np.argsort(-numbers, kind="stable")
    order = order[np.isfinite(numbers[order])]
    return EngineHits(
        [ids[i] for i in order],
        numbers[order],
        {name: [values[i] for i in order] for name, values in columns.items()},
        None if vectors is None else np.asarray(vectors, np.float32)[order],
    )


def key_of(names: Sequence[str], address: Address, table_key: str | None = None) -> str | None:
    """Return the column of ids: the one the address names, otherwise `path`, the primary key, or `id`; warn if none."""
    if address.id is not None and address.id not in names:
        raise InputError(f"{address.label} has no column {address.id!r}; it has: {', '.join(names)}")
    key = address.id or next((name for name in ("path", table_key, "id") if name in names), None)
    if key is None:
        warn(f"{address.label} has no key column: ids are positions in the result; name a column with ?id=", NoKey)
    return key


def cells_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows; each row may have different names."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def named_ids(cells: Mapping[str, Sequence[Any]], keys: list[Any], address: Address) -> list[Any]:
    """Return the ids of hits: the column that the address names, otherwise `path`; the table's own keys if missing.

    Warn if no hit has the column that the address names, which can happen in a table without fixed columns.
    """
    column = cells.get(address.id or "path")
    if address.id is not None and column is None and keys:
        warn(f"{address.label}: no hit has {address.id!r}; ids are the table's own keys", NoKey)
    if column is None:
        return keys
    if address.id is not None:
        return list(column)
    return [key if id_ is None else id_ for id_, key in zip(column, keys, strict=True)]


def fetched(columns: Sequence[str] | None, names: Sequence[str], key: str | None, label: str) -> list[str]:
    """Return the columns to fetch (default: all) and the column of ids; `location` for the name `location.lat`."""
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
    """Return one vector per row; several vectors of a row become their mean, as a unit vector."""
    if not several:
        return np.asarray(rows, np.float32).reshape(len(rows), dim)
    matrix = np.zeros((len(rows), dim), np.float32)
    for at, tokens in enumerate(rows):
        mean = np.asarray(tokens, np.float32).reshape(-1, dim).mean(axis=0)
        matrix[at] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return matrix
