"""Wishes: spread and focus of attributes; the functions that make wishes, also constraints, and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from typing import Any

import numpy as np

from mascot.attributes.attribute import Attribute, Columns, Missing, as_bins, check_missing, missing_rule
from mascot.attributes.category import BareColumn, Category
from mascot.attributes.columns import as_array
from mascot.attributes.place import Grid, NamedPoint, Place
from mascot.attributes.vectors import Vectors
from mascot.bins import Bins, Floats, VectorBins
from mascot.constraints import AtLeast as AtLeast
from mascot.constraints import (
    Bound,
    Constraint,
    Uncounted,
    as_attribute,
    check_constraints,
    wish_dict,
)
from mascot.constraints import Limit as Limit
from mascot.constraints import Share as Share
from mascot.errors import InputError, OptionError, check_positive, check_width, is_number, require
from mascot.methods.named_focus import NamedFocus
from mascot.serialize import Value, Write

_LARGEST_WEIGHT = 1e100


@dataclass(frozen=True, slots=True)
class Wish(Value):
    """An attribute with a direction, as `spread` and `focus` return it.

    Parameters
    ----------
    attribute, sign
        The attribute to steer, and 1 to spread or -1 to focus it.
    weight, near, within
        See `focus`.
    """

    attribute: Attribute
    sign: int
    weight: float = 1.0
    near: Any = None
    within: float | None = None

    def __post_init__(self) -> None:
        attribute: Any = as_attribute(self.attribute, "a wish")
        object.__setattr__(self, "attribute", attribute)
        require(self.sign in (1, -1), "Wish.sign", "must be 1 (spread) or -1 (focus)", self.sign)
        owner = f"{'spread' if self.sign > 0 else 'focus'}({attribute.name})"
        weight: Any = self.weight
        if isinstance(weight, str):
            raise OptionError(f"{owner}.weight must be > 0, got {weight!r}: write a list of wishes for two attributes")
        check_positive(f"{owner}.weight", weight)
        require(self.weight <= _LARGEST_WEIGHT, f"{owner}.weight", "must be at most 1e100", self.weight)
        check_missing(type(attribute).__name__, self.missing)
        if self.within is not None:
            require(self.near is not None, f"{owner}.within", "needs near, the value it is measured from", self.within)
            check_width(f"{owner}.within", self.within)
            if isinstance(attribute, Category) and not isinstance(attribute, BareColumn):
                raise OptionError(f"{owner}.within needs an attribute with distances, got labels: {self.within!r}")
        if self.near is None:
            return
        require(self.sign < 0, owner, "cannot have near: only focus can", self.near)
        if not hasattr(attribute, "point"):
            raise OptionError(f"{owner}: near needs an attribute with point(value), got {attribute!r}")
        if isinstance(attribute, (Grid, Place)):
            object.__setattr__(self, "near", attribute.pair(self.near))
        _point(attribute, self.near)  # checks the value
        if isinstance(attribute, Value):
            object.__setattr__(self, "near", _plain_near(self.near, isinstance(attribute, (Category, Vectors))))

    @property
    def missing(self) -> Missing:
        """What a candidate without a value gets."""
        return missing_rule(self.attribute)

    def _described(self, write: Write) -> dict[str, Any]:
        word = "spread" if self.sign > 0 else "focus"
        return wish_dict(word, self.attribute, write, near=self.near, within=self.within, weight=self.weight)

    def bins(self, columns: Columns, vectors: Floats | None, rows: int) -> Bins:
        """Return the attribute's bins for all rows, in the default width of this direction unless a width was given."""
        attribute: Any = self.attribute
        membership = attribute.membership
        if self.sign > 0 and hasattr(attribute, "spread_membership"):
            membership = attribute.spread_membership
        elif self.sign < 0 and self.near is None and hasattr(attribute, "focus_membership"):
            membership = attribute.focus_membership
        return as_bins(membership(columns, vectors), type(attribute).__name__, rows)

    def named_focus(self, bins: Bins) -> NamedFocus:
        """Return the focus on `near` over the bins of all rows."""
        attribute: Any = self.attribute
        if isinstance(bins, VectorBins):
            vector = attribute.near_point(self.near)
            size = bins.vectors.shape[1]
            if vector is not None and vector.vectors.shape[1] != size:
                rule = f"must have {size} numbers like the vectors"
                raise InputError(f"focus({attribute.name}).near {rule}, got {vector.vectors.shape[1]}")
            return NamedFocus(bins, vector, self.weight, self.within, self.near if vector is None else None)
        point = {key: as_array([value]) for key, value in _point(attribute, self.near).items()}
        return NamedFocus(bins, as_bins(attribute.membership(point, None), attribute.name, 1), self.weight, self.within)

    def closeness(self, columns: Columns, vectors: Floats | None, rows: int, k: int) -> Floats:
        """Return how close each candidate of one query is to `near`, in 0..1, for k results."""
        target = self.named_focus(self.bins(columns, vectors, rows)).target()
        return np.asarray(target._replace(distance=target.distance[None]).closeness(k)[0])


AnyWish = Wish | Constraint
Wishes = AnyWish | Sequence[AnyWish]


def check_wishes(wishes: Wishes, k: int | None = None) -> tuple[AnyWish, ...]:
    """Return one wish or several as a tuple, checked for contradictions."""
    single = isinstance(wishes, (Wish, Limit, AtLeast, Share, str, Mapping)) or not hasattr(wishes, "__iter__")
    checked: tuple[Any, ...] = (wishes,) if single else tuple(wishes)  # type: ignore[arg-type]
    for wish in checked:
        if not isinstance(wish, (Wish, Limit, AtLeast, Share)):
            kinds = "spread(...), focus(...), limit(...), at_least(...) or share(...)"
            remedy = "; mc.from_dict makes a wish of a dictionary" if isinstance(wish, Mapping) else ""
            if is_number(wish):
                remedy = ": scores and vectors are passed as Candidates(scores, vectors=...), or to mc.diversify"
            raise OptionError(f"wishes must be {kinds}, got {wish!r:.80}{remedy}")
    if k is not None:
        check_constraints([wish for wish in checked if not isinstance(wish, Wish)], k)
    return checked


def _point(attribute: Any, near: Any) -> Mapping[str, Any]:
    """Return the columns, by name, of a candidate with that value."""
    point = attribute.point(near)
    if not isinstance(point, Mapping):
        raise InputError(f"{type(attribute).__name__}.point must return a dict of columns by name, got {point!r:.60}")
    return point


def _plain_near(near: Any, label: bool) -> Any:
    """Return `near` as a value that can be compared, hashed and saved. A time becomes ISO text unless it is a label."""
    if isinstance(near, np.ndarray):
        near = near.tolist()
    if isinstance(near, (set, frozenset)):
        near = sorted(near, key=repr)
    if isinstance(near, NamedPoint):
        return near
    if isinstance(near, (list, tuple)):
        return tuple(_plain_near(part, label) for part in near)
    if isinstance(near, np.datetime64) and not label:
        return str(near.astype("datetime64[s]"))
    if isinstance(near, np.generic):
        return near.item()
    return near.isoformat() if isinstance(near, (date, time)) and not label else near


def spread(attribute: Attribute | str, weight: float = 1.0) -> Wish:
    """Ask for results from many bins of this attribute: each new bin that a result covers adds to its value.

    Parameters
    ----------
    attribute
        The attribute to spread: `Place()`, `Category("camera")`, your own attribute, or the name of a column, whose
        values decide whether it is a `Category`, a `Number`, a `Date` or `Vectors`.
    weight
        Weight of this wish relative to the others, above 0 (default: 1).
    """
    return Wish(attribute, 1, weight)  # type: ignore[arg-type]


def focus(attribute: Attribute | str, weight: float = 1.0, near: Any = None, within: float | None = None) -> Wish:
    """Ask for results from few bins of this attribute, or for results near a value.

    Parameters
    ----------
    attribute, weight
        See `spread`.
    near
        The value to focus on: a point on the globe, an hour, a day, a number, a label. Closeness to it becomes part of
        the relevance (default: None; each new bin costs, so the relevant candidates decide where the focus lies).
    within
        The distance from `near` at which closeness is one half, in kilometres, hours, days, or the column's unit
        (default: None, the distance within which the nearest k / 2 candidates lie).

    Examples
    --------
    >>> from mascot.attributes import HourOfDay
    >>> focus(HourOfDay("taken"), near="18:30", within=1).near
    '18:30'
    """
    return Wish(attribute, -1, weight, near, within)  # type: ignore[arg-type]


def limit(
    attribute: Attribute | str | Sequence[str],
    n: int | Mapping[Any, int],
    fill: bool = False,
    *,
    window: int | None = None,
    first: int | None = None,
    others: int | None = None,
    missing: Uncounted = "ignore",
    session: bool = False,
) -> Limit:
    """Ask for at most n results per value. The limit is never exceeded, not even by protected results.

    Parameters
    ----------
    attribute
        The attribute whose values are counted: the name of a column, `Category`, `Clusters`, or an attribute
        whose values have names: hours of `HourOfDay`, days of `Date` and `Weekday`, months of `DayOfYear`. With
        `Vectors` near-copies are counted: `limit(Vectors(), 1)` shows no two of them. Several names of columns count
        their combinations: `limit(("seller", "category"), 1)`.
    n
        Results per value and page, at least 1. A result with several values counts for each of them. A dictionary sets
        the number for each value, as in `{"acme": 5}`, and values are compared as text. A combination is a tuple, as in
        `{("acme", "shoes"): 1}`.
    fill
        Complete the list with the best remaining candidates if the limit leaves fewer than k (default: False).
    window
        The limit holds in every `window` consecutive results instead of the page (default: None). Windows continue over
        the page break: the results of `already` come before the first result.
    first
        The limit holds among the first `first` results only, where n may be 0 (default: None).
    others
        Results per value that a dictionary does not name (default: None, not limited).
    missing
        ``"ignore"``: results without a value are not limited. ``"value"``: they count as one value. ``"drop"``: they
        are not selected (default: ``"ignore"``).
    session
        Count the results of `already` too, so that the limit holds for all pages together (default: False). Windows
        go on over the page break anyway, and `first` counts the places of each page.

    Examples
    --------
    >>> no_three_in_a_row = limit("seller", 2, window=3)
    >>> no_ad_among_the_first_two = limit("ad", {1: 0}, first=2)
    """
    return Limit(attribute, n, fill, window, first, others, missing, session)  # type: ignore[arg-type]


def at_least(
    attribute: Attribute | str | Sequence[str], counts: Mapping[Any, int], *, first: int | None = None
) -> AtLeast:
    """Ask for at least this many results of each value, where the candidates allow it; `explain()` says otherwise.

    Parameters
    ----------
    attribute
        The attribute whose values are counted; see `limit`.
    counts
        The smallest number of results for each value, at most k in sum. Values are compared as text.
    first
        The counts are wanted among this many results at the top (default: None, on the page).

    Examples
    --------
    >>> at_least("used", {"yes": 3}).to_dict()
    {'at_least': 'used', 'counts': {'yes': 3}}
    """
    return AtLeast(attribute, counts, first)  # type: ignore[arg-type]


def share(attribute: Attribute | str | Sequence[str], shares: Mapping[Any, float], bound: Bound = "exactly") -> Share:
    """Ask for target shares of values, met exactly if the candidates allow it; counts are rounded by largest remainder.

    Parameters
    ----------
    attribute
        The attribute whose values are counted; see `limit`.
    shares
        Share of the k results for each value, 0..1, at most 1 in sum; all other values get the rest. Values are
        compared as text. Places for which there are no candidates go to other results, and `explain()` says so.
    bound
        ``"at least"`` makes the shares minimum shares, rounded up. ``"at most"`` makes them maximum shares, rounded
        down, which are never exceeded, like a limit (default: ``"exactly"``).

    Examples
    --------
    >>> share("region", {"Europe": 0.6, "Asia": 0.4}).targets(20)
    {'Europe': 12, 'Asia': 8, '': 0}
    >>> share("ad", {1: 0.25}, bound="at most").targets(10)
    {'1': 2, '': 10}
    """
    return Share(attribute, shares, bound)  # type: ignore[arg-type]
