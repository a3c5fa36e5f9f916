"""What an attack consists of, the list of attacks, and how one of them is run and counted."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

Run = Callable[[Path, int], Iterator["Trial"]]  # of the folder to work in, and the number of rounds


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt, and whether it was survived."""

    survived: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Attack:
    """An entry of the list."""

    run: Run
    expectation: str
    rounds: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What an attack tried, and the details of the trials that were not survived."""

    attack: str
    tried: int
    seconds: float
    failures: list[str]
    skipped: str  # why nothing was tried


class NotHere(Exception):
    """This machine lacks what an attack needs."""


ATTACKS: dict[str, Attack] = {}


def attack(expectation: str, rounds: int) -> Callable[[Run], Run]:
    """Add an attack to the list under the name of its function. `expectation` is what counts as survival."""

    def add(run: Run) -> Run:
        ATTACKS[run.__name__.replace("_", " ")] = Attack(run, expectation, rounds)
        return run

    return add


def run_attack(name: str, rounds: int | None = None) -> Tally:
    """Run one attack (default: in all its rounds), and count."""
    entry, started, trials, skipped = ATTACKS[name], time.monotonic(), list[Trial](), ""
    with tempfile.TemporaryDirectory(prefix="mascot-torture-") as folder:
        try:
            for trial in entry.run(Path(folder), entry.rounds if rounds is None else rounds):
                trials.append(trial)
        except NotHere as reason:
            skipped = str(reason)
        except Exception as error:  # the other attacks go on
            trials.append(Trial(False, f"the attack itself failed: {error!r}"))
    failures = [trial.detail[:500] for trial in trials if not trial.survived]
    return Tally(name, len(trials), time.monotonic() - started, failures, skipped)


def table(tallies: Sequence[Tally]) -> str:
    """Return the tallies as text, a line each, and the failures below."""
    lines = [f"{'attack':21} tried  survived  seconds  survival means"]
    for tally in tallies:
        counts = f"{tally.tried:5}  {tally.tried - len(tally.failures):8}  {tally.seconds:7.0f}"
        result = f"not here: {tally.skipped}" if tally.skipped else f"{counts}  {ATTACKS[tally.attack].expectation}"
        lines.append(f"{tally.attack:21} {result}")
    lines += [f"FAILED {tally.attack}: {failure}" for tally in tallies for failure in tally.failures[:20]]
    return "\n".join(lines)
