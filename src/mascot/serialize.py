"""Frozen values: parameters that print, compare, hash and travel as plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from mascot.errors import OptionError

_KEPT = (str, int, float, bool, type(None), dict)  # what JSON knows


class Value:
    """What attributes, wishes and methods share; they are frozen dataclasses besides."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The parameters and the class's name, ready for JSON. `mascot.from_dict` is the way back.

        A parameter that would not come back the same, such as an attribute of your own, is refused.
        """
        return _described(self, _saved)


def plain(value: Any) -> Any:
    """A value as JSON knows it: numbers, text, lists, dictionaries; for anything else what `str` makes of it."""
    if isinstance(value, Value):
        return _described(value, lambda part, _: plain(part))
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (tuple, list, set, frozenset)):
        return [plain(part) for part in value]
    return value if isinstance(value, _KEPT) else str(value)


def _described(value: Value, written: Callable[[Any, str], Any]) -> dict[str, Any]:
    kind = type(value).__name__
    return {"kind": kind} | {
        f.name: written(getattr(value, f.name), f"{kind}.{f.name}")
        for f in fields(value)  # type: ignore[arg-type]
    }


def _saved(value: Any, owner: str) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (tuple, list)):
        return [_saved(part, owner) for part in value]
    if not isinstance(value, _KEPT):
        raise OptionError(f"{owner} cannot be saved unless it has to_dict(), got {value!r}")
    return value
