"""What every attack consists of, the list of attacks, and how one of them is run and counted."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt, and whether it was survived."""

    what: str
    survived: bool
    detail: str = ""  # why not
    measured: str = ""  # what is worth printing also if it was survived
    wait_s: float = 0.0  # the longest wait for /healthz meanwhile
    peak_mb: float = 0.0  # the most memory of the server beyond its start


@dataclass(frozen=True, slots=True)
class Tally:
    """What an attack tried, as it is recorded and printed."""

    attack: str
    form: str  # short or full
    tried: int
    survived: int
    seconds: float
    expectation: str
    failures: tuple[str, ...]
    skipped: str = ""  # why nothing was tried
    measured: tuple[str, ...] = ()
    wait_s: float = 0.0  # the largest values of its trials
    peak_mb: float = 0.0


@dataclass(frozen=True, slots=True)
class Arena:
    """Where an attack takes place."""

    folder: Path
    chance: random.Random
    rounds: int
    photos: Path  # small photographs, not indexed
    indexed: Path  # the same, indexed


@dataclass(frozen=True, slots=True)
class Attack:
    """An entry of the list."""

    run: Callable[[Arena], Iterator[Trial]]
    expectation: str
    rounds: int
    short_rounds: int
    limit_s: float


class NotHere(Exception):
    """This machine lacks what an attack needs."""


ATTACKS: dict[str, Attack] = {}


def attack(
    expectation: str, *, rounds: int, short: int, limit_s: float
) -> Callable[[Callable[[Arena], Iterator[Trial]]], Callable[[Arena], Iterator[Trial]]]:
    """Add an attack to the list under the name of its function.

    Parameters
    ----------
    expectation
        What counts as survival.
    rounds, short
        How often it is tried in the full and in the short form.
    limit_s
        After which no further attempt begins.
    """

    def add(run: Callable[[Arena], Iterator[Trial]]) -> Callable[[Arena], Iterator[Trial]]:
        ATTACKS[run.__name__.replace("_", " ")] = Attack(run, expectation, rounds, short, limit_s)
        return run

    return add


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return content with one or some bytes replaced, sometimes cut."""
    changed = bytearray(content)
    for _ in range(chance.choice([1, 4, 32])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    if chance.random() < 0.2:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed)


def run_attack(name: str, short: bool, seed: int, folder: Path) -> Tally:
    """Try one attack, and count."""
    entry = ATTACKS[name]
    shutil.rmtree(folder / "attack", ignore_errors=True)
    (folder / "attack").mkdir()
    chance = random.Random(f"{seed} {name}")
    rounds = entry.short_rounds if short else entry.rounds
    arena = Arena(folder / "attack", chance, rounds, folder / "photos", folder / "indexed")
    started = time.monotonic()
    tried = survived = 0
    wait_s = peak_mb = 0.0
    failures: list[str] = []
    measured: list[str] = []
    skipped = ""
    try:
        for trial in entry.run(arena):
            tried += 1
            survived += trial.survived
            wait_s, peak_mb = max(wait_s, trial.wait_s), max(peak_mb, trial.peak_mb)
            if not trial.survived:
                failures.append(f"{trial.what}: {trial.detail}")
            if trial.measured:
                measured.append(trial.measured)
            if time.monotonic() - started > entry.limit_s:
                break
    except NotHere as reason:
        skipped = str(reason)
    except Exception as error:  # the other attacks go on
        tried += 1
        failures.append(f"the attack itself failed: {error!r}"[:500])
    seconds = time.monotonic() - started
    form = "short" if short else "full"
    return Tally(
        name, form, tried, survived, seconds, entry.expectation, tuple(failures[:20]), skipped, tuple(measured),
        wait_s, peak_mb,
    )  # fmt: skip


def table(tallies: Sequence[Tally]) -> str:
    """The tallies as text, a line each, and the failures below."""
    width = max((len(tally.attack) for tally in tallies), default=6)
    lines = [f"{'attack':{width}}  tried  survived  seconds  healthz s  peak MB  survival means"]
    for tally in tallies:
        wait = f"{tally.wait_s:.2f}" if tally.wait_s else "-"
        peak = f"{tally.peak_mb:.0f}" if tally.peak_mb else "-"
        counts = f"{tally.tried:5}  {tally.survived:8}  {tally.seconds:7.0f}"
        result = f"{counts}  {wait:>9}  {peak:>7}  {tally.expectation}"
        lines.append(f"{tally.attack:{width}}  {f'not here: {tally.skipped}' if tally.skipped else result}")
    lines += [f"{tally.attack}: {value}" for tally in tallies for value in tally.measured]
    lines += [f"FAILED {tally.attack}: {failure}" for tally in tallies for failure in tally.failures]
    return "\n".join(lines)
