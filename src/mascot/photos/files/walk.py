"""Find the picture files in a folder, each real file once."""

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
from mascot.photos.database.store import FOLDER
from mascot.photos.files.file_groups import FILM_SUFFIXES, Companions, companions
from mascot.photos.files.images import SUFFIXES
from mascot.photos.files.texts import as_text, is_text

# Pictures of unsupported formats, and films. They are counted and reported.
_UNREAD = FILM_SUFFIXES | {".jp2", ".jxl", ".psd"}

# Files that programs derive from photographs: thumbnails, previews, caches and bins. Compared in lower case.
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
    """A file with the suffix of a picture, and the files that belong to it."""

    path: Path  # absolute
    size: int  # bytes
    mtime_ns: int
    sidecars: tuple[Path, ...] = ()
    sidecar_state: str = ""  # differs when a sidecar has changed; empty without sidecars
    media: tuple[Path, ...] = ()  # the film of a live photograph, the RAW file beside a JPEG


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that was skipped, and why."""

    path: Path
    reason: str


def walk(
    root: Path, *, hidden: bool = False, follow_links: bool = False, unread: Counter[str] | None = None
) -> Iterator[PictureFile | Skipped]:
    """Yield the picture files below `root`, sorted by name within each folder, folders in their place.

    Links are followed after all real entries, so a file has its own path if that is below `root`.
    A file or folder that was already visited is not visited again, so links cause neither loops nor duplicates.
    Links that lead out of `root` are skipped unless `follow_links` is set. Pictures of unsupported formats,
    and films, are counted in `unread`, by suffix. Thumbnails and previews of other programs are ignored.
    """
    top = Path(os.path.abspath(root))
    try:
        status = top.stat()
    except OSError as error:
        raise InputError(f"{top} cannot be walked: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise InputError(f"{top} cannot be walked: not a folder")
    return _Walk(str(top), hidden, follow_links, Counter() if unread is None else unread).items()


class _Walk:
    """One walk: the files visited so far, and the links still to follow."""

    def __init__(self, top: str, hidden: bool, follow_links: bool, unread: Counter[str]) -> None:
        self._top, self._hidden, self._follow_links, self._unread = top, hidden, follow_links, unread
        self._real_top = os.path.realpath(top)
        self._visited: set[int] = set()
        self._links: deque[str] = deque()

    def items(self) -> Iterator[PictureFile | Skipped]:
        """Yield everything below the top, links last. A stack replaces recursion, for trees of any depth."""
        item = self._target(self._top, True, Companions())
        pending: list[tuple[os.DirEntry[str], Companions]] = []
        while True:
            if isinstance(item, str):
                try:
                    pending += self._entries(item)
                except OSError as error:
                    yield Skipped(Path(item), f"folder cannot be read: {error.strerror}")
            elif item is not None:
                yield item
            if not pending and not self._links:
                return
            item = self._entry(*pending.pop()) if pending else self._follow(self._links.popleft())

    def _entries(self, folder: str) -> list[tuple[os.DirEntry[str], Companions]]:
        """Return the entries of a folder, last first, with their companions, which are not listed themselves."""
        with os.scandir(folder) as iterator:
            visible = [entry for entry in iterator if self._is_shown(entry.name)]
        if folder.lower().endswith(_APPLE_SUFFIXES):
            visible = [entry for entry in visible if entry.name.lower() in _APPLE_ORIGINALS]
        families = companions([entry.name for entry in visible if entry.is_file(follow_symlinks=False)], SUFFIXES)
        owned = {name for files in families.values() for name in files.media}
        entries = sorted(visible, key=lambda entry: entry.name, reverse=True)
        return [(entry, families.get(entry.name, Companions())) for entry in entries if entry.name not in owned]

    def _is_shown(self, name: str) -> bool:
        if name == FOLDER or name.startswith("._") or (name.startswith(".") and not self._hidden):
            return False
        lower = name.lower()
        return lower not in _DERIVED and not lower.endswith(_DERIVED_SUFFIXES)

    def _entry(self, entry: os.DirEntry[str], files: Companions) -> PictureFile | Skipped | str | None:
        """Return a picture, a skipped file, the path of a folder to enter, or None for anything else."""
        try:
            if entry.is_symlink():
                self._links.append(entry.path)
                return None
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError as error:
            return Skipped(Path(entry.path), f"cannot be read: {error.strerror}")
        return self._target(entry.path, is_folder, files)

    def _follow(self, path: str) -> PictureFile | Skipped | str | None:
        """Return what a link leads to, as `_entry` does."""
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except OSError as error:
            reason = "loop of links" if error.errno == errno.ELOOP else f"broken link: {error.strerror}"
            return Skipped(Path(path), reason)
        if not self._follow_links and not Path(os.path.realpath(path)).is_relative_to(self._real_top):
            if is_folder or os.path.splitext(path)[1].lower() in SUFFIXES:
                return Skipped(Path(path), "link out of the library (--follow-links)")
            return None
        return self._target(path, is_folder, Companions())

    def _target(self, path: str, is_folder: bool, files: Companions) -> PictureFile | Skipped | str | None:
        suffix = os.path.splitext(path)[1].lower()
        if not is_folder and suffix not in SUFFIXES:
            if suffix in _UNREAD:
                self._unread[suffix] += 1
            return None
        if not is_text(path[len(self._top) :]):  # the library stores the relative path
            return Skipped(Path(path), "its name is not valid text")
        try:
            # `DirEntry.stat` has no inode numbers on Windows.
            status = os.stat(path)
        except FileNotFoundError:
            return Skipped(Path(path), "vanished during the walk")
        except OSError as error:
            return Skipped(Path(path), f"cannot be read: {error.strerror}")
        if not is_folder and not stat.S_ISREG(status.st_mode):
            return Skipped(Path(path), "not a regular file")
        if not self._is_new(status):
            return None
        return path if is_folder else _picture(path, status, files)

    def _is_new(self, status: os.stat_result) -> bool:
        """Return whether this file or folder is visited for the first time, and record the visit."""
        key = status.st_dev << 64 | status.st_ino
        if status.st_ino and key in self._visited:
            return False
        self._visited.add(key)
        return True


def _picture(path: str, status: os.stat_result, files: Companions) -> PictureFile:
    folder = os.path.dirname(path)
    sidecars: list[Path] = []
    states: list[str] = []
    for name in files.sidecars:
        with suppress(OSError):
            sidecar_status = os.stat(os.path.join(folder, name), follow_symlinks=False)
            if stat.S_ISREG(sidecar_status.st_mode):
                sidecars.append(Path(folder, name))
                states.append(f"{name} {sidecar_status.st_size} {sidecar_status.st_mtime_ns}")
    media = tuple(Path(folder, name) for name in files.media)
    state = as_text("\n".join(states))
    return PictureFile(Path(path), status.st_size, status.st_mtime_ns, tuple(sidecars), state, media)
