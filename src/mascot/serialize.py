"""Frozen values: printable, comparable, hashable, and convertible to plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from mascot.errors import OptionError

Write = Callable[[Any, str], Any]  # turns a value, with the name of its owner, into a value of JSON
_JSON_TYPES = (str, int, float, bool, type(None), dict)


class Value:
    """Base class of attributes, wishes and methods, which are frozen dataclasses."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as a dictionary, ready for JSON. `mascot.from_dict` restores it.

        Parameters that could not be restored, such as your own attributes without `to_dict`, raise an `OptionError`.
        """
        return self._described(plain)

    def _described(self, write: Write) -> dict[str, Any]:
        """Return the name of the class as `kind`, and the parameters."""
        kind = type(self).__name__
        parameters: Any = fields(self)  # type: ignore[arg-type]
        return {"kind": kind} | {f.name: write(getattr(self, f.name), f"{kind}.{f.name}") for f in parameters}


def plain(value: Any, owner: str | None = None) -> Any:
    """Return a value of JSON: number, text, list or dictionary; `str` of anything else, or an error if it has an owner.

    With an owner the result can be restored.
    """
    if owner is None and isinstance(value, Value):
        return value._described(lambda part, _: plain(part))
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        return [plain(part, owner) for part in value]
    if isinstance(value, _JSON_TYPES):
        return value
    if owner is not None:
        raise OptionError(f"{owner} cannot be saved unless it has to_dict(), got {value!r}")
    if isinstance(value, (set, frozenset)):
        return [plain(part) for part in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
