"""The vectors of a library in one memory-mapped file: a cache, written from the database when it is stale."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mascot.photos.database.store import DamagedLibrary, Space, Store

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]


class Nearest:
    """The vectors of a library after `changes` changes, shape (ids, tokens, dim)."""

    def __init__(self, ids: Ids, vectors: Vectors, changes: int = 0) -> None:
        self.ids, self.changes, self._vectors = ids, changes, vectors

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, query: Vectors, count: int, allowed: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        """Return the `count` best ids and their scores, best first; only ids in `allowed`, if given.

        The score of a photograph is the largest dot product over its vectors. Ties go to the lower id.
        """
        _, tokens, dim = self._vectors.shape
        products = self._vectors.reshape(-1, dim) @ query.astype(np.float32)  # one matrix, so that BLAS is used
        # `max` over an axis of one is slow.
        ids, scores = self.ids, products if tokens == 1 else products.reshape(-1, tokens).max(axis=1)
        if allowed is not None:
            is_allowed = np.isin(ids, allowed)
            ids, scores = ids[is_allowed], scores[is_allowed]
        least = np.partition(scores, len(scores) - count)[len(scores) - count] if count < len(scores) else -np.inf
        near = np.flatnonzero(scores >= least)
        best = near[np.argsort(-scores[near], kind="stable")][:count]
        return ids[best], scores[best].astype(np.float64)

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return whether each of these ids has vectors."""
        return np.isin(ids, self.ids)

    def rows(self, ids: Ids) -> Vectors:
        """Return all vectors of each id, shape (ids, tokens, dim)."""
        return self._vectors[np.searchsorted(self.ids, ids)]

    def vectors(self, ids: Ids) -> Vectors:
        """Return one unit vector for each id: the mean of its tokens."""
        mean = self.rows(ids).mean(axis=1)
        return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)


def open_nearest(folder: Path, store: Store, space: Space) -> Nearest:
    """Open the vectors of the current state of the library; write the file if it is missing or has the wrong length."""
    changes = store.changes
    nearest = _load(_path(folder, changes, space), changes, space)
    if nearest is not None:
        return nearest
    nearest = _read(store, space)
    path = _path(folder, nearest.changes, space)
    try:
        _write(path, nearest)
        for other in folder.glob("nearest-*"):
            if other != path:
                other.unlink(missing_ok=True)
    except OSError:  # read-only or full: the vectors stay in memory
        return nearest
    return _load(path, nearest.changes, space) or nearest  # other processes share the memory of a file


def _path(folder: Path, changes: int, space: Space) -> Path:
    return folder / f"nearest-{changes}-{space.fingerprint}"


def _read(store: Store, space: Space) -> Nearest:
    """Return the vectors in the database; raise `DamagedLibrary` if a length or a number is wrong."""
    with store.snapshot():  # the count and the rows must belong to the same state
        changes, count = store.changes, store.count_vectors(space.fingerprint)
        ids, vectors = np.empty(count, np.int64), np.empty((count, space.tokens, space.dim), np.float32)
        for row, (photo, vector) in enumerate(store.vectors_of(space.fingerprint)):
            if not isinstance(vector, bytes) or len(vector) != vectors[row].nbytes:
                raise DamagedLibrary(store.path, f"the vector of photograph {photo} has the wrong length")
            ids[row], vectors[row] = photo, np.frombuffer(vector, np.float32).reshape(space.tokens, space.dim)
    return Nearest(ids, vectors, changes)


def _write(path: Path, nearest: Nearest) -> None:
    """Write the number of ids, the ids and their vectors. The file is complete whenever it exists."""
    work = path.with_name(f"nearest-0-{os.getpid()}-{threading.get_ident()}")  # the next writer removes it after a kill
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with work.open("wb") as file:  # not memory-mapped: on a full disk that kills the process without a message
            for part in (np.array([len(nearest)]), nearest.ids, nearest._vectors):
                file.write(part.data)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _load(path: Path, changes: int, space: Space) -> Nearest | None:
    """Return the vectors in a file; None if it is missing or its length is wrong."""
    try:
        count, *_ = np.fromfile(path, np.int64, 1).tolist()
        if path.stat().st_size != 8 + count * (8 + 4 * space.tokens * space.dim):
            return None
        ids = np.fromfile(path, np.int64, count, offset=8)
        vectors = np.memmap(path, np.float32, "r", 8 + ids.nbytes, (count, space.tokens, space.dim))
    except (OSError, ValueError):  # or there are no vectors
        return None
    return Nearest(ids, np.asarray(vectors), changes)
