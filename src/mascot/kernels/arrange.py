"""Order results so that limits on consecutive results hold, and pinned results stand at their places."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mascot.kernels.constants import STEPS_PER_PLACE
from mascot.kernels.quotas import PlaceRule, Quota

_Ints = NDArray[np.int64]
_NO_ROWS: _Ints = np.zeros(0, np.int64)


class Arrangement(NamedTuple):
    """The order of items that the rules allow, and the items that have no place in it."""

    order: _Ints
    left: _Ints

    @classmethod
    def of(cls, order: Sequence[int], left: Sequence[int] = ()) -> Arrangement:
        return cls(np.array(order, np.int64), np.array(left, np.int64))


class _Label:
    """A label of one rule: where its results stand so far, and where the next ones may stand."""

    __slots__ = ("count", "deadline", "end", "first", "length", "n", "opens", "pins", "places")

    def __init__(self, rule: PlaceRule, n: int, end: int) -> None:
        self.n, self.first, self.end = n, rule.first, end
        self.length = min(rule.length, end) if rule.first else rule.length
        self.count = 0  # results without a place
        self.places: list[int] = []  # of the results so far, ascending; earlier pages have negative places
        self.pins: list[int] = []  # places of pinned results

    def update(self) -> None:
        """Compute the first place of the next result, and the last place at which all others still have room."""
        n, length = self.n, self.length
        self.opens, self.deadline = -1, self.end
        if len(self.places) >= n:
            self.opens = length if self.first else self.places[-n] + length if n else self.end
        if self.first:
            needed = self.count - (self.end - length)  # results that must be among the first ones
            if needed > 0:
                self.deadline = length - needed if needed <= n - len(self.places) else -1
        elif self.count:
            windows, others = divmod(self.count - 1, max(n, 1))
            self.deadline = self.end - 1 - windows * length - others

    def put(self, place: int) -> None:
        self.places.append(place)
        self.count -= 1
        self.update()

    def remove_last(self) -> None:
        self.places.pop()
        self.count += 1
        self.update()

    def allows(self, place: int) -> bool:
        """Return whether a result may stand at a place behind all others but pinned ones."""
        if place < self.opens or not self.pins:
            return place >= self.opens
        later = [pin for pin in self.pins if pin > place]
        if self.first:
            return place >= self.length or len(self.places) + sum(pin < self.length for pin in later) < self.n
        near = [*self.places[-self.n :], place, *later[: self.n]]
        return all(last - first >= self.length for first, last in zip(near, near[self.n :], strict=False))


_Labels = tuple[_Label, ...]


def arrange(
    rows: _Ints, quotas: Sequence[Quota], before: _Ints = _NO_ROWS, fixed: Mapping[int, int] | None = None
) -> Arrangement:
    """Return the first order of items, as they are wanted, that the rules of the quotas on places allow.

    Item i has the labels of `rows[i]`, and items are wanted in ascending order. At each place stands the first item
    that leaves an order of the others. `before` are the rows of earlier pages, and `fixed` the items that have a place.
    A search of bounded length finds that order. If it fails, the labels with most results go first.
    """
    labels, of_item = _binding_labels(rows, quotas, before)
    pins = sorted(fixed.items()) if fixed else []
    for place, item in pins:
        if any(label.opens > place for label in of_item[item]):  # a short page has moved it up
            return Arrangement.of([other for other in range(len(rows)) if other != item], [item])
        for label in of_item[item]:
            label.put(place)
    for place, item in reversed(pins):
        for label in of_item[item]:
            label.remove_last()
            label.pins.insert(0, place)
    order = _search(labels, of_item, dict(pins))
    return _crowded_first(of_item, dict(pins)) if order is None else Arrangement.of(order)


def _binding_labels(rows: _Ints, quotas: Sequence[Quota], before: _Ints) -> tuple[list[_Label], list[_Labels]]:
    """Return the labels with more results than a rule allows in one window, and those of each item."""
    binding: list[_Label] = []
    of_item: list[_Labels] = [()] * len(rows)
    for quota in quotas:
        rule = quota.places
        if rule is None:
            continue
        earlier = 0 if rule.first else len(before)
        every = np.concatenate([before, rows]) if earlier else rows
        begin = quota.indptr[every]
        sizes = quota.indptr[every + 1] - begin
        owners = np.arange(len(every)).repeat(sizes)
        numbers = quota.labels[np.arange(len(owners)) + (begin - sizes.cumsum() + sizes)[owners]]
        capacities, totals = rule.capacity[numbers].tolist(), Counter(numbers.tolist())
        labels: dict[int, _Label] = {}
        for owner, number, n in zip(owners.tolist(), numbers.tolist(), capacities, strict=True):
            if totals[number] <= n:
                continue
            label = labels.get(number)
            if label is None:
                label = labels[number] = _Label(rule, n, len(rows))
            if owner < earlier:
                label.places.append(owner - earlier)
            else:
                label.count += 1
                of_item[owner - earlier] += (label,)
        binding += labels.values()
    for label in binding:
        label.update()
    return binding, of_item


def _search(labels: list[_Label], of_item: list[_Labels], fixed: Mapping[int, int]) -> list[int] | None:
    """Return the first order of items that the rules allow; None if it is not found in a bounded number of steps back.

    A label whose deadline has come must be at the next place.
    """
    if not labels and not fixed:
        return list(range(len(of_item)))
    if any(label.opens > label.deadline for label in labels):
        return None
    count, pinned = len(of_item), set(fixed.values())
    remaining, order = [item for item in range(count) if item not in pinned], list[int]()
    rejected: list[set[_Labels]] = [set()]  # for each place: labels of items that were tried
    steps, nearest = STEPS_PER_PLACE * count, 0  # no deadline is before `nearest`
    while len(order) < count:
        place, barred, urgent = len(order), rejected[-1], list[_Label]()
        if place >= nearest:  # deadlines only move back as results are put
            urgent = [label for label in labels if label.deadline <= place]
            nearest = place if urgent else min([label.deadline for label in labels], default=count)
        for item in [fixed[place]] if place in fixed else remaining:
            own = of_item[item]
            if own not in barred and _fits(own, place, urgent):
                order.append(item)
                rejected.append(set())
                if item not in pinned:
                    remaining.remove(item)
                for label in own:
                    label.put(place)
                break
            barred.add(own)
        else:
            if not order or not steps:
                break
            steps, nearest = steps - 1, 0
            rejected.pop()
            item = order.pop()
            rejected[-1].add(of_item[item])
            for label in of_item[item]:
                label.remove_last()
            if item not in pinned:
                insort(remaining, item)
    if len(order) == count:
        return order
    for item in reversed(order):
        for label in of_item[item]:
            label.remove_last()
    return None


def _fits(own: _Labels, place: int, urgent: Sequence[_Label] = ()) -> bool:
    """Return whether an item with these labels may stand at a place, at which urgent labels must stand."""
    for label in urgent:
        if label not in own:
            return False
    for label in own:  # noqa: SIM110 (a generator takes twice the time)
        if not label.allows(place):
            return False
    return True


def _crowded_first(of_item: list[_Labels], fixed: Mapping[int, int]) -> Arrangement:
    """Return an order in which the label with most remaining results goes first, as far as the rules allow."""

    def crowding(item: int) -> float:
        return max((label.count / max(label.n, 1) for label in of_item[item]), default=0.0)

    remaining, order = [item for item in range(len(of_item)) if item not in set(fixed.values())], list[int]()
    for place in range(len(of_item)):
        allowed = [item for item in remaining if _fits(of_item[item], place)]
        if place not in fixed and not allowed:
            break
        item = fixed[place] if place in fixed else max(allowed, key=crowding)
        for label in of_item[item]:
            label.put(place)
        order.append(item)
        if place not in fixed:
            remaining.remove(item)
    return Arrangement.of([*order, *(item for item in fixed.values() if item not in order)], remaining)
