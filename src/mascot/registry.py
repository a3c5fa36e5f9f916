"""The attributes and methods, listed once: `from_dict`, the command line and the HTTP API read the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mascot import attributes, methods
from mascot.errors import OptionError
from mascot.wishes import Limit, Share, Wish

ATTRIBUTES: tuple[Any, ...] = (
    attributes.Place, attributes.Grid, attributes.HourOfDay, attributes.DayOfYear, attributes.Weekday, attributes.Date,
    attributes.Number, attributes.Cycle, attributes.Category, attributes.Clusters, attributes.Branches,
)  # fmt: skip
METHODS: tuple[Any, ...] = (
    methods.Mascot, methods.Mmr, methods.KDpp, methods.MsDpp, methods.Clustering, methods.Relevance,
)  # fmt: skip
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*ATTRIBUTES, *METHODS, Limit, Share, Wish)}
METHOD_NAMES = ("mascot", "paper", *(method.__name__.lower() for method in METHODS[1:]))  # "paper" is Mascot.paper


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
