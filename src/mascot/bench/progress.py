"""How far a command is: bars on a terminal, and elsewhere a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Report = Callable[[str, int, "int | None"], None]  # the stage, what is done of it, and all of it where that is known

_SECONDS = 30.0  # the longest silence, and
_LEAST = 2.0  # the shortest: a quick command says nothing
_SHARE = 0.1  # of a stage that is worth a line


@contextmanager
def progress(*stages: str) -> Iterator[Report]:
    """A bar for each stage on a terminal, lines elsewhere; other stages get theirs when they begin."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(console.file)
        return
    columns = (
        TextColumn("{task.description:<7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        bars = {stage: shown.add_task(stage, total=None) for stage in stages}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in bars:
                bars[stage] = shown.add_task(stage, total=None)
            shown.update(bars[stage], completed=done, total=total)

        yield report


@dataclass(slots=True)
class Lines:
    """A plain line each tenth of a stage, or after half a minute of silence; never more than one in two seconds.

    >>> import sys
    >>> seconds = iter([0.0, 1.0, 5.0, 6.0, 40.0])
    >>> report = Lines(sys.stdout, lambda: next(seconds))
    >>> for done in (0, 30, 31, 32):
    ...     report("search", done, 200)
    search: 30 of 200
    search: 32 of 200
    """

    stream: IO[str]
    clock: Callable[[], float] = time.monotonic
    _said_at: float = field(init=False)
    _said: tuple[str, int] = field(init=False, default=("", 0))

    def __post_init__(self) -> None:
        self._said_at = self.clock()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        silence = self.clock() - self._said_at
        before = self._said[1] if self._said[0] == stage else 0
        enough = total is not None and done - before >= _SHARE * total and done > before
        if silence >= _SECONDS or (enough and silence >= _LEAST):
            print(f"{stage}: {done}" + (f" of {total}" if total is not None else ""), file=self.stream, flush=True)
            self._said_at, self._said = self._said_at + silence, (stage, done)
