"""Answers about a photo library: one method for each operation of `photo_routes`."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from cachetools import LRUCache
from starlette.exceptions import HTTPException
from starlette.responses import Response

import mascot as mc
from mascot import grammar
from mascot.candidates import scaled
from mascot.photos import wish_text
from mascot.photos.database.store import UnknownPhoto
from mascot.photos.files.images import Unreadable
from mascot.photos.library import CANDIDATES, Library
from mascot.photos.results import Hits, Results, check_choice
from mascot.photos.sharing.album import AlbumSection, album
from mascot.photos.sharing.export import original, originals, zip_chunks
from mascot.photos.sharing.saved_sets import Choice
from mascot.server import schemas
from mascot.server.library import pictures
from mascot.server.library.library_summary import library_out
from mascot.server.rerank import request_cost
from mascot.server.rerank.rerank_task import decode_wish
from mascot.server.run.threads import ClientLeft, Threads, client_has_left

_CACHED_PHOTOS = 25_000  # candidates of the last searches, so that a moving slider does not search again
_SEARCHES, _FILES = 4, 4  # threads


class LibraryGone(sqlite3.OperationalError):
    """The library was removed while it was served."""


class Service:
    """Answers about one library. Safe to use from several threads."""

    def __init__(self, library: Library) -> None:
        self._library, self._root, self._index = library, library.root, library.store.path
        self._opened_file = self._identity()
        self._hits: LRUCache[tuple[Any, ...], Hits] = LRUCache(_CACHED_PHOTOS, lambda hits: max(len(hits), 1))
        self._overview: tuple[tuple[Any, ...], schemas.LibraryOut] | None = None
        self._lock = threading.Lock()
        self._encoding = threading.Lock()  # encoders are not thread-safe
        self.searches, self.files = Threads("search", _SEARCHES), Threads("picture", _FILES)

    @property
    def current(self) -> Library:
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

    def search(self, query: schemas.Search) -> schemas.SearchOut:
        """Search the library and steer the result.

        A further search with the same text and other wishes re-ranks the same candidates: nothing is encoded again.
        """
        try:
            return self._search(query)
        except UnknownPhoto:  # another process has removed a result meanwhile, or the query names a wrong id
            with self._lock:
                self._hits.clear()
            return self._search(query)

    def _search(self, query: schemas.Search) -> schemas.SearchOut:
        start = time.perf_counter()
        _check_client()
        method = grammar.method(query.method, query.strength, query.protect, query.keep, query.order)
        wishes = [self._wish(part, place, query.missing) for place, part in enumerate(query.wishes)]
        check_choice(query.pin, query.reject)
        hits = self._candidates(query, request_cost.most_candidates(method, wishes, CANDIDATES))
        if query.stacks:
            hits = hits.stacked(self.current.store.detail, query.pin)
        retrieval_end = time.perf_counter()
        if len(hits):
            request_cost.check(hits.candidates_for(wishes, method), wishes, method, query.k, query.keep is not None)
        results = hits.rerank(wishes, query.k, method, pin=query.pin)
        answer = _answer(results, hits)
        targets = [(part, wish) for part, wish in zip(query.wishes, wishes, strict=True) if part.get("near")]
        answer.targets = [_target(part, wish) for part, wish in targets if isinstance(wish, mc.Wish)]
        if query.like is not None:
            answer.query = f"like {self.current.store.photo(query.like).path}"  # relative to the library
        answer.took_ms = {
            "retrieval": round((retrieval_end - start) * 1e3, 3),
            "steering": round((time.perf_counter() - retrieval_end) * 1e3, 3),
        }
        return answer

    def _candidates(self, query: schemas.Search, default: int) -> Hits:
        """Return the matches of a query, with the pinned photographs and without the rejected."""
        library = self.current
        count = max(query.candidates or default, query.k + len(query.reject))
        key: tuple[Any, ...] = (library.state, self._opened_file, query.text, query.like, count, query.where)

        def encoded() -> Hits:
            with self._encoding:  # one thread at a time; another may have found the same meanwhile
                _check_client()
                return self._cached(key, lambda: _find(library, query, count))

        hits = self._cached(key, encoded)
        if not query.pin and not query.reject:
            return hits
        chosen = (*key, frozenset(query.pin), frozenset(query.reject))
        return self._cached(
            chosen, lambda: hits.around(library.hits_of(query.pin) if query.pin else None, query.reject)
        )

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
            if self.current.store.count():
                with self._encoding:
                    self.current.hits("a photograph", candidates=1)
        except (mc.MascotError, sqlite3.Error, OSError):
            return

    def _wish(self, part: dict[str, Any], place: int, missing: str) -> mc.AnyWish:
        wish, store = decode_wish(part, place, schemas.PHOTO_WISHES), self.current.store
        if isinstance(wish, schemas.PhotoLimit):
            return wish_text.limit(wish.limit, wish.n, wish.fill)
        if isinstance(wish, schemas.PhotoShare):
            return wish_text.share(wish.share, wish.shares, store)
        return wish_text.wish(
            wish.name, wish.near, wish.weight, 1 if wish.direction == "spread" else -1, store, missing
        )

    def count(self) -> int:
        """Return the number of photographs."""
        return self.current.store.count()

    def photo(self, id_: int) -> dict[str, Any]:
        """Return the metadata of a photograph."""
        return self.current.store.photo(id_).to_dict()

    def thumbnail(self, id_: int, headers: Mapping[str, str]) -> Response:
        """Return a small picture, as JPEG."""
        return pictures.thumbnail(headers, self.current.store.thumbnail(id_))

    def image(self, id_: int, headers: Mapping[str, str]) -> Response:
        """Return the photograph itself; converted to JPEG if browsers cannot show its format."""
        photo = self.current.store.photo(id_)
        try:
            return pictures.photograph(headers, original(self._root, photo), photo)
        except Unreadable as error:
            raise mc.InputError(f"{photo.path!r}: {error}") from None
        except OSError as error:
            raise mc.InputError(str(error)) from None

    def choices(self) -> schemas.ChoicesOut:
        """Return the saved choices: named sets of photographs."""
        return schemas.ChoicesOut([_choice_out(choice) for choice in self.current.choices.all()])

    def save_choice(self, name: str, choice: schemas.ChoiceIn) -> schemas.ChoiceOut:
        """Save a choice; an existing one of that name is replaced."""
        check_choice(choice.photos, choice.rejected)
        return _choice_out(self.current.choices.put(name, choice.photos, choice.rejected, choice.query))

    def delete_choice(self, name: str) -> schemas.Deleted:
        """Delete a choice. The photographs stay."""
        self.current.choices.delete(name)
        return schemas.Deleted(name)

    def export(self, export: schemas.Export) -> Response:
        """Download photographs: a ZIP archive of their files, or an album, which is one HTML file.

        Missing files are listed in a text file inside the archive.
        """
        store = self.current.store
        photos = store.photos(list(dict.fromkeys(export.photos)))
        if export.format == "album":
            sections = [AlbumSection(photos)]
            return pictures.download(self.files.iterate(album(store, export.title, sections)), export.title, "html")
        files, problems = originals(self._root, photos)
        if not files:
            raise mc.InputError("; ".join(problems[:3]))
        size = sum(file.path.stat().st_size for file in files)
        if size > schemas.LARGEST_EXPORT:
            raise HTTPException(
                413,
                f"these {len(files)} photographs are {size / 1e9:.1f} GB, and a download may be "
                f"{schemas.LARGEST_EXPORT / 1e9:.1f} GB: take fewer, or use `mascot search ... --copy-to DIR`",
            )
        return pictures.download(self.files.iterate(zip_chunks(files, problems)), export.title, "zip")

    def library(self) -> schemas.LibraryOut:
        """Return what the library contains, and which attributes can be steered."""
        library = self.current
        state, cached = (self._opened_file, library.store.changes), self._overview
        if cached is None or cached[0] != state:
            cached = self._overview = (state, library_out(library))
        return cached[1]


def _find(library: Library, query: schemas.Search, count: int) -> Hits:
    if query.like is not None and not (query.text or "").strip():
        return library.hits_like(query.like, candidates=count, where=query.where)
    like = None if query.like is None else library.root  # the library refuses a text and `like` together
    return library.hits(query.text, like=like, candidates=count, where=query.where, cancelled=client_has_left)


def _check_client() -> None:
    """Raise `ClientLeft` if the client has disconnected meanwhile."""
    if client_has_left():
        raise ClientLeft


def _answer(results: Results, hits: Hits) -> schemas.SearchOut:
    explanation = results.explain()
    relevances = [result.relevance for result in results if not result.pinned]
    is_unpinned = ~np.isin(hits.ids, list(results.pinned))
    best_total = float(np.sort(scaled(hits.scores)[is_unpinned])[::-1][: len(relevances)].sum())
    return schemas.SearchOut(
        query=hits.query,
        candidates=hits.count,
        newest_of=hits.newest_of,
        strength=explanation.strength,
        kept=min(sum(relevances) / best_total, 1.0) if best_total > 0 else 1.0,
        results=[
            schemas.ResultOut(
                result.rank, result.was, result.score, result.relevance, result.gains,
                {name: bins for name, bins in reason.opened.items() if bins},
                result.photo.to_dict(), list(result.similar), result.pinned,
            )
            for result, reason in zip(results, explanation.results, strict=True)
        ],
        plain=[photo.to_dict() for photo in results.plain],
        left_out=[
            schemas.LeftOut(int(hits.ids[reason.position]), reason.was, reason.relevance, reason.because)
            for reason in explanation.left_out
        ],
        took_ms={},
    )  # fmt: skip


def _target(part: dict[str, Any], wish: mc.Wish) -> schemas.TargetOut:
    target = schemas.TargetOut(part["name"], part["near"])
    if isinstance(wish.attribute, mc.Place):
        target.lat, target.lon = map(float, wish.near)
    elif isinstance(wish.attribute, mc.HourOfDay):
        target.hour = float(wish.near)
    elif isinstance(wish.attribute, mc.Date):
        target.date = str(wish.near)[:10]
    return target


def _choice_out(choice: Choice) -> schemas.ChoiceOut:
    return schemas.ChoiceOut(choice.name, list(choice.photos), list(choice.rejected), choice.query, choice.missing)
