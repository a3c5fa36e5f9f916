"""Bringing a library up to date with its folder: what is new is read and encoded, what moved is recognised.

Every batch is one transaction, so that a killed run loses at most the batch it was in, and the next one goes on.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mascot.photos.encoders.encoder import Encoder
from mascot.photos.images import Unreadable
from mascot.photos.moments import Shot, moments
from mascot.photos.photo import Photo
from mascot.photos.reading import MEGAPIXELS, File, Reading, folder_of, photos_of, picture, read
from mascot.photos.store import Store, put_photo, put_pixels, put_vector
from mascot.photos.walk import Found, Skipped, walk

_FIRST = 8
_BATCH = 32  # photographs encoded together and written in one transaction

_Item = TypeVar("_Item")
Report = Callable[[str, int, int], None]  # what is being done, how much of it is, how much there is


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run of the indexer did."""

    photos: int  # in the library afterwards
    new: int
    changed: int
    moved: int
    copied: int  # of a photograph already encoded
    unchanged: int
    pruned: int
    gone: int  # no longer in the folder but kept, because pruning was not asked for
    skipped: tuple[Skipped, ...]
    seconds: float
    encoding_s: float  # of which in the encoder


@dataclass(frozen=True, slots=True)
class _Known:
    """A row as the walk compares it."""

    size: int
    mtime_ns: int
    hash: str
    fresh: bool  # encoded under the present stamp


@dataclass(frozen=True, slots=True)
class _Read:
    """A photograph read from its file, ready to be encoded."""

    file: File
    reading: Reading


@dataclass(frozen=True, slots=True)
class _Same:
    """A file whose content is in the library already, or is being read under another name."""

    file: File
    path: Path


class Indexer:
    """One run over one folder."""

    def __init__(
        self,
        root: Path,
        store: Store,
        encoder: Encoder,
        stamp: str,
        *,
        prune: bool = False,
        hidden: bool = False,
        max_megapixels: float = MEGAPIXELS,
        report: Report | None = None,
    ) -> None:
        self._root, self._store, self._encoder, self._stamp = root, store, encoder, stamp
        self._prune, self._hidden, self._max_megapixels = prune, hidden, max_megapixels
        self._report = report or (lambda what, done, total: None)
        self._claimed: set[str] = set()  # hashes that a thread reads in this run
        self._claiming = threading.Lock()
        self._fresh: frozenset[str] = frozenset()  # hashes encoded under this stamp before the run
        self._skipped: list[Skipped] = []
        self._counts = {"new": 0, "changed": 0, "moved": 0, "copied": 0}
        self._encoding_s = 0.0

    def run(self) -> Summary:
        started = time.monotonic()
        known = self._known()
        self._fresh = frozenset(row.hash for row in known.values() if row.fresh)
        found, unchanged = self._look(known)
        here = {self._relative(item.path) for item in found} | unchanged
        later: list[_Same] = []
        done = 0
        self._report("indexing", 0, len(found))
        for batch in self._read(found):
            reads = [item for item in batch if isinstance(item, _Read)]
            later += [item for item in batch if isinstance(item, _Same)]
            self._skipped += [item for item in batch if isinstance(item, Skipped)]
            if reads:
                self._write(reads, self._encode(reads), known)
            done += len(batch)
            self._report("indexing", done - len(later), len(found))
        # Only now is everything encoded that the others may be the same as.
        for some in _batches(later, _BATCH):
            self._adopt(some, known, here)
        self._report("indexing", len(found), len(found))
        pruned, gone = self._gone(here)
        self._note_skipped()
        self._name_moments()
        return Summary(
            photos=self._store.count(),
            unchanged=len(unchanged),
            pruned=pruned,
            gone=gone,
            skipped=tuple(self._skipped),
            seconds=time.monotonic() - started,
            encoding_s=self._encoding_s,
            **self._counts,
        )

    def _known(self) -> dict[str, _Known]:
        query = (
            "SELECT path, size, mtime_ns, hash, stamp IS ? FROM photos LEFT JOIN vectors ON vectors.photo = photos.id"
        )
        rows = self._store.connection.execute(query, (self._stamp,))
        return {row[0]: _Known(row[1], row[2], row[3], bool(row[4])) for row in rows}

    def _look(self, known: dict[str, _Known]) -> tuple[list[Found], set[str]]:
        """Files that must be read, and the paths of those that need not be."""
        found: list[Found] = []
        unchanged: set[str] = set()
        for item in walk(self._root, hidden=self._hidden):
            if isinstance(item, Skipped):
                self._skipped.append(item)
                continue
            path = self._relative(item.path)
            row = known.get(path)
            if row and row.fresh and (row.size, row.mtime_ns) == (item.size, item.mtime_ns):
                unchanged.add(path)
            else:
                found.append(item)
            self._report("looking", len(found) + len(unchanged), 0)
        return found, unchanged

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _read(self, found: Sequence[Found]) -> Iterator[list[_Read | _Same | Skipped]]:
        """Batches in order; while one is encoded, threads read the next."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            ahead: list[list[Future[_Read | _Same | Skipped]]] = []
            try:
                # A short one first, so that the bar moves soon.
                for some in chain([found[:_FIRST]], _batches(found[_FIRST:], _BATCH)):
                    ahead.append([pool.submit(self._read_one, item) for item in some])
                    if len(ahead) == 2:
                        yield [future.result() for future in ahead.pop(0)]
                for futures in ahead:
                    yield [future.result() for future in futures]
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _read_one(self, found: Found) -> _Read | _Same | Skipped:
        try:
            content = found.path.read_bytes()
        except OSError as error:
            return Skipped(found.path, f"cannot be read: {error.strerror or error}")
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        file = File(self._relative(found.path), found.size, found.mtime_ns, digest)
        with self._claiming:
            if digest in self._fresh or digest in self._claimed:
                return _Same(file, found.path)
            self._claimed.add(digest)
        try:
            return _Read(file, read(content, self._max_megapixels))
        except Unreadable as error:
            return Skipped(found.path, str(error))

    def _encode(self, reads: Sequence[_Read]) -> list[tuple[Photo, NDArray[np.float32]]]:
        readings = [read.reading for read in reads]
        photos = photos_of([read.file for read in reads], readings)
        pictures = [picture(photo, reading) for photo, reading in zip(photos, readings, strict=True)]
        started = time.monotonic()
        vectors = self._encoder.pictures(pictures)
        self._encoding_s += time.monotonic() - started
        return list(zip(photos, vectors, strict=True))

    def _write(
        self, reads: Sequence[_Read], encoded: Sequence[tuple[Photo, NDArray[np.float32]]], known: dict[str, _Known]
    ) -> None:
        with self._store.writing() as connection:
            for item, (photo, vector) in zip(reads, encoded, strict=True):
                id_ = put_photo(connection, photo)
                put_pixels(connection, id_, item.reading.thumbnail, item.reading.look)
                put_vector(connection, id_, self._stamp, vector)
                self._counts["changed" if photo.path in known else "new"] += 1

    def _adopt(self, same: Iterable[_Same], known: dict[str, _Known], here: set[str]) -> None:
        """Give files of known content their rows: the old row where its own file is gone, else a copy of it."""
        with self._store.writing() as connection:
            for item in same:
                path, size, mtime_ns = item.file.path, item.file.size, item.file.mtime_ns
                place: dict[str, Any] = {"path": path, "folder": folder_of(path), "size": size, "mtime_ns": mtime_ns}
                query = (
                    "SELECT photos.* FROM photos JOIN vectors ON photo = id "
                    "WHERE hash = ? AND stamp = ? ORDER BY path = ? DESC, id"
                )
                rows = connection.execute(query, (item.file.hash, self._stamp, path)).fetchall()
                if not rows:  # its twin could not be read after all
                    self._skipped.append(Skipped(item.path, "the same as another file that cannot be read"))
                    continue
                touched = rows[0]["path"] == path
                moved = next((row for row in rows if row["path"] not in here), None)
                if touched or (moved is not None and path not in known):
                    id_ = rows[0]["id"] if touched or moved is None else moved["id"]
                    connection.execute(
                        "UPDATE photos SET path = :path, folder = :folder, size = :size, mtime_ns = :mtime_ns "
                        "WHERE id = :id",
                        place | {"id": id_},
                    )
                    self._counts["moved"] += not touched
                    continue
                id_ = put_photo(connection, replace(Photo.from_row(rows[0]), **place))
                for table, columns in (("pixels", "thumbnail, look"), ("vectors", "stamp, vector")):
                    connection.execute(
                        f"INSERT OR REPLACE INTO {table} SELECT ?, {columns} FROM {table} WHERE photo = ?",
                        (id_, rows[0]["id"]),
                    )
                self._counts["copied"] += 1

    def _gone(self, here: set[str]) -> tuple[int, int]:
        """How many rows without a file were removed, and how many were kept."""
        # What could not be looked into is not gone: a drive that is not mounted must not empty the library.
        blind = [self._relative(item.path) for item in self._skipped if item.path.is_relative_to(self._root)]
        rows = self._store.connection.execute("SELECT id, path FROM photos").fetchall()
        lost = [
            row[0]
            for row in rows
            if row[1] not in here
            and not any(row[1] == path or path == "." or row[1].startswith(path + "/") for path in blind)
        ]
        if not lost or not self._prune:
            return 0, len(lost)
        with self._store.writing() as connection:
            connection.executemany("DELETE FROM photos WHERE id = ?", [(id_,) for id_ in lost])
        return len(lost), 0

    def _note_skipped(self) -> None:
        told = sorted((str(item.path), item.reason) for item in self._skipped)
        before = self._store.connection.execute("SELECT path, reason FROM skipped ORDER BY path").fetchall()
        if told != [tuple(row) for row in before]:
            with self._store.writing() as connection:
                connection.execute("DELETE FROM skipped")
                connection.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?)", told)

    def _name_moments(self) -> None:
        query = "SELECT id, taken, lat, lon, city, camera, moment FROM photos WHERE taken IS NOT NULL"
        rows = self._store.connection.execute(query).fetchall()
        named = moments(Shot(row[0], datetime.fromisoformat(row[1]), *row[2:6]) for row in rows)
        changed = [(named[row[0]], row[0]) for row in rows if named[row[0]] != row[6]]
        if changed:
            with self._store.writing() as connection:
                connection.executemany("UPDATE photos SET moment = ? WHERE id = ?", changed)


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
