"""Every process verifies what it reads: at first, when the file changes, and every hour."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mascot.photos.database import checksums
from mascot.photos.database.checksums import CheckedFile, CheckedRows, DamagedIndex, Watch, checksum, rows_of_block

_AN_HOUR_AGO = time.time_ns() - 3600 * 10**9
_ROWS = np.arange(200_000, dtype=np.float32).reshape(-1, 100)


def _sums(array: NDArray[np.float32], step: int) -> NDArray[np.uint64]:
    return np.array([checksum(array[first : first + step].tobytes()) for first in range(0, len(array), step)], "u8")


def _first_column(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return rows[:, 0]


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_what_is_read_is_verified_and_nothing_else(data: st.DataObject) -> None:
    step = data.draw(st.sampled_from([1, 7, 64, rows_of_block(400)]))
    array, sums = _ROWS.copy(), _sums(_ROWS, step)
    damaged = data.draw(st.integers(0, len(array) - 1))
    array[damaged, data.draw(st.integers(0, 99))] += 1
    rows = np.array(data.draw(st.lists(st.integers(0, len(array) - 1), max_size=20)), np.int64)
    checked = CheckedRows(array, sums, step)
    if damaged // step in rows // step:
        with pytest.raises(DamagedIndex, match=f"the vectors {damaged // step * step} and following are damaged"):
            checked.take(rows)
    else:
        assert (checked.take(rows) == array[rows]).all()
    with pytest.raises(DamagedIndex):
        checked.map(_first_column)


def test_all_rows_are_mapped_in_order_by_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "_LARGE", 1)
    monkeypatch.setattr(checksums, "_PART", 40_000)
    for count in (0, 65, 2000):
        rows = CheckedRows(_ROWS[:count], _sums(_ROWS[:count], 7), 7)
        assert rows.map(_first_column).tolist() == _ROWS[:count, 0].tolist()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.npy"
    path.write_bytes(_ROWS.tobytes())
    return path


@pytest.fixture
def checked(path: Path) -> CheckedRows:
    """Rows that were verified, and then damaged without a trace in the times of the file, as a disk does it."""
    array = _ROWS.copy()
    rows = CheckedRows(array, _sums(_ROWS, 64), 64, Watch(path))
    rows.map(_first_column)
    array[5, 5] += 1
    return rows


def test_rows_are_verified_again_after_an_hour(checked: CheckedRows, monkeypatch: pytest.MonkeyPatch) -> None:
    checked.map(_first_column)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3601)
    with pytest.raises(DamagedIndex):
        checked.take(np.array([5]))


def test_rows_are_verified_again_after_a_change(checked: CheckedRows, path: Path) -> None:
    os.utime(path, ns=(_AN_HOUR_AGO, _AN_HOUR_AGO))
    with pytest.raises(DamagedIndex):
        checked.take(np.array([5]))


def test_rows_of_a_truncated_file_are_not_read(checked: CheckedRows, path: Path) -> None:
    path.write_bytes(_ROWS.tobytes()[:-1])
    with pytest.raises(DamagedIndex, match=r"vectors\.npy has 799999 bytes and should have 800000"):
        checked.take(np.array([700]))


def test_a_file_is_verified_again_after_a_change_even_under_another_name(path: Path) -> None:
    checked = CheckedFile(path, checksum(_ROWS.tobytes()))
    mapped = path.rename(path.with_name("mapped"))  # another process builds the index anew; this one has the old file
    path.write_bytes(_ROWS.tobytes())
    checked.verify()
    with mapped.open("r+b") as file:
        file.write(b"!")
    for _ in range(2):
        with pytest.raises(DamagedIndex):
            checked.verify()
