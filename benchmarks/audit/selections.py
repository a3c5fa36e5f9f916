"""Compare what the package selects on simulated queries with the literal formulas, position by position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

import mascot as mc
from benchmarks.audit import formulas
from benchmarks.audit.formulas import Array
from mascot.bench.datasets.pixelprose_sim import PixelProseSim
from mascot.bench.protocol.search_space import BETAS, COVERAGE, DPPS, THETAS, coverage, dpp
from mascot.bench.protocol.tasks import FOCUS, GEO, GEO_HOUR, HOUR, SPREAD, Point, Widths
from mascot.bench.running.measure import measure
from mascot.bench.running.query_set import QuerySet
from mascot.bench.running.select import choose

K = 20
TASKS = {"geo_hour": GEO_HOUR, "hour": HOUR, "geo": GEO}
SIGNS: dict[str, tuple[int, int]] = {SPREAD: (1, 1), FOCUS: (-1, -1), "geo+hour-": (1, -1), "geo-hour+": (-1, 1)}
CASES = [*product(TASKS, (SPREAD, FOCUS)), ("geo_hour", "geo+hour-"), ("geo_hour", "geo-hour+")]
WIDTHS = (Widths(15.0, 1.5, 20), Widths(10.0, 0.5, 10), Widths(5.0, 3.0, 25))
_ABLATIONS = {
    "mascot": ("query", True), "no-normalization": ("query", False),
    "uniform-binning": ("uniform", True), "prob-coverage": ("uniform", False),
}  # fmt: skip


class Mismatch(AssertionError):
    """A check whose numbers differ."""


def agree(condition: Any, text: str) -> None:
    """Raise `Mismatch` with the text unless the condition holds."""
    if not condition:
        raise Mismatch(text)


@dataclass(frozen=True, eq=False)
class Case:
    """The columns of one query's candidates."""

    query: int
    scores: Array
    lat: Array
    lon: Array
    hours: Array
    images: Array

    def blocks(self, task: str, widths: Widths) -> list[Array]:
        """Return the literal bins of a task, geography first."""
        place = [formulas.grid_bins(self.lat, self.lon, widths.cells, widths.geo)] if "geo" in task else []
        return place + ([formulas.hour_bins(self.hours, widths.hour)] if "hour" in task else [])

    def points(self, task: str) -> list[Array]:
        """Return the literal features of a task."""
        place = [formulas.place_points(self.lat, self.lon)] if "geo" in task else []
        return place + ([formulas.hour_points(self.hours)] if "hour" in task else [])


@cache
def queries(limit: int) -> QuerySet:
    return QuerySet(PixelProseSim(seed=0).load(), "test", 200, limit)


@cache
def cases(limit: int) -> list[Case]:
    query_set = queries(limit)
    columns, vectors = query_set.dataset.columns, query_set.dataset.vectors
    minutes = columns["taken"].astype("datetime64[m]").astype(np.int64) % 1440
    assert vectors is not None
    return [
        Case(q, scores, columns["lat"][rows], columns["lon"][rows], minutes[rows] / 60, formulas.unit(vectors[rows]))
        for q, (rows, scores) in enumerate(zip(query_set.rows, query_set.scores, strict=True))
    ]


def _signs(task: str, direction: str) -> tuple[int, ...]:
    return SIGNS[direction][: 2 if task == "geo_hour" else 1]


def memberships() -> str:
    """Compare the bins of places and hours, and the threshold of 1%."""
    count = 0
    for case, widths in product(cases(4), WIDTHS):
        columns = dict(queries(4).candidates(case.query).columns)
        for wish, expected in zip(GEO_HOUR.wishes(SPREAD, widths), case.blocks("geo_hour", widths), strict=True):
            actual = wish.attribute.membership(columns, None).resolve().sparse().dense()
            agree(actual.shape == expected.shape, f"{actual.shape[1]} bins, not {expected.shape[1]}")
            agree(np.allclose(actual, expected, rtol=0, atol=1e-12), f"a membership differs ({widths})")
            positive = expected[expected > 0]
            agree(positive.min() >= 0.01, "a membership below 0.01")
            count += expected.size
    total = sum(block.shape[1] for block in cases(4)[0].blocks("geo_hour", Widths()))
    agree(total == 424, f"{total} bins of both attributes")
    return f"{count:,} memberships equal the literal kernel; 400 + 24 = 424 bins"


def coverage_selections() -> str:
    """Compare the four coverage methods with Algorithm 1, on both backends."""
    count = 0
    for label, (task, direction), widths, case in product(COVERAGE, CASES, WIDTHS, cases(4)):
        strength = (0.2, 0.7)[case.query % 2]
        weight, normalize = _ABLATIONS[label]
        expected = formulas.greedy(
            case.scores, case.blocks(task, widths), _signs(task, direction), strength, K, weight, normalize
        )
        wishes = TASKS[task].wishes(direction, widths)
        for backend in ("numpy", "native"):
            candidates = queries(4).candidates(case.query)
            ranking = mc.rerank(candidates, list(wishes), K, coverage(label, strength), backend=backend)
            agree(ranking.positions.tolist() == expected, f"{label}, {task}, {direction}, {backend}: positions differ")
            count += 1
    return f"{count} selections on two backends equal the literal loop, in order"


def relevance_selections() -> str:
    """Compare the base retriever and MMR; the sign of MMR vanishes."""
    count = 0
    for (task, direction), case in product(CASES, cases(4)):
        wishes = TASKS[task].wishes(direction, Widths(), compares=True)
        signs = _signs(task, direction)
        for strength in (0.1, 0.2, 0.5):
            expected = formulas.mmr(case.scores, case.images, case.points(task), signs, strength, K)
            ranking = mc.rerank(queries(4).candidates(case.query), list(wishes), K, mc.Mmr(strength, published=True))
            agree(ranking.positions.tolist() == expected, f"mmr, {task}, {direction}: positions differ")
            same = formulas.mmr(case.scores, case.images, case.points(task), [-sign for sign in signs], strength, K)
            agree(same == expected, "the sign of MMR matters")
            count += 1
        base = mc.rerank(queries(4).candidates(case.query), list(wishes), K, mc.Relevance())
        agree(base.positions.tolist() == list(range(K)), "base: not the order of the scores")
    return f"{count} selections of MMR equal the literal loop with either sign; the base keeps the order of scores"


@cache
def _tangent(case: Case, name: str) -> Array:
    return formulas.tangent(case.images if name == "image" else case.points(name)[0])


def _dpp_expected(case: Case, task: str, direction: str, label: str, beta: float) -> tuple[Array, Array]:
    signs = _signs(task, direction)
    if label == "k-dpp":
        return formulas.kdpp_matrix(case.images, case.points(task), signs, beta), case.scores
    tangents = [_tangent(case, name) for name in ("geo", "hour") if name in task]
    return formulas.msdpp_matrix(case.scores, _tangent(case, "image"), tangents, signs, beta, label)


def dpp_selections() -> str:
    """Compare the four DPPs at every setting of their grid, with the exact and the released update."""
    count = 0
    (case, *_), query_set = cases(1), queries(1)
    for (task, direction), label, beta in product(CASES, DPPS, BETAS):
        matrix, relevances = _dpp_expected(case, task, direction, label, beta)
        for theta, released in product(THETAS, (False, True)):
            expected = formulas.map_inference(matrix, relevances, case.scores, theta, K, released)
            point: Any = Point(label, TASKS[task], direction, dpp(label, beta, theta, released), Widths())
            (choice,) = choose([point], query_set)
            actual = choice.positions[0].tolist()
            agree(actual == expected, f"{label}, {task}, {direction}, beta {beta}, theta {theta}: positions differ")
            count += 1
    matrix, relevances = _dpp_expected(case, "geo", FOCUS, "k-dpp", 0.4)
    first = formulas.map_inference(matrix, relevances, case.scores, 0.9, K, False)[0]
    agree(first != 0, "k-DPP on focus with beta 0.4 starts with the most relevant")
    return f"{count} selections equal the literal formulas with either update; k-DPP on focus loses the first result"


def guarantees() -> str:
    """Compare greedy with the optimum by enumeration, and check that coverage is bounded and gains never grow."""
    rng = np.random.default_rng(0)
    worst = 1.0
    for _ in range(40):
        hours, scores = rng.uniform(0, 24, 9), np.sort(rng.uniform(0.2, 0.5, 9))[::-1]
        bins, strength, r = formulas.hour_bins(hours, 1.5), float(rng.uniform(0.2, 1.0)), formulas.relevance(scores)
        omega = formulas.importance(bins, r)

        def value(
            subset: Sequence[int], bins: Any = bins, r: Any = r, omega: Any = omega, s: float = strength
        ) -> float:
            return formulas.objective(subset, r, bins, omega, s)

        chosen = formulas.greedy(scores, [bins], [1], strength, 4, "query", True)
        worst = min(worst, value(chosen) / max(value(subset) for subset in combinations(range(9), 4)))
        agree(value(range(9)) <= (1 - strength) * r.sum() + strength * omega.sum() + 1e-9, "coverage has no bound")
        early, late = value([0, 2]) - value([0]), value([0, 1, 2]) - value([0, 1])
        agree(late <= early + 1e-12, "a gain grows as more is selected")
    agree(worst >= 1 - 1 / np.e, f"greedy reaches {worst:.3f} of the optimum")
    return f"greedy reaches {worst:.3f} of the optimum or more on 40 enumerated problems; gains shrink and are bounded"


def summaries(points: list[Point], limit: int) -> Iterator[tuple[Point, dict[str, float]]]:
    """Yield the numbers of each point on some queries of the simulation."""
    for choice in choose(points, queries(limit)):
        yield choice.point, measure(choice.point, choice.positions, queries(limit))["summary"]
