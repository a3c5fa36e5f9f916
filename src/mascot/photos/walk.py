"""Finding the picture files in a folder, each real file once."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mascot.errors import InputError
from mascot.photos.companions import FILM_SUFFIXES, Companions, companions
from mascot.photos.images import SUFFIXES
from mascot.photos.store import FOLDER
from mascot.photos.texts import as_text, is_text

# Pictures of kinds that are not read, and films. They are counted, so that nobody wonders where they are.
_UNREAD = FILM_SUFFIXES | {".jp2", ".jxl", ".psd"}

# What programs make of photographs: thumbnails, previews, caches and bins. Compared in lower case.
_DERIVED = frozenset({
    "@eadir", "#recycle", "#snapshot", "@recycle", ".@__thumb", "@__thumb", ".thumbnails", ".thumbs", ".thumb",
    ".picasaoriginals", "picasaoriginals", ".dtrash", ".trashes", "$recycle.bin", "__macosx", "lost+found",
    "ipod photo cache", "captureone", ".stversions",
})  # fmt: skip
_DERIVED_SUFFIXES = (".lrdata", ".lrcat-data", ".lrlibrary", ".cocatalogdb", ".cocache", ".dtbase2")
# Libraries of Apple's programs hold many versions of each photograph; the originals are in these folders.
_APPLE_SUFFIXES = (".photoslibrary", ".photolibrary", ".aplibrary", ".migratedphotolibrary", ".migratedaplibrary")
_APPLE_ORIGINALS = frozenset({"originals", "masters"})


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A file that its name says is a picture, and the files that belong to it."""

    path: Path  # absolute
    size: int  # bytes
    mtime_ns: int
    sidecars: tuple[Path, ...] = ()
    sidecar_state: str = ""  # differs when a sidecar has changed; empty without sidecars
    others: tuple[Path, ...] = ()  # the film of a live photograph, the RAW file beside a JPEG


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be looked at, and why."""

    path: Path
    reason: str


def walk(
    root: Path, *, hidden: bool = False, follow_links: bool = False, unread: Counter[str] | None = None
) -> Iterator[PictureFile | Skipped]:
    """Yield the picture files below `root`, sorted by name within each folder, folders in their place.

    Links are followed after all real entries, so a file is known by its own path where it has one below `root`.
    A file or folder that was already visited is not visited again, so links cause neither loops nor duplicates.
    Links that lead out of `root` are skipped unless `follow_links` is set. Pictures of formats that are not read,
    and films, are counted in `unread`, by suffix. Thumbnails and previews of other programs are passed over.
    """
    top = Path(os.path.abspath(root))
    try:
        there = top.stat()
    except OSError as error:
        raise InputError(f"{top} cannot be walked: {error.strerror}") from None
    if not stat.S_ISDIR(there.st_mode):
        raise InputError(f"{top} cannot be walked: not a folder")
    return _Walk(str(top), hidden, follow_links, Counter() if unread is None else unread).below(there)


class _Walk:
    """One walk: what it has met so far, and the links still to follow."""

    def __init__(self, top: str, hidden: bool, follow_links: bool, unread: Counter[str]) -> None:
        self._top, self._hidden, self._follow_links, self._unread = top, hidden, follow_links, unread
        self._real_top = os.path.realpath(top)
        self._met: set[int] = set()
        self._companions: dict[str, Companions] = {}  # of the pictures in folders being walked, by path
        self._owned: set[str] = set()  # paths of films and RAW files in these folders that belong to a picture
        self._links: deque[str] = deque()

    def below(self, there: os.stat_result) -> Iterator[PictureFile | Skipped]:
        self._is_new(there)
        yield from self._folder(self._top)
        while self._links:
            yield from self._follow(self._links.popleft())

    def _folder(self, path: str) -> Iterator[PictureFile | Skipped]:
        """Everything below a folder; a stack in place of recursion, for trees of any depth."""
        waiting: list[str | os.DirEntry[str]] = [path]
        while waiting:
            item = waiting.pop()
            reading = item if isinstance(item, str) else self._entry(item)
            if isinstance(reading, str):
                try:
                    waiting += self._entries(reading)
                except OSError as error:
                    yield Skipped(Path(reading), f"folder cannot be read: {error.strerror}")
            elif reading is not None:
                yield reading

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries of a folder, last first; notes which of its files belong together."""
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name, reverse=True)
        if folder.lower().endswith(_APPLE_SUFFIXES):
            entries = [entry for entry in entries if entry.name.lower() in _APPLE_ORIGINALS]
        names = [entry.name for entry in entries if self._is_shown(entry.name) and _is_file(entry)]
        for name, belonging in companions(names, SUFFIXES).items():
            if belonging.sidecars or belonging.others:
                self._companions[os.path.join(folder, name)] = belonging
                self._owned.update(os.path.join(folder, other) for other in belonging.others)
        return entries

    def _is_shown(self, name: str) -> bool:
        if name == FOLDER or name.startswith("._") or (name.startswith(".") and not self._hidden):
            return False
        lower = name.lower()
        return lower not in _DERIVED and not lower.endswith(_DERIVED_SUFFIXES)

    def _entry(self, entry: os.DirEntry[str]) -> PictureFile | Skipped | str | None:
        """A picture, a complaint, the path of a folder to enter, or nothing of ours."""
        if not self._is_shown(entry.name):
            return None
        try:
            if entry.is_symlink():
                self._links.append(entry.path)
                return None
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError as error:
            return Skipped(Path(entry.path), f"cannot be read: {error.strerror}")
        return self._target(entry.path, is_folder)

    def _follow(self, path: str) -> Iterator[PictureFile | Skipped]:
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except OSError as error:
            reason = "loop of links" if error.errno == errno.ELOOP else f"broken link: {error.strerror}"
            yield Skipped(Path(path), reason)
            return
        if not self._follow_links and self._leads_out(path):
            if is_folder or os.path.splitext(path)[1].lower() in SUFFIXES:
                yield Skipped(Path(path), "link out of the library (--follow-links)")
            return
        reading = self._target(path, is_folder)
        if isinstance(reading, str):
            yield from self._folder(reading)
        elif reading is not None:
            yield reading

    def _leads_out(self, path: str) -> bool:
        target = os.path.realpath(path)
        return target != self._real_top and not target.startswith(os.path.join(self._real_top, ""))

    def _target(self, path: str, is_folder: bool) -> PictureFile | Skipped | str | None:
        if path in self._owned:
            self._owned.discard(path)
            return None
        suffix = os.path.splitext(path)[1].lower()
        if not is_folder and suffix not in SUFFIXES:
            if suffix in _UNREAD:
                self._unread[suffix] += 1
            return None
        if not is_text(path[len(self._top) :]):  # the library knows files by the rest of their path
            return Skipped(Path(path), "its name is not valid text")
        try:
            # The entry's own stat would have no inode numbers on Windows.
            there = os.stat(path)
        except FileNotFoundError:
            return Skipped(Path(path), "vanished during the walk")
        except OSError as error:
            return Skipped(Path(path), f"cannot be read: {error.strerror}")
        if not is_folder and not stat.S_ISREG(there.st_mode):
            return Skipped(Path(path), "not a regular file")
        if not self._is_new(there):
            return None
        return path if is_folder else self._picture(path, there)

    def _picture(self, path: str, there: os.stat_result) -> PictureFile:
        """The file with what belongs to it."""
        belonging = self._companions.pop(path, Companions())
        folder = os.path.dirname(path)
        sidecars: list[Path] = []
        states: list[str] = []
        for name in belonging.sidecars:
            with suppress(OSError):
                beside = os.stat(os.path.join(folder, name), follow_symlinks=False)
                if stat.S_ISREG(beside.st_mode):
                    sidecars.append(Path(folder, name))
                    states.append(f"{name} {beside.st_size} {beside.st_mtime_ns}")
        others = tuple(Path(folder, name) for name in belonging.others)
        state = as_text("\n".join(states))
        return PictureFile(Path(path), there.st_size, there.st_mtime_ns, tuple(sidecars), state, others)

    def _is_new(self, there: os.stat_result) -> bool:
        """Whether this file or folder is met for the first time; it is met from now on."""
        key = there.st_dev << 64 | there.st_ino
        if there.st_ino and key in self._met:
            return False
        self._met.add(key)
        return True


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False
