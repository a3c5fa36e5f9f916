"""SkyScript: aerial images with a caption each, and the box on the ground that they show."""

from __future__ import annotations

import hashlib
import io
import pickle
import random
import re
import struct
import threading
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin

import numpy as np

from mascot.bench.prepare.outcomes import Journal, Loss, Progress, StepTally
from mascot.bench.prepare.preparation import SMALLEST, Preparation, Row, read_csv
from mascot.bench.prepare.web import Web
from mascot.errors import InputError
from mascot.photos.metadata.validate import Implausible, place

_COLUMNS = ("filepath", "title_multi_objects")
_FILE = re.compile(r"images(\d+)/([^/]+)\.jpg")  # images2/a198234555_CH_19.jpg
_ROWS = 20_000  # of the list
_LARGEST_RECORD = 1 << 20  # bytes
_BUCKET = "https://opendatasharing.s3.us-west-2.amazonaws.com/SkyScript/"
_PIECE = 8 << 20  # bytes of a directory, which may have a hundred of them: each piece has its own retries
_HEADER = struct.Struct("<4s5H3I2H")
_SLACK = 512  # bytes of a member's header beyond its name; more costs a second request


@dataclass(frozen=True, slots=True)
class SkyScript:
    """The CLIP-filtered test set of 30,000: images with a place, a caption of their own, and pixels that decode.

    The list is shuffled by ``random.Random(42)`` and cut. Captions are made unique after the download, so that a
    caption whose first image fails has the next image.
    """

    base: str = _BUCKET  # of the archives, images2.zip and meta2.zip up to 7
    table: str = f"{_BUCKET}dataframe/SkyScript_test_30K_filtered_by_CLIP_openai.csv"

    def run(self, prep: Preparation) -> None:
        listing = self._listing(prep.source("table", self.table), prep.tally("captions"))
        directories, lock = dict[str, dict[str, Member]](), threading.Lock()

        def read(row: Row, kind: str, suffix: str, most: int) -> bytes:
            name = f"{kind}{row['part']}.zip"
            url = urljoin(self.base, name)
            with lock:
                if name not in directories:
                    path, report = prep.work / f"{name}.jsonl", partial(prep.report, f"directory of {name}")
                    stems = {other["id"] for other in listing if other["part"] == row["part"]}
                    directories[name] = directory(prep.web, url, stems, suffix, path, report)
            if row["id"] not in directories[name]:
                raise Loss("not in archive", name)
            return directories[name][row["id"]].read(prep.web, url, most)

        def task(row: Row) -> Row:
            lat, lon = centre(read_record(read(row, "meta", ".pickle", _LARGEST_RECORD)))
            data = read(row, "images", ".jpg", 32 << 20)
            return {"lat": lat, "lon": lon, **prep.store(data, row["id"], smallest=SMALLEST)}

        rows = prep.gather(listing, "id", task, "places and pictures")
        rows = _first_of_captions(rows, prep.tally("unique captions"))
        for part in sorted({row["part"] for row in rows}):  # too large to be hashed; the pictures are
            for name in (f"images{part}.zip", f"meta{part}.zip"):
                prep.sources[name] = {"url": urljoin(self.base, name)}
        prep.finish(rows, ["id", "file", "lat", "lon", "path"], validation_queries=None)

    def _listing(self, table: Path, tally: StepTally) -> list[Row]:
        """Return the rows of the list with a caption, each file once."""
        lines = [tuple((row[column] or "").strip() for column in _COLUMNS) for row in read_csv(table, _COLUMNS)]
        random.Random(42).shuffle(lines)
        rows, ids = list[Row](), set[str]()
        for path, caption in lines[:_ROWS]:
            with tally.item():
                match = _FILE.fullmatch(path)
                if match is None:
                    raise Loss("bad address", "not in an archive of images")
                if not caption:
                    raise Loss("no caption")
                part, id_ = match.groups()
                if id_ in ids:
                    raise Loss("duplicate", "file name")
                rows.append({"id": id_, "part": part, "path": path, "caption": caption})
                ids.add(id_)
        return rows


def _first_of_captions(rows: Sequence[Row], tally: StepTally) -> list[Row]:
    first: dict[str, Row] = {}
    for row in rows:
        with tally.item():
            if row["caption"] in first:
                raise Loss("duplicate", "caption")
            first[row["caption"]] = row
    return list(first.values())


class _Inert:
    """What a name in a pickle stands for, unless it is part of an array of numpy: it does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> _Inert:
        return super().__new__(cls)

    def __setstate__(self, *_: Any) -> None: ...

    append = extend = add = __setitem__ = __setstate__


class _RecordUnpickler(pickle.Unpickler):
    """Reads plain data and arrays. No name is imported, so a record cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):  # protocols 0 to 2 write bytes as text
            return lambda text, _: text.encode("latin-1")
        return _ARRAY_PARTS.get(name, _Inert) if module.startswith("numpy") else _Inert


_ONE = np.ones(1)
_PARTS: tuple[Any, ...] = (
    np.ndarray, np.dtype, _ONE[0].__reduce__()[0], _ONE.__reduce__()[0], _ONE.__reduce_ex__(5)[0],
)  # fmt: skip
_ARRAY_PARTS = {part.__name__: part for part in _PARTS}


def read_record(data: bytes) -> Any:
    """Return the data in a pickle.

    >>> read_record(pickle.dumps({"box": (8.5, 47.3, 8.6, 47.4)}))
    {'box': (8.5, 47.3, 8.6, 47.4)}
    """
    try:
        return _RecordUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # damaged data may raise any exception
        raise Loss("wrong content", f"not a pickle of plain data: {error}") from None


def centre(record: Any) -> tuple[float, float]:
    """Return latitude and longitude of the centre of a record's `bbox` or `box`: west, south, east, north."""
    fields = record if isinstance(record, dict) else {}
    box = fields.get("box") if fields.get("bbox") is None else fields["bbox"]
    try:
        west, south, east, north = np.array(box, float).tolist()
    except (TypeError, ValueError, OverflowError):
        raise Loss("no place", "a box must be 4 numbers") from None
    if not (max(abs(south), abs(north)) <= 90 and max(abs(west), abs(east)) <= 180):
        raise Loss("out of range", f"box {box!r:.80}")
    lon = (west + east) / 2
    if abs(west - east) > 180:  # the box is across the antimeridian
        lon -= 180 if lon > 0 else -180
    try:
        return place((south + north) / 2, lon)
    except Implausible as wrong:
        raise Loss("no place", str(wrong)) from None


# Members of a remote zip archive: its directory is read once, then each member with one range request.


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
