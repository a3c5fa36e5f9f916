"""The tables of a library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mascot.errors import InputError

VERSION = 1  # stored as `user_version`; increased when a table changes
_TABLES = (
    """CREATE TABLE photos (
        id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folder TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, hash TEXT NOT NULL,
        width INTEGER NOT NULL, height INTEGER NOT NULL,
        lat REAL, lon REAL, altitude REAL, taken TEXT, offset INTEGER, camera TEXT, lens TEXT,
        title TEXT, caption TEXT, keywords TEXT NOT NULL, rating INTEGER,
        city TEXT, country TEXT, season TEXT, part_of_day TEXT, moment TEXT, problems TEXT NOT NULL
    )""",
    "CREATE INDEX photos_by_hash ON photos (hash)",
    "CREATE INDEX photos_by_taken ON photos (taken)",
    """CREATE TABLE pixels (
        photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, thumbnail BLOB NOT NULL, look BLOB NOT NULL
    )""",
    # A vector per space: the old ones are searched while the library is encoded again.
    """CREATE TABLE vectors (
        photo INTEGER NOT NULL REFERENCES photos ON DELETE CASCADE, space TEXT NOT NULL, stamp TEXT NOT NULL,
        vector BLOB NOT NULL, PRIMARY KEY (photo, space)
    )""",
    # The state of a photograph's sidecars when it was read. Most photographs have none.
    "CREATE TABLE sidecars (photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, state TEXT NOT NULL)",
    # `state` is that of a file that crashed a decoder; it is not tried again until its state changes.
    "CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT NOT NULL, state TEXT)",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)


def create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new library; raise `InputError` for a library of another schema version."""
    if _version(connection) == 0:
        with transaction(connection):
            if _version(connection) == 0:  # otherwise another process has created them meanwhile
                for statement in (*_TABLES, f"PRAGMA user_version = {VERSION}"):
                    connection.execute(statement)
    version = _version(connection)
    if version != VERSION:
        raise InputError(
            f"{path.parent} has schema version {version}, and this mascot reads version {VERSION}: "
            "delete that folder and run `mascot index` again"
        )


def _version(connection: sqlite3.Connection) -> int:
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
