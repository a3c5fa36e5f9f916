"""A point of a benchmark: a method with a setting, and a task. Its key holds all that its result depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mascot.bench.tasks import Direction, Task, Widths
from mascot.methods import Clustering, KDpp, Mmr, MsDpp
from mascot.methods.base import Method
from mascot.wishes import Wish


@dataclass(frozen=True, slots=True)
class Point:
    """What to run.

    Parameters
    ----------
    study, label, point, value
        As in the record; see `mascot.bench.results`.
    task, direction
        The attributes, and whether they are spread or focused.
    method
        The re-ranking method.
    widths
        The published bins, or None for the guarded method's own.
    split, k, n
        The split, the number of results, and the number of candidates.
    """

    study: str
    task: Task
    direction: Direction
    label: str
    method: Method
    widths: Widths | None = None
    value: float | None = None
    point: str | None = None
    split: str = "test"
    k: int = 20
    n: int = 200

    @property
    def wishes(self) -> tuple[Wish, ...]:
        compares = isinstance(self.method, (Clustering, KDpp, Mmr, MsDpp))
        return self.task.wishes(self.direction, self.widths, compares)

    def to_dict(self) -> dict[str, Any]:
        """Return the part of the record that does not depend on the result."""
        return {
            "split": self.split,
            "study": self.study,
            "task": self.task.name,
            "direction": self.direction.name,
            "label": self.label,
            "point": self.point,
            "method": self.method.to_dict(),
            "wishes": [wish.to_dict() for wish in self.wishes],
            "value": self.value,
            "k": self.k,
            "n": self.n,
        }
