"""Sources of candidates and sinks of an index: two small protocols, and the engines that implement them."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

import mascot as mc
from mascot.candidates import RecordColumns
from mascot.connect.address import Address, read_address
from mascot.connect.closing import Closing
from mascot.connect.nested import names_of, stem_of, unfolded
from mascot.connect.rows import LISTS
from mascot.connect.warned import warn
from mascot.errors import InputError, check_whole, require
from mascot.methods.base import Method
from mascot.rerank import Already

CANDIDATES = 200


class FewCandidates(UserWarning):
    """No more candidates than results: there is nothing to choose from."""


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
        result: mc.Candidates = mc.Candidates(self.scores, self.ids, None, self.vectors)
        result.columns, result.source = FoundColumns(self), FoundRecords(self)
        return result

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
        rows = zip(*columns.values(), *id_and_score.values(), strict=True)
        return [dict(zip([*columns, *id_and_score], row, strict=True)) for row in rows]


class FoundColumns(RecordColumns):
    """Columns of an engine's hits, and of the dictionaries within them."""

    def __init__(self, hits: Found) -> None:
        super().__init__(hits.ids)
        for name, values in hits.columns.items():
            if len(values) != len(hits):
                raise InputError(f"Found.columns[{name!r}] must have {len(hits)} values like ids, got {len(values)}")
        labels = {name: _labels(hits.columns[name]) for name in LISTS if name in hits.columns}
        self._values = unfolded({**hits.columns, **labels})

    def cells(self, name: str) -> list[Any]:
        return list(self._values[name]) if name in self._values else [None] * len(self._records)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)


class FoundRecords(Sequence[dict[str, Any]]):
    """The records of an engine's hits, created on access."""

    def __init__(self, hits: Found) -> None:
        self._hits = hits

    @cached_property
    def _records(self) -> list[dict[str, Any]]:
        return self._hits.records()

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, at: Any) -> Any:
        return self._records[at]


class Searchable(Protocol):
    """The interface of a source that `steer` needs."""

    def search(self, vector: Any, *, candidates: int = CANDIDATES, where: str | None = None) -> Found:
        """Return the nearest rows for which the filter `where`, in the engine's own language, holds."""


class Source(Searchable, Protocol):
    """A table that may say how it was made, and that can be closed."""

    def facts(self) -> dict[str, str]:
        """Return how the table was made: `encoder`, `fingerprint` and so on, as in a library; empty if unknown."""

    def close(self) -> None:
        """Close it; closing twice has no effect."""


class OpenSource(Source, Protocol):
    """A table of an engine; see `EngineSource`. It closes at the end of a `with`."""

    def search(
        self,
        vector: ArrayLike,
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> Found:
        """Return the nearest rows."""

    def search_many(
        self,
        queries: ArrayLike,
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> list[Found]:
        """Return the nearest rows of each query."""

    async def asearch(
        self,
        vector: ArrayLike,
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> Found:
        """Return the nearest rows without blocking the event loop."""

    def __enter__(self) -> OpenSource: ...

    def __exit__(self, *_: object) -> None: ...


class EngineSource(Closing):
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
        return self._search([self._request(vector, candidates, where)], columns, vectors)[0]

    def search_many(
        self,
        queries: ArrayLike,
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        vectors: bool = True,
    ) -> list[Found]:
        """Return the nearest rows of each query, a row of `queries`.

        Qdrant and Milvus answer all of them in one request; LanceDB and PostgreSQL one after the other. The rest is as
        for `search`.
        """
        requests = [self._request(vector, candidates, where) for vector in np.asarray(queries, np.float32)]
        return self._search(requests, columns, vectors) if requests else []

    async def asearch(self, vector: ArrayLike, **options: Any) -> Found:
        """Return what `search` returns. It runs in a thread, so that other tasks of the event loop go on."""
        return await asyncio.to_thread(self.search, vector, **options)

    def _request(self, vector: ArrayLike, candidates: int, where: str | None) -> Request:
        return check_request(vector, candidates, where, self._dim, self._address.label)

    @abstractmethod
    def _search(self, requests: Sequence[Request], columns: Sequence[str] | None, vectors: bool) -> list[Found]:
        """Answer requests, at least one; only their vectors differ."""


class Sink(Protocol):
    """Where an index is written. Writing is idempotent."""

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        """Insert rows and their vectors, n x dim or n x tokens x dim, or replace those of the same path."""

    def states(self) -> Iterator[tuple[str, tuple[int, int, str, str]]]:
        """Yield the path of each row, and its size, mtime_ns, hash and stamp."""

    def remove(self, paths: Sequence[str]) -> None:
        """Delete these rows; paths that do not exist are ignored."""

    def set_facts(self, facts: Mapping[str, str]) -> None: ...

    def facts(self) -> dict[str, str]: ...

    def close(self) -> None:
        """Close it; closing twice has no effect."""


class OpenSink(Sink, Protocol):
    """A table of an engine, to be written to. It closes at the end of a `with`."""

    def __enter__(self) -> OpenSink: ...

    def __exit__(self, *_: object) -> None: ...


def open_source(uri: str) -> OpenSource:
    """Open the table at an address for searching.

    Parameters
    ----------
    uri
        `lance:///FOLDER/TABLE`, `lance+s3://BUCKET/FOLDER/TABLE`, `qdrant://HOST:PORT/COLLECTION`,
        `qdrant+local:///FOLDER/COLLECTION`, `milvus://HOST:PORT/COLLECTION`,
        `milvus://HOST:PORT/DATABASE/COLLECTION`, `milvus:///FILE.db/COLLECTION` or
        `postgresql://HOST/DATABASE?table=TABLE`; after it `?vector=` and `?id=` name columns, and `?metric=`
        is cosine, ip or l2 where the engine does not know.
    """
    address = read_address(uri)
    if address.engine == "lance":
        from mascot.connect.lance import LanceSource

        return LanceSource(address)
    if address.engine == "qdrant":
        from mascot.connect.qdrant import QdrantSource

        return QdrantSource(address)
    if address.engine == "milvus":
        from mascot.connect.milvus import MilvusSource

        return MilvusSource(address)
    from mascot.connect.postgres import PostgresSource

    return PostgresSource(address)


def open_sink(uri: str, *, dim: int, tokens: int = 1) -> OpenSink:
    """Open the table at an address for writing; create it where there is none.

    Vectors have `dim` numbers, and a photograph `tokens` of them.
    """
    require(dim >= 1, "dim", "must be >= 1", dim)
    require(tokens >= 1, "tokens", "must be >= 1", tokens)
    address = read_address(uri)
    if address.engine == "lance":
        from mascot.connect.lance import LanceSink

        return LanceSink(address, dim, tokens)
    if address.engine == "qdrant":
        from mascot.connect.qdrant import QdrantSink

        return QdrantSink(address, dim, tokens)
    if address.engine == "milvus":
        from mascot.connect.milvus import MilvusSink

        return MilvusSink(address, dim, tokens)
    from mascot.connect.postgres import PostgresSink

    return PostgresSink(address, dim, tokens)


@dataclass(frozen=True, slots=True)
class Steered:
    """The hits of an engine, and their ranking by the wishes."""

    found: Found
    ranking: mc.Ranking | None  # None where nothing was found

    def records(self) -> list[dict[str, Any]]:
        """Return the selected rows in their new order."""
        if self.ranking is None:
            return []
        records = self.found.records()
        return [records[int(position)] for position in self.ranking.positions]


def steer(
    source: Searchable,
    vector: ArrayLike,
    wishes: mc.AnyWish | Sequence[mc.AnyWish],
    k: int = 20,
    *,
    candidates: int = CANDIDATES,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    vectors: bool = True,
    method: Method | None = None,
    already: Already = None,
) -> Steered:
    """Search for more candidates than are shown, and select k of them as the wishes ask.

    Parameters
    ----------
    source
        Where to search.
    vector
        What to search with.
    wishes, k, method
        As for `mascot.rerank`.
    candidates
        How many rows to search for (default: 200).
    where
        A filter in the engine's own language (default: None).
    columns, vectors
        What to fetch of each row, as for `OpenSource.search` (default: everything). The wishes need their columns.
    already
        The ranking of the page before, or ids that were shown: not shown again, and counted as covered. Ids that are no
        longer among the candidates are ignored (default: None).
    """
    warn_of_few(candidates, k)
    options: dict[str, Any] = ({} if columns is None else {"columns": columns}) | (
        {} if vectors else {"vectors": False}
    )
    hits = source.search(vector, candidates=candidates, where=where, **options)
    return Steered(hits, mc.rerank(hits.candidates(), wishes, k, method, already) if len(hits) else None)


async def asteer(
    source: Searchable, vector: ArrayLike, wishes: mc.AnyWish | Sequence[mc.AnyWish], k: int = 20, **options: Any
) -> Steered:
    """Return what `steer` returns. It runs in a thread, so that other tasks of the event loop go on."""
    return await asyncio.to_thread(steer, source, vector, wishes, k, **options)


def steer_many(
    source: OpenSource,
    queries: ArrayLike,
    wishes: mc.AnyWish | Sequence[mc.AnyWish],
    k: int = 20,
    *,
    candidates: int = CANDIDATES,
    where: str | None = None,
    columns: Sequence[str] | None = None,
    vectors: bool = True,
    method: Method | None = None,
) -> list[Steered]:
    """Search with several vectors and select for each: what `steer` returns for each row of `queries`.

    The engine is asked once where it can answer several queries, and all are re-ranked by one call.
    """
    warn_of_few(candidates, k)
    hits = source.search_many(queries, candidates=candidates, where=where, columns=columns, vectors=vectors)
    candidate_lists = [part.candidates() for part in hits if len(part)]
    rankings = iter(mc.rerank_many(candidate_lists, wishes, k, method) if candidate_lists else ())
    return [Steered(part, next(rankings) if len(part) else None) for part in hits]


def warn_of_few(candidates: int, k: int) -> None:
    """Warn where nothing is over-fetched."""
    check_whole("candidates", candidates, 1)
    check_whole("k", k, 1)
    if candidates <= k:
        warn(
            f"candidates={candidates} and k={k}: nothing is left to choose from; ask for ten times as many candidates",
            FewCandidates,
        )


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


@dataclass(frozen=True, slots=True)
class Request:
    """A checked search request."""

    query: NDArray[np.float32]
    count: int
    where: str | None  # None where there is no filter


def check_request(vector: ArrayLike, candidates: int, where: str | None, dim: int | None, label: str) -> Request:
    """Check the arguments of a search; an empty filter is None."""
    check_whole("candidates", candidates, 1)
    require(where is None or isinstance(where, str), "where", "must be text in the engine's own language", where)
    try:
        query = np.asarray(vector, np.float32)
    except (TypeError, ValueError):
        raise InputError(f"a search needs one vector of finite numbers, got {vector!r:.60}") from None
    if query.ndim != 1 or not np.isfinite(query).all():
        raise InputError(f"a search needs one vector of finite numbers, got shape {query.shape}")
    if dim is not None and len(query) != dim:
        raise InputError(f"{label} holds vectors of {dim} numbers, and the one to search with has {len(query)}")
    return Request(np.ascontiguousarray(query), int(candidates), where if where and where.strip() else None)


def key_of(names: Sequence[str], address: Address, table_key: str | None = None) -> str | None:
    """Return the column of ids: the one the address names, else `path`, the primary key, or `id`; warn if none."""
    if address.id is not None and address.id not in names:
        raise InputError(f"{address.label} has no column {address.id!r}; it has: {', '.join(names)}")
    key = address.id or next((name for name in ("path", table_key, "id") if name in names), None)
    if key is None:
        warn(f"{address.label} has no key of one column: ids are places in the result; name a column with ?id=", NoKey)
    return key


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


def same_shape(label: str, table: tuple[int, int], rows: tuple[int, int]) -> None:
    """Refuse to mix vectors of several shapes in one table."""
    if table != rows:
        expected, actual = (f"{tokens} x {dim}" for dim, tokens in (table, rows))
        raise InputError(f"{label} holds vectors of {expected} numbers, and these have {actual}: name another table")


def _labels(values: Sequence[Any]) -> list[Any]:
    return [json.loads(value) if isinstance(value, str) and value.startswith("[") else value for value in values]
