"""Searches in a photo library: a request in, an answer out, without HTTP."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache

import mascot as mc
from mascot import words
from mascot.photos import steering
from mascot.photos.album import AlbumSection, album
from mascot.photos.choices import Choice
from mascot.photos.export import original, originals, zip_chunks
from mascot.photos.library import CANDIDATES, Library
from mascot.photos.photo import Photo
from mascot.photos.results import Hits, Results, check_choice
from mascot.photos.store import UnknownPhoto
from mascot.server import limits, models
from mascot.server.answers import ExportTooLarge, LibraryGone
from mascot.server.overview import library_out
from mascot.server.reranking import decode_wish
from mascot.server.threads import ClientLeft, client_has_left

_CACHED_PHOTOS = 25_000  # candidates of the last searches, so that a moving slider does not search again

__all__ = ["LibraryGone", "Service"]


class Service:
    """Answers about one library. Safe to use from several threads."""

    def __init__(self, library: Library) -> None:
        self._library, self._root, self._index = library, library.root, library.store.path
        self._opened_file = self._identity()
        self._hits: LRUCache[tuple[Any, ...], Hits] = LRUCache(_CACHED_PHOTOS, lambda hits: max(len(hits), 1))
        self._overview: tuple[tuple[Any, ...], models.LibraryOut] | None = None
        self._lock = threading.Lock()
        self._encoding = threading.Lock()  # encoders are not thread-safe

    @property
    def library(self) -> Library:
        """The library; reopened if it was removed and indexed again."""
        with self._lock:
            identity = self._identity()
            if identity != self._opened_file:
                # The old one is not closed: other threads may still read from it.
                self._library, self._opened_file = self._library.reopened(), identity
                self._hits.clear()
            return self._library

    def _identity(self) -> tuple[int, int]:
        """Return the device and inode of the index: a removed file stays readable as long as it is open."""
        try:
            status = self._index.stat()
        except OSError as error:
            raise LibraryGone(error.strerror) from None
        return status.st_dev, status.st_ino

    def search(self, query: models.Search) -> models.SearchOut:
        """Search the library and steer the result."""
        try:
            return self._search(query)
        except UnknownPhoto:  # another process has removed a result meanwhile, or the query names a wrong id
            with self._lock:
                self._hits.clear()
            return self._search(query)

    def _search(self, query: models.Search) -> models.SearchOut:
        start = time.perf_counter()
        _check_client()
        method = words.method(query.method, query.strength, query.protect, query.keep, query.order)
        wishes = self._wishes(query)
        check_choice(query.pin, query.reject)
        hits = self._candidates(query, limits.most_candidates(method, wishes, CANDIDATES))
        if query.stacks:
            hits = hits.stacked(self.library.store.detail, query.pin)
        retrieval_end = time.perf_counter()
        if len(hits):
            limits.check(hits.candidates_for(wishes, method), wishes, method, query.k, query.keep is not None)
        results = hits.rerank(wishes, query.k, method, pin=query.pin)
        answer = _answer(results, hits)
        targets = [(part, wish) for part, wish in zip(query.wishes, wishes, strict=True) if part.get("near")]
        answer.targets = [_target(part, wish) for part, wish in targets if isinstance(wish, mc.Wish)]
        if query.like is not None:
            answer.query = f"like {self.photo(query.like).path}"  # relative: the full path is not disclosed
        answer.took_ms = {
            "retrieval": round((retrieval_end - start) * 1e3, 3),
            "steering": round((time.perf_counter() - retrieval_end) * 1e3, 3),
        }
        return answer

    def _candidates(self, query: models.Search, default: int) -> Hits:
        """Return the matches of a query, with the pinned photographs and without the rejected."""
        library = self.library
        count = max(query.candidates or default, query.k + len(query.reject))
        key: tuple[Any, ...] = (library.state, self._opened_file, query.text, query.like, count, query.where)
        hits = self._cached(key, lambda: self._matches(library, query, count, key))
        if not query.pin and not query.reject:
            return hits
        key = (*key, frozenset(query.pin), frozenset(query.reject))
        return self._cached(key, lambda: hits.around(library.hits_of(query.pin) if query.pin else None, query.reject))

    def _matches(self, library: Library, query: models.Search, count: int, key: tuple[Any, ...]) -> Hits:
        """Return the matches of a query. One thread at a time encodes; another may have found the same meanwhile."""
        with self._encoding:
            _check_client()
            return self._cached(key, lambda: _find(library, query, count))

    def _cached(self, key: tuple[Any, ...], find: Callable[[], Hits]) -> Hits:
        """Return the hits of a key from the cache; otherwise find and cache them."""
        with self._lock:
            hits = self._hits.get(key)
        if hits is not None:
            return hits
        hits = find()
        with self._lock, suppress(ValueError):  # larger than the whole cache
            if any(other[0] != key[0] for other in self._hits):
                self._hits.clear()  # hits of an earlier state keep all of its columns in memory
            self._hits[key] = hits
        return hits

    def warm(self) -> None:
        """Load what the first search needs. Errors are left to that search to report."""
        try:
            if self.library.store.count():
                with self._encoding:
                    self.library.hits("a photograph", candidates=1)
        except (mc.MascotError, sqlite3.Error, OSError):
            return

    def _wishes(self, query: models.Search) -> list[mc.AnyWish]:
        wishes = [decode_wish(part, place, models.PHOTO_WISHES) for place, part in enumerate(query.wishes)]
        return [self._wish(wish, query.missing) for wish in wishes]

    def _wish(self, wish: Any, missing: str) -> mc.AnyWish:
        store = self.library.store
        if isinstance(wish, models.PhotoLimit):
            return steering.limit(wish.limit, wish.n, wish.fill)
        if isinstance(wish, models.PhotoShare):
            return steering.share(wish.share, wish.shares, store)
        return steering.wish(wish.name, wish.near, wish.weight, 1 if wish.direction == "spread" else -1, store, missing)

    def count(self) -> int:
        """Return the number of photographs."""
        return self.library.store.count()

    def photo(self, id_: int) -> Photo:
        """Return the metadata of a photograph."""
        return self.library.store.photo(id_)

    def thumbnail(self, id_: int) -> bytes:
        """Return a small picture, as JPEG."""
        return self.library.store.thumbnail(id_)

    def file(self, photo: Photo) -> Path:
        """Return the path of a photograph. A link may lead out of the folder only to the file that was indexed."""
        return original(self._root, photo)

    def choices(self) -> models.ChoicesOut:
        """Return the saved choices, by name."""
        return models.ChoicesOut([_choice_out(choice) for choice in self.library.choices.all()])

    def save_choice(self, name: str, choice: models.ChoiceIn) -> models.ChoiceOut:
        """Save a choice; an existing one of that name is replaced."""
        check_choice(choice.photos, choice.rejected)
        return _choice_out(self.library.choices.put(name, choice.photos, choice.rejected, choice.query))

    def delete_choice(self, name: str) -> models.Deleted:
        """Delete a choice."""
        self.library.choices.delete(name)
        return models.Deleted(name)

    def archive(self, export: models.Export) -> Iterator[bytes]:
        """Return the chunks of a ZIP archive of photographs. Errors are raised before the first chunk."""
        files, problems = originals(self._root, self._photos_of(export))
        if not files:
            raise mc.InputError("; ".join(problems[:3]))
        size = sum(file.path.stat().st_size for file in files)
        if size > models.LARGEST_EXPORT:
            raise ExportTooLarge(
                f"these {len(files)} photographs are {size / 1e9:.1f} GB, and a download may be "
                f"{models.LARGEST_EXPORT / 1e9:.1f} GB: take fewer, or use `mascot search ... --copy-to DIR`"
            )
        return zip_chunks(files, problems)

    def album(self, export: models.Export) -> Iterator[str]:
        """Return the chunks of an album of photographs."""
        return album(self.library.store, export.title, [AlbumSection(self._photos_of(export))])

    def _photos_of(self, export: models.Export) -> list[Photo]:
        return self.library.store.photos(list(dict.fromkeys(export.photos)))

    def overview(self) -> models.LibraryOut:
        """Return what the library contains, cached until it changes."""
        library = self.library
        state, cached = (self._opened_file, library.store.changes), self._overview
        if cached is None or cached[0] != state:
            cached = self._overview = (state, library_out(library))
        return cached[1]


def _find(library: Library, query: models.Search, count: int) -> Hits:
    if query.like is not None and not (query.text or "").strip():
        return library.hits_like(query.like, candidates=count, where=query.where)
    like = None if query.like is None else library.root  # the library refuses a text and `like` together
    return library.hits(query.text, like=like, candidates=count, where=query.where, cancelled=client_has_left)


def _check_client() -> None:
    """Raise `ClientLeft` if the client has disconnected meanwhile."""
    if client_has_left():
        raise ClientLeft


def _answer(results: Results, hits: Hits) -> models.SearchOut:
    explanation = results.explain()
    relevances = [result.relevance for result in results if not result.pinned]
    is_unpinned = ~np.isin(hits.ids, list(results.pinned))
    best = np.sort(hits.scores[is_unpinned])[::-1][: len(relevances)]
    low, high = (float(hits.scores.min()), float(hits.scores.max())) if len(hits) else (0.0, 1.0)
    best_total = float(((best - low) / (high - low + 1e-8)).sum())
    return models.SearchOut(
        query=hits.query,
        candidates=hits.count,
        newest_of=hits.newest_of,
        strength=explanation.strength,
        kept=min(sum(relevances) / best_total, 1.0) if best_total > 0 else 1.0,
        results=[
            models.ResultOut(
                rank=result.rank,
                was=result.was,
                score=result.score,
                relevance=result.relevance,
                gains=result.gains,
                opened={name: bins for name, bins in reason.opened.items() if bins},
                photo=_photo_out(result.photo),
                similar=list(result.similar),
                pinned=result.pinned,
            )
            for result, reason in zip(results, explanation.results, strict=True)
        ],
        plain=[_photo_out(photo) for photo in results.plain],
        left_out=[
            models.LeftOut(
                id=int(hits.ids[reason.position]), was=reason.was, relevance=reason.relevance, because=reason.because
            )
            for reason in explanation.left_out
        ],
        took_ms={},
    )


def _target(part: dict[str, Any], wish: mc.Wish) -> models.TargetOut:
    target = models.TargetOut(part["name"], part["near"])
    if isinstance(wish.attribute, mc.Place):
        target.lat, target.lon = map(float, wish.near)
    elif isinstance(wish.attribute, mc.HourOfDay):
        target.hour = float(wish.near)
    elif isinstance(wish.attribute, mc.Date):
        target.date = str(wish.near)[:10]
    return target


def _choice_out(choice: Choice) -> models.ChoiceOut:
    return models.ChoiceOut(choice.name, list(choice.photos), list(choice.rejected), choice.query, choice.missing)


def _photo_out(photo: Photo) -> models.PhotoOut:
    return models.PhotoOut(**photo.to_dict())
