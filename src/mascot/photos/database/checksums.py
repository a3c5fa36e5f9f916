"""Checksums of arrays, block by block, and of files: damage on a disk is detected when it is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np
import xxhash
from numpy.typing import NDArray

from mascot.errors import InputError

Sums = NDArray[np.uint64]
Rows = NDArray[np.float32]

_BLOCK = 128 * 1024  # approximate bytes of an array per checksum: blocks are whole rows
_PART = 1 << 20  # bytes of an array that are verified and then used while they are in the CPU cache
_LARGE = 32 << 20  # bytes of an array above which all cores share the work
_CHUNK = 1 << 20  # bytes of a file read at a time
_RECHECK_S = 3600.0  # after which a process verifies a file again


class DamagedIndex(InputError):
    """A derived index that does not match its checksums."""


def checksum(content: bytes | bytearray | memoryview) -> int:
    """Return a 64-bit hash, which detects accidents but not forgeries."""
    return xxhash.xxh3_64_intdigest(content)


def file_checksum(file: IO[bytes]) -> int:
    digest = xxhash.xxh3_64()
    file.seek(0)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.intdigest()


def rows_of_block(row_bytes: int) -> int:
    """Return the number of rows of this length per checksum, for reading all rows."""
    return max(1, _BLOCK // max(row_bytes, 1))


class Watch:
    """Decides when a verified file must be verified again: after a change, and after an hour.

    The file stays open: another file may take its name while this process has it mapped.
    """

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb", buffering=0)  # closed with this object: a finalizer in Python can swallow a Ctrl-C
        self._name, self._state = path.name, self._current_state()
        self._expires = time.monotonic() + _RECHECK_S

    def has_expired(self) -> bool:
        """Return whether the file has changed, or an hour has passed, since this last returned True.

        Raises `DamagedIndex` if the size has changed: reading a mapping past its end kills the process.
        """
        state = self._current_state()
        if state == self._state and time.monotonic() < self._expires:
            return False
        if state[0] != self._state[0]:
            raise DamagedIndex(f"{self._name} has {state[0]} bytes and should have {self._state[0]}")
        self._state, self._expires = state, time.monotonic() + _RECHECK_S
        return True

    def _current_state(self) -> tuple[int, ...]:
        status = os.fstat(self.file.fileno())
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class CheckedFile:
    """A file that can only be verified as a whole: when it is opened, and again when it changes or an hour has passed.

    `expected` is the `file_checksum` of the file as it was written.
    """

    def __init__(self, path: Path, expected: int) -> None:
        self._name, self._expected = path.name, expected
        self._watch, self._is_verified = Watch(path), False
        self.verify()

    def verify(self) -> None:
        """Verify the file if that is due. Raises `DamagedIndex`."""
        if self._watch.has_expired():
            self._is_verified = False
        if not self._is_verified and file_checksum(self._watch.file) != self._expected:
            raise DamagedIndex(f"{self._name} is damaged")
        self._is_verified = True


class CheckedRows:
    """The rows of an array, each block verified when this process first reads it, and again when `watch` says so.

    There is a checksum for every `block_rows` rows (default: 128 KiB); without `sums` rows are not checked.
    """

    def __init__(
        self, array: Rows, sums: Sums | None = None, block_rows: int | None = None, watch: Watch | None = None
    ) -> None:
        self._array, self._sums, self._watch = array, sums, watch
        self._block_rows = block_rows or rows_of_block(array[:1].nbytes)
        self._unverified = np.ones(0 if sums is None else len(sums), bool)  # blocks

    def map(self, compute: Callable[[Rows], Rows]) -> Rows:
        """Return a number for every row. Raises `DamagedIndex`.

        `compute` gets a part of the rows at a time, just verified: while they are in the CPU cache, a checksum costs a
        third. Parts begin at multiples of 64 rows, so that BLAS rounds alike for any number of threads.
        """
        self._begin()
        results = np.empty(len(self._array), np.float32)
        step = max(_PART // max(self._array[:1].nbytes, 1) // 64, 1) * 64

        def fill(first: int) -> None:
            last = min(first + step, len(results))
            self._verify(np.arange(first // self._block_rows, -(-last // self._block_rows)))
            results[first:last] = compute(self._array[first:last])

        starts = range(0, len(results), step)
        if self._array.nbytes < _LARGE:
            list(map(fill, starts))
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(fill, starts))
        return results

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return these rows. Raises `DamagedIndex`."""
        self._begin()
        if self._unverified.any():
            self._verify(np.unique(rows // self._block_rows))
        return self._array[rows]

    def _begin(self) -> None:
        if self._watch is not None and self._watch.has_expired():
            self._unverified[:] = True

    def _verify(self, blocks: NDArray[np.int64]) -> None:
        if self._sums is None:
            return
        content = memoryview(self._array.view(np.uint8)).cast("B")  # type: ignore[arg-type]
        length = self._block_rows * self._array[:1].nbytes
        blocks = blocks[self._unverified[blocks]]
        for block, expected in zip(blocks.tolist(), self._sums[blocks].tolist(), strict=True):
            if checksum(content[block * length : (block + 1) * length]) != expected:
                raise DamagedIndex(f"the vectors {block * self._block_rows} and following are damaged")
        self._unverified[blocks] = False
