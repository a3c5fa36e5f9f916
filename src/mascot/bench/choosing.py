"""Let methods choose, sharing between points what they have in common.

A query that has fewer candidates than results are asked for shows all of them; behind the last stands -1.

Coverage runs compiled over all queries. Trees (`Branches`) are grown from each query's own candidates. The logarithms
of MS-DPP's similarities depend on the query alone, and its combined kernel on all but the strength: both are computed
once. Everything else runs query by query.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mascot.attributes import Attribute, Branches
from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.material import Material
from mascot.bench.points import Point
from mascot.bench.tasks import SPREAD
from mascot.candidates import Candidates
from mascot.errors import InputError
from mascot.kernels.dpp import ensemble, greedy_map
from mascot.kernels.similarity import similarities
from mascot.kernels.tangents import combine, tangents, unit_logarithm
from mascot.methods import KDpp, Mascot, Mmr, MsDpp
from mascot.methods.kdpp import LARGEST_THETA
from mascot.ranking import Ranking, Rankings
from mascot.rerank import Reranker, rerank, rerank_many


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What a point's method chose: [Q, k] positions, -1 behind the end of a short list; seconds where timed alone."""

    point: Point
    positions: Ints
    seconds: float | None = None
    first_gain: Floats | None = None  # [Q] coverage of the first pick, where asked for


def choose(points: Sequence[Point], material: Material) -> Iterator[Choice]:
    """The choices of many points, in any order."""
    dpps = [p for p in points if isinstance(p.method, (KDpp, MsDpp)) and p.method.strength > 0]
    if material.unit is None:
        dpps = []
    by_k: dict[int, list[Point]] = defaultdict(list)
    for point in dpps:
        by_k[point.k].append(point)
    for some in by_k.values():
        yield from _dpps(some, material)
    shared = set(dpps)
    made: dict[Point, Choice] = {}
    for point in points:
        if point in shared:
            continue
        # MMR does not see the sign (see `Mmr`): focus and spread are one computation.
        same = replace(point, direction=SPREAD, label="") if isinstance(point.method, Mmr) else point
        if same not in made:
            made[same] = _alone(point, material)
        yield replace(made[same], point=point)


def _reranker(point: Point, material: Material) -> Reranker:
    data = material.dataset
    return Reranker(point.wishes, point.method).fit(dict(data.columns), data.vectors)


def _grows(point: Point) -> bool:
    return any(isinstance(wish.attribute, Branches) for wish in point.wishes)


def _candidates(rows: Ints, scores: Floats, material: Material) -> Candidates:
    data = material.dataset
    columns = {name: column[rows] for name, column in data.columns.items()}
    return Candidates(scores, columns=columns, vectors=None if data.vectors is None else data.vectors[rows])


def _alone(point: Point, material: Material) -> Choice:
    k = point.k
    if _grows(point):
        lists = [_candidates(r, s, material) for r, s in zip(material.rows, material.scores, strict=True)]
        started = time.perf_counter()
        rankings: Rankings = rerank_many(lists, point.wishes, k, point.method, threads=1)
    else:
        ranker = _reranker(point, material)
        started = time.perf_counter()
        rankings = ranker.rerank_many(material.rows, material.scores, k=k, threads=1)
    seconds = (time.perf_counter() - started) / len(rankings)
    gain = None
    if isinstance(point.method, Mascot) and (point.study, point.label) == ("main", "mascot") and point.method.strength:
        # Contributions carry the sign and the strength; the coverage itself is asked for.
        gains = [[float(abs(part[0])) for name, part in r.gains.items() if name != "relevance"] for r in rankings]
        gain = np.array([sum(parts) for parts in gains]) / point.method.strength
    return Choice(point, rankings.positions, seconds, gain)


def timed(point: Point, material: Material, queries: int) -> Choice:
    """One query at a time, as a server would: the median of their times. Only so many queries are asked."""
    ask: Callable[[Ints, Floats, int], Ranking] = (
        (lambda rows, scores, k: rerank(_candidates(rows, scores, material), point.wishes, k, point.method))
        if _grows(point)
        else _reranker(point, material).rerank
    )
    asked = list(zip(material.rows, material.scores, strict=True))[:queries]
    found, times = _unfilled(len(asked), point.k), []
    for q, (rows, scores) in enumerate(asked):
        started = time.perf_counter()
        chosen = ask(rows, scores, point.k).positions
        times.append(time.perf_counter() - started)
        found[q, : len(chosen)] = chosen
    return Choice(point, found, float(np.median(times)))


def _unfilled(queries: int, k: int) -> Ints:
    return np.full((queries, k), -1, np.int64)


def _dpps(points: Sequence[Point], material: Material) -> Iterator[Choice]:
    """Points of one k."""
    assert material.unit is not None
    k = points[0].k
    plans = _plans(points)
    if any(plan.normalize is not None for plan in plans):
        lowest = min(float(scores.min()) for scores in material.scores)
        if lowest <= 0:
            raise InputError(f"MsDpp.normalize takes logarithms and needs scores > 0, got {lowest:g}")
    attributes = list(dict.fromkeys(attribute for plan in plans for attribute in plan.attributes))
    manifold = any(plan.is_tangent for plan in plans)
    data = material.dataset
    out = {point: _unfilled(len(material.rows), k) for point in points}
    for q, (rows, scores) in enumerate(zip(material.rows, material.scores, strict=True)):
        columns = {name: column[rows] for name, column in data.columns.items()}
        vectors = None if data.vectors is None else data.vectors[rows]
        blocks = [*(a.features(columns, vectors) for a in attributes), material.unit[rows]]
        logs = tangents(blocks) if manifold else np.empty(0)
        plain = [similarities(block) for block in blocks] if any(not plan.is_tangent for plan in plans) else []
        for plan in plans:
            at = [attributes.index(attribute) for attribute in plan.attributes]
            kernel = plan.tangent(logs, at, scores) if plan.is_tangent else plan.mean(plain, at)
            quality = unit_logarithm(scores) if plan.normalize == "tn+tvms" else scores
            for released, some in plan.points:
                ensembles = np.stack([ensemble(kernel, quality, theta) for _, theta in some])
                again = np.broadcast_to(scores, (len(ensembles), len(scores)))
                none = np.empty((len(ensembles), 0), np.int64)
                chosen = greedy_map(ensembles, again, k, none, released)
                for (point, _), positions in zip(some, chosen, strict=True):
                    out[point][q, : len(positions)] = positions
    for point in points:
        yield Choice(point, out[point])


@dataclass(frozen=True, slots=True)
class _Plan:
    """Points of one kernel: they differ in their strength, and in the update of the greedy."""

    attributes: tuple[Attribute, ...]
    signs: tuple[float, ...]
    weights: tuple[float, ...]
    beta: float
    is_tangent: bool
    normalize: str | None
    points: tuple[tuple[bool, tuple[tuple[Point, float], ...]], ...] = ()  # by update: points and their theta

    def tangent(self, logs: Floats, at: Sequence[int], scores: Floats) -> Floats:
        signs, weights = np.array(self.signs), np.array(self.weights)
        return combine(logs[at], logs[-1], scores, signs, weights, self.beta, self.normalize)

    def mean(self, kernels: Sequence[Floats], at: Sequence[int]) -> Floats:
        similarity = np.zeros_like(kernels[-1])
        for sign, weight, j in zip(self.signs, self.weights, at, strict=True):
            similarity += sign * weight * kernels[j]
        similarity /= sum(self.weights)
        mixed: Floats = (1.0 - self.beta) * similarity + self.beta * kernels[-1]
        return mixed


def _plans(points: Iterable[Point]) -> list[_Plan]:
    groups: dict[_Plan, dict[bool, list[tuple[Point, float]]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        method = point.method
        assert isinstance(method, (KDpp, MsDpp))
        wishes = point.wishes
        key = _Plan(
            tuple(wish.attribute for wish in wishes),
            tuple(float(wish.sign) for wish in wishes),
            tuple(float(wish.weight) for wish in wishes),
            method.beta,
            isinstance(method, MsDpp),
            method.normalize if isinstance(method, MsDpp) else None,
        )
        theta = min(1.0 - method.strength, LARGEST_THETA)
        groups[key][method.released].append((point, theta))
    return [
        replace(key, points=tuple((released, tuple(some)) for released, some in of.items()))
        for key, of in groups.items()
    ]
