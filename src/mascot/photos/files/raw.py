"""Locate the JPEG preview inside a RAW file, by the content of the file, not by its name.

Most RAW files are TIFF files (DNG, NEF, CR2, ARW, PEF, ...), whose directories point to the previews. RAF, CR3 and RW2
have them near the start. If there is no preview of a useful size, the whole file is searched for JPEG headers.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from PIL.TiffImagePlugin import ImageFileDirectory_v1

_TIFF = (b"II*\0", b"MM\0*")
# Signatures of TIFF files of Olympus and Panasonic, and the usual signatures that they replace.
_VARIANTS = {b"IIRO": b"II*\0", b"IIRS": b"II*\0", b"MMOR": b"MM\0*", b"IIU\0": b"II*\0"}
_FUJIFILM, _PANASONIC, _CANON, _OLD_CANON = b"FUJIFILMCCD-RAW", b"IIU\0", b"ftypcrx ", b"HEAPCCDR"
_OTHER_SIGNATURES = (b"FOVb", b"\0MRM")  # Sigma, Minolta
_WIDTH, _HEIGHT, _COMPRESSION, _PHOTOMETRIC = 0x0100, 0x0101, 0x0103, 0x0106
_STRIPS, _STRIP_BYTES, _SUB_DIRECTORIES = 0x0111, 0x0117, 0x014A
_JPEG, _JPEG_BYTES, _DNG_VERSION = 0x0201, 0x0202, 0xC612
_SENSOR_PHOTOMETRIC = {32803, 34892}  # a colour filter array, linear sensor values
_SENSOR_COMPRESSION = {32767, 32769, 32770, 32772, 34713, 65000, 65535}  # of Sony, Epson, Samsung, Nikon, Kodak, Pentax
_MOST_DIRECTORIES, _MOST_VALUES, _MOST_SEGMENTS, _MOST_HITS = 64, 64, 1000, 500
_USEFUL = 512  # pixels of the longest side
_LARGEST_PREVIEW = 128 << 20  # bytes
_START, _SEARCH_BYTES, _CHUNK = 4 << 20, 512 << 20, 4 << 20  # bytes
_FARTHEST = 1 << 50  # bytes from the start


@dataclass(frozen=True, slots=True)
class RawPreview:
    """The position of the preview in a RAW file, and the metadata of the photograph."""

    offset: int
    length: int
    size: tuple[int, int]  # of the photograph itself, if the directories have it, otherwise of the preview
    exif: tuple[bytes, ...] = ()  # TIFF blocks: picture, exposure, GPS; a single one contains all
    is_tiff: bool = False  # the file itself is one


@dataclass(slots=True)
class _Directories:
    is_raw: bool = False
    has_sensor: bool = False  # there are sensor values, which cannot be decoded here
    size: tuple[int, int] = (0, 0)
    previews: list[tuple[int, int]] = field(default_factory=list)  # offset and length


class NoPreview(ValueError):
    """A RAW file without a preview."""


def preview_of(file: BinaryIO) -> RawPreview | None:
    """Return the largest preview of a RAW file, None for a file of another kind. Raises `NoPreview`."""
    file.seek(0)
    head = file.read(16)
    signature, is_tiff, is_canon = head[:4], head[:4] in _TIFF, head[4:12] == _CANON
    directories = _Directories(is_raw=signature in _VARIANTS or (is_tiff and head[8:10] == b"CR"))
    if len(head) == 16 and (is_tiff or signature in _VARIANTS):
        _read_directories(file, _VARIANTS.get(signature, signature) + head[4:8], directories)
    elif head.startswith(_FUJIFILM) or is_canon or signature in _OTHER_SIGNATURES or head[6:14] == _OLD_CANON:
        directories.is_raw = True
    if not directories.is_raw:
        return None
    if head.startswith(_FUJIFILM) or is_canon or signature == _PANASONIC:
        directories.previews += list(_search(file, _START))
    best = _largest(file, directories.previews)
    if best is None or max(best[2]) < _USEFUL:
        best = _largest(file, [*([best[:2]] if best else []), *_search(file, _SEARCH_BYTES)])
    if best is None:
        if is_tiff and not directories.has_sensor:
            return None  # an ordinary TIFF with a RAW tag
        raise NoPreview("a RAW file without a JPEG preview")
    offset, length, size = best
    file.seek(0)
    start = b"" if is_tiff else file.read(_START)
    blocks: tuple[bytes, ...] = ()
    if is_canon:
        blocks = tuple(_box(start, kind) for kind in (b"CMT1", b"CMT2", b"CMT4"))
    elif signature in _VARIANTS:
        blocks = (_VARIANTS[signature] + start[4:],)
    return RawPreview(offset, min(length, _LARGEST_PREVIEW), max(size, directories.size, key=_area), blocks, is_tiff)


def _read_directories(file: BinaryIO, header: bytes, directories: _Directories) -> None:
    """Read the directories of a TIFF; an error in one ends only that one."""
    offsets = deque([ImageFileDirectory_v1(header).next])
    visited: set[int] = set()
    while offsets and len(visited) < _MOST_DIRECTORIES:
        at = offsets.popleft()
        if at in visited or at < 8:
            continue
        visited.add(at)
        directory = ImageFileDirectory_v1(header)
        with suppress(Exception):  # Pillow raises whatever a damaged directory leads to
            file.seek(at)
            directory.load(file)
            offsets += [directory.next, *_integers(directory, _SUB_DIRECTORIES)]
            _note(directory, directories)


def _integers(directory: ImageFileDirectory_v1, tag: int) -> list[int]:
    return [value for value in directory.get(tag, ())[:_MOST_VALUES] if isinstance(value, int)]


def _note(directory: ImageFileDirectory_v1, directories: _Directories) -> None:
    """Add the information of one directory."""
    tags = (_PHOTOMETRIC, _COMPRESSION, _WIDTH, _HEIGHT, _JPEG, _JPEG_BYTES)
    numbers = ((*_integers(directory, tag), 0)[0] for tag in tags)
    photometric, compression, width, height, jpeg, jpeg_bytes = numbers
    is_sensor = photometric in _SENSOR_PHOTOMETRIC or compression in _SENSOR_COMPRESSION
    directories.is_raw |= is_sensor or _DNG_VERSION in directory
    directories.has_sensor |= is_sensor
    if is_sensor:
        directories.size = max(directories.size, (width, height), key=_area)
    if jpeg and jpeg_bytes:
        directories.previews.append((jpeg, jpeg_bytes))
    strips, lengths = _integers(directory, _STRIPS), _integers(directory, _STRIP_BYTES)
    if compression in (6, 7) and not is_sensor and len(strips) == len(lengths) == 1:
        directories.previews.append((strips[0], lengths[0]))


def _box(content: bytes, kind: bytes) -> bytes:
    """Return the body of a box of a CR3, whose length is in front of its kind."""
    at = content.find(kind)
    return content[at + 4 : at - 4 + int.from_bytes(content[at - 4 : at], "big")] if at >= 4 else b""


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
    for _ in range(_MOST_SEGMENTS):
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


def _search(file: BinaryIO, most: int) -> Iterator[tuple[int, int]]:
    """Yield offsets in the first bytes at which a JPEG may begin."""
    position, tail, hits = 0, b"", 0
    file.seek(0)
    while position < most and (chunk := file.read(_CHUNK)):
        text, start = tail + chunk, position - len(tail)
        at = text.find(b"\xff\xd8\xff")
        while at >= 0 and hits < _MOST_HITS:
            hits += 1
            yield start + at, _LARGEST_PREVIEW
            file.seek(position + len(chunk))
            at = text.find(b"\xff\xd8\xff", at + 1)
        position, tail = position + len(chunk), text[-2:]
