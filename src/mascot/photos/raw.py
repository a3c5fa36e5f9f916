"""The JPEG preview inside a RAW file, located by the tables of the file, not by its name.

Most RAW files are TIFF files (DNG, NEF, CR2, ARW, PEF, ...): directories point to the previews. RAF has the position in
its header, CR3 is made of boxes like MP4. If no table names a preview of a useful size, the file is searched for
JPEG headers.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

_TIFF_SIGNATURES = (b"IIRO", b"IIRS", b"MMOR", b"IIU\0")  # of TIFF files of Olympus and Panasonic
_OTHER_SIGNATURES = (b"FOVb", b"\0MRM")  # Sigma, Minolta
_WIDTH, _HEIGHT, _COMPRESSION, _PHOTOMETRIC = 0x0100, 0x0101, 0x0103, 0x0106
_STRIPS, _STRIP_BYTES, _SUB_DIRECTORIES = 0x0111, 0x0117, 0x014A
_JPEG, _JPEG_BYTES, _JPEG_FROM_RAW, _DNG_VERSION = 0x0201, 0x0202, 0x002E, 0xC612
_SENSOR_PHOTOMETRIC = {32803, 34892}  # a colour filter array, linear sensor values
_SENSOR_COMPRESSION = {32767, 32769, 32770, 32772, 34713, 65000, 65535}  # of Sony, Epson, Samsung, Nikon, Kodak, Pentax
_FORMAT_OF_TYPE = {1: "B", 3: "H", 4: "I", 6: "B", 7: "B", 13: "I"}
_MOST_DIRECTORIES, _MOST_ENTRIES, _MOST_VALUES = 64, 1000, 64
_MOST_BOXES, _DEEPEST_BOX = 4000, 8
_CANON_BOXES = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")  # the box of a CR3 with the EXIF
_CANON_PREVIEW = bytes.fromhex("eaf42b5e1c984b88b9fbb7dc406e4d16")
_USEFUL = 512  # pixels of the longest side
_LARGEST_PREVIEW = 128 << 20  # bytes
_LARGEST_HEAD = 4 << 20  # bytes at the start that hold the EXIF of a TIFF with another signature
_FARTHEST = 1 << 50  # bytes from the start
_SEARCH_BYTES, _CHUNK, _MOST_HITS = 512 << 20, 4 << 20, 500


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview, and where the tables of its RAW file are."""

    jpeg: bytes
    size: tuple[int, int]  # of the photograph itself, if the tables have it
    exif: tuple[bytes, ...] = ()  # TIFF blocks: picture, exposure, GPS; a single one contains all
    is_tiff: bool = False  # the file itself is one


@dataclass(slots=True)
class _Tables:
    is_raw: bool = False
    has_sensor: bool = False  # there are sensor values, which cannot be decoded here
    size: tuple[int, int] = (0, 0)
    previews: list[tuple[int, int]] = field(default_factory=list)  # offset and length
    blocks: list[bytes] = field(default_factory=list)


class NoPreview(ValueError):
    """A RAW file without a preview."""


def preview_of(file: BinaryIO) -> Preview | None:
    """Return the largest preview of a RAW file, None for a file of another kind. Raises `NoPreview`."""
    file.seek(0)
    head = file.read(96)
    is_tiff = head[:4] in (b"II*\0", b"MM\0*")
    if head.startswith(b"FUJIFILMCCD-RAW") and len(head) >= 92:
        tables = _Tables(is_raw=True, previews=[struct.unpack(">II", head[84:92])])
    elif head[4:12] == b"ftypcrx ":
        tables = _boxes(file)
    elif is_tiff or head[:4] in _TIFF_SIGNATURES:
        tables = _directories(file, head)
    elif head[:4] in _OTHER_SIGNATURES or head[6:14] == b"HEAPCCDR":
        tables = _Tables(is_raw=True)
    else:
        return None
    if not tables.is_raw:
        return None
    best = _largest(file, tables.previews)
    if best is None or max(best[2]) < _USEFUL:
        best = _largest(file, [*([best[:2]] if best else []), *_search(file)])
    if best is None:
        if is_tiff and not tables.has_sensor:
            return None  # an ordinary TIFF with a RAW tag
        raise NoPreview("a RAW file without a JPEG preview")
    offset, length, size = best
    file.seek(offset)
    jpeg = file.read(min(length, _LARGEST_PREVIEW))
    if head[:4] in _TIFF_SIGNATURES:
        file.seek(0)
        signature = b"II*\0" if head[:2] == b"II" else b"MM\0*"
        tables.blocks = [signature + file.read(_LARGEST_HEAD)[4:]]
    return Preview(jpeg, max(size, tables.size, key=_area), tuple(tables.blocks), is_tiff)


def _largest(file: BinaryIO, parts: Iterable[tuple[int, int]]) -> tuple[int, int, tuple[int, int]] | None:
    """Return the first part whose JPEG has the most pixels: offset, length and size in pixels."""
    jpegs = ((offset, length, _jpeg_size(file, offset)) for offset, length in parts)
    sized = [(offset, length, size) for offset, length, size in jpegs if size is not None]
    return max(sized, key=lambda part: _area(part[2]), default=None)


def _area(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _jpeg_size(file: BinaryIO, offset: int) -> tuple[int, int] | None:
    """Return width and height of a common JPEG; None for others, such as lossless sensor data."""
    if offset > _FARTHEST:
        return None
    file.seek(offset)
    if file.read(2) != b"\xff\xd8":
        return None
    for _ in range(_MOST_ENTRIES):
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF or not 0xC0 <= head[1] <= 0xFE:
            return None
        length = int.from_bytes(head[2:], "big")
        if 0xC0 <= head[1] <= 0xCF and head[1] not in (0xC4, 0xC8, 0xCC):
            frame = file.read(6)
            if head[1] > 0xC2 or len(frame) < 6 or frame[0] != 8 or frame[5] not in (1, 3):
                return None
            height, width = struct.unpack(">HH", frame[1:5])
            return (width, height) if width and height else None
        if head[1] in (0xD8, 0xD9, 0xDA) or length < 2:
            return None
        file.seek(length - 2, os.SEEK_CUR)
    return None


def _search(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield offsets at which a JPEG may begin."""
    position, tail, hits = 0, b"", 0
    file.seek(0)
    while position < _SEARCH_BYTES and (chunk := file.read(_CHUNK)):
        text, start = tail + chunk, position - len(tail)
        at = text.find(b"\xff\xd8\xff")
        while at >= 0 and hits < _MOST_HITS:
            hits += 1
            yield start + at, _LARGEST_PREVIEW
            file.seek(position + len(chunk))
            at = text.find(b"\xff\xd8\xff", at + 1)
        position, tail = position + len(chunk), text[-2:]


def _directories(file: BinaryIO, head: bytes) -> _Tables:
    """Read all directories of a TIFF; an error in one ends only that one."""
    order = "<" if head[:2] == b"II" else ">"
    tables = _Tables(is_raw=head[:4] in _TIFF_SIGNATURES or head[8:10] == b"CR")
    offsets: list[int] = [struct.unpack(f"{order}I", head[4:8])[0]] if len(head) >= 8 else []
    visited: set[int] = set()
    while offsets and len(visited) < _MOST_DIRECTORIES:
        at = offsets.pop(0)
        if at in visited or at < 8:
            continue
        visited.add(at)
        entries, next_offset = _entries(file, at, order)
        offsets += [next_offset, *entries.get(_SUB_DIRECTORIES, ())]
        _note(entries, tables)
    return tables


def _entries(file: BinaryIO, at: int, order: str) -> tuple[dict[int, tuple[int, ...]], int]:
    """Return the integers of one directory by tag, and the offset of the next."""
    file.seek(at)
    start = file.read(2)
    count = struct.unpack(f"{order}H", start)[0] if len(start) == 2 else 0
    if not 0 < count <= _MOST_ENTRIES:
        return {}, 0
    body = file.read(12 * count + 4)
    entries: dict[int, tuple[int, ...]] = {}
    for first in range(0, min(len(body), 12 * count) - 11, 12):
        tag, kind, number, offset = struct.unpack(f"{order}HHII", body[first : first + 12])
        if kind not in _FORMAT_OF_TYPE or not number:
            continue
        if tag == _JPEG_FROM_RAW:  # the JPEG itself
            entries[tag] = (offset, number)
            continue
        layout = f"{order}{min(number, _MOST_VALUES)}{_FORMAT_OF_TYPE[kind]}"
        size = struct.calcsize(layout)
        value = body[first + 8 : first + 12]
        if size > 4:
            file.seek(offset)
            value = file.read(size)
        if len(value) >= size:
            entries[tag] = struct.unpack(layout, value[:size])
    end = body[12 * count : 12 * count + 4]
    return entries, struct.unpack(f"{order}I", end)[0] if len(end) == 4 else 0


def _note(entries: dict[int, tuple[int, ...]], tables: _Tables) -> None:
    """Add the information of one directory to the tables."""
    photometric, compression = entries.get(_PHOTOMETRIC, (0,))[0], entries.get(_COMPRESSION, (0,))[0]
    is_sensor = photometric in _SENSOR_PHOTOMETRIC or compression in _SENSOR_COMPRESSION
    tables.is_raw |= is_sensor or _DNG_VERSION in entries
    tables.has_sensor |= is_sensor
    if is_sensor and _WIDTH in entries and _HEIGHT in entries:
        tables.size = max(tables.size, (entries[_WIDTH][0], entries[_HEIGHT][0]), key=_area)
    if _JPEG in entries and _JPEG_BYTES in entries:
        tables.previews.append((entries[_JPEG][0], entries[_JPEG_BYTES][0]))
    if _JPEG_FROM_RAW in entries:
        offset, length = entries[_JPEG_FROM_RAW]
        tables.previews.append((offset, length))
    strips, lengths = entries.get(_STRIPS, ()), entries.get(_STRIP_BYTES, ())
    if compression in (6, 7) and not is_sensor and len(strips) == len(lengths) == 1:
        tables.previews.append((strips[0], lengths[0]))


def _boxes(file: BinaryIO) -> _Tables:
    """Read the boxes of a CR3: tracks whose first sample is a JPEG, the preview box, and the EXIF blocks."""
    tables = _Tables(is_raw=True)
    blocks: dict[bytes, bytes] = {}
    sizes: list[int] = []
    file.seek(0, os.SEEK_END)
    containers: list[tuple[int, int, int]] = [(0, file.tell(), 0)]  # start, end and depth
    for _ in range(_MOST_BOXES):
        if not containers:
            break
        start, end, depth = containers.pop()
        file.seek(start)
        head = file.read(32)
        if end - start < 8 or len(head) < 16:
            continue
        length, kind, body = int.from_bytes(head[:4], "big"), head[4:8], start + 8
        if length == 1:
            length, body = int.from_bytes(head[8:16], "big"), start + 16
        stop = min(start + length, end) if length else end
        if stop <= body:
            continue
        containers.append((stop, end, depth))
        if kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl") and depth < _DEEPEST_BOX:
            containers.append((body, stop, depth + 1))
        elif kind == b"uuid" and head[8:24] == _CANON_BOXES:
            containers.append((body + 16, stop, depth + 1))
        elif kind == b"uuid" and head[8:24] == _CANON_PREVIEW:
            containers.append((body + 24, stop, depth + 1))
        elif kind == b"PRVW":
            tables.previews.append((body + 16, stop - body - 16))
        elif kind in (b"CMT1", b"CMT2", b"CMT4"):
            file.seek(body)
            blocks[kind] = file.read(min(stop - body, _LARGEST_HEAD))
        elif kind == b"stsz":
            file.seek(body + 4)
            uniform, _, first = struct.unpack(">III", file.read(12).ljust(12, b"\0"))
            sizes.append(uniform or first)
        elif kind in (b"co64", b"stco") and sizes:
            file.seek(body + 8)
            tables.previews.append((int.from_bytes(file.read(8 if kind == b"co64" else 4), "big"), sizes[-1]))
    if b"CMT1" in blocks:
        tables.blocks = [blocks.get(kind, b"") for kind in (b"CMT1", b"CMT2", b"CMT4")]
    return tables
