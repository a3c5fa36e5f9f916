"""Plan which row of the library each file of known content gets.

A row follows its content: to the new name of a moved file, and crosswise if files exchanged their names.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mascot.photos.photo import Photo
from mascot.photos.reading import File, folder_of
from mascot.photos.store import put_photo, put_sidecars


@dataclass(frozen=True, slots=True)
class IndexedRow:
    """A row whose content other files may share."""

    id: int
    path: str
    hash: str
    taken: str | None


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """The rows of files whose content the library has already."""

    touched: dict[int, File] = field(default_factory=dict)  # rows that stay where they are
    moved: dict[int, File] = field(default_factory=dict)  # rows that get another path
    copied: list[tuple[int, File]] = field(default_factory=list)  # rows to be copied
    again: list[File] = field(default_factory=list)  # must be read: no row fits


def plan_adoption(
    files: Sequence[File],
    rows: Sequence[IndexedRow],
    missing: Collection[str],
    serves: Callable[[IndexedRow, str], bool],
) -> AdoptionPlan:
    """Return the rows for these files.

    Parameters
    ----------
    missing
        Paths of rows whose files do not exist any more.
    serves
        Whether a row of equal content also fits a file of this path.
    """
    hashes = {file.path: file.hash for file in files}
    own_ids = {(row.path, row.hash): row.id for row in rows}
    # Rows whose file is missing, or has other content now.
    free = {row.id for row in rows if row.path in missing or hashes.get(row.path, row.hash) != row.hash}
    by_hash: dict[str, list[IndexedRow]] = defaultdict(list)
    for row in rows:
        by_hash[row.hash].append(row)
    plan = AdoptionPlan()
    for file in files:
        own_id = own_ids.get((file.path, file.hash))
        if own_id is not None:
            plan.touched[own_id] = file
            continue
        fitting = (row for row in by_hash[file.hash] if serves(row, file.path))
        free_row = next((row for row in by_hash[file.hash] if row.id in free and serves(row, file.path)), None)
        if free_row is not None:
            free.discard(free_row.id)
            plan.moved[free_row.id] = file
        elif (source := next(fitting, None)) is not None:
            plan.copied.append((source.id, file))
        else:
            plan.again.append(file)
    return plan


def move(connection: sqlite3.Connection, moves: Mapping[int, File]) -> None:
    """Give rows new paths, which may be those of each other; other rows at these paths are removed."""
    # First to temporary paths, so that rows can exchange theirs. No real path begins with two slashes.
    connection.executemany("UPDATE photos SET path = '//' || id WHERE id = ?", [(id_,) for id_ in moves])
    connection.executemany("DELETE FROM photos WHERE path = ?", [(file.path,) for file in moves.values()])
    connection.executemany(
        "UPDATE photos SET path = ?, folder = ?, size = ?, mtime_ns = ? WHERE id = ?",
        [(file.path, folder_of(file.path), file.size, file.mtime_ns, id_) for id_, file in moves.items()],
    )
    for id_, file in moves.items():
        put_sidecars(connection, id_, file.sidecars)


def copy(connection: sqlite3.Connection, source: int, file: File) -> None:
    """Write a row for this file as a copy of another row."""
    row = connection.execute("SELECT * FROM photos WHERE id = ?", (source,)).fetchone()
    photo = replace(
        Photo.from_row(row), path=file.path, folder=folder_of(file.path), size=file.size, mtime_ns=file.mtime_ns
    )
    id_ = put_photo(connection, photo)
    put_sidecars(connection, id_, file.sidecars)
    for table, columns in (("pixels", "thumbnail, look"), ("vectors", "space, stamp, vector")):
        connection.execute(
            f"INSERT OR REPLACE INTO {table} SELECT ?, {columns} FROM {table} WHERE photo = ?", (id_, source)
        )
