"""The nearest vectors of a library: derived from its rows, disposable, rebuilt when stale or damaged.

Up to some 200,000 photographs every vector is compared, over a memory-mapped matrix; beyond that a
`usearch` graph proposes and the same matrix decides.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError, MissingExtra
from mascot.extras import install_command

EXACT = 200_000  # photographs up to which every vector is compared
_BLOCK = 16_384  # rows compared at a time
_TRIES = 5
_ABANDONED_S = 24 * 3600  # after which a folder being built is taken to be left by a process that died
_LARGE = 16 * 2**20  # bytes of vectors from which on building takes long enough to be put off
_LASTS_S, _LASTS_TIMES = 5.0, 10.0  # for how long: seconds, and times what the last one took
_SPARE = 4  # times as many proposals of the graph as are asked for
_ABOUT, _IDS, _VECTORS, _GRAPH = "about.json", "ids.npy", "vectors.npy", "graph.usearch"

Progress = Callable[[int, int], None]
Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Space:
    """Where vectors live: the encoder's fingerprint, and their shape."""

    fingerprint: str
    dim: int
    tokens: int


class VectorSource(Protocol):
    """Rows that an index is built from: a library's vectors or its looks."""

    @property
    def changes(self) -> int: ...

    def count_vectors(self, fingerprint: str) -> int: ...

    def vectors_of(self, fingerprint: str) -> Iterator[tuple[int, bytes]]: ...


class Nearest:
    """Search over one state of a library: that after so many changes."""

    def __init__(self, ids: Ids, vectors: Vectors, space: Space, graph: Any = None, changes: int = 0) -> None:
        self.ids, self.space, self.changes = ids, space, changes
        self._vectors, self._graph = vectors, graph

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id_: int) -> bool:
        place = int(np.searchsorted(self.ids, id_))
        return place < len(self) and int(self.ids[place]) == id_

    def search(self, query: Vectors, count: int, among: Ids | None = None) -> tuple[Ids, NDArray[np.float64]]:
        """The `count` best ids and their scores, best first; `among` leaves only those ids.

        The score of a photograph is the largest dot product over its vectors. Ties go to the lower id.
        """
        query = np.ascontiguousarray(query, np.float32)
        if among is not None:
            places = np.minimum(np.searchsorted(self.ids, among), max(len(self) - 1, 0))
            rows = places[self.ids[places] == among] if len(self) else places[:0]
            scores = self._scores(query, rows)
        elif self._graph is not None and count * _SPARE < len(self):
            keys = self._graph.search(query, count * _SPARE * self.space.tokens).keys
            rows = np.unique(np.asarray(keys, np.int64))
            scores = self._scores(query, rows)
        else:
            rows = np.arange(len(self))
            scores = self._scores(query, None)
        best = _best(scores, count)
        return self.ids[rows[best]], scores[best].astype(np.float64)

    def _scores(self, query: Vectors, rows: Ids | None) -> Vectors:
        """The score of every row, or of some."""
        if rows is None:
            return self._products(self._vectors, query)  # at once: BLAS shares it between the cores
        parts = [self._products(self._vectors[rows[i : i + _BLOCK]], query) for i in range(0, len(rows), _BLOCK)]
        return np.concatenate([np.zeros(0, np.float32), *parts])

    def _products(self, vectors: Vectors, query: Vectors) -> Vectors:
        # Rows as one matrix: only then does it go through BLAS.
        products = vectors.reshape(-1, self.space.dim) @ query
        if self.space.tokens == 1:  # numpy takes long for the largest of one
            return products
        return products.reshape(-1, self.space.tokens).max(axis=1)

    def vectors(self, ids: Ids) -> Vectors:
        """One unit vector for each id: of several tokens, their mean."""
        mean = np.asarray(self._vectors[np.searchsorted(self.ids, ids)]).mean(axis=1)
        return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)


def _best(scores: Vectors, count: int) -> Ids:
    """Positions of the `count` largest, largest first, ties by position."""
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        some = np.flatnonzero(scores >= least)
    else:
        some = np.arange(len(scores))
    return some[np.argsort(-scores[some], kind="stable")][:count]


def open_nearest(
    folder: Path,
    store: VectorSource,
    space: Space,
    exact: int = EXACT,
    progress: Progress | None = None,
    *,
    hurry: bool = False,
) -> Nearest:
    """The derived index of the library's present state: the one on disk, or a new one.

    In a `hurry` a large one that was built just now will do, though the library has changed since: while another
    process adds photographs, searches would build one after the other.
    """
    for _ in range(_TRIES):
        place = folder / f"nearest-{store.changes}-{space.fingerprint}-{exact}"
        found = _load(place, space, exact)
        if found is None and hurry:
            found = _lately_built(place, space, exact)
        if found is not None:
            return found
        shutil.rmtree(place, ignore_errors=True)
        if not _build(place, store, space, exact, progress):
            return _in_memory(store, space)
        found = _load(place, space, exact)
        _remove_older(place)
        if found is not None:
            return found
        # Another process saw a newer state of the library and removed this one: look again.
    raise InputError(f"cannot build the vector index in {folder}: the library changes all the time")


def _lately_built(place: Path, space: Space, exact: int) -> Nearest | None:
    """A large index of an earlier state, while it is younger than some times what it took to build."""
    ending = place.name.partition("-")[2].partition("-")[2]
    for older in sorted(place.parent.glob(f"nearest-*-{glob.escape(ending)}"), key=_state, reverse=True):
        try:
            about = json.loads((older / _ABOUT).read_text("utf-8"))
            age = time.time() - (older / _ABOUT).stat().st_mtime
            lasts = max(_LASTS_S, _LASTS_TIMES * float(about["seconds"]))
            large = about["files"][_VECTORS] >= _LARGE
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if large and 0 <= age < lasts:
            return _load(older, space, exact)
    return None


def _in_memory(store: VectorSource, space: Space) -> Nearest:
    """Of a library that cannot be written to."""
    changes, found = store.changes, list(store.vectors_of(space.fingerprint))
    ids = np.array([photo for photo, _ in found], np.int64)
    vectors = np.frombuffer(b"".join(vector for _, vector in found), np.float32)
    return Nearest(ids, vectors.reshape(-1, space.tokens, space.dim), space, changes=changes)


def _remove_older(place: Path) -> None:
    """Remove what earlier states of the library left, and what processes that were killed left half built."""
    for old in place.parent.glob("nearest-*"):
        if old != place and _state(old) <= _state(place):
            shutil.rmtree(old, ignore_errors=True)
    for work in place.parent.glob("building-*"):
        try:
            abandoned = time.time() - work.stat().st_mtime > _ABANDONED_S
        except OSError:
            continue
        if abandoned:
            shutil.rmtree(work, ignore_errors=True)


def _state(place: Path) -> int:
    number = place.name.split("-")[1]
    return int(number) if number.isdigit() else 0


def _build(place: Path, store: VectorSource, space: Space, exact: int, progress: Progress | None) -> bool:
    """Whether it was built; not where nothing may be written."""
    started = time.monotonic()
    count = store.count_vectors(space.fingerprint)
    work = place.with_name(f"building-{os.getpid()}-{threading.get_ident()}")
    shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir(parents=True)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return False
        raise InputError(f"cannot write the vector index in {place.parent}: {error.strerror}") from None
    try:
        ids = np.empty(count, np.int64)
        shape = (count, space.tokens, space.dim)
        matrix: Any = np.lib.format.open_memmap(work / _VECTORS, "w+", np.float32, shape)
        rows = 0
        for photo, vector in store.vectors_of(space.fingerprint):
            if rows == count:
                break  # written since the count: the next state of the library will have it
            ids[rows] = photo
            matrix[rows] = np.frombuffer(vector, np.float32).reshape(space.tokens, space.dim)
            rows += 1
            if progress is not None and rows % _BLOCK == 0:
                progress(rows, count)
        matrix.flush()
        np.save(work / _IDS, ids[:rows])
        if count > exact:
            _write_graph(work / _GRAPH, matrix, space, progress)
        del matrix
        sizes = {file.name: file.stat().st_size for file in work.iterdir()}
        (work / _ABOUT).write_text(
            json.dumps({"rows": rows, "files": sizes, "seconds": time.monotonic() - started}), "utf-8"
        )
        try:
            work.rename(place)
        except OSError:
            if not place.is_dir():
                raise
            # Another process built the same one first; either will do.
        return True
    except OSError as error:
        raise InputError(f"cannot write the vector index in {place.parent}: {error.strerror}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _write_graph(path: Path, matrix: Any, space: Space, progress: Progress | None) -> None:
    graph = _graph(space)
    for first in range(0, len(matrix), _BLOCK):
        block = matrix[first : first + _BLOCK].reshape(-1, space.dim)
        graph.add(np.repeat(np.arange(first, first + len(block) // space.tokens), space.tokens), block)
        if progress is not None:
            progress(min(first + _BLOCK, len(matrix)), len(matrix))
    graph.save(str(path))


def _graph(space: Space) -> Any:
    try:
        from usearch.index import Index, MetricKind, ScalarKind
    except ModuleNotFoundError:
        raise MissingExtra(f"a library of this size needs: {install_command('usearch')}") from None
    return Index(ndim=space.dim, metric=MetricKind.IP, dtype=ScalarKind.F16, multi=space.tokens > 1)


def _load(place: Path, space: Space, exact: int) -> Nearest | None:
    """The index on disk, or None where a file is missing, cut short or not what it says it is."""
    try:
        about = json.loads((place / _ABOUT).read_text("utf-8"))
        if any((place / name).stat().st_size != size for name, size in about["files"].items()):
            return None
        ids = np.load(place / _IDS)
        vectors: Any = np.load(place / _VECTORS, mmap_mode="r") if len(ids) else np.zeros((0, space.tokens, space.dim))
        rows = about["rows"]
        if len(ids) != rows or vectors.shape[0] < rows or vectors.shape[1:] != (space.tokens, space.dim):
            return None
        graph = None
        if rows > exact:
            graph = _graph(space)
            graph.view(str(place / _GRAPH))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
    return Nearest(ids, np.asarray(vectors)[:rows], space, graph, _state(place))
