"""What a pickle is made of, decoded from its bytes: sets, numbers, numpy's arrays; and the limits of it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mascot.errors import InputError

_DEEPEST = 64
_HEAVIEST = 1 << 24  # values and bytes, each counted as often as it is met
_KEY = 64  # values in one key of a dict or member of a set
_LONGEST_KEY = 64  # bits of a number that is a key: longer ones can be made to collide
_NUMERIC = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
_LATIN = ("latin1", "latin-1")


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something of a kind this reader does not know, by its name in the file."""

    name: str


@dataclass(slots=True)
class Dtype:
    """A numpy type in the making: its order of bytes comes in a later instruction."""

    code: str
    order: str = "<"

    def numpy(self) -> np.dtype[Any]:
        if self.code not in _NUMERIC or self.order not in ("<", ">", "|", "="):
            raise InputError(f"an array in a pickle must hold numbers, got type {self.code!r:.40}")
        return np.dtype(self.order + self.code)


@dataclass(slots=True)
class Array:
    """A numpy array in the making: its content comes in a later instruction."""

    shape: Any = (0,)
    dtype: Any = None
    fortran: bool = False
    raw: Any = b""

    def numpy(self) -> np.ndarray[Any, Any]:
        if not isinstance(self.dtype, Dtype):
            raise InputError("an array in a pickle must say what it holds, got none of it")
        kind, raw = self.dtype.numpy(), _raw(self.raw)
        shape = _numbers(self.shape)
        count = 1
        for size in shape:
            count *= size
        if len(shape) > 8 or count * kind.itemsize != len(raw):
            raise InputError(f"an array in a pickle must fill its shape {shape}, got {len(raw)} bytes")
        return np.frombuffer(raw, kind).reshape(shape, order="F" if self.fortran else "C").copy()


def checked_key(value: Any) -> Any:
    """The value, if it may be hashed: hashing a nest of shared tuples takes for ever."""
    left, open_values = _KEY, [value]
    while open_values:
        part = open_values.pop()
        left -= 1
        if isinstance(part, (tuple, frozenset)) and len(part) <= left:
            open_values.extend(part)
        elif not isinstance(part, (str, bytes, int, float, complex, Unknown, type(None))) or (
            isinstance(part, int) and part.bit_length() > _LONGEST_KEY
        ):
            raise InputError(f"a key in a pickle must be short and plain, got a {type(part).__name__}")
    return value


def _raw(value: Any) -> bytes:
    if isinstance(value, str):
        value = value.encode("latin-1")  # as Python 2 wrote bytes
    if not isinstance(value, (bytes, bytearray)):
        raise InputError(f"an array in a pickle must come as bytes, got {type(value).__name__}")
    return bytes(value)


def _numbers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, tuple) or not all(type(value) is int and 0 <= value < 1 << 40 for value in values):
        raise InputError(f"an array in a pickle must have a shape, got {type(values).__name__}")
    return values


def _one_list(arguments: Sequence[Any]) -> Iterable[Any]:
    if not arguments:
        return []
    if len(arguments) != 1 or type(arguments[0]) not in (list, tuple):
        raise InputError("a set in a pickle must be made of one list")
    return map(checked_key, arguments[0])


def _encoded(arguments: Sequence[Any]) -> bytes:
    if not arguments:
        return b""
    text, *coding = arguments
    if isinstance(text, (bytes, bytearray)) and not coding:
        return bytes(text)
    if not isinstance(text, str) or len(coding) != 1 or coding[0] not in _LATIN:
        raise InputError("bytes in a pickle must be written as Latin-1 text")
    return text.encode("latin-1")


def _complex(arguments: Sequence[Any]) -> complex:
    if len(arguments) != 2 or not all(isinstance(part, float) for part in arguments):
        raise InputError("a complex number in a pickle must have two parts")
    return complex(*arguments)


def _ordered(arguments: Sequence[Any]) -> dict[Any, Any]:
    if arguments:
        raise InputError("an ordered dict in a pickle must start empty")
    return {}


def _dtype(arguments: Sequence[Any]) -> Dtype:
    if not arguments or not isinstance(arguments[0], str):
        raise InputError("a numpy type in a pickle must have a name")
    return Dtype(arguments[0])


def _scalar(arguments: Sequence[Any]) -> Any:
    if len(arguments) != 2:
        raise InputError("a numpy number in a pickle must have a type and bytes")
    return Array((), arguments[0], False, arguments[1]).numpy().item()


def _empty_array(arguments: Sequence[Any]) -> Array:
    return Array()


def _filled_array(arguments: Sequence[Any]) -> Array:
    if len(arguments) != 4:
        raise InputError("a numpy array in a pickle must have bytes, a type, a shape and an order")
    raw, dtype, shape, order = arguments
    return Array(shape, dtype, order == "F", raw)


class Settling:
    """The last pass: arrays are made, and what is too deep, too large or holds itself is refused."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, int, int]] = {}  # a value, its weight, its height
        self._open: set[int] = set()

    def settled(self, value: Any) -> Any:
        return self._walk(value, 0)[0]

    def _walk(self, value: Any, depth: int) -> tuple[Any, int, int]:
        if isinstance(value, Dtype):
            return Unknown("numpy.dtype"), 1, 0
        if not isinstance(value, (list, tuple, dict, set, frozenset, Array)):
            return value, 1 + (len(value) if isinstance(value, (str, bytes, bytearray)) else 0), 0
        name = id(value)
        if name in self._open:
            raise InputError("a pickle must not hold itself")
        if name not in self._done:
            if depth >= _DEEPEST:
                raise InputError(f"a pickle must be at most {_DEEPEST} levels deep")
            self._open.add(name)
            self._done[name] = self._made(value, depth + 1)
            self._open.remove(name)
        made, weight, height = self._done[name]
        if depth + height > _DEEPEST:
            raise InputError(f"a pickle must be at most {_DEEPEST} levels deep")
        return made, weight, height

    def _made(self, value: Any, depth: int) -> tuple[Any, int, int]:
        if isinstance(value, Array):
            array = value.numpy()
            return array, 1 + array.nbytes, 1
        values = [*value.keys(), *value.values()] if isinstance(value, dict) else list(value)
        walked = [self._walk(part, depth) for part in values]
        weight = 1 + sum(part[1] for part in walked)
        if weight > _HEAVIEST:
            raise InputError(f"a pickle must hold at most {_HEAVIEST} values and bytes, written out in full")
        parts = [part[0] for part in walked]
        half = len(value)
        made = dict(zip(parts[:half], parts[half:], strict=True)) if isinstance(value, dict) else type(value)(parts)
        return made, weight, 1 + max((part[2] for part in walked), default=0)


DECODERS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "_codecs.encode": _encoded,
    "collections.OrderedDict": _ordered,
    "numpy.dtype": _dtype,
}
for _module in ("builtins", "__builtin__"):
    DECODERS[f"{_module}.set"] = lambda arguments: set(_one_list(arguments))
    DECODERS[f"{_module}.frozenset"] = lambda arguments: frozenset(_one_list(arguments))
    DECODERS[f"{_module}.bytes"] = _encoded
    DECODERS[f"{_module}.bytearray"] = lambda arguments: bytearray(_encoded(arguments))
    DECODERS[f"{_module}.complex"] = _complex
for _module in ("numpy.core", "numpy._core"):  # the second since numpy 2
    DECODERS[f"{_module}.multiarray.scalar"] = _scalar
    DECODERS[f"{_module}.multiarray._reconstruct"] = _empty_array
    DECODERS[f"{_module}.numeric._frombuffer"] = _filled_array
