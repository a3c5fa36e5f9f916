"""Create the tables of a library, which schema.sql defines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from mascot.errors import InputError

VERSION = 2  # stored as `user_version`; increased when a table in schema.sql changes

TEXTS = (  # the text in photographs, by the hash of their content; only in libraries whose text was read
    "CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER IF NOT EXISTS texts_after_{event} AFTER {event} ON photos "
        "WHEN NOT EXISTS (SELECT 1 FROM photos WHERE hash = old.hash) "
        "BEGIN DELETE FROM texts WHERE hash = old.hash; END"
        for event in ("DELETE", "UPDATE")
    ),
)


def create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables of a new library or update older ones; raise `InputError` for an unknown version."""
    if _version(connection) == 0:
        with transaction(connection):
            if _version(connection) == 0:  # otherwise another process has created them meanwhile
                script = files("mascot.photos.database").joinpath("schema.sql").read_text("utf-8")
                for statement in script.split(";\n"):  # not `executescript`, which would end the transaction
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
    elif _version(connection) == 1:
        with transaction(connection):
            if _version(connection) == 1:
                connection.execute("ALTER TABLE photos ADD COLUMN quality REAL")
                connection.execute(f"PRAGMA user_version = {VERSION}")
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
