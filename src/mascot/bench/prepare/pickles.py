"""Plain data from a pickle, without importing or calling anything that the pickle names.

This is Python's own unpickler with three restrictions. A name is never looked up: the few names that numpy's numbers
and arrays are written with are decoded here, and any other becomes an `Opaque`. The memory of every instruction and of
every decoded value is counted beforehand. Keys are of types whose hashes cannot be made to collide.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mascot.errors import InputError

_REFUSED = ("EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER")
_INSTRUCTION = 256  # bytes: the largest object (a set), its place on the stack and in a container or the memo
_CHARACTER = 4  # bytes of a character in memory, at most
_LARGEST_ARRAY = 1 << 16  # bytes
_NUMERIC = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
_NUMPY = tuple(f"{package}.{name}" for package in ("numpy.core", "numpy._core") for name in (
    "multiarray.scalar", "multiarray._reconstruct", "numeric._frombuffer",
))  # fmt: skip


def read_pickle(data: bytes, most: int = 1 << 20, memory: int = 1 << 26) -> Any:
    """Return the plain data in a pickle of any protocol; raise `InputError` if it is damaged or too large.

    Parts may be shared or nested in any depth, so look at what you need and do not print the whole.

    Parameters
    ----------
    data
        One pickle. Bytes after its end are ignored.
    most
        Largest pickle in bytes.
    memory
        Bytes that reading it may allocate.

    Examples
    --------
    >>> read_pickle(pickle.dumps({"box": (8.5, 47.3, 8.6, 47.4)}))
    {'box': (8.5, 47.3, 8.6, 47.4)}
    """
    if len(data) > most:
        raise InputError(f"a pickle must have at most {most} bytes, got {len(data)}")
    try:
        # Before anything is built: the whole must be there, since the unpickler allocates what a length promises.
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _REFUSED:
                raise InputError(f"a pickle must hold plain data, got the instruction {opcode.name}")
            size = len(argument) * _CHARACTER if isinstance(argument, (str, bytes, bytearray)) else 0
            memory -= _INSTRUCTION + size + (argument.bit_length() // 7 if isinstance(argument, int) else 0)
            if memory < 0:
                raise InputError("a pickle must not need more memory than it may")
        return _Unpickler(io.BytesIO(data), memory).load()
    except InputError:
        raise
    except Exception as error:  # whatever damaged data makes of the unpickler
        raise InputError(f"a pickle must be whole and plain, got {str(error)[:100]!r}") from None


class Opaque:
    """A name in a pickle, or a value that it would have built, of which nothing but the name is left."""

    __slots__ = ("_owner", "name")

    def __init__(self, name: str, owner: _Unpickler) -> None:
        self.name, self._owner = name, owner

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        """Return what the few decoded names stand for, and an `Opaque` for any other name."""
        name, sizes = self.name, [len(each) for each in arguments if isinstance(each, (str, bytes, bytearray))]
        self._owner.allocate(_INSTRUCTION + 8 * len(arguments) + sum(sizes))
        if name == "_codecs.encode" and arguments[1] in ("latin1", "latin-1"):
            return arguments[0].encode("latin-1")  # how protocols 0 to 2 write bytes ...
        if name == "__builtin__.bytes" and not arguments:
            return b""  # ... and none
        if name == "numpy.dtype":
            return PickledDtype(*arguments)
        if name not in _NUMPY:
            return Opaque(name, self._owner)
        if name.endswith("scalar"):
            return PickledArray(arguments[1], arguments[0], ()).tolist()
        if name.endswith("_frombuffer"):
            raw, dtype, shape, order = arguments
            return PickledArray(raw, dtype, shape, order == "F")
        return PickledArray()

    def __setstate__(self, state: Any) -> None:
        pass

    append = extend = add = __setstate__

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


class PickledArray:
    """A numpy number or array: its parts, until `tolist` decodes them."""

    __slots__ = ("_parts",)

    def __init__(self, raw: Any = b"", dtype: Any = None, shape: Any = (0,), fortran: Any = False) -> None:
        self._parts = (raw, dtype, shape, fortran)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, raw = state
        self._parts = (raw, dtype, shape, fortran)

    def tolist(self) -> Any:
        """Return the values as a number or as nested lists; raise `InputError` for anything but a few numbers."""
        raw, dtype, shape, fortran = self._parts
        raw = raw.encode("latin-1") if isinstance(raw, str) else raw  # as Python 2 wrote bytes
        if not isinstance(raw, (bytes, bytearray)) or len(raw) > _LARGEST_ARRAY:
            raise InputError(f"an array in a pickle must have at most {_LARGEST_ARRAY} bytes")
        try:
            values = np.frombuffer(raw, dtype.numpy()).reshape(shape, order="F" if fortran else "C")
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise InputError("an array in a pickle must hold numbers and fill its shape") from None
        return values.tolist() if raw else []  # a shape of zeros may have any other length


class PickledDtype:
    """A numpy type; its byte order follows in a later instruction."""

    __slots__ = ("_code", "_order")

    def __init__(self, code: Any, *_: Any) -> None:
        self._code, self._order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._order = state[1]

    def numpy(self) -> np.dtype[Any]:
        if self._code not in _NUMERIC or self._order not in ("<", ">", "|", "="):
            raise ValueError("not a number")
        kind: np.dtype[Any] = np.dtype(self._order + self._code)
        return kind


class _Unpickler(pickle._Unpickler):  # in Python: the one in C offers no place to check a key
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, stream: io.BytesIO, memory: int) -> None:
        super().__init__(stream)
        self._memory = memory

    def find_class(self, module: str, name: str) -> Opaque:
        return Opaque(f"{module}.{name}", self)

    def allocate(self, size: int) -> None:
        """Count bytes that are about to be allocated."""
        self._memory -= size
        if self._memory < 0:
            raise InputError("a pickle must not need more memory than it may")


def _checking_keys(load: Callable[[Any], None], marked: bool, step: int) -> Callable[[Any], None]:
    """Return the instruction with a check of its keys: above the mark, or the one below the top of the stack."""

    def checked(machine: Any) -> None:
        for value in machine.stack[::step] if marked else machine.stack[-2:-1]:
            _checked(value)
        load(machine)

    return checked


def _new(machine: Any) -> None:
    """Call a name, where pickle would call its `__new__`."""
    arguments = machine.stack.pop()
    machine.stack[-1] = machine.stack[-1](*arguments)


def _new_named(machine: Any) -> None:
    machine.stack.pop()
    _new(machine)


for _code, _marked, _step in (
    (pickle.DICT, True, 2), (pickle.SETITEMS, True, 2), (pickle.SETITEM, False, 1),
    (pickle.ADDITEMS, True, 1), (pickle.FROZENSET, True, 1),
):  # fmt: skip
    _Unpickler.dispatch[_code[0]] = _checking_keys(_Unpickler.dispatch[_code[0]], _marked, _step)
_Unpickler.dispatch[pickle.NEWOBJ[0]], _Unpickler.dispatch[pickle.NEWOBJ_EX[0]] = _new, _new_named


def _checked(key: Any) -> Any:
    """Return the key if at most a few others can have its hash: text is hashed with a secret, numbers by value."""
    if not isinstance(key, (str, bytes, int, float, type(None))) or (isinstance(key, int) and key.bit_length() > 64):
        raise InputError(f"a key in a pickle must be text or a short number, got a {type(key).__name__}")
    return key
