"""The library's database: rows, thumbnails and vectors in SQLite. Everything else is derived from it."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos.files.texts import composed, fold, words
from mascot.photos.metadata.look import DIM
from mascot.photos.metadata.sun import lights
from mascot.photos.photo import COLUMNS, Photo

VERSION = 3  # stored as `user_version`; increased when schema.sql changes
FOLDER = ".mascot"  # in the folder of a library: the only place that is written to
_BUSY_S = 60.0  # timeout of waiting for another process to finish writing
_CACHE_KIB = 32 * 1024
_FETCH_ROWS = 256  # rows fetched from SQLite at a time
_LONGEST_PART = 100  # characters of a word in a LIKE pattern, whose length SQLite limits
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def library_of(path: Path) -> Path:
    """Return the folder by which commands name the library of a database: of the photographs, or of the index."""
    return path.parent.parent if path.parent.name == FOLDER else path.parent


class DamagedLibrary(InputError):
    """A library whose files are damaged; the message names the remedy."""

    def __init__(self, path: Path, reason: object) -> None:
        text = " ".join(str(reason).split())
        super().__init__(
            f"{path} is damaged ({text}): `mascot index {library_of(path)} --again` makes it anew from the "
            "photographs, and keeps the saved choices"
        )


class UnknownPhoto(InputError):
    """The library holds no photograph with this id: there was none, or another process has removed it."""

    def __init__(self, id_: int) -> None:
        super().__init__(f"the library holds no photograph {id_}")


def _translating(method: Callable[..., Any]) -> Any:
    """Return a method of cursors that raises the errors of `database_errors`."""

    def call(cursor: _Cursor, *arguments: Any) -> Any:
        with database_errors(cursor.connection.path):
            return method(cursor, *arguments)

    return call


class _Cursor(sqlite3.Cursor):
    """A cursor that raises the errors of `database_errors`."""

    connection: _Connection
    execute = _translating(sqlite3.Cursor.execute)
    executemany = _translating(sqlite3.Cursor.executemany)
    fetchone = _translating(sqlite3.Cursor.fetchone)
    fetchmany = _translating(sqlite3.Cursor.fetchmany)
    fetchall = _translating(sqlite3.Cursor.fetchall)

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        while rows := self.fetchmany(_FETCH_ROWS):
            yield from rows


class _Connection(sqlite3.Connection):
    """A connection with the path of its file, for the errors of its cursors.

    It is closed when its thread ends, by sqlite3: a finalizer in Python can swallow a Ctrl-C.
    """

    path: Path

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, statement: str, parameters: Any = (), /) -> Any:  # sqlite3's own does not call `cursor`
        return self.cursor().execute(statement, parameters)

    def executemany(self, statement: str, parameters: Any, /) -> Any:
        return self.cursor().executemany(statement, parameters)


def plain_cursor(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """Return a cursor that raises the errors of SQLite unchanged."""
    return sqlite3.Connection.cursor(connection)


def reading_only(path: Path, options: str = "mode=ro") -> sqlite3.Connection:
    """Open a connection that never writes, even on a read-only disk."""
    connection = _connect(path, options)
    try:
        plain_cursor(connection).execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        if "immutable" in options or not _cannot_write(error):
            raise
        # To read beside a writer SQLite needs two extra files; if it cannot create them, there is no writer.
        return reading_only(path, f"{options}&immutable=1")
    return connection


def _cannot_write(error: sqlite3.OperationalError) -> bool:
    """Return whether SQLite failed to write, if only its own files beside the database."""
    return "readonly" in str(error) or "unable to open" in str(error)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    """Open a connection with the functions of this package, whose errors are those of `database_errors`."""
    address = f"{path.absolute().as_uri()}?{options}"
    connection = sqlite3.connect(
        address, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    connection.path = path
    for function in (composed, fold, words):
        connection.create_function(function.__name__, 1, function, deterministic=True)
    connection.create_function("light", 6, lambda *values: ", ".join(lights(*values)), deterministic=True)
    return connection


def _open(path: Path, mode: str) -> sqlite3.Connection:
    """Open a connection that writes if it can."""
    connection = _connect(path, f"mode={mode}")
    try:
        plain_cursor(connection).execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if not _cannot_write(error):
            raise
        connection = reading_only(path)
    connection.row_factory = sqlite3.Row
    for pragma in ("synchronous = NORMAL", "foreign_keys = ON", f"cache_size = {-_CACHE_KIB}"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


@dataclass(frozen=True, slots=True)
class Space:
    """The space of vectors: the fingerprint of the encoder, and their shape."""

    fingerprint: str
    dim: int
    tokens: int


LOOKS = Space("look", DIM, 1)  # the visual descriptors, which do not depend on an encoder


class Store:
    """Rows of one library. Each thread has its own connection; a batch is one transaction."""

    def __init__(self, path: Path, create: bool = False) -> None:
        if not create and not path.is_file():
            raise InputError(f"there is no library at {library_of(path)}: make one with `mascot index FOLDER`")
        self.path = path
        self._mode = "rwc" if create else "rw"  # rw: a removed file is not created again
        self._threads = threading.local()
        self._connections: weakref.WeakSet[sqlite3.Connection] = weakref.WeakSet()
        with database_errors(path):
            if create:
                create_tables(self.connection)
            version = schema_version(self.connection)
        if version != VERSION:
            raise DamagedLibrary(path, f"it has schema version {version}, and this mascot reads version {VERSION}")

    @property
    def connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._threads, "connection", None)
        if connection is None:
            with database_errors(self.path):
                connection = self._threads.connection = _open(self.path, self._mode)
            self._connections.add(connection)
        return connection

    def close(self) -> None:
        for connection in list(self._connections):
            connection.close()
        self._connections.clear()
        self._threads = threading.local()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in one transaction, which counts as a change of the library."""
        connection = self.connection
        with database_errors(self.path), transaction(connection):
            yield connection
            connection.execute(
                "INSERT INTO facts VALUES ('changes', '1') "
                "ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
            )

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of this thread in the block see one state of the library."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def check(self) -> None:
        """Raise `DamagedLibrary` if SQLite finds damage, or if a row or a vector cannot be right."""
        answer = self.connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if answer != "ok":
            raise DamagedLibrary(self.path, answer)
        self.photos(self.ids().tolist())
        space = self.space
        query = "SELECT photo FROM vectors WHERE space = ? AND length(vector) != ? LIMIT 1"
        row = self.connection.execute(query, (space.fingerprint, 4 * space.dim * space.tokens)).fetchone()
        if row is not None:
            raise DamagedLibrary(self.path, f"the vector of photograph {row[0]} has the wrong length")

    # Facts about the library itself

    def fact(self, name: str) -> str | None:
        row = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def number(self, name: str, default: int) -> int:
        """Return a fact that is an integer."""
        value = self.fact(name)
        try:
            return default if value is None else int(value)
        except ValueError:
            raise DamagedLibrary(self.path, f"the fact {name} is {value!r}") from None

    def set_facts(self, facts: Mapping[str, str]) -> None:
        with self.writing() as connection:
            connection.executemany(
                "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                list(facts.items()),
            )

    @property
    def changes(self) -> int:
        """The number of changes of the library. Derived files with another number are stale."""
        return self.number("changes", 0)

    # Photographs

    def count(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM photos").fetchone()[0])

    def count_wordless(self) -> int:
        """Return the number of photographs without title, caption and keywords."""
        query = "SELECT count(*) FROM photos WHERE title IS NULL AND caption IS NULL AND keywords = '[]'"
        return int(self.connection.execute(query).fetchone()[0])

    def _photo_of(self, row: sqlite3.Row) -> Photo:
        try:
            return Photo.from_row(row)
        except (ValueError, TypeError) as error:
            raise DamagedLibrary(self.path, f"photograph {row['id']}: {error}") from None

    def photo(self, id_: int) -> Photo:
        return self.photos([id_])[0]

    def photos(self, ids: Sequence[int]) -> list[Photo]:
        """Return these photographs, in this order."""
        photos = {row["id"]: self._photo_of(row) for row in self._rows("photos", COLUMNS, "id", ids)}
        for id_ in ids:
            if id_ not in photos:
                raise UnknownPhoto(id_)
        return [photos[id_] for id_ in ids]

    def identities(self, column: str, values: Iterable[str]) -> Iterator[tuple[int, str, str]]:
        """Yield id, path and hash of the photographs whose `column`, path or hash, is one of these, by id."""
        for row in self._rows("photos", ("id", "path", "hash"), column, values, "ORDER BY id"):
            yield row["id"], row["path"], row["hash"]

    def ids(self, order: str = "id") -> NDArray[np.int64]:
        """Return every id, ascending, or in another order."""
        rows = self.connection.execute(f"SELECT id FROM photos ORDER BY {order}")
        return np.array([row[0] for row in rows], np.int64)

    def cells(self, columns: Sequence[str], ids: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        """Return id and cells of these columns, for these photographs (default: all)."""
        names = ("id", *columns)
        if ids is not None:
            return [tuple(row) for row in self._rows("photos", names, "id", ids)]
        cursor = plain_cursor(self.connection)
        cursor.row_factory = None
        with database_errors(self.path):
            return cursor.execute(f"SELECT {', '.join(names)} FROM photos").fetchall()

    def ids_with_words(self, text: str) -> NDArray[np.int64]:
        """Return the ids of photographs whose file name, title, caption or keywords contain a text, as whole words.

        Text in a picture must contain all of the words, in any order.
        """
        file = "iif(folder = '.', path, substr(path, length(folder) + 2))"
        columns = f"coalesce(title, '') || ' . ' || coalesce(caption, '') || ' . ' || keywords || ' . ' || {file}"
        # LIKE is fast but knows only ASCII: it finds the rows for which the slow `words` is called.
        part = f"%{max(re.findall('[a-z0-9]+', fold(text)), key=len, default='')[:_LONGEST_PART]}%"
        has_part = "(path LIKE ?1 OR title LIKE ?1 OR caption LIKE ?1 OR keywords LIKE ?1)"
        query = f"SELECT id FROM photos WHERE {has_part} AND instr(words({columns}), words(?2))"
        parts = words(text).split()
        if not parts:
            return np.empty(0, np.int64)
        rows = self.connection.execute(query, (part, text)).fetchall()
        conditions = " AND ".join(["instr(words(text), ?)"] * len(parts))
        query = f"SELECT id FROM photos JOIN texts USING (hash) WHERE text LIKE ? AND {conditions}"
        rows += self.connection.execute(query, (part, *(f" {word} " for word in parts))).fetchall()
        return np.unique(np.array([row[0] for row in rows], np.int64))

    # Text in pictures

    def unread_texts(self) -> list[tuple[str, str]]:
        """Return hash and path of the photographs whose text was not read yet."""
        query = "SELECT hash, path FROM photos WHERE hash NOT IN (SELECT hash FROM texts) ORDER BY id"
        return [(row[0], row[1]) for row in self.connection.execute(query)]

    def put_texts(self, texts: Mapping[str, str]) -> None:
        """Store texts by the hash of the content in which they were read."""
        with self.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", list(texts.items()))

    def text_in(self, photo: int) -> str | None:
        """Return the text in a picture; None if it was not read."""
        query = "SELECT text FROM texts JOIN photos USING (hash) WHERE id = ?"
        row = self.connection.execute(query, (photo,)).fetchone()
        return None if row is None else str(row[0])

    def looks(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the visual descriptors of these photographs, a row each."""
        rows = {row["photo"]: row["look"] for row in self._rows("pixels", ("photo", "look"), "photo", ids)}
        if len(rows) < len(ids):
            self.photos(ids)  # raises `UnknownPhoto` if one was removed
        try:
            return np.stack([np.frombuffer(rows[i], np.float32) for i in ids])
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedLibrary(self.path, f"visual descriptors: {error}") from None

    def thumbnail(self, photo: int) -> bytes:
        row = self.connection.execute("SELECT thumbnail FROM pixels WHERE photo = ?", (photo,)).fetchone()
        if row is None:
            raise UnknownPhoto(photo)
        return bytes(row[0])

    def _rows(self, table: str, columns: Iterable[str], key: str, values: Iterable[Any], order: str = "") -> Any:
        """Return the rows whose key is one of these values, which are one parameter: SQLite limits their number."""
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE {key} IN (SELECT value FROM json_each(?)) {order}"
        keys = [value if isinstance(value, str) else int(value) for value in values]
        return self.connection.execute(query, (json.dumps(keys, ensure_ascii=False),))

    # Vectors

    @property
    def space(self) -> Space:
        """The space of the current encoder."""
        dim, tokens = max(self.number("dim", 1), 1), max(self.number("tokens", 1), 1)
        return Space(self.fact("fingerprint") or "", dim, tokens)

    def vectors_of(self, fingerprint: str) -> Iterator[tuple[int, bytes]]:
        """Yield id and vector of every photograph in the space of this fingerprint, by id."""
        for row in self._vectors("photo, vector", fingerprint, "ORDER BY photo"):
            yield row[0], row[1]

    def count_vectors(self, fingerprint: str) -> int:
        return int(self._vectors("count(*)", fingerprint).fetchone()[0])

    def _vectors(self, columns: str, fingerprint: str, order: str = "") -> sqlite3.Cursor:
        if fingerprint == LOOKS.fingerprint:
            return self.connection.execute(f"SELECT {columns} FROM (SELECT photo, look AS vector FROM pixels) {order}")
        return self.connection.execute(f"SELECT {columns} FROM vectors WHERE space = ? {order}", (fingerprint,))


def stamp_of(fingerprint: str, epoch: int) -> str:
    """Return the stamp of a vector: its space, and how often the library has been encoded."""
    return f"{fingerprint}-{epoch}"


@dataclass(slots=True)
class database_errors:
    """Context manager that turns errors of SQLite into `InputError` with a remedy."""

    # A class, because a generator is slower and this wraps every statement.
    _path: Path

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.IntegrityError):
            raise _translate(self._path, error) from None
        if isinstance(error, UnicodeDecodeError):  # also if a message of SQLite quotes damaged text
            raise DamagedLibrary(self._path, "text that is not UTF-8") from None


def _translate(path: Path, error: sqlite3.DatabaseError) -> InputError:
    reason = str(error)
    if "full" in reason or "disk I/O" in reason:
        return InputError(write_failure(path.parent, reason))
    is_damaged = "Could not decode" in reason or "no such table" in reason or "no such column" in reason
    if isinstance(error, sqlite3.OperationalError) and not is_damaged:
        return InputError(f"cannot use the library at {path}: {reason}")
    return DamagedLibrary(path, reason)


def is_full(error: OSError) -> bool:
    """Return whether a write failed for lack of space: a full disk, a quota or a limit on the size of files."""
    return error.errno in _FULL


def write_failure(path: Path, reason: str | OSError) -> str:
    """Return a message about a failed write: the path, the reason, the disk with its free space, and the remedy."""
    text = (reason.strerror or str(reason)) if isinstance(reason, OSError) else reason
    places = (path.absolute(), *path.absolute().parents)
    existing = next(place for place in places if os.path.exists(place))
    mount = next(place for place in places if os.path.ismount(place) or place == place.parent)
    free = ""
    with suppress(OSError):
        free = f", with {shutil.disk_usage(existing).free / 1e6:.1f} MB free"
    return (
        f"cannot write to {path}: {text}. Its disk is {mount}{free}. Free some space and "
        "run the same command again: what was indexed so far is kept"
    )


def put_photo(connection: sqlite3.Connection, photo: Photo) -> int:
    """Write a row inside a transaction, replacing that of the same path; return its id."""
    row = photo.to_row()
    del row["id"]  # the path decides: another process may have written this photograph since it was looked up
    updates = ", ".join(f"{name} = excluded.{name}" for name in row if name != "path")
    statement = (
        f"INSERT INTO photos ({', '.join(row)}) VALUES ({', '.join(':' + name for name in row)}) "
        f"ON CONFLICT (path) DO UPDATE SET {updates} RETURNING id"
    )
    return int(connection.execute(statement, row).fetchone()[0])


def put_pixels(connection: sqlite3.Connection, photo: int, thumbnail: bytes, look: NDArray[np.float32]) -> None:
    connection.execute("INSERT OR REPLACE INTO pixels VALUES (?, ?, ?)", (photo, thumbnail, look.tobytes()))


def put_sidecars(connection: sqlite3.Connection, photo: int, state: str) -> None:
    """Write the state of the sidecars of a photograph; empty if it has none."""
    if state:
        connection.execute("INSERT OR REPLACE INTO sidecars VALUES (?, ?)", (photo, state))
    else:
        connection.execute("DELETE FROM sidecars WHERE photo = ?", (photo,))


def put_vector(connection: sqlite3.Connection, photo: int, stamp: str, vector: NDArray[np.float32]) -> None:
    space = stamp.rpartition("-")[0]
    connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", (photo, space, stamp, vector.tobytes()))


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a library if the database is empty."""
    if schema_version(connection) == 0:
        with transaction(connection):
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                for statement in files("mascot.photos.database").joinpath("schema.sql").read_text("utf-8").split(";\n"):
                    connection.execute(statement)  # `executescript` would end the transaction
                connection.execute(f"PRAGMA user_version = {VERSION}")


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version with which the tables were created, 0 if there are none."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the block as one transaction, or roll it back if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise
