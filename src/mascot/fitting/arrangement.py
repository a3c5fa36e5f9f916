"""The shown order: windows, first places and pinned results, on top of what a method selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from mascot.bins import Ints
from mascot.constraints import UNLIMITED, Limit, name_of
from mascot.errors import OptionError
from mascot.fitting.fitted_wishes import Call, FittedWishes, Queries, label_counts, reduced
from mascot.kernels import native
from mascot.kernels.arrange import Arrangement, arrange
from mascot.kernels.constants import EXCHANGES
from mascot.kernels.novelty import CopyQuota
from mascot.kernels.quotas import HELD, AnyQuota, Quota
from mascot.methods.method import NO_POSITIONS, Problem, Selection

Select = Callable[[Sequence[AnyQuota]], Selection]


class Rules(NamedTuple):
    """What one query's shown order has to obey."""

    k: int  # results that were asked for
    quotas: Mapping[int, Quota]  # with rules on places, by the number of the constraint
    before: Ints  # rows of the results of earlier pages, in the order in which they were shown
    fixed: Mapping[int, int]  # the place, from 0, of pinned results, by their position among the remaining candidates
    arrange: Callable[..., Arrangement]  # of the backend

    @classmethod
    def of(cls, fitted: FittedWishes, already: Ints, call: Call, fixed: Mapping[int, int]) -> Rules:
        """Return the rules for one query; `already` are the rows of the results of earlier pages."""
        quotas = {i: quota for i, quota in enumerate(fitted.quotas) if isinstance(quota, Quota) and quota.places}
        longest = max((quota.places.length for quota in quotas.values() if quota.places), default=1) - 1
        kernel = native.arrange if call.backend != "numpy" and native.available() else arrange
        return cls(call.k, quotas, already[max(len(already) - longest, 0) :], fixed, kernel)

    def arranged(self, positions: Ints, rows: Ints) -> Arrangement:
        """Return an arrangement of positions, which are in the wanted order; `rows` are those of all candidates."""
        fixed: dict[int, int] = {}
        last = len(positions) - 1
        for position, place in sorted(self.fixed.items(), key=lambda pin: -pin[1]):
            if position in positions:  # a page that is too short shows pinned results further up
                fixed[min(place, last)] = positions.tolist().index(position)
                last = min(place, last) - 1
        return self.arrange(rows[positions], tuple(self.quotas.values()), self.before, fixed)

    def cut_short(self, arrangement: Arrangement, positions: Ints, rows: Ints) -> Ints:
        """Return arranged positions without those that have no place."""
        while len(arrangement.left):
            positions = positions[np.sort(arrangement.order)]
            arrangement = self.arranged(positions, rows)
        return positions[arrangement.order]


def needs_arrangement(fitted: FittedWishes) -> bool:
    """Return whether a limit is about places or about a session, so that queries are arranged one by one."""
    limits = [wish for wish in fitted.constraints if isinstance(wish, Limit)]
    return bool([wish for wish in limits if wish.places or wish.session])  # faster than any() of a generator


def select_shown(
    fitted: FittedWishes, queries: Queries, call: Call, problem: Problem, q: int = 0, selection: Selection | None = None
) -> Selection:
    """Return the selection for query q in the order that its rules and pinned results need.

    `problem` is that of the query alone, and `selection` what the method selects for it, if that is known.
    """
    pinned, count = problem.remaining.from_input(0, queries.pinned), call.k - len(queries.pinned)
    already = queries.already_rows(q)
    quotas = _session_quotas(fitted, problem.quotas, already) if len(already) else problem.quotas

    def select(quotas: Sequence[AnyQuota]) -> Selection:
        own = problem if quotas is problem.quotas else replace(problem, quotas=tuple(quotas))
        selection = call.method.select(own, max(count, 1))
        return selection.after(pinned, count) if len(pinned) else selection

    if selection is None or quotas is not problem.quotas:
        selection = select(quotas)
    if selection.arranged.any():
        return selection
    places = range(len(pinned)) if queries.places is None else queries.places
    rules = Rules.of(fitted, already, call, dict(zip(pinned.tolist(), places, strict=True)))
    rows = problem.rows_of(0)
    _check_pins(fitted, rules, rows, already, exact=queries.places is not None)
    return _arranged(quotas, rows, rules, select, selection) if rules.quotas or rules.fixed else selection


def select_each_shown(
    fitted: FittedWishes, queries: Queries, call: Call, problem: Problem, selection: Selection
) -> Selection:
    """Return a selection for many queries in the order that the rules need."""
    if selection.arranged.sum() == len(problem):
        return selection
    parts = [select_shown(fitted, queries, call, problem.only(q), q, selection.only(q)) for q in range(len(problem))]
    return _joined(parts, selection.positions.shape[1])


def _session_quotas(fitted: FittedWishes, quotas: tuple[AnyQuota, ...], rows: Ints) -> tuple[AnyQuota, ...]:
    """Return the quotas of one query, in which limits over a session count the rows of earlier pages."""
    sessions = [isinstance(wish, Limit) and wish.counts_session for wish in fitted.constraints]
    if not any(sessions):
        return quotas
    return tuple(reduced(quota, rows) if own else quota for own, quota in zip(sessions, quotas, strict=True))


def _joined(selections: Sequence[Selection], width: int) -> Selection:
    """Return the selections of single queries as one selection, padded with -1."""
    parts: dict[str, Any] = {}
    for field in fields(Selection):
        values = [getattr(selection, field.name) for selection in selections]
        if field.name in ("positions", "ranked"):
            values = [np.pad(v, ((0, 0), (0, width - v.shape[1])), constant_values=-1) for v in values]
        parts[field.name] = np.concatenate(values) if isinstance(values[0], np.ndarray) else values[0]
    return Selection(**parts)


def _arranged(quotas: Sequence[AnyQuota], rows: Ints, rules: Rules, select: Select, selection: Selection) -> Selection:
    """Return the selection of one query in the order that the rules need.

    If the selected set has no such order, labels that stand in the way get a smaller capacity, and `select` selects
    again, which exchanges their last results for the next best. At last the page is cut short.
    `rows` are those of the candidates.
    """
    quotas, tried = list(quotas), []
    for _ in range(EXCHANGES):
        wanted = selection.ranked[0]
        wanted = wanted[wanted >= 0]
        arrangement = rules.arranged(wanted, rows)
        tried.append((arrangement, wanted, selection))
        if not len(arrangement.left):
            break
        own_rows, pinned = rows[wanted], selection.pinned
        is_lower = len(wanted) == rules.k < len(rows) and _lower_surplus(quotas, rules, own_rows, pinned)
        if not is_lower and not _lower(quotas, rules, arrangement, own_rows, pinned):
            break
        selection = select(quotas)
    order = NO_POSITIONS
    for arrangement, wanted, own in reversed(tried):  # the longest page, and of several the first
        if len(arrangement.order) >= len(order):
            page = rules.cut_short(arrangement, wanted, rows)
            order, selection = (page, own) if len(page) >= len(order) else (order, selection)
    selection.ranked = order[None]
    selection.pinned = int(np.isin(selection.positions[0, : selection.pinned], order).sum())
    if selection.positions.shape[1] > len(order):
        selection.positions = selection.positions[:, np.isin(selection.positions[0], order)]
    return selection


def _lower_surplus(quotas: list[AnyQuota], rules: Rules, rows: Ints, pinned: int) -> bool:
    """Lower the capacities of a rule on the first places if too many results must stand behind them.

    As many results are exchanged as the rule needs, and no label of the rule gets more of them. The first `pinned` rows
    are pinned. Returns whether there is such a rule.
    """
    for number, quota in rules.quotas.items():
        own = quotas[number]
        assert quota.places
        assert isinstance(own, Quota)
        most, length, first = quota.places
        counts, pins, behind = np.zeros_like(most), label_counts(quota, rows[:pinned]), list[Ints]()
        for row in rows.tolist() if first else ():
            labels = quota.of(row)
            counts[labels] += 1
            behind.append(labels[counts[labels] > most[labels]])
        surplus = [labels for labels in behind if len(labels)][max(len(rows) - length, 0) :]
        if surplus:
            held = np.maximum(counts, most) - pins
            np.subtract.at(held, np.concatenate(surplus), 1)
            quotas[number] = replace(own, capacity=np.clip(held, 0, own.capacity))
            return True
    return False


def _lower(quotas: list[AnyQuota], rules: Rules, arrangement: Arrangement, rows: Ints, pinned: int) -> bool:
    """Lower the capacity of the label that most of the items without a place have; return whether there is one.

    Labels of which a rule allows all results in one window do not stand in the way, and pinned results stay.
    """
    unplaced, crowded = rows[arrangement.left[arrangement.left >= pinned]], list[tuple[int, int, int, int]]()
    for number, quota in rules.quotas.items():
        assert quota.places
        together = rows if quota.places.first else np.concatenate([rules.before, rows])
        left = label_counts(quota, unplaced) * (label_counts(quota, together) > quota.places.capacity)
        for item, row in enumerate(unplaced.tolist()):
            crowded += [(int(left[label]), item, number, label) for label in quota.of(row).tolist() if left[label]]
    if not crowded:
        return False
    count, _, number, label = max(crowded)  # of equal labels that of the last item
    own = quotas[number]
    assert isinstance(own, Quota)
    capacity = own.capacity.copy()
    capacity[label] = label_counts(own, rows[pinned:])[label] - max(count // 4, 1)
    quotas[number] = replace(own, capacity=capacity)
    return True


def _check_pins(fitted: FittedWishes, rules: Rules, rows: Ints, already: Ints, exact: bool) -> None:
    """Raise if pinned results break a limit or a largest share, or, unless they have `exact` places, one on places."""
    if not rules.fixed:
        return
    placed = [(place, int(row)) for place, row in enumerate(already.tolist(), -len(already))]
    placed += sorted((place, int(rows[position])) for position, place in rules.fixed.items())
    for wish, quota, labels in zip(fitted.constraints, fitted.quotas, fitted.labels, strict=True):
        page, is_session = wish.for_k(quota, rules.k), getattr(wish, "counts_session", False)
        if isinstance(page, CopyQuota) and page.stages == HELD and exact:
            counter = reduced(page, already[: len(already) * is_session]).counter(rows)
            for position, place in sorted(rules.fixed.items(), key=lambda pin: pin[1]):
                if not counter.allows(position):
                    raise OptionError(f"{name_of(wish)} contradicts pin: a near-copy is pinned at position {place + 1}")
                counter.add(position)
        if not isinstance(page, Quota) or page.stages < HELD or not (exact or page.places):
            continue
        capacity, length, first = page.places or (page.capacity, UNLIMITED, not is_session)
        names = labels.name if isinstance(wish, Limit) else [*wish.named, ""].__getitem__
        places: dict[int, list[int]] = {}
        for place, row in placed:
            if not first or 0 <= place < length:
                for label in page.of(row).tolist():
                    places.setdefault(label, []).append(place)
        for label, own in places.items():
            n = int(capacity[label])
            crowded = [last for one, last in zip(own, own[n:], strict=False) if first or last - one < length]
            if crowded and crowded[-1] >= 0:
                pinned = f"{names(label)!r} is pinned at position {crowded[-1] + 1}"
                raise OptionError(f"{name_of(wish)} contradicts pin: {pinned}, and at most {n} are allowed")
