"""The cost of steering: recall at every rank, and recall against diversity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mascot.bench import naming
from mascot.bench.averages import Average, RunResults, summary
from mascot.bench.averages import recall as recall_at
from mascot.bench.figures import style
from mascot.bench.figures.style import Floats
from mascot.bench.published import Published
from mascot.bench.tables.comparison import stand_ins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CUTOFFS = (1, 3, 5, 10, 20)
_ROOM = np.array([0.16, 0.08])  # inches that half a number on a curve takes, across and up
Drawing = tuple[str, "Figure"]


def cases(results: RunResults) -> tuple[list[str], list[str]]:
    """Return the directions (rows of a figure) and tasks (its columns) of the results."""
    directions = [direction for direction in results.names("direction") if direction in ("spread", "focus")]
    return directions, results.names("task")


def title(task: str, direction: str) -> str:
    name = naming.task(task)
    return f"{name[0].upper()}{name[1:]}, {direction}"


def recall(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw recall at K of every method, a panel for each task and direction; published curves are dotted."""
    main = results.where(study="main")
    for point in main.points or [""]:
        main_at = main.at(point)
        directions, tasks = cases(main_at)
        labels = [label for label in main_at.names("label") if label == naming.origin(label)]
        if not _any(main_at, "r@1"):
            return
        narrow = len(tasks) == 1  # the legend is long
        size = (style.width(len(tasks)), 0.75 + 1.75 * len(directions) + narrow)
        figure, axes = style.panels(len(directions), len(tasks), size, share_y="row", share_x=True)
        printed = False
        for row, direction in zip(axes, directions, strict=True):
            for ax, task in zip(row, tasks, strict=True):
                for label in labels:
                    runs = main_at.where(task=task, direction=direction, label=label)
                    curve = [(k, runs.average(recall_at(k))) for k in range(1, _CUTOFFS[-1] + 1)]
                    _line(ax, [(k, value) for k, value in curve if value is not None], label)
                    paper = published.recall(task, direction, label)
                    if paper:
                        printed = True
                        at = [k for k in _CUTOFFS if f"r@{k}" in paper]
                        style.published_line(ax, at, [paper[f"r@{k}"] for k in at], style.method(label))
                ax.set_xscale("log")
                style.ticks(ax, _CUTOFFS)
                style.recall_axis(ax)
                ax.set_title(title(task, direction))
            row[0].set_ylabel(style.stretched("R@K"))
        for ax in axes[-1]:
            ax.set_xlabel("K")
        handles = [style.key(style.method(label)) for label in labels]
        words = [_marked(label, main_at, point) for label in labels]
        if printed:
            handles.append(style.key(style.Look(style.QUIET, "none", 0.8, style.DOTS)))
            words.append(style.PAPER)
        style.legend(figure, handles, words, _sentences(main_at, point))
        yield "-".join(filter(None, ("recall", point))), figure


def _marked(label: str, results: RunResults, point: str) -> str:
    """Return a method's name with the marks of the tables, which say that its setting is not the paper's."""
    return naming.method(label) + "".join(f" {mark}" for mark in stand_ins(results.where(label=label), point))


def _sentences(results: RunResults, point: str) -> list[str]:
    return [f"{mark} {sentence}" for mark, sentence in stand_ins(results, point).items()]


def _line(ax: Axes, curve: Sequence[tuple[int, Average]], label: str) -> None:
    if curve:
        x, y = [at for at, _ in curve], [value for _, value in curve]
        look, marked = style.method(label), [place for place, at in enumerate(x) if at in _CUTOFFS]
        style.band(ax, x, [v.value for v in y], [v.low for v in y], [v.high for v in y], look, marked=marked)
        if label == naming.BASE:  # the guarded methods and MMR lie on it for a while
            style.under(ax, x, [v.value for v in y], look)


def tradeoff(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@10 against DM at the operating points: ours filled, published ones hollow, with curves of equal HM."""
    yield from _scatter(
        results, published, "tradeoff", (results.retrieval, "dm"), (results.retrieval.upper(), "DM"), "equal HM"
    )


def judged(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw P@20 against cluster recall at 20, where the dataset's images were judged."""
    yield from _scatter(results, published, "judged", ("p@20", "cr@20"), ("P@20", "CR@20"), "equal HM of the means")


def _scatter(
    results: RunResults, published: Published, name: str, keys: tuple[str, str], names: tuple[str, str], mean: str
) -> Iterator[Drawing]:
    main = results.where(study="main")
    for point in main.points or [""]:
        main_at = main.at(point)
        if not (_any(main_at, keys[0]) and _any(main_at, keys[1])):
            return
        directions, tasks = cases(main_at)
        labels = main_at.names("label")
        narrow = len(tasks) == 1  # the legend is long
        size = (style.width(len(tasks)), 0.8 + 2.0 * len(directions) + narrow)
        figure, axes = style.panels(len(directions), len(tasks), size)
        printed = False
        for row, direction in zip(axes, directions, strict=True):
            for ax, task in zip(row, tasks, strict=True):
                for label in labels:
                    runs = main_at.where(task=task, direction=direction, label=label)
                    row_printed = published.row(task, direction, naming.origin(label)) or {}
                    paper = (row_printed.get(keys[0]), row_printed.get(keys[1]))
                    printed |= _point(ax, runs.average(summary(keys[0])), runs.average(summary(keys[1])), paper, label)
                _equal_means(ax)
                ax.set_title(title(task, direction))
                ax.set_xlabel(names[0])
                ax.locator_params(nbins=5)
            row[0].set_ylabel(names[1])
        origins = [label for label in labels if label == naming.origin(label)]
        handles = [style.key(style.method(label), line=False) for label in origins]
        words = [_marked(label, main_at, point) for label in origins]
        quiet = style.Look(style.QUIET, "o")
        if origins != labels:
            handles.append(style.key(style.Look(style.QUIET, "s"), line=False, pale=True))
            words.append("released greedy")
        if printed:
            handles += [style.key(quiet, line=False), style.key(quiet, line=False, hollow=True)]
            words += [style.OURS, style.PAPER]
        handles.append(style.key(style.Look(style.CONTOUR, "none", 0.8)))
        words.append(mean)
        style.legend(figure, handles, words, _sentences(main_at, point))
        yield "-".join(filter(None, (name, point))), figure


def _point(
    ax: Axes, x: Average | None, y: Average | None, paper: tuple[float | None, float | None], label: str
) -> bool:
    """Draw a method's point and its published one; return whether there was a published one."""
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


def _equal_means(ax: Axes) -> None:
    """Draw curves of equal harmonic mean of both axes, numbered where there is room."""
    (x_low, x_high), (low, high) = ax.get_xlim(), ax.get_ylim()
    x_high, high, low = min(x_high, 1.005), min(high, 1.0), max(low, 0.0)
    obstacles = _drawn_points(ax)
    x, y = np.meshgrid(np.linspace(max(x_low, 1e-3), x_high, 120), np.linspace(max(low, 1e-3), high, 120))
    means = 2 * x * y / (x + y)
    lines = ax.contour(x, y, means, levels=4, colors=style.CONTOUR, linewidths=0.6, zorder=1)
    ax.grid(False)
    ax.set_xlim(x_low, x_high)
    ax.set_ylim(low, high)
    figure = ax.get_figure(root=True)
    assert figure is not None
    inches = np.array([ax.get_position().width, ax.get_position().height]) * figure.get_size_inches()
    box = np.array([[x_low, low], [x_high, high]])
    for level in lines.levels:
        spot = label_spot(float(level), box, np.array(obstacles), inches)
        if spot is not None:
            obstacles.append(spot)
            white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            text = ax.text(float(spot[0]), float(spot[1]), f"{level:.3g}", color=style.QUIET, fontsize=5.5, bbox=white)
            text.set(ha="center", va="center", zorder=1.5)


def _drawn_points(ax: Axes) -> list[Floats]:
    """Return points along everything that was drawn: markers, the lines between them, and the bars of the seeds."""
    from matplotlib.container import ErrorbarContainer

    strokes = [np.asarray(line.get_xydata()) for line in ax.lines]
    for container in ax.containers:
        bars = container.lines[2] if isinstance(container, ErrorbarContainer) else ()
        strokes += [np.asarray(segment) for bar in bars for segment in bar.get_segments()]
    steps = np.linspace(0, 1, 12)[:, None]
    return [point for stroke in strokes if len(stroke) for point in stroke[0] + steps * (stroke[-1] - stroke[0])]


def label_spot(level: float, box: Floats, obstacles: Floats, inches: Floats) -> Floats | None:
    """Return the point of a harmonic mean's curve that is farthest from all obstacles; None where there is no room.

    Parameters
    ----------
    level
        The harmonic mean.
    box : [2, 2]
        The lower left and the upper right corner of the axes.
    obstacles : [M, 2]
        Points that the number must not cover.
    inches : [2]
        Width and height of the axes.
    """
    size = box[1] - box[0]
    x = np.linspace(box[0, 0], box[1, 0], 400)
    x = x[2 * x > level]
    curve = np.column_stack([x, level * x / (2 * x - level)])
    spots = (curve - box[0]) / size * inches
    inside = ((spots >= _ROOM) & (spots <= inches - _ROOM)).all(axis=1)
    if not inside.any():
        return None
    curve, spots = curve[inside], spots[inside]
    distances = np.full(len(spots), np.inf)
    if len(obstacles):
        obstacle_spots = (obstacles - box[0]) / size * inches
        # A number is twice as wide as it is high.
        distances = np.linalg.norm((spots[:, None] - obstacle_spots[None]) / _ROOM, axis=2).min(axis=1)
    best = int(distances.argmax())
    return None if distances[best] < 1 else np.asarray(curve[best])


def _any(results: RunResults, key: str) -> bool:
    return any(record["summary"].get(key) is not None for record in results.records)
