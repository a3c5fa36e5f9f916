"""What the user wants of an attribute: more of it, or less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mascot.attributes.attribute import Attribute, Columns, as_membership
from mascot.attributes.columns import as_array
from mascot.errors import OptionError, require
from mascot.memberships import Floats, Membership
from mascot.values import Value


@dataclass(frozen=True, slots=True)
class Wish(Value):
    """An attribute with a direction (+1 spread, -1 focus), a weight, and for focus a point to start from."""

    attribute: Attribute
    sign: int
    weight: float = 1.0
    near: Any = None

    def __post_init__(self) -> None:
        owner = f"{'spread' if self.sign > 0 else 'focus'}({self.attribute.name})"
        require(math.isfinite(self.weight) and self.weight > 0, f"{owner}.weight", "must be > 0", self.weight)
        if self.near is not None and not hasattr(self.attribute, "point"):
            raise OptionError(f"{owner}: near needs an attribute with point(value), got {self.attribute!r}")

    def membership(self, columns: Columns, vectors: Floats | None, rows: int) -> Membership:
        """The attribute's bins for all rows, with one more row at the end where `near` is given."""
        name = type(self.attribute).__name__
        member = as_membership(self.attribute.membership(columns, vectors), name, rows)
        if self.near is None:
            return member
        point = {key: as_array([value]) for key, value in self.attribute.point(self.near).items()}  # type: ignore[attr-defined]
        if hasattr(member, "append"):
            appended: Membership = member.append(self.attribute.membership(point, None))
            return appended
        longer = {key: _append(columns[key], value) for key, value in point.items() if key in columns}
        return as_membership(self.attribute.membership({**columns, **longer}, vectors), name, rows + 1)


def _append(column: Any, value: Any) -> Any:
    longer = np.empty(len(column) + 1, object)
    longer[:-1], longer[-1:] = column, value
    return longer


def spread(attribute: Attribute, weight: float = 1.0) -> Wish:
    """Results from many bins of this attribute: covering a new bin earns.

    >>> from mascot.attributes import Place
    >>> spread(Place()).sign
    1
    """
    return Wish(attribute, 1, weight)


def focus(attribute: Attribute, weight: float = 1.0, near: Any = None) -> Wish:
    """Results from few bins of this attribute: covering a new bin costs.

    `near` says where: coverage starts as if a candidate with that value had been selected, so that
    its surroundings cost nothing. Unless given, the relevant candidates decide where.
    """
    return Wish(attribute, -1, weight, near)
