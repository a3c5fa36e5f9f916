"""Milvus: collections of a server or cluster, or of a file through milvus-lite."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.address import Address, Metric, address_of_client
from mascot.connect.closing import Closing
from mascot.connect.nested import names_of
from mascot.connect.rows import FIELDS, LISTS, STATE, VECTOR, States, checked, chunks, fits, state_of
from mascot.connect.source import (
    EngineSource,
    Found,
    Request,
    best_first,
    fetched,
    from_l2,
    key_of,
    named_ids,
    same_shape,
)
from mascot.errors import InputError, OptionError, require
from mascot.extras import package

_METRICS: dict[str, Metric] = {"COSINE": "cosine", "IP": "ip", "L2": "l2"}
_MOST = 16_384  # candidates that Milvus returns at most
_LONGEST = 65_535  # bytes of a text
_AT_ONCE = 256
_PAGE = 1000
_TIMEOUT_S = 30
_PORT = re.compile(r":\d+$")
_FILES: Counter[str] = Counter()  # clients of each file in this process
_FILES_LOCK = threading.Lock()


class MilvusSource(EngineSource):
    """A collection of Milvus, to be searched. `where` is a boolean expression of Milvus."""

    _dim: int

    def __init__(self, address: Address, client: Any = None) -> None:
        self._address, self._owned = address, client is None
        self._client = _connect(address, make=False) if client is None else client
        closing = _closed_on_error(self._client, address) if self._owned else nullcontext()
        with closing, _naming_errors(address):
            self._vector, self._dim, self._key = _shape_of(self._client, address)
            self._names, self._vectors, self._dynamic = _fields_of(self._client, address)
            if address.id is not None and not self._dynamic:
                key_of(self._names, address)
            self._index, self._metric = _index_of(self._client, address, self._vector)
            _load(self._client, address.table)

    @classmethod
    def from_client(
        cls, client: Any, collection: str, *, vector: str | None = None, id: str | None = None
    ) -> MilvusSource:
        """Return a source over a collection that a client reaches.

        Parameters
        ----------
        client
            A `MilvusClient`; closing the source leaves it open.
        collection
            The name of the collection, which is loaded if it is not.
        vector, id
            As in an address (default: None).
        """
        return cls(address_of_client("milvus", collection, vector, id), client)

    def _search(self, requests: Sequence[Request], columns: Sequence[str] | None, vectors: bool) -> list[Found]:
        count, where = requests[0].count, requests[0].where
        require(count <= _MOST, "candidates", f"must be <= {_MOST:,} for Milvus", count)
        parameters = {"ef": max(count, 64)} if self._index == "HNSW" else {}
        with _naming_errors(self._address, where):
            answers = self._client.search(
                self._address.table,
                data=[request.query for request in requests],
                anns_field=self._vector,
                limit=count,
                filter=where or "",
                output_fields=[*self._fields(columns), *([self._vector] if vectors else [])],
                search_params={"params": parameters},
            )
        return [self._answer(hits, vectors) for hits in answers]

    def _answer(self, hits: Sequence[Any], vectors: bool) -> Found:
        distances = [hit["distance"] for hit in hits]
        scores = from_l2(distances, squared=True) if self._metric == "l2" else np.asarray(distances, np.float64)
        rows = [dict(hit["entity"]) for hit in hits]
        # "*" includes all vectors.
        names = list(dict.fromkeys(name for row in rows for name in row if name not in self._vectors))
        cells = {name: [row.get(name) for row in rows] for name in names}
        lists = [row.get(self._vector) for row in rows]
        matrix = np.asarray(lists, np.float32).reshape(len(rows), self._dim) if vectors else None
        ids = named_ids(cells, [row[self._key] for row in rows], self._address)
        return best_first(ids, scores, cells, matrix)

    def _fields(self, columns: Sequence[str] | None) -> list[str]:
        """Return the fields to fetch. Where fields are dynamic, any name or prefix of a dotted name may be one."""
        if columns is None:
            return ["*"] if self._dynamic else self._names
        available = [*self._names, self._address.id or "path"] if self._dynamic else self._names
        if self._dynamic:
            available += [name.partition(".")[0] for name in names_of(columns)]
        id_column = self._address.id or ("path" if "path" in available else None)
        return [*fetched(columns, available, id_column, self._address.label), self._key]

    def facts(self) -> dict[str, str]:
        return _facts(self._client, self._address)

    def _release(self) -> None:
        if self._owned:
            _close(self._client, self._address)


class MilvusSink(Closing):
    """A collection of Milvus, to be written to. Photographs of several vectors need another engine."""

    def __init__(self, address: Address, dim: int, tokens: int) -> None:
        if tokens > 1:
            raise OptionError(
                f"{address.label}: milvus:// takes one vector a photograph, and this encoder gives {tokens}: "
                "use lance://, qdrant:// or postgresql://"
            )
        self._address, self._dim = address, dim
        self._vector = address.vector or VECTOR
        self._client = _connect(address, make=True)
        with _closed_on_error(self._client, address), _naming_errors(address):
            if not self._client.has_collection(address.table):
                metric = (address.metric or "cosine").upper()
                _make(self._client, address, address.table, self._schema(), self._vector, metric)
            _load(self._client, address.table)
            fits(address, _fields_of(self._client, address)[0])
            self._vector, table_dim, _ = _shape_of(self._client, address)
            _index_of(self._client, address, self._vector)
            same_shape(address.label, (table_dim, 1), (dim, 1))

    def _schema(self) -> Any:
        kinds = package("pymilvus", "milvus").DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("path", kinds.VARCHAR, is_primary=True, max_length=_LONGEST)
        schema.add_field(self._vector, kinds.FLOAT_VECTOR, dim=self._dim)
        for name, kind in FIELDS.items():
            if name == "path":
                continue
            if kind is str:
                schema.add_field(name, kinds.VARCHAR, max_length=_LONGEST, nullable=True)
            else:
                schema.add_field(name, kinds.INT64 if kind is int else kinds.DOUBLE, nullable=True)
        return schema

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        records, numbers = checked(rows, vectors, self._dim, 1)
        full = [
            {name: _fitting(name, value) for name, value in row.items()} | {self._vector: vector}
            for row, vector in zip(records, numbers[:, 0], strict=True)
        ]
        with _naming_errors(self._address):
            for batch in chunks(full, _AT_ONCE):
                self._client.upsert(self._address.table, data=list(batch))

    def states(self) -> States:
        with _naming_errors(self._address):
            yield from map(state_of, _all(self._client, self._address.table, STATE, 'path != ""'))

    def remove(self, paths: Sequence[str]) -> None:
        with _naming_errors(self._address):
            for batch in chunks(paths, _AT_ONCE):
                # Not by `ids`: the client writes them into an expression without escaping quotes.
                quoted_paths = ", ".join(json.dumps(path, ensure_ascii=False) for path in batch)
                self._client.delete(self._address.table, filter=f"path in [{quoted_paths}]")

    def set_facts(self, facts: Mapping[str, str]) -> None:
        name = self._address.facts
        kinds = package("pymilvus", "milvus").DataType
        with _naming_errors(self._address):
            if not self._client.has_collection(name):
                schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
                schema.add_field("name", kinds.VARCHAR, is_primary=True, max_length=_LONGEST)
                schema.add_field("value", kinds.VARCHAR, max_length=_LONGEST)
                schema.add_field("nothing", kinds.FLOAT_VECTOR, dim=2)  # there must be a vector
                _make(self._client, self._address, name, schema, "nothing", "L2")
            rows = [{"name": key, "value": value, "nothing": [0.0, 0.0]} for key, value in facts.items()]
            if rows:
                self._client.upsert(name, data=rows)

    def facts(self) -> dict[str, str]:
        return _facts(self._client, self._address)

    def _release(self) -> None:
        _close(self._client, self._address)


def _connect(address: Address, make: bool) -> Any:
    milvus = package("pymilvus", "milvus")
    try:
        if _is_file(address):
            if make:
                address.file.parent.mkdir(parents=True, exist_ok=True)
            with _FILES_LOCK, _quiet():
                client = milvus.MilvusClient(str(address.file if make else address.open_file()))
                _FILES[str(address.file.resolve())] += 1
            return client
        database = address.place.removeprefix("/")
        if not address.host or "/" in database or address.way not in ("", "https"):
            raise OptionError(
                "write milvus://HOST:PORT/COLLECTION, milvus://HOST:PORT/DATABASE/COLLECTION, milvus+https://... or "
                f"milvus:///FOLDER/FILE.db/COLLECTION, got {address.label!r}"
            )
        with _quiet():
            return milvus.MilvusClient(
                f"{address.way or 'http'}://{address.host}",
                token=os.environ.get("MILVUS_TOKEN", ""),
                db_name=database,
                timeout=_TIMEOUT_S,
            )
    except milvus.MilvusException as error:
        hint = " (one process at a time may open a file)" if _is_file(address) else ""
        raise InputError(f"cannot use {address.label}: {_line(error)}{hint}") from None


def _is_file(address: Address) -> bool:
    """Return whether the address is a file: it ends with .db, and its host has no port."""
    return not address.way and str(address.file).endswith(".db") and not _PORT.search(address.host)


def _close(client: Any, address: Address) -> None:
    """Close the client; with the last client of a file also the server that milvus-lite runs in this process."""
    client.close()
    if not _is_file(address):
        return
    name = str(address.file.resolve())
    with _FILES_LOCK:
        _FILES[name] -= 1
        if not _FILES[name]:
            del _FILES[name]
            package("milvus_lite.server_manager", "milvus").server_manager_instance.release_server(str(address.file))


@contextmanager
def _closed_on_error(client: Any, address: Address) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _close(client, address)
        raise


def _shape_of(client: Any, address: Address) -> tuple[str, int, str]:
    """Return the field of vectors, their dimension, and the primary key."""
    if not client.has_collection(address.table):
        collections = ", ".join(sorted(client.list_collections())) or "none"
        raise InputError(f"{address.label}: there is no collection {address.table!r}; collections: {collections}")
    fields = client.describe_collection(address.table)["fields"]
    kinds = package("pymilvus", "milvus").DataType
    dims = {field["name"]: int(field["params"]["dim"]) for field in fields if field["type"] == kinds.FLOAT_VECTOR}
    name = address.pick(list(dims))
    return name, dims[name], next(field["name"] for field in fields if field.get("is_primary"))


def _fields_of(client: Any, address: Address) -> tuple[list[str], list[str], bool]:
    """Return the fields that are not vectors, those that are, and whether rows may have other fields."""
    description = client.describe_collection(address.table)
    kinds = package("pymilvus", "milvus").DataType
    names: dict[bool, list[str]] = {False: [], True: []}
    for field in description["fields"]:
        names[kinds(field["type"]).name.endswith("VECTOR")].append(field["name"])
    return names[False], names[True], bool(description.get("enable_dynamic_field"))


def _index_of(client: Any, address: Address, vector: str) -> tuple[str, Metric]:
    """Return the kind of index on the vectors, and its metric."""
    names = client.list_indexes(address.table, field_name=vector)
    if not names:
        raise InputError(f"{address.label}: there is no index on {vector!r}; Milvus searches through one only")
    description = client.describe_index(address.table, names[0])
    if description["metric_type"] not in _METRICS:
        raise InputError(f"{address.label}: metric must be COSINE, IP or L2, got {description['metric_type']}")
    return description["index_type"], address.agree(_METRICS[description["metric_type"]])


def _make(client: Any, address: Address, name: str, schema: Any, vector: str, metric: str) -> None:
    index = client.prepare_index_params()
    # The default index of milvus-lite misses rows; collections in a file are small enough for an exact search.
    kind = "FLAT" if _is_file(address) else "AUTOINDEX"
    index.add_index(field_name=vector, index_type=kind, metric_type=metric)
    try:
        client.create_collection(name, schema=schema, index_params=index, consistency_level="Strong")
    except package("pymilvus", "milvus").MilvusException:
        if not client.has_collection(name):  # otherwise another process created it first
            raise


def _load(client: Any, name: str) -> None:
    """Load the collection into memory, if it is not there: Milvus searches loaded collections only."""
    if client.get_load_state(name)["state"].name != "Loaded":
        client.load_collection(name)


def _facts(client: Any, address: Address) -> dict[str, str]:
    with _naming_errors(address):
        if not client.has_collection(address.facts):
            return {}
        _load(client, address.facts)
        return {row["name"]: row["value"] for row in _all(client, address.facts, ("name", "value"), 'name != ""')}


def _all(client: Any, name: str, fields: Sequence[str], where: str) -> Iterator[Mapping[str, Any]]:
    rows = client.query_iterator(name, filter=where, output_fields=list(fields), batch_size=_PAGE)
    while page := rows.next():
        yield from page
    rows.close()


def _fitting(name: str, value: Any) -> Any:
    """Return a value that Milvus accepts: long text is truncated, and a long list loses its last entries."""
    if not isinstance(value, str) or len(value) * 4 <= _LONGEST or len(value.encode()) <= _LONGEST:
        return value
    if name not in LISTS:
        return value.encode()[:_LONGEST].decode(errors="ignore")
    entries = json.loads(value)
    while len(json.dumps(entries, ensure_ascii=False).encode()) > _LONGEST:
        entries = entries[: len(entries) // 2]
    return json.dumps(entries, ensure_ascii=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the loggers of Milvus, which print the tracebacks of errors that are raised anyway."""
    loggers = [logging.getLogger(name) for name in ("pymilvus", "milvus_lite")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _naming_errors(address: Address, where: str | None = None) -> Iterator[None]:
    milvus = package("pymilvus", "milvus")
    with _quiet():
        try:
            yield
        except milvus.MilvusException as error:
            if where is not None:
                raise OptionError(f"where: {_line(error)} in {where!r}") from None
            raise InputError(f"cannot use {address.label}: {_line(error)}") from None


def _line(error: Any) -> str:
    return " ".join(str(getattr(error, "message", "") or error).split())
