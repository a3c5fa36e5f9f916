"""Rules together: how often limits and shares hold where an integer program finds a page, and what that costs.

`python -m benchmarks.rules` prints, for each combination of rules, the problems that are met, the limits that are
broken, and the time of the kernel with all rules divided by its time with the first rule alone. Windows are obeyed
outside the kernel: for them it is the time of the whole call, divided by its time with limits over the page instead.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import mascot as mc
from mascot.wishes import Limit

COMBINATIONS: dict[str, tuple[str, ...]] = {
    "limit and share": ("limit seller", "share ad"),
    "two shares": ("share ad", "share brand"),
    "two limits": ("limit seller", "limit brand"),
    "two limits and a share": ("limit seller", "limit brand", "share ad"),
    "limit and two shares": ("limit seller", "share ad", "share brand"),
    "limit and window": ("limit brand", "window seller"),
    "share and window": ("share ad", "window seller"),
    "two windows": ("window brand", "window seller"),
}


class Problem(NamedTuple):
    """Candidates, and rules that a full page of k results can obey."""

    candidates: mc.Candidates[int]
    rules: list[Any]
    k: int


def _zipf(rng: np.random.Generator, values: int, n: int) -> list[str]:
    weights = 1 / np.arange(1, values + 1)
    return [f"v{i}" for i in rng.choice(values, n, p=weights / weights.sum())]


def random_problem(rng: np.random.Generator, names: Sequence[str]) -> Problem:
    """Return candidates of a marketplace and rules of the given kinds, which need not be feasible."""
    n, k = int(rng.integers(30, 201)), int(rng.integers(6, 25))
    columns: dict[str, Any] = {"seller": _zipf(rng, int(rng.integers(8, 20)), n)}
    columns["brand"] = _zipf(rng, int(rng.integers(5, 12)), n)
    columns["ad"] = (rng.random(n) < rng.uniform(0.08, 0.3)).astype(int).tolist()
    part = float(rng.choice([0.2, 0.25, 0.3, 0.5]))
    rules = {
        "limit seller": mc.limit("seller", -(-k // int(rng.integers(6, 13)))),
        "limit brand": mc.limit("brand", -(-k // int(rng.integers(4, 8)))),
        "share ad": mc.share("ad", {1: part}),
        "share brand": mc.share("brand", {"v0": 0.2, "v3": 0.25, "v4": 0.15}),
        "window seller": mc.limit("seller", 1 + k % 2, window=5),
        "window brand": mc.limit("brand", 2, window=5),
    }
    candidates = mc.Candidates(np.sort(rng.random(n))[::-1], columns=columns)
    return Problem(candidates, [rules[name] for name in names], k)


def bounds(problem: Problem, rule: Any) -> dict[str, tuple[int, int]]:
    """Return the smallest and the largest count of each value in a page or window; "" stands for all other values."""
    if isinstance(rule, Limit):
        return {str(value): (0, rule.most(str(value))) for value in problem.candidates.columns[rule.attribute.name]}
    return {value: (count, count) for value, count in rule.targets(problem.k).items()}


def groups(problem: Problem, rule: Any) -> list[str]:
    """Return the value that one rule counts for each candidate."""
    named = bounds(problem, rule)
    return [v if v in named else "" for v in map(str, problem.candidates.columns[rule.attribute.name])]


def spans(problem: Problem, rule: Any) -> list[slice]:
    """Return the places that one rule counts together: every window, or the page."""
    length = getattr(rule, "window", None) or problem.k
    return [slice(start, start + length) for start in range(max(problem.k - length, 0) + 1)]


def is_feasible(problem: Problem) -> bool:
    """Return whether an integer program finds a page that obeys all rules.

    Its variables are the number of candidates with the same values at each place, or on the page if no rule is about
    places.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    types = Counter(zip(*(groups(problem, rule) for rule in problem.rules), strict=True))
    places = problem.k if any(len(spans(problem, rule)) > 1 for rule in problem.rules) else 1
    shape = len(types), places
    rows, low, high = [], [], []

    def bound(part: Any, least: int, most: int) -> None:
        row = np.zeros(shape)
        row[part] = 1
        rows.append(row.reshape(-1))
        low.append(least)
        high.append(most)

    for t, count in enumerate(types.values()):
        bound(t, 0, count)
    for place in range(places):
        bound((slice(None), place), problem.k // places, problem.k // places)
    for r, rule in enumerate(problem.rules):
        for value, (least, most) in bounds(problem, rule).items():
            of_value = np.array([values[r] == value for values in types])
            for span in spans(problem, rule):
                bound((of_value, span), least, most)
    constraint, size = LinearConstraint(np.array(rows), low, high), shape[0] * places
    return bool(milp(np.zeros(size), constraints=constraint, integrality=np.ones(size), bounds=Bounds(0)).success)


def feasible_problems(names: Sequence[str], count: int, seed: int) -> Iterator[Problem]:
    """Yield `count` problems that an integer program solves."""
    rng = np.random.default_rng(seed)
    while count:
        problem = random_problem(rng, names)
        if is_feasible(problem):
            count -= 1
            yield problem


def judge(problem: Problem, positions: Sequence[int]) -> tuple[bool, bool]:
    """Return whether a page obeys all rules, and whether it breaks a limit."""
    met, broken = len(positions) == problem.k, False
    for rule in problem.rules:
        values = groups(problem, rule)
        for span in spans(problem, rule):
            counts = Counter(values[i] for i in positions[span])
            for value, (least, most) in bounds(problem, rule).items():
                met &= least <= counts[value] <= most
                broken |= isinstance(rule, Limit) and counts[value] > most
    return met, broken


class TimedMascot:
    """Mascot, which measures the shortest of several selections."""

    def __init__(self, repeats: int) -> None:
        self.repeats, self.seconds = repeats, 0.0

    def select(self, problem: Any, k: int) -> Any:
        times = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            selection = mc.Mascot().select(problem, k)
            times.append(time.perf_counter() - start)
        self.seconds += min(times)
        return selection

    def to_dict(self) -> dict[str, Any]:
        return {}


def kernel_seconds(problems: Sequence[Problem], rules: int | None, repeats: int) -> float:
    """Return the time that the kernel takes with the first `rules` rules."""
    method = TimedMascot(repeats)
    for problem in problems:
        mc.rerank(problem.candidates, problem.rules[:rules], problem.k, method, backend="native")
    return method.seconds


def call_seconds(problems: Sequence[Problem], windows: bool, repeats: int) -> float:
    """Return the time of whole calls, with windows or with limits over the page instead."""
    seconds = 0.0
    for candidates, rules, k in problems:
        if not windows:
            rules = [replace(rule, window=None) if isinstance(rule, Limit) else rule for rule in rules]
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            mc.rerank(candidates, rules, k, backend="native")
            times.append(time.perf_counter() - start)
        seconds += min(times)
    return seconds


def time_ratio(problems: Sequence[Problem], repeats: int) -> float:
    """Return the time with all rules, divided by the time without the second rule or without windows."""
    if any(getattr(rule, "window", None) for rule in problems[0].rules):
        return call_seconds(problems, True, repeats) / call_seconds(problems, False, repeats)
    return kernel_seconds(problems, None, repeats) / kernel_seconds(problems, 1, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--backend", default="native")
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{'rules':24} {'met':>7} {'protect 3':>9} {'broken':>6} {'time':>5}")
    for number, (name, names) in enumerate(COMBINATIONS.items()):
        problems = list(feasible_problems(names, arguments.problems, number))
        verdicts: dict[int, list[tuple[bool, bool]]] = {0: [], 3: []}
        for protect, problem in product(verdicts, problems):
            candidates, rules, k = problem
            page = mc.rerank(candidates, rules, k, protect=protect, backend=arguments.backend)
            verdicts[protect].append(judge(problem, page.positions.tolist()))
        met = [100 * np.mean([verdict[0] for verdict in verdicts[protect]]) for protect in (0, 3)]
        broken = sum(verdict[1] for both in verdicts.values() for verdict in both)
        ratio = time_ratio(problems, arguments.repeats)
        print(f"{name:24} {met[0]:6.1f}% {met[1]:8.1f}% {broken:6} {ratio:5.2f}")


if __name__ == "__main__":
    main()
