"""Order results so that limits on consecutive results hold, and pinned results stand at their places."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mascot.kernels.quotas import Quota

_Key = tuple[int, int]  # the number of a rule, and a label
_STEPS_PER_PLACE = 40  # steps of the search, before it gives up


class PlaceRule(NamedTuple):
    """At most `quota.capacity[label]` results per label in every `length` consecutive results, or in the first ones."""

    quota: Quota
    length: int
    first: bool = False  # only the first `length` results of the page


class Arrangement(NamedTuple):
    """The order of items that the rules allow, and the items that have no place in it."""

    order: list[int]
    left: list[int]


class _Page:
    """The places of a page, and the results that stand there so far."""

    def __init__(self, rows: Sequence[int], rules: Sequence[PlaceRule], before: Sequence[int], count: int) -> None:
        self.rules, self.count = rules, count
        self.keys = [self._keys(row) for row in rows]  # of each item
        self.places: dict[_Key, list[int]] = {}  # of the results so far, ascending; earlier pages have negative places
        self.fixed: dict[int, int] = {}
        for place, row in enumerate(before, -len(before)):
            for key in self._keys(row):
                if not rules[key[0]].first:
                    self.places.setdefault(key, []).append(place)

    def _keys(self, row: int) -> tuple[_Key, ...]:
        return tuple((r, label) for r, rule in enumerate(self.rules) for label in rule.quota.of(row).tolist())

    def most(self, key: _Key) -> int:
        return int(self.rules[key[0]].quota.capacity[key[1]])

    def allows(self, item: int, place: int) -> bool:
        """Return whether an item may stand at a place: no n + 1 results of a label may lie within a window."""
        for key in self.keys[item]:
            rule, n, places = self.rules[key[0]], self.most(key), self.places.get(key, [])
            if rule.first:
                if place < rule.length and bisect_left(places, rule.length) >= n:
                    return False
                continue
            at = bisect_left(places, place)
            near = [*places[max(at - n, 0) : at], place, *places[at : at + n]]
            if any(last - first < rule.length for first, last in zip(near, near[n:], strict=False)):
                return False
        return True

    def put(self, item: int, place: int) -> None:
        for key in self.keys[item]:
            insort(self.places.setdefault(key, []), place)

    def remove(self, item: int, place: int) -> None:
        for key in self.keys[item]:
            self.places[key].remove(place)

    def has_room(self, remaining: Counter[_Key], start: int) -> bool:
        """Return whether each label alone has enough places from `start` on for its remaining results."""
        return all(count <= self._room(key, start, count) for key, count in remaining.items())

    def _room(self, key: _Key, start: int, enough: int) -> int:
        rule, n, places = self.rules[key[0]], self.most(key), self.places.get(key, [])
        if places and places[-1] >= start:  # a pinned result stands further down: do not judge
            return enough
        if rule.first:
            return max(n - len(places), 0) + self.count - max(start, rule.length)
        if n == 0 or enough <= n * ((self.count - start - rule.length + 1) // rule.length):
            return 0 if n == 0 else enough
        recent, room = places[-n:], 0
        while start < self.count and room < enough:
            if len(recent) >= n and start - recent[-n] < rule.length:
                start = recent[-n] + rule.length
                continue
            if start not in self.fixed:
                recent.append(start)
                room += 1
            start += 1
        return room


def arrange(
    rows: Sequence[int], rules: Sequence[PlaceRule], before: Sequence[int] = (), fixed: Mapping[int, int] | None = None
) -> Arrangement:
    """Return the first order of items, as they are wanted, that the rules allow.

    Item i has the labels of `rows[i]`, and items are wanted in ascending order. At each place stands the first item
    that leaves an order of the others. `before` are the rows of earlier pages, and `fixed` the items that have a place.
    A search of bounded length finds that order. If it fails, the labels with most results go first.
    """
    page = _Page(rows, rules, before, len(rows))
    page.fixed = dict(fixed or {})
    for place, item in sorted(page.fixed.items()):
        if not page.allows(item, place):  # a short page has moved it up
            return Arrangement([other for other in range(len(rows)) if other != item], [item])
        page.put(item, place)
    pinned = set(page.fixed.values())
    items = [item for item in range(len(rows)) if item not in pinned]
    places = [place for place in range(len(rows)) if place not in page.fixed]
    order = _search(page, items, places, 0)
    if order is None:
        order = _search(page, items, places, _STEPS_PER_PLACE * len(rows))
    return _crowded_first(page, items, places) if order is None else _joined(page, places, order, [])


def _joined(page: _Page, places: list[int], order: list[int], left: list[int]) -> Arrangement:
    """Return the pinned items at their places, and the others in their order."""
    at = {**page.fixed, **dict(zip(places, order, strict=False))}
    return Arrangement([at[place] for place in sorted(at)], left)


def _search(page: _Page, items: list[int], places: list[int], steps: int) -> list[int] | None:
    """Return the first order of items at places that the rules allow; None if it is not found in `steps` steps back.

    Without steps back the search does not look ahead, which is enough for most pages.
    """
    remaining, order = list(items), list[int]()
    counts = Counter(key for item in items for key in page.keys[item])
    rejected: list[set[tuple[_Key, ...]]] = [set()]  # for each place: labels of items that were tried
    look_ahead = steps > 0
    while remaining:
        place = places[len(order)]
        for item in remaining:
            if page.keys[item] in rejected[-1]:
                continue
            rejected[-1].add(page.keys[item])
            if not page.allows(item, place):
                continue
            page.put(item, place)
            counts.subtract(page.keys[item])
            if not look_ahead or page.has_room(counts, place + 1):
                remaining.remove(item)
                order.append(item)
                rejected.append(set())
                break
            page.remove(item, place)
            counts.update(page.keys[item])
        else:
            if not order or steps <= 0:
                break
            steps -= 1
            rejected.pop()
            item = order.pop()
            page.remove(item, places[len(order)])
            counts.update(page.keys[item])
            insort(remaining, item)
    for place, item in zip(places, order, strict=False):
        page.remove(item, place)
    return None if remaining else order


def _crowded_first(page: _Page, items: list[int], places: list[int]) -> Arrangement:
    """Return an order in which the label with most remaining results goes first, as far as the rules allow."""
    remaining, order = list(items), list[int]()
    counts = Counter(key for item in items for key in page.keys[item])
    for place in places:
        allowed = [item for item in remaining if page.allows(item, place)]
        if not allowed:
            break
        item = max(
            allowed, key=lambda item: max((counts[key] / max(page.most(key), 1) for key in page.keys[item]), default=0)
        )
        page.put(item, place)
        counts.subtract(page.keys[item])
        remaining.remove(item)
        order.append(item)
    return _joined(page, places, order, remaining)
