"""Export photographs: copies in a folder, or a ZIP archive. Originals are only read."""

from __future__ import annotations

import errno
import filecmp
import os
import re
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import RawIOBase
from itertools import count
from pathlib import Path
from typing import IO, Any, cast

from mascot.errors import InputError
from mascot.photos.database.store import is_full, write_failure
from mascot.photos.files.texts import fold
from mascot.photos.photo import Photo

PART = ".mascot-part"  # suffix of an unfinished file
_LOCK = ".mascot-copying.lock"
_CHUNK = 1 << 20
_LONGEST_NAME = 180  # bytes, of the 255 that most file systems allow
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\ud800-\udfff]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # reserved names of Windows
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES, errno.EXDEV)
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Original:
    """The file of a photograph."""

    photo: Photo
    path: Path


@dataclass(slots=True)
class Copied:
    """The files that a copy wrote, and those that existed already."""

    new: list[Path] = field(default_factory=list)
    present: list[Path] = field(default_factory=list)  # the same file existed already


def original(root: Path, photo: Photo) -> Path:
    """Return the file of a photograph. A link out of the folder must lead to the file that was indexed."""
    path = Path(os.path.realpath(root / photo.path))
    if not path.is_file():
        raise InputError(f"the file {photo.path!r} is gone: it is not in the library's folder any more")
    status = path.stat()
    is_indexed = (status.st_size, status.st_mtime_ns) == (photo.size, photo.mtime_ns)
    if not (is_indexed or path.is_relative_to(root)):
        raise InputError(
            f"the file {photo.path!r} is a link to a file outside the library that was not indexed: "
            "run `mascot index` again"
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"the file {photo.path!r} cannot be read")
    return path


def originals(root: Path, photos: Iterable[Photo]) -> tuple[list[Original], list[str]]:
    """Return the files of photographs, and a message for each photograph without one."""
    present, problems = [], []
    for photo in photos:
        try:
            present.append(Original(photo, original(root, photo)))
        except InputError as error:
            problems.append(str(error))
    return present, problems


def safe_name(name: str) -> str:
    """Return a file name that every common file system accepts: `a/b: c?.jpg` is `a_b_ c_.jpg`."""
    name = _UNSAFE.sub("_", name).strip(" .") or "photograph"
    if _DEVICES.fullmatch(name):
        name = f"_{name}"
    stem, suffix = os.path.splitext(name)
    if len(suffix) > 11:
        stem, suffix = name, ""
    while len(f"{stem}{suffix}".encode()) > _LONGEST_NAME:
        stem = stem[:-1]
    return f"{stem.rstrip(' .') or 'photograph'}{suffix}"


def _numbered(name: str) -> Iterator[str]:
    """Yield a name and its variants: `a.jpg`, `a (2).jpg`, `a (3).jpg`."""
    yield name
    stem, suffix = os.path.splitext(name)
    for number in count(2):
        yield f"{stem} ({number}){suffix}"


def unique_names(photos: Iterable[Photo]) -> list[str]:
    """Return a file name for each photograph; no two are equal, or differ only in case."""
    names: dict[str, str] = {}  # by their folded form
    for photo in photos:
        variants = _numbered(safe_name(photo.path.rpartition("/")[2]))
        name = next(variant for variant in variants if fold(variant) not in names)
        names[fold(name)] = name
    return list(names.values())


# Copies


def copy_originals(files: Sequence[Original], folder: Path, progress: Progress | None = None) -> Copied:
    """Copy photographs into a folder, with their times.

    Nothing in the folder is overwritten: another file of the same name stays, and the copy gets a number. A copy
    that exists is not made again, so the same call resumes a stopped run. An unfinished copy never has its final name.
    """
    import filelock

    copied, used, lock = Copied(), set[str](), folder / _LOCK
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(lock):  # one process at a time, so that leftover unfinished files can be removed
            try:
                for part in folder.glob(f".*{PART}"):
                    part.unlink(missing_ok=True)
                for number, file in enumerate(files, 1):
                    _copy_one(file, folder, used, copied)
                    if progress is not None:
                        progress(number, len(files))
            finally:
                lock.unlink(missing_ok=True)
    return copied


def _copy_one(file: Original, folder: Path, used: set[str], copied: Copied) -> None:
    for name in _numbered(safe_name(file.photo.path.rpartition("/")[2])):
        target = folder / name
        is_taken = os.path.lexists(target)
        if fold(name) in used or (is_taken and not _is_copy(file.path, target)):
            continue
        used.add(fold(name))
        if not is_taken:
            with finished(target) as part:
                status = file.path.stat()
                shutil.copyfile(file.path, part)
                os.utime(part, ns=(status.st_atime_ns, status.st_mtime_ns))
        (copied.present if is_taken else copied.new).append(target)
        return


def _is_copy(file: Path, target: Path) -> bool:
    """Return whether a target has the same bytes. If the times are equal too, the contents are not compared."""
    if target.is_symlink() or not target.is_file():
        return False
    status, target_status = file.stat(), target.stat()
    if status.st_size != target_status.st_size:
        return False
    return status.st_mtime_ns == target_status.st_mtime_ns or filecmp.cmp(file, target, shallow=False)


@contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Turn errors of the disk into `InputError`."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise InputError(write_failure(target, error)) from None
        raise InputError(f"cannot write to {target}: {error.strerror or error}") from None


@contextmanager
def finished(target: Path, replace: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file that becomes `target` if the block succeeds, atomically.

    Without `replace`, an existing file raises `InputError`.
    """
    part = target.with_name(f".{secrets.token_hex(8)}{PART}")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        if replace:
            os.replace(part, target)
        else:
            _rename(part, target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _rename(part: Path, target: Path) -> None:
    """Give a file its final name unless it is taken."""
    try:
        os.link(part, target)  # renaming would overwrite
    except OSError as error:
        _require_free(target)
        if error.errno not in _NO_LINKS:
            raise
        os.rename(part, target)  # on a file system without links


def _require_free(target: Path) -> None:
    if os.path.lexists(target):
        raise InputError(f"{target} exists already, and is never overwritten")


# Archives


class _ZipBuffer(RawIOBase):
    """A file for `zipfile` to write to, which buffers bytes until they are fetched."""

    def __init__(self) -> None:
        self._content = bytearray()

    def write(self, data: Any) -> int:
        self._content += data
        return len(data)

    def fetch(self) -> bytes:
        data = bytes(self._content)
        self._content.clear()
        return data


def zip_chunks(files: Sequence[Original], problems: Sequence[str] = ()) -> Iterator[bytes]:
    """Yield the chunks of a ZIP archive; photographs are stored, because they are compressed already.

    The `problems` of missing photographs are written to a text file in the archive.
    """
    sink = _ZipBuffer()
    with zipfile.ZipFile(cast(IO[bytes], sink), "w") as archive:
        for file, name in zip(files, unique_names(file.photo for file in files), strict=True):
            entry = zipfile.ZipInfo.from_file(file.path, name, strict_timestamps=False)
            with file.path.open("rb") as source, archive.open(entry, "w") as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)
                    yield sink.fetch()
        if problems:
            archive.writestr("missing photographs.txt", "\n".join([*problems, ""]))
    yield sink.fetch()


def write_zip(files: Sequence[Original], target: Path) -> None:
    """Write a ZIP archive of photographs; never overwrite a file."""
    _require_free(target)
    with disk_errors(target), finished(target) as part, part.open("wb") as out:
        for chunk in zip_chunks(files):
            out.write(chunk)
