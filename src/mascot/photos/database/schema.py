"""The tables of a library, and the steps that bring an older one up to date."""

from __future__ import annotations

import sqlite3

from mascot.errors import InputError

# Each step is applied once, in order, and never changed after a release; `user_version` counts them.
_STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE photos (
            id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, folder TEXT NOT NULL,
            size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, hash TEXT NOT NULL,
            width INTEGER NOT NULL, height INTEGER NOT NULL,
            lat REAL, lon REAL, altitude REAL, taken TEXT, offset INTEGER, camera TEXT, lens TEXT,
            title TEXT, caption TEXT, keywords TEXT NOT NULL, rating INTEGER,
            city TEXT, country TEXT, season TEXT, part_of_day TEXT, moment TEXT, problems TEXT NOT NULL
        )""",
        "CREATE INDEX photos_by_hash ON photos (hash)",
        "CREATE TABLE pixels (photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, "
        "thumbnail BLOB NOT NULL, look BLOB NOT NULL)",
        "CREATE TABLE vectors (photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, "
        "stamp TEXT NOT NULL, vector BLOB NOT NULL)",
        "CREATE TABLE skipped (path TEXT PRIMARY KEY, reason TEXT NOT NULL)",
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ),
    ("CREATE INDEX photos_by_taken ON photos (taken)",),
    ("ALTER TABLE skipped ADD COLUMN state TEXT",),  # the state of a file that crashed a decoder: it is not tried again
    (  # a vector per space: the old ones are searched while the library is encoded again
        "CREATE TABLE vectors_by_space (photo INTEGER NOT NULL REFERENCES photos ON DELETE CASCADE, "
        "space TEXT NOT NULL, stamp TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (photo, space))",
        "INSERT INTO vectors_by_space SELECT photo, substr(rtrim(stamp, '0123456789'), 1, "
        "length(rtrim(stamp, '0123456789')) - 1), stamp, vector FROM vectors",
        "DROP TABLE vectors",
        "ALTER TABLE vectors_by_space RENAME TO vectors",
    ),
    (  # the state of a photograph's sidecars when it was read; most have none
        "CREATE TABLE sidecars (photo INTEGER PRIMARY KEY REFERENCES photos ON DELETE CASCADE, state TEXT NOT NULL)",
    ),
)
VERSION = len(_STEPS)
_SEARCHABLE = 4  # the oldest version that can be searched without a migration, if the library is read-only


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the outstanding steps to this library, in one transaction."""
    version = _version(connection)
    if version == VERSION:
        return
    try:
        connection.execute("BEGIN IMMEDIATE")
    except (sqlite3.OperationalError, InputError) as error:
        if "readonly" in str(error) and version >= _SEARCHABLE:
            return
        raise
    try:
        # Another process may have migrated it meanwhile.
        for step in range(_version(connection), VERSION):
            for statement in _STEPS[step]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise InputError(
            f"this library has schema version {version}, newer than the {VERSION} this mascot knows: update mascot"
        )
    return version
