"""Searches in a photo library: a request in, an answer out. Knows no HTTP."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache

import mascot as mc
from mascot import words
from mascot.photos.album import AlbumSection, album
from mascot.photos.choices import Choice
from mascot.photos.export import original, originals, zip_chunks
from mascot.photos.library import CANDIDATES, Library
from mascot.photos.overview import overview, points
from mascot.photos.photo import Photo
from mascot.photos.results import Hits, Results, check_choice
from mascot.photos.steering import NAMES, made_limit, made_share, made_wish
from mascot.photos.store import UnknownPhoto
from mascot.server import limits, models
from mascot.server.failures import ClientLeft, ExportTooLarge, LibraryGone
from mascot.server.filter_values import filter_values
from mascot.server.suggestions import suggestions
from mascot.server.threads import client_has_left
from mascot.server.wishes import decoded

_CACHED_PHOTOS = 25_000  # candidates of the last searches, so that a moving slider does not search again
_POINTS = 2000  # of the library, on the map

__all__ = ["LibraryGone", "Service", "photo_out"]


class Service:
    """Answers about one library. Safe to use from several threads."""

    def __init__(self, library: Library) -> None:
        self._library, self._root, self._index = library, library.root, library.store.path
        self._opened = self._identity()
        self._hits: LRUCache[tuple[Any, ...], Hits] = LRUCache(_CACHED_PHOTOS, lambda hits: max(len(hits), 1))
        self._overview: tuple[tuple[Any, ...], models.LibraryOut] | None = None
        self._lock = threading.Lock()
        self._encoding = threading.Lock()  # encoders are not made for several threads at once

    @property
    def library(self) -> Library:
        """The library; the new one where it was removed and indexed again."""
        with self._lock:
            identity = self._identity()
            if identity != self._opened:
                # Not closed: others may still be reading from it.
                self._library, self._opened = self._library.reopened(), identity
                self._hits.clear()
            return self._library

    def _identity(self) -> tuple[int, int]:
        """Which file the index is: one that was removed stays open, and could still be read."""
        try:
            status = self._index.stat()
        except OSError as error:
            raise LibraryGone(error.strerror) from None
        return status.st_dev, status.st_ino

    def search(self, query: models.Search) -> models.SearchOut:
        """Search the library and steer the result."""
        try:
            return self._search(query)
        except UnknownPhoto:  # another process has removed a result a moment ago, or the query names a wrong id
            with self._lock:
                self._hits.clear()
            return self._search(query)

    def _search(self, query: models.Search) -> models.SearchOut:
        started = time.perf_counter()
        _check_client()
        method = words.method(query.method, query.strength, query.protect, query.keep, query.order)
        wishes = self._wishes(query)
        check_choice(query.pin, query.reject)
        hits = self._candidates(query, limits.most_candidates(method, wishes, CANDIDATES))
        if query.stacks:
            hits = hits.stacked(self.library.store.detail, query.pin)
        retrieved = time.perf_counter()
        if len(hits):
            limits.check(hits.candidates_for(wishes, method), wishes, method, query.k, query.keep is not None)
        results = hits.rerank(wishes, query.k, method, pin=query.pin)
        answer = _answer(results, hits)
        targets = [(part, wish) for part, wish in zip(query.wishes, wishes, strict=True) if part.get("near")]
        answer.targets = [_target(part, wish) for part, wish in targets if isinstance(wish, mc.Wish)]
        if query.like is not None:
            answer.query = f"like {self.photo(query.like).path}"  # not the whole path on this machine
        answer.took_ms = {
            "retrieval": round((retrieved - started) * 1e3, 3),
            "steering": round((time.perf_counter() - retrieved) * 1e3, 3),
        }
        return answer

    def _candidates(self, query: models.Search, default: int) -> Hits:
        """The candidates of a query: what matches it, with the pinned photographs and without the rejected."""
        library = self.library
        count = max(query.candidates or default, query.k + len(query.reject))
        key: tuple[Any, ...] = (query.text, query.like, count, query.where, self._opened, library.state)
        hits = self._matches(library, query, count, key)
        if not query.pin and not query.reject:
            return hits
        key = (*key, frozenset(query.pin), frozenset(query.reject))
        around = self._cached(key)
        if around is None:
            around = hits.around(library.hits_of(query.pin) if query.pin else None, query.reject)
            if around is not hits:
                self._cache(key, around)
        return around

    def _matches(self, library: Library, query: models.Search, count: int, key: tuple[Any, ...]) -> Hits:
        """What matches a query, from the cache where the same was asked before."""
        hits = self._cached(key)
        if hits is not None:
            return hits
        with self._encoding:
            _check_client()
            hits = self._cached(key)  # others may have waited for the same answer
            if hits is not None:
                return hits
            if query.like is not None and not (query.text or "").strip():
                hits = library.hits_like(query.like, candidates=count, where=query.where)
            else:  # the library itself says what is wrong with both
                like = None if query.like is None else library.root
                hits = library.hits(
                    query.text, like=like, candidates=count, where=query.where, cancelled=client_has_left
                )
        self._cache(key, hits)
        return hits

    def _cache(self, key: tuple[Any, ...], hits: Hits) -> None:
        with self._lock, suppress(ValueError):  # larger than the whole cache
            self._hits[key] = hits

    def _cached(self, key: tuple[Any, ...]) -> Hits | None:
        with self._lock:
            return self._hits.get(key)

    def warm(self) -> None:
        """Load what the first search needs. Whatever is wrong, that search will say."""
        try:
            if self.library.store.count():
                with self._encoding:
                    self.library.hits("a photograph", candidates=1)
        except (mc.MascotError, sqlite3.Error, OSError):
            return

    def _wishes(self, query: models.Search) -> list[mc.AnyWish]:
        wishes = [decoded(part, place, models.PHOTO_WISHES) for place, part in enumerate(query.wishes)]
        return [self._wish(wish, query.missing) for wish in wishes]

    def _wish(self, wish: Any, missing: str) -> mc.AnyWish:
        store = self.library.store
        if isinstance(wish, models.PhotoLimit):
            return made_limit(wish.limit, wish.n, wish.fill)
        if isinstance(wish, models.PhotoShare):
            return made_share(wish.share, wish.shares, store)
        return made_wish(wish.name, wish.near, wish.weight, 1 if wish.direction == "spread" else -1, store, missing)

    def count(self) -> int:
        """Return the number of photographs."""
        return self.library.store.count()

    def photo(self, id_: int) -> Photo:
        """Return what the library knows of a photograph."""
        return self.library.store.photo(id_)

    def thumbnail(self, id_: int) -> bytes:
        """Return a small picture, as JPEG."""
        return self.library.store.thumbnail(id_)

    def file(self, photo: Photo) -> Path:
        """Return the path of a photograph. A link may lead out of the folder, but only to the file that was indexed."""
        return original(self._root, photo)

    def choices(self) -> models.ChoicesOut:
        """Return the saved choices, by name."""
        return models.ChoicesOut([_choice_out(choice) for choice in self.library.choices.all()])

    def save_choice(self, name: str, choice: models.ChoiceIn) -> models.ChoiceOut:
        """Save a choice, over the one of that name if there is one."""
        check_choice(choice.photos, choice.rejected)
        return _choice_out(self.library.choices.put(name, choice.photos, choice.rejected, choice.query))

    def delete_choice(self, name: str) -> models.Deleted:
        """Delete a choice."""
        self.library.choices.delete(name)
        return models.Deleted(name)

    def archive(self, export: models.Export) -> Iterator[bytes]:
        """Return a ZIP archive of photographs, piece by piece. What is wrong is said before the first piece."""
        files, problems = originals(self._root, self._chosen(export))
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
        """Return an album of photographs, piece by piece."""
        return album(self.library.store, export.title, [AlbumSection(self._chosen(export))])

    def _chosen(self, export: models.Export) -> list[Photo]:
        return self.library.store.photos(list(dict.fromkeys(export.photos)))

    def overview(self) -> models.LibraryOut:
        """Return what is in the library; counted again only where it has changed."""
        library = self.library
        state, cached = (self._opened, library.store.changes), self._overview
        if cached is None or cached[0] != state:
            cached = self._overview = (state, _counted(library))
        return cached[1]


def _counted(library: Library) -> models.LibraryOut:
    summary = overview(library.root, library.folder, library.store)
    everywhere = points(library.store)
    step = max(len(everywhere) // _POINTS, 1)
    values = summary.to_dict() | {"skipped": len(summary.skipped), "notice": library.unfinished or library.notice}
    values |= {"attributes": list(NAMES), "points": [list(point) for point in everywhere[::step]]}
    values |= {"suggestions": suggestions(library.store), "choices": filter_values(library.store)}
    return models.LibraryOut(**{name: values[name] for name in models.LibraryOut.__struct_fields__})


def _check_client() -> None:
    """Raise where the client has left while the search waited for its turn."""
    if client_has_left():
        raise ClientLeft


def _answer(results: Results, hits: Hits) -> models.SearchOut:
    explanation = results.explain()
    completing = [result.relevance for result in results if not result.pinned]
    others = ~np.isin(hits.ids, list(results.pinned))
    best = np.sort(hits.scores[others])[::-1][: len(completing)]
    low, high = (float(hits.scores.min()), float(hits.scores.max())) if len(hits) else (0.0, 1.0)
    most = float(((best - low) / (high - low + 1e-8)).sum())
    return models.SearchOut(
        query=hits.query,
        candidates=hits.count,
        newest_of=hits.newest_of,
        strength=explanation.strength,
        kept=min(sum(completing) / most, 1.0) if most > 0 else 1.0,
        results=[
            models.ResultOut(
                rank=result.rank,
                was=result.was,
                score=result.score,
                relevance=result.relevance,
                gains=result.gains,
                opened={name: bins for name, bins in reason.opened.items() if bins},
                photo=photo_out(result.photo),
                similar=list(result.similar),
                pinned=result.pinned,
            )
            for result, reason in zip(results, explanation.results, strict=True)
        ],
        plain=[photo_out(photo) for photo in results.plain],
        left_out=[
            models.LeftOut(
                id=int(hits.ids[left.position]), was=left.was, relevance=left.relevance, because=left.because
            )
            for left in explanation.left_out
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


def photo_out(photo: Photo) -> models.PhotoOut:
    return models.PhotoOut(**photo.to_dict())
