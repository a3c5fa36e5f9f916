"""What the user wants of an attribute: more of it, or less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any

import numpy as np

from mascot.attributes.attribute import (
    Attribute,
    Columns,
    as_membership,
    check_missing,
    check_positive,
    missing_rule,
)
from mascot.attributes.category import Category
from mascot.attributes.columns import as_array, as_objects, cells
from mascot.errors import InputError, OptionError, require
from mascot.memberships import Floats, Membership, Sparse
from mascot.values import Value


@dataclass(frozen=True, slots=True)
class Wish(Value):
    """An attribute with a direction. `spread` and `focus` make one.

    Parameters
    ----------
    attribute
        What the wish is about: `Place()`, `Category("camera")`, or one of your own.
    sign
        1 to spread, -1 to focus.
    weight
        How much it counts beside the other wishes; above 0.
    near
        Where a focus starts, see `focus`; None where the relevant candidates decide.
    """

    attribute: Attribute
    sign: int
    weight: float = 1.0
    near: Any = None

    def __post_init__(self) -> None:
        attribute: Any = self.attribute
        if isinstance(attribute, type) or not (hasattr(attribute, "membership") and hasattr(attribute, "name")):
            raise OptionError(f"a wish needs an attribute such as Place() or Category('camera'), got {attribute!r}")
        require(self.sign in (1, -1), "Wish.sign", "must be 1 (spread) or -1 (focus)", self.sign)
        owner = f"{'spread' if self.sign > 0 else 'focus'}({attribute.name})"
        check_positive(f"{owner}.weight", self.weight)
        check_missing(type(attribute).__name__, missing_rule(attribute))
        if self.near is None:
            return
        if not hasattr(attribute, "point"):
            raise OptionError(f"{owner}: near needs an attribute with point(value), got {attribute!r}")
        _point(attribute, self.near)  # refuses what no candidate can be near to
        if isinstance(attribute, Value):
            object.__setattr__(self, "near", _lasting(self.near, isinstance(attribute, Category)))

    def membership(self, columns: Columns, vectors: Floats | None, rows: int) -> Membership:
        """The attribute's bins for all rows, with one more row at the end where `near` is given."""
        attribute: Any = self.attribute
        name = type(attribute).__name__
        if self.near is None:
            return as_membership(attribute.membership(columns, vectors), name, rows)
        point = {key: as_array([value]) for key, value in _point(attribute, self.near).items()}
        if not isinstance(attribute, Category):
            member = as_membership(attribute.membership(columns, vectors), name, rows)
            if hasattr(member, "append"):
                appended: Membership = member.append(attribute.membership(point, None))
                return appended
        longer = {key: as_objects([*cells(columns[key]), value[0]]) for key, value in point.items() if key in columns}
        member = as_membership(attribute.membership({**columns, **longer}, vectors), name, rows + 1)
        if isinstance(attribute, Category) and isinstance(member, Sparse):
            attribute.check_near(self.near, member, columns)
        return member


def _point(attribute: Any, near: Any) -> Mapping[str, Any]:
    """The columns, by name, of a candidate with that value."""
    point = attribute.point(near)
    if not isinstance(point, Mapping):
        raise InputError(f"{type(attribute).__name__}.point must return a dict of columns by name, got {point!r:.60}")
    return point


def _lasting(near: Any, label: bool) -> Any:
    """`near` as it compares, hashes and is saved: parts as a tuple, a time as ISO text unless it is a label."""
    if isinstance(near, np.ndarray):
        near = near.tolist()
    if isinstance(near, (set, frozenset)):
        near = sorted(near, key=repr)
    if isinstance(near, (list, tuple)):
        return tuple(_lasting(part, label) for part in near)
    if isinstance(near, np.datetime64) and not label:
        return str(near.astype("datetime64[s]"))
    if isinstance(near, np.generic):
        return near.item()
    return near.isoformat() if isinstance(near, (date, time)) and not label else near


def spread(attribute: Attribute, weight: float = 1.0) -> Wish:
    """Results from many bins of this attribute: covering a new bin earns.

    Parameters
    ----------
    attribute
        What to spread over: `Place()`, `Category("camera")`, or one of your own.
    weight
        How much this wish counts beside the others; above 0.

    Examples
    --------
    >>> from mascot.attributes import Place
    >>> spread(Place()).sign
    1
    """
    return Wish(attribute, 1, weight)


def focus(attribute: Attribute, weight: float = 1.0, near: Any = None) -> Wish:
    """Results from few bins of this attribute: covering a new bin costs.

    Parameters
    ----------
    attribute
        What to focus on: `HourOfDay()`, `Category("camera")`, or one of your own.
    weight
        How much this wish counts beside the others; above 0.
    near
        Where: coverage starts as if a candidate with that value had been selected, so that what lies there costs
        least. Unless given, the relevant candidates decide where. A label that no candidate of a query has is no
        error: all labels then cost alike there.

    Examples
    --------
    >>> from mascot.attributes import HourOfDay
    >>> focus(HourOfDay("taken"), weight=2.0, near="18:30").near
    '18:30'
    """
    return Wish(attribute, -1, weight, near)
