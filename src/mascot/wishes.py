"""Wishes: spread and focus of attributes, limits and shares of their values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Any

import numpy as np

from mascot.attributes.attribute import Attribute, Columns, as_bins, check_missing, missing_rule
from mascot.attributes.category import Category, label_text
from mascot.attributes.columns import as_array
from mascot.attributes.place import NamedPoint
from mascot.attributes.vectors import Vectors
from mascot.bins import Bins, Floats, SparseBins, VectorBins
from mascot.errors import InputError, OptionError, check_positive, check_switch, check_whole, is_number, require
from mascot.kernels.novelty import CopyQuota
from mascot.kernels.quotas import AnyQuota, Quota
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
        attribute: Any = _as_attribute(self.attribute, "a wish")
        object.__setattr__(self, "attribute", attribute)
        require(self.sign in (1, -1), "Wish.sign", "must be 1 (spread) or -1 (focus)", self.sign)
        owner = f"{'spread' if self.sign > 0 else 'focus'}({attribute.name})"
        check_positive(f"{owner}.weight", self.weight)
        require(self.weight <= _LARGEST_WEIGHT, f"{owner}.weight", "must be at most 1e100", self.weight)
        check_missing(type(attribute).__name__, missing_rule(attribute))
        if self.within is not None:
            require(self.near is not None, f"{owner}.within", "needs near, the value it is measured from", self.within)
            check_positive(f"{owner}.within", self.within)
            if isinstance(attribute, Category):
                raise OptionError(f"{owner}.within needs an attribute with distances, got labels: {self.within!r}")
        if self.near is None:
            return
        require(self.sign < 0, owner, "cannot have near: only focus can", self.near)
        if not hasattr(attribute, "point"):
            raise OptionError(f"{owner}: near needs an attribute with point(value), got {attribute!r}")
        _point(attribute, self.near)  # checks the value
        if isinstance(attribute, Value):
            object.__setattr__(self, "near", _plain_near(self.near, isinstance(attribute, (Category, Vectors))))

    def _described(self, write: Write) -> dict[str, Any]:
        word = "spread" if self.sign > 0 else "focus"
        return _wish_dict(word, self.attribute, write, near=self.near, within=self.within, weight=self.weight)

    def bins(self, columns: Columns, vectors: Floats | None, rows: int) -> Bins:
        """Return the attribute's bins for all rows."""
        return as_bins(self.attribute_membership(columns, vectors), type(self.attribute).__name__, rows)

    def attribute_membership(self, columns: Columns, vectors: Floats | None) -> Any:
        """Return the attribute's membership, in the default width of this direction unless a width was given."""
        attribute: Any = self.attribute
        directed = self.sign < 0 and self.near is None and hasattr(attribute, "focus_membership")
        return attribute.focus_membership(columns, vectors) if directed else attribute.membership(columns, vectors)

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
        return np.asarray(target._replace(distance=target.distance[None]).closeness(None, k)[0])


@dataclass(frozen=True, slots=True)
class Limit(Value):
    """At most `n` results for each value of an attribute, as `limit` returns it."""

    attribute: Attribute
    n: int
    fill: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "attribute", _as_attribute(self.attribute, "limit(...)"))
        check_whole(f"limit({self.attribute.name}).n", self.n, 1)
        check_switch(f"limit({self.attribute.name}).fill", self.fill)

    def _described(self, write: Write) -> dict[str, Any]:
        return _wish_dict("limit", self.attribute, write, n=self.n, fill=self.fill)

    def quota(self, labels: SparseBins | VectorBins) -> AnyQuota:
        """Return the quota over rows with these labels or vectors."""
        if isinstance(labels, VectorBins):
            return CopyQuota(labels.vectors, labels.copies, self.n, 2 if self.fill else 3)
        return Quota(labels.indptr, labels.indices, np.full(max(labels.count, 1), self.n), 2 if self.fill else 3)

    def for_k(self, quota: AnyQuota, k: int) -> AnyQuota:
        """Return the quota for k results, which is the same for every k."""
        return quota


@dataclass(frozen=True, slots=True)
class Share(Value):
    """Target shares of an attribute's values, as `share` returns them."""

    attribute: Attribute
    shares: Mapping[Any, float]

    def __post_init__(self) -> None:
        attribute = _as_attribute(self.attribute, "share(...)")
        object.__setattr__(self, "attribute", attribute)
        owner = f"share({attribute.name})"
        valid = isinstance(self.shares, Mapping) and len(self.shares) > 0
        require(valid, owner, "needs a dictionary of value: share", self.shares)
        for value, part in self.shares.items():
            valid = is_number(part) and 0 <= part <= 1
            require(valid, f"{owner}[{value!r}]", "must be in 0..1", part)
        total = math.fsum(self.shares.values())
        require(total <= 1 + 1e-9, owner, "must sum to at most 1", total)
        object.__setattr__(
            self, "shares", _HashableDict({label_text(value): float(p) for value, p in self.shares.items()})
        )

    def _described(self, write: Write) -> dict[str, Any]:
        return _wish_dict("share", self.attribute, write, shares=dict(self.shares))

    def targets(self, k: int) -> dict[str, int]:
        """Return the target number of results for each value, by largest remainder; "" stands for all other values."""
        shares = {**self.shares, "": max(1.0 - math.fsum(self.shares.values()), 0.0)}
        exact = {value: part * k for value, part in shares.items()}
        counts = {value: math.floor(part + 1e-9) for value, part in exact.items()}
        # The remaining places go to the largest remainders; named values come before all others.
        order = sorted(exact, key=lambda value: (counts[value] - exact[value], value == ""))
        for value in order[: k - sum(counts.values())]:
            counts[value] += 1
        return counts

    def for_k(self, quota: AnyQuota, k: int) -> Quota:
        """Return the quota with the target counts of k results."""
        assert isinstance(quota, Quota)
        targets = self.targets(k)
        return replace(quota, capacity=np.array([*(targets[value] for value in self.shares), targets[""]], np.int64))

    def quota(self, labels: SparseBins | VectorBins) -> Quota:
        """Return the quota over rows with these labels: one group per named value, and one for all others."""
        assert isinstance(labels, SparseBins)
        groups = {value: group for group, value in enumerate(self.shares)}
        other = len(groups)
        names = labels.labels or tuple(str(code) for code in range(labels.count))
        group_of = np.array([groups.get(name, other) for name in names] or [other], np.int64)
        owner = np.repeat(np.arange(labels.rows), np.diff(labels.indptr))
        has_group = np.zeros((labels.rows, other + 1), bool)
        has_group[owner, group_of[labels.indices]] = True
        # A row with a named value counts for that value only; every other row counts as "other".
        has_group[:, other] = ~has_group[:, :other].any(axis=1)
        rows, groups_of_rows = np.nonzero(has_group)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=labels.rows))]).astype(np.int64)
        return Quota(indptr, groups_of_rows.astype(np.int64), np.zeros(other + 1, np.int64), 1)


class _HashableDict(dict[str, float]):
    """A dictionary that a frozen dataclass can hold; it is never changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


AnyWish = Wish | Limit | Share
Wishes = AnyWish | Sequence[AnyWish]


def _wish_dict(word: str, attribute: Any, write: Write, **parameters: Any) -> dict[str, Any]:
    """Return a wish as `from_dict` reads it. A plain `Category` becomes the name of its column; None is omitted."""
    is_plain = isinstance(attribute, Category) and attribute == Category(attribute.column)
    result = {word: attribute.column if is_plain else write(attribute, f"{word}({attribute.name}).attribute")}
    values = {name: value for name, value in parameters.items() if value is not None}
    return result | {name: write(value, f"{word}({attribute.name}).{name}") for name, value in values.items()}


def labels_of_rows(wish: Limit | Share, columns: Columns, vectors: Floats | None, rows: int) -> SparseBins | VectorBins:
    """Return the values that a limit or share counts, for all rows."""
    attribute: Any = wish.attribute
    owner = f"{'limit' if isinstance(wish, Limit) else 'share'}({attribute.name})"
    labels_or_bins = attribute.labels if hasattr(attribute, "labels") else attribute.membership
    labels = as_bins(labels_or_bins(columns, vectors), type(attribute).__name__, rows)
    if isinstance(labels, VectorBins) and isinstance(wish, Limit):
        return labels
    if not isinstance(labels, SparseBins):
        raise OptionError(f"{owner} needs an attribute with labels such as Category('city'), got {attribute!r}")
    return labels


def check_wishes(wishes: Wishes, k: int | None = None, backend: str = "auto") -> tuple[AnyWish, ...]:
    """Return one wish or several as a tuple, checked for contradictions and for what the backend cannot do."""
    many = hasattr(wishes, "__iter__") and not isinstance(wishes, str)
    checked: tuple[Any, ...] = tuple(wishes) if many else (wishes,)  # type: ignore[arg-type]
    for wish in checked:
        if not isinstance(wish, (Wish, Limit, Share)):
            raise OptionError(f"wishes must be spread(...), focus(...), limit(...) or share(...), got {wish!r}")
        if backend == "gpu" and isinstance(wish.attribute, Vectors):
            raise OptionError("backend 'gpu' cannot compare Vectors: use backend='native'")
    limits = [wish for wish in checked if isinstance(wish, Limit) and not wish.fill]
    for share_ in (wish for wish in checked if isinstance(wish, Share) and limits and k is not None):
        largest = max(share_.shares, key=share_.shares.__getitem__)
        target = share_.targets(k or 0)[largest]
        for limit_ in limits:
            if limit_.attribute == share_.attribute and target > limit_.n:
                raise OptionError(
                    f"limit({limit_.attribute.name}) contradicts share({share_.attribute.name}): "
                    f"{largest!r} is to have {target} of {k} results, and at most {limit_.n}"
                )
    return checked


def _as_attribute(attribute: Any, owner: str) -> Attribute:
    if isinstance(attribute, str):
        return Category(attribute)
    if isinstance(attribute, type) or not (hasattr(attribute, "membership") and hasattr(attribute, "name")):
        raise OptionError(f"{owner} needs an attribute such as Place() or Category('camera'), got {attribute!r}")
    return attribute


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
        The attribute to spread: `Place()`, `Category("camera")`, the name of a column of labels, or your own attribute.
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


def limit(attribute: Attribute | str, n: int, fill: bool = False) -> Limit:
    """Ask for at most n results per value. The limit is never exceeded, not even by protected results.

    Parameters
    ----------
    attribute
        The attribute whose values are counted: the name of a column of labels, `Category`, `Clusters`, or an attribute
        whose values have names: hours of `HourOfDay`, days of `Date` and `Weekday`, months of `DayOfYear`. With
        `Vectors` near-copies are counted: `limit(Vectors(), 1)` shows no two of them.
    n
        Results per value and page, at least 1. A result with several values counts for each of them. Results without a
        value are not limited.
    fill
        Complete the list with the best remaining candidates if the limit leaves fewer than k (default: False).
    """
    return Limit(attribute, n, fill)  # type: ignore[arg-type]


def share(attribute: Attribute | str, shares: Mapping[Any, float]) -> Share:
    """Ask for target shares of values, met exactly if the candidates allow it; counts are rounded by largest remainder.

    Parameters
    ----------
    attribute
        The attribute whose values are counted; see `limit`.
    shares
        Share of the k results for each value, 0..1, at most 1 in sum; all other values get the rest. Values are
        compared as text. Places for which there are no candidates go to other results, and `explain()` says so.

    Examples
    --------
    >>> share("region", {"Europe": 0.6, "Asia": 0.4}).targets(20)
    {'Europe': 12, 'Asia': 8, '': 0}
    """
    return Share(attribute, shares)  # type: ignore[arg-type]
