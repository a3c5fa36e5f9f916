"""Search the photographs of a library by vector, by look or by time, without re-ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos.blocks import DamagedIndex
from mascot.photos.looks import LOOK_SPACE, Looks
from mascot.photos.nearest import Nearest, Progress, open_nearest
from mascot.photos.results import Hits
from mascot.photos.store import Store, UnknownPhoto, space_of
from mascot.photos.table import PhotoTable

T = TypeVar("T")
_Ids = NDArray[np.int64]


class PhotoSearch:
    """The vectors, looks and columns of a library, opened again when it has changed; damaged files are rebuilt."""

    def __init__(self, root: Path, folder: Path, store: Store, exact: int) -> None:
        self._root, self._folder, self._store, self._exact = root, folder, store, exact
        self._nearest: Nearest | None = None
        self._looks: Nearest | None = None
        self._table: PhotoTable | None = None

    def open_nearest(self, progress: Progress | None = None, hurry: bool = True, rebuild: bool = False) -> Nearest:
        """Return the vectors; see `mascot.photos.nearest.open_nearest`."""
        if rebuild or self._nearest is None or self._nearest.changes != self._store.changes:
            self._nearest = open_nearest(
                self._folder, self._store, space_of(self._store), self._exact, progress, hurry=hurry, rebuild=rebuild
            )
        return self._nearest

    def open_looks(self, rebuild: bool = False) -> Nearest:
        """Return the visual descriptors."""
        if rebuild or self._looks is None or self._looks.changes != self._store.changes:
            folder = self._folder / "looks"
            self._looks = open_nearest(folder, Looks(self._store), LOOK_SPACE, self._exact, hurry=True, rebuild=rebuild)
        return self._looks

    def _open_table(self) -> PhotoTable:
        if self._table is None or self._table.changes != self._store.changes:
            self._table = PhotoTable(self._store, self._looks_of)
        return self._table

    def ask(self, query: Callable[[Nearest], T]) -> T:
        """Query the vectors; if they are damaged, rebuild them from the database and query again."""
        return _with_rebuild(self.open_nearest, query)

    def newest(self, allowed: _Ids | None, candidates: int) -> Hits:
        """Return all matching photographs, newest first; without a query they are equally relevant."""

        def hits(nearest: Nearest) -> Hits:
            ids = self._store.newest()
            ids = ids[np.isin(ids, nearest.ids if allowed is None else np.intersect1d(allowed, nearest.ids))]
            newest = ids[:candidates]
            newest = newest[self._open_table().contains(newest)]  # another process may have removed one meanwhile
            return self._hits(nearest, "", newest, np.zeros(len(newest)), newest_of=len(ids))

        return self.ask(hits)

    def matches(
        self,
        label: str,
        query: NDArray[np.float32] | None,
        allowed: _Ids | None,
        candidates: int,
        like_id: int | None = None,
        by_look: bool = False,
    ) -> Hits:
        """Return the best matches of a vector, or of a look.

        Parameters
        ----------
        query
            The vector (default: that of the photograph `like_id`).
        like_id
            The photograph to be like, which is not a result.
        """

        def hits(nearest: Nearest) -> Hits:
            target, count = query, candidates + (like_id is not None)
            if target is None:
                self._require_encoded(nearest, [like_id or 0])
                target = self._store.looks([like_id or 0])[0] if by_look else nearest.vectors(np.array([like_id]))[0]
            if by_look:
                searchable = nearest.ids if allowed is None else np.intersect1d(allowed, nearest.ids)
                ids, scores = _with_rebuild(self.open_looks, lambda looks: looks.search(target, count, searchable))
            else:
                ids, scores = nearest.search(target, count, allowed)
            # The photograph itself is not a result; and another process may have removed one meanwhile.
            is_result = self._open_table().contains(ids) & (ids != (-1 if like_id is None else like_id))
            return self._hits(nearest, label, ids[is_result][:candidates], scores[is_result][:candidates])

        return self.ask(hits)

    def of_ids(self, ids: Iterable[int]) -> Hits:
        """Return these photographs, all equally relevant, in the order of their ids."""
        distinct = np.array(sorted(set(ids)), np.int64)
        for id_ in distinct[~self._open_table().contains(distinct)].tolist():
            raise UnknownPhoto(id_)

        def hits(nearest: Nearest) -> Hits:
            self._require_encoded(nearest, distinct.tolist())
            return self._hits(nearest, "", distinct, np.zeros(len(distinct)), len(distinct))

        return self.ask(hits)

    def _require_encoded(self, nearest: Nearest, ids: Iterable[int]) -> None:
        for id_ in ids:
            if id_ not in nearest:
                raise InputError(f"photograph {id_} is not encoded: run `mascot index` again")

    def _hits(
        self, nearest: Nearest, label: str, ids: _Ids, scores: NDArray[np.float64], newest_of: int | None = None
    ) -> Hits:
        return Hits(self._root, label, ids, scores, self._open_table(), partial(self._vectors_of, nearest), newest_of)

    def _looks_of(self, ids: _Ids) -> NDArray[np.float32]:
        """Return visual descriptors: from the index of looks if it has all of these, else from the database."""
        try:
            looks = self.open_looks()
            if looks.contains(ids).all():
                return looks.rows(ids)[:, 0]
        except DamagedIndex:
            self.open_looks(rebuild=True)
        return self._store.looks(ids.tolist())

    def _vectors_of(self, nearest: Nearest, ids: _Ids) -> NDArray[np.float32]:
        try:
            return nearest.vectors(ids)
        except DamagedIndex:
            repaired = self.open_nearest(rebuild=True)
        if not repaired.contains(ids).all():
            raise InputError("the library changed while it was read: search again")
        return repaired.vectors(ids)


def _with_rebuild(opener: Callable[..., Nearest], query: Callable[[Nearest], T]) -> T:
    try:
        return query(opener())
    except DamagedIndex:
        return query(opener(rebuild=True))
