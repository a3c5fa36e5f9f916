"""Progress of a command: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Report = Callable[[str, int, "int | None"], None]  # the stage, its count so far, and its total where that is known

_SECONDS = 30.0  # maximum time between two lines
_LEAST = 2.0  # minimum time: a quick command prints nothing
_SHARE = 0.1  # share of a stage after which a line is printed


@contextmanager
def progress(*stages: str) -> Iterator[Report]:
    """Yield a function that shows progress: a bar for each stage on a terminal, added when needed; lines elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(console.file)
        return
    columns = (TextColumn("{task.description:<7}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as display:
        bars = {stage: display.add_task(stage, total=None) for stage in stages}

        def report(stage: str, count: int, total: int | None) -> None:
            if stage not in bars:
                bars[stage] = display.add_task(stage, total=None)
            display.update(bars[stage], completed=count, total=total)

        yield report


class Lines:
    """Prints a line for each tenth of a stage, or after 30 seconds without one; at most one in two seconds."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._last_time, self._last_line = clock(), ("", 0)

    def __call__(self, stage: str, count: int, total: int | None) -> None:
        now = self._clock()
        silence = now - self._last_time
        last_count = self._last_line[1] if self._last_line[0] == stage else 0
        enough = total is not None and count > last_count and count - last_count >= _SHARE * total
        if silence >= _SECONDS or (enough and silence >= _LEAST):
            print(f"{stage}: {count}" + (f" of {total}" if total is not None else ""), file=self._stream, flush=True)
            self._last_time, self._last_line = now, (stage, count)
