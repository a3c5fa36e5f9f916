"""Members of a zip archive that stays where it is: the directory is read once, then one range for each member."""

from __future__ import annotations

import bisect
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mascot.bench.files import replace_text
from mascot.bench.prepare.common import Progress
from mascot.bench.prepare.lost import Lost
from mascot.bench.prepare.web import Web
from mascot.errors import InputError, MissingExtra

_MIB = 1 << 20
_PIECE = 8 * _MIB  # of a directory, which may have a hundred of them: each piece has retries of its own
_HEADER = struct.Struct("<4s5H3I2H")
_SLACK = 512  # bytes of a member's header beyond its name: more is unheard of, and costs a second request
_ENCRYPTED = 1


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member lies in its archive, and how to know it when it is there."""

    name: str
    offset: int  # of its header
    span: int  # bytes to the next member
    packed: int  # bytes as they lie there
    size: int  # bytes unpacked
    crc: int
    method: int  # 0 as it is, 8 deflated

    def read(self, web: Web, url: str, most: int = 32 * _MIB) -> bytes:
        """The content: one request, seldom two; unpacked, its length and checksum compared."""
        if self.size > most or self.packed > most:
            raise Lost("too large", f"{self.name}: {max(self.size, self.packed)} bytes, more than {most}", url)
        if self.method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Lost("wrong content", f"{self.name}: packed by method {self.method}", url)
        reach = _HEADER.size + len(self.name.encode()) + self.packed + _SLACK
        found = web.part(url, self.offset, min(self.span, reach))
        if len(found) < _HEADER.size or not found.startswith(b"PK\3\4"):
            raise Lost("wrong content", f"{self.name}: not where the directory says", url)
        header = _HEADER.unpack_from(found)
        if header[2] & _ENCRYPTED:
            raise Lost("wrong content", f"{self.name}: encrypted", url)
        start = _HEADER.size + header[-2] + header[-1]
        packed = found[start : start + self.packed]
        if len(packed) < self.packed:
            packed = web.part(url, self.offset + start, self.packed)
        data = self._unpacked(packed)
        if data is None or len(data) != self.size or zlib.crc32(data) != self.crc:
            raise Lost("wrong content", f"{self.name}: damaged", url)
        return data

    def _unpacked(self, packed: bytes) -> bytes | None:
        if self.method == zipfile.ZIP_STORED:
            return packed
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, self.size + 1)
        except zlib.error:
            return None


def directory(
    web: Web, url: str, stems: Collection[str], suffix: str, report: Progress | None = None
) -> dict[str, Member]:
    """The members with one of these stems and this suffix, whatever folder they are in; of equal ones the first.

    The whole directory is read for it, and held in memory until the members are found.

    Parameters
    ----------
    stems
        Names without folder and suffix.
    suffix
        With its dot, in lower case.
    """
    try:
        from remotezip import RemoteZip, RemoteZipError
    except ImportError:
        raise MissingExtra("reading archives over the web needs: pip install 'mascot[prepare]'") from None
    try:
        with RemoteZip(url, fetcher=lambda *_, **__: _Ranges(web, url, report)) as archive:
            infos = archive.infolist()
            starts = [*sorted(info.header_offset for info in infos), archive.start_dir]
            found: dict[str, Member] = {}
            for info in infos:
                name = PurePosixPath(info.filename)
                if name.stem in stems and name.suffix.lower() == suffix:
                    span = starts[bisect.bisect_right(starts, info.header_offset)] - info.header_offset
                    found.setdefault(name.stem, _member(info, span))
            return found
    except (RemoteZipError, zipfile.BadZipFile, IndexError, ValueError, NotImplementedError) as error:
        raise Lost("wrong content", f"not a zip archive: {error}", url) from None


def remembered(
    web: Web, url: str, stems: Collection[str], suffix: str, path: Path, report: Progress | None = None
) -> dict[str, Member]:
    """As `directory`, kept in a file: while the archive has its size, another run does not read it again.

    Raises `InputError` where the archive cannot be read: without it, a whole part of the dataset would be missing.
    """
    wanted = hashlib.sha256("\n".join([suffix, *sorted(stems)]).encode()).hexdigest()
    try:
        of = {"url": url, "size": web.size(url), "wanted": wanted}
        known = _known(path)
        if known.get("of") != of:
            members = directory(web, url, stems, suffix, report)
            known = {"of": of, "members": {stem: list(astuple(member)) for stem, member in members.items()}}
            replace_text(path, json.dumps(known))
    except Lost as lost:
        raise InputError(f"the archive {lost}; run the same command again to go on from here") from None
    return {stem: Member(*values) for stem, values in known["members"].items()}


class _Ranges:
    """Parts of a file, as `RemoteZip` asks for them, by our own manners on the web."""

    def __init__(self, web: Web, url: str, report: Progress | None) -> None:
        self._web, self._url, self._report = web, url, report
        self._size = web.size(url)

    def fetch(self, asked: tuple[int, int | None], stream: bool = False) -> Any:
        from remotezip import PartialBuffer

        first, last = asked
        start = max(0, self._size + first) if first < 0 else first
        end = self._size if last is None else min(last + 1, self._size)
        found = bytearray()
        while len(found) < end - start:
            piece = self._web.part(self._url, start + len(found), min(_PIECE, end - start - len(found)))
            if not piece:
                break
            found += piece
            if self._report is not None:
                self._report(len(found), end - start)
        return PartialBuffer(io.BytesIO(found), start, len(found), False)


def _member(info: zipfile.ZipInfo, span: int) -> Member:
    return Member(
        info.filename, info.header_offset, span, info.compress_size, info.file_size, info.CRC, info.compress_type
    )


def _known(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
