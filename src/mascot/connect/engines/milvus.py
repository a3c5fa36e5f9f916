"""Milvus: collections of a server or cluster, or of a file through milvus-lite."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.converters.hit_lists import names_of
from mascot.connect.engines import engine
from mascot.connect.engines.address import Address, Metric, address_of_client
from mascot.connect.engines.engine import EngineHits, EngineRequest, EngineSource, EngineTable
from mascot.connect.engines.sink import VECTOR, Sink, SinkLayout, chunks
from mascot.errors import InputError, OptionError, require
from mascot.extras import package

_METRICS: dict[str, Metric] = {"COSINE": "cosine", "IP": "ip", "L2": "l2"}
_MOST = 16_384  # the largest number of candidates that Milvus returns
_LONGEST = 65_535  # bytes of a text
_PAGE = 1000
_TIMEOUT_S = 30
_PORT = re.compile(r":\d+$")
_FILES: Counter[Path] = Counter()  # clients of each file in this process
_FILES_LOCK = threading.Lock()


class MilvusTable(EngineTable):
    _client: Any = None

    def __init__(self, address: Address, client: Any = None, make: bool = False) -> None:
        self._address, self._owned = address, client is None
        self._errors = package("pymilvus", "milvus").MilvusException
        with self._in_use():
            self._client = _connect(address, make) if client is None else client

    def _inspect(self, layout: SinkLayout | None = None) -> None:
        """Read the fields and the index of the collection, and load it: Milvus searches loaded collections only.

        A sink checks the fields against its layout.
        """
        client, address = self._client, self._address
        if not client.has_collection(address.table):
            raise address.absent("collection", client.list_collections())
        description = client.describe_collection(address.table)
        kinds = package("pymilvus", "milvus").DataType
        fields, self._dynamic = description["fields"], bool(description.get("enable_dynamic_field"))
        self._vectors = [field["name"] for field in fields if kinds(field["type"]).name.endswith("VECTOR")]
        self._names = [field["name"] for field in fields if field["name"] not in self._vectors]
        if layout is not None:
            layout.check_table(address, self._names)
        self._key = next(field["name"] for field in fields if field.get("is_primary"))
        dims = {field["name"]: int(field["params"]["dim"]) for field in fields if field["type"] == kinds.FLOAT_VECTOR}
        self._vector = address.pick(list(dims))
        self._dim = dims[self._vector]
        indexes = client.list_indexes(address.table, field_name=self._vector)
        if not indexes:
            raise InputError(
                f"{address.label}: there is no index on {self._vector!r}; Milvus searches through one only"
            )
        index = client.describe_index(address.table, indexes[0])
        if index["metric_type"] not in _METRICS:
            raise InputError(f"{address.label}: metric must be COSINE, IP or L2, got {index['metric_type']}")
        self._index, self._metric = index["index_type"], address.agree(_METRICS[index["metric_type"]])
        self._load(address.table)

    def _load(self, name: str) -> None:
        if self._client.get_load_state(name)["state"].name != "Loaded":
            self._client.load_collection(name)

    def _read_facts(self) -> Mapping[str, str]:
        name = self._address.facts
        if not self._client.has_collection(name):
            return {}
        self._load(name)
        return {row["name"]: row["value"] for row in self._all(name, ("name", "value"), 'name != ""')}

    def _all(self, name: str, fields: Sequence[str], where: str) -> Iterator[Mapping[str, Any]]:
        rows = self._client.query_iterator(name, filter=where, output_fields=list(fields), batch_size=_PAGE)
        while page := rows.next():
            yield from page
        rows.close()

    @contextmanager
    def _in_use(self, where: str | None = None) -> Iterator[None]:
        with _quiet(), super()._in_use(where):
            yield

    def _message(self, error: Any) -> str:
        hint = " (one process at a time may open a file)" if self._client is None and _is_file(self._address) else ""
        return engine.one_line(getattr(error, "message", "") or error) + hint

    def _release(self) -> None:
        """Close the client; with the last client of a file also the server that milvus-lite runs in this process."""
        if not self._owned:
            return
        self._client.close()
        if not _is_file(self._address):
            return
        path = self._address.file
        with _FILES_LOCK:
            _FILES[path.resolve()] -= 1
            if not _FILES[path.resolve()]:
                package("milvus_lite.server_manager", "milvus").server_manager_instance.release_server(str(path))


class MilvusSource(MilvusTable, EngineSource):
    """A collection of Milvus, to be searched. `where` is a boolean expression of Milvus."""

    def __init__(self, address: Address, client: Any = None) -> None:
        super().__init__(address, client)
        with self._opening():
            self._inspect()
            if address.id is not None and not self._dynamic:
                engine.key_of(self._names, address)

    @classmethod
    def from_client(
        cls, client: Any, collection: str, *, vector: str | None = None, id: str | None = None
    ) -> MilvusSource:
        """Return a source for a collection of a `MilvusClient`; closing the source leaves the client open.

        The collection is loaded if necessary. `vector` and `id` mean the same as in an address.
        """
        return cls(address_of_client("milvus", collection, vector, id), client)

    def _search(self, request: EngineRequest) -> list[EngineHits]:
        require(request.count <= _MOST, "candidates", f"must be <= {_MOST:,} for Milvus", request.count)
        parameters = {"ef": max(request.count, 64)} if self._index == "HNSW" else {}
        answers = self._client.search(
            self._address.table,
            data=request.queries,
            anns_field=self._vector,
            limit=request.count,
            filter=request.where or "",
            output_fields=[*self._fields(request.columns), *([self._vector] if request.vectors else [])],
            search_params={"params": parameters},
        )
        return [self._answer(hits, request.vectors) for hits in answers]

    def _answer(self, hits: Sequence[Any], vectors: bool) -> EngineHits:
        scores = np.array([hit["distance"] for hit in hits], np.float64)
        if self._metric == "l2":
            scores = engine.from_l2(scores, squared=True)
        rows = [dict(hit["entity"]) for hit in hits]
        matrix = engine.matrix_of([row[self._vector] for row in rows], self._dim, several=False) if vectors else None
        cells = engine.cells_of([{name: row[name] for name in row if name not in self._vectors} for row in rows])
        ids = engine.named_ids(cells, [row[self._key] for row in rows], self._address)
        return engine.best_first(ids, scores, cells, matrix)

    def _fields(self, columns: Sequence[str] | None) -> list[str]:
        """Return the fields to fetch. If fields are dynamic, any name or prefix of a dotted name may be one."""
        if columns is None:
            return ["*"] if self._dynamic else self._names
        available = [*self._names, self._address.id or "path"] if self._dynamic else self._names
        if self._dynamic:
            available += [name.partition(".")[0] for name in names_of(columns)]
        id_column = self._address.id or ("path" if "path" in available else None)
        return [*engine.fetched(columns, available, id_column, self._address.label), self._key]


class MilvusSink(MilvusTable, Sink):
    """A collection of Milvus, to be written to. Milvus stores one vector per row."""

    def __init__(self, address: Address, layout: SinkLayout) -> None:
        if layout.tokens > 1:
            raise OptionError(
                f"{address.label}: milvus:// takes one vector per row, and this encoder returns {layout.tokens}: "
                "use lance://, qdrant:// or postgresql://"
            )
        super().__init__(address, make=True)
        self._layout = layout
        columns = {name: kind for name, kind in layout.types.items() if name != layout.key}
        metric = (address.metric or "cosine").upper()
        with self._opening():
            self._make(address.table, layout.key, columns, address.vector or VECTOR, layout.dim, metric)
            self._inspect(layout)
            layout.check_shape(address.label, self._dim, several=False)

    def _make(self, name: str, key: str, columns: Mapping[str, type], vector: str, dim: int, metric: str) -> None:
        """Create a collection if there is none, with a key of text and columns that may be missing."""
        client, milvus = self._client, package("pymilvus", "milvus")
        if client.has_collection(name):
            return
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field(key, milvus.DataType.VARCHAR, is_primary=True, max_length=_LONGEST)
        schema.add_field(vector, milvus.DataType.FLOAT_VECTOR, dim=dim)
        kinds = {int: milvus.DataType.INT64, float: milvus.DataType.DOUBLE, str: milvus.DataType.VARCHAR}
        for column, kind in columns.items():
            options = {"max_length": _LONGEST} if kind is str else {}
            schema.add_field(column, kinds[kind], nullable=True, **options)
        index = client.prepare_index_params()
        # The default index of milvus-lite misses rows; collections in a file are small enough for an exact search.
        index_kind = "FLAT" if _is_file(self._address) else "AUTOINDEX"
        index.add_index(field_name=vector, index_type=index_kind, metric_type=metric)
        try:
            client.create_collection(name, schema=schema, index_params=index, consistency_level="Strong")
        except milvus.MilvusException:
            if not client.has_collection(name):  # otherwise another process created it first
                raise

    def _put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        full = [
            {name: _fitting(value, self._layout.fields[name]) for name, value in row.items()} | {self._vector: vector}
            for row, vector in zip(rows, vectors[:, 0], strict=True)
        ]
        for batch in chunks(full):
            self._client.upsert(self._address.table, data=list(batch))

    def _select(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        return self._all(self._address.table, columns, f'{self._layout.key} != ""')

    def _remove(self, keys: Sequence[str]) -> None:
        # Not by `ids`: the client writes them into an expression without escaping quotes.
        quoted_keys = ", ".join(json.dumps(key, ensure_ascii=False) for key in keys)
        self._client.delete(self._address.table, filter=f"{self._layout.key} in [{quoted_keys}]")

    def _write_facts(self, facts: Mapping[str, str]) -> None:
        self._make(self._address.facts, "name", {"value": str}, "nothing", 2, "L2")  # a collection needs a vector
        rows = [{"name": name, "value": value, "nothing": [0.0, 0.0]} for name, value in facts.items()]
        if rows:
            self._client.upsert(self._address.facts, data=rows)


def _connect(address: Address, make: bool) -> Any:
    client = package("pymilvus", "milvus").MilvusClient
    if _is_file(address):
        if make:
            address.file.parent.mkdir(parents=True, exist_ok=True)
        with _FILES_LOCK:
            connection = client(str(address.file if make else address.open_file()))
            _FILES[address.file.resolve()] += 1
        return connection
    database = address.place.removeprefix("/")
    if not address.host or "/" in database or address.way not in ("", "https"):
        raise OptionError(
            "write milvus://HOST:PORT/COLLECTION, milvus://HOST:PORT/DATABASE/COLLECTION, milvus+https://... or "
            f"milvus:///FOLDER/FILE.db/COLLECTION, got {address.label!r}"
        )
    url, token = f"{address.way or 'http'}://{address.host}", os.environ.get("MILVUS_TOKEN", "")
    return client(url, token=token, db_name=database, timeout=_TIMEOUT_S)


def _is_file(address: Address) -> bool:
    """Return whether the address is a file: it ends with .db, and its host has no port."""
    return not address.way and str(address.file).endswith(".db") and not _PORT.search(address.host)


def _fitting(value: Any, kind: type) -> Any:
    """Return a value that Milvus accepts: long texts are truncated, and long lists lose their last entries."""
    if not isinstance(value, str) or len(value) * 4 <= _LONGEST or len(value.encode()) <= _LONGEST:
        return value
    if kind is not list:
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


SOURCE, SINK = MilvusSource, MilvusSink
