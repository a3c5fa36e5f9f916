"""Pickles are read, never run."""

from __future__ import annotations

import contextlib
import datetime
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.bench.prepare.outcomes import Loss
from mascot.bench.prepare.skyscript import read_record

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@settings(max_examples=30)
@given(st.sampled_from(PROTOCOLS), st.integers(0, 10**6), st.integers(0, 255), st.binary(max_size=60))
def test_damage_is_refused(protocol: int, at: int, byte: int, noise: bytes) -> None:
    data = pickle.dumps({"box": (8.5, 47, 8.6, 48), "tags": {"building": ["church", None]}}, protocol)
    with pytest.raises(Loss, match="wrong content"):
        read_record(data[:-1])
    changed = bytearray(data)
    changed[at % len(data)] = byte
    for content in (bytes(changed), noise):
        with contextlib.suppress(Loss):
            read_record(content)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numbers_and_arrays_of_numpy_are_read_and_other_objects_ignored(protocol: int) -> None:
    other = {"seen": datetime.date(2021, 7, 3), "tags": OrderedDict(a=1), "path": Path("a")}
    for kind in (">i4", "f4", "<f8"):
        fortran = np.asfortranarray(np.arange(6).reshape(2, 3).astype(kind))
        for array in (fortran, np.arange(9).astype(kind)[::2], np.array(1, kind)):
            record = read_record(pickle.dumps({"array": array, "number": array.dtype.type(1), **other}, protocol))
            np.testing.assert_array_equal(record["array"], array)
            assert (record["array"].dtype.kind, record["number"]) == (array.dtype.kind, 1)


class _Runs:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def test_malicious_pickles_do_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    attacks = [b"(S'%b'\nS'w'\niio\nopen\n." % str(victim).encode()]
    for protocol in PROTOCOLS:
        attacks.append(pickle.dumps(_Runs(os.system, f"touch '{victim}'"), protocol))
        attacks.append(pickle.dumps({"box": [_Runs(list, _Runs(map, open, [str(victim)], ["w"]))]}, protocol))
    for data in attacks:
        pickle.loads(data)
        assert victim.exists(), "a true attack"
        victim.unlink()
        with contextlib.suppress(Loss):
            read_record(data)
        assert not victim.exists()
