"""Plain data from a pickle, without importing or calling anything that the pickle names."""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

import numpy as np

from mascot.errors import InputError

_REFUSED = ("EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER")
_MOST_INSTRUCTIONS = 1 << 16  # each builds at most some hundred bytes beyond what the pickle itself holds
_MOST_BYTES = 1 << 16  # of an array
_NUMERIC = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")


def read_pickle(data: bytes, most: int = 1 << 20) -> Any:
    """Return the plain data in a pickle of at most `most` bytes; raise `InputError` if it is damaged or too large.

    A name in the pickle is never looked up: what it would have built becomes an `Opaque`. Numbers and arrays of numpy
    are such values, which `numbers` decodes.

    >>> read_pickle(pickle.dumps({"box": (8.5, 47.3, 8.6, 47.4)}))
    {'box': (8.5, 47.3, 8.6, 47.4)}
    """
    if len(data) > most:
        raise InputError(f"a pickle must have at most {most} bytes, got {len(data)}")
    try:
        # Before anything is built: the unpickler allocates what a length or a memo index promises.
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data), 1):
            memo_index = int(argument or 0) if opcode.name.endswith("PUT") else 0
            if count > _MOST_INSTRUCTIONS or memo_index > len(data):
                raise ValueError("more memory than it may need")
            if opcode.name in _REFUSED:
                raise ValueError(f"the instruction {opcode.name}")
        return _Unpickler(io.BytesIO(data)).load()
    except Exception as error:  # damaged data may raise any exception
        raise InputError(f"a pickle must be whole and plain, got {str(error)[:100]!r}") from None


class Opaque:
    """What a name in a pickle would have built: the name, the arguments of the call, and the state."""

    name = ""
    arguments: tuple[Any, ...] = ()
    state: Any = None

    def __new__(cls, *arguments: Any, **_: Any) -> Opaque:
        value = super().__new__(cls)
        value.arguments = arguments[:8]  # no name that is decoded has more
        return value

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def append(self, *_: Any) -> None: ...

    extend = add = __setitem__ = append


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[Opaque]:
        return type("Opaque", (Opaque,), {"name": f"{module}.{name}"})


def numbers(value: Any) -> Any:
    """Return a number or nested lists of numbers, as they are or as numpy pickled them."""
    if isinstance(value, (list, tuple)):
        return [numbers(part) for part in value]
    if not isinstance(value, Opaque):
        return value
    try:
        kind = value.name.rpartition(".")[2]
        if kind == "scalar":
            dtype, raw, shape, fortran = *value.arguments, (), False
        elif kind == "_frombuffer":
            raw, dtype, shape, order = value.arguments
            fortran = order == "F"
        else:
            _, shape, dtype, fortran, raw = value.state
        if isinstance(raw, Opaque):  # protocols 0 to 2 write bytes as a call of _codecs.encode, and none as bytes()
            raw = raw.arguments[0].encode("latin-1") if raw.arguments else b""
        code, order = dtype.arguments[0], dtype.state[1]
        if len(raw) > _MOST_BYTES or code not in _NUMERIC or order not in ("<", ">", "|", "="):
            raise ValueError("too large, or not a number")
        array = np.frombuffer(raw, order + code).reshape(shape, order="F" if fortran else "C")
        return array.tolist() if array.size else []
    except (AttributeError, TypeError, ValueError, OverflowError, LookupError):
        raise InputError(f"a pickle must hold numbers or arrays that fill their shape, got {value.name}") from None
