"""A point: one method with one setting, asked one thing. Its key says all that its result depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mascot.bench.tasks import Direction, Task, Widths
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
        What is asked.
    method
        Who answers.
    widths
        The published bins, or None for the guarded method's own.
    split, k, n
        Where, how many results, of how many candidates.
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
        return self.task.wishes(self.direction, self.widths)

    def to_dict(self) -> dict[str, Any]:
        """The part of the record that was known beforehand."""
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
