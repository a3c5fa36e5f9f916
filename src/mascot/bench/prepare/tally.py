"""What was looked at in one step, what was kept, and what was lost for which reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from mascot.bench.prepare.crowd import Outcome
from mascot.bench.prepare.lost import Lost

T = TypeVar("T")

EXAMPLES = 5


@dataclass(slots=True)
class Tally:
    """Counts of one step. Examples are the first few, so count in the order of the source."""

    step: str
    kept: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def looked(self) -> int:
        """Everything that came to this step."""
        return self.kept + sum(self.lost.values())

    def lose(self, lost: Lost, example: str) -> None:
        """Count one loss."""
        self.lose_all(lost, 1, (example,))

    def lose_all(self, lost: Lost, count: int, examples: Iterable[str]) -> None:
        """Count losses for one and the same reason; of the examples only the first are asked for."""
        if not count:
            return
        self.lost[lost.reason] = self.lost.get(lost.reason, 0) + count
        shown = self.examples.setdefault(lost.reason, [])
        for example in islice(examples, EXAMPLES - len(shown)):
            shown.append(f"{example}: {lost.detail}" if lost.detail else example)

    def take(self, outcomes: Iterable[Outcome[T]], name: Callable[[T], str]) -> list[tuple[T, dict[str, Any]]]:
        """Count outcomes; those that were found."""
        found = []
        for outcome in outcomes:
            if outcome.found is None:
                self.lose(outcome.lost or Lost("no answer"), name(outcome.item))
            else:
                self.kept += 1
                found.append((outcome.item, outcome.found))
        return found

    def add(self, other: Mapping[str, Any]) -> None:
        """Count what another tally of the same step counted, as its `to_dict` tells."""
        self.kept += other["kept"]
        for reason, count in other["lost"].items():
            self.lost[reason] = self.lost.get(reason, 0) + count
            shown = self.examples.setdefault(reason, [])
            shown += other["examples"].get(reason, [])[: EXAMPLES - len(shown)]

    def to_dict(self) -> dict[str, Any]:
        """As dataset.json and a journal have it."""
        return {
            "step": self.step,
            "looked_at": self.looked,
            "kept": self.kept,
            "lost": dict(sorted(self.lost.items())),
            "examples": {reason: list(shown) for reason, shown in sorted(self.examples.items())},
        }
