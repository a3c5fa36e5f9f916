"""The database of a library as a sink: a row follows its content to another path, and copies share what was read.

Every batch is one transaction: a killed run loses at most the batch it was in, and the next run continues there.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from mascot.photos.database.store import DamagedLibrary, Store, put_photo, put_pixels, put_sidecars, put_vector
from mascot.photos.encoders.describe import path_words
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.decoder_pool import DecoderPool
from mascot.photos.files.images import Unreadable
from mascot.photos.files.reading import File, folder_of
from mascot.photos.files.texts import as_text
from mascot.photos.files.walk import PictureFile, Skipped
from mascot.photos.indexing.stages import Hashed, IndexRow, Order, Unread, in_batches
from mascot.photos.metadata import validate
from mascot.photos.metadata.moments import Shot, moments
from mascot.photos.photo import Photo

_BATCH = 32  # copies written in one transaction
_FUTURE = re.compile(r"taken: '(\d{4})[^']*' is in the future")  # as `validate.moment` words it


@dataclass(frozen=True, slots=True)
class _StoredRow:
    """A row as the walk compares it."""

    is_fresh: bool  # encoded under the current stamp
    is_dated: bool  # whether the row has a time, or neither file nor file name has a usable one
    id: int
    size: int
    mtime_ns: int
    hash: str
    sidecars: str  # their state when the file was read

    def is_current(self, source: PictureFile) -> bool:
        state = (source.size, source.mtime_ns, source.sidecar_state)
        return self.is_fresh and self.is_dated and (self.size, self.mtime_ns, self.sidecars) == state


class LibrarySink:
    """The rows of one library during one run. `folders` are those of the library, the first one first.

    Vectors whose stamp is not `stamp` are computed again. `uses_words`: the words of a path are part of its vector.
    """

    def __init__(
        self, store: Store, folders: Sequence[Path], stamp: str, limits: Limits, uses_words: bool = False
    ) -> None:
        self._store, self._folders, self._stamp = store, folders, stamp
        self._limits, self._uses_words = limits, uses_words
        self.is_in_folder = store.path.is_relative_to(folders[0])
        self.missing: set[str] = set()
        self._rows = self._stored_rows()
        broken = store.connection.execute("SELECT path, state, reason FROM skipped WHERE state IS NOT NULL")
        self._broken_before = {path: (state, reason) for path, state, reason in broken}
        self._states: dict[str, str] = {}  # states of files that broke a decoder, now or before, by path
        self._fresh: dict[str, list[str]] = defaultdict(list)  # paths encoded under this stamp before, by hash
        for path, row in self._rows.items():
            if row.is_fresh and not row.sidecars:  # the metadata of a sidecar does not apply to copies of the file
                self._fresh[row.hash].append(path)
        self._orphans: dict[str, list[str]] = defaultdict(list)  # paths of rows whose file is gone, by hash
        self._claimed: set[tuple[str, tuple[str, ...]]] = set()  # hash and words of contents that this run reads
        self._claiming = threading.Lock()
        self._shares = True  # whether files of equal content share what was read
        self._paths: set[str] = set()  # of all files
        self._files: list[Order] = []  # to be read
        self._same: list[Hashed] = []  # files with the same content as others
        self._counts = Counter(new=0, changed=0, moved=0, copied=0, unchanged=0)

    def _stored_rows(self) -> dict[str, _StoredRow]:
        query = (
            "SELECT path, stamp IS NOT NULL, taken IS NULL, problems, id, size, mtime_ns, hash, coalesce(state, '') "
            "FROM photos LEFT JOIN vectors ON vectors.photo = photos.id AND vectors.stamp = ? "
            "LEFT JOIN sidecars ON sidecars.photo = photos.id"
        )
        rows = self._store.connection.execute(query, (self._stamp,))
        return {
            path: _StoredRow(bool(is_fresh), not (is_undated and _is_dated_now(path, problems)), *values)
            for path, is_fresh, is_undated, problems, *values in rows
        }

    def add(self, order: Order) -> str | None:
        """Record a file; refuse one that is too large, or broke a decoder before and has not changed."""
        row = self._rows.get(order.path)
        if row is not None and row.is_current(order.source):
            self._paths.add(order.path)
            self._counts["unchanged"] += 1
            return None
        too_large = self._limits.refusal(order.source.size)
        if too_large is not None:
            return too_large
        name = as_text(str(order.source.path))
        state, reason = self._broken_before.get(name, ("", ""))
        if state == self._state(order.source):
            self._states[name] = state
            return reason
        self._paths.add(order.path)
        self._files.append(order)
        return None

    def _state(self, file: PictureFile) -> str:
        """Return text that differs when the file, the limits or the encoding have changed."""
        return f"{file.size} {file.mtime_ns} {self._stamp} {self._limits} {file.sidecar_state}".rstrip()

    def paths_without_files(self) -> Collection[str]:
        return self._rows.keys() - self._paths

    def prepare(self) -> None:
        """Prepare `plan`, once `missing` is known."""
        for path in sorted(self.missing):
            self._orphans[self._rows[path].hash].append(path)

    def plan(self) -> int:
        """Return the number of files to read and encode, which `orders` yields next; called until it returns 0."""
        if self._same:  # everything that they may be copies of is encoded by now
            self._shares = False
            self._files = self._adopt()
        return len(self._files)

    def orders(self) -> Iterator[Order]:
        files, self._files = self._files, []
        return iter(files)

    def wants(self, order: Order, digest: str) -> bool:
        """Return whether a content must be decoded, and claim it: no thread has encoded it or is about to."""
        is_dated = order.path not in self._rows or self._rows[order.path].is_dated
        if not order.source.sidecars and is_dated and self._shares:
            words = self._words(order.path)
            if any(self._words(path) == words for path in self._fresh.get(digest, ())):
                return False
            with self._claiming:
                if (digest, words) in self._claimed:
                    return False
                self._claimed.add((digest, words))
        return True

    def _words(self, path: str) -> tuple[str, ...]:
        """Return the words of a path that are part of a vector: those of the part below its folder."""
        if not self._uses_words:
            return ()
        absolute = self._folders[0] / path
        tops = (folder for folder in self._folders if absolute.is_relative_to(folder))
        return tuple(path_words(next((absolute.relative_to(top).as_posix() for top in tops), path)))

    def put(self, rows: Sequence[IndexRow], same: Sequence[Hashed]) -> None:
        """Store rows, and record files whose content was not wanted."""
        self._same += same
        if not rows:
            return
        with self._store.writing() as connection:
            for row in rows:
                is_stored = row.path in self._rows
                orphan = None if is_stored else self._take_orphan(row.photo.hash)
                if orphan is not None:
                    _move(connection, {orphan: row.order.file(row.photo.hash)})
                id_ = put_photo(connection, row.photo)
                put_sidecars(connection, id_, row.order.source.sidecar_state)
                put_pixels(connection, id_, row.thumbnail, row.look)
                put_vector(connection, id_, self._stamp, row.vectors)
                self._counts["changed" if is_stored else "new" if orphan is None else "moved"] += 1

    def _take_orphan(self, digest: str) -> int | None:
        """Return the id of a row of this content whose file is gone, once."""
        path = next((path for path in self._orphans.get(digest, ()) if path in self.missing), None)
        if path is None:
            return None
        self.missing.discard(path)
        return self._rows[path].id

    def drop(self, file: Unread) -> None:
        """Record that a file of an order gives no row."""
        if file.is_broken:  # it is not tried again until it changes
            self._states[as_text(str(file.order.source.path))] = self._state(file.order.source)

    def _adopt(self) -> list[Order]:
        """Give files of known content their rows; return those that must be read after all.

        A row follows its content: to the new name of a moved file, and crosswise if files exchanged their names.
        """
        same, self._same = self._same, []
        query = (
            "SELECT id, path, hash, taken FROM photos JOIN vectors ON vectors.photo = id WHERE stamp = ? "
            "AND id NOT IN (SELECT photo FROM sidecars) ORDER BY id"
        )
        own_ids: dict[tuple[str, str], int] = {}
        by_hash: dict[str, list[sqlite3.Row]] = defaultdict(list)
        free: dict[int, str] = {}  # paths of rows whose file is missing, or has other content now, by id
        hashes = {item.path: item.hash for item in same}
        for row in self._store.connection.execute(query, (self._stamp,)):
            own_ids[row["path"], row["hash"]] = row["id"]
            by_hash[row["hash"]].append(row)
            if row["path"] in self.missing or hashes.get(row["path"], row["hash"]) != row["hash"]:
                free[row["id"]] = row["path"]
        unmoved: dict[int, File] = {}
        moved: dict[int, File] = {}
        copies: list[tuple[int, File]] = []
        again: list[Order] = []
        with DecoderPool(self._limits) as decoders:
            for item in same:
                file, own_id = item.order.file(item.hash), own_ids.get((item.path, item.hash))
                if own_id is not None:
                    unmoved[own_id] = file
                    continue
                candidates = sorted(by_hash[item.hash], key=lambda row: row["id"] not in free)  # free ones first
                source = next((row for row in candidates if self._fits(row, item.path, decoders)), None)
                if source is None:
                    again.append(item.order)
                elif source["id"] in free:
                    self.missing.discard(free.pop(source["id"]))
                    moved[source["id"]] = file
                else:
                    copies.append((source["id"], file))
        if unmoved or moved:
            with self._store.writing() as connection:
                _move(connection, unmoved | moved)
        for batch in in_batches(copies, _BATCH):
            with self._store.writing() as connection:
                for id_, file in batch:
                    _copy(connection, id_, file)
        self._counts.update(unchanged=len(unmoved), moved=len(moved), copied=len(copies))
        return again

    def _fits(self, row: sqlite3.Row, path: str, decoders: DecoderPool) -> bool:
        """Return whether a row also fits a copy at another path, whose name may contain other words or another time."""
        if self._words(row["path"]) != self._words(path):
            return False
        before, now = validate.time_in_name(row["path"]), validate.time_in_name(path)
        is_dated = before == now or (row["taken"] is not None and row["taken"] != (before and before.isoformat()))
        with suppress(Unreadable):
            return is_dated or decoders.read(self._folders[0] / path).metadata.taken is not None
        return False

    def remove(self, paths: Sequence[str]) -> None:
        with self._store.writing() as connection:
            connection.executemany("DELETE FROM photos WHERE path = ?", [(path,) for path in paths])

    def finish(self, skipped: Sequence[Skipped]) -> Mapping[str, int]:
        """Complete the library; return the counts of the summary."""
        self._note_skipped(skipped)
        self._name_moments()
        return {"photos": self._store.count(), **self._counts}

    def _note_skipped(self, skipped: Sequence[Skipped]) -> None:
        reasons = {as_text(str(item.path)): item.reason for item in skipped}
        rows = sorted((path, reason, self._states.get(path)) for path, reason in reasons.items())
        before = self._store.connection.execute("SELECT path, reason, state FROM skipped ORDER BY path").fetchall()
        if rows != [tuple(row) for row in before]:
            with self._store.writing() as connection:
                connection.execute("DELETE FROM skipped")
                connection.executemany("INSERT INTO skipped (path, reason, state) VALUES (?, ?, ?)", rows)

    def _name_moments(self) -> None:
        query = "SELECT id, taken, lat, lon, city, camera, moment FROM photos WHERE taken IS NOT NULL"
        rows = self._store.connection.execute(query).fetchall()
        try:
            labels = moments(Shot(row[0], datetime.fromisoformat(row[1]), *row[2:6]) for row in rows)
        except (ValueError, TypeError) as error:  # not what was written
            raise DamagedLibrary(self._store.path, f"times and places: {error}") from None
        changed = [(labels[row[0]], row[0]) for row in rows if labels[row[0]] != row[6]]
        if changed:
            with self._store.writing() as connection:
                connection.executemany("UPDATE photos SET moment = ? WHERE id = ?", changed)


def _is_dated_now(path: str, problems: str) -> bool:
    """Return whether a date that was refused as a future one is plausible now: the clock was wrong."""
    if validate.time_in_name(path) is not None:
        return True
    return any(not validate.is_future(int(year)) for year in _FUTURE.findall(problems))


def _move(connection: sqlite3.Connection, moves: Mapping[int, File]) -> None:
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


def _copy(connection: sqlite3.Connection, source: int, file: File) -> None:
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
