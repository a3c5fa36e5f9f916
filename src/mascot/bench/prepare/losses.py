"""Why an item of a dataset is missing, and how many are missing for which reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NO_ANSWER = "no answer"  # the only temporary reason: the next run tries again
EXAMPLES = 5


class Loss(Exception):
    """An item that cannot be used. `reason` is a short phrase that reports count by, `detail` says more."""

    def __init__(self, reason: str, detail: str = "", url: str | None = None) -> None:
        super().__init__(reason, detail, url)
        self.reason, self.detail, self.url = reason, detail, url

    def __str__(self) -> str:
        text = f"{self.reason} ({self.detail})" if self.detail else self.reason
        return f"{self.url}: {text}" if self.url else text

    def to_dict(self) -> dict[str, Any]:
        """Return the loss as a journal has it."""
        return {"lost": self.reason, "detail": self.detail, "url": self.url}


@dataclass(slots=True)
class Tally:
    """How many items a step accepted and lost. Count in the order of the source: the first losses are the examples."""

    step: str
    accepted: int = 0
    losses: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def lose(self, loss: Loss, example: str, count: int = 1) -> None:
        """Count `count` losses for one reason."""
        if count:
            text = f"{example}: {loss.detail}" if loss.detail else example
            self.add({"losses": {loss.reason: count}, "examples": {loss.reason: [text]}})

    def add(self, other: Mapping[str, Any]) -> None:
        """Add the counts of another tally, as `dataclasses.asdict` writes them."""
        self.accepted += other.get("accepted", 0)
        for reason, count in other["losses"].items():
            self.losses[reason] = self.losses.get(reason, 0) + count
            examples = self.examples.setdefault(reason, [])
            examples += other["examples"][reason][: EXAMPLES - len(examples)]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as dataset.json has them."""
        total = self.accepted + sum(self.losses.values())
        return {"step": self.step, "looked_at": total, "kept": self.accepted, "lost": dict(sorted(self.losses.items()))}
