"""The effect of the parameters: sensitivity, diversity and recall against strength, protected results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mascot.bench import naming
from mascot.bench.averages import Measure, RunResults, summary, wished_diversity
from mascot.bench.figures import style
from mascot.bench.figures.relevance import Drawing, cases, title
from mascot.bench.published import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Axis label, and whether the axis is logarithmic.
_SWEEPS = {
    "strength": ("strength", False),
    "sigma_geo": ("σ geo (degrees)", True),
    "sigma_time": ("σ time (hours)", True),
    "grid": ("grid cells a side", False),
}
_TICKS = {
    "strength": (0, 0.25, 0.5, 0.75, 1),
    "sigma_geo": (0.5, 1, 2, 5, 10, 30),
    "sigma_time": (0.25, 0.5, 1, 2, 5),
    "grid": (10, 20, 30, 40, 50),
}


def sensitivity(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@10 (or MAP) of a method as each parameter changes: lines ours, hollow markers published.

    Where nothing was published DM has rows of its own, as it has columns in the tables.
    """
    swept = RunResults(results.dataset, tuple(r for r in results.records if r["study"] in _SWEEPS)).preferred()
    for label in swept.names("label"):
        runs = swept.where(label=label)
        studies = [study for study in _SWEEPS if runs.where(study=study)]
        if len(studies) < 2 and label != "mascot":
            continue  # a method with a strength alone is in the strength figures
        directions, tasks = cases(runs)
        looks = style.tasks(tasks)
        printed = any(published.sweep(s, t, d, label) for s in studies for t in tasks for d in directions)
        keys = (results.retrieval,) if printed else (results.retrieval, "dm")
        rows = [(direction, key) for direction in directions for key in keys]
        size = (style.FULL * max(len(studies), 2) / 4, 0.7 + 1.55 * len(rows))
        figure, axes = style.panels(len(rows), len(studies), size, share_y="row", share_x="col")
        for row, (direction, key) in zip(axes, rows, strict=True):
            for ax, study in zip(row, studies, strict=True):
                part = runs.where(study=study, direction=direction)
                for task in part.names("task"):
                    _curve(ax, part.where(task=task), summary(key), looks[task])
                    paper = published.sweep(study, task, direction, label)
                    style.hollow(ax, list(paper), list(paper.values()), looks[task])
                if _SWEEPS[study][1]:
                    ax.set_xscale("log")
                style.ticks(ax, _TICKS[study])
                if printed:
                    ax.set_ylim(-0.04, 1.04)
            row[0].set_ylabel(f"{key.upper()}, {direction}")
        for ax, study in zip(axes[-1], studies, strict=True):
            ax.set_xlabel(_SWEEPS[study][0])
        handles = [style.key(looks[task]) for task in tasks]
        names = [naming.task(task) for task in tasks]
        if printed:
            handles.append(style.key(style.Look(style.QUIET, "o"), line=False, hollow=True))
            names.append(style.PAPER)
        style.legend(figure, handles, names)
        yield f"sensitivity-{label}", figure


def strength(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw the wished diversity, and R@10 (or MAP), of every method as its strength goes from 0 to 1."""
    study = _swept(results)
    stretched = style.stretched(results.retrieval.upper())
    for name, measure, words in (
        ("strength-diversity", wished_diversity, {"spread": "diversity V", "focus": "concentration 1 − V"}),
        ("strength-recall", summary(results.retrieval), dict.fromkeys(("spread", "focus"), stretched)),
    ):
        directions, tasks = cases(study)
        labels = study.names("label")
        if not labels:
            return
        size = (style.width(len(tasks)), 0.75 + 1.75 * len(directions))
        figure, axes = style.panels(
            len(directions), len(tasks), size, share_y="row" if name == "strength-recall" else False, share_x=True
        )
        for row, direction in zip(axes, directions, strict=True):
            for ax, task in zip(row, tasks, strict=True):
                part = study.where(task=task, direction=direction)
                for label in labels:
                    _curve(ax, part.where(label=label), measure, style.method(label))
                style.ticks(ax, _TICKS["strength"])
                ax.set_title(title(task, direction))
                if name == "strength-recall":
                    style.recall_axis(ax)
            row[0].set_ylabel(words[direction])
        for ax in axes[-1]:
            ax.set_xlabel("strength")
        style.legend(figure, [style.key(style.method(x)) for x in labels], [naming.method(x) for x in labels])
        yield name, figure


def front(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw the trade-off of each method: R@10 against DM along its strengths, a dot at every tenth."""
    study = _swept(results)
    directions, tasks = cases(study)
    labels = study.names("label")
    if not labels:
        return
    size = (style.width(len(tasks)), 0.75 + 1.85 * len(directions))
    figure, axes = style.panels(len(directions), len(tasks), size)
    for row, direction in zip(axes, directions, strict=True):
        for ax, task in zip(row, tasks, strict=True):
            for label in labels:
                part = study.where(task=task, direction=direction, label=label)
                pairs = []
                for value in part.values:
                    runs = part.where(value=value)
                    recall, diversity = runs.average(summary(results.retrieval)), runs.average(summary("dm"))
                    if recall is not None and diversity is not None:
                        pairs.append((recall.value, diversity.value))
                if pairs:
                    look = style.method(label)
                    x, y = zip(*pairs, strict=True)
                    style.band(ax, x, y, y, y, look)
            ax.set_title(title(task, direction))
            ax.locator_params(axis="y", nbins=5)
            style.recall_axis(ax, upright=False)
        row[0].set_ylabel("DM")
    for ax in axes[-1]:
        ax.set_xlabel(style.stretched(results.retrieval.upper()))
    style.legend(figure, [style.key(style.method(x)) for x in labels], [naming.method(x) for x in labels])
    yield "front", figure


def protection(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@1, R@10 and DM of the guarded method as more results are protected."""
    study = results.where(study="protect").preferred()
    measures = [(key.upper(), key) for key in ("r@1", results.retrieval, "dm")]
    for label in study.names("label"):
        runs = study.where(label=label)
        directions, tasks = cases(runs)
        looks = style.tasks(tasks)
        size = (style.FULL * 0.85, 0.6 + 1.5 * len(directions))
        figure, axes = style.panels(len(directions), len(measures), size, share_x=True)
        based = False
        for row, direction in zip(axes, directions, strict=True):
            for ax, (name, key) in zip(row, measures, strict=True):
                for task in tasks:
                    part = runs.where(direction=direction, task=task)
                    _curve(ax, part, summary(key), looks[task])
                    base = results.where(study="main", label=naming.BASE, direction=direction, task=task)
                    level = base.preferred().average(summary(key))
                    if level is not None:
                        based = True
                        ax.axhline(level.value, color=looks[task].colour, linewidth=0.7, linestyle=(0, (3, 2)))
                ax.set_title(f"{name}, {direction}")
                ax.set_ylim(top=min(ax.get_ylim()[1], 1.005))
                style.ticks(ax, runs.values)
        for ax in axes[-1]:
            ax.set_xlabel("protected results")
        handles = [style.key(looks[task]) for task in tasks]
        names = [naming.task(task) for task in tasks]
        if based:
            handles.append(style.key(style.Look(style.QUIET, "none", 0.7, (0, (3, 2)))))
            names.append("base retriever")
        style.legend(figure, handles, names)
        yield f"protect-{label}", figure


def _swept(results: RunResults) -> RunResults:
    """Return the sweeps over strength, without the variants of a method: their lines would overlap."""
    study = results.where(study="strength").preferred()
    return replace(study, records=tuple(r for r in study.records if r["label"] == naming.origin(r["label"])))


def _curve(ax: Axes, runs: RunResults, measure: Measure, look: style.Look) -> None:
    """Draw one line over the swept values."""
    steps = [(value, runs.where(value=value).average(measure)) for value in runs.values]
    present = [(value, step) for value, step in steps if step is not None]
    if present:
        x, y = [value for value, _ in present], [step for _, step in present]
        style.band(ax, x, [v.value for v in y], [v.low for v in y], [v.high for v in y], look)
