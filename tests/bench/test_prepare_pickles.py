"""Pickles are read, never run."""

from __future__ import annotations

import collections
import contextlib
import datetime
import pickle
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot.bench.prepare.pickles import Opaque, PickledArray, read_pickle
from mascot.errors import InputError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)

_atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_keys = (
    st.text()
    | st.binary(min_size=1)
    | st.integers(-(2**63), 2**63)
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False)
)
_plain = st.recursive(
    _atoms | st.binary(min_size=1),
    lambda inner: (
        st.lists(inner, max_size=5) | st.lists(inner, max_size=5).map(tuple) | st.dictionaries(_keys, inner, max_size=5)
    ),
    max_leaves=25,
)  # without empty bytes, sets and complex numbers, which old protocols write as calls


@settings(deadline=None, max_examples=150)
@given(_plain, st.sampled_from(PROTOCOLS))
def test_plain_data_is_what_pickle_makes_of_it(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    ours, theirs = read_pickle(data), pickle.loads(data)
    assert ours == theirs
    assert repr(_sorted(ours)) == repr(_sorted(theirs))  # 1, 1.0 and True are equal, and yet not the same


def _sorted(value: Any) -> Any:
    """Sets have no order to compare."""
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(repr, map(_sorted, value)))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_sorted, value))
    if isinstance(value, dict):
        return [(_sorted(key), _sorted(part)) for key, part in value.items()]
    return value


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=60))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with contextlib.suppress(InputError):
        read_pickle(data)


@settings(deadline=None, max_examples=150)
@given(_plain, st.sampled_from(PROTOCOLS), st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_is_survived(value: Any, protocol: int, where: int, byte: int) -> None:
    data = bytearray(pickle.dumps(value, protocol))
    data[where % len(data)] = byte
    with contextlib.suppress(InputError):
        read_pickle(bytes(data))
    with pytest.raises(InputError, match="pickle must"):
        read_pickle(pickle.dumps(value, protocol)[:-1])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "kind", ["?", "i1", "i2", "<i4", ">i4", "i8", "u2", "u8", "f2", "f4", "<f8", ">f8", "c8", "c16"]
)
def test_numbers_and_arrays_of_numpy(protocol: int, kind: str) -> None:
    for array in (
        np.array([[0, 1, 2], [3, 4, 5]]).astype(kind),
        np.asfortranarray(np.arange(6).reshape(2, 3).astype(kind)),
        np.arange(9).astype(kind)[::2],
        np.zeros((0, 3), kind),
        np.array(1, kind),
    ):
        data = pickle.dumps({"a": array, "again": array, "one": array.dtype.type(1)}, protocol)
        found = read_pickle(data)
        assert found["a"].tolist() == (array.tolist() if array.size else [])
        assert found["a"] is found["again"]
        assert found["one"] == 1
        assert type(found["one"]) in (bool, int, float, complex)


def test_a_true_record_of_skyscript() -> None:
    record = {
        "box": (8.5, np.float64(47.3), 8.6, 47.4),
        "time": (2021, 7, 3, 10, 20),
        "center_tags": {"building": "church"},
        "surrounding_tags": [{"highway": "path"}, collections.OrderedDict(landuse="forest")],
        "seen": datetime.date(2021, 7, 3),
    }
    for protocol in PROTOCOLS:
        found = read_pickle(pickle.dumps(record, protocol))
        seen, tags = found.pop("seen"), found["surrounding_tags"].pop()
        assert (type(seen), seen.name) == (Opaque, "datetime.date")
        assert (type(tags), tags.name) == (Opaque, "collections.OrderedDict")
        assert found == {name: record[name] for name in found} | {"surrounding_tags": [{"highway": "path"}]}


def test_arrays_of_anything_but_numbers_are_refused() -> None:
    for array in (np.array([object()]), np.array(["text"]), np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])):
        with pytest.raises(InputError, match=r"must hold numbers|must have at most"):
            read_pickle(pickle.dumps({"a": array}, 2))["a"].tolist()
    whole = pickle.dumps(np.arange(3), 3)
    with pytest.raises(InputError, match="fill its shape"):
        read_pickle(whole.replace(b"K\x03\x85", b"K\x04\x85")).tolist()
    with pytest.raises(InputError, match="at most 65536 bytes"):
        read_pickle(pickle.dumps(np.zeros(10_000))).tolist()
    assert PickledArray(b"", None, (10**9, 0)).tolist.__self__ is not None
    nothing = pickle.dumps(np.zeros((7, 0)), 4).replace(b"K\x07", b"K\xff")
    assert read_pickle(nothing).tolist() == []


class _Runs:
    """Pickled, it is a call of a function with arguments."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.call = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self) -> Any:
        return self.call


class _Stateful:
    def __setstate__(self, state: str) -> None:
        Path(state).touch()

    def __getstate__(self) -> str:
        return self.path  # type: ignore[attr-defined]


class _New:
    def __new__(cls, path: str = "") -> _New:
        if path:
            Path(path).touch()
        return super().__new__(cls)

    def __getnewargs__(self) -> tuple[str]:
        return (self.path,)  # type: ignore[attr-defined]


class _NewNamed(_New):
    def __getnewargs_ex__(self) -> Any:
        return (), {"path": self.path}  # type: ignore[attr-defined]


def _malicious(path: Path) -> dict[str, bytes]:
    """Pickles that make the file when `pickle.loads` reads them."""
    import os

    made = {}
    text = str(path)
    stateful, new, named = _Stateful(), _New(), _NewNamed()
    stateful.path = new.path = named.path = text  # type: ignore[attr-defined]
    for protocol in PROTOCOLS:
        made[f"os.system {protocol}"] = pickle.dumps(_Runs(os.system, f"touch '{text}'"), protocol)
        made[f"eval {protocol}"] = pickle.dumps(_Runs(eval, f"open({text!r}, 'w').close()"), protocol)
        made[f"nested {protocol}"] = pickle.dumps({"box": [_Runs(list, _Runs(map, open, [text], ["w"]))]}, protocol)
        made[f"setstate {protocol}"] = pickle.dumps(stateful, protocol)
        if protocol >= 2:
            made[f"newobj {protocol}"] = pickle.dumps(new, protocol)
            made[f"newobj_ex {protocol}"] = pickle.dumps(named, protocol)
    line = text.encode()
    made["inst"] = b"(S'" + line + b"'\nS'w'\niio\nopen\n."
    made["obj"] = b"(cio\nopen\nS'" + line + b"'\nS'w'\no."
    made["stack global"] = (
        b"\x80\x04\x8c\x02io\x8c\x04open\x93" + b"X" + struct.pack("<I", len(line)) + line + b"\x8c\x01w\x86R."
    )
    made["copyreg"] = (
        b"ccopyreg\n__newobj__\n(c" + __name__.encode() + b"\n_New\nX" + struct.pack("<I", len(line)) + line + b"tR."
    )
    return made


def test_malicious_pickles_do_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "made"
    for name, data in _malicious(victim).items():
        pickle.loads(data)
        assert victim.exists(), f"{name} must be a true attack"
        victim.unlink()
        with contextlib.suppress(InputError):
            read_pickle(data)
        assert not victim.exists(), name


def test_no_module_is_imported(tmp_path: Path) -> None:
    (tmp_path / "trap_module.py").write_text(f"open({str(tmp_path / 'made')!r}, 'w').close()\nthing = print\n")
    code = (
        "import sys\n"
        "from mascot.bench.prepare.pickles import read_pickle\n"
        "for data in (b'ctrap_module\\nthing\\n.', b'\\x80\\x04\\x8c\\x0btrap_module\\x8c\\x05thing\\x93)R.',\n"
        "             b'(itrap_module\\nthing\\n.', b'(ctrap_module\\nthing\\no.'):\n"
        "    print(read_pickle(data).name)\n"
        "assert 'trap_module' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "trap_module.thing\n" * 4, done.stderr
    assert not (tmp_path / "made").exists()


def test_names_are_never_the_real_thing() -> None:
    for data in (
        b"c__builtin__\nbytearray\n(I1000000000\ntR.",  # would take a gigabyte
        b"c__builtin__\nbytes\n(I1000000000\ntR.",
        b"c_codecs\nencode\n(VUEsDB\nVbase64\ntR.",
        b"c__builtin__\ngetattr\n(c__builtin__\nstr\nVupper\ntR.",
    ):
        assert isinstance(read_pickle(data), Opaque)
    with pytest.raises(InputError, match="must hold numbers"):
        read_pickle(b"cnumpy\ndtype\n(I1\ntRp0\n0cnumpy.core.multiarray\nscalar\n(g0\nVxx\ntR.")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x82\x01.", "EXT1"),
        (b"\x83\x01\x00.", "EXT2"),
        (b"\x84\x01\x00\x00\x00.", "EXT4"),
        (b"Pname\n.", "PERSID"),
        (b"K\x01Q.", "BINPERSID"),
        (b"\x97.", "NEXT_BUFFER"),
        (b"}]K\x01s.", "key in a pickle must be text or a short number, got a list"),
        *(
            (data, "must be whole and plain")
            for data in (
                b"\x80\x09N.", b"h\x07.", b"0.", b".", b"t.", b"(K\x01(0a.", b"(K\x01d.", b"K\x01K\x02R.", b"K\x01)R.",
                b"K\x01K\x02a.", b"N", b"", b"L" + b"9" * 5000 + b"L\n.",
                b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # BINBYTES8 of nine exabytes
                b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", b"\x96\xff\xff\xff\xff\xff\xff\xff\x7f.",
                b"\x8b\xff\xff\xff\x7f.",
            )
        ),
    ],
)  # fmt: skip
def test_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_pickle(data)


def test_a_huge_memo_index_costs_nothing() -> None:
    assert read_pickle(b"K\x01r\xff\xff\xff\xff0j\xff\xff\xff\xff.") == 1


def test_a_pickle_has_a_largest_size() -> None:
    with pytest.raises(InputError, match="at most 10 bytes, got 11"):
        read_pickle(b"K\x01" * 5 + b".", most=10)


_TEXT = b"X" + struct.pack("<I", 500_000) + b"x" * 500_000
_EMOJI = b"X" + struct.pack("<I", 500_000) + b"x" * 499_996 + "\U0001f600".encode()
HOSTILE = {
    "sets": b"\x8f" * 1_000_000 + b".",
    "sets, as many as there may be": b"\x8f" * 260_000 + b".",
    "dicts": b"(" + b"}" * 260_000 + b"t.",
    "lists": b"]" * 260_000 + b".",
    "memo": b"N" + b"\x94" * 260_000 + b".",
    "nested": b"]" * 130_000 + b"a" * 129_999 + b".",
    "shared": b"N" + b"q\x00h\x00\x86" * 60_000 + b".",
    "wide text": _EMOJI + b".",
    "copies": _TEXT
    + b"q\x000X\x07\x00\x00\x00latin-1q\x020c_codecs\nencode\nq\x010("
    + b"h\x01h\x00h\x02\x86R" * 9_000
    + b"t.",
    "long arguments": b"(" + b"N" * 100_000 + b"tq\x000cx\ny\nq\x010(" + b"h\x01h\x00R" * 30_000 + b"t.",
    "a promise of 8 GB": b"\x96\xff\xff\xff\xff\x01\x00\x00\x00.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_allocates_no_more_than_it_may(name: str) -> None:
    data, memory = HOSTILE[name], 1 << 26
    tracemalloc.start()
    try:
        with contextlib.suppress(InputError):
            read_pickle(data, memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < memory + (4 << 20)


def test_keys_that_collide_are_refused() -> None:
    modulus = 2**61 - 1
    assert hash(modulus * 2**20) == hash(modulus * (2**20 + 1))
    assert hash(complex(-1000003.0, 1.0)) == hash(complex(-2000006.0, 2.0))
    for keys in (
        [modulus * (2**20 + step) for step in range(1000)],
        [complex(-1000003.0 * step, step) for step in range(1000)],
        [(step,) for step in range(1000)],
        [frozenset([step]) for step in range(1000)],
    ):
        for value in (dict.fromkeys(keys), set(keys), frozenset(keys)):
            for protocol in (2, 4):
                if protocol == 4 or isinstance(value, dict):
                    with pytest.raises(InputError, match="must be text or a short number"):
                        read_pickle(pickle.dumps(value, protocol))


def test_few_numbers_can_have_one_hash() -> None:
    """What `read_pickle` allows as keys: of one hash there are some dozens of numbers at most."""
    alike = [2.0 ** (61 * step) for step in range(-17, 17)]
    assert len({hash(value) for value in alike}) == 1
    assert read_pickle(pickle.dumps(dict.fromkeys(alike))).keys() == set(alike)
