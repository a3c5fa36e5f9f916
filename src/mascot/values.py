"""Frozen values: parameters that print, compare, hash and travel as plain dictionaries."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Value:
    """What attributes, wishes and methods share; they are frozen dataclasses besides."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The parameters and the class's name, ready for JSON. `mascot.from_dict` is the way back."""
        return {"kind": type(self).__name__} | {
            f.name: plain(getattr(self, f.name))
            for f in fields(self)  # type: ignore[arg-type]
        }


def plain(value: Any) -> Any:
    """A value as JSON knows it: numbers, text, lists, dictionaries."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (tuple, list, set, frozenset)):
        return [plain(part) for part in value]
    return value if isinstance(value, (str, int, float, bool, type(None), dict)) else str(value)
