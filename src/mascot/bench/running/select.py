"""Select with the methods of points, as a user would: by `mascot.Reranker`, and by `mascot.rerank_many` for trees.

A query with fewer than k candidates has all of them as results; the rest of its row is -1.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import mascot as mc
from mascot.bench.datasets.dataset import Floats, Ints
from mascot.bench.protocol.branches import Branches
from mascot.bench.protocol.search_space import is_dpp
from mascot.bench.protocol.tasks import SPREAD, Method, Point
from mascot.bench.running.query_set import QuerySet
from mascot.bench.tuning.judge import padded
from mascot.wishes import Wish

_DPP_QUERIES = 32


@dataclass(frozen=True, slots=True, eq=False)
class PointSelection:
    """The selection of a point's method: [Q, k] positions, with -1 after the end of a short list."""

    point: Point
    positions: Ints
    seconds: float | None = None
    first_gain: Floats | None = None  # [Q] coverage of the first pick, if it is measured


def choose(points: Sequence[Point], queries: QuerySet) -> Iterator[PointSelection]:
    """Yield the selections of many points, in any order.

    DPPs select for a few queries at a time, all points in turn, so that `MsDpp` computes what they share only once.
    """
    dpps: dict[tuple[Wish, ...], list[Point]] = defaultdict(list)
    earlier: dict[Point, PointSelection] = {}
    for point in points:
        if is_dpp(point.method):
            dpps[point.wishes].append(point)
            continue
        # MMR ignores the direction (see `Mmr`): focus and spread are one computation.
        key = replace(point, direction=SPREAD, label="") if isinstance(point.method, mc.Mmr) else point
        if key not in earlier:
            earlier[key] = _choose_all(point, queries)
        yield replace(earlier[key], point=point)
    yield from _choose_dpps(dpps, queries)


def _choose_all(point: Point, queries: QuerySet) -> PointSelection:
    rank = _ranker(point.wishes, queries)
    started = time.perf_counter()
    rankings = rank(point.method, point.k, slice(None))
    seconds = (time.perf_counter() - started) / len(rankings)
    gain, strength = None, getattr(point.method, "strength", None)
    if (point.study, point.label) == ("main", "mascot") and strength:
        # Contributions carry the sign and the strength; the coverage itself is measured.
        gains = [[float(abs(part[0])) for name, part in r.gains.items() if name != "relevance"] for r in rankings]
        gain = np.array([sum(parts) for parts in gains]) / strength
    return PointSelection(point, rankings.positions, seconds, gain)


def _choose_dpps(groups: Mapping[tuple[Wish, ...], Sequence[Point]], queries: QuerySet) -> Iterator[PointSelection]:
    positions: dict[Point, list[Ints]] = {point: [] for points in groups.values() for point in points}
    rankers = {wishes: _ranker(wishes, queries) for wishes in groups}
    for first in range(0, len(queries.rows), _DPP_QUERIES):
        block = slice(first, first + _DPP_QUERIES)
        for wishes, points in groups.items():
            for point in points:
                positions[point] += [*rankers[wishes](point.method, point.k, block).positions]
    yield from (PointSelection(point, padded(rows, -1, point.k)) for point, rows in positions.items())


def time_single(point: Point, queries: QuerySet, count: int) -> PointSelection:
    """Return the selection for the first `count` queries, run one at a time as in a server, with the median time."""
    tree, ranker = _is_tree(point.wishes), mc.Reranker(point.wishes, point.method)
    if not tree:
        ranker.fit(dict(queries.dataset.columns), queries.dataset.vectors)
    positions, times = [], []
    for q in range(min(count, len(queries.rows))):
        started = time.perf_counter()
        if tree:
            ranking = mc.rerank(queries.candidates(q), point.wishes, point.k, point.method)
        else:
            ranking = ranker.rerank(queries.rows[q], queries.scores[q], point.k)
        times.append(time.perf_counter() - started)
        positions.append(ranking.positions)
    return PointSelection(point, padded(positions, -1, point.k), float(np.median(times)))


def _ranker(wishes: tuple[Wish, ...], queries: QuerySet) -> Callable[[Method, int, slice], mc.Rankings[Any]]:
    """Return a function that re-ranks some of the queries by a method."""
    if _is_tree(wishes):
        candidate_lists = [queries.candidates(q) for q in range(len(queries.rows))]
        return lambda method, k, block: mc.rerank_many(candidate_lists[block], wishes, k, method, threads=1)
    ranker = mc.Reranker(wishes).fit(dict(queries.dataset.columns), queries.dataset.vectors)

    def rank(method: Method, k: int, block: slice) -> mc.Rankings[Any]:
        ranker.method = method
        return ranker.rerank_many(queries.rows[block], queries.scores[block], k=k, threads=1)

    return rank


def _is_tree(wishes: Sequence[Wish]) -> bool:
    """Return whether an attribute is a tree, which is grown from each query's own candidates."""
    return any(isinstance(wish.attribute, Branches) for wish in wishes)
