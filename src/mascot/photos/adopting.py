"""Files whose content the library has already: which row each of them gets.

A row goes with its content: to the new name of a file that was moved, and to each other's where files changed names.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from mascot.photos.photo import Photo
from mascot.photos.reading import File, folder_of
from mascot.photos.store import put_photo, put_sidecars


@dataclass(frozen=True, slots=True)
class IndexedRow:
    """A row that others may be the same as."""

    id: int
    path: str
    hash: str
    taken: str | None


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """What becomes of files of known content."""

    touched: Mapping[int, File]  # rows that stay where they are
    moved: Mapping[int, File]  # rows that get another path
    copied: Sequence[tuple[int, File]]  # rows to be copied
    again: Sequence[File]  # must be read: no row will do


def plan(
    files: Sequence[File], rows: Sequence[IndexedRow], gone: Collection[str], serves: Callable[[IndexedRow, str], bool]
) -> AdoptionPlan:
    """Rows for these files.

    Parameters
    ----------
    gone
        Paths of rows whose files are not there any more.
    serves
        Whether a row of equal content is also right for a file of this path.
    """
    wanted = {file.path: file.hash for file in files}
    by_hash: dict[str, list[IndexedRow]] = defaultdict(list)
    free: dict[str, list[IndexedRow]] = defaultdict(list)
    for row in rows:
        by_hash[row.hash].append(row)
        if _is_free(row, wanted, gone):
            free[row.hash].append(row)
    own = {(row.path, row.hash): row.id for row in rows}
    touched: dict[int, File] = {}
    moved: dict[int, File] = {}
    copied: list[tuple[int, File]] = []
    again: list[File] = []
    for file in files:
        if (file.path, file.hash) in own:
            touched[own[file.path, file.hash]] = file
            continue
        left = next((row for row in free[file.hash] if serves(row, file.path)), None)
        if left is not None:
            free[file.hash].remove(left)
            moved[left.id] = file
            continue
        like = next((row for row in by_hash[file.hash] if serves(row, file.path)), None)
        if like is not None:
            copied.append((like.id, file))
        else:
            again.append(file)
    return AdoptionPlan(touched, moved, copied, again)


def _is_free(row: IndexedRow, wanted: Mapping[str, str], gone: Collection[str]) -> bool:
    """Whether the file at the row's path is gone, or holds something else now."""
    return row.path in gone or wanted.get(row.path, row.hash) != row.hash


def move(connection: sqlite3.Connection, moves: Mapping[int, File]) -> None:
    """Give rows new paths, which may be those of each other; other rows at these paths are removed."""
    # Out of each other's way first. No path begins with two slashes.
    connection.executemany("UPDATE photos SET path = '//' || id WHERE id = ?", [(id_,) for id_ in moves])
    connection.executemany("DELETE FROM photos WHERE path = ?", [(file.path,) for file in moves.values()])
    connection.executemany(
        "UPDATE photos SET path = ?, folder = ?, size = ?, mtime_ns = ? WHERE id = ?",
        [(file.path, folder_of(file.path), file.size, file.mtime_ns, id_) for id_, file in moves.items()],
    )
    for id_, file in moves.items():
        put_sidecars(connection, id_, file.sidecars)


def copy(connection: sqlite3.Connection, source: int, file: File) -> None:
    """Write a row for this file that is like another one."""
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
