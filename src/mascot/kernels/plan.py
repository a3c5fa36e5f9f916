"""Looking ahead: a plan that completes the page within all rules, which every pick must leave possible.

A page is a flow. One unit enters a value of the first rule, passes a type of candidates, and leaves by a value of the
second rule. A pick that the plan contains costs nothing. Any other pick needs a path that reroutes the flow around it.
If there is none, no completion of the page contains the pick. This is exact for one or two rules over single values.
More rules, and candidates with several values, make the problem hard in general: there the plan is improved by swaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from mascot.kernels.constants import EXCESS, FEW_SWAPS, SWAPS, TENURE
from mascot.kernels.counters import FILLED, SHARED, LabelCounter
from mascot.kernels.objective import Bools, Ints
from mascot.kernels.page import Page, Query, build

_SOURCE, _SINK = -1, -2  # ends of the flow
_NEVER = 1 << 40  # more than any cost


class Plan:
    """Candidates that complete a page of at most `length` results, counted by type.

    A type is the set of candidates with the same values, and a node is a value of a rule. A candidate without a value
    has a node without bounds. Nodes and types are numbered in the order of their first candidate.
    """

    def __init__(self, counters: Sequence[LabelCounter], is_free: Bools, length: int) -> None:
        free, count = np.flatnonzero(is_free), len(is_free)
        self.length, self.size = length, 0
        numbers: dict[tuple[int, int], int] = {}
        types: dict[tuple[int, ...], int] = {}
        self.types = np.full(count, -1)  # [N] of the candidates that are free
        for i in free.tolist():
            labels = [(c, label) for c, counter in enumerate(counters) for label in counter.of(i).tolist() or [-1]]
            if len(counters) == 1:
                labels.append((1, -1))  # a second rule that never binds
            nodes = tuple(numbers.setdefault(node, len(numbers)) for node in labels)
            self.types[i] = types.setdefault(nodes, len(types))
        self.nodes = list(types)
        self.paired = len(counters) <= 2 and all(len(nodes) == 2 for nodes in self.nodes)
        self.second = np.array([c == 1 for c, _ in numbers])  # nodes of the second rule
        self.has = np.zeros((len(types), len(numbers)), np.int64)  # 1 if the type has the node
        for t, nodes in enumerate(self.nodes):
            self.has[t, nodes] = 1
        self.spare = np.bincount(self.types[free], minlength=len(types))
        self.planned, self.counts = np.zeros(len(types), np.int64), np.zeros(len(numbers), np.int64)
        self.rule = np.array([c for c, _ in numbers])
        self.stages = np.array([0 if label < 0 else counters[c].rule.gives for c, label in numbers])
        bounds = [counter.bounds(length) for counter in counters]
        pairs = [(0, length) if label < 0 else (bounds[c][0][label], bounds[c][1][label]) for c, label in numbers]
        self.wanted_low, self.wanted_high = np.array(pairs, np.int64).reshape(-1, 2).T
        self.excess_cost = np.where(self.stages >= FILLED, EXCESS, 1)
        self._build(free)

    def _build(self, free: Ints) -> None:
        """Plan as many results as the limits allow, raising those that may be filled; then meet the shares."""
        shared, filled = self.stages == SHARED, self.stages == FILLED
        self.low, self.high = np.zeros_like(self.counts), np.where(shared, self.length, self.wanted_high)
        for t in self.types[free].tolist():
            if self.size < self.length and (self.counts < self.high)[list(self.nodes[t])].all():
                self._plan(t, 1)
                self.size += 1
        available = self.spare @ self.has
        needed = self.high
        while self.size < self.length:
            if self._grow():
                needed = self.high
            elif (filled & (self.high < available)).any():
                self.high = self.high + filled
            else:
                break
        self.length = self.size
        self.low = np.minimum(self.wanted_low, available)
        self.high = np.where(shared, self.wanted_high, needed)
        while self.paired and any(self._balance(v) for v in range(len(self.counts))):
            pass
        self._swap(SWAPS)
        self.cost = self._cost(self.counts, self.wanted_low, self.wanted_high)
        # What cannot be met is given up: places of a share that lacks candidates are open to all of its values.
        lacking = np.isin(self.rule, self.rule[shared & (self.counts < self.wanted_low)])
        self.low = np.minimum(self.low, self.counts)
        self.high = np.where(lacking, self.length, np.maximum(self.high, self.counts))
        self.initial = self.planned.copy(), self.counts.copy(), self.spare.copy()

    def _cost(self, counts: Ints, low: Ints, high: Ints) -> int:
        """Return how far counts are from bounds. Limits that may be filled are all raised by the same number."""
        excess, missing = np.maximum(counts - high, 0), np.maximum(low - counts, 0)
        shared = self.stages < FILLED
        return EXCESS * int(excess[~shared].max(initial=0)) + int(excess[shared].sum() + missing.sum())

    def cost_of(self, positions: Sequence[int]) -> int:
        """Return how far a page is from the rules."""
        types = self.types[list(positions)]
        return self._cost(self.has[types].sum(axis=0), self.wanted_low, self.wanted_high)

    def take(self, position: int) -> bool:
        """Pick a candidate if the page can still be completed. Returns whether it can."""
        t = int(self.types[position])
        if self.planned[t] > 0:
            self.planned[t] -= 1
        elif not (self._reroute(self.nodes[t][1], self.nodes[t][0]) if self.paired else self._make_room(t)):
            return False
        self.spare[t] -= 1
        return True

    def like(self, i: int) -> Bools:
        """Return which candidates are of the type of candidate i."""
        return np.asarray(self.types == self.types[i])

    def copy(self) -> Plan:
        """Return the plan as it was before the first pick."""
        other = copy(self)
        other.planned, other.counts, other.spare = (array.copy() for array in self.initial)
        return other

    def drop(self, position: int) -> None:
        """Remove a candidate that other rules exclude."""
        t = int(self.types[position])
        self.spare[t] -= 1
        if self.planned[t] > self.spare[t]:
            self._plan(t, -1)

    def _plan(self, t: int, by: int) -> None:
        self.planned[t] += by
        self.counts += by * self.has[t]

    def _grow(self) -> bool:
        """Add one result to the plan within the limits."""
        if self.paired:
            grown = self._reroute(_SOURCE, _SINK)
        else:
            saved = self.planned.copy(), self.counts.copy()
            costs = np.where(self.spare > self.planned, self.has @ self._added_cost(), _NEVER)
            grown = bool(costs.min(initial=_NEVER) < _NEVER)
            if grown:
                self._plan(int(costs.argmin()), 1)
                grown = self._swap(SWAPS)
            if not grown:
                self.planned, self.counts = saved
        self.size += grown
        return grown

    def _balance(self, v: int) -> bool:
        """Move the count of a node towards its bounds. Returns whether it moved."""
        before = self.counts[v]
        end = _SINK if self.second[v] else _SOURCE
        while self.counts[v] < self.low[v] and self._reroute(*((end, v) if self.second[v] else (v, end))):
            self.counts[v] += 1
        while self.counts[v] > self.high[v] and self._reroute(*((v, end) if self.second[v] else (end, v))):
            self.counts[v] -= 1
        return bool(self.counts[v] != before)

    def _reroute(self, start: int, goal: int) -> bool:
        """Change the plan along a shortest path of the flow from a node to another. Returns whether there is one.

        Adding a candidate leads from its first node to its second, and removing it leads back. The source leads to the
        first nodes that may have more results, the sink to the second nodes that may have fewer.
        """
        came: dict[int, tuple[int, int]] = {start: (start, -1)}
        queue = [start]
        for node in queue:
            for other, t in self._steps(node):
                if other not in came:
                    came[other] = node, t
                    queue.append(other)
            if goal in came:
                break
        else:
            return False
        while goal != start:
            node, t = came[goal]
            if t >= 0:
                self.planned[t] += -1 if self.second[node] else 1
            elif node in (_SOURCE, _SINK):
                self.counts[goal] += 1 if node == _SOURCE else -1
            else:
                self.counts[node] += 1 if goal == _SINK else -1
            goal = node
        return True

    def _steps(self, node: int) -> list[tuple[int, int]]:
        """Return the nodes that the flow may be extended to from a node, and the types that change."""
        if node == _SOURCE:
            return [(int(v), -1) for v in np.flatnonzero(~self.second & (self.counts < self.high))]
        if node == _SINK:
            return [(int(v), -1) for v in np.flatnonzero(self.second & (self.counts > self.low))]
        types, back = np.flatnonzero(self.has[:, node]), bool(self.second[node])
        steps = [
            (self.nodes[t][not back], int(t))
            for t in types
            if (self.planned if back else self.spare - self.planned)[t] > 0
        ]
        if back and self.counts[node] < self.high[node]:
            steps.append((_SINK, -1))
        if not back and self.counts[node] > self.low[node]:
            steps.append((_SOURCE, -1))
        return steps

    def _added_cost(self) -> Ints:
        """Return the cost of one result more at each node."""
        excess, missing = self.counts >= self.high, self.counts < self.low
        return np.asarray(excess * self.excess_cost - missing)

    def _removed_cost(self) -> Ints:
        """Return the cost of one result less at each node."""
        excess, missing = self.counts > self.high, self.counts <= self.low
        return np.asarray(missing - excess * self.excess_cost)

    def _make_room(self, t: int) -> bool:
        """Add a pick of this type to the counts, and swap others until the plan is within its bounds again."""
        saved = self.planned.copy(), self.counts.copy()
        self.counts += self.has[t]
        costs = np.where(self.planned > 0, self.has @ self._removed_cost(), _NEVER)
        if costs.min() < _NEVER:
            self._plan(int(costs.argmin()), -1)
            if self._swap(FEW_SWAPS):
                return True
        self.planned, self.counts = saved
        return False

    def _swap(self, steps: int) -> bool:
        """Swap planned candidates for others until the plan is within its bounds. Returns whether it is.

        Every step mends one node by the best swap, also if the cost rises. The best plan is retained.
        """
        entered, left = np.full((2, len(self.nodes)), -TENURE)
        best = self._cost(self.counts, self.low, self.high), self.planned.copy(), self.counts.copy()
        for step in range(steps):
            off = np.flatnonzero((self.counts > self.high) | (self.counts < self.low))
            if not len(off):
                return True
            swap = self._best_swap(int(off[step % len(off)]), entered + TENURE > step, left + TENURE > step)
            if swap is None:
                break
            self._plan(swap[0], -1)
            self._plan(swap[1], 1)
            left[swap[0]] = entered[swap[1]] = step
            cost = self._cost(self.counts, self.low, self.high)
            if cost < best[0]:
                best = cost, self.planned.copy(), self.counts.copy()
        self.planned, self.counts = best[1:]
        return best[0] == 0

    def _best_swap(self, v: int, fixed: Bools, barred: Bools) -> tuple[int, int] | None:
        """Return the type to remove and the type to add that mend node v at the lowest cost; ties go to the first."""
        over, has = bool(self.counts[v] > self.high[v]), self.has[:, v] > 0
        outs = (self.planned > 0) & ~fixed & (has | (not over))
        ins = (self.spare > self.planned) & ~barred & (has | over)
        lowest, swap = _NEVER, None
        for out in np.flatnonzero(outs):
            cost = int(self.has[out] @ self._removed_cost())
            self.counts -= self.has[out]
            costs = np.where(ins, self.has @ self._added_cost(), _NEVER)
            self.counts += self.has[out]
            costs[out] = _NEVER
            if costs.min() < min(lowest - cost, _NEVER):
                lowest, swap = cost + int(costs.min()), (int(out), int(costs.argmin()))
        return swap


def complete(query: Query, page: Page, strength: float, protected: Sequence[int]) -> Page:
    """Return a page that meets the counts of all rules, where there is one, instead of one that does not.

    The first pass does not look ahead: if it meets all rules, looking ahead changes nothing.
    """
    counters = [counter for counter in query.counters if isinstance(counter, LabelCounter)]
    has_least = any(counter.rule.least is not None for counter in counters)
    if (not page.level and len(page.positions) == query.length and not has_least) or not (
        has_least or len(counters) > 1
    ):
        return page
    free = query.free()
    free[list(query.pinned.values())] = False
    for counter in counters:
        counter.begin(query.before, query.pinned)
    plan = Plan(counters, free, query.length - len(query.pinned))
    pins = set(query.pinned.values())

    def rank(own: Page) -> tuple[int, int]:
        return len(own.positions), -plan.cost_of([i for i in own.positions if i not in pins])

    plan.size += len(pins)
    if (plan.size, -plan.cost) <= rank(page):
        return page
    other = build(query, strength, protected, plan)
    return other if rank(other) > rank(page) else page
