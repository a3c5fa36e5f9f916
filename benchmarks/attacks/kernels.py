"""Attacks on the compiled kernel."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import mascot as mc
from benchmarks.attacks import direct_calls
from benchmarks.attacks.frame import Arena, NotHere, Trial, attack
from mascot.kernels import native
from mascot.kernels.native import build_native

_PER_PROCESS = 1500  # direct calls


@attack("address and undefined-behaviour sanitizers find nothing in the kernel", rounds=3, short=0, limit_s=180)
def sanitized_kernel(arena: Arena) -> Iterator[Trial]:
    sanitize = _sanitizers(arena)
    for name in sanitize.variants()[: arena.rounds]:
        done = sanitize.run_properties(name)
        state = "clean" if done.returncode == 0 else "failed"
        yield Trial(name, done.returncode == 0, (done.stdout + done.stderr)[-300:], f"{name}: {state}")


@attack("the same under direct calls of the C functions, past the checks of Python", rounds=3, short=0, limit_s=60)
def sanitized_calls(arena: Arena) -> Iterator[Trial]:
    sanitize, seed = _sanitizers(arena), arena.chance.randrange(1 << 32)
    names = sanitize.variants()
    for number in range(arena.rounds):
        name = names[number % len(names)]
        numbers = seed, number * _PER_PROCESS, _PER_PROCESS
        done = sanitize.run_sanitized(name, direct_calls.PROGRAM, *map(str, numbers))
        for _ in range(_PER_PROCESS - 1):
            yield Trial(name, True)
        yield Trial(name, done.returncode == 0, f"{numbers}: {done.stderr[-300:]}")


def _sanitizers(arena: Arena) -> Any:
    """Return the module tests/sanitize.py."""
    if arena.rounds == 0:
        raise NotHere("the short form compiles nothing")
    if sys.platform != "linux":
        raise NotHere("the sanitizers are preloaded as on Linux")
    try:
        build_native.find_compiler()
        return importlib.import_module("tests.sanitize")
    except (build_native.BuildError, ModuleNotFoundError):
        raise NotHere("needs a compiler and the tests") from None


@attack("numpy and the native kernel select the same, or both refuse", rounds=100_000, short=300, limit_s=120)
def random_problems(arena: Arena) -> Iterator[Trial]:
    if not native.available():
        raise NotHere(native.description())
    rng = np.random.default_rng(arena.chance.randrange(1 << 32))
    for _ in range(arena.rounds):
        candidates = _candidates(rng)
        wishes, k = [_wish(rng) for _ in range(rng.integers(1, 4))], int(rng.integers(1, 16))
        dial: dict[str, Any] = {"strength": float(rng.choice([0, 5e-324, 1e-300, 0.3, 1]))}
        if rng.random() < 0.3:
            dial = {"keep": float(rng.choice([0.5, 0.9, 1]))}
        weight: Any = str(rng.choice(["uniform", "query"]))
        method = mc.Mascot(protect=int(rng.choice([0, 3])), bin_weight=weight, normalize=rng.random() < 0.8, **dial)
        answers = [_answer(candidates, wishes, k, method, backend) for backend in ("numpy", "native")]
        yield Trial("problem", answers[0] == answers[1], f"{wishes}, {method}: {answers}")


def _candidates(rng: np.random.Generator) -> mc.Candidates[int]:
    """Return candidates whose numbers lie at the edges of what is accepted."""
    n = int(rng.integers(1, 40))
    scaled = rng.normal(size=n) * 10.0 ** rng.integers(-100, 100)
    close = 1e60 * (1 + rng.choice([1e-15, 1e-12, 1e-6]) * rng.normal(size=n))
    number = (np.full(n, rng.choice([1e60, -1e98, 1.7e18, 5e-324, 0.0])), scaled, close, rng.uniform(-200, 200, n))
    columns = {
        "x": number[rng.integers(4)], "label": rng.choice(list("abc"), n), "lat": rng.uniform(-90, 90, n),
        "lon": rng.choice([1.0, 3.0, 1e12]) * rng.uniform(-180, 180, n), "hour": rng.choice([0.0, 6.5, np.nan], n),
        "day": np.datetime64("2020-01-01") + rng.integers(-(10 ** rng.integers(1, 6)), 10**5, n).astype("m8[D]"),
    }  # fmt: skip
    scores = rng.random(n) if rng.random() < 0.7 else rng.choice([0.0, 1.0, 1e300, 5e-324], n)
    return mc.Candidates(scores, columns=columns, vectors=rng.normal(size=(n, 4)))


def _wish(rng: np.random.Generator) -> mc.AnyWish:
    width = float(10.0 ** rng.integers(-149, 149))
    attribute: Any = (
        mc.Number("x"), mc.Number("x", sigma=width), mc.Cycle("x", width, bins=int(rng.integers(1, 200))),
        mc.Place(), mc.Place(sigma_km=float(rng.choice([0.001, 5, 300, 1e5]))), mc.Category("label"),
        mc.Place.grid(sigma=float(rng.choice([0.001, 15, 150, 1e4]))), mc.Place.grid(cells=int(rng.integers(2, 40))),
        mc.HourOfDay("hour", sigma=float(10.0 ** rng.integers(-4, 7))), mc.Date("day"), mc.DayOfYear("day"),
        mc.Date("day", sigma_days=float(10.0 ** rng.integers(-9, 9))), mc.Vectors(),
    )[rng.integers(13)]  # fmt: skip
    wish = mc.spread if rng.random() < 0.6 else mc.focus
    return wish(attribute, weight=float(rng.choice([1, 1, 3, 1e-100, 1e100])))


def _answer(candidates: mc.Candidates[int], wishes: list[mc.AnyWish], k: int, method: mc.Mascot, backend: Any) -> Any:
    try:
        ranking = mc.rerank(candidates, wishes, k, method, backend=backend)
    except mc.MascotError as error:
        return str(error)
    return ranking.ids, ranking.strength
