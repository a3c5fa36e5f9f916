"""Frozen values: printable, comparable, hashable, and convertible to plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from mascot.errors import OptionError

_JSON_TYPES = (str, int, float, bool, type(None), dict)  # the types of JSON


class Value:
    """Base class of attributes, wishes and methods, which are frozen dataclasses."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the class and the parameters, ready for JSON. `mascot.from_dict` restores them.

        A parameter that could not be restored, such as an attribute of your own without `to_dict`, is refused.
        """
        return _described(self, _saved)


def plain(value: Any) -> Any:
    """Return a value of JSON: number, text, list or dictionary; `str` of anything else."""
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
    return value if isinstance(value, _JSON_TYPES) else str(value)


def _described(value: Any, written: Callable[[Any, str], Any]) -> dict[str, Any]:
    kind = type(value).__name__
    return {"kind": kind} | {f.name: written(getattr(value, f.name), f"{kind}.{f.name}") for f in fields(value)}


def _saved(value: Any, owner: str) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (tuple, list)):
        return [_saved(part, owner) for part in value]
    if not isinstance(value, _JSON_TYPES):
        raise OptionError(f"{owner} cannot be saved unless it has to_dict(), got {value!r}")
    return value
