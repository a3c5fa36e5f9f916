"""Pickles are read, never run."""

from __future__ import annotations

import contextlib
import datetime
import os
import pickle
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.bench.prepare.pickles import Opaque, numbers, read_pickle
from mascot.errors import InputError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
_atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_lists = lambda inner: st.lists(inner, max_size=5)  # noqa: E731
_plain = st.recursive(
    _atoms,
    lambda inner: _lists(inner) | _lists(inner).map(tuple) | st.dictionaries(_atoms, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=30)
@given(_plain, st.sampled_from(PROTOCOLS), st.integers(0, 10**6), st.integers(0, 255), st.binary(max_size=60))
def test_plain_data_is_read_and_damage_is_refused(value: Any, protocol: int, at: int, byte: int, noise: bytes) -> None:
    data = pickle.dumps(value, protocol)
    assert repr(read_pickle(data)) == repr(pickle.loads(data))
    with pytest.raises(InputError, match="pickle must"):
        read_pickle(data[:-1])
    changed = bytearray(data)
    changed[at % len(data)] = byte
    for content in (bytes(changed), noise):
        with contextlib.suppress(InputError):
            read_pickle(content)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numbers_and_arrays_of_numpy(protocol: int) -> None:
    for kind in ("?", ">i4", "f4", "<f8", "c16"):
        fortran = np.asfortranarray(np.arange(6).reshape(2, 3).astype(kind))
        for array in (fortran, np.arange(9).astype(kind)[::2], np.zeros((0, 3), kind), np.array(1, kind)):
            data = read_pickle(pickle.dumps({"array": array, "number": array.dtype.type(1)}, protocol))
            assert numbers(data["array"]) == (array.tolist() if array.size else [])
            assert numbers((data["number"], 2)) == [1, 2]
            assert type(numbers(data["number"])) in (bool, int, float, complex)
    seen = read_pickle(pickle.dumps({"seen": datetime.date(2021, 7, 3)}, protocol))["seen"]
    assert seen.name == "datetime.date"


@pytest.mark.parametrize("array", [np.array([object()]), np.array([(1, 2.0)], dtype="i4,f8"), np.zeros(10_000)])
def test_other_arrays_are_refused(array: np.ndarray) -> None:
    with pytest.raises(InputError, match="must hold numbers or arrays"):
        numbers(read_pickle(pickle.dumps(array, 2)))
    with pytest.raises(InputError, match="fill their shape"):
        numbers(read_pickle(pickle.dumps(np.arange(3), 3).replace(b"K\x03\x85", b"K\x04\x85")))


class _Runs:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def test_malicious_pickles_do_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    text, line = str(victim), str(victim).encode()
    attacks = {
        "inst": b"(S'" + line + b"'\nS'w'\niio\nopen\n.",
        "obj": b"(cio\nopen\nS'" + line + b"'\nS'w'\no.",
        "stack global": b"\x80\x04\x8c\x02io\x8c\x04open\x93X%b%b\x8c\x01w\x86R."
        % (struct.pack("<I", len(line)), line),
    }
    for protocol in PROTOCOLS:
        attacks[f"system {protocol}"] = pickle.dumps(_Runs(os.system, f"touch '{text}'"), protocol)
        attacks[f"nested {protocol}"] = pickle.dumps({"box": [_Runs(list, _Runs(map, open, [text], ["w"]))]}, protocol)
    for name, data in attacks.items():
        pickle.loads(data)
        assert victim.exists(), f"{name} must be a true attack"
        victim.unlink()
        with contextlib.suppress(InputError):
            read_pickle(data)
        assert not victim.exists(), name
    for data in (b"c__builtin__\ngetattr\n(c__builtin__\nstr\nVupper\ntR.", b"(itrap_module\nthing\n."):
        assert isinstance(read_pickle(data), Opaque), "names are never looked up"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"Pname\n.", "PERSID"),
        (b"K\x01r\xff\xff\xff\xff0j\xff\xff\xff\xff.", "more memory"),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "whole and plain"),  # BINBYTES8 of nine exabytes
        (b"K\x01" * 600_000, "at most 1048576 bytes"),
    ],
)
def test_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_pickle(data)


_TEXT = b"X" + struct.pack("<I", 500_000) + b"x" * 500_000
_ENCODE = b"q\x000X\x07\x00\x00\x00latin-1q\x020c_codecs\nencode\nq\x010("


@pytest.mark.parametrize(
    "data",
    [b"]" * 30_000 + b"a" * 29_999 + b".", _TEXT + _ENCODE + b"h\x01h\x00h\x02\x86R" * 900 + b"t."],
    ids=["nested", "copies"],
)
def test_reading_needs_little_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(InputError):
            read_pickle(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20
