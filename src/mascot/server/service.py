"""Between HTTP and the library: requests to searches, results to answers. Knows no HTTP."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

import mascot as mc
from mascot import words
from mascot.photos.library import CANDIDATES, Library
from mascot.photos.overview import overview, points
from mascot.photos.photo import Photo
from mascot.photos.results import Hits, Results
from mascot.photos.steering import NAMES, made_wish
from mascot.server import limits, models
from mascot.server.choices import choices
from mascot.server.suggestions import suggestions

_REMEMBERED = 64  # searches whose candidates are kept, so that a slider need not ask for them again
_REMEMBERED_PHOTOS = 25_000  # of all of them together
_POINTS = 2000  # of the library, on the map


class LibraryGone(mc.MascotError):
    """The library was removed while it was served."""


class Service:
    """Answers about one library. Safe to use from several threads."""

    def __init__(self, library: Library) -> None:
        self._library, self._root, self._index = library, library.root, library.store.path
        self._opened = self._identity()
        self._hits: OrderedDict[tuple[Any, ...], Hits] = OrderedDict()
        self._overview: tuple[tuple[Any, ...], models.LibraryOut] | None = None
        self._lock = threading.Lock()
        self._encoding = threading.Lock()  # encoders are not made for several threads at once

    @property
    def library(self) -> Library:
        """The library; where it was removed and made anew, the new one."""
        with self._lock:
            there = self._identity()
            if there != self._opened:
                # Not closed: others may still be reading from it.
                self._library, self._opened = self._library.reopened(), there
                self._hits.clear()
            return self._library

    def _identity(self) -> tuple[int, int]:
        """Which file the index is: one that was removed stays open, and would be read on and on."""
        try:
            about = self._index.stat()
        except OSError as error:
            raise LibraryGone(error.strerror) from None
        return about.st_dev, about.st_ino

    def search(self, asked: models.Search) -> models.SearchOut:
        started = time.perf_counter()
        hits = self._found(asked)
        found = time.perf_counter()
        method = words.method(asked.method, asked.strength, asked.protect, asked.keep, asked.order)
        wishes = self._wishes(asked)
        if len(hits):
            limits.check(hits.candidates, wishes, method, asked.k)
        results = hits.rerank(wishes, asked.k, method)
        answer = _answer(results, hits)
        if asked.like is not None:
            answer.query = f"like {self.photo(asked.like).path}"  # not the whole path on this machine
        answer.took_ms = {
            "retrieval": round((found - started) * 1e3, 3),
            "steering": round((time.perf_counter() - found) * 1e3, 3),
        }
        return answer

    def _found(self, asked: models.Search) -> Hits:
        """The candidates: those of the same question asked before, or new ones."""
        library = self.library
        usual = min(CANDIDATES, models.MOST_CANDIDATES)
        candidates = max(asked.candidates or usual, asked.k)
        key = (asked.text, asked.like, candidates, asked.where, self._opened, library.state)
        known = self._remembered(key)
        if known is not None:
            return known
        with self._encoding:
            known = self._remembered(key)  # others may have waited for the same answer
            if known is not None:
                return known
            if asked.like is not None and not (asked.text or "").strip():
                hits = library.hits_like(asked.like, candidates=candidates, where=asked.where)
            else:  # what is wrong with both the library says itself
                like = None if asked.like is None else library.root
                hits = library.hits(asked.text, like=like, candidates=candidates, where=asked.where)
        with self._lock:
            self._hits[key] = hits
            while len(self._hits) > _REMEMBERED or sum(map(len, self._hits.values())) > _REMEMBERED_PHOTOS:
                self._hits.popitem(last=False)
        return hits

    def _remembered(self, key: tuple[Any, ...]) -> Hits | None:
        with self._lock:
            hits = self._hits.get(key)
            if hits is not None:
                self._hits.move_to_end(key)
            return hits

    def warm(self) -> None:
        """Load what the first search needs. Whatever is wrong, that search will say."""
        try:
            if self.library.store.count():
                with self._encoding:
                    self.library.hits("a photograph", candidates=1)
        except (mc.MascotError, sqlite3.Error, OSError):
            return

    def _wishes(self, asked: models.Search) -> list[mc.Wish]:
        store = self.library.store
        return [
            made_wish(wish.name, wish.near, wish.weight, _sign(wish.direction), store, asked.missing)
            for wish in asked.wishes
        ]

    def count(self) -> int:
        return self.library.store.count()

    def photo(self, id_: int) -> Photo:
        return self.library.store.photo(id_)

    def thumbnail(self, id_: int) -> bytes:
        return self.library.store.thumbnail(id_)

    def file(self, photo: Photo) -> Path:
        """The photograph's own file. A link may lead out of the folder, but only to what was indexed through it."""
        path = Path(os.path.realpath(self._root / photo.path))
        if not path.is_file():
            raise mc.InputError(f"the file {photo.path!r} is gone: it is not in the library's folder any more")
        if not path.is_relative_to(self._root) and not _is_indexed(path, photo):
            raise mc.InputError(
                f"the file {photo.path!r} leads out of the library's folder, to one that was not indexed: "
                "run `mascot index` again"
            )
        if not os.access(path, os.R_OK):
            raise mc.InputError(f"the file {photo.path!r} cannot be read")
        return path

    def overview(self) -> models.LibraryOut:
        library = self.library
        state, known = (self._opened, library.store.changes), self._overview
        if known is None or known[0] != state:
            known = self._overview = (state, _counted(library))
        return known[1]


def _is_indexed(path: Path, photo: Photo) -> bool:
    about = path.stat()
    return (about.st_size, about.st_mtime_ns) == (photo.size, photo.mtime_ns)


def _counted(library: Library) -> models.LibraryOut:
    told = overview(library.root, library.folder, library.store)
    everywhere = points(library.store)
    step = max(len(everywhere) // _POINTS, 1)
    known = told.to_dict() | {"skipped": len(told.skipped), "notice": library.unfinished or library.notice}
    known |= {"attributes": list(NAMES), "points": [list(point) for point in everywhere[::step]]}
    known |= {"suggestions": suggestions(library.store), "choices": choices(library.store)}
    names = models.LibraryOut.model_fields
    return models.LibraryOut(**{name: value for name, value in known.items() if name in names})


def rerank(asked: models.Rerank) -> models.RerankOut:
    """Steer candidates that are not of the library."""
    vectors = None if asked.vectors is None else _matrix(asked.vectors)
    candidates = mc.Candidates(asked.scores, asked.ids, asked.columns, vectors)
    wishes = [_own_wish(wish) for wish in asked.wishes]
    method = mc.Mascot() if asked.method is None else mc.from_dict(asked.method.model_dump())
    backend = limits.check(candidates, wishes, method, asked.k)
    ranking = mc.rerank(candidates, wishes, asked.k, method, backend=backend)
    told = ranking.to_dict()
    explanation = ranking.explain().to_dict() if asked.explain else None
    return models.RerankOut(results=told["results"], strength=told["strength"], explanation=explanation)


def _own_wish(wish: models.WishIn) -> mc.Wish:
    near: Any = tuple(wish.near) if isinstance(wish.near, list) else wish.near
    attribute = mc.from_dict(wish.attribute.model_dump())
    if near is not None and hasattr(attribute, "point"):
        try:
            attribute.point(near)
        except mc.MascotError:
            raise
        except ValueError as error:  # of the parts a date or an hour is read with
            raise mc.InputError(f"{type(attribute).__name__}: near {near!r}: {error}") from None
    return mc.Wish(attribute, _sign(wish.direction), wish.weight, near)


def _matrix(rows: list[list[float]]) -> np.ndarray:
    if len({len(row) for row in rows}) != 1:
        raise mc.InputError("vectors must all have the same length")
    return np.array(rows, np.float64)


def _sign(direction: models.Direction) -> int:
    return 1 if direction == "spread" else -1


def _answer(results: Results, hits: Hits) -> models.SearchOut:
    told = results.explain()
    best = np.sort(hits.scores)[::-1][: len(results)]
    low, high = (float(hits.scores.min()), float(hits.scores.max())) if len(hits) else (0.0, 1.0)
    most = float(((best - low) / (high - low + 1e-8)).sum())
    return models.SearchOut(
        query=hits.query,
        candidates=len(hits),
        newest_of=hits.newest_of,
        strength=told.strength,
        kept=min(sum(result.relevance for result in results) / most, 1.0) if most > 0 else 1.0,
        results=[
            models.ResultOut(
                rank=result.rank,
                was=result.was,
                score=result.score,
                relevance=result.relevance,
                gains=result.gains,
                opened={name: bins for name, bins in reason.opened.items() if bins},
                photo=photo_out(result.photo),
            )
            for result, reason in zip(results, told.results, strict=True)
        ],
        plain=[photo_out(photo) for photo in results.plain],
        left_out=[
            models.LeftOut(
                id=hits.photos[left.position].id, was=left.was, relevance=left.relevance, because=left.because
            )
            for left in told.left_out
        ],
        took_ms={},
    )


def photo_out(photo: Photo) -> models.PhotoOut:
    return models.PhotoOut(**photo.to_dict())
