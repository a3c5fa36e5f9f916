"""PostgreSQL with pgvector: a table of rows and vectors, searched in a read-only transaction."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mascot.connect.engines import engine
from mascot.connect.engines.address import METRICS, Address, Metric, address_of_client
from mascot.connect.engines.engine import EngineHits, EngineRequest, EngineSource, EngineTable
from mascot.connect.engines.sink import VECTOR, Sink, SinkLayout
from mascot.errors import InputError
from mascot.extras import package

_OPERATORS: dict[Metric, str] = {"cosine": "<=>", "ip": "<#>", "l2": "<->"}
_VECTOR = re.compile(r"(vector|halfvec)(?:\((\d+)\))?|(vector)(?:\((\d+)\))?\[\]")
_TIMEOUT_S = 10  # to connect, and to run a search
_WIDEST = 1000  # the largest hnsw.ef_search that pgvector accepts
_Result = TypeVar("_Result")
_PRIMARY_KEY, _VECTOR_INDEXES = (
    Path(__file__).with_name(f"postgres_{name}.sql").read_text("utf-8") for name in ("primary_key", "vector_indexes")
)
_KINDS = {str: "text", int: "bigint", float: "double precision"}


class PostgresTable(EngineTable):
    _connection: Any

    def __init__(self, address: Address) -> None:
        self._address, self._sql, self._errors = address, _psycopg().sql, _psycopg().Error
        self._table, self._facts_table = (
            self._sql.Identifier(*name.split(".")) for name in (address.table, address.facts)
        )

    def _list(self, items: Sequence[Any]) -> Any:
        """Return names, or parts of a statement, separated by commas."""
        return self._sql.SQL(", ").join(self._sql.Identifier(x) if isinstance(x, str) else x for x in items)

    def _columns(self, cursor: Any) -> dict[str, str]:
        """Return the table's columns and their types."""
        rows = cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [self._table.as_string(cursor)],
        ).fetchall()
        if not rows:
            raise InputError(f"{self._address.label}: there is no table {self._address.table!r}; name it with ?table=")
        # The type of another schema is prefixed with its name.
        return {name: kind.rpartition(".")[2] for name, kind in rows}

    def _read_facts(self) -> Mapping[str, str]:
        def stored_facts(cursor: Any) -> dict[str, str]:
            name = self._facts_table.as_string(cursor)
            if cursor.execute("SELECT to_regclass(%s)", [name]).fetchone()[0] is None:
                return {}
            return dict(cursor.execute(f"SELECT name, value FROM {name}").fetchall())

        return self._run(stored_facts)

    def _run(self, work: Callable[[Any], _Result]) -> _Result:
        return work(self._connection)

    def _release(self) -> None:
        self._connection.close()


class PostgresSource(PostgresTable, EngineSource):
    """A table of PostgreSQL, to be searched. `where` is an SQL expression over its columns.

    A search runs in its own read-only transaction for at most ten seconds. The role in the address decides what it can
    read; SELECT is enough. Threads that share a source wait for each other unless it has a connection pool.
    """

    def __init__(self, address: Address, connection: Any = None) -> None:
        super().__init__(address)
        self._lock = threading.RLock()  # for the single connection: statements of several threads would mix
        self._owned = connection is None
        self._pool = connection if hasattr(connection, "getconn") else None
        if self._pool is None:
            self._connection = self._connected() if connection is None else connection
        with self._opening():
            self._run(self._inspect)

    @classmethod
    def from_connection(
        cls,
        connection: Any,
        table: str,
        *,
        vector: str | None = None,
        id: str | None = None,
        metric: Metric | None = None,
    ) -> PostgresSource:
        """Return a source for a table (`schema.table` for another schema) of a connection or pool.

        The connection is a `psycopg.Connection`, in a transaction or not, or a `psycopg_pool.ConnectionPool`. A search
        runs in its own transaction or savepoint, which is rolled back: settings and the caller's transaction do not
        change. Closing the source leaves the connection or pool open. `vector`, `id` and `metric` mean the same as in
        an address.
        """
        return cls(address_of_client("postgresql", table, vector, id, metric), connection)

    def _connected(self) -> Any:
        with self._in_use():
            connection = _connect(self._address)
            connection.execute("SET default_transaction_read_only = on")
        return connection

    def _run(self, work: Callable[[Any], _Result]) -> _Result:
        """Call `work` in a transaction. If the server has closed our connection, reconnect once."""
        if self._pool is not None:
            self._must_be_open()
            with self._pool.connection() as connection:
                return self._in_transaction(connection, work)
        with self._lock:
            self._must_be_open()
            try:
                return self._in_transaction(self._connection, work)
            except _psycopg().OperationalError:
                if not (self._owned and self._connection.closed):
                    raise
                self._connection = self._connected()
                return self._in_transaction(self._connection, work)

    def _in_transaction(self, connection: Any, work: Callable[[Any], _Result]) -> _Result:
        """Call `work` with a cursor; the transaction or savepoint of a caller's connection is undone afterwards."""
        psycopg = _psycopg()
        with (
            connection.transaction(force_rollback=not self._owned),
            connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor,
        ):
            cursor.adapters.register_loader("numeric", psycopg.types.numeric.FloatLoader)
            return work(cursor)

    def _inspect(self, cursor: Any) -> None:
        """Read the columns, key and index of the table."""
        address, run, name = self._address, cursor.execute, self._table.as_string(cursor)
        kinds = self._columns(cursor)
        shapes = {name: shape for name, kind in kinds.items() if (shape := _VECTOR.fullmatch(kind))}
        self._vector = address.pick(list(shapes))
        single, dim, array, array_dim = shapes[self._vector].groups()
        self._kind, self._several, self._dim = single or array, array is not None, int(dim or array_dim or 0)
        self._names = [name for name in kinds if name not in shapes]
        key = run(_PRIMARY_KEY, [name]).fetchone()
        self._key = engine.key_of(self._names, address, key and str(key[0]))
        self._index, self._lists, self._metric = "", 0, address.metric or "cosine"
        for index, operators, lists in run(_VECTOR_INDEXES, [name, self._vector]).fetchall():
            metric = operators.split("_")[1]
            if address.metric in (None, metric):
                self._index, self._lists = index, lists
                self._metric = metric if metric in METRICS else self._metric
                return

    def _search(self, request: EngineRequest) -> list[EngineHits]:
        names = engine.fetched(request.columns, self._names, self._key, self._address.label)
        statement = self._statement(names, request.where, request.vectors)
        return [self._answer(statement, query, request, names) for query in request.queries]

    def _answer(
        self, statement: Any, query: NDArray[np.float32], request: EngineRequest, names: list[str]
    ) -> EngineHits:
        rows = self._rows(statement, query, request, exact=False)
        if len(rows) < request.count and self._index:
            # An index returns a fixed number of rows, which are then filtered; the table may hold more.
            with suppress(_psycopg().errors.QueryCanceled):  # the exact scan timed out
                rows = self._rows(statement, query, request, exact=True) or rows
        distances = np.array([row[-1] for row in rows], np.float64)
        if self._metric == "l2":
            scores = engine.from_l2(distances, squared=False)
        else:
            scores = 1 - distances if self._metric == "cosine" else -distances
        cells = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        ids = list(range(len(rows))) if self._key is None else cells[self._key]
        matrix = None
        if request.vectors:
            numbers = [[_numbers(token) for token in row[-2]] if self._several else _numbers(row[-2]) for row in rows]
            matrix = engine.matrix_of(numbers, len(query), self._several)
        return engine.best_first(ids, scores, cells, matrix)

    def _statement(self, names: Sequence[str], where: str | None, vectors: bool) -> Any:
        """Return the SQL for the columns, the vector (if `vectors`) and the distance of the nearest rows."""
        sql = self._sql
        column = sql.Identifier(self._vector)
        comparison = f"{_OPERATORS[self._metric]} %(query)s::{self._kind}"
        if self._several:
            distance = sql.SQL(f"(SELECT min(token {comparison}) FROM unnest({{}}) token)").format(column)
            vector_bytes = sql.SQL("ARRAY(SELECT vector_send(token) FROM unnest({}) token)").format(column)
        else:
            distance = sql.SQL(f"({{}} {comparison})").format(column)
            vector_bytes = sql.SQL("vector_send({}::vector)").format(column)
        # The line breaks end a comment in the filter, so that it cannot hide the closing bracket.
        condition = sql.SQL("" if where is None else " AND (\n" + where.replace("%", "%%") + "\n)")
        selected = self._list([*names, *([vector_bytes] if vectors else []), distance])
        return sql.SQL("SELECT {} FROM {} WHERE {} IS NOT NULL{} ORDER BY {} LIMIT %(count)s").format(
            selected, self._table, column, condition, distance
        )

    def _rows(self, statement: Any, query: NDArray[np.float32], request: EngineRequest, exact: bool) -> list[Any]:
        def work(cursor: Any) -> list[Any]:
            self._prepare(cursor, request.count, exact)
            # With parameters PostgreSQL accepts only one statement and refuses a second one after a semicolon.
            values = {"query": _text(query), "count": request.count}
            return list(cursor.execute(statement, values).fetchall())

        return self._run(work)

    def _blames_where(self, error: Any) -> bool:
        return error.sqlstate is not None  # otherwise it is about the connection

    def _prepare(self, cursor: Any, candidates: int, exact: bool) -> None:
        run = cursor.execute
        run("SET TRANSACTION READ ONLY")
        run(f"SET LOCAL statement_timeout = '{_TIMEOUT_S}s'")
        if exact:
            run("SET LOCAL enable_indexscan = off")
            run("SET LOCAL enable_seqscan = on")
        elif self._index:
            # The largest number of rows that an HNSW index returns, or the number of IVFFlat lists to search.
            option, least = "hnsw.ef_search", min(candidates, _WIDEST)
            if self._index == "ivfflat":
                option, least = "ivfflat.probes", math.ceil(math.sqrt(self._lists))
            setting = run("SELECT current_setting(%s, true)", [option]).fetchone()[0]
            run(f"SET LOCAL {option} = {max(least, int(setting or 0))}")
            version = run("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
            if tuple(map(int, version.split(".")[:2])) >= (0, 8):
                order = "strict_order" if self._index == "hnsw" else "relaxed_order"
                run(f"SET LOCAL {self._index}.iterative_scan = {order}")

    def _release(self) -> None:
        with self._lock:
            if self._owned:
                self._connection.close()


class PostgresSink(PostgresTable, Sink):
    """A table of PostgreSQL, to be written to. Several processes may write at once."""

    def __init__(self, address: Address, layout: SinkLayout) -> None:
        super().__init__(address)
        self._layout, self._vector = layout, address.vector or VECTOR
        self._connection = _connect(address)
        with self._opening():
            with self._connection.transaction():
                kind = self._make()
            table_dim = int(re.sub(r"\D", "", kind) or layout.dim)
            layout.check_shape(address.label, table_dim, kind.endswith("[]"))

    def _make(self) -> str:
        """Create what does not exist, or raise and change nothing; return the type of the vector column."""
        run, sql, layout = self._connection.execute, self._sql, self._layout
        # IF NOT EXISTS is not enough if two processes create the same table.
        run("SELECT pg_advisory_xact_lock(hashtext('mascot'))")
        if not run("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
            run("CREATE EXTENSION vector")
        types = {name: _KINDS[kind] for name, kind in layout.types.items()}
        types[self._vector] = f"vector({layout.dim}){'[]' * (layout.tokens > 1)}"
        fields = self._list([sql.SQL(f"{{}} {kind}").format(sql.Identifier(name)) for name, kind in types.items()])
        run("SET LOCAL client_min_messages = warning")
        key = sql.Identifier(layout.key)
        run(sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY ({}))").format(self._table, fields, key))
        kinds = self._columns(self._connection)
        layout.check_table(self._address, kinds)
        if self._vector not in kinds:
            raise InputError(f"{self._address.label} has no column {self._vector!r}; it has: {', '.join(kinds)}")
        facts = sql.SQL("CREATE TABLE IF NOT EXISTS {} (name text PRIMARY KEY, value text NOT NULL)")
        run(facts.format(self._facts_table))
        return kinds[self._vector]

    def _put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        fields, several = self._layout.fields, self._layout.tokens > 1
        cast = "%s::vector[]" if several else "%s::vector"
        values = [
            [*map(_clean, row.values()), [_text(token) for token in tokens] if several else _text(tokens[0])]
            for row, tokens in zip(rows, vectors, strict=True)
        ]
        self._upsert(self._table, [*fields, self._vector], ", ".join(["%s"] * len(fields) + [cast]), values)

    def _upsert(self, table: Any, names: Sequence[str], marks: str, values: Sequence[Sequence[Any]]) -> None:
        """Insert rows, or replace those of the same key, the first column."""
        sql = self._sql
        key, *columns = map(sql.Identifier, names)
        updates = self._list([sql.SQL("{0} = excluded.{0}").format(column) for column in columns])
        statement = sql.SQL(f"INSERT INTO {{}} ({{}}) VALUES ({marks}) ON CONFLICT ({{}}) DO UPDATE SET {{}}").format(
            table, self._list([key, *columns]), key, updates
        )
        with self._connection.transaction():
            # In a fixed order, so that two writers of the same rows cannot deadlock.
            self._connection.cursor().executemany(statement, sorted(values, key=lambda row: row[0]))

    def _select(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        statement = self._sql.SQL("SELECT {} FROM {}").format(self._list(columns), self._table)
        # A named cursor is on the server: rows are fetched page by page.
        with self._connection.transaction(), self._connection.cursor("mascot_rows") as cursor:
            for row in cursor.execute(statement):
                yield dict(zip(columns, row, strict=True))

    def _remove(self, keys: Sequence[str]) -> None:
        key = self._sql.Identifier(self._layout.key)
        statement = self._sql.SQL("DELETE FROM {} WHERE {} = ANY(%s)").format(self._table, key)
        self._connection.execute(statement, [list(keys)])

    def _write_facts(self, facts: Mapping[str, str]) -> None:
        self._upsert(self._facts_table, ["name", "value"], "%s, %s", list(facts.items()))


def _psycopg() -> Any:
    return package("psycopg", "postgres")


def _connect(address: Address) -> Any:
    psycopg = _psycopg()
    try:
        connection = psycopg.connect(address.dsn, autocommit=True, connect_timeout=_TIMEOUT_S)
    except psycopg.Error as error:
        message = engine.one_line(error)
        secret = urlsplit(address.dsn).password  # PostgreSQL quotes what it cannot decode
        hidden = message.replace(secret, "...") if secret else message
        raise InputError(f"cannot reach {address.label}: {hidden}") from None
    connection.adapters.register_loader("numeric", psycopg.types.numeric.FloatLoader)
    return connection


def _text(vector: NDArray[np.float32]) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _numbers(cell: bytes) -> NDArray[np.float32]:
    """Decode the result of `vector_send`: two 16-bit integers, then big-endian float32."""
    return np.frombuffer(cell, ">f4", offset=4).astype(np.float32)


def _clean(value: Any) -> Any:
    return value.replace("\0", "") if isinstance(value, str) else value  # PostgreSQL text cannot hold NUL


SOURCE, SINK = PostgresSource, PostgresSink
