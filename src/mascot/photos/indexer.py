"""Bring a library up to date with its folders: read and encode new files, recognise moved ones.

Every batch is one transaction: a killed run loses at most the batch it was in, and the next run continues there.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos import plausible
from mascot.photos.adopting import IndexedRow, copy, move, plan
from mascot.photos.decoding import BrokenDecoder, Decoded, DecoderPool
from mascot.photos.drives import emptied, in_sight
from mascot.photos.encoders.describe import path_words
from mascot.photos.encoders.encoder import Encoder
from mascot.photos.images import Unreadable
from mascot.photos.interrupts import interruptible
from mascot.photos.limits import Limits
from mascot.photos.moments import Shot, moments
from mascot.photos.photo import Photo
from mascot.photos.reading import File, Reading, photos_of, picture, time_in_name
from mascot.photos.store import DamagedLibrary, Store, put_photo, put_pixels, put_sidecars, put_vector
from mascot.photos.texts import as_text
from mascot.photos.walk import PictureFile, Skipped, walk
from mascot.photos.whereabouts import name_of

_FIRST = 8  # photographs of the first batch, so that the progress bar moves soon
_WORKER_FILES = 8  # a second worker takes as long to start as it needs for about so many
_BATCH = 32  # photographs encoded together and written in one transaction
_FUTURE = re.compile(r"taken: '(\d{4})[^']*' is in the future")  # as `plausible.moment` words it

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
    unread: tuple[tuple[str, int], ...] = ()  # suffixes of pictures of kinds that are not read, and how many
    paired: int = 0  # films and RAW files that belong to another photograph


@dataclass(frozen=True, slots=True)
class _StoredRow:
    """A row as the walk compares it."""

    id: int
    size: int
    mtime_ns: int
    hash: str
    fresh: bool  # encoded under the present stamp
    dated: bool  # whether the row has a time, or the file says none that could be used
    sidecars: str  # their state when the file was read


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A photograph read from its file, ready to be encoded."""

    file: File
    reading: Reading


@dataclass(frozen=True, slots=True)
class _Same:
    """A file whose content is in the library already, or is being read under another name."""

    file: File
    source: PictureFile


class Indexer:
    """One run over the folders of a library; photographs of the first one are known by their path relative to it."""

    def __init__(
        self,
        folders: Sequence[Path],
        store: Store,
        encoder: Encoder,
        stamp: str,
        *,
        confirmed: Collection[Path] | None = None,
        prune: bool = False,
        hidden: bool = False,
        follow_links: bool = False,
        limits: Limits | None = None,
        report: Report | None = None,
    ) -> None:
        self._root, self._folders = folders[0], folders
        self._confirmed = folders if confirmed is None else confirmed
        self._store, self._encoder, self._stamp = store, encoder, stamp
        self._prune, self._hidden, self._follow_links = prune, hidden, follow_links
        self._limits = limits or Limits()
        self._decoders = DecoderPool(self._limits)
        self._broken: dict[str, str] = {}  # reasons why contents cannot be decoded, by hash
        self._broken_before: dict[str, tuple[str, str]] = {}  # state and reason of each path, from earlier runs
        self._states: dict[str, str] = {}  # states of files that broke a decoder in this run, by path
        self._report = report or (lambda step, count, total: None)
        self._uses_words = bool(getattr(encoder, "uses_words", False))
        self._claimed: set[tuple[str, tuple[str, ...]]] = set()  # what a thread reads in this run: hash and words
        self._claiming = threading.Lock()
        self._redated: set[str] = set()  # paths whose dates were refused for a reason that holds no more
        self._fresh: Mapping[str, Sequence[str]] = {}  # paths encoded under this stamp before the run, by hash
        self._orphans: dict[str, list[int]] = {}  # rows whose file is not there any more, by hash
        self._shares = True  # whether files of equal content share what was read
        self._skipped: list[Skipped] = []
        self._unread: Counter[str] = Counter()
        self._companion_paths: set[str] = set()  # names of films and RAW files that belong to another photograph
        self._counts = {"new": 0, "changed": 0, "moved": 0, "copied": 0, "unchanged": 0}
        self._encoding_s = 0.0

    def run(self) -> Summary:
        """Read, encode and store whatever is new or changed."""
        with self._decoders:
            return self._run()

    def _run(self) -> Summary:
        start = time.monotonic()
        stored = self._stored()
        self._redated = {path for path, row in stored.items() if not row.dated}
        files, unchanged = self._look(stored)
        here = {self._relative(item.path) for item in files} | unchanged
        self._counts["unchanged"] = len(unchanged)
        # What a sidecar says of a file is not true of its copies.
        self._fresh = _by_hash((row.hash, path) for path, row in stored.items() if row.fresh and not row.sidecars)
        missing = self._missing_paths(stored, here)
        self._orphans = _by_hash((stored[path].hash, stored[path].id) for path in sorted(missing))
        self._report("indexing", 0, len(files))
        same = self._read_and_write(files, stored, len(files))
        if same:  # only now is everything encoded that they may be the same as
            self._shares = False
            self._read_and_write(self._adopt(same, missing), stored, len(files))
        self._report("indexing", len(files), len(files))
        pruned, missing_count = self._remove_missing(here)
        self._note_skipped()
        self._name_moments()
        return Summary(
            photos=self._store.count(),
            pruned=pruned,
            gone=missing_count,
            skipped=tuple(self._skipped),
            seconds=time.monotonic() - start,
            encoding_s=self._encoding_s,
            unread=tuple(sorted(self._unread.items())),
            paired=len(self._companion_paths),
            **self._counts,
        )

    def _missing_paths(self, stored: Mapping[str, _StoredRow], here: set[str]) -> set[str]:
        """Paths of rows whose files are gone. A drive that is not mounted must not empty the library."""
        missing = in_sight(self._root, stored.keys() - here, self._skipped)
        is_mounted = self._store.path.is_relative_to(self._root)
        self._skipped += emptied(self._root, missing, is_mounted)
        return set(in_sight(self._root, missing, self._skipped))

    def _read_and_write(
        self, files: Sequence[PictureFile], stored: Mapping[str, _StoredRow], total: int
    ) -> list[_Same]:
        """Read, encode and store these files; those that are the same as others are left for later."""
        same: list[_Same] = []
        count = total - len(files)
        with closing(self._read_batches(files)) as batches:  # closed at once on Ctrl-C, which ends the decoders
            for batch in batches:
                reads = [item for item in batch if isinstance(item, _ReadFile)]
                same += [item for item in batch if isinstance(item, _Same)]
                self._skipped += [item for item in batch if isinstance(item, Skipped)]
                if reads:
                    self._write(reads, self._encode(reads), stored)
                count += len(batch)
                self._report("indexing", count - len(same), total)
        return same

    def _stored(self) -> dict[str, _StoredRow]:
        broken = "SELECT path, state, reason FROM skipped WHERE state IS NOT NULL"
        self._broken_before = {path: (state, why) for path, state, why in self._store.connection.execute(broken)}
        query = (
            "SELECT path, id, size, mtime_ns, hash, stamp IS NOT NULL, taken IS NULL, problems, coalesce(state, '') "
            "FROM photos LEFT JOIN vectors ON vectors.photo = photos.id AND vectors.stamp = ? "
            "LEFT JOIN sidecars ON sidecars.photo = photos.id"
        )
        rows = self._store.connection.execute(query, (self._stamp,))
        return {
            row[0]: _StoredRow(
                row[1], row[2], row[3], row[4], bool(row[5]), not (row[6] and _is_dated_now(row[0], row[7])), row[8]
            )
            for row in rows
        }

    def _look(self, stored: Mapping[str, _StoredRow]) -> tuple[list[PictureFile], set[str]]:
        """Files that must be read, and the paths of those that need not be."""
        files: list[PictureFile] = []
        unchanged: set[str] = set()
        for item in self._walk():
            if isinstance(item, Skipped):
                self._skipped.append(item)
                continue
            path = self._relative(item.path)
            row = stored.get(path)
            refusal = self._refusal(item)
            self._companion_paths.update(map(self._relative, item.media))
            if row and row.fresh and row.dated and _state_of(row) == _state_of(item):
                unchanged.add(path)
            elif refusal is not None:
                self._skipped.append(refusal)
            else:
                files.append(item)
            self._report("looking", len(files) + len(unchanged), 0)
        return files, unchanged

    def _walk(self) -> Iterator[PictureFile | Skipped]:
        """What is in the folders; one that is not there is passed over if another is."""
        missing = [folder for folder in self._folders if not folder.is_dir()]
        if len(missing) == len(self._folders):
            raise InputError(f"{missing[0]} is not there: the photographs of the library are kept")
        for folder in self._folders:
            if folder in missing:
                yield Skipped(folder, "not there, as where a drive is not mounted: its photographs are kept")
                continue
            if folder not in self._confirmed:
                yield Skipped(
                    folder, f"added to this library elsewhere: `mascot index {self._root} {folder}` includes it"
                )
                continue
            yield from walk(folder, hidden=self._hidden, follow_links=self._follow_links, unread=self._unread)

    def _refusal(self, file: PictureFile) -> Skipped | None:
        """Why a file is not even opened: it is too large, or it broke a decoder before and has not changed."""
        too_large = self._limits.refusal(file.size)
        if too_large is not None:
            return Skipped(file.path, too_large)
        state, reason = self._broken_before.get(as_text(str(file.path)), ("", ""))
        if state != self._state(file):
            return None
        self._states[as_text(str(file.path))] = state
        return Skipped(file.path, reason)

    def _state(self, file: PictureFile) -> str:
        """Text that differs when the file, the limits or the encoding have changed."""
        return f"{file.size} {file.mtime_ns} {self._stamp} {self._limits} {file.sidecar_state}".rstrip()

    def _relative(self, path: Path) -> str:
        return name_of(self._root, path)

    def _read_batches(self, files: Sequence[PictureFile]) -> Generator[list[_ReadFile | _Same | Skipped], None, None]:
        """Batches in order; while one is encoded, threads and their decoders read the next."""
        with ThreadPoolExecutor(min(os.cpu_count() or 1, 1 + len(files) // _WORKER_FILES)) as pool:
            ahead: list[list[Future[_ReadFile | _Same | Skipped]]] = []
            try:
                for batch in chain([files[:_FIRST]], _batches(files[_FIRST:], _BATCH)):
                    ahead.append([pool.submit(self._read_file, item) for item in batch])
                    if len(ahead) == 2:
                        yield [future.result() for future in ahead.pop(0)]
                for futures in ahead:
                    yield [future.result() for future in futures]
            except BaseException:
                self._decoders.close()  # or the threads would wait for what they are decoding
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _read_file(self, source: PictureFile) -> _ReadFile | _Same | Skipped:
        path, digest = self._relative(source.path), ""

        def is_wanted(hash_: str) -> bool:
            nonlocal digest
            digest = hash_
            if hash_ in self._broken:
                return False
            if path in self._redated or source.sidecars:
                return True
            return not self._is_shared(File(path, source.size, source.mtime_ns, hash_))

        try:
            decoded = self._read_with_sidecars(source, is_wanted)
        except BrokenDecoder as error:
            self._broken[digest] = str(error)
            return self._skipped_as_broken(source, digest)
        except Unreadable as error:
            return Skipped(source.path, str(error))
        file = File(path, source.size, source.mtime_ns, decoded.hash, source.sidecar_state)
        if decoded.reading is not None:
            return _ReadFile(file, decoded.reading)
        return self._skipped_as_broken(source, digest) if digest in self._broken else _Same(file, source)

    def _read_with_sidecars(self, file: PictureFile, is_wanted: Callable[[str], bool]) -> Decoded:
        """Read a file; without its sidecars if these are what breaks the decoder."""
        try:
            return self._decoders.read(file.path, is_wanted, file.sidecars)
        except BrokenDecoder as error:
            if not file.sidecars:
                raise
            decoded = self._decoders.read(file.path, is_wanted)
            if decoded.reading is None:
                return decoded
            metadata = decoded.reading.metadata
            problems = (*metadata.problems, f"sidecar: {error}")
            return replace(decoded, reading=replace(decoded.reading, metadata=replace(metadata, problems=problems)))

    def _skipped_as_broken(self, source: PictureFile, digest: str) -> Skipped:
        """Skip a file whose content breaks decoders, now and in later runs until it changes."""
        self._states[as_text(str(source.path))] = self._state(source)
        return Skipped(source.path, self._broken[digest])

    def _is_shared(self, file: File) -> bool:
        """Whether the vector of this content is there or on its way; if not, it is from now on."""
        if not self._shares:
            return False
        words = self._words(file.path)
        if any(self._words(path) == words for path in self._fresh.get(file.hash, ())):
            return True
        with self._claiming:
            if (file.hash, words) in self._claimed:
                return True
            self._claimed.add((file.hash, words))
        return False

    def _words(self, path: str) -> tuple[str, ...]:
        """What of a path goes into a vector."""
        return tuple(path_words(self._descriptive_path(path))) if self._uses_words else ()

    def _descriptive_path(self, path: str) -> str:
        """The part of a path that says something of a photograph: that below its folder."""
        absolute = self._root / path
        if absolute.is_relative_to(self._root):
            return path
        tops = (folder for folder in self._folders if absolute.is_relative_to(folder))
        return next((absolute.relative_to(top).as_posix() for top in tops), path)

    def _encode(self, reads: Sequence[_ReadFile]) -> list[tuple[Photo, NDArray[np.float32]]]:
        readings = [item.reading for item in reads]
        photos = photos_of([item.file for item in reads], readings)
        pictures = [
            picture(replace(photo, path=self._descriptive_path(photo.path)), reading)
            for photo, reading in zip(photos, readings, strict=True)
        ]
        start = time.monotonic()
        vectors = interruptible(lambda: self._encoder.pictures(pictures))
        self._encoding_s += time.monotonic() - start
        return list(zip(photos, vectors, strict=True))

    def _write(
        self,
        reads: Sequence[_ReadFile],
        encoded: Sequence[tuple[Photo, NDArray[np.float32]]],
        stored: Mapping[str, _StoredRow],
    ) -> None:
        with self._store.writing() as connection:
            for item, (photo, vector) in zip(reads, encoded, strict=True):
                orphan = None if photo.path in stored else self._take_orphan(photo.hash)
                if orphan is not None:
                    move(connection, {orphan: item.file})
                id_ = put_photo(connection, photo)
                put_sidecars(connection, id_, item.file.sidecars)
                put_pixels(connection, id_, item.reading.thumbnail, item.reading.look)
                put_vector(connection, id_, self._stamp, vector)
                self._counts["changed" if photo.path in stored else "new" if orphan is None else "moved"] += 1

    def _take_orphan(self, hash_: str) -> int | None:
        """A row of this content whose file is not there any more, once."""
        rows = self._orphans.get(hash_)
        return rows.pop(0) if rows else None

    def _adopt(self, same: Sequence[_Same], missing: Collection[str]) -> list[PictureFile]:
        """Give files of known content their rows; those that must be read after all."""
        query = (
            "SELECT id, path, hash, taken FROM photos JOIN vectors ON vectors.photo = id WHERE stamp = ? "
            "AND id NOT IN (SELECT photo FROM sidecars) ORDER BY id"
        )
        rows = [IndexedRow(*row) for row in self._store.connection.execute(query, (self._stamp,))]
        adoption = plan([item.file for item in same], rows, missing, self._fits)
        if adoption.touched or adoption.moved:
            with self._store.writing() as connection:
                move(connection, {**adoption.touched, **adoption.moved})
        for batch in _batches(adoption.copied, _BATCH):
            with self._store.writing() as connection:
                for source, file in batch:
                    copy(connection, source, file)
        orphans = self._orphans.items()
        self._orphans = {hash_: [id_ for id_ in ids if id_ not in adoption.moved] for hash_, ids in orphans}
        for word, count in (("unchanged", adoption.touched), ("moved", adoption.moved), ("copied", adoption.copied)):
            self._counts[word] += len(count)
        again = {file.path for file in adoption.again}
        return [item.source for item in same if item.file.path in again]

    def _fits(self, row: IndexedRow, path: str) -> bool:
        """Whether a row of the same content is right at another path: that says something of a photograph, too."""
        if self._words(row.path) != self._words(path):
            return False
        before, now = time_in_name(row.path), time_in_name(path)
        is_dated = before == now or (row.taken is not None and row.taken != before)
        return is_dated or self._decoders.is_dated(self._root / path)

    def _remove_missing(self, here: set[str]) -> tuple[int, int]:
        """How many rows without a file were removed, and how many were kept."""
        rows = self._store.connection.execute("SELECT path, id FROM photos").fetchall()
        missing = {path: id_ for path, id_ in rows if path not in here}
        paths = in_sight(self._root, missing, self._skipped)
        # The photograph of a file that belongs to another one now is that one's.
        removed = [missing[path] for path in paths if self._prune or path in self._companion_paths]
        if removed:
            with self._store.writing() as connection:
                connection.executemany("DELETE FROM photos WHERE id = ?", [(id_,) for id_ in removed])
        return len(removed), len(paths) - len(removed)

    def _note_skipped(self) -> None:
        paths = {as_text(str(item.path)): item.reason for item in self._skipped}
        rows = sorted((path, reason, self._states.get(path)) for path, reason in paths.items())
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
    """Whether a date that was refused as one in the future is not: this machine's clock was wrong then, not now."""
    if time_in_name(path) is not None:
        return True
    years = [int(year) for year in _FUTURE.findall(problems)]
    return any(not plausible.is_future(year) for year in years)


def _state_of(item: _StoredRow | PictureFile) -> tuple[int, int, str]:
    """What differs when a file or one of its sidecars has changed."""
    return item.size, item.mtime_ns, item.sidecars if isinstance(item, _StoredRow) else item.sidecar_state


def _by_hash(pairs: Iterable[tuple[str, _Item]]) -> dict[str, list[_Item]]:
    groups: dict[str, list[_Item]] = defaultdict(list)
    for hash_, item in pairs:
        groups[hash_].append(item)
    return groups


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
