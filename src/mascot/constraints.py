"""Constraints: limits, minimum counts and shares of the values of an attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from mascot.attributes.attribute import Attribute, Columns, as_bins
from mascot.attributes.category import BareColumn, Category, Combination, label_text
from mascot.attributes.columns import is_missing
from mascot.bins import Floats, SparseBins, VectorBins
from mascot.errors import OptionError, check_one_of, check_share, check_switch, check_whole, require
from mascot.kernels.counters import FILLED, HELD, SHARED, CopyRule, LabelRule, Rule
from mascot.serialize import Value, Write

UNLIMITED = 1 << 31  # more than any number of results
NO_VALUE = "(no value)"  # the label of missing values that count as one value
Uncounted = Literal["ignore", "value", "drop"]
Bound = Literal["exactly", "at least", "at most"]


@dataclass(frozen=True, slots=True)
class Limit(Value):
    """At most `n` results for each value of an attribute, as `limit` returns it."""

    attribute: Attribute
    n: int | Mapping[str, int]
    fill: bool = False
    window: int | None = None
    first: int | None = None
    others: int | None = None
    missing: Uncounted = "ignore"
    session: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "attribute", as_attribute(self.attribute, "limit(...)"))
        owner = f"limit({self.attribute.name})"
        if isinstance(self.n, Mapping):
            object.__setattr__(self, "n", _counts(self.attribute, self.n, owner, 0))
        else:
            check_whole(f"{owner}.n", self.n, 0 if self.first is not None else 1)
            require(self.others is None, f"{owner}.others", "needs n for each value, as in {'acme': 5}", self.others)
        if self.others is not None:
            check_whole(f"{owner}.others", self.others, 0)
        for switch in ("fill", "session"):
            check_switch(f"{owner}.{switch}", getattr(self, switch))
        check_one_of(f"{owner}.missing", self.missing, *get_args(Uncounted))
        for name in ("window", "first"):
            length = getattr(self, name)
            if length is None:
                continue
            check_whole(f"{owner}.{name}", length, 1)
            most = max([*self.named.values(), self.others or 0])
            require(length > most, f"{owner}.{name}", f"must be more than n, which is {most}", length)
            require(not self.fill, f"{owner}.fill", f"cannot be combined with {name}", self.fill)
        both = self.window is not None and self.first is not None
        require(not both, f"{owner}.first", "cannot be combined with window: write two limits", self.first)

    @property
    def named(self) -> dict[str, int]:
        """The largest count of each named value; "" stands for all values."""
        return dict(self.n) if isinstance(self.n, Mapping) else {"": self.n}

    @property
    def places(self) -> bool:
        """Whether the limit is about places in the shown order, and not about the whole page."""
        return self.window is not None or self.first is not None

    @property
    def counts_session(self) -> bool:
        """Whether results of earlier pages count for the limit of a page."""
        return self.session and not self.places

    def most(self, value: str) -> int:
        """Return the largest count of a value."""
        default = UNLIMITED if self.others is None else self.others
        return self.n.get(value, default) if isinstance(self.n, Mapping) else int(self.n)

    def bounds(self, value: str, k: int) -> tuple[int, int]:
        """Return the smallest and the largest count of a value in k results."""
        return 0, UNLIMITED if self.fill else self._page_count(self.most(value), k)

    def _page_count(self, n: int, k: int) -> int:
        """Return how many of k results a value may have that has at most n in each window, or among the first ones."""
        if self.window is not None:
            return n * (k // self.window) + min(n, k % self.window)
        return n if self.first is None else n + max(k - self.first, 0)

    def _described(self, write: Write) -> dict[str, Any]:
        n = dict(self.n) if isinstance(self.n, Mapping) else self.n
        defaults = {"others": None, "window": None, "first": None, "missing": "ignore", "session": False}
        options = {name: getattr(self, name) for name in defaults if getattr(self, name) != defaults[name]}
        return wish_dict("limit", self.attribute, write, n=n, fill=self.fill, **options)

    def rule(self, labels: SparseBins | VectorBins) -> Rule:
        """Return the rule over rows with these labels or vectors."""
        gives = FILLED if self.fill else HELD
        if isinstance(labels, VectorBins):
            owner = f"limit({self.attribute.name})"
            require(isinstance(self.n, int) and not self.places, owner, "with Vectors takes n and fill", self)
            return CopyRule(labels.vectors, labels.copies, int(self.most("")), gives, self.session)
        counts = [self.n] * labels.count if isinstance(self.n, int) else list(map(self.most, _names(labels)))
        capacity = np.array(counts or [UNLIMITED], np.int64)
        return LabelRule(
            labels.indptr, labels.indices, capacity, gives, None, self.window or 0, self.first or 0, self.session
        )

    def for_k(self, rule: Rule, k: int) -> Rule:
        """Return the rule of a page of k results."""
        return rule


@dataclass(frozen=True, slots=True)
class AtLeast(Value):
    """Minimum numbers of results for values of an attribute, as `at_least` returns them."""

    attribute: Attribute
    counts: Mapping[str, int]
    first: int | None = None
    missing: ClassVar[Uncounted] = "ignore"

    def __post_init__(self) -> None:
        object.__setattr__(self, "attribute", as_attribute(self.attribute, "at_least(...)"))
        owner = f"at_least({self.attribute.name})"
        object.__setattr__(self, "counts", _counts(self.attribute, self.counts, owner, 1))
        if self.first is not None:
            check_whole(f"{owner}.first", self.first, 1)
            total = sum(self.counts.values())
            rule = f"must be at least the sum of the counts, {total}"
            require(self.first >= total, f"{owner}.first", rule, self.first)

    def _described(self, write: Write) -> dict[str, Any]:
        return wish_dict("at_least", self.attribute, write, counts=dict(self.counts), first=self.first)

    @property
    def named(self) -> dict[str, int]:
        """The smallest count of each value."""
        return dict(self.counts)

    def bounds(self, value: str, k: int) -> tuple[int, int]:
        """Return the smallest and the largest count of a value in k results."""
        return self.counts.get(value, 0), UNLIMITED

    def rule(self, labels: SparseBins | VectorBins) -> LabelRule:
        """Return the rule over rows with these labels: one group per named value, and one for all others."""
        rule = _with_least(_grouped(labels, tuple(self.counts), SHARED), [*self.counts.values(), 0])
        return replace(rule, first=self.first or 0)

    def for_k(self, rule: Rule, k: int) -> Rule:
        """Return the rule of a page of k results."""
        return rule


@dataclass(frozen=True, slots=True)
class Share(Value):
    """Target, smallest or largest shares of an attribute's values, as `share` returns them."""

    attribute: Attribute
    shares: Mapping[str, float]
    bound: Bound = "exactly"
    missing: ClassVar[Uncounted] = "ignore"

    def __post_init__(self) -> None:
        attribute = as_attribute(self.attribute, "share(...)")
        object.__setattr__(self, "attribute", attribute)
        owner = f"share({attribute.name})"
        check_one_of(f"{owner}.bound", self.bound, *get_args(Bound))
        valid = isinstance(self.shares, Mapping) and len(self.shares) > 0
        require(valid, owner, "needs a dictionary of value: share", self.shares)
        for value, part in self.shares.items():
            check_share(f"{owner}[{value!r}]", part)
        total = math.fsum(self.shares.values())
        require(total <= 1 + 1e-9 or self.bound == "at most", owner, "must sum to at most 1", total)
        shares = {value: float(part) for value, part in self.shares.items()}
        object.__setattr__(self, "shares", _by_label(attribute, shares, owner))

    def _described(self, write: Write) -> dict[str, Any]:
        bound = None if self.bound == "exactly" else self.bound
        return wish_dict("share", self.attribute, write, shares=dict(self.shares), bound=bound)

    @property
    def named(self) -> dict[str, float]:
        """The share of each value."""
        return dict(self.shares)

    def bounds(self, value: str, k: int) -> tuple[int, int]:
        """Return the smallest and the largest count of a value in k results."""
        target = self.targets(k).get(value, UNLIMITED)
        if target == UNLIMITED or self.bound == "at most":
            return 0, target
        return target, UNLIMITED if self.bound == "at least" else target

    def targets(self, k: int) -> dict[str, int]:
        """Return the number of results for each value; "" stands for all other values.

        Exact shares are rounded by largest remainder, smallest shares up, and largest shares down.
        """
        if self.bound != "exactly":
            if self.bound == "at most":
                return {value: math.floor(part * k + 1e-9) for value, part in self.shares.items()} | {"": k}
            counts = {value: math.ceil(part * k - 1e-9) for value, part in self.shares.items()}
            return counts | {"": max(k - sum(counts.values()), 0)}
        shares = {**self.shares, "": max(1.0 - math.fsum(self.shares.values()), 0.0)}
        exact = {value: part * k for value, part in shares.items()}
        counts = {value: math.floor(part + 1e-9) for value, part in exact.items()}
        # The remaining places go to the largest remainders; named values come before all others.
        order = sorted(exact, key=lambda value: (counts[value] - exact[value], value == ""))
        for value in order[: k - sum(counts.values())]:
            counts[value] += 1
        return counts

    def rule(self, labels: SparseBins | VectorBins) -> LabelRule:
        """Return the rule over rows with these labels: one group per named value, and one for all others."""
        return _grouped(labels, tuple(self.shares), HELD if self.bound == "at most" else SHARED)

    def for_k(self, rule: Rule, k: int) -> Rule:
        """Return the rule of a page of k results, with its counts."""
        assert isinstance(rule, LabelRule)
        targets = self.targets(k)
        counts = [targets[value] for value in self.shares]
        if self.bound == "at least":
            return _with_least(rule, [*counts, 0])
        return replace(rule, capacity=np.array([*counts, targets[""]], np.int64))


Constraint = Limit | AtLeast | Share


class _HashableDict(dict[str, Any]):
    """A dictionary that a frozen dataclass can hold; it is never changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _counts(attribute: Attribute, counts: Any, owner: str, least: int) -> _HashableDict:
    """Return a dictionary of value: count, checked. Values are compared as text."""
    valid = isinstance(counts, Mapping) and len(counts) > 0
    require(valid, owner, "needs a dictionary of value: count", counts)
    for value, count in counts.items():
        check_whole(f"{owner}[{value!r}]", count, least)
    return _by_label(attribute, {value: int(count) for value, count in counts.items()}, owner)


def _by_label(attribute: Attribute, numbers: Mapping[Any, float], owner: str) -> _HashableDict:
    """Return the numbers of values by their labels, which the attribute must have if it lists all of them."""
    by_label = _HashableDict({label_text(value): number for value, number in numbers.items()})
    require(not any(map(is_missing, numbers)), owner, "must name values that are not missing", list(numbers))
    require(len(by_label) == len(numbers), owner, "must name each value once, compared as text", list(numbers))
    names: tuple[str, ...] = getattr(attribute, "value_names", ())
    for label in by_label if names else ():
        require(label in names, owner, f"must name values from {names[0]} to {names[-1]}", label)
    return by_label


def _names(labels: SparseBins) -> tuple[str, ...]:
    return labels.labels or tuple(str(code) for code in range(labels.count))


def _grouped(labels: SparseBins | VectorBins, values: tuple[str, ...], gives: int) -> LabelRule:
    """Return a rule with a group for each value, and one for all other values. The capacities are 0."""
    assert isinstance(labels, SparseBins)
    groups = {value: group for group, value in enumerate(values)}
    other = len(groups)
    group_of = np.array([groups.get(name, other) for name in _names(labels)] or [other], np.int64)
    owner = np.repeat(np.arange(labels.rows), np.diff(labels.indptr))
    has_group = np.zeros((labels.rows, other + 1), bool)
    has_group[owner, group_of[labels.indices]] = True
    # A row with a named value counts for that value only; every other row counts as "other".
    has_group[:, other] = ~has_group[:, :other].any(axis=1)
    rows, groups_of_rows = np.nonzero(has_group)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=labels.rows))]).astype(np.int64)
    return LabelRule(indptr, groups_of_rows.astype(np.int64), np.zeros(other + 1, np.int64), gives)


def _with_least(rule: LabelRule, counts: Sequence[int]) -> LabelRule:
    least = np.array(counts, np.int64)
    return replace(rule, capacity=np.full_like(least, UNLIMITED), least=least)


def name_of(wish: Constraint) -> str:
    """Return a constraint as messages call it: "limit(seller)"."""
    word = "limit" if isinstance(wish, Limit) else "share" if isinstance(wish, Share) else "at_least"
    return f"{word}({wish.attribute.name})"


def labels_of_rows(wish: Constraint, columns: Columns, vectors: Floats | None, rows: int) -> SparseBins | VectorBins:
    """Return the values that a constraint counts, for all rows."""
    attribute: Any = wish.attribute
    labels_or_bins = attribute.labels if hasattr(attribute, "labels") else attribute.membership
    labels = as_bins(labels_or_bins(columns, vectors), type(attribute).__name__, rows)
    if isinstance(labels, VectorBins) and isinstance(wish, Limit):
        return labels
    if not isinstance(labels, SparseBins):
        raise OptionError(f"{name_of(wish)} needs an attribute with labels such as Category('city'), got {attribute!r}")
    if wish.missing != "value" or not labels.missing().any():
        return labels
    indices = np.insert(labels.indices, labels.indptr[:-1][labels.missing()], labels.count)
    indptr = labels.indptr + np.concatenate([[0], np.cumsum(labels.missing())])
    return SparseBins(indptr, indices, None, labels.count + 1, (*_names(labels), NO_VALUE))


def check_constraints(constraints: Sequence[Constraint], k: int) -> None:
    """Raise if k results cannot obey the constraints, whatever the candidates are."""
    for wish in constraints:
        if isinstance(wish, AtLeast):
            total = sum(wish.counts.values())
            require(total <= k, name_of(wish), f"must ask for at most k = {k} results", total)
    _check_shares([wish for wish in constraints if isinstance(wish, Share) and wish.bound != "at most"])
    for lower, upper in permutations(constraints, 2):
        if _counted(lower) != _counted(upper) or isinstance(lower, Limit):
            continue
        for value in sorted(lower.named, key=lambda value: -lower.bounds(value, k)[0]):
            least, most = lower.bounds(value, k)[0], upper.bounds(value, k)[1]
            if least > most:
                raise OptionError(
                    f"{name_of(upper)} contradicts {name_of(lower)}: "
                    f"{value!r} is to have {least} of {k} results, and at most {most}"
                )


def _check_shares(shares: Sequence[Share]) -> None:
    """Raise if the shares of one attribute in several wishes are more than all results."""
    for wish in shares:
        parts: dict[str, float] = {}
        for other in shares:
            if _counted(other) == _counted(wish):
                parts |= {value: max(part, parts.get(value, 0.0)) for value, part in other.shares.items()}
        total = math.fsum(parts.values())
        require(total <= 1 + 1e-9, name_of(wish), "and the other shares of it must sum to at most 1", total)


def _counted(wish: Constraint) -> Attribute:
    """Return the attribute that is counted; a bare column counts labels, like a `Category` of it."""
    attribute = wish.attribute
    return Category(attribute.column) if isinstance(attribute, Category) else attribute


def as_attribute(attribute: Any, owner: str) -> Attribute:
    """Return the attribute that a wish is about; a text is a column, and a list several columns of labels."""
    if isinstance(attribute, str):
        return BareColumn(attribute)
    if isinstance(attribute, (tuple, list)):
        return Combination(tuple(attribute))
    if isinstance(attribute, type) or not (hasattr(attribute, "membership") and hasattr(attribute, "name")):
        raise OptionError(f"{owner} needs an attribute such as Place() or Category('camera'), got {attribute!r}")
    return attribute


def wish_dict(word: str, attribute: Any, write: Write, **parameters: Any) -> dict[str, Any]:
    """Return a wish as `from_dict` reads it. A bare column becomes its name; None is omitted."""
    is_plain = isinstance(attribute, BareColumn) and attribute == BareColumn(attribute.column)
    names = list(attribute.columns) if isinstance(attribute, Combination) else attribute.column if is_plain else None
    result = {word: names or write(attribute, f"{word}({attribute.name}).attribute")}
    values = {name: value for name, value in parameters.items() if value is not None}
    return result | {name: write(value, f"{word}({attribute.name}).{name}") for name, value in values.items()}
