"""The vector index of a library: derived from its database, and rebuilt when it is stale or damaged.

A search compares every vector, in a memory-mapped matrix. All files have checksums, which every process verifies when
it reads them.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos.database import checksums
from mascot.photos.database.checksums import CheckedRows, DamagedIndex, checksum
from mascot.photos.database.store import DamagedLibrary, Space, Store, is_full, write_failure

_BLOCK = 16_384  # rows compared at a time
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_TRIES = 5
_ABANDONED_S = 24 * 3600  # after which an unfinished folder is assumed to be left by a killed process
_LARGE = 16 * 2**20  # bytes of vectors above which building is slow enough to be deferred
_MIN_LIFETIME_S, _LIFETIME_FACTOR = 5.0, 10.0  # it is deferred for 5 s, or 10 times the duration of the last build
_LARGEST = 1e6  # absolute value of a number in a vector; should be below one
_ABOUT, _IDS, _VECTORS, _SUMS = "about.json", "ids.npy", "vectors.npy", "sums.npy"

Progress = Callable[[int, int], None]
Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]


def is_member(sorted_ids: Ids, ids: Ids) -> NDArray[np.bool_]:
    """Return whether each id is among the sorted ones."""
    if not len(sorted_ids):
        return np.zeros(len(ids), bool)
    matches: NDArray[np.bool_] = sorted_ids[np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)] == ids
    return matches


class Nearest:
    """The vectors of a library after `changes` changes. Any read may raise `DamagedIndex`."""

    def __init__(self, ids: Ids, vectors: Vectors | CheckedRows, space: Space, changes: int = 0) -> None:
        self.ids, self.space, self.changes = ids, space, changes
        self._rows = vectors if isinstance(vectors, CheckedRows) else CheckedRows(vectors)

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id_: int) -> bool:
        return bool(self.contains(np.array([id_]))[0])

    def search(self, query: Vectors, count: int, allowed: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        """Return the `count` best ids and their scores, best first; only ids in `allowed`, if given.

        The score of a photograph is the largest dot product over its vectors. Ties go to the lower id.
        """
        query = np.ascontiguousarray(query, np.float32)
        rows = None  # all
        if allowed is not None:
            rows = np.searchsorted(self.ids, allowed[self.contains(allowed)])
        if rows is None:
            scores = self._rows.map(lambda vectors: self._products(vectors, query))
        else:
            parts = [self._products(self._rows.take(rows[i : i + _BLOCK]), query) for i in range(0, len(rows), _BLOCK)]
            scores = np.concatenate([np.zeros(0, np.float32), *parts])
        best = _best(scores, count)
        return self.ids[best if rows is None else rows[best]], scores[best].astype(np.float64)

    def _products(self, vectors: Vectors, query: Vectors) -> Vectors:
        # As one matrix, so that BLAS is used.
        products = vectors.reshape(-1, self.space.dim) @ query
        if self.space.tokens == 1:  # `max` over an axis of length one is slow
            return products
        return products.reshape(-1, self.space.tokens).max(axis=1)

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return whether each of these ids has vectors."""
        return is_member(self.ids, ids)

    def rows(self, ids: Ids) -> Vectors:
        """Return all vectors of each id, shape (ids, tokens, dim)."""
        return self._rows.take(np.searchsorted(self.ids, ids))

    def vectors(self, ids: Ids) -> Vectors:
        """Return one unit vector for each id: the mean of its tokens."""
        mean = self.rows(ids).mean(axis=1)
        return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)


def _best(scores: Vectors, count: int) -> Ids:
    """Return the positions of the `count` largest scores, largest first, ties by position."""
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        positions = np.flatnonzero(scores >= least)
    else:
        positions = np.arange(len(scores))
    return positions[np.argsort(-scores[positions], kind="stable")][:count]


def open_nearest(
    folder: Path,
    store: Store,
    space: Space,
    progress: Progress | None = None,
    *,
    hurry: bool = False,
    rebuild: bool = False,
) -> Nearest:
    """Open the derived index of the current state of the library; build it if it is missing or damaged.

    With `hurry`, accept a large index of an earlier state that was built recently: while another process adds
    photographs, searches would build one index after another. Also work in memory if the disk is full. With `rebuild`
    the index in use is damaged: use the one on disk only if another process has repaired it.
    """
    for _ in range(_TRIES):
        place = _place(folder, store, space)
        with suppress(DamagedIndex):
            return _load(place, space, verify=rebuild)
        if hurry and not rebuild and (recent := _recent(place, space)) is not None:
            return recent
        shutil.rmtree(place, ignore_errors=True)
        try:
            _build(place, store, space, progress)
        except OSError as error:
            if error.errno in _FORBIDDEN or (hurry and is_full(error)):
                return _in_memory(store, space)
            raise InputError(write_failure(place.parent, error)) from None
        with suppress(DamagedIndex):  # retry if another process saw a newer state and removed this index
            nearest = _load(place, space)
            _remove_older(place)
            return nearest
    raise InputError(f"cannot build the vector index in {folder}: the library keeps changing")


def damages_of(folder: Path, store: Store) -> list[str]:
    """Read every byte of the index of the current state; return a description of the damage, if there is one."""
    place = _place(folder, store, store.space)
    try:
        if place.exists():
            _load(place, store.space, verify=True)
    except DamagedIndex as error:
        return [f"{place.name}: {error}"]
    return []


def _place(folder: Path, store: Store, space: Space) -> Path:
    return folder / f"nearest-{store.changes}-{space.fingerprint}"


def _recent(place: Path, space: Space) -> Nearest | None:
    """Return a large index of an earlier state, if its age is below a multiple of its build time."""
    suffix = place.name.partition("-")[2].partition("-")[2]
    for older in sorted(place.parent.glob(f"nearest-*-{glob.escape(suffix)}"), key=_state, reverse=True):
        with suppress(OSError, ValueError, KeyError, TypeError, DamagedIndex):
            seconds = float(json.loads((older / _ABOUT).read_text("utf-8"))["seconds"])
            age = time.time() - (older / _ABOUT).stat().st_mtime
            is_large = (older / _VECTORS).stat().st_size >= _LARGE
            if is_large and 0 <= age < max(_MIN_LIFETIME_S, _LIFETIME_FACTOR * seconds):
                return _load(older, space)
    return None


def _in_memory(store: Store, space: Space) -> Nearest:
    """Return the index of a library that is read-only."""
    changes, rows = store.changes, list(store.vectors_of(space.fingerprint))
    vectors = b"".join(_check_vector(store, space, photo, vector) for photo, vector in rows)
    array = np.frombuffer(vectors, np.float32).reshape(-1, space.tokens, space.dim)
    return Nearest(np.array([photo for photo, _ in rows], np.int64), array, space, changes=changes)


def _check_vector(store: Store, space: Space, photo: int, vector: bytes) -> bytes:
    """Return the vector of a photograph; raise `DamagedLibrary` if its length or its numbers are wrong."""
    if not isinstance(vector, bytes) or len(vector) != 4 * space.tokens * space.dim:
        raise DamagedLibrary(store.path, f"the vector of photograph {photo} has the wrong length")
    if not np.abs(np.frombuffer(vector, np.float32)).max() < _LARGEST:  # or not a number
        raise DamagedLibrary(store.path, f"the vector of photograph {photo} is not of length one")
    return vector


def _remove_older(place: Path) -> None:
    """Remove the indexes of earlier states of the library, and unfinished ones of killed processes."""
    for old in place.parent.glob("nearest-*"):
        if old != place and _state(old) <= _state(place):
            shutil.rmtree(old, ignore_errors=True)
    for work in place.parent.glob("building-*"):
        with suppress(OSError):
            if time.time() - work.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(work, ignore_errors=True)


def _state(place: Path) -> int:
    number = place.name.split("-")[1]
    return int(number) if number.isdigit() else 0


def _build(place: Path, store: Store, space: Space, progress: Progress | None) -> None:
    """Write the index of the current state of the library. Raises `OSError`, and then leaves nothing behind."""
    start = time.monotonic()
    work = place.with_name(f"building-{os.getpid()}-{threading.get_ident()}")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        with store.snapshot():  # the count and the rows must belong to the same state
            ids, sums = _write_vectors(work / _VECTORS, store, space, progress)
        np.save(work / _IDS, ids)
        np.save(work / _SUMS, sums)
        about: dict[str, Any] = {
            "rows": len(ids),
            "block_rows": _block_rows(space),
            "ids": checksum(ids.tobytes()),
            "sums": checksum(sums.tobytes()),
        }
        about["seconds"] = time.monotonic() - start
        (work / _ABOUT).write_text(json.dumps(about), "utf-8")
        try:
            work.rename(place)
        except OSError:
            if not place.is_dir():  # otherwise another process built the same index first; either can be used
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _block_rows(space: Space) -> int:
    """Return the rows per checksum."""
    return checksums.rows_of_block(4 * space.tokens * space.dim)


def _write_vectors(path: Path, store: Store, space: Space, progress: Progress | None) -> tuple[Ids, checksums.Sums]:
    """Write the matrix of all vectors; return the ids of its rows and the checksums of its blocks.

    The file is not memory-mapped: on a full disk that kills the process without a message.
    """
    count = store.count_vectors(space.fingerprint)
    ids = np.empty(count, np.int64)
    block_rows = _block_rows(space)
    sums: list[int] = []
    header = {"descr": "<f4", "fortran_order": False, "shape": (count, space.tokens, space.dim)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        vectors = store.vectors_of(space.fingerprint)
        for first in range(0, count, block_rows):
            block = bytearray()
            for row, (photo, vector) in enumerate(islice(vectors, block_rows), first):
                ids[row] = photo
                block += _check_vector(store, space, photo, vector)
            sums.append(checksum(block))
            file.write(block)
            if progress is not None and first // _BLOCK != (first + block_rows) // _BLOCK:
                progress(first, count)
    return ids, np.array(sums, np.uint64)


def _load(place: Path, space: Space, *, verify: bool = False) -> Nearest:
    """Return the index on disk; raise `DamagedIndex` if a file is missing, truncated, damaged or of another format.

    The ids are verified here, the vectors when they are read. With `verify` every byte is read here.
    """
    try:
        about = json.loads((place / _ABOUT).read_text("utf-8"))
        rows, block_rows = int(about["rows"]), int(about["block_rows"])
        ids, sums, watch = np.load(place / _IDS), np.load(place / _SUMS), checksums.Watch(place / _VECTORS)
        shape = (rows, space.tokens, space.dim)
        vectors: Any = np.load(place / _VECTORS, mmap_mode="r") if rows else np.zeros(shape, np.float32)
        is_sound = (
            (checksum(ids.tobytes()), checksum(sums.tobytes())) == (about["ids"], about["sums"])
            and (len(ids), len(sums), vectors.shape) == (rows, -(-rows // block_rows), shape)
            and vectors.dtype == np.dtype("<f4")
            and vectors.flags.c_contiguous
        )
    except Exception:  # numpy raises whatever a damaged header leads to
        is_sound = False
    if not is_sound:
        raise DamagedIndex("a file is missing, cut short or damaged")
    checked_rows = CheckedRows(np.asarray(vectors), sums if rows else None, block_rows, watch)
    if verify:
        checked_rows.map(lambda part: np.zeros(len(part), np.float32))
    return Nearest(ids, checked_rows, space, _state(place))
