"""Search the photographs of a library by vector, by look or by time, without re-ranking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos.database.column_cache import PhotoTable
from mascot.photos.database.store import LOOKS, Store, UnknownPhoto
from mascot.photos.database.vector_index import Nearest, open_nearest
from mascot.photos.results import Hits

_Ids = NDArray[np.int64]
_BACKGROUND = 1000  # photographs by whose scores good matches are told from others
_FITS, _GOOD = 3.6, 2.8  # robust deviations above the median: of the best match, and of the last good one


class PhotoSearch:
    """The vectors, looks and columns of a library, opened again when it has changed."""

    def __init__(self, root: Path, folder: Path, store: Store) -> None:
        self._root, self._folder, self._store = root, folder, store
        self._indexes: dict[bool, Nearest] = {}  # of vectors, and of looks
        self._table: PhotoTable | None = None

    def open_nearest(self, by_look: bool = False) -> Nearest:
        """Return the vectors, or the visual descriptors; see `mascot.photos.database.vector_index.open_nearest`."""
        nearest = self._indexes.get(by_look)
        if nearest is None or nearest.changes != self._store.changes:
            folder, space = (self._folder / "looks", LOOKS) if by_look else (self._folder, self._store.space)
            nearest = self._indexes[by_look] = open_nearest(folder, self._store, space)
        return nearest

    def _open_table(self) -> PhotoTable:
        if self._table is None or self._table.changes != self._store.changes:
            self._table = PhotoTable(self._store, self._looks_of)
        return self._table

    def vector(self, id_: int, by_look: bool = False) -> NDArray[np.float32]:
        """Return the vector, or the look, of a photograph, which must be encoded."""
        nearest = self.open_nearest(by_look=by_look)
        _require_encoded(nearest, [id_])
        return self._store.looks([id_])[0] if by_look else nearest.vectors(np.array([id_]))[0]

    def newest(self, allowed: _Ids | None, candidates: int, order: str = "taken DESC, id DESC") -> Hits:
        """Return all matching photographs, newest first or in another order; they are equally relevant."""
        nearest, ids = self.open_nearest(), self._store.ids(order)  # those of unknown time last
        ids = ids[np.isin(ids, _searchable(nearest, allowed))]
        newest = ids[:candidates]
        newest = newest[self._open_table().contains(newest)]  # another process may have removed one meanwhile
        return self._hits(nearest, "", newest, np.zeros(len(newest)), newest_of=len(ids))

    def matches(
        self,
        label: str,
        query: NDArray[np.float32],
        allowed: _Ids | None,
        candidates: int,
        like_id: int | None = None,
        by_look: bool = False,
        text: str | None = None,
    ) -> Hits:
        """Return the best matches of a vector, or of a look, without the photograph `like_id`, which they are like.

        Photographs with the words of `text` in file name, title, caption, keywords or picture come first.
        """
        nearest = self.open_nearest()
        count = candidates + (like_id is not None)
        if by_look:
            searchable = _searchable(nearest, allowed)
            ids, scores = self.open_nearest(by_look=True).search(query, count, searchable)
        else:
            ids, scores = nearest.search(query, count, allowed)
        # The photograph itself is not a result; and another process may have removed one meanwhile.
        is_result = self._open_table().contains(ids) & (ids != (-1 if like_id is None else like_id))
        ids, scores = ids[is_result][:candidates], scores[is_result][:candidates]
        if text is None or not len(ids):
            return self._hits(nearest, label, ids, scores)
        least = _least_good(nearest, query, float(scores.max()))
        exact = self._store.ids_with_words(text)
        exact = exact[nearest.contains(exact) & self._open_table().contains(exact)]
        exact = exact if allowed is None else np.intersect1d(exact, allowed)
        further = np.setdiff1d(exact, ids)[:candidates]  # text in a picture is not part of its vector
        if len(further):
            ids, scores = np.append(ids, further), np.append(scores, nearest.vectors(further) @ query)
        is_exact = np.isin(ids, exact)
        if is_exact.any():
            scores = _exact_first(scores, is_exact)
            order = np.argsort(-scores, kind="stable")
            ids, scores = ids[order][:candidates], scores[order][:candidates]
            least = min(least, float(scores[min(int(is_exact.sum()), len(scores)) - 1]))
        return self._hits(nearest, label, ids, scores, least_good=least)

    def of_ids(self, ids: Iterable[int]) -> Hits:
        """Return these photographs, all equally relevant, in the order of their ids."""
        distinct = np.array(sorted(set(ids)), np.int64)
        for id_ in distinct[~self._open_table().contains(distinct)].tolist():
            raise UnknownPhoto(id_)
        nearest = self.open_nearest()
        _require_encoded(nearest, distinct)
        return self._hits(nearest, "", distinct, np.zeros(len(distinct)), len(distinct))

    def _hits(
        self, nearest: Nearest, label: str, ids: _Ids, scores: NDArray[np.float64], newest_of: int | None = None,
        least_good: float | None = None,
    ) -> Hits:  # fmt: skip
        return Hits(self._root, label, ids, scores, self._open_table(), nearest.vectors, newest_of, least_good)

    def _looks_of(self, ids: _Ids) -> NDArray[np.float32]:
        """Return visual descriptors: from the index of looks if it has all of these, else from the database."""
        looks = self.open_nearest(by_look=True)
        return looks.rows(ids)[:, 0] if looks.contains(ids).all() else self._store.looks(ids.tolist())


def _searchable(nearest: Nearest, allowed: _Ids | None) -> _Ids:
    return nearest.ids if allowed is None else np.intersect1d(allowed, nearest.ids)


def _exact_first(scores: NDArray[np.float64], is_exact: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return scores with the exact matches just above all others, in their order."""
    best, span = scores.max(), max(float(np.ptp(scores)), 1e-6)
    exact = scores[is_exact]
    shares = (exact - exact.min()) / max(float(np.ptp(exact)), 1e-9)
    raised = scores.copy()
    raised[is_exact] = best + span * (0.001 + 0.02 * shares)
    return raised


def _least_good(nearest: Nearest, query: NDArray[np.float32], best: float) -> float:
    """Return the lowest score of a good match: an outlier among the scores of all photographs. Infinite if none fits.

    The scores of photographs that do not match spread like noise. With `lite`, the best score of meaningless texts was
    up to 3.5 deviations above the median, and that of texts that fit at least 3.7 (sample library and 95 photographs).
    """
    step = max(len(nearest) // _BACKGROUND, 1)
    scores = nearest.vectors(nearest.ids[::step]) @ query
    median = float(np.median(scores))
    deviation = 1.4826 * float(np.median(np.abs(scores - median)))
    return median + _GOOD * deviation if best > median + _FITS * deviation else np.inf


def _require_encoded(nearest: Nearest, ids: Sequence[int] | _Ids) -> None:
    for id_ in np.setdiff1d(ids, nearest.ids):
        raise InputError(f"photograph {id_} is not encoded: run `mascot index` again")
