"""The look of all figures: one colour and marker for each method, sizes for print, and how files are written.

Methods of one family have similar hues and differ in lightness and marker, so that colour-blind readers can distinguish
them, also in grey. matplotlib is imported only here, and its global state is not changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from mascot.bench.datasets.dataset import Floats
from mascot.bench.report import naming
from mascot.bench.report.run_results import Average
from mascot.extras import package

if TYPE_CHECKING:
    from matplotlib.artist import Artist as Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Artist = Axes = Figure = Any  # matplotlib is loaded when a figure is drawn

FULL, COLUMN = 7.0, 3.35  # inches: the width of a page and of a column
INK, QUIET, CONTOUR = "#222222", "#6E6E6E", "#C4C4C4"
PALE = 0.45  # opacity of the variant of a method
OURS, PAPER = "ours", "published"


@dataclass(frozen=True, slots=True)
class Look:
    """How a method, or a task, is drawn."""

    colour: str
    marker: str
    width: float = 1.0
    dashes: Any = "-"  # as matplotlib names them
    size: float = 4.0  # of the marker, in points
    order: int = 3  # higher is drawn on top


def _listed_looks(field: str) -> dict[str, Look]:
    """Return the looks of methods (`label`) or tasks (`task`) that `names.csv` lists."""
    looks = {}
    for row in naming.ROWS:
        if row["field"] == field and row["colour"]:
            stroke = (0, tuple(map(float, row["dashes"].split()))) if row["dashes"] else "-"
            numbers = float(row["width"] or 1), stroke, float(row["size"] or 4), int(row["order"] or 3)
            looks[row["key"]] = Look(row["colour"], row["marker"], *numbers)
    return looks


_METHODS, _TASKS = _listed_looks("label"), _listed_looks("task")
# Looks of a dataset's own tasks: the colour-blind safe palette of Okabe and Ito.
_TASK_LOOKS = (
    ("#0072B2", "D"), ("#D55E00", "v"), ("#56B4E9", "P"), ("#E69F00", "X"), ("#00614A", "<"), ("#F0A6CA", "h"),
)  # fmt: skip
_TASK_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))


def method(label: str) -> Look:
    """Return a method's look, the same in every figure; a method that is not listed has one by its name."""
    looks = list(product(_TASK_LOOKS, _TASK_DASHES))
    (colour, marker), dashes = looks[crc32(naming.origin(label).encode()) % len(looks)]
    look = _METHODS.get(naming.origin(label), Look(colour, marker, 1.4, dashes))
    return look if naming.origin(label) == label else Look(look.colour, look.marker, 0.9, ":", look.size)


def tasks(names: Sequence[str]) -> dict[str, Look]:
    """Return a different look for each task of a figure; a dataset's own tasks take the next free look."""
    looks = cycle(Look(*look, 1.4, dashes) for dashes, look in product(_TASK_DASHES, _TASK_LOOKS))
    return {name: _TASKS[name] if name in _TASKS else next(looks) for name in names}


@contextmanager
def drawing() -> Iterator[None]:
    """Apply the matplotlib settings of these figures inside a `with`."""
    matplotlib = package("matplotlib", "bench", "drawing figures")
    with matplotlib.rc_context(fname=Path(__file__).with_name("figures.mplstyle")):
        yield


def panels(
    rows: Sequence[Any], columns: Sequence[Any], size: tuple[float, float], **share: Any
) -> tuple[Figure, dict[tuple[Any, Any], Axes]]:
    """Return a figure of a size in inches, and its axes by row and column; `share` is `sharex` and `sharey`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), len(columns), squeeze=False, **share)
    return figure, dict(zip(product(rows, columns), grid.flat, strict=True))


def key(look: Look, *, line: bool = True, hollow: bool = False, pale: bool = False) -> Artist:
    from matplotlib.lines import Line2D

    face, edge = ("white", look.colour) if hollow else (look.colour, "white")
    marker: Any = {"marker": look.marker, "markersize": look.size, "markerfacecolor": face, "markeredgecolor": edge}
    stroke: Any = {"linestyle": look.dashes if line else "none", "linewidth": look.width}
    shade: Any = {"markeredgewidth": 0.9 if hollow else 0.4, "alpha": PALE if pale else None}
    return Line2D([], [], color=look.colour, **marker, **stroke, **shade)


def legend(figure: Figure, handles: Mapping[str, Artist], notes: Sequence[str] = ()) -> None:
    """Draw one legend under all panels, as many entries in a row as fit, with the notes above it."""
    most = max(2, round(6 * figure.get_figwidth() / FULL - 0.5))
    rows = math.ceil(len(handles) / most)
    columns = math.ceil(len(handles) / rows)
    # matplotlib fills column by column; readers go row by row.
    names = [name for column in range(columns) for name in list(handles)[column::columns]]
    place: Any = {"loc": "outside lower center", "ncols": columns}
    title: Any = {"title": "\n".join(notes) or None, "title_fontsize": 6}
    figure.legend([handles[name] for name in names], names, **place, **title)


def curve(
    ax: Axes, steps: Iterable[tuple[float, Average | None]], look: Look, cutoffs: Sequence[float] | None = None,
) -> None:  # fmt: skip
    """Draw the means over seeds in a band from the lowest to the highest, with markers at the cut-offs."""
    present = [(at, step) for at, step in steps if step is not None]
    if not present:
        return
    x = [at for at, _ in present]
    means, lows, highs = np.array([(step.value, step.low, step.high) for _, step in present]).T
    if not np.allclose(lows, highs):
        ax.fill_between(x, lows, highs, color=look.colour, alpha=0.16, linewidth=0, zorder=look.order - 1)
    marked = None if cutoffs is None else [i for i, at in enumerate(x) if at in cutoffs]
    marker: Any = {"marker": look.marker, "markevery": marked, "markersize": look.size * 0.8}
    edge: Any = {"markeredgecolor": "white", "markeredgewidth": 0.3, "zorder": look.order}
    ax.plot(x, means, color=look.colour, linewidth=look.width, linestyle=look.dashes, **marker, **edge)


def hollow(ax: Axes, x: Sequence[float], y: Sequence[float], look: Look) -> None:
    marker: Any = {"marker": look.marker, "markersize": look.size, "markerfacecolor": "none"}
    edge: Any = {"markeredgecolor": look.colour, "markeredgewidth": 0.9, "zorder": look.order - 0.5}
    ax.plot(x, y, linestyle="none", **marker, **edge)


def ticks(ax: Axes, values: Sequence[float]) -> None:
    """Put ticks at exactly these values of the horizontal axis."""
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.set_xticks([], minor=True)


def stretched(name: str) -> str:
    """Return the label of an axis that `recall_axis` scales."""
    return f"{name} (axis stretched towards 1)"


def recall_axis(ax: Axes, upright: bool = True) -> None:
    """Scale an axis of recall from 0 to 1 by the square root of 1 - recall, which stretches its upper part."""

    def stretch(recall: Floats) -> Floats:
        return 1.0 - np.asarray(np.sqrt(np.clip(1.0 - np.asarray(recall), 0.0, None)))

    def unstretch(height: Floats) -> Floats:
        return 1.0 - np.asarray(np.square(np.clip(1.0 - np.asarray(height), 0.0, None)))

    marks = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0) if upright else (0.0, 0.4, 0.6, 0.8, 0.9, 1.0)
    axis, scale, limits = (ax.yaxis, ax.set_yscale, ax.set_ylim) if upright else (ax.xaxis, ax.set_xscale, ax.set_xlim)
    scale("function", functions=(stretch, unstretch))
    limits(0.0, 1.0)
    axis.set_ticks(marks, [f"{mark:g}" for mark in marks])
    axis.set_ticks([], minor=True)


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write ``name.pdf`` for print and ``name.png`` at 200 dpi; equal figures give equal files."""
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}.pdf", out / f"{name}.png"]
    figure.savefig(paths[0], metadata={"CreationDate": None})
    figure.savefig(paths[1], metadata={"Software": None})
    return paths
