"""Attributes, wishes and methods from plain dictionaries: the inverse of `to_dict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mascot.errors import OptionError
from mascot.registry import ATTRIBUTES, METHODS
from mascot.wishes import Limit, Share, Wish

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*ATTRIBUTES, *METHODS, Limit, Share, Wish)}


def from_dict(data: Mapping[str, Any]) -> Any:
    """Return the attribute, wish or method that `to_dict` described.

    Parameters
    ----------
    data
        ``"kind"``, the name of a class such as ``"HourOfDay"``, and its parameters; missing parameters have
        their defaults. Attributes of your own cannot be restored.

    Examples
    --------
    >>> from mascot.attributes import HourOfDay
    >>> from_dict(HourOfDay("taken").to_dict()) == HourOfDay("taken")
    True
    """
    if not isinstance(data, Mapping):
        raise OptionError(f"from_dict needs a dictionary as returned by to_dict(), got {data!r:.80}")
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise OptionError(f"kind must be one of {', '.join(sorted(_KINDS))}, got {kind!r}")
    fields = {
        name: from_dict(value) if isinstance(value, Mapping) and "kind" in value else value
        for name, value in data.items()
        if name != "kind"
    }
    if isinstance(fields.get("near"), list):
        fields["near"] = tuple(fields["near"])
    try:
        return _KINDS[kind](**fields)
    except TypeError as error:
        raise OptionError(f"{kind} does not take {fields!r}: {error}") from None
