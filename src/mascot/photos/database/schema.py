"""Create the tables of a library, which schema.sql defines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

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


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a library if the database is empty."""
    if schema_version(connection) == 0:
        with transaction(connection):
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                script = files("mascot.photos.database").joinpath("schema.sql").read_text("utf-8")
                for statement in script.split(";\n"):  # not `executescript`, which would end the transaction
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")


def update_tables(connection: sqlite3.Connection) -> None:
    """Update the tables of an older version."""
    if schema_version(connection) == 1:
        with transaction(connection):
            if "quality" not in [row[1] for row in connection.execute("PRAGMA table_info(photos)")]:
                connection.execute("ALTER TABLE photos ADD COLUMN quality REAL")
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
