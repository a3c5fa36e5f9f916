"""Exceptions, warnings and checks of parameters. A message names the owner, the rule and the value."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Iterable
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np

_LONGEST_QUOTE = 80  # characters


class MascotError(ValueError):
    """Base class of the errors that this library raises on purpose."""


class InputError(MascotError):
    """Candidates, columns or vectors that cannot be ranked."""


class OptionError(MascotError):
    """A parameter that breaks its rule, or options that contradict each other."""


class MissingExtra(MascotError, ImportError):
    """An optional package that is not installed; the message names the command that installs it."""


class Interrupted(MascotError):
    """Ctrl-C stopped a command; the message says what happens next. Threads that still run need not finish."""


def require(holds: bool, owner: str, rule: str, value: Any) -> None:
    """Raise `OptionError("owner rule, got value")` unless the rule holds."""
    if not holds:
        raise OptionError(f"{owner} {rule}, got {quoted(value)}")


def quoted(value: Any) -> str:
    """Return the `repr` of a value, at most 80 characters of it."""
    try:
        text = repr(value)
    except ValueError:  # integers of more than 4,300 digits have no decimal form
        return "an integer of thousands of digits"
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def is_number(value: Any) -> bool:
    """Return whether a value is a number of Python or numpy, and not a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer of Python or numpy, and not a boolean."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def check_positive(owner: str, value: Any) -> None:
    require(is_number(value) and value > 0, owner, "must be > 0", value)
    require(value <= sys.float_info.max, owner, "must be at most 1.8e308", value)  # an integer may be larger


def check_width(owner: str, value: Any, least: float = 1e-150, most: float = 1e150) -> None:
    """Check a width or a length; squares of numbers in the default range stay finite and positive."""
    check_positive(owner, value)
    require(least <= value <= most, owner, f"must lie within {least:g}..{most:g}".replace("e+", "e"), value)


def check_share(owner: str, value: Any, rule: str = "must be in 0..1") -> None:
    require(is_number(value) and 0 <= value <= 1, owner, rule, value)


def check_whole(owner: str, value: Any, least: int, most: int | None = None) -> None:
    if type(value) is int and least <= value < 1 << 31 and most is None:  # the usual case
        return
    require(is_whole(value) and value >= least, owner, f"must be a whole number >= {least}", value)
    require(value < 1 << 31, owner, "must be below 2**31", value)  # kernels count in 64 bits
    if most is not None:
        require(value <= most, owner, f"must be at most {most:,}", value)


def check_switch(owner: str, value: Any) -> None:
    require(isinstance(value, (bool, np.bool_)), owner, "must be True or False", value)


def check_one_of(owner: str, value: Any, *options: str | None) -> None:
    *first, last = map(repr, options)
    require(value in options, owner, f"must be {', '.join(first)} or {last}", value)


def hashed(ids: Iterable[Any], rule: str) -> set[Hashable]:
    """Return the ids as a set; raise an error with the rule if an id cannot be hashed."""
    if isinstance(ids, (str, bytes)):
        raise InputError(f"{rule} in a list, got {ids!r:.80}")
    names = ids if isinstance(ids, list) else list(ids)
    try:
        return set(names)
    except TypeError:
        for id_ in names:
            try:
                hash(id_)
            except TypeError:
                raise InputError(f"{rule}, got {id_!r:.80}") from None
        raise


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn, and name the nearest line outside of this package."""
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] == "mascot" and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


@cache
def warn_once(message: str) -> None:
    """Warn the first time this message occurs in the process."""
    warnings.warn(message, RuntimeWarning, stacklevel=4)
