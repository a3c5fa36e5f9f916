"""A library: a folder of photographs with an index in `.mascot` inside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.errors import InputError, OptionError, require
from mascot.photos import steering
from mascot.photos.filters import matching, within
from mascot.photos.nearest import EXACT, Nearest, Space, open_nearest
from mascot.photos.results import Hits, Results
from mascot.photos.store import FOLDER, Store, stamp_of
from mascot.photos.texts import as_text, is_text, require_text
from mascot.photos.whereabouts import DATABASE, enclosing, remember, remembered

if TYPE_CHECKING:
    from mascot.methods.base import Method
    from mascot.photos.encoders.encoder import Encoder
    from mascot.photos.indexer import Report, Summary
    from mascot.photos.photo import Photo

CANDIDATES = 5000  # photographs that are steered: all of a small library, else the best matches or the newest
_LOCK = "indexing.lock"
_VARIABLE = "MASCOT_LIBRARY"


class Library:
    """Photographs of one folder, ready to be searched.

    >>> with Library.open("Pictures") as library:  # doctest: +SKIP
    ...     library.index()
    ...     found = library.search("sunset over water", [library.spread("place"), library.focus("hour=18")])
    ...     print(found.paths)
    """

    def __init__(self, root: str | os.PathLike[str], device: str = "auto", exact: int = EXACT) -> None:
        root = Path(root)
        if not root.is_dir():
            raise InputError(f"a library is a folder of photographs, and there is no folder {root}")
        self.root = root.resolve()
        require_text(str(self.root), "the path of a library")
        self.folder = self.root / FOLDER
        self._device = device  # where encoders run
        self._exact = exact  # photographs up to which every vector is compared
        self._nearest: Nearest | None = None
        self._encoders: dict[str, Encoder] = {}

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | None = None, device: str = "auto") -> Library:
        """The library of a folder; without one that of `MASCOT_LIBRARY`, the one around here, or the one indexed last.

        Encoders run on `device`: `auto`, `cpu` or `cuda`.
        """
        if folder is None:
            folder = os.environ.get(_VARIABLE) or enclosing() or remembered()
        if folder is None:
            raise InputError(
                f"no library: name one with --library, set {_VARIABLE}, or make one with `mascot index FOLDER`"
            )
        return cls(folder, device)

    def reopened(self) -> Library:
        """The same folder opened anew, with the same options and encoders: its index may be another by now."""
        again = type(self)(self.root, self._device, self._exact)
        again._encoders = dict(self._encoders)
        return again

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
            del self.__dict__["store"]
        self._nearest = None

    @cached_property
    def store(self) -> Store:
        """The rows. There are some once the folder has been indexed."""
        return Store(self.folder / DATABASE)

    # Indexing

    def index(
        self,
        encoder: str | Encoder | None = None,
        *,
        prune: bool = False,
        again: bool = False,
        hidden: bool = False,
        max_megapixels: float = 150,
        report: Report | None = None,
    ) -> Summary:
        """Bring the library up to date with its folder.

        Parameters
        ----------
        encoder
            How to encode; the library's own unless given, `lite` for a new one. Another than the library's
            own is refused without `again`.
        prune
            Remove photographs whose files are gone.
        again
            Read and encode everything again.
        hidden
            Also look into hidden files and folders.
        max_megapixels
            Larger images are refused: a small file can hold one that fills the memory.
        report
            Called with what is being done, how much of it is done, and how much there is (0: not known).
        """
        from mascot.photos.indexer import Indexer

        require(max_megapixels > 0, "max_megapixels", "must be > 0", max_megapixels)
        self._make_folder()
        with self._indexing(report):
            if "store" not in self.__dict__:
                self.__dict__["store"] = Store(self.folder / DATABASE, create=True)
            chosen = self._encoder_for_index(encoder, again)
            options: dict[str, Any] = {"prune": prune, "hidden": hidden, "max_megapixels": max_megapixels}
            stamp = stamp_of(chosen.fingerprint, int(self.store.fact("epoch") or 0))
            summary = Indexer(self.root, self.store, chosen, stamp, report=report, **options).run()
            self._open_nearest(report, hurry=False)
        remember(self.root)
        return summary

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
            # Backups and version control need not keep what can be made again.
            (self.folder / ".gitignore").write_text("*\n", "utf-8")
        except OSError as error:
            raise InputError(f"cannot write the index to {self.folder}: {error.strerror}") from None

    @contextmanager
    def _indexing(self, report: Report | None) -> Iterator[None]:
        """One process at a time; the next waits. SQLite's lock is gone with its process, however that ended."""
        connection = sqlite3.connect(self.folder / _LOCK, timeout=0.5, isolation_level=None)
        try:
            while True:
                try:
                    connection.execute("BEGIN EXCLUSIVE")
                    break
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error):
                        raise InputError(f"cannot write the index to {self.folder}: {error}") from None
                    if report is not None:
                        report("waiting for another process to finish indexing", 0, 0)
            yield
        finally:
            connection.close()

    def _encoder_for_index(self, wanted: str | Encoder | None, again: bool) -> Encoder:
        own = self.store.fact("encoder")
        encoder = self._opened(wanted if wanted is not None else own or "lite")
        known = self.store.fact("fingerprint")
        if known is not None and known != encoder.fingerprint and not again:
            raise OptionError(
                f"this library was encoded with {own}, and {encoder.name} is not the same: "
                f"keep that one with --encoder {own}, or encode everything anew with --encoder {encoder.name} --again"
            )
        if known is None or again:
            epoch = int(self.store.fact("epoch") or 0) + 1
            facts = {"encoder": encoder.name, "fingerprint": encoder.fingerprint, "epoch": str(epoch)}
            self.store.set_facts(facts | {"dim": str(encoder.dim), "tokens": str(encoder.tokens)})
        return encoder

    # Searching

    @property
    def encoder(self) -> str:
        """The encoder this library was made with."""
        return self.store.fact("encoder") or "lite"

    @property
    def notice(self) -> str | None:
        """What a user of this library's encoder should know."""
        return self._opened(self.encoder).notice

    def _opened(self, encoder: str | Encoder) -> Encoder:
        if not isinstance(encoder, str):
            self._encoders[encoder.name] = encoder  # one of the user's own: it cannot be opened by its name
            return encoder
        if encoder not in self._encoders:
            from mascot.photos.encoders import open_encoder

            self._encoders[encoder] = open_encoder(encoder, device=self._device)
        return self._encoders[encoder]

    @property
    def _space(self) -> Space:
        fact = self.store.fact
        return Space(fact("fingerprint") or "", int(fact("dim") or 1), int(fact("tokens") or 1))

    @property
    def unfinished(self) -> str | None:
        """What a user should know while only a part can be searched: indexing with another encoder is not done."""
        encoded, photos = len(self._open_nearest()), self.store.count()
        if encoded >= photos:
            return None
        return (
            f"{encoded} of {photos} photographs are encoded with {self.encoder} so far, and only these are found: "
            "`mascot index` goes on with the others"
        )

    @property
    def state(self) -> int:
        """Which state of the library a search sees: that after so many changes."""
        return self._open_nearest().changes

    def _open_nearest(self, report: Report | None = None, hurry: bool = True) -> Nearest:
        if self._nearest is None or self._nearest.changes != self.store.changes:
            progress: Callable[[int, int], None] | None = None
            if report is not None:
                progress = lambda done, total: report("arranging vectors", done, total)  # noqa: E731
            space = self._space
            self._nearest = open_nearest(self.folder, self.store, space, self._exact, progress, hurry=hurry)
        return self._nearest

    def vector_of(
        self,
        text: str | None = None,
        like: str | os.PathLike[str] | None = None,
        encoder: str | Encoder | None = None,
    ) -> NDArray[np.float32]:
        """The vector a search compares with: of a text, or of a photograph."""
        if (text is None) == (like is None):
            raise OptionError("a search takes a text or a photograph to be like, and not both")
        require_text(text or "", "the text to search for")
        own = self._id_of(like)
        if own is not None and own in (nearest := self._open_nearest()):
            return nearest.vectors(np.array([own]))[0]
        chosen = self._opened(encoder if encoder is not None else self.encoder)
        known = self.store.fact("fingerprint")
        if chosen.fingerprint != known:
            raise OptionError(
                f"this library was encoded with {self.encoder} (fingerprint {known}), and {chosen.name} has "
                f"{chosen.fingerprint}: search with --encoder {self.encoder}, or encode the library anew with "
                f"`mascot index --encoder {chosen.name} --again`"
            )
        if text is not None:
            return chosen.texts([text])[0]
        from mascot.photos.reading import picture_of_file

        vectors = chosen.pictures([picture_of_file(Path(like or ""))])[0]
        mean = vectors.mean(axis=0)
        return mean / max(float(np.linalg.norm(mean)), 1e-12)

    def hits(
        self,
        text: str | None = None,
        *,
        like: str | os.PathLike[str] | None = None,
        vector: NDArray[np.float32] | None = None,
        candidates: int | None = None,
        where: str | Sequence[str] | None = None,
        values: Sequence[Any] = (),
        encoder: str | Encoder | None = None,
    ) -> Hits:
        """The best matches of a text, a photograph or a vector of the library's space, by relevance alone.

        Without any of them, or with an empty text, all photographs, newest first and of equal relevance. There are
        5000 `candidates` unless given. `where` is an SQL expression over the columns of the
        library, or several that must all hold; `values` stand for the question marks.
        """
        require(candidates is None or candidates >= 1, "candidates", "must be >= 1", candidates)
        text = text if text and text.strip() else None
        nearest = self._open_nearest()
        if not len(nearest):
            none = f"the library {self.root} holds no photographs: add some and run `mascot index` again"
            raise InputError(self.unfinished or none)
        among = None if where is None else matching(self.store.path, where, values)
        candidates = candidates or CANDIDATES
        if text is None and like is None and vector is None:
            return self._newest(nearest, among, candidates)
        own = self._id_of(like)
        query = self.vector_of(text, like, encoder) if vector is None else vector
        ids, scores = nearest.search(query, candidates + (own is not None), among)
        photos = self.store.photos_there_are(ids.tolist())
        # Nobody looks for the photograph in hand; and another process may have removed one just now.
        stay = np.array([i != own and i in photos for i in ids.tolist()], bool)
        ids, scores = ids[stay][:candidates], scores[stay][:candidates]
        asked = text if text is not None else "" if like is None else f"like {as_text(str(like))}"
        return self._hits(nearest, asked, ids, photos, scores)

    def _newest(self, nearest: Nearest, among: NDArray[np.int64] | None, candidates: int) -> Hits:
        """All that may be found, newest first; nothing is asked for, so each is as good as the others."""
        ids = self.store.newest()
        ids = ids[np.isin(ids, nearest.ids if among is None else np.intersect1d(among, nearest.ids))]
        newest = ids[:candidates]
        photos = self.store.photos_there_are(newest.tolist())
        newest = newest[[i in photos for i in newest.tolist()]]  # another process may have removed one just now
        return self._hits(nearest, "", newest, photos, np.zeros(len(newest)), newest_of=len(ids))

    def _hits(
        self,
        nearest: Nearest,
        asked: str,
        ids: NDArray[np.int64],
        photos: Mapping[int, Photo],
        scores: NDArray[np.float64],
        newest_of: int | None = None,
    ) -> Hits:
        listed = ids.tolist()
        if not listed:
            empty = np.zeros((0, 1), np.float32)
            return Hits(self.root, asked, [], scores, empty, empty, newest_of)
        found = [photos[i] for i in listed]
        return Hits(self.root, asked, found, scores, nearest.vectors(ids), self.store.looks(listed), newest_of)

    def _id_of(self, like: str | os.PathLike[str] | None) -> int | None:
        if like is None:
            return None
        path = Path(like).resolve()
        if not path.is_relative_to(self.root) or not is_text(str(path)):
            return None
        query = "SELECT id FROM photos WHERE path = ?"
        row = self.store.connection.execute(query, (path.relative_to(self.root).as_posix(),)).fetchone()
        return None if row is None else int(row[0])

    def folder_named(self, name: str | os.PathLike[str]) -> str:
        """The folder a person means, as the library knows it: from its top, from where one stands, or absolute.

        What begins with a dot is taken from where one stands first.
        """
        said = os.fspath(name)
        places = [self.root, Path.cwd()]
        if said.startswith("."):
            places.reverse()
        for place in places:
            for path in (Path(os.path.abspath(place / said)), (place / said).resolve()):
                if path.is_relative_to(self.root) and self._holds(inner := path.relative_to(self.root).as_posix()):
                    return inner
        raise OptionError(f"the library {self.root} has no photographs in a folder {said!r}")

    def _holds(self, folder: str) -> bool:
        if not is_text(folder):
            return False
        query, values = within(folder)
        return (
            self.store.connection.execute(f"SELECT 1 FROM photos WHERE {query} LIMIT 1", values).fetchone() is not None
        )

    def search(
        self,
        text: str | None = None,
        wishes: mc.AnyWish | Sequence[mc.AnyWish] = (),
        k: int = 20,
        method: Method | None = None,
        *,
        like: str | os.PathLike[str] | None = None,
        candidates: int | None = None,
        where: str | Sequence[str] | None = None,
        values: Sequence[Any] = (),
        encoder: str | Encoder | None = None,
    ) -> Results:
        """Search and steer at once: the `hits`, then `rerank` of them. There are never fewer candidates than `k`."""
        require(candidates is None or candidates >= 1, "candidates", "must be >= 1", candidates)
        listed = [wishes] if isinstance(wishes, (mc.Wish, mc.Limit, mc.Share)) else list(wishes)
        most = max(candidates or CANDIDATES, k)
        hits = self.hits(text, like=like, candidates=most, where=where, values=values, encoder=encoder)
        return hits.rerank(listed, k, method)

    def spread(self, text: str, missing: str = "last") -> mc.Wish:
        """A wish for more of an attribute, in plain words: `place`, `hour`, `camera*2`."""
        return steering.wish(text, 1, self.store, missing)

    def place_meant(self, text: str) -> str | None:
        """The place that a wish as typed took a name for: `Cambridge, US`. None where that is plain or no name."""
        return steering.place_meant(text, self.store)

    def focus(self, text: str, missing: str = "last") -> mc.Wish:
        """A wish for less of it, or for what is near a value: `moment`, `hour=18`, `place=Lisbon`."""
        return steering.wish(text, -1, self.store, missing)
