"""Create the tables of a library, which schema.sql defines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

VERSION = 3  # stored as `user_version`; increased when schema.sql changes


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
