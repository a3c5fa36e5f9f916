"""A library: folders of photographs with an index, in `.mascot` inside the first one or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mascot import grammar
from mascot.attributes.attribute import Missing
from mascot.errors import InputError, OptionError, require
from mascot.photos import locations
from mascot.photos.database import encodings
from mascot.photos.database.filters import Cancelled, SearchCancelled, matching
from mascot.photos.database.store import FOLDER, DamagedLibrary, Store, UnknownPhoto, is_full, write_failure
from mascot.photos.files.decode_limits import Limits
from mascot.photos.files.texts import as_text, is_text, require_text
from mascot.photos.request import CANDIDATES, K, SearchRequest
from mascot.photos.results import BEST_FIRST, Hits, Results, ids_before
from mascot.photos.search import PhotoSearch
from mascot.photos.sentences import Chip, Understanding, Vocabulary, parse
from mascot.photos.sentences.vocabulary import remember_city_names
from mascot.photos.sharing.choices import Choices
from mascot.photos.wish_text import PhotoResolver, StoredRows, place_meant, wish_of
from mascot.wishes import AnyWish, Limit, Share, Wish

if TYPE_CHECKING:
    from mascot.methods.method import Method
    from mascot.photos.encoders.encoder import Encoder, Report
    from mascot.photos.indexing.indexer import Summary

_Path = str | os.PathLike[str]

_LOCK = "indexing.lock"
_VARIABLE = "MASCOT_LIBRARY"


class Library(AbstractContextManager["Library"]):
    """The photographs of a folder, or of several, ready to be searched.

    >>> with Library.open("Pictures") as library:  # doctest: +SKIP
    ...     library.index()
    ...     results = library.search("sunset over water", [library.spread("place"), library.focus("hour=18")])
    ...     print(results.paths)
    """

    def __init__(self, root: _Path, device: str = "auto", index: _Path | None = None) -> None:
        root = Path(root)
        if index is None and not root.is_dir():
            raise InputError(f"there is no folder {root}: a library is a folder of photographs")
        self.root = root.resolve()
        require_text(str(self.root), "the path of a library")
        self.folder = self.root / FOLDER if index is None else Path(index).resolve()
        self._is_confirmed = True  # whether this user, and not only the index, named the folder
        self._encoders = encodings.LibraryEncoders(self.root, device)
        self._vocabulary: tuple[int, Vocabulary | None] = (0, None)  # and the number of changes it belongs to

    @classmethod
    def open(cls, folder: _Path | None = None, device: str = "auto", index: _Path | None = None) -> Library:
        """Open the library of a folder.

        Parameters
        ----------
        folder
            The folder of photographs, or the folder of an index elsewhere (default: `MASCOT_LIBRARY`, or the library
            that contains the current folder, or the library that was indexed last).
        device
            Where encoders run: `auto`, `cpu` or `cuda`.
        index
            Where the index is, if it is not in the folder itself (default: where `mascot index` wrote it).
        """
        if folder is None and index is None:
            folder = os.environ.get(_VARIABLE) or locations.enclosing() or locations.remembered()
            if folder is None:
                raise InputError(
                    f"no library: name one with --library, set {_VARIABLE}, or make one with `mascot index FOLDER`"
                )
        if index is None:
            path = Path(folder or "").resolve()
            if (path / locations.DATABASE).is_file() and path.name != FOLDER:
                folder, index = None, path
            elif not (path / FOLDER / locations.DATABASE).is_file():
                index = locations.index_of(path)
        library = cls(_root_of(Path(index or "")) if folder is None else folder, device, index=index)
        library._is_confirmed = folder is not None or locations.index_of(library.root) == library.folder
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
        return [self.root, *self._folders.added()]

    @property
    def confirmed_folders(self) -> list[Path]:
        """The folders that the user of this machine added. A library from another machine may name any folder."""
        return [self.root, *self._folders.confirmed()]

    @property
    def _folders(self) -> locations.Folders:
        return locations.Folders(self.root, self.folder, self.store)

    def remove_folder(self, folder: _Path) -> int:
        """Remove an added folder and its photographs from the library; return their number. No file is touched."""
        folders = self._folders
        with self.lock():
            count = folders.remove(folder)
            self._photos.open_nearest()
        return count

    def reopened(self) -> Library:
        """Open the same folder again, with the same options and encoders: its index may have been replaced."""
        library = type(self)(self.root, self._encoders.device, self.folder)
        library._encoders.opened.update(self._encoders.opened)
        return library

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        store: Store | None = self.__dict__.pop("store", None)
        self.__dict__.pop("_photos", None)
        if store is not None:
            store.close()

    @cached_property
    def store(self) -> Store:
        """The database, which exists once the folder has been indexed."""
        locations.refuse_links(self.folder)
        return Store(self.store_path)

    @cached_property
    def _photos(self) -> PhotoSearch:
        return PhotoSearch(self.root, self.folder, self.store)

    @property
    def choices(self) -> Choices:
        locations.refuse_links(self.folder)
        return Choices(self.folder, self.store)

    @property
    def store_path(self) -> Path:
        return self.folder / locations.DATABASE

    def index(
        self,
        encoder: str | Encoder | None = None,
        *,
        folders: Sequence[_Path] = (),
        prune: bool = False,
        again: bool = False,
        text: bool = False,
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
            How to encode (default: the library's own, `lite` for a new one). Another one is refused without `again`,
            before anything is downloaded, and used for searches once all photographs are encoded. Only an encoder
            that is named here may be downloaded.
        folders
            Folders to add to the library; those added before stay in it.
        prune, again
            Remove photographs whose files are gone; read and encode everything again, into a new database if the old
            one is damaged.
        text
            Also read the text in photographs that was not read before, such as signs and receipts. Needs the extra
            `ocr`.
        hidden, follow_links
            Also look into hidden files and folders; also follow links that lead out of the folder.
        max_megapixels, max_megabytes, max_seconds, max_memory_mb
            Limits on one file: pixels, size, CPU time and memory for decoding. A file beyond them is skipped, and
            not tried again until it or the limits change.
        report
            Called with the current step, the items done, and their total (0: unknown).
        """
        from mascot.photos.indexing.indexer import Indexer
        from mascot.photos.indexing.library_sink import LibrarySink
        from mascot.photos.indexing.text_reading import TextReader, read_texts

        limits = Limits(max_megapixels, max_megabytes, max_seconds, max_memory_mb)
        text_reader = TextReader() if text else None
        self._make_folder()
        with self.lock(report):
            if again and self.store_path.is_file():
                encoder, folders = self._set_aside_if_damaged(encoder, folders)
            if "store" not in self.__dict__:
                self.__dict__["store"] = Store(self.store_path, create=True)
            if not self._is_confirmed:
                raise OptionError(
                    f"this index names {self.root} and was not made here: if you mean that folder, "
                    f"`mascot index {self.root} --index {self.folder}`"
                )
            self._folders.add(folders)
            model = self._encoders.for_index(self.store, encoder, again)
            encoding = encodings.begin(self.store, model, again)
            confirmed = {*self.confirmed_folders, *(Path(path).resolve() for path in folders)}
            sink = LibrarySink(self.store, self.folders, encoding.stamp, limits, getattr(model, "uses_words", False))
            summary = Indexer(
                self.folders, sink, model, limits, confirmed=confirmed, prune=prune, hidden=hidden,
                follow_links=follow_links, report=report,
            ).run()  # fmt: skip
            encodings.finish(self.store, encoding)
            remember_city_names(self.store)
            if text_reader is not None:
                texts = read_texts(self.store, self.root, confirmed, limits, text_reader, report)
                summary = replace(summary, texts=texts)
            self._photos.open_nearest()
            self._photos.open_nearest(by_look=True)
        locations.remember(self.root, self.folder if self.is_elsewhere else None)
        return summary

    def _set_aside_if_damaged(
        self, encoder: str | Encoder | None, folders: Sequence[_Path]
    ) -> tuple[str | Encoder | None, Sequence[_Path]]:
        """Rename a damaged database; return encoder and folders of the new one: the same, if they can be read."""
        try:
            self._check_database()
        except DamagedLibrary:
            with suppress(DamagedLibrary):
                folders = [*self._folders.confirmed(), *folders]
                encoder = self._encoders.named(self.encoder) if encoder is None else encoder
            self.close()
            for ending in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    os.replace(f"{self.store_path}{ending}", f"{self.folder / locations.DAMAGED}{ending}")
            for path in self.folder.rglob("nearest-*"):  # the new database counts its changes from zero
                path.unlink()
        return encoder, folders

    def check(self) -> None:
        """Raise `InputError`, which names the remedy, if the database or the saved choices are damaged."""
        self._check_database()
        self.choices.all()

    def _check_database(self) -> None:
        self.store.check()
        encodings.serving(self.store)
        encodings.replacement(self.store)
        self._folders.added()

    def _make_folder(self) -> None:
        locations.refuse_links(self.folder)
        try:
            is_new = self.is_elsewhere and not (self.folder / _LOCK).exists() and self.folder.exists()
            if is_new and os.listdir(self.folder) and not self.store_path.is_file():
                raise InputError(f"--index {self.folder} holds other files: name a new or empty folder for the index")
            self.folder.mkdir(parents=self.is_elsewhere, exist_ok=True)
            # Version control need not track what can be rebuilt.
            (self.folder / ".gitignore").write_text("*\n", "utf-8")
        except OSError as error:
            if is_full(error):
                raise InputError(write_failure(self.folder, error)) from None
            remedy = "" if self.is_elsewhere else "; --index DIR writes it elsewhere"
            raise InputError(f"cannot write the index to {self.folder}: {error.strerror}{remedy}") from None

    @contextmanager
    def lock(self, report: Report | None = None) -> Iterator[None]:
        """Let one process at a time write; others wait. The lock is released even if its process is killed."""
        import filelock

        lock = filelock.FileLock(self.folder / _LOCK, timeout=0.5)
        while not lock.is_locked:
            try:
                lock.acquire()
            except filelock.Timeout:
                if report is not None:
                    report("waiting for another process to finish indexing", 0, 0)
            except (OSError, NotImplementedError) as error:
                raise InputError(f"cannot lock the index with {self.folder / _LOCK}: {error}") from None
        try:
            yield
        finally:
            lock.release()

    @property
    def encoder(self) -> str:
        """The encoder that this library was indexed with."""
        return self.store.fact("encoder") or "lite"

    @property
    def notice(self) -> str | None:
        """A message to the user about the encoder of this library, or None."""
        return self.words_only or self._encoders.named(self.encoder).notice

    @property
    def words_only(self) -> str | None:
        """A message with a remedy if only the words of photographs were encoded, and some photographs have none."""
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

    @property
    def unfinished(self) -> str | None:
        """A message while not all photographs can be searched, or a change of encoder is unfinished."""
        next_encoding, photos = encodings.replacement(self.store), self.store.count()
        if next_encoding is not None:
            count, encoder = self.store.count_vectors(next_encoding.fingerprint), next_encoding.encoder
            state = f"searches use {self.encoder} until all are: `mascot index` continues"
        else:
            count, encoder = len(self._photos.open_nearest()), self.encoder
            state = "only these are found: `mascot index` encodes the others"
            if count >= photos:
                return None
        return f"{count} of {photos} photographs are encoded with {encoder} so far, and {state}"

    @property
    def state(self) -> int:
        """The number of changes to the library that searches take into account."""
        return self._photos.open_nearest().changes

    def vector_of(
        self, text: str | None = None, like: _Path | None = None, encoder: str | Encoder | None = None
    ) -> NDArray[np.float32]:
        """Return the query vector of a text, or of a photograph."""
        if (text is None) == (like is None):
            raise OptionError("a search takes a text or like (a photograph), not both")
        require_text(text or "", "the text to search for")
        id_ = self.id_of(like)
        if id_ is not None and id_ in self._photos.open_nearest().ids:
            return self._photos.vector(id_)
        model = self._encoders.open(encoder) if encoder is not None else self._encoders.named(self.encoder)
        fingerprint = self.store.fact("fingerprint")
        if model.fingerprint != fingerprint:
            raise OptionError(
                f"this library was encoded with {self.encoder} (fingerprint {fingerprint}), and {model.name} has "
                f"{model.fingerprint}: search with --encoder {self.encoder}, or encode the library anew with "
                f"`mascot index --encoder {model.name} --again`"
            )
        from mascot.photos.files.reading import query_vector

        return query_vector(model, text, like)

    def hits(
        self,
        text: str | None = None,
        *,
        like: int | _Path | None = None,
        vector: NDArray[np.float32] | None = None,
        candidates: int | None = None,
        where: str | Sequence[str] | None = None,
        values: Sequence[Any] = (),
        encoder: str | Encoder | None = None,
        cancelled: Cancelled | None = None,
        best: bool = False,
    ) -> Hits:
        """Return the best matches of a text, a photograph or a vector of the library's space, by relevance alone.

        Without any of them, or with an empty text, all photographs match equally, newest first.

        Parameters
        ----------
        like
            The id or the path of a photograph. The file of a photograph in the library may be missing. Photographs are
            compared by their look if the encoder is `lite`, otherwise by their vectors.
        candidates
            Number of matches to return (default: 5000).
        where, values
            SQL conditions on the columns of the library, all of which must hold, and the values of their placeholders.
        cancelled
            Polled during the search; when it returns True, `SearchCancelled` is raised.
        best
            Without a query, whether those of the highest quality come first, and not the newest (default: False).
        """
        require(candidates is None or candidates >= 1, "candidates", "must be >= 1", candidates)
        text = text if text and text.strip() else None
        if not len(self._photos.open_nearest()):
            empty = f"the library {self.root} holds no photographs: add some and run `mascot index` again"
            raise InputError(self.unfinished or empty)
        allowed = None if where is None else matching(self.store.path, where, values, cancelled)
        candidates = candidates or CANDIDATES
        if text is None and like is None and vector is None:
            return self._photos.newest(allowed, candidates, *([BEST_FIRST] if best else []))
        like_id = like if isinstance(like, int) else self.id_of(like)
        path = self.store.photo(like_id).path if like_id is not None else as_text(str(like))
        by_look = like is not None and text is None and encoder is None and self.encoder == "lite"
        if isinstance(like, int):
            query = self._photos.vector(like, by_look)
        elif like is not None and by_look:  # the vectors of `lite` are made of words
            from mascot.photos.files.reading import read_file

            query = read_file(Path(like)).look if like_id is None else self.store.looks([like_id])[0]
        else:
            query = self.vector_of(text, like, encoder) if vector is None else vector
        if cancelled is not None and cancelled():
            raise SearchCancelled("the search was cancelled")
        label = text if text is not None else "" if like is None else f"like {path}"
        return self._photos.matches(label, query, allowed, candidates, like_id, by_look, text)

    def hits_of(self, ids: Iterable[int]) -> Hits:
        """Return these photographs, all equally relevant, in the order of their ids."""
        return self._photos.of_ids(ids)

    def id_of(self, path: _Path | None) -> int | None:
        """Return the id of the photograph with that path; None if there is none."""
        if path is None:
            return None
        path = Path(path).resolve()
        if not is_text(str(path)):
            return None
        name = locations.name_of(self.root, path)
        row = self.store.connection.execute("SELECT id FROM photos WHERE path = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def folder_named(self, name: _Path) -> str:
        """Return the name of a folder in the library, from a path relative to its root or to the current folder.

        A name that begins with a dot is first tried relative to the current folder.
        """
        return self._folders.named(os.fspath(name))

    def search(
        self,
        request: SearchRequest | str | None = None,
        wishes: AnyWish | Sequence[AnyWish] = (),
        k: int = K,
        method: Method | None = None,
        *,
        like: int | _Path | None = None,
        candidates: int | None = None,
        already: Results | Iterable[int] | None = None,
        stacks: bool = True,
        pin: Iterable[int] = (),
        reject: Iterable[int] = (),
        where: str | Sequence[str] | None = None,
        values: Sequence[Any] = (),
        encoder: str | Encoder | None = None,
        cancelled: Cancelled | None = None,
    ) -> Results:
        """Search the library and steer the results: call `candidates`, then `steer`.

        Parameters
        ----------
        request
            A `SearchRequest`; or its text, with the other fields as arguments.
        wishes, k, method, like, candidates, already, stacks, pin, reject
            Fields of the request, if it is not a `SearchRequest`.
        where, values, encoder, cancelled
            As for `hits`.
        """
        fields: dict[str, Any] = {
            "wishes": wishes, "k": k, "method": method or "mascot", "like": like, "candidates": candidates,
            "already": tuple(ids_before(already) or ()), "stacks": stacks, "pin": tuple(pin), "reject": tuple(reject),
        }  # fmt: skip
        if not isinstance(request, SearchRequest):
            request = SearchRequest(request, **fields)
        elif SearchRequest(**fields) != SearchRequest():
            raise OptionError("search takes a SearchRequest, or a text and the other fields, and not both")

        def results(request: SearchRequest) -> Results:
            hits = self.candidates(request, where=where, values=values, encoder=encoder, cancelled=cancelled)
            return self.steer(hits, request)

        try:
            return results(request)
        except UnknownPhoto:  # another process has removed a result meanwhile, or the id of a pin is wrong
            return results(request)

    def understand(self, sentence: str, today: date | None = None) -> Understanding:
        """Return which parts of a sentence are filters, limits and wishes, and which words are left to search for.

        >>> with Library.open("Pictures") as library:  # doctest: +SKIP
        ...     understood = library.understand("boats in Portugal at dusk, one per year")
        ...     results = library.search(understood.request())

        The sentence is English or German; what stands in double quotes is searched for as it is. `today` is the day to
        which `last summer` refers (default: the current one).
        """
        require_text(sentence, "the text to search for")
        changes, vocabulary = self._vocabulary
        if vocabulary is None or changes != self.store.changes:
            changes, vocabulary = self.store.changes, Vocabulary.of_library(self.store)
            self._vocabulary = (changes, vocabulary)
        return parse(sentence, vocabulary, today or date.today())

    def without_chips(
        self, understood: Understanding, base: SearchRequest | None = None, **options: Any
    ) -> list[tuple[Chip, int]]:
        """Return how many results there are without each chip that filters or limits, the most first.

        `base` is that of `Understanding.request`; options are `where`, `values`, `encoder` and `cancelled` of `search`.
        """
        chips = [chip for chip in understood.chips if chip.filled and chip.kind != "count"]
        counts = [(chip, len(self.search(understood.request(base, without=chip), **options))) for chip in chips]
        return sorted((pair for pair in counts if pair[1]), key=lambda pair: -pair[1])

    def candidates(
        self,
        request: SearchRequest,
        *,
        where: str | Sequence[str] | None = None,
        values: Sequence[Any] = (),
        encoder: str | Encoder | None = None,
        cancelled: Cancelled | None = None,
    ) -> Hits:
        """Return the best matches that pass the filters of a request; see `SearchRequest.retrieval` and `hits`."""
        part = request.retrieval()
        conditions, condition_values = part.conditions(self._resolver.label_of)
        wheres = [*([] if where is None else [where] if isinstance(where, str) else where), *conditions]
        return self.hits(
            part.text, like=part.like, candidates=part.candidates, where=wheres or None,
            values=[*values, *condition_values], encoder=encoder, cancelled=cancelled, best=part.best,
        )  # fmt: skip

    def wishes(self, request: SearchRequest) -> list[AnyWish]:
        """Return the wishes of a request; their names and values are looked up in the library."""
        resolver, missing = self._resolver, request.missing
        return [wish_of(part, resolver, missing) if isinstance(part, Mapping) else part for part in request.wishes]

    def steer(
        self, hits: Hits, request: SearchRequest, check: Callable[[Hits, SearchRequest], None] | None = None
    ) -> Results:
        """Select the results of a request from its `candidates`.

        The pinned photographs come first, whether they match or not, and one photograph represents its stack. `check`
        is called before the selection with the photographs to choose from, and the request with its wishes resolved.
        """
        wishes = self.wishes(request)
        settled = replace(request.settled(wishes), wishes=tuple(wishes))
        hits = hits.around(self.hits_of(request.pin) if request.pin else None, request.reject)
        if request.best:
            hits = hits.best(request.k + len(request.already))
        elif wishes and not hits.ranked:
            hits = hits.by_quality()
        if request.stacks:
            hits = hits.stacked([*request.already, *request.pin])
        if check is not None and len(hits):
            check(hits, settled)
        method, by_date = settled.build_method(), request.order == "date"
        if by_date and any(getattr(wish, "places", False) for wish in wishes):
            raise OptionError("order=date does not go with rules about positions in the list")
        return hits.rerank(wishes, request.k, method, request.already or None, request.pin, by_date)

    def spread(self, text: str, missing: Missing = "last") -> Wish:
        """Parse a wish for more diversity of an attribute: `place`, `hour`, `camera*2`."""
        return grammar.spread(text, missing, self._resolver)

    def focus(self, text: str, missing: Missing = "last") -> Wish:
        """Parse a wish for less diversity, or for values near another one: `moment`, `hour=18`, `place=Lisbon~50`."""
        return grammar.focus(text, missing, self._resolver)

    def limit(self, text: str, fill: bool = False) -> Limit:
        """Parse a limit on results per value: `city=1`, `date=2`; see `mascot.limit`."""
        return grammar.limit(text, fill, self._resolver)

    def share(self, text: str) -> Share:
        """Parse target shares of values: `country=Portugal:60%,ES:40%`; see `mascot.share`."""
        return grammar.share(text, self._resolver)

    @property
    def _resolver(self) -> PhotoResolver:
        return PhotoResolver(StoredRows(self.store))

    def place_meant(self, name: str) -> str | None:
        """Return the place that a name means, such as `Cambridge, US`; None if that is obvious or `name` is a point."""
        return place_meant(name, self.store)


def _root_of(index: Path) -> Path:
    """Return the first folder of an index that is elsewhere."""
    locations.refuse_links(index)
    remedy = f"`mascot index FOLDER --index {index}`"
    try:
        with closing(Store(index / locations.DATABASE)) as store:
            root = store.fact(locations.ROOT)
    except DamagedLibrary:
        root, remedy = locations.root_of(index), f"{remedy[:-1]} --again`"
    if root is None:
        raise InputError(f"{index} does not say which folder it is the index of: {remedy}")
    return Path(root)
