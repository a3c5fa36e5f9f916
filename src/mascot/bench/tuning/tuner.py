"""Choose strength, protect and widths from judged result lists, by cross-validation over queries.

Every setting of a small grid re-ranks every query once; its scores are stored in a [settings, queries] matrix.
Cross-validation only reads that matrix: in each fold, the setting that is best on the other folds is scored on the
queries of this fold. These held-out scores, not the best mean of the grid, are compared with relevance alone and with
the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

import mascot as mc
from mascot.bench.tuning.judge import Floats, Ints, Judge, Metric
from mascot.errors import check_whole, require
from mascot.extras import package
from mascot.grammar import WIDTHS, columns_of
from mascot.wishes import AnyWish, Wish

Report = Callable[[int, int], None]  # settings tried, settings in all

STRENGTHS = tuple(round(step / 10, 1) for step in range(1, 11))
FACTORS = (0.25, 0.5, 2.0, 4.0)  # of the width an attribute has, or takes from the candidates
FEW_QUERIES = 20
FIGURES = (".png", ".pdf", ".svg")
_RESAMPLES = 2000
_SAMPLED = 30  # queries from which an open width is taken
_DEFAULT_STRENGTH = mc.Mascot().strength or 0.0


@dataclass(frozen=True, slots=True)
class Setting:
    """A strength, a number of protected results (None: the default) and the widths that differ from the wishes'."""

    strength: float = _DEFAULT_STRENGTH
    protect: int | None = None
    widths: tuple[tuple[int, float], ...] = ()  # position of the wish, width of its attribute

    @property
    def method(self) -> mc.Mascot:
        return mc.Mascot(strength=self.strength, protect=self.protect)

    def steer(self, wishes: Sequence[AnyWish]) -> list[AnyWish]:
        """Return the wishes with these widths."""
        widths = dict(self.widths)
        return [_widened(wish, widths[at]) if at in widths else wish for at, wish in enumerate(wishes)]

    @property
    def changes(self) -> int:
        """The number of parameters that differ from the defaults."""
        return (self.strength != _DEFAULT_STRENGTH) + (self.protect is not None) + len(self.widths)


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over queries and its 95% bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MeanScores:
    """Means over all queries of one setting: the relevance metric, the diversity, and the objective."""

    relevance: float
    diversity: float
    objective: float


@dataclass(frozen=True, slots=True)
class TuningFold:
    """One fold: the setting that the other folds chose, and mean objectives over this fold's queries."""

    queries: int
    setting: Setting
    relevance_alone: float
    default: float
    tuned: float


Verdict = Literal["tuned", "default", "relevance alone"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `tune`. Objectives are held out: no query is scored with a setting that it helped to choose.

    The verdict is ``"tuned"`` only if the tuned setting beats the defaults and relevance alone on held-out queries, by
    intervals that exclude 0; otherwise ``"default"`` or ``"relevance alone"``.
    """

    verdict: Verdict
    reason: str
    k: int
    queries: int
    settings: int
    relevance_metric: str
    diversity_metric: str
    relevance_weight: float
    seed: int
    recommended: Setting  # `best`, the defaults, or strength 0, according to the verdict
    best: Setting  # with the best mean objective over all queries; not held out, so by itself not a reason to use them
    relevance_alone: MeanInterval
    default: MeanInterval
    tuned: MeanInterval
    over_relevance: MeanInterval  # tuned minus relevance alone, per query
    over_default: MeanInterval  # tuned minus the defaults
    default_over_relevance: MeanInterval
    wishes: tuple[AnyWish, ...]
    scores: dict[str, MeanScores]  # of relevance alone, the defaults, the tuned (held out) and `best` (not held out)
    folds: tuple[TuningFold, ...]
    curve: tuple[tuple[float, MeanScores], ...]  # by strength, with the other parameters of `recommended`
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the tuning as plain data, ready for JSON."""
        return asdict(replace(self, wishes=(), curve=())) | {
            "wishes": [wish.to_dict() for wish in self.recommended.steer(self.wishes)],
            "curve": [{"strength": strength} | asdict(means) for strength, means in self.curve],
        }


def tune(
    queries: Sequence[mc.Candidates[Any]],
    wishes: AnyWish | Sequence[AnyWish],
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
    k, folds, seed
        Results per query, folds of the cross-validation (at most one per query), and the seed of folds and bootstrap.
    metric, relevance_weight
        ``"ndcg"`` (default) or ``"precision"``, both at k, and its weight beside diversity in the objective, their
        harmonic mean; between 0 and 1 (default: 0.5).
    report
        Called after each setting with the number of settings that are done, and the total.

    Notes
    -----
    Without clusters, diversity is the mean over the wishes of: for spread, the entropy of the results' bins, from 0
    (all in one bin) to 1 (as even as k results can be); for focus, 1 minus that; for focus near a value, the mean
    closeness of the results as a share of the best possible. The bins are those of the wishes as they are passed, also
    when a width is tuned.

    The grid has 10 strengths, up to 4 values of protect, and for each attribute with a width a quarter, half, double
    and four times that width, one attribute at a time.
    """
    wish_list = list(wishes) if isinstance(wishes, Sequence) else [wishes]
    _check(wish_list, judged, clusters, k, folds, metric, relevance_weight, seed)
    judge = Judge(queries, wish_list, judged, clusters, k, metric, relevance_weight)
    count, notes = len(judge.queries), judge.notes
    constraints = [wish for wish in wish_list if not isinstance(wish, Wish)]
    settings = [*_grid(judge.queries, wish_list, k), Setting(strength=0.0)]  # the last is relevance alone
    scores = np.empty((len(settings), 3, count))  # relevance, diversity, objective
    for number, setting in enumerate(settings):
        scores[number] = judge.score(setting.steer(wish_list) if setting.strength else constraints, setting.method)
        if report is not None:
            report(number + 1, len(settings))
    alone, default, held_out = scores[-1], scores[settings.index(Setting())], np.empty((3, count))

    rng = np.random.default_rng(seed)
    fold_results = []
    for part in np.array_split(rng.permutation(count), min(folds, count)):
        choice = _best(np.delete(scores[:, 2], part, axis=1))
        held_out[:, part] = scores[choice][:, part]
        means = (float(values[2, part].mean()) for values in (alone, default, held_out))
        fold_results.append(TuningFold(len(part), settings[choice], *means))

    draws = rng.integers(count, size=(_RESAMPLES, count))
    pairs = ((held_out, alone), (held_out, default), (default, alone))
    over_relevance, over_default, default_over = (_interval(ours[2] - other[2], draws) for ours, other in pairs)
    winner = _best(scores[:, 2])
    verdict, reason, recommended = _decide(settings[winner], over_relevance, over_default, default_over)
    if count < FEW_QUERIES:
        notes.append(f"{count} queries are few: more of them may change the answer")
    steps = [replace(recommended, strength=strength) for strength in STRENGTHS]
    curve = [(0.0, _means(alone))]
    curve += [(setting.strength, _means(scores[settings.index(setting)])) for setting in steps if setting in settings]
    ways = {"relevance alone": alone, "default": default, "tuned": held_out, "best": scores[winner]}
    return Tuning(
        verdict, reason, k, count, len(settings), f"{'nDCG' if metric == 'ndcg' else 'P'}@{k}",
        f"CR@{k}" if clusters else "wishes met", relevance_weight, seed, recommended, settings[winner],
        _interval(alone[2], draws), _interval(default[2], draws), _interval(held_out[2], draws),
        over_relevance, over_default, default_over, tuple(wish_list),
        {name: _means(score) for name, score in ways.items()}, tuple(fold_results), tuple(curve), tuple(notes),
    )  # fmt: skip


def check_figure(path: str | Path) -> Path:
    """Return the path of a figure; raise an error for an unknown suffix, or without matplotlib."""
    require(
        Path(path).suffix.lower() in FIGURES, "the figure's suffix", f"must be one of {', '.join(FIGURES)}", str(path)
    )
    package("matplotlib", "bench", "a figure")
    return Path(path)


def draw(tuning: Tuning, path: str | Path) -> None:
    """Write a figure: relevance, diversity and the objective by strength, and the recommended point."""
    target = check_figure(path)
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(fname=Path(__file__).with_name("tuning.mplstyle")):
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.subplots()
        labels = (tuning.relevance_metric, tuning.diversity_metric, "objective")
        styles = (("#1D3F8F", "o"), ("#E0621B", "s"), ("#111111", "D"))
        strengths, means = zip(*tuning.curve, strict=True)
        for field, label, (colour, marker) in zip(fields(MeanScores), labels, styles, strict=True):
            values = [getattr(mean, field.name) for mean in means]
            axes.plot(strengths, values, marker=marker, markersize=3, color=colour, label=label)
        default = tuning.scores["default"].objective
        axes.plot(_DEFAULT_STRENGTH, default, "o", mfc="white", mec="#111111", ms=9, zorder=4, label="default")
        height = tuning.scores["best" if tuning.verdict == "tuned" else tuning.verdict].objective
        axes.plot(
            tuning.recommended.strength, height, "*", color="#BE0F3F", ms=11, zorder=5, label=f"use: {tuning.verdict}"
        )
        axes.set(xlabel="strength", ylabel=f"mean over {tuning.queries} queries", xlim=(-0.03, 1.03))
        figure.legend(loc="outside upper center", ncols=3)
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(target)


def _check(
    wishes: Sequence[Any], judged: str, clusters: str | None, k: int, folds: int, metric: str, weight: float, seed: int
) -> None:
    if not any(isinstance(wish, Wish) for wish in wishes):
        raise mc.OptionError("tune needs a wish to tune: at least one spread(...) or focus(...)")
    for name, value, least in (("k", k, 1), ("folds", folds, 2), ("seed", seed, 0)):
        check_whole(f"tune {name}", value, least)
    require(metric in ("ndcg", "precision"), "tune metric", "must be 'ndcg' or 'precision'", metric)
    require(0 < weight < 1, "tune relevance_weight", "must be between 0 and 1", weight)
    for column in {judged, clusters} & {name for wish in wishes for name in columns_of(wish)}:
        raise mc.OptionError(f"a wish reads {column!r}, which is a judgement: no search result has it yet")


def _grid(queries: Sequence[mc.Candidates[Any]], wishes: Sequence[AnyWish], k: int) -> list[Setting]:
    """Return the settings to try, nearest to the defaults first, because ties go to the first."""
    usual = mc.Mascot().protected(k, focused=False)
    protects = [None, *(count for count in sorted({0, 1, k // 2}) if count != usual)]
    widths: list[tuple[tuple[int, float], ...]] = [()]
    for at, wish in enumerate(wishes):
        widths += [((at, width),) for width in _widths(queries, wish)]
    settings = [Setting(*setting) for setting in product(STRENGTHS, protects, widths)]
    return sorted(settings, key=lambda setting: (setting.changes, abs(setting.strength - _DEFAULT_STRENGTH)))


def _widths(queries: Sequence[mc.Candidates[Any]], wish: AnyWish) -> Iterator[float]:
    """Yield other widths for a wish's attribute, unless it has no width or the wish names a value."""
    name = _width_field(wish)
    if name is None or not isinstance(wish, Wish) or wish.near is not None:
        return
    usual = getattr(wish.attribute, name)
    if usual is None:
        taken = [width for query in queries[:_SAMPLED] if (width := _width_here(wish, query, name))]
        usual = float(np.median(taken)) if taken else None
    for factor in FACTORS if usual else ():
        width = float(f"{usual * factor:.2g}")
        try:
            for query in queries:
                _widened(wish, width).bins(query.columns, query.vectors, len(query))
        except mc.MascotError:  # narrower than the attribute allows
            continue
        yield width


def _width_here(wish: Wish, query: mc.Candidates[Any], name: str) -> float | None:
    """Return the width that the wish takes from the candidates of a query."""
    bins: Any = wish.bins(query.columns, query.vectors, len(query)).resolve()
    axes: Any = getattr(bins, "axes", ())
    return axes[0].sigma if len(axes) == 1 else getattr(bins, name, None)


def _width_field(wish: AnyWish) -> str | None:
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


def _means(score: Floats) -> MeanScores:
    return MeanScores(*(float(values.mean()) for values in score))


def _decide(
    best: Setting, over_relevance: MeanInterval, over_default: MeanInterval, default_over: MeanInterval
) -> tuple[Verdict, str, Setting]:
    """Return the recommendation and its reason; held-out queries must show that it is better."""
    if over_default.low > 0 and over_relevance.low > 0 and best.strength > 0:
        return "tuned", "on held-out queries the tuned setting beats the defaults and relevance alone", best
    if default_over.low > 0:
        return "default", "on held-out queries tuning is not shown to beat the defaults: keep them", Setting()
    if over_relevance.low > 0 and over_default.high >= 0 and default_over.high >= 0:
        return "default", "re-ranking helps, but tuning is not shown to beat the defaults: keep them", Setting()
    reason = "neither the defaults nor tuning is shown to beat relevance alone: do not re-rank for these wishes"
    return "relevance alone", reason, Setting(strength=0.0)
