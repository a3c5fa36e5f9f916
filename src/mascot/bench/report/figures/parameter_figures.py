"""The effect of the parameters: sensitivity, diversity and recall against strength, protected results; and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.figures import style
from mascot.bench.report.figures.relevance_figures import Drawing, facets, method_handles, originals
from mascot.bench.report.figures.style import Axes
from mascot.bench.report.run_results import RunResults, means
from mascot.bench.report.tables.study_tables import SWEEPS

_LOGARITHMIC = ("sigma_geo", "sigma_time")
_TICKS = {
    "strength": (0, 0.25, 0.5, 0.75, 1),
    "sigma_geo": (0.5, 1, 2, 5, 10, 30),
    "sigma_time": (0.25, 0.5, 1, 2, 5),
    "grid": (10, 20, 30, 40, 50),
}
_DASHED = (0, (3, 2))
# How the queries were asked whose time is drawn, and the mark of it.
_DOT, _BAR = style.Look(style.QUIET, "o", size=5), style.Look(style.QUIET, "|", size=7)
_WAYS = {"single": ("one query at a time", _DOT), "batch": ("many at once", _BAR), "": ("ours", _DOT)}


def sensitivity(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@10 (or MAP) of a method as each parameter changes: lines ours, hollow markers published.

    If nothing was published, DM has its own rows, as it has columns in the tables.
    """
    swept = results.filter(results.frame["study"].isin(list(SWEEPS))).preferred()
    for label, runs in swept.split("label"):
        studies = [study for study in SWEEPS if runs.where(study=study)]
        if len(studies) < 2 and label != "mascot":
            continue  # a method with a strength alone is in the strength figures
        directions, tasks = runs.names("direction"), runs.names("task")
        looks = style.tasks(tasks)
        printed = any(published.sweep(*case, label) for case in product(studies, tasks, directions))
        rows = list(product(directions, (results.retrieval,) if printed else (results.retrieval, "dm")))
        size = (style.FULL * max(len(studies), 2) / 4, 0.7 + 1.55 * len(rows))
        figure, axes = style.panels(rows, studies, size, sharey="row", sharex="col")
        for ((direction, key), study), ax in axes.items():
            for task, part in runs.where(study=study, direction=direction).split("task"):
                _curve(ax, part, key, looks[task])
                paper = published.sweep(study, task, direction, label)
                style.hollow(ax, list(paper), list(paper.values()), looks[task])
            if study in _LOGARITHMIC:
                ax.set_xscale("log")
            style.ticks(ax, _TICKS[study])
            if printed:
                ax.set_ylim(-0.04, 1.04)
            if study == studies[0]:
                ax.set_ylabel(f"{key.upper()}, {direction}")
            if (direction, key) == rows[-1]:
                ax.set_xlabel(SWEEPS[study])
        handles = {naming.display("task", task): style.key(looks[task]) for task in tasks}
        if printed:
            handles[style.PAPER] = style.key(style.Look(style.QUIET, "o"), line=False, hollow=True)
        style.legend(figure, handles)
        yield f"sensitivity-{label}", figure


def strength(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw the wished diversity, and R@10 (or MAP), of every method as its strength goes from 0 to 1."""
    study, recall = _swept(results), results.retrieval
    words = {"spread": "diversity V", "focus": "concentration 1 − V"}
    kinds: tuple[tuple[str, str, Any, Any], ...] = (
        ("strength-diversity", "wished", words, False),
        ("strength-recall", recall, style.stretched(recall.upper()), "row"),
    )
    for name, measure, y_label, sharey in kinds if study else ():
        figure, panels = facets(study, 1.75, "strength", y_label, sharey=sharey, sharex=True)
        for ax, _, part in panels:
            if measure == recall:
                style.recall_axis(ax)
            for label, runs in part.split("label"):
                _curve(ax, runs, measure, style.method(label))
            style.ticks(ax, _TICKS["strength"])
        style.legend(figure, method_handles(study))
        yield name, figure


def front(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw the trade-off of each method: R@10 against DM along its strengths, a dot at every tenth."""
    study = _swept(results)
    if not study:
        return
    figure, panels = facets(study, 1.85, style.stretched(results.retrieval.upper()), "DM")
    for ax, _, part in panels:
        for label, method_runs in part.split("label"):
            points = means(method_runs.frame, ["value"], (results.retrieval, "dm")).dropna().to_numpy()
            # Equal limits: a curve without a band.
            steps = [(recall.value, replace(dm, low=dm.value, high=dm.value)) for recall, dm in points]
            style.curve(ax, steps, style.method(label))
        ax.locator_params(axis="y", nbins=5)
        style.recall_axis(ax, upright=False)
    style.legend(figure, method_handles(study))
    yield "front", figure


def protection(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@1, R@10 and DM of the guarded method as more results are protected."""
    keys = ("r@1", results.retrieval, "dm")
    for label, runs in results.where(study="protect").preferred().split("label"):
        directions, tasks = runs.names("direction"), runs.names("task")
        looks = style.tasks(tasks)
        handles = {naming.display("task", task): style.key(looks[task]) for task in tasks}
        size = (style.FULL * 0.85, 0.6 + 1.5 * len(directions))
        figure, axes = style.panels(directions, keys, size, sharex=True)
        for (direction, key), ax in axes.items():
            for task in tasks:
                _curve(ax, runs.where(direction=direction, task=task), key, looks[task])
                base = results.where(study="main", label=naming.BASE, direction=direction, task=task).preferred()
                if base.frame.get(key) is not None and len(base.frame):
                    ax.axhline(base.frame[key].mean(), color=looks[task].colour, linewidth=0.7, linestyle=_DASHED)
                    handles["base retriever"] = style.key(style.Look(style.QUIET, "none", 0.7, _DASHED))
            ax.set_title(f"{key.upper()}, {direction}")
            ax.set_ylim(top=min(ax.get_ylim()[1], 1.005))
            style.ticks(ax, runs.names("value"))
            if direction == directions[-1]:
                ax.set_xlabel("protected results")
        style.legend(figure, handles)
        yield f"protect-{label}", figure


def runtime(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw milliseconds per query, a dot for each method, single and batched, on a logarithmic axis.

    Published times are hollow.
    """
    study = results.where(study="runtime")
    labels = study.names("label")
    if not labels:
        return
    figure, axes = style.panels([""], [""], (style.COLUMN, 0.9 + 0.16 * len(labels)))
    (ax,) = axes.values()
    handles = {
        text: style.key(look, line=False, hollow=look is _BAR)
        for way, (text, look) in _WAYS.items()
        if study.where(point=way)
    }
    for place, (label, runs) in enumerate(study.split("label")):
        colour = style.method(label).colour
        times = runs.frame.groupby("point")["ms"].mean().reindex(list(_WAYS)).dropna().to_dict()
        for way, time in times.items():
            look = _WAYS[way][1]
            marker: Any = {"marker": look.marker, "markersize": look.size, "markeredgewidth": 1.6 * (look is _BAR)}
            ax.plot(time, place, color=colour, zorder=4, **marker)
        if len(times) > 1:
            ends = [min(times.values()), max(times.values())]
            ax.plot(ends, [place, place], color=colour, linewidth=1.0, alpha=0.6)
        paper = published.runtime(naming.origin(label))
        if paper is not None:
            handles[f"{style.PAPER} (RTX A6000)"] = style.key(_DOT, line=False, hollow=True)
            style.hollow(ax, [paper], [place], style.Look(colour, "o", size=5))
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_yticks(range(len(labels)), [naming.method(label) for label in labels])
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("milliseconds per query")
    style.legend(figure, handles)
    yield "runtime", figure


def _swept(results: RunResults) -> RunResults:
    """Return the sweeps over strength, without the variants of a method: their lines would overlap."""
    return originals(results.where(study="strength").preferred())


def _curve(ax: Axes, runs: RunResults, measure: str, look: style.Look) -> None:
    """Draw one line over the swept values."""
    style.curve(ax, means(runs.frame, ["value"], [measure])[measure].items(), look)
