"""Answers about a photo library, without HTTP: one method for each operation of `library_routes`."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import msgspec
import numpy as np
from cachetools import LRUCache, cachedmethod
from starlette.exceptions import HTTPException
from starlette.responses import Response

import mascot as mc
from mascot.photos.database.store import UnknownPhoto
from mascot.photos.files.images import Unreadable
from mascot.photos.library import Library
from mascot.photos.metadata.quality import quality
from mascot.photos.request import CANDIDATES, SearchRequest
from mascot.photos.results import Hits, Results
from mascot.photos.sentences import Understanding
from mascot.photos.sentences.understanding import FEW
from mascot.photos.sharing.album import AlbumSection, album
from mascot.photos.sharing.choices import Choice
from mascot.photos.sharing.export import original, originals, zip_chunks
from mascot.server import schemas
from mascot.server.library import pictures
from mascot.server.library.library_summary import library_out, trips_out
from mascot.server.library.targets import target_out
from mascot.server.rerank import request_cost
from mascot.server.run.threads import ClientLeft, Threads, client_has_left
from mascot.wishes import Wish

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
        self._summaries: LRUCache[tuple[Any, ...], Any] = LRUCache(2)
        self._lock = threading.Condition()
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

    def search(self, request: SearchRequest, sentence: str | None = None) -> schemas.SearchOut:
        """Search the library and steer the result; fields of the request override what a sentence says."""
        understood = None if sentence is None else self.current.understand(sentence)
        resolved = request if understood is None else understood.request(request)
        try:
            answer = self._search(resolved)
        except UnknownPhoto:  # another process has removed a result meanwhile, or the request names a wrong id
            with self._lock:
                self._hits.clear()
            answer = self._search(resolved)
        if understood is not None:
            answer.understood = _understood_out(understood)
            if len(answer.results) < min(FEW, request.k):
                with self._encoding:
                    drops = self.current.without_chips(understood, request, cancelled=client_has_left)
                answer.understood.drop = [
                    schemas.DropOut(understood.chips.index(chip), chip.label, count) for chip, count in drops
                ]
        return answer

    def understand(self, body: schemas.Sentence) -> schemas.UnderstoodOut:
        """Return what is understood of a sentence, without searching."""
        return _understood_out(self.current.understand(body.sentence))

    def _search(self, request: SearchRequest) -> schemas.SearchOut:
        start = time.perf_counter()
        _check_client()
        library = self.current
        wishes = library.wishes(request)
        settled = request.settled(wishes)
        hits = self._candidates(library, replace(request, candidates=request.candidates or CANDIDATES).retrieval())
        retrieval_end = time.perf_counter()
        results = library.steer(hits, replace(settled, wishes=tuple(wishes)), _check_cost)
        answer = _answer(results, settled)
        answer.targets = [
            target_out(part["focus"], part["near"], wish, results.photos)
            for part, wish in zip(request.wishes, wishes, strict=True)
            if isinstance(wish, Wish) and wish.near is not None
        ]
        answer.took_ms = {
            "retrieval": round((retrieval_end - start) * 1e3, 3),
            "steering": round((time.perf_counter() - retrieval_end) * 1e3, 3),
        }
        return answer

    def _candidates(self, library: Library, retrieval: SearchRequest) -> Hits:
        """Return the candidates of a request; a later one with the same text and filters takes them from a cache."""
        key = library.state, self._opened_file, msgspec.json.encode(retrieval.to_dict())
        return self._find_candidates(key, library, retrieval)

    @cachedmethod(lambda self: self._hits, key=lambda self, key, *_: key, condition=lambda self: self._lock)
    def _find_candidates(self, key: tuple[Any, ...], library: Library, retrieval: SearchRequest) -> Hits:
        with self._encoding:
            _check_client()
            hits = library.candidates(retrieval, cancelled=client_has_left)
        with self._lock:
            if any(other[0] != key[0] for other in self._hits):
                self._hits.clear()  # hits of an earlier state keep all of its columns in memory
        return hits

    def warm(self) -> None:
        """Load what the first search needs. Errors are left to that search to report."""
        try:
            if self.current.store.count():
                with self._encoding:
                    self.current.hits("a photograph", candidates=1)
        except (mc.MascotError, sqlite3.Error, OSError):
            return

    def count(self) -> int:
        return self.current.store.count()

    def photo(self, id_: int) -> dict[str, Any]:
        """Return the metadata of a photograph, the text in the picture, and the parts of its quality."""
        store = self.current.store
        parts = asdict(quality(store.thumbnail(id_)))
        return store.photo(id_).to_dict() | {"text": store.text_in(id_), "quality_parts": parts}

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
            parts = album(store, export.title, [AlbumSection(photos)], self._root)
            return pictures.download(self.files.iterate(parts), export.title, "html")
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
        return self._summary(library_out, self.current)

    def trips(self) -> schemas.TripsOut:
        """Return the trips of the library, which are spans of days away from home, and its years."""
        return self._summary(trips_out, self.current)

    @cachedmethod(
        lambda self: self._summaries,
        key=lambda self, summary_of, library: (summary_of, self._opened_file, library.store.changes),
        lock=lambda self: self._lock,
    )
    def _summary(self, summary_of: Callable[[Library], Any], library: Library) -> Any:
        return summary_of(library)


def _check_client() -> None:
    """Raise `ClientLeft` if the client has disconnected meanwhile."""
    if client_has_left():
        raise ClientLeft


def _check_cost(hits: Hits, request: SearchRequest) -> None:
    method = request.build_method()
    candidates = hits.candidates_for(request.wishes, method)
    request_cost.check(candidates, request.wishes, method, request.k, request.keep is not None)


def _answer(results: Results, request: SearchRequest) -> schemas.SearchOut:
    explanation, hits = results.explain(), results.hits
    relevances = [result.relevance for result in results if not result.pinned]
    is_unpinned = ~np.isin(hits.ids, list(results.pinned))
    best_total = float(np.sort(results.ranking.all_relevance[is_unpinned])[::-1][: len(relevances)].sum())
    return schemas.SearchOut(
        query=hits.query,
        request=request.to_dict(),
        candidates=hits.count,
        newest_of=hits.newest_of,
        strength=explanation.strength,
        kept=min(sum(relevances) / best_total, 1.0) if best_total > 0 else 1.0,
        results=[
            schemas.ResultOut(
                result.rank, result.was, result.score, result.relevance, result.gains,
                {name: bins for name, bins in reason.opened.items() if bins}, reason.because,
                result.photo.to_dict(), list(result.similar), result.pinned, result.good,
            )
            for result, reason in zip(results, explanation.results, strict=True)
        ],
        plain=[photo.to_dict() for photo in results.plain],
        left_out=[
            schemas.LeftOut(int(hits.ids[reason.position]), reason.was, reason.relevance, reason.because)
            for reason in explanation.left_out
        ],
        took_ms={},
        good_matches=results.good_matches,
    )  # fmt: skip


def _understood_out(understood: Understanding) -> schemas.UnderstoodOut:
    return msgspec.convert(understood.to_dict(), schemas.UnderstoodOut)


def _choice_out(choice: Choice) -> schemas.ChoiceOut:
    return schemas.ChoiceOut(choice.name, list(choice.photos), list(choice.rejected), choice.query, choice.missing)
