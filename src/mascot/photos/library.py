"""A library: folders of photographs with an index, in `.mascot` inside the first one or elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot import words
from mascot.errors import InputError, OptionError, require
from mascot.photos import encodings, steering
from mascot.photos.blocks import DamagedIndex
from mascot.photos.choices import Choices
from mascot.photos.disks import is_full, write_failure
from mascot.photos.filters import Cancelled, SearchCancelled, matching, within
from mascot.photos.limits import Limits
from mascot.photos.looks import LOOK_SPACE, Looks
from mascot.photos.nearest import EXACT, Nearest, open_nearest
from mascot.photos.results import Hits, Results, check_choice, ids_before
from mascot.photos.store import FOLDER, DamagedLibrary, Store, UnknownPhoto, space_of
from mascot.photos.table import PhotoTable
from mascot.photos.texts import as_text, is_text, require_text
from mascot.photos.whereabouts import (
    DATABASE,
    confirm_folders,
    confirmed_folders,
    enclosing,
    index_of,
    name_of,
    remember,
    remembered,
)

if TYPE_CHECKING:
    from mascot.methods.base import Method
    from mascot.photos.encoders.encoder import Encoder
    from mascot.photos.indexer import Report, Summary

T = TypeVar("T")

CANDIDATES = 5000  # photographs that are re-ranked: all of a small library, else the best matches or the newest
_LOCK = "indexing.lock"
_VARIABLE = "MASCOT_LIBRARY"
_ROOT, _FOLDERS = "root", "folders"  # facts: the first folder if the index is elsewhere, and the added folders


class Library:
    """The photographs of a folder, or of several, ready to be searched.

    >>> with Library.open("Pictures") as library:  # doctest: +SKIP
    ...     library.index()
    ...     results = library.search("sunset over water", [library.spread("place"), library.focus("hour=18")])
    ...     print(results.paths)
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        device: str = "auto",
        exact: int = EXACT,
        index: str | os.PathLike[str] | None = None,
    ) -> None:
        root = Path(root)
        if index is None and not root.is_dir():
            raise InputError(f"a library is a folder of photographs, and there is no folder {root}")
        self.root = root.resolve()
        require_text(str(self.root), "the path of a library")
        self.folder = self.root / FOLDER if index is None else Path(index).resolve()
        self._is_confirmed = True  # whether this user, and not only the index, named the folder
        self._device = device  # where encoders run
        self.exact = exact  # photographs up to which every vector is compared
        self._nearest: Nearest | None = None
        self._looks: Nearest | None = None
        self._table: PhotoTable | None = None
        self._encoders: dict[str, Encoder] = {}

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str] | None = None,
        device: str = "auto",
        index: str | os.PathLike[str] | None = None,
    ) -> Library:
        """Open the library of a folder.

        Parameters
        ----------
        folder
            The folder of photographs, or the folder of an index elsewhere (default: that of `MASCOT_LIBRARY`, else the
            one around the current folder, else the last one indexed).
        device
            Where encoders run: `auto`, `cpu` or `cuda`.
        index
            Where the index is, if it is not in the folder itself (default: where `mascot index` wrote it).
        """
        if folder is None and index is None:
            folder = os.environ.get(_VARIABLE) or enclosing() or remembered()
        if folder is None and index is None:
            raise InputError(
                f"no library: name one with --library, set {_VARIABLE}, or make one with `mascot index FOLDER`"
            )
        if index is None:
            path = Path(folder or "").resolve()
            if (path / DATABASE).is_file() and path.name != FOLDER:
                folder, index = None, path
            elif not (path / FOLDER / DATABASE).is_file():
                index = index_of(path)
        is_named = folder is not None
        if folder is None and index is not None:
            folder = _root_of(Path(index))
        library = cls(folder or "", device, index=index)
        library._is_confirmed = is_named or index_of(library.root) == library.folder
        return library

    @property
    def is_elsewhere(self) -> bool:
        """Whether the index is not in the folder of the photographs."""
        return self.folder != self.root / FOLDER

    @property
    def location(self) -> Path:
        """The path by which commands name this library: its folder, or that of an index elsewhere."""
        return self.folder if self.is_elsewhere else self.root

    @property
    def folders(self) -> list[Path]:
        """All folders with photographs, the first one first."""
        return [self.root, *self._other_folders()]

    @property
    def confirmed_folders(self) -> list[Path]:
        """The folders that this user named here. A library from elsewhere may name any folder."""
        confirmed = confirmed_folders(self.folder)
        return [self.root, *(folder for folder in self._other_folders() if folder in confirmed)]

    def _other_folders(self) -> list[Path]:
        try:
            paths = json.loads(self.store.fact(_FOLDERS) or "[]")
        except ValueError:
            raise DamagedLibrary(self.store_path, "the list of folders") from None
        return [Path(path) for path in paths]

    def _set_folders(self, added: Sequence[str | os.PathLike[str]]) -> None:
        """Record the folders of the photographs, with those to add; refuse overlapping folders."""
        facts: dict[str, str] = {}
        if not self._is_confirmed:
            raise OptionError(
                f"this index names {self.root} and was not made here: if you mean that folder, "
                f"`mascot index {self.root} --index {self.folder}`"
            )
        confirmed = self.confirmed_folders[1:]
        if self.is_elsewhere:
            indexed_root = self.store.fact(_ROOT)
            if indexed_root not in (None, str(self.root)) and Path(indexed_root or "").is_dir():
                raise OptionError(
                    f"the index {self.folder} is of {indexed_root}: to add another folder, "
                    f"`mascot index {indexed_root} {self.root} --index {self.folder}`"
                )
            facts[_ROOT] = str(self.root)
        folders = self._other_folders()
        for folder in (Path(path).resolve() for path in added):
            confirmed.append(folder)
            if folder in (self.root, *folders):
                continue
            if not folder.is_dir():
                raise InputError(f"there is no folder {folder}")
            require_text(str(folder), "the path of a folder")
            for other in (self.root, *folders):
                if folder.is_relative_to(other) or other.is_relative_to(folder):
                    inner, outer = (folder, other) if folder.is_relative_to(other) else (other, folder)
                    raise OptionError(f"{inner} is inside {outer}: index {outer} alone, or folders beside each other")
            folders.append(folder)
        facts[_FOLDERS] = json.dumps([str(folder) for folder in folders])
        changed = {name: value for name, value in facts.items() if (self.store.fact(name) or "[]") != value}
        if changed:
            self.store.set_facts(changed)
        if added:
            confirm_folders(self.folder, dict.fromkeys(confirmed))

    def remove_folder(self, folder: str | os.PathLike[str]) -> int:
        """Forget an added folder and its photographs; return how many they were. No file is touched."""
        path = Path(os.path.abspath(folder))
        folders = self._other_folders()
        match = next((other for other in folders if other in (path, path.resolve())), None)
        if match is None:
            names = ", ".join(map(str, folders)) or "none"
            raise OptionError(f"{path} was not added to the library {self.root}: folders that were are {names}")
        condition, values = within(match.as_posix())
        with self.lock():
            remaining = [str(other) for other in folders if other != match]
            with self.store.writing() as connection:
                count = connection.execute(f"DELETE FROM photos WHERE {condition}", values).rowcount
            self.store.set_facts({_FOLDERS: json.dumps(remaining)})
            self._open_nearest(hurry=False)
        return int(count)

    def reopened(self) -> Library:
        """Open the same folder again, with the same options and encoders: its index may have been replaced."""
        library = type(self)(self.root, self._device, self.exact, self.folder if self.is_elsewhere else None)
        library._encoders = dict(self._encoders)
        return library

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        if "store" in self.__dict__:
            self.store.close()
            del self.__dict__["store"]
        self._nearest = self._looks = self._table = None

    @cached_property
    def store(self) -> Store:
        """The database, which exists once the folder has been indexed."""
        return Store(self.store_path)

    @property
    def choices(self) -> Choices:
        """The saved choices."""
        return Choices(self.folder, self.store)

    @property
    def store_path(self) -> Path:
        """The file of the database."""
        return self.folder / DATABASE

    # Indexing

    def index(
        self,
        encoder: str | Encoder | None = None,
        *,
        folders: Sequence[str | os.PathLike[str]] = (),
        prune: bool = False,
        again: bool = False,
        hidden: bool = False,
        follow_links: bool = False,
        max_megapixels: float = Limits.max_megapixels,
        max_megabytes: float = Limits.max_megabytes,
        max_seconds: float = Limits.max_seconds,
        max_memory_mb: float = Limits.max_memory_mb,
        report: Report | None = None,
    ) -> Summary:
        """Bring the library up to date with its folders.

        Parameters
        ----------
        encoder
            How to encode (default: the library's own, `lite` for a new one). Another encoder than the library's own is
            refused without `again`, before anything is downloaded; searches use the old one until all photographs are
            encoded. Only an encoder that is named here may be downloaded.
        folders
            Folders to add to the library; those added before stay in it.
        prune
            Remove photographs whose files are gone.
        again
            Read and encode everything again.
        hidden
            Also look into hidden files and folders.
        follow_links
            Also follow links that lead out of the folder.
        max_megapixels, max_megabytes, max_seconds, max_memory_mb
            Limits on one file: pixels, size, CPU time and memory for decoding. A file beyond them is skipped, and
            not tried again until it or the limits change.
        report
            Called with the current step, the items done, and their total (0: unknown).
        """
        from mascot.photos.indexer import Indexer

        limits = Limits(max_megapixels, max_megabytes, max_seconds, max_memory_mb)
        self._make_folder()
        with self.lock(report):
            if "store" not in self.__dict__:
                self.__dict__["store"] = Store(self.store_path, create=True)
            self._set_folders(folders)
            model = self._encoder_for_index(encoder, again)
            encoding = encodings.begin(self.store, model, again)
            summary = Indexer(
                self.folders,
                self.store,
                model,
                encoding.stamp,
                confirmed={*self.confirmed_folders, *(Path(path).resolve() for path in folders)},
                prune=prune,
                hidden=hidden,
                follow_links=follow_links,
                limits=limits,
                report=report,
            ).run()
            encodings.finish(self.store, encoding)
            self._open_nearest(report, hurry=False)
            self._open_looks()
        remember(self.root, self.folder if self.is_elsewhere else None)
        return summary

    def _make_folder(self) -> None:
        if self.is_elsewhere and not (self.folder / _LOCK).exists() and self._is_occupied():
            raise InputError(f"--index {self.folder} holds other files: name a new or empty folder for the index")
        try:
            self.folder.mkdir(parents=self.is_elsewhere, exist_ok=True)
            # Version control need not track what can be rebuilt.
            (self.folder / ".gitignore").write_text("*\n", "utf-8")
        except OSError as error:
            if is_full(error):
                raise InputError(write_failure(self.folder, error)) from None
            remedy = "" if self.is_elsewhere else "; --index DIR writes it elsewhere"
            raise InputError(f"cannot write the index to {self.folder}: {error.strerror}{remedy}") from None

    def _is_occupied(self) -> bool:
        """Return whether the folder of the index contains files but no index."""
        try:
            return bool(os.listdir(self.folder)) and not self.store_path.is_file()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise InputError(f"cannot write the index to {self.folder}: {error.strerror}") from None

    @contextmanager
    def lock(self, report: Report | None = None) -> Iterator[None]:
        """Let one process at a time write; others wait. The lock is released even if its process is killed."""
        import filelock

        lock = filelock.FileLock(self.folder / _LOCK, timeout=0.5)
        while True:
            try:
                lock.acquire()
                break
            except filelock.Timeout:
                if report is not None:
                    report("waiting for another process to finish indexing", 0, 0)
            except (OSError, NotImplementedError) as error:
                raise InputError(f"cannot lock the index with {self.folder / _LOCK}: {error}") from None
        try:
            yield
        finally:
            lock.release()

    def _encoder_for_index(self, encoder: str | Encoder | None, again: bool) -> Encoder:
        if encoder is not None and not isinstance(encoder, str):
            return self._open_encoder(encoder)
        name = encodings.check_change(self.store, encoder, again)
        return self._named_encoder(name) if encoder is None else self._open_encoder(name)

    # Searching

    @property
    def encoder(self) -> str:
        """The encoder that this library was indexed with."""
        return self.store.fact("encoder") or "lite"

    @property
    def notice(self) -> str | None:
        """A message to the user about the encoder of this library, or None."""
        return self.words_only or self._named_encoder(self.encoder).notice

    @property
    def words_only(self) -> str | None:
        """A message with a remedy if photographs were encoded by their words only and some have none."""
        encoding = encodings.serving(self.store)
        if encoding is None or encoding.encoder != "lite" or encoding.sees:
            return None
        wordless, photos = self.store.count_wordless(), self.store.count()
        if not wordless:
            return None
        from mascot.photos.encoders.lite import sight_command

        return (
            f"searching words only: {wordless:,} of {photos:,} photographs have none; "
            f"to search by what is in the picture: {sight_command()}"
        )

    def _open_encoder(self, encoder: str | Encoder, offline: bool = False) -> Encoder:
        if not isinstance(encoder, str):
            self._encoders[encoder.name] = encoder  # an object of the user: it cannot be opened by its name
            return encoder
        if encoder not in self._encoders:
            from mascot.photos.encoders import open_encoder

            self._encoders[encoder] = open_encoder(encoder, device=self._device, offline=offline)
        return self._encoders[encoder]

    def _named_encoder(self, name: str) -> Encoder:
        """Return the encoder that the library names. A library may come from anywhere: it cannot start a download."""
        if name in self._encoders:
            return self._encoders[name]
        folder = Path(name.partition(":")[2])
        if folder.is_absolute() and folder.resolve().is_relative_to(self.root):
            raise OptionError(
                f"this library names a model inside its own folder: if you trust it, add --encoder {name}"
            )
        try:
            return self._open_encoder(name, offline=True)
        except InputError as error:
            raise InputError(f"{error} A library alone does not start a download: --encoder {name} does") from None

    @property
    def unfinished(self) -> str | None:
        """A message while not all photographs can be searched, or a change of encoder is unfinished."""
        next_encoding = encodings.replacement(self.store)
        photos = self.store.count()
        if next_encoding is not None:
            count = self.store.count_vectors(next_encoding.fingerprint)
            return (
                f"{count} of {photos} photographs are encoded with {next_encoding.encoder} so far, and searches use "
                f"{self.encoder} until all are: `mascot index` continues"
            )
        encoded = len(self._open_nearest())
        if encoded >= photos:
            return None
        return (
            f"{encoded} of {photos} photographs are encoded with {self.encoder} so far, and only these are found: "
            "`mascot index` encodes the others"
        )

    @property
    def state(self) -> int:
        """The number of changes of the library that a search includes."""
        return self._open_nearest().changes

    @property
    def _likes_by_look(self) -> bool:
        """Whether "more like this" compares looks: the vectors of `lite` are made of words."""
        return self.encoder == "lite"

    def _open_looks(self, rebuild: bool = False) -> Nearest:
        if rebuild or self._looks is None or self._looks.changes != self.store.changes:
            folder, source = self.folder / "looks", Looks(self.store)
            self._looks = open_nearest(folder, source, LOOK_SPACE, self.exact, hurry=True, rebuild=rebuild)
        return self._looks

    def _open_nearest(self, report: Report | None = None, hurry: bool = True, rebuild: bool = False) -> Nearest:
        if rebuild or self._nearest is None or self._nearest.changes != self.store.changes:
            progress: Callable[[int, int], None] | None = None
            if report is not None:
                progress = lambda count, total: report("arranging vectors", count, total)  # noqa: E731
            self._nearest = open_nearest(
                self.folder, self.store, space_of(self.store), self.exact, progress, hurry=hurry, rebuild=rebuild
            )
        return self._nearest

    def _open_table(self) -> PhotoTable:
        if self._table is None or self._table.changes != self.store.changes:
            self._table = PhotoTable(self.store, self._looks_of)
        return self._table

    def _looks_of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return visual descriptors: from the index of looks if it has all of these, else from the database."""
        try:
            looks = self._open_looks()
            if looks.contains(ids).all():
                return looks.rows(ids)[:, 0]
        except DamagedIndex:
            self._open_looks(rebuild=True)
        return self.store.looks(ids.tolist())

    def _vectors_of(self, nearest: Nearest, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        try:
            return nearest.vectors(ids)
        except DamagedIndex:
            repaired = self._open_nearest(rebuild=True)
        if not repaired.contains(ids).all():
            raise InputError("the library changed while it was read: search again")
        return repaired.vectors(ids)

    def rebuild_index(self) -> int:
        """Build the vector index from the database, and return how many photographs it holds."""
        return len(self._open_nearest(hurry=False, rebuild=True))

    def _with_nearest(self, query: Callable[[Nearest], T]) -> T:
        """Query the vector index; if it is damaged, rebuild it from the database and query again."""
        try:
            return query(self._open_nearest())
        except DamagedIndex:
            return query(self._open_nearest(rebuild=True))

    def vector_of(
        self,
        text: str | None = None,
        like: str | os.PathLike[str] | None = None,
        encoder: str | Encoder | None = None,
    ) -> NDArray[np.float32]:
        """Return the query vector of a text, or of a photograph."""
        if (text is None) == (like is None):
            raise OptionError("a search takes a text or a photograph to be like, and not both")
        require_text(text or "", "the text to search for")
        id_ = self.id_of(like)
        if id_ is not None and id_ in self._open_nearest():
            return self._with_nearest(lambda nearest: nearest.vectors(np.array([id_]))[0])
        model = self._open_encoder(encoder) if encoder is not None else self._named_encoder(self.encoder)
        fingerprint = self.store.fact("fingerprint")
        if model.fingerprint != fingerprint:
            raise OptionError(
                f"this library was encoded with {self.encoder} (fingerprint {fingerprint}), and {model.name} has "
                f"{model.fingerprint}: search with --encoder {self.encoder}, or encode the library anew with "
                f"`mascot index --encoder {model.name} --again`"
            )
        if text is not None:
            return model.texts([text])[0]
        from mascot.photos.reading import picture_of_file

        vectors = model.pictures([picture_of_file(Path(like or ""))])[0]
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
        cancelled: Cancelled | None = None,
    ) -> Hits:
        """Return the best matches of a text, a photograph or a vector of the library's space, by relevance alone.

        Without any of them, or with an empty text, all photographs match equally, newest first.

        Parameters
        ----------
        candidates
            How many (default: 5000).
        where
            An SQL expression over the columns of the library, or several that must all hold.
        values
            The values of the question marks in `where`.
        cancelled
            Polled during the search; when it returns True, `SearchCancelled` is raised.
        """
        require(candidates is None or candidates >= 1, "candidates", "must be >= 1", candidates)
        text = text if text and text.strip() else None
        if not len(self._open_nearest()):
            empty = f"the library {self.root} holds no photographs: add some and run `mascot index` again"
            raise InputError(self.unfinished or empty)
        allowed = None if where is None else matching(self.store.path, where, values, cancelled)
        candidates = candidates or CANDIDATES
        if text is None and like is None and vector is None:
            return self._with_nearest(lambda nearest: self._newest(nearest, allowed, candidates))
        like_id = self.id_of(like)
        by_look = like is not None and text is None and encoder is None and self._likes_by_look
        if like is not None and by_look:
            query = self._look_of(like, like_id)
        else:
            query = self.vector_of(text, like, encoder) if vector is None else vector
        if cancelled is not None and cancelled():
            raise SearchCancelled("the search was cancelled")
        label = text if text is not None else "" if like is None else f"like {as_text(str(like))}"
        return self._with_nearest(
            lambda nearest: self._matches(nearest, label, query, allowed, candidates, like_id, by_look)
        )

    def hits_like(self, id_: int, *, candidates: int = CANDIDATES, where: str | None = None) -> Hits:
        """Return the photographs most similar to one of the library, whose file may be missing.

        Photographs are compared by their look if the encoder is `lite`, otherwise by their vectors.
        """
        path, by_look = self.store.photo(id_).path, self._likes_by_look
        allowed = None if where is None else matching(self.store.path, where, ())

        def matches(nearest: Nearest) -> Hits:
            if id_ not in nearest:
                raise InputError(f"photograph {id_} is not encoded: run `mascot index` again")
            query = self.store.looks([id_])[0] if by_look else nearest.vectors(np.array([id_]))[0]
            return self._matches(nearest, f"like {path}", query, allowed, candidates, id_, by_look)

        return self._with_nearest(matches)

    def hits_of(self, ids: Iterable[int]) -> Hits:
        """Return these photographs, all equally relevant, in the order of their ids."""
        distinct = np.array(sorted(set(ids)), np.int64)
        for id_ in distinct[~self._open_table().contains(distinct)].tolist():
            raise UnknownPhoto(id_)

        def hits_of_ids(nearest: Nearest) -> Hits:
            for id_ in distinct.tolist():
                if id_ not in nearest:
                    raise InputError(f"photograph {id_} is not encoded: run `mascot index` again")
            return self._hits(nearest, "", distinct, np.zeros(len(distinct)), len(distinct))

        return self._with_nearest(hits_of_ids)

    def _matches(
        self,
        nearest: Nearest,
        label: str,
        query: NDArray[np.float32],
        allowed: NDArray[np.int64] | None,
        candidates: int,
        excluded: int | None,
        by_look: bool = False,
    ) -> Hits:
        count = candidates + (excluded is not None)
        if by_look:
            searchable = nearest.ids if allowed is None else np.intersect1d(allowed, nearest.ids)
            ids, scores = self._search_looks(query, count, searchable)
        else:
            ids, scores = nearest.search(query, count, allowed)
        # The photograph itself is not a result; and another process may have removed one meanwhile.
        is_result = self._open_table().contains(ids) & (ids != (-1 if excluded is None else excluded))
        return self._hits(nearest, label, ids[is_result][:candidates], scores[is_result][:candidates])

    def _look_of(self, like: str | os.PathLike[str], id_: int | None) -> NDArray[np.float32]:
        if id_ is not None:
            return self.store.looks([id_])[0]
        from mascot.photos.reading import look_of_file

        return look_of_file(Path(like))

    def _search_looks(
        self, look: NDArray[np.float32], count: int, allowed: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Search by look; rebuild a damaged index of looks."""
        try:
            return self._open_looks().search(look, count, allowed)
        except DamagedIndex:
            return self._open_looks(rebuild=True).search(look, count, allowed)

    def _newest(self, nearest: Nearest, allowed: NDArray[np.int64] | None, candidates: int) -> Hits:
        """Return all matching photographs, newest first; without a query they are equally relevant."""
        ids = self.store.newest()
        ids = ids[np.isin(ids, nearest.ids if allowed is None else np.intersect1d(allowed, nearest.ids))]
        newest = ids[:candidates]
        newest = newest[self._open_table().contains(newest)]  # another process may have removed one meanwhile
        return self._hits(nearest, "", newest, np.zeros(len(newest)), newest_of=len(ids))

    def _hits(
        self,
        nearest: Nearest,
        label: str,
        ids: NDArray[np.int64],
        scores: NDArray[np.float64],
        newest_of: int | None = None,
    ) -> Hits:
        vectors = partial(self._vectors_of, nearest)
        return Hits(self.root, label, ids, scores, self._open_table(), vectors, newest_of)

    def id_of(self, path: str | os.PathLike[str] | None) -> int | None:
        """Return the id of the photograph with that path; None if there is none."""
        if path is None:
            return None
        path = Path(path).resolve()
        if not is_text(str(path)):
            return None
        query = "SELECT id FROM photos WHERE path = ?"
        row = self.store.connection.execute(query, (name_of(self.root, path),)).fetchone()
        return None if row is None else int(row[0])

    def folder_named(self, name: str | os.PathLike[str]) -> str:
        """Return the name of a folder in the library, from a path relative to its root or to the current folder.

        A name that begins with a dot is first tried relative to the current folder.
        """
        text = os.fspath(name)
        places = [self.root, Path.cwd()]
        if text.startswith("."):
            places.reverse()
        for place in places:
            for path in (Path(os.path.abspath(place / text)), (place / text).resolve()):
                if self._holds(name := name_of(self.root, path)):
                    return name
        raise OptionError(f"the library {self.root} has no photographs in a folder {text!r}")

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
        cancelled: Cancelled | None = None,
        already: Results | Iterable[int] | None = None,
        stacks: bool = True,
        pin: Iterable[int] = (),
        reject: Iterable[int] = (),
    ) -> Results:
        """Search and re-rank: `hits`, then their `rerank`. There are at least `k` candidates that are not `already`.

        With `stacks` one photograph represents all shots of a burst and all copies of a picture. The photographs with
        the ids `pin` come first, whether they match or not, and the results complete them. Those of `reject` are never
        results.
        """
        pinned, rejected = list(dict.fromkeys(pin)), set(reject)
        check_choice(pinned, rejected)
        require(candidates is None or candidates >= 1, "candidates", "must be >= 1", candidates)
        wish_list = [wishes] if isinstance(wishes, (mc.Wish, mc.Limit, mc.Share)) else list(wishes)
        shown_ids = ids_before(already)
        count = max(candidates or CANDIDATES, k + len({*(shown_ids or ()), *rejected}))

        def results() -> Results:
            hits = self.hits(
                text, like=like, candidates=count, where=where, values=values, encoder=encoder, cancelled=cancelled
            )
            hits = hits.around(self.hits_of(pinned) if pinned else None, rejected)
            if stacks:
                hits = hits.stacked(self.store.detail, [*(shown_ids or ()), *pinned])
            return hits.rerank(wish_list, k, method, shown_ids, pinned)

        try:
            return results()
        except UnknownPhoto:  # another process has removed a result meanwhile, or the id of a pin is wrong
            return results()

    def spread(self, text: str, missing: str = "last") -> mc.Wish:
        """Parse a wish for more diversity of an attribute: `place`, `hour`, `camera*2`."""
        return steering.build_wish(*words.split(text), 1, self.store, missing)

    def place_meant(self, text: str) -> str | None:
        """Return the place that a name in a wish means: `Cambridge, US`. None if it is obvious or not a name."""
        return steering.place_meant(text, self.store)

    def focus(self, text: str, missing: str = "last") -> mc.Wish:
        """Parse a wish for less diversity, or for values near another one: `moment`, `hour=18`, `place=Lisbon~50`."""
        return steering.build_wish(*words.split(text), -1, self.store, missing)

    def limit(self, text: str, fill: bool = False) -> mc.Limit:
        """Parse a limit on results per value: `city=1`, `date=2`; see `mascot.limit`."""
        return steering.build_limit(*words.split_limit(text), fill)

    def share(self, text: str) -> mc.Share:
        """Parse target shares of values: `country=Portugal:60%,ES:40%`; see `mascot.share`."""
        return steering.build_share(*words.split_share(text), self.store)


def _root_of(index: Path) -> Path:
    """Return the first folder of an index that is elsewhere."""
    store = Store(index / DATABASE)
    try:
        root = store.fact(_ROOT)
    finally:
        store.close()
    if root is None:
        raise InputError(f"{index} does not say which folder it is the index of: `mascot index FOLDER --index {index}`")
    return Path(root)
