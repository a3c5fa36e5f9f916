"""Filters in SQL: which photographs a search may return. They are read-only, have a time limit and can be cancelled."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import MascotError, OptionError, quoted
from mascot.photos.database.store import database_errors, plain_cursor, reading_only
from mascot.photos.files.texts import composed
from mascot.photos.photo import COLUMNS

Cancelled = Callable[[], bool]  # polled; True cancels the search

_LONGEST_S = 10.0  # time limit of a filter
_STEPS = 20_000  # instructions of SQLite between two checks of the time, less than a millisecond
# File systems store accented names in two forms; conditions are written in one.
_PHOTOS = ", ".join(f"composed({name}) AS {name}" if name in ("path", "folder") else name for name in COLUMNS)


class SearchCancelled(MascotError):
    """The caller's `cancelled` returned True before the answer was ready."""


def matching(
    database: Path, where: str | Sequence[str], values: Sequence[Any] = (), cancelled: Cancelled | None = None
) -> NDArray[np.int64]:
    """Return the ids, in order, of the photographs for which an SQL expression holds, or all of several.

    An expression reads the columns of `photos`, and may call `fold`, which ignores case and the form of accents.
    `values` are those of the question marks. `cancelled` is called every few milliseconds; when it returns True,
    `SearchCancelled` is raised.
    """
    wheres = [where] if isinstance(where, str) else where
    condition = composed(" AND ".join(f"(\n{text}\n)" for text in wheres))  # a line break ends a comment
    query = f"SELECT id FROM (SELECT {_PHOTOS} FROM photos) AS photos WHERE {condition} ORDER BY id"
    deadline = time.monotonic() + _LONGEST_S
    with database_errors(database), closing(reading_only(database)) as connection:
        connection.set_progress_handler(
            lambda: time.monotonic() > deadline or (cancelled is not None and cancelled()), _STEPS
        )
        try:
            rows = plain_cursor(connection).execute(query, tuple(map(composed, values)))
            return np.array([row[0] for row in rows], np.int64)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if type(error) is sqlite3.DatabaseError:  # damage, not a wrong condition
                raise
            reason = " ".join(str(error).split())
            if reason == "interrupted":
                if time.monotonic() <= deadline:
                    raise SearchCancelled("the search was cancelled") from None
                reason = f"took longer than {_LONGEST_S:g} s"
            raise OptionError(f"where: {reason} in {quoted(where)}; columns are {', '.join(COLUMNS)}") from None
