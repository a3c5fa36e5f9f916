"""Filters in SQL: which photographs a search may return, read-only and on a restricted connection."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import OptionError
from mascot.photos.photo import COLUMNS
from mascot.photos.store import reading_only
from mascot.photos.texts import composed, fold, require_text

_LONGEST_S = 10.0  # a filter may run
STOPPING: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)  # set: the caller has left
# Without those that can make large values out of small ones (replace, zeroblob, printf).
_FUNCTIONS = frozenset({
    "abs", "coalesce", "composed", "date", "datetime", "fold", "glob", "ifnull", "iif", "instr", "json_array_length",
    "json_each", "json_extract", "julianday", "length", "like", "lower", "ltrim", "max", "min", "nullif", "round",
    "rtrim", "sign", "strftime", "substr", "substring", "time", "trim", "typeof", "unicode", "unixepoch", "upper",
})  # fmt: skip
_READS = frozenset({"photos", "json_each"})
# Files bear their names in the form their system likes; conditions are written in another. Most names are plain, and
# are not worth a call for every row.
_NAME = "iif({0} GLOB '*[^ -~]*', composed({0}), {0}) AS {0}"
_PHOTOS = ", ".join(_NAME.format(name) if name in ("path", "folder") else name for name in COLUMNS)


def matching(database: Path, where: str | Sequence[str], values: Sequence[Any] = ()) -> NDArray[np.int64]:
    """Ids of the photographs for which the SQL expression holds, in order; of several, all of them.

    An expression reads the columns of `photos` and calls plain functions, `fold` among them, which makes names that
    read the same the same; anything else is refused. `values` stand for the question marks.
    """
    wheres = [where] if isinstance(where, str) else list(where)
    for text in [*wheres, *values]:
        require_text(str(text), "where")
    connection = reading_only(database)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_allowed)
        ends, stopping = time.monotonic() + _LONGEST_S, STOPPING.get() or threading.Event()
        connection.set_progress_handler(lambda: int(time.monotonic() > ends or stopping.is_set()), 100_000)
        # The line break ends a comment, so that nothing can hide the closing bracket.
        holds = composed(" AND ".join(f"(\n{one}\n)" for one in wheres))
        query = f"SELECT id FROM (SELECT {_PHOTOS} FROM photos) AS photos WHERE {holds} ORDER BY id"
        rows = connection.execute(query, tuple(map(composed, values))).fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        told = " and ".join(map(repr, wheres))
        raise OptionError(f"where: {_told(error)} in {told}; columns are {', '.join(COLUMNS)}") from None
    finally:
        connection.close()
    return np.array([row[0] for row in rows], np.int64)


def within(folder: str) -> tuple[str, list[Any]]:
    """The condition, with its values, that a photograph lies in a folder of the library or below it."""
    if folder == ".":
        return "1", []
    name = f"{fold(folder)}/"
    return "substr(fold(folder) || '/', 1, ?) = ?", [len(name), name]


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and first in _READS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())
    if text.startswith("not authorized") or "prohibited" in text:
        return "only the columns of photos and plain functions may be used"
    return f"took longer than {_LONGEST_S:g} s" if text == "interrupted" else text
