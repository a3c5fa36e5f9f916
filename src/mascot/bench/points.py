"""A point of a benchmark: a method with a setting, and a task. Its key holds all that its result depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mascot as mc
from mascot.bench.pyversity import Pyversity
from mascot.bench.tasks import SPREAD, BenchTask, Widths

Method = mc.Relevance | mc.Clustering | mc.Mmr | mc.KDpp | mc.MsDpp | mc.Mascot | Pyversity
_COMPARING = (mc.Clustering, mc.KDpp, mc.Mmr, mc.MsDpp)


@dataclass(frozen=True, slots=True)
class Point:
    """What to run; for the fields see also the record in `mascot.bench.results`."""

    label: str  # the name of the method in tables
    task: BenchTask
    direction: str = SPREAD  # see `BenchTask.wishes`
    method: Method = field(default_factory=mc.Relevance)
    widths: Widths | None = None  # the published bins, or None for those of the guarded method
    study: str = "main"
    point: str | None = None
    value: float | None = None
    split: str = "test"
    k: int = 20  # results
    n: int = 200  # candidates

    @property
    def wishes(self) -> tuple[mc.Wish, ...]:
        return self.task.wishes(self.direction, self.widths, isinstance(self.method, _COMPARING))

    def to_dict(self) -> dict[str, Any]:
        """Return the part of the record that does not depend on the result."""
        names = ("split", "study", "direction", "label", "point", "value", "k", "n")
        described = {"method": self.method.to_dict(), "wishes": [wish.to_dict() for wish in self.wishes]}
        return {name: getattr(self, name) for name in names} | {"task": self.task.name} | described
