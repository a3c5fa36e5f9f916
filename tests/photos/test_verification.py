"""What was verified is not verified again within a day, unless it has changed; `--check` always reads everything."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mascot.photos import blocks
from mascot.photos.blocks import CheckedRows, DamagedIndex, Verification, checksum, rows_of_block

_AN_HOUR_AGO = time.time_ns() - 3600 * 10**9


def _rows(path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint64]]:
    array = np.arange(200_000, dtype=np.float32).reshape(-1, 100)
    path.write_bytes(array.tobytes())
    step = rows_of_block(400)
    sums = [checksum(array[first : first + step].tobytes()) for first in range(0, len(array), step)]
    return array, np.array(sums, np.uint64)


def test_a_file_is_verified_again_after_a_day_or_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.npy"
    array, sums = _rows(path)
    monkeypatch.setattr(blocks, "_SETTLED_S", -1.0)  # the file was written just now
    assert not Verification(path).holds()
    CheckedRows(array, sums, Verification(path)).all()
    assert Verification(path).holds()
    with monkeypatch.context() as later:
        tomorrow = time.time() + 25 * 3600
        later.setattr(time, "time", lambda: tomorrow)
        assert not Verification(path).holds()
    os.utime(path, ns=(_AN_HOUR_AGO, _AN_HOUR_AGO))
    assert not Verification(path).holds()
    Verification(path).note()
    assert Verification(path).holds()
    record = tmp_path / "vectors.npy.verified"
    record.write_bytes(b"\xff" + record.read_bytes()[1:])
    assert not Verification(path).holds()


def test_a_file_written_a_moment_ago_is_not_taken_for_settled(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npy"
    array, sums = _rows(path)
    CheckedRows(array, sums, Verification(path)).all()
    assert list(tmp_path.iterdir()) == [path]


def test_damage_is_not_noted_as_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "vectors.npy"
    array, sums = _rows(path)
    monkeypatch.setattr(blocks, "_SETTLED_S", -1.0)
    array[5, 5] += 1
    with pytest.raises(DamagedIndex):
        CheckedRows(array, sums, Verification(path)).all()
    assert not Verification(path).holds()
