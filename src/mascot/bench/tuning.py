"""Choose strength, protect and widths from judged result lists, by cross-validation over queries.

Every setting of a small grid re-ranks every query once; its scores are stored in a [settings, queries] matrix.
Cross-validation only reads that matrix: in each fold, the setting that is best on the other folds is scored on the
queries of this fold. These held-out scores, not the best mean of the grid, are compared with relevance alone and with
the defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot import metrics
from mascot.extras import package
from mascot.words import WIDTHS, columns_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Metric = Literal["ndcg", "precision"]
Report = Callable[[int, int], None]  # settings tried, settings in all

STRENGTHS = tuple(round(step / 10, 1) for step in range(1, 11))
FACTORS = (0.25, 0.5, 2.0, 4.0)  # of the width an attribute has, or takes from the candidates
FEW_QUERIES = 20
FIGURES = (".png", ".pdf", ".svg")
_RESAMPLES = 2000
# Attributes that give a row the same bins among any others, so that all queries can be fitted at once.
_ROWWISE = (mc.Category, mc.Cycle, mc.Date, mc.DayOfYear, mc.Grid, mc.HourOfDay, mc.Number, mc.Place, mc.Weekday)
_PROBED = 30  # queries from which an open width is taken
_DEFAULT_STRENGTH = mc.Mascot().strength or 0.0


@dataclass(frozen=True, slots=True)
class Knobs:
    """A strength, a number of protected results (None: the default) and the widths that differ from the wishes'."""

    strength: float = _DEFAULT_STRENGTH
    protect: int | None = None
    widths: tuple[tuple[int, float], ...] = ()  # position of the wish, width of its attribute

    @property
    def method(self) -> mc.Mascot:
        return mc.Mascot(strength=self.strength, protect=self.protect)

    def steer(self, wishes: Sequence[mc.AnyWish]) -> list[mc.AnyWish]:
        """Return the wishes with these widths."""
        widths = dict(self.widths)
        return [_widened(wish, widths[at]) if at in widths else wish for at, wish in enumerate(wishes)]

    @property
    def changes(self) -> int:
        """How many of them are not the defaults."""
        return (self.strength != _DEFAULT_STRENGTH) + (self.protect is not None) + len(self.widths)

    def to_dict(self) -> dict[str, Any]:
        return {"strength": self.strength, "protect": self.protect, "widths": [list(pair) for pair in self.widths]}


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over queries and its 95% bootstrap interval."""

    mean: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TuningFold:
    """One fold: the knobs that the other folds chose, and mean objectives over this fold's queries."""

    queries: int
    knobs: Knobs
    relevance_alone: float
    default: float
    tuned: float

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"knobs": self.knobs.to_dict()}


@dataclass(frozen=True, slots=True)
class MeanScores:
    """Means over all queries of one setting: the relevance metric, the diversity, and the objective."""

    relevance: float
    diversity: float
    objective: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


Verdict = Literal["tuned", "default", "relevance alone"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `tune`. Objectives are held out: no query is scored with knobs that it helped to choose.

    Attributes
    ----------
    verdict
        ``"tuned"`` only where the tuned knobs beat the defaults and relevance alone on held-out queries, by intervals
        that exclude 0; else ``"default"`` or ``"relevance alone"``.
    knobs
        The recommended knobs: `best`, the defaults, or strength 0, according to the verdict.
    best
        The knobs with the best mean objective over all queries. Not held out, so never by itself a reason to use them.
    """

    verdict: Verdict
    reason: str
    knobs: Knobs
    best: Knobs
    wishes: tuple[mc.AnyWish, ...]
    k: int
    queries: int
    settings: int
    relevance_metric: str
    diversity_metric: str
    relevance_weight: float
    seed: int
    relevance_alone: MeanInterval
    default: MeanInterval
    tuned: MeanInterval
    over_relevance: MeanInterval  # tuned less relevance alone, query by query
    over_default: MeanInterval  # tuned less the defaults
    default_over_relevance: MeanInterval
    scores: dict[str, MeanScores]  # of relevance alone, the defaults, the tuned (held out) and `best` (not held out)
    folds: tuple[TuningFold, ...]
    curve: tuple[tuple[float, MeanScores], ...]  # by strength, with the other `knobs`
    notes: tuple[str, ...] = ()

    @property
    def python(self) -> str:
        """Return the call, in Python."""
        wishes = ", ".join(_spelled_wish(wish) for wish in self.knobs.steer(self.wishes))
        method = _spelled("mc.Mascot", self.knobs.method, mc.Mascot())
        return f"mc.rerank(hits, [{wishes}], k={self.k}, method={method})"

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data, ready for JSON."""
        plain = ("verdict", "reason", "k", "queries", "settings", "relevance_metric", "diversity_metric",
                 "relevance_weight", "seed")  # fmt: skip
        described = ("knobs", "best", "relevance_alone", "default", "tuned", "over_relevance", "over_default",
                     "default_over_relevance")  # fmt: skip
        return (
            {name: getattr(self, name) for name in plain}
            | {name: getattr(self, name).to_dict() for name in described}
            | {"wishes": [wish.to_dict() for wish in self.knobs.steer(self.wishes)]}
            | {"python": self.python, "scores": {name: mean.to_dict() for name, mean in self.scores.items()}}
            | {"folds": [fold.to_dict() for fold in self.folds]}
            | {"curve": [{"strength": strength} | mean.to_dict() for strength, mean in self.curve]}
            | {"notes": list(self.notes)}
        )


def tune(
    queries: Sequence[mc.Candidates[Any]],
    wishes: mc.AnyWish | Sequence[mc.AnyWish],
    judged: str,
    clusters: str | None = None,
    *,
    k: int = 10,
    folds: int = 5,
    metric: Metric = "ndcg",
    relevance_weight: float = 0.5,
    seed: int = 0,
    report: Report | None = None,
) -> Tuning:
    """Choose strength, protect and widths for these wishes by cross-validation over judged queries.

    Parameters
    ----------
    queries
        The candidates of each query, with the judgements among their columns. At least 2 queries with a relevant hit.
    wishes
        `spread(...)` and `focus(...)`, of which strength and widths are tuned; `limit(...)` and `share(...)` stay.
    judged
        Column of judgements: a grade above 0 is relevant, more is better; 0, below, or missing is not relevant.
    clusters
        Column of the cluster (subtopic, meaning) of each relevant hit. Diversity is then cluster recall CR@k: the
        share of the query's clusters that the first k show (default: None, how far the wishes are met, see Notes).
    k
        Results per query (default: 10).
    folds
        Folds of the cross-validation, at most one per query (default: 5).
    metric
        ``"ndcg"`` (default) or ``"precision"``, both at k.
    relevance_weight
        Weight of the metric beside diversity in the objective, their harmonic mean; between 0 and 1 (default: 0.5).
    seed
        Seed of the folds and of the bootstrap (default: 0).
    report
        Called after each setting with how many are done and how many there are.

    Notes
    -----
    Without clusters, diversity is the mean over the wishes of: for spread, the entropy of the results' bins, from 0
    (all in one bin) to 1 (as even as k results can be); for focus, 1 less that; for focus near a value, the mean
    closeness of the results as a share of the best possible. Bins are those of the wishes as they are passed, also
    where a width is being tuned.

    The grid has 10 strengths, up to 4 values of protect, and for each attribute with a width a quarter, half, double
    and four times that width, one attribute at a time.
    """
    wish_list = list(wishes) if isinstance(wishes, Sequence) else [wishes]
    _check(wish_list, judged, clusters, k, folds, metric, relevance_weight, seed)
    lists, notes = _usable(list(queries), judged, clusters)
    folds = min(folds, len(lists.queries))
    judge = _Judge(lists, wish_list, k, metric, relevance_weight)
    settings = _grid(lists.queries, wish_list, k)
    total = len(settings) + 1
    constraints = [wish for wish in wish_list if not isinstance(wish, mc.Wish)]
    baseline = judge.score(constraints, mc.Mascot(strength=0.0))
    scores = []
    for number, knobs in enumerate(settings, 2):
        scores.append(judge.score(knobs.steer(wish_list), knobs.method))
        if report is not None:
            report(number, total)
    settings.append(Knobs(strength=0.0))
    scores.append(baseline)
    objective = np.stack([score[2] for score in scores])  # [settings, queries]
    default = settings.index(Knobs())

    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.permutation(len(lists.queries)), folds)
    held_out = np.empty((3, len(lists.queries)))
    fold_results = []
    for part in parts:
        training = np.setdiff1d(np.arange(len(lists.queries)), part)
        choice = _best(objective[:, training])
        held_out[:, part] = np.stack(scores[choice])[:, part]
        means = (float(values[part].mean()) for values in (baseline[2], objective[default], held_out[2]))
        fold_results.append(TuningFold(len(part), settings[choice], *means))

    draws = rng.integers(len(lists.queries), size=(_RESAMPLES, len(lists.queries)))
    over_default = _interval(held_out[2] - objective[default], draws)
    over_relevance = _interval(held_out[2] - baseline[2], draws)
    default_over = _interval(objective[default] - baseline[2], draws)
    winner = _best(objective)
    best = settings[winner]
    verdict, reason, recommended = _decide(best, over_relevance, over_default, default_over)
    if len(lists.queries) < FEW_QUERIES:
        notes.append(f"{len(lists.queries)} queries are few: more of them may change the answer")
    setting_numbers = {knobs: number for number, knobs in enumerate(settings)}
    curve = [(0.0, _means(baseline))] + [
        (strength, _means(scores[setting_numbers[replace(recommended, strength=strength)]]))
        for strength in STRENGTHS
        if replace(recommended, strength=strength) in setting_numbers
    ]
    score_rows: dict[str, Iterable[Floats]] = {
        "relevance alone": baseline,
        "default": scores[default],
        "tuned": held_out,
        "best": scores[winner],
    }
    return Tuning(
        verdict, reason, recommended, best, tuple(wish_list), k, len(lists.queries), len(settings),
        f"{'nDCG' if metric == 'ndcg' else 'P'}@{k}", f"CR@{k}" if clusters else "wishes met", relevance_weight, seed,
        _interval(baseline[2], draws), _interval(objective[default], draws), _interval(held_out[2], draws),
        over_relevance, over_default, default_over,
        {name: _means(score) for name, score in score_rows.items()}, tuple(fold_results), tuple(curve), tuple(notes),
    )  # fmt: skip


def check_figure(path: str | Path) -> Path:
    """Return the path of a picture; raise for a suffix that cannot be written, or without matplotlib."""
    target = Path(path)
    if target.suffix.lower() not in FIGURES:
        raise mc.OptionError(f"the figure's suffix must be one of {', '.join(FIGURES)}, got {str(path)!r}")
    package("matplotlib", "bench", "a figure")
    return target


def draw(tuning: Tuning, path: str | Path) -> None:
    """Write a figure: relevance, diversity and the objective by strength, and the recommended point."""
    from mascot.bench.figures import style

    target = check_figure(path)
    with style.drawing():
        figure, ((axes,),) = style.panels(1, 1, (5.2, 3.4))
        strengths = [strength for strength, _ in tuning.curve]
        lines = (
            (tuning.relevance_metric, "relevance", "#1D3F8F", "o"),
            (tuning.diversity_metric, "diversity", "#E0621B", "s"),
            ("objective", "objective", "#111111", "D"),
        )
        for label, name, colour, marker in lines:
            values = [getattr(mean, name) for _, mean in tuning.curve]
            axes.plot(strengths, values, marker=marker, markersize=3, color=colour, label=label)
        default = tuning.scores["default"].objective
        axes.plot(_DEFAULT_STRENGTH, default, "o", mfc="white", mec="#111111", ms=9, zorder=4, label="default")
        scores_name = {"tuned": "best", "default": "default", "relevance alone": "relevance alone"}[tuning.verdict]
        height = tuning.scores[scores_name].objective
        axes.plot(tuning.knobs.strength, height, "*", color="#BE0F3F", ms=11, zorder=5, label=f"use: {tuning.verdict}")
        axes.set(xlabel="strength", ylabel=f"mean over {tuning.queries} queries", xlim=(-0.03, 1.03))
        figure.legend(loc="outside upper center", ncols=3)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target)


@dataclass(frozen=True, slots=True)
class _JudgedLists:
    """Queries with their judgements as [Q, N] arrays; shorter lists are padded."""

    queries: list[mc.Candidates[Any]]
    grades: Floats  # >= 0; 0 where not relevant, not judged, or behind the end
    clusters: Ints | None  # of each relevant hit, numbered from 0 in each query; -1 for none


class _Judge:
    """Scores a way to re-rank: [Q] values of the metric, of diversity, and of the objective."""

    def __init__(
        self, lists: _JudgedLists, wishes: Sequence[mc.AnyWish], k: int, metric: Metric, relevance_weight: float
    ) -> None:
        self.lists, self.k, self.metric, self.relevance_weight = lists, k, metric, relevance_weight
        self._measures: list[Callable[[Ints], Floats]] = []
        for wish in wishes if lists.clusters is None else ():
            if isinstance(wish, mc.Wish):
                is_aim = wish.near is not None
                self._measures.append(
                    _closeness_of(wish, lists.queries, k) if is_aim else _entropy_of(wish, lists.queries)
                )
        self._corpus = _corpus(lists.queries, wishes)
        self._rankers: dict[tuple[mc.AnyWish, ...], mc.Reranker] = {}

    def score(self, wishes: Sequence[mc.AnyWish], method: mc.Mascot) -> tuple[Floats, Floats, Floats]:
        positions = self._positions(wishes, method)
        results = np.full((len(positions), self.k), -1, np.int64)
        results[:, : positions.shape[1]] = positions
        grades = _picked(self.lists.grades, results, 0.0)
        if self.metric == "ndcg":
            relevance = metrics.ndcg_at_k(grades, self.lists.grades, self.k)
        else:
            relevance = metrics.precision_at_k(grades > 0, self.k)
        if self.lists.clusters is not None:
            clusters = _picked(self.lists.clusters, results, -1)
            diversity = metrics.cluster_recall_at_k(clusters, self.lists.clusters.max(axis=1) + 1, self.k)
        else:
            diversity = np.mean([measure(results) for measure in self._measures], axis=0)
        with np.errstate(divide="ignore"):
            objective = 1 / (self.relevance_weight / relevance + (1 - self.relevance_weight) / diversity)
        return relevance, diversity, objective

    def _positions(self, wishes: Sequence[mc.AnyWish], method: mc.Mascot) -> Ints:
        """Return the [Q, k] positions of the results; where possible the wishes are fitted once for all methods."""
        queries = self.lists.queries
        if self._corpus is None:
            return mc.rerank_many(queries, wishes, self.k, method).positions
        key = tuple(wishes)
        if key not in self._rankers:
            self._rankers[key] = mc.Reranker(wishes).fit(self._corpus)
        ranker = self._rankers[key]
        ranker.method = method
        ends = np.cumsum([len(query) for query in queries])
        rows = [np.arange(end - len(query), end) for query, end in zip(queries, ends, strict=True)]
        return ranker.rerank_many(rows, [query.scores for query in queries], self.k).positions


def _corpus(queries: Sequence[mc.Candidates[Any]], wishes: Sequence[mc.AnyWish]) -> dict[str, NDArray[Any]] | None:
    """Return the columns of all queries that the wishes read; None where bins depend on the query or columns differ."""
    if any(type(wish.attribute) not in _ROWWISE for wish in wishes):
        return None
    names = {name for wish in wishes for name in columns_of(wish)}
    if any(len({query.columns[name].dtype if name in query.columns else None for query in queries}) > 1 or
           name not in queries[0].columns for name in names):  # fmt: skip
        return None
    return {name: np.concatenate([query.columns[name] for query in queries]) for name in names}


def _picked(values: NDArray[Any], positions: Ints, padding: float) -> NDArray[Any]:
    """Return the values at the positions; `padding` where there is no result."""
    picked = np.take_along_axis(values, np.maximum(positions, 0), axis=1)
    return np.where(positions >= 0, picked, padding).astype(values.dtype)


def _entropy_of(wish: mc.Wish, queries: Sequence[mc.Candidates[Any]]) -> Callable[[Ints], Floats]:
    """Return the measure of a spread or focus: normalised entropy of the results' bins, or 1 less that."""
    longest = max(map(len, queries))
    codes = np.full((len(queries), longest), -1, np.int64)
    for row, query in zip(codes, queries, strict=True):
        bins, _ = wish.bins(query.columns, query.vectors, len(query)).resolve().sparse().compact()
        row[: len(query)] = metrics.primary_bin(bins.dense()) if bins.count else -1
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


def _closeness_of(wish: mc.Wish, queries: Sequence[mc.Candidates[Any]], k: int) -> Callable[[Ints], Floats]:
    """Return the measure of a focus near a value: mean closeness as a share of the best possible."""
    near = np.zeros((len(queries), max(map(len, queries))))
    for row, query in zip(near, queries, strict=True):
        row[: len(query)] = wish.closeness(query.columns, query.vectors, len(query), k)

    def measure(positions: Ints) -> Floats:
        counts = (positions >= 0).sum(axis=1)
        ranked = np.cumsum(np.sort(near, axis=1)[:, ::-1], axis=1)
        best = ranked[np.arange(len(near)), np.maximum(counts, 1) - 1]
        return np.where(best > 0, _picked(near, positions, 0.0).sum(axis=1) / np.where(best > 0, best, 1.0), 1.0)

    return measure


def _check(
    wishes: Sequence[Any], judged: str, clusters: str | None, k: int, folds: int, metric: str, weight: float, seed: int
) -> None:
    if not any(isinstance(wish, mc.Wish) for wish in wishes):
        raise mc.OptionError("tune needs a wish to tune: at least one spread(...) or focus(...)")
    for name, value, least in (("k", k, 1), ("folds", folds, 2), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise mc.OptionError(f"tune {name} must be a whole number >= {least}, got {value!r}")
    if metric not in ("ndcg", "precision"):
        raise mc.OptionError(f"tune metric must be 'ndcg' or 'precision', got {metric!r}")
    if not 0 < weight < 1:
        raise mc.OptionError(f"tune relevance_weight must be between 0 and 1, got {weight!r}")
    for wish in wishes:
        columns = {getattr(wish.attribute, name, None) for name in ("column", "lat", "lon")}
        for column in (judged, clusters):
            if column is not None and column in columns:
                raise mc.OptionError(f"a wish reads {column!r}, which is a judgement: no search result has it yet")


def _usable(queries: list[mc.Candidates[Any]], judged: str, clusters: str | None) -> tuple[_JudgedLists, list[str]]:
    """Return the queries that can be scored, with their judgements, and notes on those left out."""
    for column in (judged, clusters):
        if column is not None and all(cell is None for query in queries for cell in _cells(query, column)):
            raise mc.InputError(f"no hit has a value in the column {column!r}, which is to hold judgements")
    grades = [_grades(query, judged) for query in queries]
    labels = [_labels(query, clusters) if clusters else [None] * len(query) for query in queries]
    notes = []
    relevant = [bool((row > 0).any()) for row in grades]
    grouped = [
        any(label is not None and grade > 0 for label, grade in zip(row, query_grades, strict=True))
        for row, query_grades in zip(labels, grades, strict=True)
    ]
    usable = [number for number in range(len(queries)) if relevant[number] and (grouped[number] or not clusters)]
    missing = len(queries) - sum(relevant)
    if missing:
        notes.append(f"{missing} of {len(queries)} queries have no relevant hit and were left out")
    if sum(relevant) > len(usable):
        notes.append(f"{sum(relevant) - len(usable)} queries have no relevant hit with a cluster and were left out")
    if len(usable) < 2:
        least = "tune needs at least 2 queries with a relevant hit" + (" that has a cluster" if clusters else "")
        advice = "" if len(queries) > 1 else ": is there a column that says which query a hit belongs to?"
        raise mc.InputError(f"{least}, got {len(usable)} of {len(queries)}{advice}")
    unjudged = sum(int(np.isnan(grades[number]).sum()) for number in usable)
    if unjudged:
        count = sum(len(queries[number]) for number in usable)
        notes.append(f"{unjudged} of {count} hits have no judgement and count as not relevant")
    longest = max(len(queries[number]) for number in usable)
    table = np.zeros((len(usable), longest))
    codes = np.full((len(usable), longest), -1, np.int64)
    for row, number in enumerate(usable):
        query_grades = np.maximum(np.nan_to_num(grades[number]), 0.0)
        table[row, : len(query_grades)] = query_grades
        numbering: dict[Any, int] = {}
        for at, label in enumerate(labels[number]):
            if label is not None and query_grades[at] > 0:
                codes[row, at] = numbering.setdefault(label, len(numbering))
    return _JudgedLists([queries[number] for number in usable], table, codes if clusters else None), notes


def _cells(query: mc.Candidates[Any], column: str) -> list[Any]:
    """Return a column's values; None where one is missing."""
    values = query.columns[column].tolist() if column in query.columns else [None] * len(query)
    return [None if value is None or value != value else value for value in values]


def _grades(query: mc.Candidates[Any], column: str) -> Floats:
    grades = []
    for value in _cells(query, column):
        if value is not None and (not isinstance(value, (bool, int, float)) or not math.isfinite(value)):
            raise mc.InputError(f"column {column!r} must hold grades: numbers or true and false, got {value!r:.60}")
        grades.append(math.nan if value is None else float(value))
    return np.array(grades, np.float64)


def _labels(query: mc.Candidates[Any], column: str) -> list[Any]:
    labels = _cells(query, column)
    for label in labels:
        if isinstance(label, (list, dict)):
            raise mc.InputError(f"column {column!r} must hold one cluster per hit, got {label!r:.60}")
    return labels


def _grid(queries: Sequence[mc.Candidates[Any]], wishes: Sequence[mc.AnyWish], k: int) -> list[Knobs]:
    """Return the settings to try, those nearest to the defaults first: ties go to the first."""
    usual = mc.Mascot().protected(k)
    protects = [None, *(count for count in sorted({0, 1, k // 2}) if count != usual)]
    widths: list[tuple[tuple[int, float], ...]] = [()]
    for at, wish in enumerate(wishes):
        widths += [((at, width),) for width in _widths(queries, wish, k)]
    settings = [Knobs(*knobs) for knobs in product(STRENGTHS, protects, widths)]
    return sorted(settings, key=lambda knobs: (knobs.changes, abs(knobs.strength - _DEFAULT_STRENGTH)))


def _widths(queries: Sequence[mc.Candidates[Any]], wish: mc.AnyWish, k: int) -> Iterator[float]:
    """Yield other widths for a wish's attribute; none where it has no width, or a named value that needs none."""
    name = _width_field(wish)
    if name is None or not isinstance(wish, mc.Wish) or wish.near is not None:
        return
    usual = getattr(wish.attribute, name)
    if usual is None:
        probes = [mc.probe(query, wish, k=k) for query in queries[:_PROBED]]
        values = [step.value for probe in probes for step in probe.steps if step.knob.endswith(f".{name}")]
        usual = float(np.median(values)) if values else None
    for factor in FACTORS if usual else ():
        width = float(f"{usual * factor:.2g}")
        try:
            for query in queries:
                _widened(wish, width).bins(query.columns, query.vectors, len(query))
        except mc.MascotError:  # narrower than the attribute allows
            continue
        yield width


def _width_field(wish: mc.AnyWish) -> str | None:
    owner = wish.attribute
    return next((f.name for f in fields(owner) if f.name in WIDTHS), None) if is_dataclass(owner) else None


def _widened(wish: Any, width: float) -> Any:
    return replace(wish, attribute=replace(wish.attribute, **{str(_width_field(wish)): width}))


def _best(objective: Floats) -> int:
    """Return the first setting with the best mean."""
    means = objective.mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def _interval(values: Floats, draws: Ints) -> MeanInterval:
    low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
    return MeanInterval(float(values.mean()), float(low), float(high))


def _means(score: Iterable[Floats]) -> MeanScores:
    return MeanScores(*(float(values.mean()) for values in score))


def _decide(
    best: Knobs, over_relevance: MeanInterval, over_default: MeanInterval, default_over: MeanInterval
) -> tuple[Verdict, str, Knobs]:
    """Return the recommendation and its reason; held-out queries must show that it is better."""
    if over_default.low > 0 and over_relevance.low > 0 and best.strength > 0:
        return "tuned", "on held-out queries the tuned knobs beat the defaults and relevance alone", best
    if default_over.low > 0:
        return "default", "on held-out queries tuning is not shown to beat the defaults: keep them", Knobs()
    if over_relevance.low > 0 and over_default.high >= 0 and default_over.high >= 0:
        return "default", "re-ranking helps, but tuning is not shown to beat the defaults: keep them", Knobs()
    reason = "neither the defaults nor tuning is shown to beat relevance alone: do not re-rank for these wishes"
    return "relevance alone", reason, Knobs(strength=0.0)


def _spelled_wish(wish: mc.AnyWish) -> str:
    attribute: Any = wish.attribute
    about = repr(attribute.column) if isinstance(attribute, mc.Category) and attribute.missing == "last" else None
    about = about or _spelled(f"mc.{type(attribute).__name__}", attribute)
    if isinstance(wish, mc.Limit):
        return f"mc.limit({about}, {wish.n}{', fill=True' if wish.fill else ''})"
    if isinstance(wish, mc.Share):
        return f"mc.share({about}, {dict(wish.shares)!r})"
    extra = "" if wish.weight == 1 else f", weight={wish.weight:g}"
    extra += "" if wish.near is None else f", near={wish.near!r}"
    extra += "" if wish.within is None else f", within={wish.within:g}"
    return f"mc.{'spread' if wish.sign > 0 else 'focus'}({about}{extra})"


def _spelled(name: str, value: Any, usual: Any = None) -> str:
    """Return the call that makes a value, without arguments that are the defaults."""
    if not is_dataclass(value):
        return repr(value)
    arguments = []
    for f in fields(value):
        field_value = getattr(value, f.name)
        default = getattr(usual, f.name) if usual is not None else f.default
        derived = f.name == "name" and field_value in (default, getattr(value, "column", None))
        if field_value != default and not derived:
            arguments.append(f"{f.name}={field_value!r}")
    return f"{name}({', '.join(arguments)})"
