"""What steering costs: recall at every rank, and recall against diversity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mascot.bench import naming
from mascot.bench.averages import Average, Results, summary
from mascot.bench.figures import style
from mascot.bench.published import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CUTOFFS = (1, 3, 5, 10, 20)
Drawing = tuple[str, "Figure"]


def cases(results: Results) -> tuple[list[str], list[str]]:
    """The directions (rows of a figure) and tasks (its columns) that there are."""
    kept = [direction for direction in results.names("direction") if direction in ("spread", "focus")]
    return kept, results.names("task")


def title(task: str, direction: str) -> str:
    name = naming.task(task)
    return f"{name[0].upper()}{name[1:]}, {direction}"


def recall(results: Results, published: Published) -> Iterator[Drawing]:
    """Recall at K of every method, one panel for each task and direction."""
    main = results.where(study="main")
    for point in main.points or [""]:
        found = main.at(point)
        directions, tasks = cases(found)
        labels = [label for label in found.names("label") if label == naming.origin(label)]
        if not _any(found, "r@1"):
            return
        narrow = len(tasks) == 1  # the legend is long
        size = (style.width(len(tasks)), 0.75 + 1.75 * len(directions) + narrow)
        figure, axes = style.panels(len(directions), len(tasks), size, share_y="row", share_x=True)
        for row, direction in zip(axes, directions, strict=True):
            for ax, task in zip(row, tasks, strict=True):
                for label in labels:
                    runs = found.where(task=task, direction=direction, label=label)
                    curve = [(k, runs.average(summary(f"r@{k}"))) for k in _CUTOFFS]
                    _line(ax, [(float(k), value) for k, value in curve if value is not None], label)
                ax.set_xscale("log")
                style.ticks(ax, _CUTOFFS)
                style.recall_axis(ax)
                ax.set_title(title(task, direction))
            row[0].set_ylabel("R@K")
        for ax in axes[-1]:
            ax.set_xlabel("K")
        style.legend(figure, [style.key(style.method(x)) for x in labels], [naming.method(x) for x in labels])
        yield "-".join(filter(None, ("recall", point))), figure


def _line(ax: Axes, curve: Sequence[tuple[float, Average]], label: str) -> None:
    if curve:
        x, y = [at for at, _ in curve], [value for _, value in curve]
        style.band(ax, x, [v.value for v in y], [v.low for v in y], [v.high for v in y], style.method(label))


def tradeoff(results: Results, published: Published) -> Iterator[Drawing]:
    """R@10 against DM at the operating points: ours filled, the published hollow, curves of equal HM behind."""
    yield from _scatter(
        results, published, "tradeoff", (results.retrieval, "dm"), (results.retrieval.upper(), "DM"), "HM"
    )


def judged(results: Results, published: Published) -> Iterator[Drawing]:
    """P@20 against cluster recall at 20, where the dataset's images were judged."""
    yield from _scatter(results, published, "judged", ("p@20", "cr@20"), ("P@20", "CR@20"), "F1")


def _scatter(
    results: Results, published: Published, name: str, keys: tuple[str, str], names: tuple[str, str], mean: str
) -> Iterator[Drawing]:
    main = results.where(study="main")
    for point in main.points or [""]:
        found = main.at(point)
        if not (_any(found, keys[0]) and _any(found, keys[1])):
            return
        directions, tasks = cases(found)
        labels = found.names("label")
        narrow = len(tasks) == 1  # the legend is long
        size = (style.width(len(tasks)), 0.8 + 2.0 * len(directions) + narrow)
        figure, axes = style.panels(len(directions), len(tasks), size)
        said = False
        for row, direction in zip(axes, directions, strict=True):
            for ax, task in zip(row, tasks, strict=True):
                for label in labels:
                    runs = found.where(task=task, direction=direction, label=label)
                    row_said = published.row(task, direction, naming.origin(label)) or {}
                    paper = (row_said.get(keys[0]), row_said.get(keys[1]))
                    said |= _point(ax, runs.average(summary(keys[0])), runs.average(summary(keys[1])), paper, label)
                _equal_means(ax, mean)
                ax.set_title(title(task, direction))
                ax.set_xlabel(names[0])
                ax.locator_params(nbins=5)
            row[0].set_ylabel(names[1])
        shown = [label for label in labels if label == naming.origin(label)]
        handles = [style.key(style.method(label), line=False) for label in shown]
        words = [naming.method(label) for label in shown]
        quiet = style.Look(style.QUIET, "o")
        if shown != labels:
            handles.append(style.key(style.Look(style.QUIET, "s"), line=False, pale=True))
            words.append("released greedy")
        if said:
            handles += [style.key(quiet, line=False), style.key(quiet, line=False, hollow=True)]
            words += [style.OURS, style.PAPER]
        style.legend(figure, handles, words)
        yield "-".join(filter(None, (name, point))), figure


def _point(
    ax: Axes, x: Average | None, y: Average | None, paper: tuple[float | None, float | None], label: str
) -> bool:
    """Draw a method's point and its published one; whether there was a published one."""
    if x is None or y is None:
        return False
    look = style.method(label)
    if naming.origin(label) != label:  # a variant of a method is pale
        ax.plot(
            x.value, y.value, look.marker, color=look.colour, alpha=style.PALE, markersize=look.size, zorder=look.order
        )
        return False
    ax.errorbar(
        x.value,
        y.value,
        xerr=[[x.value - x.low], [x.high - x.value]],
        yerr=[[y.value - y.low], [y.high - y.value]],
        fmt=look.marker,
        color=look.colour,
        markersize=look.size * 1.1,
        markeredgecolor="white",
        markeredgewidth=0.4,
        elinewidth=0.7,
        zorder=look.order + 1,
    )
    if paper[0] is None or paper[1] is None:
        return False
    ax.plot([x.value, paper[0]], [y.value, paper[1]], color=look.colour, linewidth=0.5, alpha=0.6, zorder=2)
    style.hollow(ax, [paper[0]], [paper[1]], look)
    return True


def _equal_means(ax: Axes, name: str) -> None:
    """Curves on which the harmonic mean of both axes is the same."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    right, high, low = min(right, 1.005), min(high, 1.0), max(low, 0.0)
    x, y = np.meshgrid(np.linspace(max(left, 1e-3), right, 120), np.linspace(max(low, 1e-3), high, 120))
    means = 2 * x * y / (x + y)
    lines = ax.contour(x, y, means, levels=4, colors=style.FAINT, linewidths=0.8, zorder=1)
    ax.clabel(lines, fmt=f"{name} %.3g", fontsize=5.5, colors=style.QUIET, zorder=1.5)
    ax.grid(False)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)


def _any(found: Results, key: str) -> bool:
    return any(record["summary"].get(key) is not None for record in found.records)
