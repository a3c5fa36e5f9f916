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
    """What to run.

    Parameters
    ----------
    label
        The name of the method in tables.
    task, direction
        The attributes, and whether they are spread or focused; see `BenchTask.wishes`.
    method
        The re-ranking method.
    widths
        The published bins, or None for those of the guarded method.
    study, point, value
        As in the record; see `mascot.bench.results`.
    split, k, n
        The split, the number of results, and the number of candidates.
    """

    label: str
    task: BenchTask
    direction: str = SPREAD
    method: Method = field(default_factory=mc.Relevance)
    widths: Widths | None = None
    study: str = "main"
    point: str | None = None
    value: float | None = None
    split: str = "test"
    k: int = 20
    n: int = 200

    @property
    def wishes(self) -> tuple[mc.Wish, ...]:
        return self.task.wishes(self.direction, self.widths, isinstance(self.method, _COMPARING))

    def to_dict(self) -> dict[str, Any]:
        """Return the part of the record that does not depend on the result."""
        return {
            "split": self.split,
            "study": self.study,
            "task": self.task.name,
            "direction": self.direction,
            "label": self.label,
            "point": self.point,
            "method": self.method.to_dict(),
            "wishes": [wish.to_dict() for wish in self.wishes],
            "value": self.value,
            "k": self.k,
            "n": self.n,
        }
