"""Judged result lists, and the scores of a re-ranking on them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.attributes import Cycle, Grid
from mascot.bench import metrics
from mascot.errors import quoted
from mascot.grammar import columns_of
from mascot.wishes import AnyWish, Wish

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Metric = Literal["ndcg", "precision"]

# Attributes whose bins for a row do not depend on the other rows, so that all queries can be fitted at once.
_ROWWISE = (mc.Category, Cycle, mc.Date, mc.DayOfYear, Grid, mc.HourOfDay, mc.Number, mc.Place, mc.Weekday)


class Judge:
    """Scores a re-ranking on judged queries: [Q] values of the metric, the diversity and the objective."""

    def __init__(
        self, queries: Sequence[mc.Candidates[Any]], wishes: Sequence[AnyWish], judged: str, clusters: str | None,
        k: int, metric: Metric, relevance_weight: float,
    ) -> None:  # fmt: skip
        self.k, self.metric, self.relevance_weight = k, metric, relevance_weight
        self._read(list(queries), judged, clusters)
        tuned = [wish for wish in wishes if isinstance(wish, Wish)] if clusters is None else []
        self._measures = [(_entropy if wish.near is None else _closeness)(wish, self.queries, k) for wish in tuned]
        self._corpus = _corpus(self.queries, wishes)
        self._rankers: dict[tuple[AnyWish, ...], mc.Reranker] = {}
        ends = np.cumsum([len(query) for query in self.queries])
        self._rows = [np.arange(end - len(query), end) for query, end in zip(self.queries, ends, strict=True)]

    def _read(self, queries: list[mc.Candidates[Any]], judged: str, clusters: str | None) -> None:
        """Store the queries that can be scored, their judgements as [Q, N] arrays, and notes on the other queries."""
        for column in (judged, clusters):
            if column is not None and all(cell is None for query in queries for cell in _cells(query, column)):
                raise mc.InputError(f"no hit has a value in the column {column!r}, which must hold judgements")
        judgements = padded([_grades(query, judged) for query in queries], 0.0)
        grades = np.maximum(np.nan_to_num(judgements), 0.0)  # 0 if not relevant, not judged, or after the end
        codes = np.full(grades.shape, -1, np.int64)  # clusters of relevant hits, numbered from 0 in each query
        for row, query in enumerate(queries if clusters else ()):
            numbering: dict[Any, int] = {}
            for at, label in enumerate(_cells(query, str(clusters))):
                if isinstance(label, (list, dict)):
                    raise mc.InputError(f"column {clusters!r} must hold one cluster per hit, got {label!r:.60}")
                if label is not None and grades[row, at] > 0:
                    codes[row, at] = numbering.setdefault(label, len(numbering))
        relevant = (grades > 0).any(axis=1)
        rows = np.flatnonzero(relevant & ((codes >= 0).any(axis=1) | (clusters is None))).tolist()
        if len(rows) < 2:
            least = "tune needs at least 2 queries with a relevant hit" + (" that has a cluster" if clusters else "")
            advice = "" if len(queries) > 1 else ": is there a column that says which query a hit belongs to?"
            raise mc.InputError(f"{least}, got {len(rows)} of {len(queries)}{advice}")
        self.queries, self.grades = [queries[row] for row in rows], grades[rows]
        self.clusters = codes[rows] if clusters else None
        irrelevant, unclustered = int((~relevant).sum()), int(relevant.sum()) - len(rows)
        unjudged, count = int(np.isnan(judgements[rows]).sum()), sum(map(len, self.queries))
        notes = {
            f"{irrelevant} of {len(queries)} queries have no relevant hit and were left out": irrelevant,
            f"{unclustered} queries have no relevant hit with a cluster and were left out": unclustered,
            f"{unjudged} of {count} hits have no judgement and count as not relevant": unjudged,
        }
        self.notes = [note for note, number in notes.items() if number]

    def score(self, wishes: Sequence[AnyWish], method: mc.Mascot) -> tuple[Floats, Floats, Floats]:
        results = padded(self._positions(wishes, method), -1, self.k)
        grades = _picked(self.grades, results, 0.0)
        if self.metric == "ndcg":
            relevance = metrics.ndcg_at_k(grades, self.grades, self.k)
        else:
            relevance = metrics.precision_at_k(grades > 0, self.k)
        if self.clusters is not None:
            clusters = _picked(self.clusters, results, -1)
            diversity = metrics.cluster_recall_at_k(clusters, self.clusters.max(axis=1) + 1, self.k)
        else:
            diversity = np.mean([measure(results) for measure in self._measures], axis=0)
        with np.errstate(divide="ignore"):
            objective = 1 / (self.relevance_weight / relevance + (1 - self.relevance_weight) / diversity)
        return relevance, diversity, objective

    def _positions(self, wishes: Sequence[AnyWish], method: mc.Mascot) -> Ints:
        """Return the [Q, k] positions of the results; if possible, the wishes are fitted once for all methods."""
        if self._corpus is None:
            return mc.rerank_many(self.queries, wishes, self.k, method).positions
        key = tuple(wishes)
        if key not in self._rankers:
            self._rankers[key] = mc.Reranker(wishes).fit(self._corpus)
        ranker = self._rankers[key]
        ranker.method = method
        return ranker.rerank_many(self._rows, [query.scores for query in self.queries], self.k).positions


def _corpus(queries: Sequence[mc.Candidates[Any]], wishes: Sequence[AnyWish]) -> dict[str, NDArray[Any]] | None:
    """Return the columns that the wishes read, of all queries; None if bins depend on the query or columns differ."""
    if any(type(wish.attribute) not in _ROWWISE for wish in wishes):
        return None
    names = {name for wish in wishes for name in columns_of(wish)}
    kinds = [{query.columns[name].dtype if name in query.columns else None for query in queries} for name in names]
    if any(len(types) > 1 or None in types for types in kinds):
        return None
    return {name: np.concatenate([query.columns[name] for query in queries]) for name in names}


def padded(rows: Sequence[NDArray[Any]] | NDArray[Any], padding: float, width: int | None = None) -> NDArray[Any]:
    """Return [Q, width] the rows, with the shorter ones padded (default width: the longest row's)."""
    table = np.full((len(rows), max(map(len, rows)) if width is None else width), padding)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


def _picked(values: NDArray[Any], positions: Ints, padding: float) -> NDArray[Any]:
    """Return the values at the positions, with `padding` where there is no result."""
    picked = np.take_along_axis(values, np.maximum(positions, 0), axis=1)
    return np.where(positions >= 0, picked, padding).astype(values.dtype)


def _entropy(wish: Wish, queries: Sequence[mc.Candidates[Any]], _: int) -> Callable[[Ints], Floats]:
    """Return the measure of a spread or focus: normalised entropy of the results' bins, or 1 minus it."""

    def primary_bins(query: mc.Candidates[Any]) -> Ints:
        bins, _ = wish.bins(query.columns, query.vectors, len(query)).resolve().sparse().compact()
        return metrics.primary_bin(bins.dense()) if bins.count else np.full(len(query), -1, np.int64)

    codes = padded([primary_bins(query) for query in queries], -1)
    different = np.array([len(set(row[row >= 0].tolist())) for row in codes])
    size = int(codes.max(initial=0)) + 1

    def measure(positions: Ints) -> Floats:
        picked = _picked(codes, positions, -1)
        valued = picked >= 0
        flat = (np.arange(len(picked))[:, None] * size + picked)[valued]
        counts = np.bincount(flat, minlength=len(picked) * size).reshape(len(picked), size)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=1)
        results = np.maximum((positions >= 0).sum(axis=1), 1)
        most = np.log(np.maximum(np.minimum(results, different), 1))
        even = np.where(most > 0, entropy / np.where(most > 0, most, 1.0), 1.0)
        quality = even if wish.sign > 0 else np.where(most > 0, 1 - even, 1.0)
        return np.asarray(quality * valued.sum(axis=1) / results)

    return measure


def _closeness(wish: Wish, queries: Sequence[mc.Candidates[Any]], k: int) -> Callable[[Ints], Floats]:
    """Return the measure of a focus near a value: mean closeness as a share of the best possible."""
    near = padded([wish.closeness(query.columns, query.vectors, len(query), k) for query in queries], 0.0)
    ranked = np.cumsum(np.sort(near, axis=1)[:, ::-1], axis=1)

    def measure(positions: Ints) -> Floats:
        counts = (positions >= 0).sum(axis=1)
        best = ranked[np.arange(len(near)), np.maximum(counts, 1) - 1]
        return np.where(best > 0, _picked(near, positions, 0.0).sum(axis=1) / np.where(best > 0, best, 1.0), 1.0)

    return measure


def _cells(query: mc.Candidates[Any], column: str) -> list[Any]:
    """Return the values of a column, with None for a missing value."""
    values = query.columns[column].tolist() if column in query.columns else [None] * len(query)
    return [None if value is None or value != value else value for value in values]


def _grades(query: mc.Candidates[Any], column: str) -> Floats:
    cells = _cells(query, column)
    for value in cells:
        if value is not None and not (isinstance(value, (bool, int, float)) and abs(value) <= sys.float_info.max):
            raise mc.InputError(f"column {column!r} must hold grades: numbers or true and false, got {quoted(value)}")
    return np.array([math.nan if value is None else float(value) for value in cells], np.float64)
