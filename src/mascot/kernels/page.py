"""The loop that builds a page, place by place, and writes down why. The specification of `native/loop.h`.

Terms say what a candidate earns, counters say whether it may stand at a place. A place gets its pinned result, or the
first protected result that may stand there, or the candidate with the largest gain

    (1 - strength) * relevance + strength * (sum of the gains of all terms)

Where no candidate is allowed, shares give way first, and then limits with fill, one result more at a time. A limit
without fill never gives way: the page ends.

Gains closer together than `TIE` of the query's scale are equal, and equal gains go to the lowest position. Rounding
therefore never decides: bursts, mirrored places and one-hot bins tie exactly here and in C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from mascot.kernels.constants import RETRIES, TIE
from mascot.kernels.counters import FILLED, Counter
from mascot.kernels.objective import Bools, Floats, Ints, Novelty, Term

PINNED, PROTECTED, BEST = 0, 1, 2  # what decided at a place


class Completion(Protocol):
    """A plan that completes the page within the rules on the whole page; see `plan.py`."""

    size: int  # results that it contains

    def take(self, i: int) -> bool:
        """Pick a candidate if the page can still be completed. Return whether it can."""

    def like(self, i: int) -> Bools:
        """Return which candidates count for the rules as this one does."""

    def copy(self) -> Completion:
        """Return the plan as it was before the first pick."""


class Entry(NamedTuple):
    """What decided at one place."""

    cause: int  # PINNED, PROTECTED or BEST
    relevance: float
    gains: tuple[float, ...]  # of each term
    kept_out: int = -1  # the best of the candidates with a larger gain that a rule does not allow here
    rule: int = -1  # the first rule that does not allow it; -1: the plan
    level: int = 0  # which rules had given way


@dataclass(eq=False, slots=True)
class Page:
    """The results of a query, in the order of selection, and the log of their places."""

    positions: list[int] = field(default_factory=list)
    log: list[Entry] = field(default_factory=list)
    level: int = 0  # 1: shares gave way; more: limits with fill did
    strength: float = 0.0  # in the gains
    stuck: int = -1  # the first place that no candidate could take, within the plan if there was one

    def objective(self, strength: float) -> float:
        """Return the sum of what the results gained, at this strength."""
        return sum((1 - strength) * entry.relevance + strength * sum(entry.gains) for entry in self.log)


@dataclass(eq=False, slots=True)
class Query:
    """The N candidates of one query: what they are worth, and which rules hold."""

    scores: Floats
    relevance: Floats  # in the gain
    terms: Sequence[Term]
    counters: Sequence[Counter]  # in the order of the rules
    k: int
    already: Ints  # results of earlier pages: they count as covered and are not selected again
    before: Sequence[int] = ()  # rows of these results, in the order shown, also of candidates that a rule dropped
    pinned: Mapping[int, int] = field(default_factory=dict)  # results by their places, from 0, in ascending order
    eligible: Bools | None = None  # which candidates may be selected; None: all
    fill: bool = True  # whether limits with fill give way

    def __post_init__(self) -> None:
        """Move the pins of a page that is too short further up."""
        last, places = self.length - 1, list[tuple[int, int]]()
        for place, i in sorted(self.pinned.items(), reverse=True):
            places.insert(0, (min(place, last), i))
            last = min(place, last) - 1
        self.pinned = dict(places)

    def free(self) -> Bools:
        free = np.ones(len(self.scores), bool) if self.eligible is None else self.eligible.copy()
        free[self.already] = False
        return free

    @property
    def length(self) -> int:
        """How many results a full page has."""
        return min(self.k, int(self.free().sum()))

    def order(self) -> Ints:
        """Return all positions, best first: by relevance, then by score, then by position."""
        return np.lexsort((-self.scores, -self.relevance)).astype(np.int64)

    def tie(self, strength: float) -> float:
        """Return how close two gains are that count as equal; without wishes only equal ones do."""
        if strength == 0:
            return 0.0
        best = abs(float(self.relevance.max())) if len(self.relevance) else 0.0
        return TIE * (1 - strength) * best + strength * sum(term.tie for term in self.terms)


def build(query: Query, strength: float, protected: Sequence[int] = (), plan: Completion | None = None) -> Page:
    """Return the page of a query at one strength. `protected` are selected first, as soon as rules allow them.

    Rules on places may leave no candidate for a place because of the results before it. Then the results that count for
    these rules as the last one does are barred from its place, and the page is built again, at most `RETRIES` times. If
    that does not help, values that a rule asks for come first, and at last values with many candidates. The longest
    page is returned, and of several the first.

    A pin for which a short page has no place is given up.
    """
    placed, best = [counter for counter in query.counters if counter.is_placed], Page()
    for first in (None, "needed", "crowded"):
        barred: dict[int, Bools] = {}
        for _ in range(1 + RETRIES):
            page = attempt(query, strength, protected, None if plan is None else plan.copy(), barred, first)
            rank, best_rank = ((len(own.positions), -own.level) for own in (page, best))
            best = page if rank > best_rank else best
            last = max((place for place in range(page.stuck) if place not in query.pinned), default=-1)
            if not placed or best.stuck < 0 or last < 0:
                break
            alike = np.logical_and.reduce([counter.alike(page.positions[last]) for counter in placed])
            barred = {place: mask for place, mask in barred.items() if place <= last}
            barred[last] = barred.get(last, False) | alike
        if not placed or best.stuck < 0:
            break
    kept = {place: i for place, i in query.pinned.items() if i in best.positions}
    return best if len(kept) == len(query.pinned) else build(replace(query, pinned=kept), strength, protected, plan)


def attempt(
    query: Query, strength: float, protected: Sequence[int], plan: Completion | None, barred: Mapping[int, Bools],
    first: str | None = None,
) -> Page:  # fmt: skip
    """Build a page without the candidates that are `barred` from a place, or with these values `first`."""
    page, waiting, free, length = Page(strength=strength), list(protected), query.free(), query.length
    counters, pinned, ties = query.counters, query.pinned, query.tie(strength)
    base = (1 - strength) * query.relevance

    def entry(i: int, cause: int, gains: Sequence[Floats], kept_out: tuple[int, int] = (-1, -1)) -> Entry:
        return Entry(cause, float(query.relevance[i]), tuple(float(own[i]) for own in gains), *kept_out, page.level)

    for term in query.terms:
        term.begin(query.already)
    pins = {}
    for i in pinned.values():  # they count as covered from the start
        pins[i] = entry(i, PINNED, [term.gains() for term in query.terms])
        free[i] = False
        for term in query.terms:
            term.add(i)
    for counter in counters:
        counter.begin(query.before, pinned)
    closed = no_one = np.zeros(len(free), bool)  # candidates that no completion of the page contains
    while (place := len(page.positions)) < length:
        if place in pinned:
            page.positions.append(pinned[place])
            page.log.append(pins[pinned[place]])
            continue
        masks = [counter.allowed(place, page.level, plan is not None) for counter in counters]
        allowed = free & ~closed & ~barred.get(place, no_one)
        for mask in masks:
            allowed = allowed if mask is None else allowed & mask
        if first is not None and allowed.any():
            urgency = np.max([counter.urgency(first, free) for counter in counters], axis=0)
            allowed = allowed & (urgency == urgency[allowed].max())
        parts = [term.gains() for term in query.terms]
        gains = sum((strength * part for part in parts), base)
        i, cause = next((i for i in waiting if allowed[i]), -1), PROTECTED
        if i < 0:
            i, cause = best_of(gains, allowed, ties), BEST
        if plan is not None and (i < 0 or place >= plan.size):
            page.stuck = place if i < 0 and page.stuck < 0 else page.stuck
            plan, page.level, closed = None, max(page.level, 1), no_one
            continue
        if i < 0:
            fills = query.fill and any(counter.rule.gives == FILLED for counter in counters)
            if page.level > (length if fills else 0):
                page.level, page.stuck = max(page.level, 2), place if page.stuck < 0 else page.stuck
                break
            page.level += 1
            continue
        if plan is not None and not plan.take(i):
            closed = closed | plan.like(i)
            continue
        better = free & ~allowed & (gains > gains[i] + ties)
        kept_out = best_of(gains, better, ties)
        rules = (number for number, mask in enumerate(masks) if mask is not None and not mask[kept_out])
        page.log.append(entry(i, cause, parts, (kept_out, next(rules, -1) if kept_out >= 0 else -1)))
        page.positions.append(i)
        free[i] = False
        waiting = [other for other in waiting if other != i]
        for term in query.terms:
            term.add(i)
        for counter in counters:
            counter.add(i, place)
    _append_pins(query, page, pins)
    return page


def best_of(gains: Floats, allowed: Bools, tie: float) -> int:
    """Return the first of the allowed candidates with the largest gain; -1 if none is allowed."""
    if not allowed.any():
        return -1
    gains = np.where(allowed, gains, -np.inf)
    return int(np.argmax(gains >= gains.max() - tie))


def _append_pins(query: Query, page: Page, pins: Mapping[int, Entry]) -> None:
    """Move pins up that stand behind the end of a short page, where the rules allow it."""
    for i in query.pinned.values():
        if i in page.positions:
            continue
        for counter in query.counters:
            counter.begin(query.before, dict(enumerate(page.positions)))
        masks = [counter.allowed(len(page.positions)) for counter in query.counters if counter.is_placed]
        if all(mask is None or mask[i] for mask in masks):
            page.positions.append(i)
            page.log.append(pins[i])


def protect(order: Ints, count: int, query: Query, resembles: Sequence[Novelty] = ()) -> list[int]:
    """Return the first `count` of `order` that the rules on the page allow, less those that earlier pages showed.

    Candidates that resemble a protected one, in vectors that are to be spread, are passed over.
    """
    positions: list[int] = []
    shown, pins = set(query.already.tolist()), set(query.pinned.values())
    counters = [counter for counter in query.counters if not counter.is_placed]
    for counter in counters:
        counter.begin(query.before, query.pinned)
    room = query.length - len(pins)
    for i in order.tolist():
        if count <= 0 or len(positions) >= room:
            break
        fresh = i not in shown and i not in pins
        if fresh and any(mask is not None and not mask[i] for mask in (counter.allowed(0) for counter in counters)):
            continue
        if fresh and any(term.resembles(i, positions) for term in resembles):
            continue
        count -= 1
        if fresh:
            positions.append(i)
            for counter in counters:
                counter.add(i, len(positions) - 1)
    return positions
