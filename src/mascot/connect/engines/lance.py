"""LanceDB: tables in a folder or in object storage, searched in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.engines import engine
from mascot.connect.engines.address import Address, Metric, address_of_client
from mascot.connect.engines.engine import EngineHits, EngineRequest, EngineSource, EngineTable
from mascot.connect.engines.sink import VECTOR, Sink, SinkLayout
from mascot.extras import package

_METRICS = {"cosine": "cosine", "ip": "dot", "l2": "l2"}
_PAGE = 10_000  # rows read at once
_TRIES = 5  # attempts of a write that conflicts with another process
_ERRORS = (ValueError, RuntimeError, OSError)
_NO_TABLE = (ValueError, FileNotFoundError)


class LanceTable(EngineTable):
    """A table and its database; the database is None if the caller opened the table."""

    _database: Any = None
    _table: Any = None
    _errors = _ERRORS

    def _read_facts(self) -> Mapping[str, str]:
        if self._database is None:
            return {}
        try:
            table = self._database.open_table(self._address.facts)
        except _NO_TABLE:
            return {}
        return {row["name"]: row["value"] for row in table.to_arrow().to_pylist()}

    def _inspect(self) -> None:
        """Read the columns, the dimension of the vectors, and whether a row has several vectors."""
        schema = self._table.schema
        shapes = _shapes_of(schema)
        self._vector = self._address.pick(list(shapes))
        self._dim, self._several = shapes[self._vector]
        self._names = [name for name in schema.names if name not in shapes]

    def _release(self) -> None:
        self._table = self._database = None


class LanceSource(LanceTable, EngineSource):
    """A table of LanceDB, to be searched. `where` is SQL over its columns."""

    def __init__(self, address: Address, table: Any = None) -> None:
        self._address, self._table = address, table
        with self._opening():
            if table is None:
                database = self._database = _connect(address, make=False)
                try:
                    self._table = database.open_table(address.table)
                except _NO_TABLE:
                    raise address.absent("table", database.list_tables().tables) from None
            self._inspect()
            self._key = engine.key_of(self._names, address)

    @classmethod
    def from_table(
        cls, table: Any, *, vector: str | None = None, id: str | None = None, metric: Metric | None = None
    ) -> LanceSource:
        """Return a source for a table that LanceDB's `open_table` returned; closing the source leaves it open.

        `vector`, `id` and `metric` mean the same as in an address.
        """
        return cls(address_of_client("lance", table.name, vector, id, metric), table)

    def _search(self, request: EngineRequest) -> list[EngineHits]:
        names = engine.fetched(request.columns, self._names, self._key, self._address.label)
        indexed, metric = self._index()
        return [self._answer(query, request, names, indexed, metric) for query in request.queries]

    def _answer(
        self, query: NDArray[np.float32], request: EngineRequest, names: list[str], indexed: bool, metric: str
    ) -> EngineHits:
        search = self._table.search(query, vector_column_name=self._vector, query_type="vector")
        search = search.distance_type(metric).limit(request.count)
        if request.columns is not None or not request.vectors:
            search = search.select([*names, *([self._vector] if request.vectors else []), "_distance"])
        if indexed:
            search = search.refine_factor(1)  # an index may store approximate vectors; scores must be exact
        if request.where is not None:
            search = search.where(request.where, prefilter=True)
        rows = search.to_arrow()
        if indexed and rows.num_rows < request.count:
            # An index searches only some of its cells; the others may hold more rows.
            rows = search.bypass_vector_index().to_arrow()
        distances = rows["_distance"].to_numpy()
        scores = engine.from_l2(distances, squared=True) if metric == "l2" else 1 - distances.astype(np.float64)
        cells = {name: rows[name].to_pylist() for name in names}
        ids = list(range(rows.num_rows)) if self._key is None else cells[self._key]
        return engine.best_first(ids, scores, cells, self._matrix(rows[self._vector]) if request.vectors else None)

    def _matrix(self, column: Any) -> NDArray[np.float32]:
        flat = column.combine_chunks()
        if self._several:
            return engine.matrix_of(flat.to_pylist(), self._dim, several=True)
        numbers = np.asarray(flat.flatten().to_numpy(zero_copy_only=False), np.float32)
        return numbers.reshape(len(column), self._dim)

    def _index(self) -> tuple[bool, str]:
        """Return whether the vectors are indexed, and the metric: that of the address, of the index, or cosine."""
        metric = _METRICS[self._address.metric] if self._address.metric else None
        for index in self._table.list_indices():
            if list(index.columns) == [self._vector]:
                stats = self._table.index_stats(index.name)
                return True, str(metric or stats.distance_type)
        return False, metric or "cosine"


class LanceSink(LanceTable, Sink):
    """A table of LanceDB, to be written to. Several processes may write at once."""

    def __init__(self, address: Address, layout: SinkLayout) -> None:
        arrow = package("pyarrow", "lance")
        self._arrow, self._address, self._layout = arrow, address, layout
        kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
        token = arrow.list_(arrow.float32(), layout.dim)
        fields = [arrow.field(name, kinds[kind]) for name, kind in layout.types.items()]
        fields.append(arrow.field(address.vector or VECTOR, token if layout.tokens == 1 else arrow.list_(token)))
        self._schema = arrow.schema(fields)
        with self._opening():
            self._database = _connect(address, make=True)
            self._table = self._open_or_make(address.table, self._schema)
            layout.check_table(address, self._table.schema.names)
            self._inspect()
            layout.check_shape(address.label, self._dim, self._several)

    def _open_or_make(self, name: str, schema: Any) -> Any:
        """Open the table, or create it; another process may be creating it at the same time."""
        try:
            return self._database.open_table(name)
        except _NO_TABLE:
            try:
                return self._database.create_table(name, schema=schema, exist_ok=True)
            except _ERRORS:
                return self._database.open_table(name)

    def _put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        arrow, layout = self._arrow, self._layout
        flat = arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.reshape(-1)), layout.dim)
        if layout.tokens > 1:
            flat = arrow.ListArray.from_arrays(np.arange(len(rows) + 1, dtype=np.int32) * layout.tokens, flat)
        columns = {name: [row[name] for row in rows] for name in layout.fields}
        table = arrow.table({**columns, self._schema.names[-1]: flat}, schema=self._schema)
        _merge(self._table, layout.key, table)

    def _select(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        self._table.checkout_latest()
        for batch in self._table.search().select(list(columns)).limit(None).to_batches(_PAGE):
            yield from batch.to_pylist()

    def _remove(self, keys: Sequence[str]) -> None:
        quoted_keys = ", ".join("'" + key.replace("'", "''") + "'" for key in keys)
        self._table.delete(f"{self._layout.key} IN ({quoted_keys})")

    def _write_facts(self, facts: Mapping[str, str]) -> None:
        text = self._arrow.string()
        schema = self._arrow.schema([("name", text), ("value", text)])
        rows = {"name": list(facts), "value": list(facts.values())}
        table = self._open_or_make(self._address.facts, schema)
        _merge(table, "name", self._arrow.table(rows, schema=schema))


def _connect(address: Address, make: bool) -> Any:
    lancedb = package("lancedb", "lance")
    place: Any = f"{address.way}://{address.host}{address.place}"
    if not address.way:
        place = address.file if make else address.open_file()
    # The next search sees what another process has written.
    return lancedb.connect(place, read_consistency_interval=timedelta(0))


def _merge(table: Any, key: str, rows: Any) -> None:
    """Insert rows, or replace those of the same key. Lance rejects the slower of two writers, which retries."""
    for attempt in range(1, _TRIES + 1):
        try:
            table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows)
            return
        except _ERRORS as error:
            if "conflict" not in str(error).lower() or attempt == _TRIES:
                raise
            table.checkout_latest()


def _shapes_of(schema: Any) -> dict[str, tuple[int, bool]]:
    """Return the columns of vectors: their dimension, and whether a row has several vectors."""
    types = package("pyarrow.types", "lance")
    shapes: dict[str, tuple[int, bool]] = {}
    for field in schema:
        several = types.is_list(field.type) and types.is_fixed_size_list(field.type.value_type)
        kind = field.type.value_type if several else field.type
        if types.is_fixed_size_list(kind) and types.is_floating(kind.value_type):
            shapes[field.name] = (kind.list_size, several)
    return shapes


SOURCE, SINK = LanceSource, LanceSink
