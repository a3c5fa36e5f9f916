"""The attributes and methods, listed once: `from_dict`, the command line and the HTTP API read these lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mascot import attributes, methods, wishes
from mascot.errors import OptionError
from mascot.removed import instead

ATTRIBUTES: tuple[Any, ...] = (
    attributes.Place, attributes.Grid, attributes.HourOfDay, attributes.DayOfYear, attributes.Weekday, attributes.Date,
    attributes.Number, attributes.Cycle, attributes.Category, attributes.Clusters, attributes.Vectors,
)  # fmt: skip
METHODS: tuple[Any, ...] = (methods.Mascot, methods.Mmr, methods.Relevance)
METHOD_NAMES = ("mascot", "paper", *(method.__name__.lower() for method in METHODS[1:]))  # "paper" is Mascot.paper
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*ATTRIBUTES, *METHODS)}
_WISHES: dict[str, Any] = {
    "spread": wishes.spread, "focus": wishes.focus, "limit": wishes.limit, "at_least": wishes.at_least,
    "share": wishes.share,
}  # fmt: skip


def from_dict(data: Mapping[str, Any]) -> Any:
    """Return the attribute, wish or method that a dictionary describes, as `to_dict` writes it.

    Parameters
    ----------
    data
        A wish has one of the keys ``"spread"``, ``"focus"``, ``"limit"``, ``"at_least"`` and ``"share"``, whose value
        is an attribute, the name of a column, or a list of such names. An attribute or method has
        ``"kind"``, the name of its class. Other keys are parameters; a parameter that is not there has its default.
        Your own attributes cannot be restored.

    Examples
    --------
    >>> from_dict({"spread": "city", "weight": 2}) == wishes.spread("city", weight=2)
    True
    >>> from_dict({"focus": {"kind": "HourOfDay", "column": "taken"}, "near": 18}).near
    18
    """
    if not isinstance(data, Mapping):
        raise OptionError(f"from_dict needs a dictionary as returned by to_dict(), got {data!r:.80}")
    parameters = dict(data)
    words = [word for word in _WISHES if word in data]
    if len(words) == 1:
        attribute = parameters.pop(words[0])
        if isinstance(attribute, Mapping):
            attribute = from_dict(attribute)
        if isinstance(parameters.get("near"), list):
            parameters["near"] = tuple(parameters["near"])
        return _call(words[0], _WISHES[words[0]], (attribute,), parameters)
    kind = parameters.pop("kind", None)
    if kind is None or words:
        raise OptionError(
            f"a wish must have exactly one of {', '.join(_WISHES)}, got {', '.join(map(str, data))!r:.80}"
        )
    if not isinstance(kind, str) or kind not in _KINDS:
        raise OptionError(f"kind must be one of {', '.join(sorted(_KINDS))}, got {kind!r}{instead(kind)}")
    return _call(kind, _KINDS[kind], (), parameters)


def _call(owner: str, make: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]) -> Any:
    try:
        return make(*arguments, **parameters)
    except TypeError as error:
        if "missing" in str(error):  # f() missing 1 required positional argument: 'n'
            raise OptionError(f"{owner} needs {str(error).rpartition(': ')[2]}, got {parameters!r}") from None
        raise OptionError(f"{owner} does not take {parameters!r}: {error}") from None
