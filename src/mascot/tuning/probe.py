"""Sensitivity: move each parameter one step from its value and measure how much relevance survives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mascot.bins import Axis, Bins
from mascot.candidates import Candidates
from mascot.kernels.reference import normalized
from mascot.methods.mascot import Mascot
from mascot.methods.method import Method
from mascot.metrics.retrieval import relevance_kept
from mascot.ranking import Ranking
from mascot.reasons.replay import names_of
from mascot.reranking import rerank
from mascot.serialize import plain
from mascot.wishes import AnyWish, Wish

STEADY = 0.9  # at least this share of the relevance survives the step: steady
COLLAPSE = 0.5  # less than this share survives: the result collapses; between the two it drifts
_VERDICTS = ("steady", "drifts", "collapses")


# A parameter is a field of the method or of an attribute with one of these names; each is moved down (-1) and up (+1).
# Rounding makes 0.1 + 0.2 print as 0.3.
_STEPS: dict[str, Callable[[Any, int], Any]] = {
    "strength": lambda value, way: round(min(max(value + way * 0.1, 0.0), 1.0), 10),
    "sigma": lambda value, way: value * 1.5**way,
    "sigma_km": lambda value, way: value * 1.5**way,
    "sigma_days": lambda value, way: value * 1.5**way,
    "cells": lambda value, way: value + way * 5,
}


def verdict(share: float) -> str:
    """Return ``"steady"``, ``"drifts"`` or ``"collapses"`` for the share of relevance that survived."""
    return _VERDICTS[0] if share >= STEADY else _VERDICTS[1] if share >= COLLAPSE else _VERDICTS[2]


@dataclass(frozen=True, slots=True)
class Step:
    """One parameter, moved one step from its value."""

    parameter: str  # "strength", "place.sigma_km"
    value: float
    stepped: float
    kept: float  # summed relevance of the results, as a share of the best possible
    survives: float  # summed relevance as a share of the original result's

    @property
    def verdict(self) -> str:
        return verdict(self.survives)

    def to_dict(self) -> dict[str, Any]:
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)} | {"verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Probe:
    """How much relevance survives each step. `print` shows it as a table."""

    k: int  # length of the list that was probed
    kept: float  # summed relevance of the original result, as a share of the best possible
    steps: tuple[Step, ...]  # one per parameter and direction
    skipped: tuple[str, ...] = ()  # what could not be stepped, and why

    @property
    def worst(self) -> Step | None:
        """The step that survives least, or None if no parameter can be stepped."""
        return min(self.steps, key=lambda step: step.survives, default=None)

    @property
    def verdict(self) -> str:
        """The verdict of the worst step, or ``"collapses"`` if the original result already keeps less than half."""
        if self.kept < COLLAPSE:
            return _VERDICTS[2]
        return self.worst.verdict if self.worst else _VERDICTS[0]

    def __str__(self) -> str:
        width = max([len(step.parameter) for step in self.steps] + [9])
        lines = [f"{'parameter':<{width}} {'from':>9} {'to':>9} {'kept':>7} {'survives':>9}  verdict"]
        for step in self.steps:
            numbers = f"{step.value:>9.4g} {step.stepped:>9.4g} {step.kept:>7.1%} {step.survives:>9.1%}"
            lines.append(f"{step.parameter:<{width}} {numbers}  {step.verdict}")
        lines += [f"not stepped: {reason}" for reason in self.skipped]
        lines.append(
            f"current settings: the first {self.k} results keep {self.kept:.1%} of the best possible relevance"
        )
        lines.append(f"verdict: {self.verdict} (steady: {STEADY:.0%} survives a step; collapses: below {COLLAPSE:.0%})")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the probe as plain data, ready for JSON."""
        data = {"verdict": self.verdict, "k": self.k, "kept": self.kept}
        return data | {"steps": [step.to_dict() for step in self.steps], "skipped": list(self.skipped)}


def probe(
    candidates: Candidates[Any], wishes: AnyWish | Sequence[AnyWish], method: Method | None = None, k: int = 10
) -> Probe:
    """Move each parameter one step from its value and measure how much relevance of the first k results survives.

    Strength moves by 0.1, every attribute's width (`sigma`, `sigma_km`, `sigma_days`) by a factor of 1.5, a grid
    by 5 `cells`, each up and down. A width that follows the candidates is stepped from its value for these
    candidates. A step is *steady* if at least 90% of the summed relevance of the k results survives, *collapses* if
    less than half does, and *drifts* otherwise.

    Parameters
    ----------
    candidates, wishes, method, k
        As for `rerank`. Methods and attributes without such fields have nothing to step.

    Examples
    --------
    >>> import mascot as mc
    >>> hits = mc.Candidates(scores=[0.9, 0.8, 0.5, 0.2], columns={"taken": [8, 9, 18, 19]})
    >>> probe(hits, [mc.focus(mc.HourOfDay("taken"))], k=3).verdict
    'steady'
    """
    base_method = method or Mascot()
    original = rerank(candidates, wishes, k, base_method)
    base_wishes = original.wishes
    steered = [wish for wish in base_wishes if isinstance(wish, Wish)]
    bins = [wish.bins(candidates.columns, candidates.vectors, len(candidates)) for wish in steered]
    remaining = original._problem.remaining
    kept = remaining.of(0)
    rows = np.arange(len(candidates)) if kept is None else kept
    ideal = normalized(candidates.scores[rows]) if len(rows) else np.zeros(0)

    def share(result: Ranking[Any]) -> float:
        positions = remaining.from_input(0, result.positions)
        return float(relevance_kept(ideal[None], positions[None])[0]) if len(rows) else 1.0

    base = share(original)
    steps: list[Step] = []
    skipped: list[str] = []
    for parameter, value, stepped, changed_method in _moves(base_method, "", None, skipped):
        relevance = share(rerank(candidates, base_wishes, k, changed_method))
        steps.append(Step(parameter, value, stepped, relevance, relevance / base if base > 0 else 1.0))
    for wish, label, wish_bins in zip(steered, names_of(steered), bins, strict=True):
        for parameter, value, stepped, attribute in _moves(wish.attribute, f"{label}.", wish_bins.take(rows), skipped):
            changed = [replace(wish, attribute=attribute) if other is wish else other for other in base_wishes]
            relevance = share(rerank(candidates, changed, k, base_method))
            steps.append(Step(parameter, value, stepped, relevance, relevance / base if base > 0 else 1.0))
    return Probe(min(k, len(rows)), base, tuple(steps), tuple(skipped))


def _moves(owner: Any, prefix: str, bins: Bins | None, skipped: list[str]) -> Iterator[tuple[str, float, float, Any]]:
    """Yield the name and value of each parameter, the value one step down or up, and the owner with that value."""
    for name in [f.name for f in fields(owner) if f.name in _STEPS] if is_dataclass(owner) else []:
        value = getattr(owner, name)
        if value is None and bins is not None:
            value = _width_here(bins, name)
        if not isinstance(value, (int, float)):
            skipped.append(f"{prefix}{name} is {'left open' if value is None else repr(value)}")
            continue
        for way in (-1, 1):
            stepped = _STEPS[name](value, way)
            if stepped == value:  # at the end of its range
                continue
            try:
                moved = replace(owner, **{name: stepped})
            except ValueError as error:  # the next value is outside its own rule
                skipped.append(f"{prefix}{name} {value:.4g} to {stepped:.4g}: {error}")
                continue
            yield prefix + name, value, stepped, moved


def _width_here(bins: Bins, name: str) -> float | None:
    """Return the width of bins that follow these rows."""
    closed = bins.resolve()
    axes: Sequence[Axis] = getattr(closed, "axes", ())
    return axes[0].sigma if len(axes) == 1 else getattr(closed, name, None)
