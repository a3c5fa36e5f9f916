"""LanceDB: tables in a folder or in object storage, searched in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.connect.address import Address, Metric, address_of_client
from mascot.connect.closing import Closing
from mascot.connect.rows import FIELDS, STATE, VECTOR, States, Vectors, checked, chunks, fits, one_each, state_of
from mascot.connect.source import EngineSource, Found, Request, best_first, fetched, from_l2, key_of, same_shape
from mascot.errors import InputError, OptionError
from mascot.extras import package

_METRICS = {"cosine": "cosine", "ip": "dot", "l2": "l2"}
_AT_ONCE = 500  # paths in one expression
_PAGE = 10_000  # rows read at once
_TRIES = 5  # of a write that conflicts with another process


class LanceSource(EngineSource):
    """A table of LanceDB, to be searched. `where` is SQL over its columns."""

    _dim: int

    def __init__(self, address: Address, table: Any = None) -> None:
        self._address = address
        self._database = _connect(address, make=False) if table is None else None
        self._table = _open(self._database, address) if table is None else table
        schema = self._table.schema
        shapes = _shapes_of(schema)
        self._vector = address.pick(list(shapes))
        self._dim, self._tokens = shapes[self._vector]
        self._names = [name for name in schema.names if name not in shapes]
        self._key = key_of(self._names, address)

    @classmethod
    def from_table(
        cls, table: Any, *, vector: str | None = None, id: str | None = None, metric: Metric | None = None
    ) -> LanceSource:
        """Return a source over a table that is open already.

        Parameters
        ----------
        table
            What `open_table` of LanceDB returned; closing the source leaves it open.
        vector, id, metric
            As in an address (default: None).
        """
        return cls(address_of_client("lance", table.name, vector, id, metric), table)

    def _search(self, requests: Sequence[Request], columns: Sequence[str] | None, vectors: bool) -> list[Found]:
        names = fetched(columns, self._names, self._key, self._address.label)
        indexed, metric = self._index()
        select = None if columns is None and vectors else [*names, *([self._vector] if vectors else []), "_distance"]
        return [self._answer(request, names, select, vectors, indexed, metric) for request in requests]

    def _answer(
        self, request: Request, names: list[str], select: list[str] | None, vectors: bool, indexed: bool, metric: str
    ) -> Found:
        search = self._table.search(request.query, vector_column_name=self._vector, query_type="vector")
        search = search.distance_type(metric).limit(request.count)
        if select is not None:
            search = search.select(select)
        if indexed:
            search = search.refine_factor(1)  # an index may store approximate vectors; scores must be exact
        if request.where is not None:
            search = search.where(request.where, prefilter=True)
        try:
            rows = search.to_arrow()
            if indexed and rows.num_rows < request.count:
                # An index searches only some of its cells: the others may have more rows.
                rows = search.bypass_vector_index().to_arrow()
        except (ValueError, RuntimeError, OSError) as error:
            if request.where is None:
                raise InputError(f"{self._address.label}: {_line(error)}") from None
            raise OptionError(f"where: {_line(error)} in {request.where!r}") from None
        distances = rows["_distance"].to_numpy()
        scores = from_l2(distances, squared=True) if metric == "l2" else 1 - distances.astype(np.float64)
        cells = {name: rows[name].to_pylist() for name in names}
        ids = list(range(rows.num_rows)) if self._key is None else cells[self._key]
        return best_first(ids, scores, cells, _matrix(rows[self._vector], self._dim, self._tokens) if vectors else None)

    def _index(self) -> tuple[bool, str]:
        """Return whether the vectors are indexed, and the metric: the address's, else the index's, else cosine."""
        metric = _METRICS[self._address.metric] if self._address.metric else None
        for index in self._table.list_indices():
            if list(index.columns) == [self._vector]:
                stats = self._table.index_stats(index.name)
                return True, str(metric or stats.distance_type)
        return False, metric or "cosine"

    def facts(self) -> dict[str, str]:
        return {} if self._database is None else _facts(self._database, self._address)

    def _release(self) -> None:
        del self._table, self._database


class LanceSink(Closing):
    """A table of LanceDB, to be written to. Several processes may write at once."""

    def __init__(self, address: Address, dim: int, tokens: int) -> None:
        arrow = package("pyarrow", "lance")
        self._arrow, self._address, self._dim, self._tokens = arrow, address, dim, tokens
        self._vector = address.vector or VECTOR
        self._database = _connect(address, make=True)
        kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
        token = arrow.list_(arrow.float32(), dim)
        fields = [arrow.field(name, kinds[kind]) for name, kind in FIELDS.items()]
        fields.append(arrow.field(self._vector, token if tokens == 1 else arrow.list_(token)))
        self._schema = arrow.schema(fields)
        self._table = _open_or_make(self._database, address.table, self._schema)
        fits(address, self._table.schema.names)
        shapes = _shapes_of(self._table.schema)
        table_dim, table_tokens = shapes[address.pick(list(shapes))]
        same_shape(address.label, (table_dim, min(table_tokens, 2)), (dim, min(tokens, 2)))

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        records, tokens = checked(rows, vectors, self._dim, self._tokens)
        if not records:
            return
        arrow = self._arrow
        flat = arrow.FixedSizeListArray.from_arrays(arrow.array(tokens.reshape(-1)), self._dim)
        if self._tokens > 1:
            flat = arrow.ListArray.from_arrays(np.arange(len(records) + 1, dtype=np.int32) * self._tokens, flat)
        columns = {name: [row[name] for row in records] for name in FIELDS}
        _merge(self._table, "path", arrow.table({**columns, self._vector: flat}, schema=self._schema))

    def states(self) -> States:
        self._table.checkout_latest()
        for batch in self._table.search().select(list(STATE)).limit(None).to_batches(_PAGE):
            yield from map(state_of, batch.to_pylist())

    def remove(self, paths: Sequence[str]) -> None:
        for batch in chunks(paths, _AT_ONCE):
            quoted_paths = ", ".join("'" + path.replace("'", "''") + "'" for path in batch)
            self._table.delete(f"path IN ({quoted_paths})")

    def set_facts(self, facts: Mapping[str, str]) -> None:
        text = self._arrow.string()
        schema = self._arrow.schema([("name", text), ("value", text)])
        rows = {"name": list(facts), "value": list(facts.values())}
        table = _open_or_make(self._database, self._address.facts, schema)
        _merge(table, "name", self._arrow.table(rows, schema=schema))

    def facts(self) -> dict[str, str]:
        return _facts(self._database, self._address)

    def _release(self) -> None:
        del self._table, self._database


def _connect(address: Address, make: bool) -> Any:
    lancedb = package("lancedb", "lance")
    place: Any = f"{address.way}://{address.host}{address.place}"
    if not address.way:
        place = address.file if make else address.open_file()
    try:
        # The next search sees what another process has written.
        return lancedb.connect(place, read_consistency_interval=timedelta(0))
    except (ValueError, RuntimeError, OSError) as error:
        raise InputError(f"cannot use {address.label}: {_line(error)}") from None


def _open(database: Any, address: Address) -> Any:
    try:
        return database.open_table(address.table)
    except (ValueError, FileNotFoundError):
        tables = ", ".join(_names(database)) or "none"
        raise InputError(f"{address.label}: there is no table {address.table!r}; tables: {tables}") from None


def _names(database: Any) -> list[str]:
    return list(database.list_tables().tables)


def _open_or_make(database: Any, name: str, schema: Any) -> Any:
    """Open the table, or create it; another process may be creating it at the same time."""
    try:
        return database.open_table(name)
    except (ValueError, FileNotFoundError):
        try:
            return database.create_table(name, schema=schema, exist_ok=True)
        except (ValueError, OSError, RuntimeError):
            return database.open_table(name)


def _merge(table: Any, key: str, rows: Any) -> None:
    """Insert rows, or replace those of the same key. Lance rejects the slower of two writers, which retries."""
    for attempt in range(1, _TRIES + 1):
        try:
            table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows)
            return
        except (OSError, RuntimeError, ValueError) as error:
            if "conflict" not in str(error).lower() or attempt == _TRIES:
                raise
            table.checkout_latest()


def _facts(database: Any, address: Address) -> dict[str, str]:
    try:
        table = database.open_table(address.facts)
    except (ValueError, FileNotFoundError):
        return {}
    return {row["name"]: row["value"] for row in table.to_arrow().to_pylist()}


def _shapes_of(schema: Any) -> dict[str, tuple[int, int]]:
    """Return the columns of vectors: their dimension, and 1, or 2 where a row has several vectors."""
    types = package("pyarrow.types", "lance")
    shapes: dict[str, tuple[int, int]] = {}
    for field in schema:
        kind, tokens = field.type, 1
        if types.is_list(kind) and types.is_fixed_size_list(kind.value_type):
            kind, tokens = kind.value_type, 2
        if types.is_fixed_size_list(kind) and types.is_floating(kind.value_type):
            shapes[field.name] = (kind.list_size, tokens)
    return shapes


def _matrix(column: Any, dim: int, tokens: int) -> Vectors:
    flat = column.combine_chunks()
    if tokens == 1:
        numbers = np.asarray(flat.flatten().to_numpy(zero_copy_only=False), np.float32)
        return numbers.reshape(len(column), dim)
    rows = [np.asarray(row, np.float32).reshape(1, -1, dim) for row in flat.to_pylist()]
    return np.concatenate([np.zeros((0, dim), np.float32), *(one_each(row) for row in rows)])


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
