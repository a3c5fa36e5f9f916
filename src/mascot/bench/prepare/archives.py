"""Members of a remote zip archive: its directory is read once, then each member with one range request."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from dataclasses import astuple, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mascot.bench.prepare.outcomes import Journal, Loss, Progress
from mascot.bench.prepare.web import Web
from mascot.errors import InputError

_PIECE = 8 << 20  # bytes of a directory, which may have a hundred of them: each piece has its own retries
_HEADER = struct.Struct("<4s5H3I2H")
_SLACK = 512  # bytes of a member's header beyond its name; more costs a second request


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member is in its archive, and its checksum."""

    name: str
    offset: int  # of its header
    compressed: int  # bytes
    size: int  # bytes
    crc: int
    method: int  # 0: stored, 8: deflated

    def read(self, web: Web, url: str, most: int = 32 << 20) -> bytes:
        """Return the content, with its length and checksum verified."""
        if max(self.size, self.compressed) > most:
            raise Loss("too large", f"{self.name}: {max(self.size, self.compressed)} bytes, more than {most}", url)
        block = web.part(url, self.offset, _HEADER.size + len(self.name.encode()) + self.compressed + _SLACK)
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


def directory(web: Web, url: str, stems: set[str], suffix: str, path: Path, report: Progress) -> dict[str, Member]:
    """Return the members with one of these stems and this suffix in any folder, the first of equal names.

    They are stored at `path`: while the archive keeps its size and validator, another run does not read it again.
    """
    try:
        size, validator = web.size(url)
        if size is None:
            raise Loss("no ranges", "", url)
        version = hashlib.sha256("\n".join([url, str(size), validator, suffix, *sorted(stems)]).encode()).hexdigest()
        with Journal(path) as journal:
            if version not in journal.entries:
                members: dict[str, Member] = {}
                stream = io.BufferedReader(_RemoteFile(web, url, size, report), 1 << 16)
                for info in zipfile.ZipFile(stream).infolist():
                    name = PurePosixPath(info.filename)
                    if name.stem in stems and name.suffix.lower() == suffix and name.stem not in members:
                        sizes = (info.compress_size, info.file_size, info.CRC, info.compress_type)
                        members[name.stem] = Member(info.filename, info.header_offset, *sizes)
                journal.put(version, {stem: astuple(member) for stem, member in members.items()})
            return {stem: Member(*values) for stem, values in journal.entries[version].items()}
    except Loss as loss:  # not only of one image: a whole part of the dataset would be missing
        raise InputError(f"the archive {loss}; run the same command again to continue") from None
    except (zipfile.BadZipFile, IndexError, ValueError, NotImplementedError) as error:
        raise InputError(f"{url} must be a zip archive: {error}") from None


class _RemoteFile(io.RawIOBase):
    """A remote file that can be read and sought, by range requests."""

    def __init__(self, web: Web, url: str, size: int, report: Progress) -> None:
        self._web, self._url, self._size, self._report = web, url, size, report
        self._position = 0

    def readable(self) -> bool:
        return True

    seekable = readable

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), _PIECE, self._size - self._position)
        if count <= 0:
            return 0
        buffer[:count] = self._web.part(self._url, self._position, count)
        self._position += count
        self._report(self._position, self._size)
        return count
