"""Finding the picture files in a folder, each real file once."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mascot.errors import InputError
from mascot.photos.images import SUFFIXES
from mascot.photos.store import FOLDER
from mascot.photos.texts import is_text

# Pictures of kinds that are not read, and films. They are counted, so that nobody wonders where they are.
_UNREAD = frozenset({
    ".3fr", ".arw", ".avif", ".bmp", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".gif", ".iiq", ".jp2", ".jxl",
    ".kdc", ".mef", ".mrw", ".nef", ".nrw", ".orf", ".pef", ".psd", ".raf", ".raw", ".rw2", ".rwl", ".sr2", ".srf",
    ".srw", ".x3f",
    ".3g2", ".3gp", ".avi", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".webm", ".wmv",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A file that its name says is a picture."""

    path: Path  # absolute
    size: int  # bytes
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be looked at, and why."""

    path: Path
    reason: str


def walk(
    root: Path, *, hidden: bool = False, follow_links: bool = False, unread: Counter[str] | None = None
) -> Iterator[Found | Skipped]:
    """Yield the picture files below `root`, sorted by name within each folder, folders in their place.

    Links are followed after all real entries, so a file is known by its own path where it has one below `root`.
    A file or folder that was already visited is not visited again, so links cause neither loops nor duplicates.
    Links that lead out of `root` are skipped unless `follow_links` is set. Pictures of formats that are not read,
    and films, are counted in `unread`, by suffix.
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
        self._links: deque[str] = deque()

    def below(self, there: os.stat_result) -> Iterator[Found | Skipped]:
        self._is_new(there)
        yield from self._folder(self._top)
        while self._links:
            yield from self._follow(self._links.popleft())

    def _folder(self, path: str) -> Iterator[Found | Skipped]:
        """Everything below a folder; a stack in place of recursion, for trees of any depth."""
        waiting: list[str | os.DirEntry[str]] = [path]
        while waiting:
            item = waiting.pop()
            reading = item if isinstance(item, str) else self._entry(item)
            if isinstance(reading, str):
                try:
                    waiting += _last_first(reading)
                except OSError as error:
                    yield Skipped(Path(reading), f"folder cannot be read: {error.strerror}")
            elif reading is not None:
                yield reading

    def _entry(self, entry: os.DirEntry[str]) -> Found | Skipped | str | None:
        """A picture, a complaint, the path of a folder to enter, or nothing of ours."""
        if entry.name == FOLDER or (entry.name.startswith(".") and not self._hidden):
            return None
        try:
            if entry.is_symlink():
                self._links.append(entry.path)
                return None
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError as error:
            return Skipped(Path(entry.path), f"cannot be read: {error.strerror}")
        return self._target(entry.path, is_folder)

    def _follow(self, path: str) -> Iterator[Found | Skipped]:
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

    def _target(self, path: str, is_folder: bool) -> Found | Skipped | str | None:
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
        return path if is_folder else Found(Path(path), there.st_size, there.st_mtime_ns)

    def _is_new(self, there: os.stat_result) -> bool:
        """Whether this file or folder is met for the first time; it is met from now on."""
        key = there.st_dev << 64 | there.st_ino
        if there.st_ino and key in self._met:
            return False
        self._met.add(key)
        return True


def _last_first(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name, reverse=True)
