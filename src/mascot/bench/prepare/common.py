"""What every recipe is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mascot.bench.prepare.web import Web

Progress = Callable[[int, "int | None"], None]  # done, total
Report = Callable[[str, int, "int | None"], None]  # step, done, total


@dataclass(frozen=True, slots=True)
class Common:
    """How to go about it, whichever dataset it is."""

    web: Web
    limit: int | None = None  # images to keep at most: the first ones in the order of the source
    workers: int = 8
    seed: int = 0  # of the split
    report: Report | None = None

    def progress(self, step: str) -> Progress:
        """A bar for one step."""

        def report(done: int, total: int | None) -> None:
            if self.report is not None:
                self.report(step, done, total)

        return report


def work_folder(out: Path) -> Path:
    """Where journals and downloaded tables lie."""
    path = out / "work"
    path.mkdir(parents=True, exist_ok=True)
    return path
