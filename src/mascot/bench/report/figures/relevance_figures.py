"""The cost of steering: recall at every rank, and recall against diversity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.figures import style
from mascot.bench.report.figures.style import Artist, Axes, Figure
from mascot.bench.report.run_results import Average, RunResults, means
from mascot.bench.report.tables.comparison import marked, stand_ins
from mascot.bench.running.measure import CUTOFFS

_MOST = 8  # lines of a recall panel
Drawing = tuple[str, Figure]
Panels = list[tuple[Axes, tuple[str, str], RunResults]]  # with task and direction


def facets(
    results: RunResults, height: float, x_label: str, y_label: str | Mapping[str, str], base: float = 0.75, **share: Any
) -> tuple[Figure, Panels]:
    """Return a figure and its panels, a row for each direction and a column for each task, with their records."""
    directions, tasks = results.names("direction"), results.names("task")
    width = min(style.FULL, max(style.COLUMN, style.FULL * len(tasks) / 3))
    figure, axes = style.panels(directions, tasks, (width, base + height * len(directions)), **share)
    panels = []
    for (direction, task), ax in axes.items():
        name = naming.display("task", task)
        ax.set_title(f"{name[0].upper()}{name[1:]}, {direction}")
        panels.append((ax, (task, direction), results.where(task=task, direction=direction)))
        if task == tasks[0]:
            ax.set_ylabel(y_label if isinstance(y_label, str) else y_label[direction])
        if direction == directions[-1]:
            ax.set_xlabel(x_label)
    return figure, panels


def originals(results: RunResults) -> RunResults:
    """Return the records without those of the released update."""
    return results.filter([label == naming.origin(label) for label in results.frame["label"]])


def _at_points(results: RunResults, *keys: str) -> Iterator[tuple[str, RunResults]]:
    """Yield each kind of operating point with its records, as long as they have these measures."""
    main = results.where(study="main")
    for point in main.points or [""]:
        part = main.at(point)
        if not part.frame.reindex(columns=list(keys)).notna().any().all():
            return
        yield point, part


def method_handles(results: RunResults, point: str = "", line: bool = True) -> dict[str, Artist]:
    """Return the legend of the methods, with the marks of the tables."""
    labels = results.names("label")
    return {marked(results, point, label): style.key(style.method(label), line=line) for label in labels}


def recall(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw recall at K of at most eight methods, a panel for each task and direction; published curves are dotted."""
    ranks = range(1, CUTOFFS[-1] + 1)
    for point, main in _at_points(results, "r@1"):
        methods = originals(main)
        plain = _foremost(methods)
        base = 0.75 + (len(plain.names("task")) == 1)  # the legend of a narrow figure is long
        figure, panels = facets(plain, 1.75, "K", style.stretched("R@K"), base, sharey="row", sharex=True)
        handles = method_handles(plain, point)
        for ax, case, part in panels:
            for label, curve in means(part.frame, ["label"], [f"r@{k}" for k in ranks]).iterrows():
                look = style.method(label)
                style.curve(ax, zip(ranks, curve, strict=True), look, CUTOFFS)
                if label == naming.BASE and ax.lines:  # others lie on it for a while: a pale stroke keeps it visible
                    x, y = ax.lines[-1].get_data()
                    ax.plot(x, y, color=look.colour, linewidth=4.5, alpha=0.16, solid_capstyle="butt", zorder=1.5)
                if paper := published.recall(*case, label):
                    dotted: Any = {"linewidth": 0.8, "linestyle": (0, (1, 1.3))}
                    handles[style.PAPER] = style.key(style.Look(style.QUIET, "none", 0.8, dotted["linestyle"]))
                    at = [int(key.removeprefix("r@")) for key in paper]
                    ax.plot(at, list(paper.values()), color=look.colour, zorder=look.order - 0.5, **dotted)
            ax.set_xscale("log")
            style.ticks(ax, CUTOFFS)
            style.recall_axis(ax)
        notes = list(stand_ins(plain, point).values())
        if len(plain.frame) < len(methods.frame):
            notes.append(f"{_MOST} of {len(methods.names('label'))} methods; --methods selects others.")
        style.legend(figure, handles, notes)
        yield "-".join(filter(None, ("recall", point))), figure


def _foremost(results: RunResults) -> RunResults:
    """Return the base, MASCOT, ours, the user's methods, and those with the highest mean HM, at most eight."""
    scores = results.frame.reindex(columns=["label", "hm"]).groupby("label", observed=True)["hm"].mean()

    def rank(label: str) -> tuple[bool, float]:
        is_first = label in (naming.BASE, "mascot", "guarded") or not naming.is_listed(label)
        return not is_first, -float(np.nan_to_num(scores[label]))

    labels = sorted(results.names("label"), key=rank)[:_MOST]
    return results.filter(results.frame["label"].isin(labels))


def tradeoff(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@10 against DM at the operating points: ours filled, published ones hollow, with curves of equal HM."""
    yield from _scatter(results, published, "tradeoff", (results.retrieval, "dm"), "equal HM")


def judged(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw P@20 against cluster recall at 20, if the dataset's images were judged."""
    yield from _scatter(results, published, "judged", ("p@20", "cr@20"), "equal HM of the means")


def _scatter(
    results: RunResults, published: Published, name: str, keys: tuple[str, str], mean: str
) -> Iterator[Drawing]:
    for point, main in _at_points(results, *keys):
        plain = originals(main)
        base = 0.8 + (len(main.names("task")) == 1)  # the legend of a narrow figure is long
        figure, panels = facets(main, 2.0, keys[0].upper(), keys[1].upper(), base)
        has_paper = False
        for ax, case, part in panels:
            for label, (x, y) in means(part.frame, ["label"], keys).dropna().iterrows():
                row = published.row(*case, naming.origin(label))
                has_paper |= _point(ax, x, y, (row.get(keys[0]), row.get(keys[1])), label)
            _equal_means(ax)
            ax.set_xlabel(keys[0].upper())
            ax.locator_params(nbins=5)
        handles = method_handles(plain, point, line=False)
        quiet = style.Look(style.QUIET, "o")
        if len(plain.frame) < len(main.frame):
            handles["released greedy"] = style.key(style.Look(style.QUIET, "s"), line=False, pale=True)
        if has_paper:
            handles[style.OURS] = style.key(quiet, line=False)
            handles[style.PAPER] = style.key(quiet, line=False, hollow=True)
        handles[mean] = style.key(style.Look(style.CONTOUR, "none", 0.8))
        style.legend(figure, handles, list(stand_ins(main, point).values()))
        yield "-".join(filter(None, (name, point))), figure


def _point(ax: Axes, x: Average, y: Average, paper: tuple[float | None, float | None], label: str) -> bool:
    """Draw a method's point and its published one; return whether there was a published one."""
    look = style.method(label)
    if naming.origin(label) != label:  # a variant of a method is pale
        pale: Any = {"alpha": style.PALE, "markersize": look.size, "zorder": look.order}
        ax.plot(x.value, y.value, look.marker, color=look.colour, **pale)
        return False
    x_error, y_error = ([[mean.value - mean.low], [mean.high - mean.value]] for mean in (x, y))
    marker: Any = {"markersize": look.size * 1.1, "markeredgecolor": "white", "markeredgewidth": 0.4}
    marker |= {"fmt": look.marker, "color": look.colour, "elinewidth": 0.7, "zorder": look.order + 1}
    ax.errorbar(x.value, y.value, xerr=x_error, yerr=y_error, **marker)
    if paper[0] is None or paper[1] is None:
        return False
    ax.plot([x.value, paper[0]], [y.value, paper[1]], color=look.colour, linewidth=0.5, alpha=0.6, zorder=2)
    style.hollow(ax, [paper[0]], [paper[1]], look)
    return True


def _equal_means(ax: Axes) -> None:
    """Draw numbered curves of equal harmonic mean of both axes."""
    (x_low, x_high), (low, high) = ax.get_xlim(), ax.get_ylim()
    x_high, high, low = min(x_high, 1.005), min(high, 1.0), max(low, 0.0)
    x, y = np.meshgrid(np.linspace(max(x_low, 1e-3), x_high, 120), np.linspace(max(low, 1e-3), high, 120))
    lines = ax.contour(x, y, 2 * x * y / (x + y), levels=4, colors=style.CONTOUR, linewidths=0.6, zorder=1)
    bottom = low + 0.08 * (high - low)  # most points lie above
    spots = [(level * bottom / (2 * bottom - level), bottom) for level in lines.levels if level < 2 * bottom]
    inside = [spot for spot in spots if x_low < spot[0] < x_high]
    ax.clabel(lines, manual=inside, fmt="%.3g", fontsize=5.5, colors=style.QUIET, zorder=1.5)
    ax.grid(False)
    ax.set(xlim=(x_low, x_high), ylim=(low, high))
