"""Filters in SQL: which photographs a search may return. They run read-only, under limits, and can be cancelled."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import MascotError, OptionError
from mascot.photos.database.store import DamagedLibrary, database_errors, plain_cursor, reading_only
from mascot.photos.files.texts import composed, require_text
from mascot.photos.photo import COLUMNS

Cancelled = Callable[[], bool]  # polled; True cancels the search

_LONGEST_S = 10.0  # time limit of a filter
_STEPS = 20_000  # instructions of SQLite between two checks of the time, less than a millisecond
_HEAP = 2 << 30  # bytes that SQLite may use in this process
_SELECTS = 2  # in the query below: a condition adds none
# Without functions that can make large values out of small ones (replace, zeroblob, printf).
_FUNCTIONS = frozenset({
    "abs", "coalesce", "composed", "date", "datetime", "fold", "glob", "ifnull", "iif", "instr", "json_array_length",
    "json_extract", "julianday", "length", "light", "like", "lower", "ltrim", "max", "min", "nullif", "round", "rtrim",
    "sign", "strftime", "substr", "substring", "time", "trim", "typeof", "unicode", "unixepoch", "upper", "words",
})  # fmt: skip
# Numbers of SQLITE_LIMIT_ categories: older Pythons do not have the constants.
_LIMITS = {
    0: 1_000_000,  # LENGTH: bytes of a value
    1: 20_000,  # SQL_LENGTH: bytes of the query, with the list of columns
    2: 100,  # COLUMN
    3: 100,  # EXPR_DEPTH
    4: _SELECTS,  # COMPOUND_SELECT
    5: 50_000,  # VDBE_OP: instructions of the compiled query
    6: 20,  # FUNCTION_ARG
    7: 0,  # ATTACHED
    8: 1_000,  # LIKE_PATTERN_LENGTH
    9: 1_000,  # VARIABLE_NUMBER
}
# File systems store accented names in two forms; conditions are written in one. Most names are ASCII and need no call.
_NAME = "iif({0} GLOB '*[^ -~]*', composed({0}), {0}) AS {0}"
_PHOTOS = ", ".join(_NAME.format(name) if name in ("path", "folder") else name for name in COLUMNS)
# Strings, quoted names and comments, which may contain any word.
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|$)""", re.DOTALL)
_SUBQUERY = re.compile(r"\b(?:select|values|with)\b", re.IGNORECASE)
_NO_SUBQUERIES = "only the columns of photos and plain functions may be used, and no subqueries"
_LONGEST_WHERE = _LIMITS[1] - 4_000


class SearchCancelled(MascotError):
    """The caller's `cancelled` returned True before the answer was ready."""


def matching(
    database: Path, where: str | Sequence[str], values: Sequence[Any] = (), cancelled: Cancelled | None = None
) -> NDArray[np.int64]:
    """Return the ids, in order, of the photographs for which an SQL expression holds, or all of several.

    An expression reads the columns of `photos` and calls plain functions, among them `fold`, which ignores case and
    the form of accents. Subqueries and everything else are refused. `values` are those of the question marks.
    `cancelled` is called every few milliseconds; when it returns True, `SearchCancelled` is raised.
    """
    wheres = [where] if isinstance(where, str) else list(where)
    for text in [*wheres, *values]:
        require_text(str(text), "where")
    length = sum(len(text.encode()) for text in wheres)
    if length > _LONGEST_WHERE:
        raise OptionError(f"where: {length} bytes, more than the {_LONGEST_WHERE} allowed")
    for text in wheres:
        if _SUBQUERY.search(_QUOTED.sub(" ", text)):  # SQLite compiles some of them without asking the authorizer
            raise _refusal(_NO_SUBQUERIES, wheres)
    deadline = time.monotonic() + _LONGEST_S
    # The line break ends a comment, so that nothing can hide the closing bracket.
    condition = composed(" AND ".join(f"(\n{text}\n)" for text in wheres))
    query = f"SELECT id FROM (SELECT {_PHOTOS} FROM photos) AS photos WHERE {condition} ORDER BY id"
    with database_errors(database):
        connection = reading_only(database)
    try:
        cursor = _restricted(connection, lambda: time.monotonic() > deadline or (cancelled is not None and cancelled()))
        rows = cursor.execute(query, tuple(map(composed, values))).fetchall()
    except UnicodeDecodeError:
        raise DamagedLibrary(database, "text that is not UTF-8") from None
    except (sqlite3.Error, sqlite3.Warning, MemoryError, RecursionError) as error:
        if str(error) == "interrupted" and time.monotonic() <= deadline:
            raise SearchCancelled("the search was cancelled") from None
        if "malformed" in str(error) or "not a database" in str(error):
            raise DamagedLibrary(database, error) from None
        raise _refusal(_reason(error), wheres) from None
    finally:
        connection.close()
    return np.array([row[0] for row in rows], np.int64)


def _restricted(connection: sqlite3.Connection, is_over: Callable[[], bool]) -> sqlite3.Cursor:
    """Return a cursor that can only evaluate a condition, and only until `is_over`."""
    cursor = plain_cursor(connection)
    cursor.execute("PRAGMA query_only = ON")
    cursor.execute(f"PRAGMA hard_heap_limit = {_HEAP}")  # of all connections: SQLite has no limit per connection
    if hasattr(connection, "setlimit"):  # since Python 3.11
        for category, limit in _LIMITS.items():
            connection.setlimit(category, limit)
    selects = count(1)

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """Decide what the query may do; SQLite calls it while it compiles the query."""
        is_allowed = (
            (action == sqlite3.SQLITE_SELECT and next(selects) <= _SELECTS)
            or (action == sqlite3.SQLITE_READ and first == "photos")
            or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS)
        )
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    connection.set_authorizer(authorize)
    connection.set_progress_handler(lambda: int(is_over()), _STEPS)
    return cursor


def _refusal(reason: str, wheres: Sequence[str]) -> OptionError:
    quoted = " and ".join(map(repr, wheres))
    quoted = quoted if len(quoted) <= 500 else f"{quoted[:500]}..."
    return OptionError(f"where: {reason} in {quoted}; columns are {', '.join(COLUMNS)}")


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"needs more than {_HEAP >> 20} MB of memory"
    if text.startswith("not authorized") or "prohibited" in text:
        return _NO_SUBQUERIES
    return f"took longer than {_LONGEST_S:g} s" if text == "interrupted" else text
