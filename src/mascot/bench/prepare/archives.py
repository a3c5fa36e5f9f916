"""Members of a remote zip archive: its directory is read once, then each member with one range request."""

from __future__ import annotations

import bisect
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mascot.bench.files import replace_text
from mascot.bench.prepare.losses import Loss
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

_MIB = 1 << 20
_PIECE = 8 * _MIB  # of a directory, which may have a hundred of them: each piece has its own retries
_HEADER = struct.Struct("<4s5H3I2H")
_SLACK = 512  # bytes of a member's header beyond its name; more costs a second request


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member is in its archive, and its checksum."""

    name: str
    offset: int  # of its header
    span: int  # bytes to the next member
    compressed: int  # bytes
    size: int  # bytes
    crc: int
    method: int  # 0: stored, 8: deflated

    def read(self, web: Web, url: str, most: int = 32 * _MIB) -> bytes:
        """Return the content, with its length and checksum verified."""
        if max(self.size, self.compressed) > most:
            raise Loss("too large", f"{self.name}: {max(self.size, self.compressed)} bytes, more than {most}", url)
        reach = _HEADER.size + len(self.name.encode()) + self.compressed + _SLACK
        block = web.part(url, self.offset, min(self.span, reach))
        if len(block) < _HEADER.size or not block.startswith(b"PK\3\4"):
            raise Loss("wrong content", f"{self.name}: not where the directory says", url)
        header = _HEADER.unpack_from(block)
        start = _HEADER.size + header[-2] + header[-1]
        content = block[start : start + self.compressed]
        if len(content) < self.compressed:
            content = web.part(url, self.offset + start, self.compressed)
        if self.method == zipfile.ZIP_DEFLATED:
            try:
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, self.size + 1)
            except zlib.error:
                content = b""
        if header[2] & 1 or len(content) != self.size or zlib.crc32(content) != self.crc:
            raise Loss("wrong content", f"{self.name}: encrypted, damaged or compressed by method {self.method}", url)
        return content


def directory(
    web: Web,
    url: str,
    stems: Collection[str],
    suffix: str,
    path: Path,
    report: Callable[[int, int | None], None] | None = None,
) -> dict[str, Member]:
    """Return the members with one of these stems and this suffix in any folder, the first of equal names.

    They are stored at `path`: while the archive keeps its size and validator, another run does not read it again.
    Raise `InputError` if the archive cannot be read, since a whole part of the dataset would be missing.
    """
    try:
        size, validator = web.size(url)
        if size is None:
            raise Loss("no ranges", "", url)
        wanted = hashlib.sha256("\n".join([url, str(size), validator, suffix, *sorted(stems)]).encode()).hexdigest()
        stored: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            stored = json.loads(path.read_text("utf-8"))
        if stored.get("version") != wanted:
            members = _members(_RemoteFile(web, url, size, report), stems, suffix)
            stored = {"version": wanted, "members": {stem: astuple(member) for stem, member in members.items()}}
            replace_text(path, json.dumps(stored))
    except Loss as loss:
        raise InputError(f"the archive {loss}; run the same command again to continue") from None
    except (zipfile.BadZipFile, IndexError, ValueError, NotImplementedError) as error:
        raise InputError(f"{url} must be a zip archive: {error}") from None
    return {stem: Member(*values) for stem, values in stored["members"].items()}


def _members(stream: io.RawIOBase, stems: Collection[str], suffix: str) -> dict[str, Member]:
    with zipfile.ZipFile(io.BufferedReader(stream, 1 << 16)) as archive:
        infos = archive.infolist()
        starts = [*sorted(info.header_offset for info in infos), archive.start_dir]
        members: dict[str, Member] = {}
        for info in infos:
            name = PurePosixPath(info.filename)
            if name.stem in stems and name.suffix.lower() == suffix and name.stem not in members:
                span = starts[bisect.bisect_right(starts, info.header_offset)] - info.header_offset
                sizes = (info.compress_size, info.file_size, info.CRC, info.compress_type)
                members[name.stem] = Member(info.filename, info.header_offset, span, *sizes)
        return members


class _RemoteFile(io.RawIOBase):
    """A remote file that can be read and sought, by range requests."""

    def __init__(self, web: Web, url: str, size: int, report: Callable[[int, int | None], None] | None) -> None:
        self._web, self._url, self._size, self._report = web, url, size, report
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), _PIECE, self._size - self._position)
        if count <= 0:
            return 0
        block = self._web.part(self._url, self._position, count)
        buffer[: len(block)] = block
        self._position += len(block)
        if self._report is not None:
            self._report(self._position, self._size)
        return len(block)
