"""Checksums of arrays and files, block by block, so that damage on a disk is noticed when it is read."""

from __future__ import annotations

import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from mascot.errors import InputError

Sums = NDArray[np.uint64]

_BLOCK = 128 * 1024  # bytes of an array under one checksum, about: whole rows
_MANY = 256  # blocks from which on all cores verify them
_FILE_BLOCK = 4 << 20  # bytes of a file under one checksum
_TRUST_S = 24 * 3600  # after which a file that has not changed is verified again
_SETTLED_S = 2.0  # two changes within this time may leave the same time stamps


class DamagedIndex(InputError):
    """A derived index that does not hold what was written to it."""


def checksum(content: bytes | bytearray | memoryview) -> int:
    """A hash of 64 bits. It finds accidents, not forgeries."""
    return xxhash.xxh3_64_intdigest(content)


def rows_of_block(row_bytes: int) -> int:
    """How many rows of this length stand under one checksum."""
    return max(1, _BLOCK // max(row_bytes, 1))


def file_checksums(path: Path) -> list[int]:
    """A checksum of every block of a file, read by all cores."""
    size = path.stat().st_size
    if size == 0:
        return []
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        memoryview(content) as view,
        ThreadPoolExecutor(min(os.cpu_count() or 1, -(-size // _FILE_BLOCK))) as pool,
    ):
        return list(pool.map(lambda first: _part_checksum(view, first), range(0, size, _FILE_BLOCK)))


def _part_checksum(view: memoryview, first: int) -> int:
    with view[first : first + _FILE_BLOCK] as part:
        return checksum(part)


class Verification:
    """Remembers beside a file that all of it was verified: for a day, unless the file changes."""

    def __init__(self, path: Path) -> None:
        self._record = path.with_name(f"{path.name}.verified")
        status = path.stat()
        self._state = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        self._changed = max(status.st_mtime, status.st_ctime)

    def holds(self) -> bool:
        """Whether this state of the file was verified."""
        try:
            state, _, verified = self._record.read_text("ascii").partition("\n")
            return state == self._state and 0 <= time.time() - float(verified) < _TRUST_S
        except (OSError, ValueError):
            return False

    def note(self) -> None:
        """Remember that this state of the file was verified, where the folder can be written to."""
        now = time.time()
        if now - self._changed > _SETTLED_S:
            with suppress(OSError):
                self._record.write_text(f"{self._state}\n{now}", "ascii")


class CheckedRows:
    """The rows of an array, each block verified when it is first read.

    Parameters
    ----------
    array
        The rows, contiguous in memory.
    sums
        A checksum for every block of rows; None for rows that need no check.
    verification
        Where it is remembered that all rows were verified.
    """

    def __init__(
        self, array: NDArray[np.float32], sums: Sums | None = None, verification: Verification | None = None
    ) -> None:
        self._array, self._sums, self._verification = array, sums, verification
        self._block = rows_of_block(array[:1].nbytes)
        self._waiting = np.ones(0 if sums is None else len(sums), bool)  # blocks that were not verified yet

    def all(self) -> NDArray[np.float32]:
        """Every row. Raises `DamagedIndex`."""
        if self._waiting.any():
            self._verify(np.flatnonzero(self._waiting))
            if self._verification is not None:
                self._verification.note()
        return self._array

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """These rows. Raises `DamagedIndex`."""
        if self._waiting.any():
            blocks = np.unique(rows // self._block)
            self._verify(blocks[self._waiting[blocks]])
        return self._array[rows]

    def _verify(self, blocks: NDArray[np.int64]) -> None:
        assert self._sums is not None
        content = memoryview(self._array.view(np.uint8)).cast("B")  # type: ignore[arg-type]
        length = self._block * self._array[:1].nbytes
        sums = self._sums.tolist()

        def find_damage(part: NDArray[np.int64]) -> list[int]:
            return [i for i in part.tolist() if checksum(content[i * length : (i + 1) * length]) != sums[i]]

        parts = np.array_split(blocks, (os.cpu_count() or 1) if len(blocks) > _MANY else 1)
        if len(parts) == 1:
            damaged = find_damage(blocks)
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                damaged = list(chain.from_iterable(pool.map(find_damage, parts)))
        if damaged:
            raise DamagedIndex(f"the vectors {damaged[0] * self._block} and following are damaged")
        self._waiting[blocks] = False
