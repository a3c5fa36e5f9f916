"""Plain data out of a pickle without running it: nothing is imported, nothing in the file is called.

A pickle is a program for a small stack machine. This one knows the instructions that build plain data, and the few
names that pickles spell plain data with (sets, bytes, complex numbers, numpy's numbers and arrays), which it decodes
from their bytes. Any other name stays a name: what it would have built comes back as `Unknown`.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any

from mascot.bench.prepare.pickle_values import DECODERS, Array, Dtype, Settling, Unknown, checked_key
from mascot.errors import InputError

_NEWEST = 5  # protocol


def read_pickle(data: bytes, most: int = 1 << 20) -> Any:
    """The plain data in a pickle of any protocol.

    Numpy's scalars come back as Python's numbers, its arrays of numbers as arrays; what is of any other class as
    `Unknown`.

    Parameters
    ----------
    data
        One pickle. What stands behind its end is ignored.
    most
        Longest pickle in bytes that is read at all.

    Examples
    --------
    >>> import pickle
    >>> read_pickle(pickle.dumps({"box": (8.5, 47.3, 8.6, 47.4)}))
    {'box': (8.5, 47.3, 8.6, 47.4)}
    """
    if len(data) > most:
        raise InputError(f"a pickle must have at most {most} bytes, got {len(data)}")
    machine = _Machine(allowance=8 * most)
    try:
        for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
            machine.step(opcode.name, argument)
        return Settling().settled(machine.pop())
    except InputError:
        raise
    except (ValueError, OverflowError) as error:
        raise InputError(f"a pickle must be whole, got {str(error)[:100]!r}") from None


class _Machine:
    """The stack machine of a pickle. `allowance` bounds the bytes that decoding may copy."""

    def __init__(self, allowance: int) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []  # where on the stack
        self._memo: dict[int, Any] = {}  # by index, so that a huge index costs nothing
        self._left = allowance

    def step(self, name: str, argument: Any) -> None:
        if name in _CONSTANTS:
            self._stack.append(argument)
        elif name in _FRESH:
            self._stack.append(_FRESH[name]())
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        else:
            raise InputError(f"a pickle must hold plain data, got the instruction {name}")

    def pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise InputError("a pickle must not take more from its stack than it put there")
        return self._stack.pop()

    def _top(self) -> Any:
        value = self.pop()
        self._stack.append(value)
        return value

    def _above_mark(self) -> list[Any]:
        if not self._marks:
            raise InputError("a pickle must set a mark before it returns to one")
        start = self._marks.pop()
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def _start(self, argument: Any) -> None:
        if argument > _NEWEST:
            raise InputError(f"a pickle's protocol must be 0 to {_NEWEST}, got {argument}")

    def _nothing(self, argument: Any) -> None:
        pass

    def _mark(self, argument: Any) -> None:
        self._marks.append(len(self._stack))

    def _drop(self, argument: Any) -> None:
        # As the original has it: with nothing above the last mark, the mark itself goes.
        if self._marks and len(self._stack) == self._marks[-1]:
            self._marks.pop()
        else:
            self.pop()

    def _drop_to_mark(self, argument: Any) -> None:
        self._above_mark()

    def _again(self, argument: Any) -> None:
        self._stack.append(self._top())

    def _put(self, argument: Any) -> None:
        if argument < 0:
            raise InputError(f"a pickle's memo must be numbered from 0, got {argument}")
        self._memo[argument] = self._top()

    def _memoize(self, argument: Any) -> None:
        self._memo[len(self._memo)] = self._top()

    def _get(self, argument: Any) -> None:
        if argument not in self._memo:
            raise InputError(f"a pickle must not recall what it never put away, got {argument}")
        self._stack.append(self._memo[argument])

    def _tuple(self, argument: Any) -> None:
        self._stack.append(tuple(self._above_mark()))

    def _tuple_of(self, count: int) -> None:
        values = [self.pop() for _ in range(count)]
        self._stack.append(tuple(reversed(values)))

    def _list(self, argument: Any) -> None:
        self._stack.append(self._above_mark())

    def _dict(self, argument: Any) -> None:
        values = self._above_mark()
        self._stack.append({})
        self._set(values)

    def _frozenset(self, argument: Any) -> None:
        self._stack.append(frozenset(map(checked_key, self._above_mark())))

    def _append(self, argument: Any) -> None:
        self._extend([self.pop()])

    def _appends(self, argument: Any) -> None:
        self._extend(self._above_mark())

    def _extend(self, values: list[Any]) -> None:
        owner = self._top()
        if type(owner) is list:
            owner.extend(values)
        elif not isinstance(owner, Unknown):
            raise InputError(f"a pickle must append to a list, got {type(owner).__name__}")

    def _set_item(self, argument: Any) -> None:
        value, key = self.pop(), self.pop()
        self._set([key, value])

    def _set_items(self, argument: Any) -> None:
        self._set(self._above_mark())

    def _set(self, values: list[Any]) -> None:
        owner = self._top()
        if len(values) % 2:
            raise InputError(f"a pickle must set keys and values in pairs, got {len(values)}")
        if type(owner) is dict:
            for key, value in zip(values[::2], values[1::2], strict=True):
                owner[checked_key(key)] = value
        elif not isinstance(owner, Unknown):
            raise InputError(f"a pickle must set the items of a dict, got {type(owner).__name__}")

    def _add_items(self, argument: Any) -> None:
        values, owner = self._above_mark(), self._top()
        if type(owner) is set:
            owner.update(map(checked_key, values))
        elif not isinstance(owner, Unknown):
            raise InputError(f"a pickle must add to a set, got {type(owner).__name__}")

    def _global(self, argument: Any) -> None:
        self._stack.append(Unknown(argument.replace(" ", ".")))

    def _stack_global(self, argument: Any) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise InputError("a pickle must name what it wants with text")
        self._stack.append(Unknown(f"{module}.{name}"))

    def _reduce(self, argument: Any) -> None:
        arguments, function = self.pop(), self.pop()
        if not isinstance(arguments, tuple):
            raise InputError(f"a pickle must call with a tuple, got {type(arguments).__name__}")
        self._stack.append(self._made(function, arguments))

    def _new_with_names(self, argument: Any) -> None:
        self.pop(), self.pop()
        self._stack.append(_named(self.pop()))

    def _instance(self, argument: Any) -> None:
        self._above_mark()
        self._global(argument)

    def _object(self, argument: Any) -> None:
        self._stack.append(_named(next(iter(self._above_mark()), None)))

    def _made(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        known = _named(function)
        decoder = DECODERS.get(known.name)
        if decoder is None:
            return known
        self._spend(arguments)
        return decoder(arguments)

    def _spend(self, copied: tuple[Any, ...]) -> None:
        self._left -= 1 + sum(len(part) for part in copied if isinstance(part, (str, bytes, bytearray, list, tuple)))
        if self._left < 0:
            raise InputError("a pickle must not copy what it holds over and over")

    def _build(self, argument: Any) -> None:
        state, owner = self.pop(), self._top()
        if isinstance(owner, Unknown):
            return
        if isinstance(owner, Dtype) and isinstance(state, tuple) and len(state) > 1 and isinstance(state[1], str):
            owner.order = state[1]
        elif isinstance(owner, Array) and isinstance(state, tuple) and len(state) == 5:
            self._spend(state)
            _, owner.shape, owner.dtype, fortran, owner.raw = state
            owner.fortran = bool(fortran)
        else:
            raise InputError(f"a pickle must not change the state of plain data, got a {type(owner).__name__}")


def _named(value: Any) -> Unknown:
    if not isinstance(value, Unknown):
        raise InputError(f"a pickle must call something by its name, got {type(value).__name__}")
    return value


_CONSTANTS = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip

_FRESH: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
    "EMPTY_TUPLE": tuple,
}

_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "PROTO": _Machine._start,
    "FRAME": _Machine._nothing,
    "STOP": _Machine._nothing,
    "MARK": _Machine._mark,
    "POP": _Machine._drop,
    "POP_MARK": _Machine._drop_to_mark,
    "DUP": _Machine._again,
    "PUT": _Machine._put,
    "BINPUT": _Machine._put,
    "LONG_BINPUT": _Machine._put,
    "MEMOIZE": _Machine._memoize,
    "GET": _Machine._get,
    "BINGET": _Machine._get,
    "LONG_BINGET": _Machine._get,
    "TUPLE": _Machine._tuple,
    "TUPLE1": lambda machine, _: machine._tuple_of(1),
    "TUPLE2": lambda machine, _: machine._tuple_of(2),
    "TUPLE3": lambda machine, _: machine._tuple_of(3),
    "LIST": _Machine._list,
    "DICT": _Machine._dict,
    "FROZENSET": _Machine._frozenset,
    "APPEND": _Machine._append,
    "APPENDS": _Machine._appends,
    "SETITEM": _Machine._set_item,
    "SETITEMS": _Machine._set_items,
    "ADDITEMS": _Machine._add_items,
    "GLOBAL": _Machine._global,
    "STACK_GLOBAL": _Machine._stack_global,
    "REDUCE": _Machine._reduce,
    "NEWOBJ": _Machine._reduce,
    "NEWOBJ_EX": _Machine._new_with_names,
    "INST": _Machine._instance,
    "OBJ": _Machine._object,
    "BUILD": _Machine._build,
}
