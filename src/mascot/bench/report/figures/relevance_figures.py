"""The cost of steering: recall at every rank, and recall against diversity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mascot.bench.datasets.dataset import Floats
from mascot.bench.protocol.published import Published
from mascot.bench.report import naming
from mascot.bench.report.averages import Average, RunResults, summary
from mascot.bench.report.averages import recall as recall_at
from mascot.bench.report.figures import style
from mascot.bench.report.tables.comparison import marked, stand_ins

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CUTOFFS = (1, 3, 5, 10, 20)
_ROOM = np.array([0.16, 0.08])  # inches that half a number on a curve takes, across and up
Drawing = tuple[str, "Figure"]
Panels = list[tuple["Axes", RunResults]]


def cases(results: RunResults) -> tuple[list[str], list[str]]:
    """Return the directions (rows of a figure) and tasks (its columns) of the results."""
    return results.names("direction"), results.names("task")


def facets(
    results: RunResults, height: float, x_label: str, y_label: str | Mapping[str, str], base: float = 0.75, **share: Any
) -> tuple[Figure, Panels]:
    """Return a figure and its panels, a row for each direction and a column for each task, with their records."""
    directions, tasks = cases(results)
    width = min(style.FULL, max(style.COLUMN, style.FULL * len(tasks) / 3))
    figure, axes = style.panels(len(directions), len(tasks), (width, base + height * len(directions)), **share)
    panels = []
    for row, direction in zip(axes, directions, strict=True):
        for ax, task in zip(row, tasks, strict=True):
            name = naming.task(task)
            ax.set_title(f"{name[0].upper()}{name[1:]}, {direction}")
            panels.append((ax, results.where(task=task, direction=direction)))
        row[0].set_ylabel(y_label if isinstance(y_label, str) else y_label[direction])
    for ax in axes[-1]:
        ax.set_xlabel(x_label)
    return figure, panels


def _at_points(results: RunResults, *keys: str) -> Iterator[tuple[str, RunResults]]:
    """Yield each kind of operating point with its records, while they have the numbers of the summary."""
    main = results.where(study="main")
    for point in main.points or [""]:
        part = main.at(point)
        if not all(any(record["summary"].get(key) is not None for record in part.records) for key in keys):
            return
        yield point, part


def recall(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw recall at K of every method, a panel for each task and direction; published curves are dotted."""
    for point, main in _at_points(results, "r@1"):
        plain = originals(main)
        base = 0.75 + (len(plain.names("task")) == 1)  # the legend of a narrow figure is long
        figure, panels = facets(plain, 1.75, "K", style.stretched("R@K"), base, sharey="row", sharex=True)
        handles = _handles(plain, point)
        for ax, part in panels:
            for label, runs in part.split("label"):
                look = style.method(label)
                curve = [(k, runs.average(recall_at(k))) for k in range(1, _CUTOFFS[-1] + 1)]
                style.curve(ax, curve, look, _CUTOFFS)
                if label == naming.BASE and ax.lines:  # others lie on it for a while: a pale stroke keeps it visible
                    x, y = ax.lines[-1].get_data()
                    ax.plot(x, y, color=look.colour, linewidth=4.5, alpha=0.16, solid_capstyle="butt", zorder=1.5)
                if paper := published.recall(*runs.case):
                    dotted: Any = {"linewidth": 0.8, "linestyle": (0, (1, 1.3))}
                    handles[style.PAPER] = style.key(style.Look(style.QUIET, "none", 0.8, dotted["linestyle"]))
                    at = [int(key.removeprefix("r@")) for key in paper]
                    ax.plot(at, list(paper.values()), color=look.colour, zorder=look.order - 0.5, **dotted)
            ax.set_xscale("log")
            style.ticks(ax, _CUTOFFS)
            style.recall_axis(ax)
        style.legend(figure, handles, list(stand_ins(main, point).values()))
        yield "-".join(filter(None, ("recall", point))), figure


def originals(results: RunResults) -> RunResults:
    """Return the records without those of the released update."""
    return results.filter(lambda record: record["label"] == naming.origin(record["label"]))


def _handles(results: RunResults, point: str, line: bool = True) -> dict[str, Artist]:
    """Return the legend of the methods, with the marks of the tables."""
    methods = results.split("label")
    return {marked(point, label, runs): style.key(style.method(label), line=line) for label, runs in methods}


def tradeoff(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw R@10 against DM at the operating points: ours filled, published ones hollow, with curves of equal HM."""
    yield from _scatter(results, published, "tradeoff", (results.retrieval, "dm"), "equal HM")


def judged(results: RunResults, published: Published) -> Iterator[Drawing]:
    """Draw P@20 against cluster recall at 20, where the dataset's images were judged."""
    yield from _scatter(results, published, "judged", ("p@20", "cr@20"), "equal HM of the means")


def _scatter(
    results: RunResults, published: Published, name: str, keys: tuple[str, str], mean: str
) -> Iterator[Drawing]:
    for point, main in _at_points(results, *keys):
        plain = originals(main)
        base = 0.8 + (len(main.names("task")) == 1)  # the legend of a narrow figure is long
        figure, panels = facets(main, 2.0, keys[0].upper(), keys[1].upper(), base)
        printed = False
        for ax, part in panels:
            for label, runs in part.split("label"):
                row = published.row(*runs.case)
                x, y = (runs.average(summary(key)) for key in keys)
                if x is not None and y is not None:
                    printed |= _point(ax, x, y, (row.get(keys[0]), row.get(keys[1])), label)
            _equal_means(ax)
            ax.set_xlabel(keys[0].upper())
            ax.locator_params(nbins=5)
        handles = _handles(plain, point, line=False)
        quiet = style.Look(style.QUIET, "o")
        if len(plain.records) < len(main.records):
            handles["released greedy"] = style.key(style.Look(style.QUIET, "s"), line=False, pale=True)
        if printed:
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
    bars: Any = ax.collections
    strokes = [np.asarray(line.get_xydata()) for line in ax.lines]
    strokes += [np.asarray(segment) for lines in bars for segment in lines.get_segments()]
    steps = np.linspace(0, 1, 12)[:, None]
    return [point for stroke in strokes if len(stroke) for point in stroke[0] + steps * (stroke[-1] - stroke[0])]


def label_spot(level: float, box: Floats, obstacles: Floats, inches: Floats) -> Floats | None:
    """Return the point of a harmonic mean's curve that is farthest from all obstacles; None where there is no room.

    `box` holds the lower left and the upper right corner of the axes, `inches` their width and height; `obstacles` are
    [M, 2] points that the number must not cover.
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
