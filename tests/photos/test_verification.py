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
from mascot.photos.database.checksums import (
    CheckedFile,
    CheckedRows,
    DamagedIndex,
    Watch,
    checksum,
    file_checksums,
    rows_of_block,
)

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


def test_rows_are_verified_again_after_an_hour_or_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.npy"
    path.write_bytes(_ROWS.tobytes())
    array, sums = _ROWS.copy(), _sums(_ROWS, 64)
    checked = CheckedRows(array, sums, 64, Watch(path))
    checked.map(_first_column)
    array[5, 5] += 1  # as a disk does it, without a trace in the file's times
    checked.map(_first_column)
    with pytest.raises(DamagedIndex):  # another process
        CheckedRows(array, sums, 64, Watch(path)).map(_first_column)
    now = time.monotonic()
    with monkeypatch.context() as later:
        later.setattr(time, "monotonic", lambda: now + 3601)
        with pytest.raises(DamagedIndex):
            checked.take(np.array([5]))
    array[5, 5] -= 1
    checked.map(_first_column)
    array[5, 5] += 1
    os.utime(path, ns=(_AN_HOUR_AGO, _AN_HOUR_AGO))
    with pytest.raises(DamagedIndex):
        checked.take(np.array([5]))
    path.write_bytes(_ROWS.tobytes()[:-1])
    with pytest.raises(DamagedIndex, match=r"vectors\.npy has 799999 bytes and should have 800000"):
        checked.take(np.array([700]))


def test_a_graph_is_trusted_for_one_search_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.usearch"
    path.write_bytes(_ROWS.tobytes())
    sums = file_checksums(path)
    CheckedFile(path, sums).verify(trust=True)
    assert list(tmp_path.iterdir()) == [path]  # written a moment ago: another change could leave the same times
    monkeypatch.setattr(checksums, "_SETTLED_S", -1.0)
    CheckedFile(path, sums).verify(trust=True)
    assert _is_recorded(path)
    other = [0]
    CheckedFile(path, other).verify(trust=True)
    with pytest.raises(DamagedIndex):
        CheckedFile(path, other).verify(trust=False)
    with monkeypatch.context() as later:
        tomorrow = time.time() + 25 * 3600
        later.setattr(time, "time", lambda: tomorrow)
        assert not _is_recorded(path)
    os.utime(path, ns=(_AN_HOUR_AGO, _AN_HOUR_AGO))
    assert not _is_recorded(path)
    with pytest.raises(DamagedIndex):
        CheckedFile(path, other).verify(trust=True)
    assert not _is_recorded(path)
    verified = CheckedFile(path, sums)
    verified.verify(trust=False)
    assert _is_recorded(path)
    record = tmp_path / "graph.usearch.verified"
    record.write_bytes(b"\xff" + record.read_bytes()[1:])
    assert not _is_recorded(path)
    path.rename(tmp_path / "mapped")  # another process builds the index anew; this one has the old file mapped
    path.write_bytes(_ROWS.tobytes())
    verified.verify(trust=False)
    with (tmp_path / "mapped").open("r+b") as file:
        file.write(b"!")
    with pytest.raises(DamagedIndex):
        verified.verify(trust=False)


def _is_recorded(path: Path) -> bool:
    return CheckedFile(path, [])._is_noted(" ".join(map(str, checksums._state(path.stat()))))
