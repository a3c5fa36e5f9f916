"""The plan of a run: what each row should be, and what the engine holds.

It is kept in a temporary database on disk, some 1 KB a file, so that memory does not grow with the number of files.
"""

from __future__ import annotations

import hashlib
import pickle
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mascot.photos.moments import Shot, label_moments
from mascot.photos.photo import Photo
from mascot.scale.stages import Order, Row, Seen

State = tuple[int, int, str, str]  # size, mtime_ns, hash, stamp

_PAGE = 512  # rows read at once
_COLUMNS = tuple(field.name for field in fields(Photo))
_OF_ONE_FILE = ("path", "folder", "mtime_ns")  # differ between copies
_CACHE_KIB = 16_384
_SCHEMA = """
CREATE TABLE files (
  number INTEGER PRIMARY KEY,  -- in the order of the walk
  path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, suspect INTEGER NOT NULL,
  sidecars TEXT NOT NULL, sidecar_state TEXT NOT NULL,
  photo BLOB,                  -- as its header tells; NULL where the file gives no row
  header BLOB,                 -- a digest of what copies have in common
  taken TEXT, lat REAL, lon REAL, city TEXT, camera TEXT,
  hash TEXT, original TEXT, moment TEXT, stamp TEXT, written INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX headers ON files (header) WHERE header IS NOT NULL;
CREATE INDEX hashes ON files (hash) WHERE hash IS NOT NULL;
CREATE TABLE rows (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, hash TEXT, stamp TEXT, old INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE labels (number INTEGER PRIMARY KEY, moment TEXT NOT NULL);
CREATE TABLE orders (turn INTEGER PRIMARY KEY, number INTEGER NOT NULL);
"""
_FILE = "path, size, mtime_ns, suspect, sidecars, sidecar_state"
_SEEN = f"SELECT number, {_FILE} FROM files WHERE number > ? AND {{}} ORDER BY number LIMIT ?"


class Plan:
    """Files, the rows they should give, and the rows that the engine holds.

    Parameters
    ----------
    root
        The folder of the files.
    stamp
        Returns the stamp of a row, of its moment, its original and the state of its sidecars.
    """

    def __init__(self, root: Path, stamp: Callable[[str | None, str, str], str]) -> None:
        self._root = root
        self._folder = TemporaryDirectory(prefix="mascot-plan-")
        self._database = sqlite3.connect(Path(self._folder.name) / "plan.db", isolation_level=None)
        self._database.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{_CACHE_KIB}; {_SCHEMA} BEGIN"
        )
        self._database.create_function("stamp_of", 3, stamp, deterministic=True)

    def close(self) -> None:
        self._database.close()
        self._folder.cleanup()

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_rows(self, states: Iterable[tuple[str, State]]) -> None:
        """Record the rows that the engine holds before the run."""
        self._database.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, 1)", ((path, *state) for path, state in states)
        )

    def add_files(self, files: Iterable[Seen]) -> int:
        """Record the files of the walk, and return how many there are."""
        values = (
            (
                seen.path, seen.size, seen.mtime_ns, seen.suspect, "\0".join(map(str, seen.sidecars)),
                seen.sidecar_state,
            )
            for seen in files
        )  # fmt: skip
        self._database.executemany(f"INSERT INTO files ({_FILE}) VALUES (?, ?, ?, ?, ?, ?)", values)
        return self.count("files")

    def add_photo(self, photo: Photo) -> None:
        """Record the header of a file."""
        values = {name: getattr(photo, name) for name in _COLUMNS}
        shared_values = repr([value for name, value in values.items() if name not in _OF_ONE_FILE]).encode()
        self._run(
            "UPDATE files SET photo = ?, header = ?, taken = ?, lat = ?, lon = ?, city = ?, camera = ? WHERE path = ?",
            pickle.dumps(tuple(values.values())), hashlib.blake2b(shared_values, digest_size=16).digest(),
            None if photo.taken is None else photo.taken.isoformat(), photo.lat, photo.lon, photo.city, photo.camera,
            photo.path,
        )  # fmt: skip

    def add_hash(self, path: str, digest: str) -> None:
        self._run("UPDATE files SET hash = ? WHERE path = ?", digest, path)

    def drop_photo(self, path: str) -> None:
        """Record that a file gives no row: it belongs to no moment, and it is not the original of a copy."""
        self._run("UPDATE files SET photo = NULL, header = NULL, hash = NULL WHERE path = ?", path)

    def add_written(self, row: Row) -> None:
        """Record that the engine has this row now."""
        photo = row.photo
        self._run(
            "INSERT INTO rows VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT (path) DO UPDATE "
            "SET size = ?2, mtime_ns = ?3, hash = ?4, stamp = ?5",
            photo.path, photo.size, photo.mtime_ns, photo.hash, row.stamp,
        )  # fmt: skip
        self._run("UPDATE files SET written = 1 WHERE path = ?", photo.path)

    def seen(self, path: str) -> Seen:
        """Return a file by its path."""
        return self._file(self._run(f"SELECT {_FILE} FROM files WHERE path = ?", path).fetchone())

    def files(self) -> Iterator[Seen]:
        """Yield the files in the order of the walk."""
        return self._seen("TRUE")

    def unhashed(self) -> Iterator[Seen]:
        """Yield files that may be copies, of equal size and with equal headers, whose hashes are not known."""
        copies = (
            "EXISTS (SELECT 1 FROM files AS other WHERE other.header = files.header AND other.number <> files.number)"
        )
        self._run(
            "UPDATE files SET hash = (SELECT hash FROM rows WHERE rows.path = files.path AND rows.size = files.size "
            f"AND rows.mtime_ns = files.mtime_ns) WHERE {copies}"
        )
        return self._seen(f"hash IS NULL AND {copies}")

    def order(self) -> int:
        """Decide what every row should be, and return how many of them the engine does not have."""
        self._run(
            "UPDATE files SET original = coalesce((SELECT first.path FROM files AS first "
            "WHERE first.hash = files.hash ORDER BY first.number LIMIT 1), path)"
        )
        self._run("DELETE FROM labels")
        self._database.executemany("INSERT INTO labels VALUES (?, ?)", label_moments(self._shots()))
        self._run("UPDATE files SET moment = (SELECT moment FROM labels WHERE labels.number = files.number)")
        self._run("UPDATE files SET stamp = stamp_of(moment, original, sidecar_state) WHERE photo IS NOT NULL")
        self._run("DELETE FROM orders")
        self._run(
            "INSERT INTO orders (number) SELECT number FROM files LEFT JOIN rows USING (path) "
            "WHERE photo IS NOT NULL AND (rows.path IS NULL OR "
            "(rows.size, rows.mtime_ns, rows.stamp) IS NOT (files.size, files.mtime_ns, files.stamp)) "
            "ORDER BY original <> path, number"
        )
        return self.count("orders")

    def orders(self) -> Iterator[Order]:
        """Yield the rows that the engine does not have; copies come after all others, as in a library."""
        sql = (
            "SELECT turn, photo, moment, original, stamp FROM orders JOIN files USING (number) "
            "WHERE turn > ? ORDER BY turn LIMIT ?"
        )
        for _, photo, moment, original, stamp in self._pages(sql):
            values = dict(zip(_COLUMNS, pickle.loads(photo), strict=True))
            yield Order(self._root / values["path"], Photo(**values | {"moment": moment}), original, stamp)

    def vanished_paths(self) -> Iterator[str]:
        """Yield the paths of rows without a file."""
        rows = self._run("SELECT path FROM rows WHERE path NOT IN (SELECT path FROM files) ORDER BY path")
        return (path for (path,) in rows)

    def count(self, table: str, where: str = "TRUE") -> int:
        """Return how many files, rows or orders there are, of those for which a condition holds."""
        number: int = self._run(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]
        return number

    def _shots(self) -> Iterator[Shot]:
        """Yield what decides the moments, by time and then as a library numbers them: copies after all others."""
        rows = self._run(
            "SELECT number, taken, lat, lon, city, camera FROM files WHERE photo IS NOT NULL AND taken IS NOT NULL "
            "ORDER BY taken, original <> path, number"
        )
        for number, taken, lat, lon, city, camera in rows:
            yield Shot(number, datetime.fromisoformat(taken), lat, lon, city, camera)

    def _seen(self, where: str) -> Iterator[Seen]:
        for _, *row in self._pages(_SEEN.format(where)):
            yield self._file(row)

    def _file(self, row: Sequence[Any]) -> Seen:
        path, size, mtime_ns, suspect, sidecars, state = row
        sidecar_paths = tuple(map(Path, sidecars.split("\0"))) if sidecars else ()
        return Seen(self._root / path, path, size, mtime_ns, bool(suspect), sidecar_paths, state)

    def _pages(self, sql: str) -> Iterator[Any]:
        """Yield rows page by page, by the number in their first column, so that the caller may write meanwhile."""
        last = 0
        while page := self._run(sql, last, _PAGE).fetchall():
            yield from page
            last = page[-1][0]

    def _run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        return self._database.execute(sql, values)
