"""Checksums of arrays and files, block by block, so that damage on a disk is noticed when it is read."""

from __future__ import annotations

import mmap
import os
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from mascot.errors import InputError

Sums = NDArray[np.uint64]
Rows = NDArray[np.float32]

_BLOCK = 128 * 1024  # bytes of an array under one checksum, about: whole rows
_PART = 1 << 20  # bytes of an array that are verified and then computed with, while they are in the cache
_LARGE = 32 << 20  # bytes of an array from which on all cores share the work
_FILE_BLOCK = 4 << 20  # bytes of a file under one checksum
_AGAIN_S = 3600.0  # after which a process verifies again what it has verified
_TRUST_S = 24 * 3600  # for which a process trusts what another has verified, for its first search
_SETTLED_S = 2.0  # two changes within this time may leave the same time stamps


class DamagedIndex(InputError):
    """A derived index that does not hold what was written to it."""


def checksum(content: bytes | bytearray | memoryview) -> int:
    """A hash of 64 bits. It finds accidents, not forgeries."""
    return xxhash.xxh3_64_intdigest(content)


def rows_of_block(row_bytes: int) -> int:
    """How many rows of this length stand under one checksum, where all rows are read."""
    return max(1, _BLOCK // max(row_bytes, 1))


def file_checksums(path: Path) -> list[int]:
    """A checksum of every block of a file."""
    with path.open("rb") as file:
        return _checksums(file.fileno())


def _checksums(descriptor: int) -> list[int]:
    """A checksum of every block of an open file, read by all cores."""
    size = os.fstat(descriptor).st_size
    if size == 0:
        return []
    with (
        mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as content,
        memoryview(content) as view,
        ThreadPoolExecutor(min(os.cpu_count() or 1, -(-size // _FILE_BLOCK))) as pool,
    ):
        return list(pool.map(lambda first: _part_checksum(view, first), range(0, size, _FILE_BLOCK)))


def _part_checksum(view: memoryview, first: int) -> int:
    with view[first : first + _FILE_BLOCK] as part:
        return checksum(part)


class Record:
    """Remembers beside a file that all of it was verified, for other processes: for a day, unless the file changes."""

    def __init__(self, path: Path, status: os.stat_result) -> None:
        self._path = path.with_name(f"{path.name}.verified")
        self._state = " ".join(map(str, _state(status)))
        self._changed = max(status.st_mtime, status.st_ctime)

    def holds(self) -> bool:
        """Whether this state of the file was verified."""
        try:
            state, _, verified = self._path.read_text("ascii").partition("\n")
            return state == self._state and 0 <= time.time() - float(verified) < _TRUST_S
        except (OSError, ValueError):
            return False

    def write(self) -> None:
        """Remember that this state of the file was verified, where the folder can be written to."""
        now = time.time()
        if now - self._changed > _SETTLED_S:
            with suppress(OSError):
                self._path.write_text(f"{self._state}\n{now}", "ascii")


class Watch:
    """Tells when a file that this process has verified must be verified again: after a change, and after an hour.

    The file is kept open: it may be replaced by another of the same name, while this process has it mapped.
    """

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self.descriptor)
        self._name, self._state = path.name, _state(os.fstat(self.descriptor))
        self._until = time.monotonic() + _AGAIN_S

    def has_expired(self) -> bool:
        """Whether the file has changed, or an hour has passed, since this was last answered with yes.

        Raises `DamagedIndex` where the file has another size: reading a mapping behind its end ends the process.
        """
        state = _state(os.fstat(self.descriptor))
        if state == self._state and time.monotonic() < self._until:
            return False
        if state[0] != self._state[0]:
            raise DamagedIndex(f"{self._name} has {state[0]} bytes and should have {self._state[0]}")
        self._state, self._until = state, time.monotonic() + _AGAIN_S
        return True


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class CheckedFile:
    """A file that can only be verified as a whole.

    Parameters
    ----------
    sums
        What `file_checksums` returned when it was written.
    """

    def __init__(self, path: Path, sums: list[int]) -> None:
        self._path, self._sums = path, sums
        self._watch, self._verified = Watch(path), False

    def verify(self, *, trust: bool) -> None:
        """Verify the file unless this process has done so, or with `trust` another one. Raises `DamagedIndex`."""
        if self._watch.has_expired():
            self._verified = False
        if self._verified:
            return
        record = Record(self._path, os.fstat(self._watch.descriptor))
        if trust and record.holds():
            return
        if _checksums(self._watch.descriptor) != self._sums:
            raise DamagedIndex(f"{self._path.name} is damaged")
        self._verified = True
        record.write()


class CheckedRows:
    """The rows of an array, each block verified when this process first reads it, and again when `watch` says so.

    Parameters
    ----------
    array
        The rows, contiguous in memory.
    sums
        A checksum for every block of rows; None for rows that need no check.
    block_rows
        Rows of a block (default: those of 128 KiB).
    watch
        The file that the rows are mapped from.
    """

    def __init__(
        self,
        array: Rows,
        sums: Sums | None = None,
        block_rows: int | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._array, self._sums, self._watch = array, sums, watch
        self._block_rows = block_rows or rows_of_block(array[:1].nbytes)
        self._waiting = np.ones(0 if sums is None else len(sums), bool)  # blocks that were not verified yet

    def map(self, compute: Callable[[Rows], Rows]) -> Rows:
        """Return a number for every row. Raises `DamagedIndex`.

        `compute` gets some rows at a time, verified a moment ago: while they are in the processor's cache, a checksum
        costs a third. Parts begin at multiples of 64 rows, so that BLAS rounds the same whatever the number of threads.
        """
        self._begin()
        results = np.empty(len(self._array), np.float32)
        step = max(_PART // max(self._array[:1].nbytes, 1) // 64, 1) * 64

        def fill(starts: range) -> None:
            for first in starts:
                part = slice(first, first + step)
                last = min(part.stop, len(results))
                self._verify(np.arange(first // self._block_rows, -(-last // self._block_rows)))
                results[part] = compute(self._array[part])

        starts = range(0, len(results), step)
        if self._array.nbytes < _LARGE:
            fill(starts)
        else:
            threads = os.cpu_count() or 1
            stretches = [starts[len(starts) * i // threads : len(starts) * (i + 1) // threads] for i in range(threads)]
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(fill, stretches))
        return results

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return these rows. Raises `DamagedIndex`."""
        self._begin()
        if self._waiting.any():
            self._verify(np.unique(rows // self._block_rows))
        return self._array[rows]

    def _begin(self) -> None:
        if self._watch is not None and self._watch.has_expired():
            self._waiting[:] = True

    def _verify(self, blocks: NDArray[np.int64]) -> None:
        if self._sums is None:
            return
        content = memoryview(self._array.view(np.uint8)).cast("B")  # type: ignore[arg-type]
        length = self._block_rows * self._array[:1].nbytes
        blocks = blocks[self._waiting[blocks]]
        for block, expected in zip(blocks.tolist(), self._sums[blocks].tolist(), strict=True):
            if checksum(content[block * length : (block + 1) * length]) != expected:
                raise DamagedIndex(f"the vectors {block * self._block_rows} and following are damaged")
        self._waiting[blocks] = False
