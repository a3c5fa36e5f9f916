"""The vectors of a library in one memory-mapped file: a cache, written from the database when it is stale."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mascot.photos.database.store import DamagedLibrary, Space, Store

_BLOCK = 16_384  # rows gathered at a time
_LARGEST = 1e6  # absolute value of a number in a vector; should be below one

Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]


def is_member(sorted_ids: Ids, ids: Ids) -> NDArray[np.bool_]:
    """Return whether each id is among the sorted ones."""
    if not len(sorted_ids):
        return np.zeros(len(ids), bool)
    matches: NDArray[np.bool_] = sorted_ids[np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)] == ids
    return matches


class Nearest:
    """The vectors of a library after `changes` changes, shape (ids, tokens, dim)."""

    def __init__(self, ids: Ids, vectors: Vectors, changes: int = 0) -> None:
        self.ids, self.changes, self._vectors = ids, changes, vectors

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id_: int) -> bool:
        return bool(self.contains(np.array([id_]))[0])

    def search(self, query: Vectors, count: int, allowed: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        """Return the `count` best ids and their scores, best first; only ids in `allowed`, if given.

        The score of a photograph is the largest dot product over its vectors. Ties go to the lower id.
        """
        query = np.ascontiguousarray(query, np.float32)
        if allowed is None:
            ids, scores = self.ids, _products(self._vectors, query)
        else:
            ids = allowed[self.contains(allowed)]
            rows = np.searchsorted(self.ids, ids)
            parts = [_products(self._vectors[rows[i : i + _BLOCK]], query) for i in range(0, len(rows), _BLOCK)]
            scores = np.concatenate([np.zeros(0, np.float32), *parts])
        best = _best(scores, count)
        return ids[best], scores[best].astype(np.float64)

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return whether each of these ids has vectors."""
        return is_member(self.ids, ids)

    def rows(self, ids: Ids) -> Vectors:
        """Return all vectors of each id, shape (ids, tokens, dim)."""
        return self._vectors[np.searchsorted(self.ids, ids)]

    def vectors(self, ids: Ids) -> Vectors:
        """Return one unit vector for each id: the mean of its tokens."""
        mean = self.rows(ids).mean(axis=1)
        return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)


def _products(vectors: Vectors, query: Vectors) -> Vectors:
    """Return the largest dot product over the vectors of each photograph."""
    _, tokens, dim = vectors.shape
    products = vectors.reshape(-1, dim) @ query  # one matrix, so that BLAS is used
    return products if tokens == 1 else products.reshape(-1, tokens).max(axis=1)  # `max` over an axis of one is slow


def _best(scores: Vectors, count: int) -> Ids:
    """Return the positions of the `count` largest scores, largest first, ties by position."""
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        positions = np.flatnonzero(scores >= least)
    else:
        positions = np.arange(len(scores))
    return positions[np.argsort(-scores[positions], kind="stable")][:count]


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
            if not np.abs(vectors[row]).max() < _LARGEST:  # or not a number
                raise DamagedLibrary(store.path, f"the vector of photograph {photo} is not of length one")
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
