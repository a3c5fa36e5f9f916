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
from mascot.photos.library import Library
from mascot.photos.overview import overview, points
from mascot.photos.photo import Photo
from mascot.photos.results import Hits, Results
from mascot.photos.steering import NAMES, made_wish
from mascot.server import limits, models
from mascot.server.suggestions import suggestions

_REMEMBERED = 64  # searches whose candidates are kept, so that a slider need not ask for them again
_REMEMBERED_PHOTOS = 25_000  # of all of them together
_POINTS = 2000  # of the library, on the map


class Service:
    """Answers about one library. Safe to use from several threads."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._hits: OrderedDict[tuple[Any, ...], Hits] = OrderedDict()
        self._overview: tuple[int, models.LibraryOut] | None = None
        self._lock = threading.Lock()
        self._encoding = threading.Lock()  # encoders are not made for several threads at once

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
        key = (asked.text, asked.like, asked.candidates, asked.where, self.library.store.changes)
        known = self._remembered(key)
        if known is not None:
            return known
        like = None if asked.like is None else self.file(self.photo(asked.like))
        with self._encoding:
            known = self._remembered(key)  # others may have waited for the same answer
            if known is not None:
                return known
            hits = self.library.hits(asked.text, like=like, candidates=asked.candidates, where=asked.where)
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

    def photo(self, id_: int) -> Photo:
        return self.library.store.photo(id_)

    def file(self, photo: Photo) -> Path:
        """The photograph's own file. The library may hold a link; what it leads to outside is not shown."""
        path = (self.library.root / photo.path).resolve()
        if not path.is_relative_to(self.library.root):
            raise mc.InputError(f"the file {photo.path!r} leads out of the library's folder")
        if not path.is_file() or not os.access(path, os.R_OK):
            raise mc.InputError(f"the file {photo.path!r} is not in the library's folder any more, or cannot be read")
        return path

    def overview(self) -> models.LibraryOut:
        changes = self.library.store.changes
        known = self._overview
        if known is None or known[0] != changes:
            known = self._overview = (changes, self._counted())
        return known[1]

    def _counted(self) -> models.LibraryOut:
        told = overview(self.library.root, self.library.folder, self.library.store)
        everywhere = points(self.library.store)
        step = max(len(everywhere) // _POINTS, 1)
        known = told.to_dict() | {"skipped": len(told.skipped), "notice": self.library.notice}
        known |= {"attributes": list(NAMES), "points": [list(point) for point in everywhere[::step]]}
        known |= {"suggestions": suggestions(self.library.store)}
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
                id=hits.photos[left.position].id, was=left.rank, relevance=left.relevance, because=left.because
            )
            for left in told.left_out
        ],
        took_ms={},
    )


def photo_out(photo: Photo) -> models.PhotoOut:
    return models.PhotoOut(**photo.to_dict())
