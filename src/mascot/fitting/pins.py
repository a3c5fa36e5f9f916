"""Pinned results that contradict a rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mascot.constraints import Limit, name_of
from mascot.errors import OptionError
from mascot.fitting.fitted_wishes import FittedWishes
from mascot.kernels.counters import HELD, LabelCounter
from mascot.kernels.page import Query


def check_pins(fitted: FittedWishes, query: Query, pinned: Mapping[int, int], exact: bool) -> None:
    """Raise if results pinned at places break a limit or a largest share; without `exact` places only one on places."""
    for wish, labels, counter in zip(fitted.constraints, fitted.labels, query.counters, strict=True):
        if counter.rule.gives < HELD or not (exact or counter.is_placed):
            continue
        counter.begin(query.before, {})
        for place, i in pinned.items():
            allowed = counter.allowed(place)
            if allowed is not None and not allowed[i]:
                raise OptionError(f"{name_of(wish)} contradicts pin: {_crowd(wish, labels, counter, i, place)}")
            counter.add(i, place)


def _crowd(wish: Any, labels: Any, counter: Any, i: int, place: int) -> str:
    """Return which value, or that a near-copy, is pinned too often."""
    if not isinstance(counter, LabelCounter):
        return f"a near-copy is pinned at position {place + 1}"
    counts, capacity = counter.in_windows(place) if counter.rule.window else counter.counts, counter.rule.capacity
    code = next(code for code in counter.of(i).tolist() if counts[code] >= capacity[code])
    name = labels.name(code) if isinstance(wish, Limit) else [*wish.named, ""][code]
    return f"{name!r} is pinned at position {place + 1}, and at most {capacity[code]} are allowed"
