"""PostgreSQL with pgvector: a table of rows and vectors, searched in a read-only transaction."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from mascot.connect.address import Address, Metric, address_of_client
from mascot.connect.closing import Closing
from mascot.connect.rows import FIELDS, STATE, VECTOR, States, Vectors, checked, fits, one_each, state_of
from mascot.connect.source import EngineSource, Found, Request, best_first, fetched, from_l2, key_of, same_shape
from mascot.errors import InputError, OptionError
from mascot.extras import package

_OPERATORS: dict[Metric, str] = {"cosine": "<=>", "ip": "<#>", "l2": "<->"}
_VECTOR = re.compile(r"(vector|halfvec)(?:\((\d+)\))?|(vector)(?:\((\d+)\))?\[\]")
_TIMEOUT_S = 10  # to connect, and for a search to run
_WIDEST = 1000  # what pgvector lets hnsw.ef_search be
_Result = TypeVar("_Result")
_KINDS = {str: "text", int: "bigint", float: "double precision"}


class BorrowedConnection:
    """A connection of the caller, whose settings, rows and transaction are not changed."""

    def __init__(self, connection: Any) -> None:
        self.connection, self.adapters = connection, connection.adapters  # what psycopg reads to quote a name

    @property
    def closed(self) -> bool:
        return bool(self.connection.closed)

    def execute(self, statement: Any, values: Any = None) -> Any:
        cursor = self.connection.cursor(row_factory=package("psycopg.rows", "postgres").tuple_row)
        cursor.adapters.register_loader("numeric", package("psycopg.types.numeric", "postgres").FloatLoader)
        return cursor.execute(statement, values)

    def transaction(self) -> Any:
        """Return a transaction, or a savepoint within the caller's; rolled back, so that no setting outlives it."""
        return self.connection.transaction(force_rollback=True)

    def close(self) -> None:
        """Leave the connection open: it is the caller's."""


class PostgresSource(EngineSource):
    """A table of PostgreSQL, to be searched. `where` is an SQL expression over its columns.

    It runs in a read-only transaction of its own, for at most ten seconds. What it can read is decided by the role in
    the address: SELECT is enough. Threads that share a source wait for each other, unless it has a connection pool.
    """

    def __init__(self, address: Address, connection: Any = None) -> None:
        self._address, self._sql = address, package("psycopg.sql", "postgres")
        self._lock = threading.RLock()  # for the single connection: statements of several threads would mix
        self._owned = connection is None
        self._pool = connection if hasattr(connection, "getconn") else None
        self._connection: Any = None
        if self._pool is None:
            self._connection = self._connected() if connection is None else BorrowedConnection(connection)
        try:
            with _naming_errors(address):
                self._run(self._inspect)
        except BaseException:
            self._release()
            raise

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
        """Return a source over a table that a connection reaches.

        Parameters
        ----------
        connection
            A `psycopg.Connection`, in a transaction or not, or a `psycopg_pool.ConnectionPool`, of which each search
            takes a connection and gives it back. A search runs in a transaction or savepoint of its own that is rolled
            back: settings and the caller's transaction stay as they are, and closing the source leaves the connection
            or pool open.
        table
            The name of the table, `schema.table` for another schema.
        vector, id, metric
            As in an address (default: None).
        """
        return cls(address_of_client("postgresql", table, vector, id, metric), connection)

    def _connected(self) -> Any:
        connection = _connect(self._address)
        with _closed_on_error(connection), _naming_errors(self._address):
            connection.execute("SET default_transaction_read_only = on")
        return connection

    def _run(self, work: Callable[[Any], _Result]) -> _Result:
        """Call `work` in a transaction. Where the server has closed our connection, reconnect once."""
        errors = package("psycopg", "postgres")
        if self._pool is not None:
            self._must_be_open()
            with self._pool.connection() as connection:
                return _in_transaction(BorrowedConnection(connection), work)
        with self._lock:
            self._must_be_open()
            try:
                return _in_transaction(self._connection, work)
            except errors.OperationalError:
                if not (self._owned and self._connection.closed):
                    raise
                self._connection = self._connected()
                return _in_transaction(self._connection, work)

    def _inspect(self, connection: Any) -> None:
        """Read the columns, key and index of the table."""
        address = self._address
        self._table = self._sql.Identifier(*address.table.split("."))
        kinds = _columns(connection, address)
        shapes = {name: shape for name, kind in kinds.items() if (shape := _VECTOR.fullmatch(kind))}
        self._vector = address.pick(list(shapes))
        single, dim, array, array_dim = shapes[self._vector].groups()
        self._kind, self._several, self._dim = single or array, array is not None, int(dim or array_dim or 0) or None
        self._names = [name for name in kinds if name not in shapes]
        self._key = key_of(self._names, address, _key_of(connection, address))
        self._index, indexed, self._lists = _index_of(connection, address, self._vector)
        self._metric: Metric = address.metric or indexed or "cosine"

    def _search(self, requests: Sequence[Request], columns: Sequence[str] | None, vectors: bool) -> list[Found]:
        names = fetched(columns, self._names, self._key, self._address.label)
        statement = self._statement(names, requests[0].where, vectors)
        return [self._answer(statement, request, names, vectors) for request in requests]

    def _answer(self, statement: Any, request: Request, names: list[str], vectors: bool) -> Found:
        rows = self._rows(statement, request, exact=False)
        if len(rows) < request.count and self._index:
            # An index returns a fixed number of rows, which are filtered afterwards: there may be more.
            rows = self._more(statement, request) or rows
        distances = np.array([row[-1] for row in rows], np.float64)
        if self._metric == "l2":
            scores = from_l2(distances, squared=False)
        else:
            scores = 1 - distances if self._metric == "cosine" else -distances
        cells = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        ids = list(range(len(rows))) if self._key is None else cells[self._key]
        matrix = self._matrix([row[-2] for row in rows], len(request.query)) if vectors else None
        return best_first(ids, scores, cells, matrix)

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
        # The line breaks end a comment, so that it cannot hide the closing bracket.
        condition = sql.SQL("" if where is None else " AND (\n" + where.replace("%", "%%") + "\n)")
        selected = sql.SQL(", ").join([*map(sql.Identifier, names), *([vector_bytes] if vectors else []), distance])
        return sql.SQL("SELECT {} FROM {} WHERE {} IS NOT NULL{} ORDER BY {} LIMIT %(count)s").format(
            selected, self._table, column, condition, distance
        )

    def _rows(self, statement: Any, request: Request, exact: bool) -> list[Any]:
        errors = package("psycopg", "postgres")

        def work(connection: Any) -> list[Any]:
            self._prepare(connection, request.count, exact)
            # With parameters PostgreSQL accepts only one statement: it refuses a second after a semicolon.
            values = {"query": _text(request.query), "count": request.count}
            return list(connection.execute(statement, values).fetchall())

        try:
            return self._run(work)
        except errors.Error as error:
            message = " ".join(str(error).split())
            # An error with an SQLSTATE is about the statement; any other is about the connection.
            if request.where is None or error.sqlstate is None:
                raise InputError(f"cannot search {self._address.label}: {message}") from error
            raise OptionError(f"where: {message} in {request.where!r}") from error

    def _prepare(self, connection: Any, candidates: int, exact: bool) -> None:
        run = connection.execute
        run("SET TRANSACTION READ ONLY")
        run(f"SET LOCAL statement_timeout = '{_TIMEOUT_S}s'")
        if exact:
            run("SET LOCAL enable_indexscan = off")
            run("SET LOCAL enable_seqscan = on")
        elif self._index:
            # An HNSW index returns no more rows than this; of an IVFFlat index this many lists are searched.
            knob, least = "hnsw.ef_search", min(candidates, _WIDEST)
            if self._index == "ivfflat":
                knob, least = "ivfflat.probes", math.ceil(math.sqrt(self._lists))
            setting = run("SELECT current_setting(%s, true)", [knob]).fetchone()[0]
            run(f"SET LOCAL {knob} = {max(least, int(setting or 0))}")
            if _version(connection) >= (0, 8):
                order = "strict_order" if self._index == "hnsw" else "relaxed_order"
                run(f"SET LOCAL {self._index}.iterative_scan = {order}")

    def _more(self, statement: Any, request: Request) -> list[Any]:
        """Return the nearest rows by an exact scan; none if it times out."""
        late = package("psycopg.errors", "postgres").QueryCanceled
        try:
            return self._rows(statement, request, exact=True)
        except (InputError, OptionError) as error:
            if isinstance(error.__cause__, late):
                return []
            raise

    def _matrix(self, cells: Sequence[Any], dim: int) -> Vectors:
        if not self._several:
            return np.array([_numbers(token) for token in cells], np.float32).reshape(len(cells), dim)
        means = [one_each(np.array([[_numbers(token) for token in tokens]], np.float32)) for tokens in cells]
        return np.concatenate([np.zeros((0, dim), np.float32), *means])

    def facts(self) -> dict[str, str]:
        with _naming_errors(self._address):
            return self._run(lambda connection: _facts(connection, self._address))

    def _release(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()


class PostgresSink(Closing):
    """A table of PostgreSQL, to be written to. Several processes may write at once."""

    def __init__(self, address: Address, dim: int, tokens: int) -> None:
        self._address, self._dim, self._tokens = address, dim, tokens
        self._vector = address.vector or VECTOR
        self._sql = package("psycopg.sql", "postgres")
        self._table = self._sql.Identifier(*address.table.split("."))
        self._facts_table = self._sql.Identifier(*address.facts.split("."))
        self._connection = _connect(address)
        with _closed_on_error(self._connection), _naming_errors(address):
            with _locked(self._connection):
                kind = self._make()
            table_dim = int(re.sub(r"\D", "", kind) or dim)
            same_shape(address.label, (table_dim, 1 + kind.endswith("[]")), (dim, 1 + (tokens > 1)))

    def _make(self) -> str:
        """Create what does not exist, or raise and change nothing; return the type of the vector column."""
        run, sql = self._connection.execute, self._sql
        if not run("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
            run("CREATE EXTENSION vector")
        fields = [sql.SQL(f"{{}} {_KINDS[kind]}").format(sql.Identifier(name)) for name, kind in FIELDS.items()]
        vectors = sql.SQL(f"{{}} vector({self._dim}){'[]' * (self._tokens > 1)}").format(sql.Identifier(self._vector))
        creation = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, {}, PRIMARY KEY (path))")
        run("SET LOCAL client_min_messages = warning")
        run(creation.format(self._table, sql.SQL(", ").join(fields), vectors))
        kinds = _columns(self._connection, self._address)
        fits(self._address, kinds)
        if self._vector not in kinds:
            raise InputError(f"{self._address.label} has no column {self._vector!r}; it has: {', '.join(kinds)}")
        run(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} (name text PRIMARY KEY, value text NOT NULL)").format(
                self._facts_table
            )
        )
        return kinds[self._vector]

    def put(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        records, numbers = checked(rows, vectors, self._dim, self._tokens)
        sql = self._sql
        names = [*FIELDS, self._vector]
        column_list = sql.SQL(", ").join(map(sql.Identifier, names))
        updates = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in names[1:])
        cast = "%s::vector[]" if self._tokens > 1 else "%s::vector"
        marks = sql.SQL(", ".join(["%s"] * len(FIELDS) + [cast]))
        statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT (path) DO UPDATE SET {}").format(
            self._table, column_list, marks, updates
        )
        values = [
            [*map(_clean, row.values()), [_text(token) for token in tokens] if self._tokens > 1 else _text(tokens[0])]
            for row, tokens in zip(records, numbers, strict=True)
        ]
        with _naming_errors(self._address), self._connection.transaction():
            # In a fixed order, so that two writers of the same rows cannot deadlock.
            self._connection.cursor().executemany(statement, sorted(values, key=lambda row: row[0]))

    def states(self) -> States:
        sql, connection = self._sql, self._connection
        column_list = sql.SQL(", ").join(map(sql.Identifier, STATE))
        # A named cursor is on the server: rows are fetched page by page.
        with _naming_errors(self._address), connection.transaction(), connection.cursor("mascot_states") as cursor:
            for row in cursor.execute(sql.SQL("SELECT {} FROM {}").format(column_list, self._table)):
                yield state_of(dict(zip(STATE, row, strict=True)))

    def remove(self, paths: Sequence[str]) -> None:
        statement = self._sql.SQL("DELETE FROM {} WHERE path = ANY(%s)").format(self._table)
        with _naming_errors(self._address):
            self._connection.execute(statement, [list(paths)])

    def set_facts(self, facts: Mapping[str, str]) -> None:
        statement = self._sql.SQL(
            "INSERT INTO {} VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        ).format(self._facts_table)
        with _naming_errors(self._address), self._connection.transaction():
            self._connection.cursor().executemany(statement, sorted(facts.items()))

    def facts(self) -> dict[str, str]:
        with _naming_errors(self._address):
            return _facts(self._connection, self._address)

    def _release(self) -> None:
        self._connection.close()


def _in_transaction(connection: Any, work: Callable[[Any], _Result]) -> _Result:
    with connection.transaction():
        return work(connection)


def _connect(address: Address) -> Any:
    psycopg = package("psycopg", "postgres")
    numeric = package("psycopg.types.numeric", "postgres")
    try:
        connection = psycopg.connect(address.dsn, autocommit=True, connect_timeout=_TIMEOUT_S)
    except psycopg.Error as error:
        message = " ".join(str(error).split())
        secret = urlsplit(address.dsn).password  # PostgreSQL quotes what it cannot decode
        hidden = message.replace(secret, "...") if secret else message
        raise InputError(f"cannot reach {address.label}: {hidden}") from None
    connection.adapters.register_loader("numeric", numeric.FloatLoader)
    return connection


def _quoted(connection: Any, address: Address) -> str:
    """Return the name of the table as `to_regclass` reads it."""
    name: str = package("psycopg.sql", "postgres").Identifier(*address.table.split(".")).as_string(connection)
    return name


def _columns(connection: Any, address: Address) -> dict[str, str]:
    """Return the table's columns and their types."""
    rows = connection.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [_quoted(connection, address)],
    ).fetchall()
    if not rows:
        raise InputError(f"{address.label}: there is no table {address.table!r}; name it with ?table=")
    # The type of another schema is prefixed with its name.
    return {name: kind.rpartition(".")[2] for name, kind in rows}


def _key_of(connection: Any, address: Address) -> str | None:
    """Return the primary key, where it is one column."""
    rows = connection.execute(
        "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "WHERE i.indrelid = to_regclass(%s) AND i.indisprimary AND i.indnkeyatts = 1",
        [_quoted(connection, address)],
    ).fetchall()
    return str(rows[0][0]) if rows else None


def _index_of(connection: Any, address: Address, vector: str) -> tuple[str, Metric | None, int]:
    """Return the kind of index on the vectors ("" without one), its metric, and its number of lists."""
    rows = connection.execute(
        "SELECT am.amname, opc.opcname, coalesce((SELECT option_value FROM pg_options_to_table(c.reloptions) "
        "WHERE option_name = 'lists'), '100')::int FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_am am ON am.oid = c.relam JOIN pg_opclass opc ON opc.oid = i.indclass[0] "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "WHERE i.indrelid = to_regclass(%s) AND a.attname = %s AND am.amname IN ('hnsw', 'ivfflat')",
        [_quoted(connection, address), vector],
    ).fetchall()
    metrics: dict[str, Metric] = {"cosine": "cosine", "ip": "ip", "l2": "l2"}
    indexes = [(kind, metrics.get(name.split("_")[1]), lists) for kind, name, lists in rows]
    fitting = [index for index in indexes if address.metric in (None, index[1])]
    return fitting[0] if fitting else ("", None, 0)


def _version(connection: Any) -> tuple[int, int]:
    version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()[0]
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def _facts(connection: Any, address: Address) -> dict[str, str]:
    sql = package("psycopg.sql", "postgres")
    facts_table = sql.Identifier(*address.facts.split("."))
    if connection.execute("SELECT to_regclass(%s)", [facts_table.as_string(connection)]).fetchone()[0] is None:
        return {}
    return dict(connection.execute(sql.SQL("SELECT name, value FROM {}").format(facts_table)).fetchall())


@contextmanager
def _closed_on_error(connection: Any) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


@contextmanager
def _locked(connection: Any) -> Iterator[None]:
    """Open a transaction with a lock: IF NOT EXISTS is not enough where two processes create the same table."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('mascot'))")
        yield


@contextmanager
def _naming_errors(address: Address) -> Iterator[None]:
    psycopg = package("psycopg", "postgres")
    try:
        yield
    except psycopg.Error as error:
        raise InputError(f"cannot use {address.label}: {' '.join(str(error).split())}") from None


def _text(vector: Vectors) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _numbers(cell: bytes) -> Vectors:
    """Decode the result of `vector_send`: two 16-bit integers, then big-endian float32."""
    return np.frombuffer(cell, ">f4", offset=4).astype(np.float32)


def _clean(value: Any) -> Any:
    return value.replace("\0", "") if isinstance(value, str) else value  # PostgreSQL text cannot hold NUL
