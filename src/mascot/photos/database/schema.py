"""Create the tables of a library, which schema.sql and texts.sql define."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

VERSION = 2  # stored as `user_version`; increased when a table in schema.sql changes


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a library if the database is empty."""
    if schema_version(connection) == 0:
        with transaction(connection):
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                run_script(connection, "schema.sql")
                connection.execute(f"PRAGMA user_version = {VERSION}")


def update_tables(connection: sqlite3.Connection) -> None:
    """Update the tables of an older version."""
    if schema_version(connection) == 1:
        with transaction(connection):
            if "quality" not in [row[1] for row in connection.execute("PRAGMA table_info(photos)")]:
                connection.execute("ALTER TABLE photos ADD COLUMN quality REAL")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def run_script(connection: sqlite3.Connection, name: str) -> None:
    """Execute a file of this package in the transaction of the caller, which `executescript` would end."""
    for statement in files("mascot.photos.database").joinpath(name).read_text("utf-8").split(";\n"):
        connection.execute(statement)


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
