"""One query, its results plain, spread and focused: the first results, their places and their hours.

Records hold no positions, so the methods select again, from a dataset.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot.bench import metrics
from mascot.bench.datasets.dataset import Dataset, Floats, Ints
from mascot.bench.datasets.folder import open_picture, read_folder
from mascot.bench.protocol.tasks import FOCUS, GEO_HOUR, SPREAD, Point, hours_of
from mascot.bench.report import naming
from mascot.bench.report.figures import style
from mascot.bench.report.figures.style import Axes, Figure

Extent = tuple[float, float, float, float]  # west, east, south, north
Picture = Callable[[int], NDArray[Any]]

NEEDED = ("lat", "lon", "taken")  # columns
_SPLIT, _CANDIDATES, _RESULTS, _LISTED = "test", 200, 20, 5
_ACCENT, _FILL, _DEEP = "#C8102E", "#8CC7BC", "#00695C"
_STAR = "#FFC400"  # the paper has yellow stars
_HEAT = ("#FFFFFF", "#D3EBE6", "#8CC7BC", "#2F9C8A", "#00594D")
_OVER = 12  # points between a panel and its title
_CELLS = (160, 80)  # of the heat map, east and north


def of_query(
    dataset: Dataset,
    query: int | None = None,
    picture: Picture | None = None,
    compared: Mapping[str, Point] | None = None,
) -> Figure:
    """Draw one query of a dataset (default: the first whose best candidate is right).

    `Mascot()` spreads and focuses place and hour together; `compared` are other methods, each with its wishes, that are
    drawn instead. Candidates without a place or a time cannot be drawn and are left out before re-ranking. The caption
    of an image is its `city`, or its coordinates. `picture` returns the image of a row of the dataset as an array,
    which is drawn instead of the caption.

    The bar of a result shows its score, from 0 (the worst candidate) to 1 (the best). On the map, grey dots are all
    candidates, the heat is the density of the results, and stars are the first three results. On the clock, a bar
    shows the number of results in that hour, and red bars contain the first three.
    """
    if query is None:
        query = _first_right(dataset)
    hits = dataset.candidates(query, _CANDIDATES, _SPLIT)
    values = [hours_of(dataset.columns), *(dataset.columns[name].astype(float) for name in ("lat", "lon"))]
    drawable = np.asarray(np.isfinite(values).all(axis=0))[hits.images]
    if drawable.sum() < 2:
        raise mc.InputError(
            f"qualitative figure: query {query} must have 2 candidates with a place and a time, got {drawable.sum()}"
        )
    images = hits.images[drawable]
    columns = {name: column[images] for name, column in dataset.columns.items()}
    vectors = None if dataset.vectors is None else dataset.vectors[images]
    candidates = mc.Candidates(scores=hits.scores[drawable], columns=columns, vectors=vectors)
    points = compared or {
        "Plain": Point(naming.BASE, GEO_HOUR),
        "Spread": Point("guarded", GEO_HOUR, SPREAD, mc.Mascot()),
        "Focus": Point("guarded", GEO_HOUR, FOCUS, mc.Mascot()),
    }
    lists: dict[str, list[int]] = {
        name: mc.rerank(candidates, list(point.wishes), k=_RESULTS, method=point.method).positions.tolist()
        for name, point in points.items()
    }
    right = set(np.flatnonzero(hits.relevant[drawable]).tolist())
    row_picture = None if picture is None else lambda position: picture(int(images[position]))
    return _drawn(candidates, lists, _captions(candidates), right, row_picture)


def _first_right(dataset: Dataset) -> int:
    if _SPLIT not in dataset.splits or not len(dataset.splits[_SPLIT].queries):
        raise mc.InputError(f"qualitative figure: the dataset has no queries in the split {_SPLIT!r}")
    right = (hits.query for hits in dataset.hits(1, _SPLIT) if hits.relevant.any())
    return next(right, int(dataset.splits[_SPLIT].queries[0]))


def _drawn(
    candidates: mc.Candidates, lists: Mapping[str, Sequence[int]], names: Sequence[str], right: Collection[int],
    picture: Picture | None,
) -> Figure:  # fmt: skip
    """Draw a row for each list of positions: its first results, a heat map of their places, a clock of their hours."""
    lat, lon = (candidates.columns[name].astype(float) for name in ("lat", "lon"))
    clock = hours_of(candidates.columns)
    low, high = float(candidates.scores.min()), float(candidates.scores.max())
    relevance = (candidates.scores - low) / (high - low) if high > low else np.ones(len(candidates))
    extent = _extent(lat, lon)
    selections = {name: np.asarray(positions, dtype=np.int64) for name, positions in lists.items()}
    heats = [_heat(lat[rows], lon[rows], extent) for rows in selections.values()]
    counts = [np.histogram(clock[rows] % 24, bins=24, range=(0, 24))[0] for rows in selections.values()]
    hottest, fullest = float(np.max(heats)), int(np.max(counts))
    with style.drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(style.FULL, 0.35 + 1.55 * len(selections)), layout="constrained")
        grid = figure.add_gridspec(len(selections), 3, width_ratios=[1.55, 2.35, 0.95])
        for line, (name, rows) in enumerate(selections.items()):
            results_axes = figure.add_subplot(grid[line, 0])
            if picture is None:
                _captioned(results_axes, rows[:_LISTED], names, clock, relevance, right)
            else:
                _pictured(results_axes, rows[:3], picture, right)
            results_axes.set_title(name, fontsize=8.5, pad=_OVER)
            world = figure.add_subplot(grid[line, 1])
            _map(world, heats[line], hottest, extent, (lat, lon), rows)
            diversity = _diversity(metrics.place_features(lat[rows][None], lon[rows][None]))
            world.set_title(f"place: V = {diversity:.2f}", pad=_OVER)
            dial = figure.add_subplot(grid[line, 2], projection="polar")
            _clock(dial, counts[line], clock[rows[:3]], fullest)
            diversity = _diversity(metrics.time_of_day_features(np.floor(clock[rows] * 60)[None]))
            dial.set_title(f"hour: V = {diversity:.2f}", y=1.0, pad=_OVER)  # without y it is above the dial's labels
        looks = {
            "candidates": style.Look("#808080", ".", size=4),
            "results": style.Look(_DEEP, "o"),
            "first three results": style.Look(_STAR, "*", size=7),
        }
        # V of results that are all alike depends on how many there are.
        alike = [np.ones((1, len(rows), len(rows))) for rows in selections.values()]
        floors = sorted({f"{metrics.normalised_vendi(kernel)[0]:.2f}" for kernel in alike})
        notes = [
            f"V: normalised Vendi score of the results, {' or '.join(floors)} if all are alike, 1 if all differ.",
            f"Clock: results in each hour, red with one of the first three; the outer ring is {fullest}.",
        ]
        if picture is None:
            notes.append("Bars on the left: the score, from the worst candidate (0) to the best (1).")
        style.legend(figure, {name: style.key(look, line=False) for name, look in looks.items()}, notes)
    return figure


def pictures(folder: Path, side: int = 256) -> Picture:
    """Return a function from a row of a prepared folder's dataset to its picture, for `of_query`.

    `folder` is one that `mascot bench prepare` wrote; `side` is the longest side of the pictures in pixels.
    """
    names = read_folder(folder).columns["file"]
    return lambda row: np.asarray(open_picture(folder / str(names[row]), side))


def _diversity(features: Floats) -> float:
    return float(metrics.normalised_vendi(metrics.similarity_kernel(features))[0])


def _captions(candidates: mc.Candidates) -> list[str]:
    if "city" in candidates.columns:
        return [str(value) for value in candidates.columns["city"]]
    return [
        f"{abs(y):.1f}°{'N' if y >= 0 else 'S'} {abs(x):.1f}°{'E' if x >= 0 else 'W'}"
        for y, x in zip(*(candidates.columns[name].astype(float) for name in ("lat", "lon")), strict=True)
    ]


def _captioned(
    ax: Axes, rows: Ints, names: Sequence[str], clock: Floats, relevance: Floats, right: Collection[int]
) -> None:
    """Draw the first results as bars as long as their relevance, the right ones dark."""
    for place, row in enumerate(rows.tolist()):
        is_right = row in right
        fill, alpha, colour = (_DEEP, 1, "white") if is_right else (_FILL, 0.55, style.INK)
        ax.barh(place, 1.0, height=0.82, color="#F4F4F4", zorder=1)
        ax.barh(place, relevance[row], height=0.82, color=fill, alpha=alpha, zorder=2)
        hour, minute = divmod(int(clock[row] * 60 + 1e-6), 60)
        text: Any = {"va": "center", "fontsize": 6.5, "zorder": 3}
        ax.text(0.02, place, f"{place + 1}  {names[row]}", color=colour, **text)
        end_colour = colour if relevance[row] > 0.9 else style.INK
        right_mark = "  right" if is_right else ""
        ax.text(0.98, place, f"{hour % 24:02d}:{minute:02d}{right_mark}", ha="right", color=end_colour, **text)
    ax.set_xlim(0, 1)
    ax.invert_yaxis()
    ax.set_axis_off()


def _pictured(ax: Axes, rows: Ints, picture: Picture, right: Collection[int]) -> None:
    """Draw the first results as square pictures side by side, the right ones framed."""
    for place, row in enumerate(rows.tolist()):
        pixels = np.asarray(picture(row))
        side = min(pixels.shape[:2])
        y, x = (pixels.shape[0] - side) // 2, (pixels.shape[1] - side) // 2
        box = (place * 1.06, place * 1.06 + 1, 0, 1)
        ax.imshow(pixels[y : y + side, x : x + side], extent=box, cmap="gray", interpolation="antialiased")
        if row in right:
            ax.plot([box[0], box[1], box[1], box[0], box[0]], [0, 0, 1, 1, 0], color=_DEEP, linewidth=2)
    ax.set_xlim(-0.02, len(rows) * 1.06 - 0.04)
    ax.set_ylim(-0.02, 1.02)
    ax.set_axis_off()


def _extent(lat: Floats, lon: Floats) -> Extent:
    """Return west, east, south and north of the candidates with a margin, or the world if they cover much of it."""
    if np.ptp(lon) > 120 or np.ptp(lat) > 70:
        return -180.0, 180.0, min(-60.0, float(lat.min()) - 3), max(78.0, float(lat.max()) + 3)
    middle_lat, middle_lon = (float(values.min() + values.max()) / 2 for values in (lat, lon))
    # Twice as wide as high, like the world.
    half = max(float(np.ptp(lat)) * 0.6, float(np.ptp(lon)) * 0.3, 0.005)
    return middle_lon - 2 * half, middle_lon + 2 * half, middle_lat - half, middle_lat + half


def _heat(lat: Floats, lon: Floats, extent: Extent) -> Floats:
    """Return the density of the places on the map, by a Gaussian a thirtieth of its width."""
    west, east, south, north = extent
    width = (east - west) / 32
    x, y = np.linspace(west, east, _CELLS[0]), np.linspace(south, north, _CELLS[1])
    east_weights = np.exp(-np.square(x[None] - lon[:, None]) / (2 * width**2))
    north_weights = np.exp(-np.square(y[None] - lat[:, None]) / (2 * width**2))
    heat: Floats = north_weights.T @ east_weights
    return heat


@cache
def _coasts() -> list[Floats]:
    """Return the outlines of land, [n, 2] longitude and latitude in degrees; they are those of the photo page's map."""
    path = files("mascot").joinpath("server/static/charts/world.json")
    world = json.loads(path.read_text(encoding="utf-8"))
    return [np.reshape(steps, (-1, 2)).cumsum(axis=0) / world["scale"] for steps in world["land"]]


def _map(ax: Axes, heat: Floats, hottest: float, extent: Extent, places: tuple[Floats, Floats], rows: Ints) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    lat, lon = places
    colours = LinearSegmentedColormap.from_list("heat", _HEAT)
    # The square root keeps single results visible beside many.
    layout: Any = {"origin": "lower", "extent": extent, "aspect": "auto", "interpolation": "bilinear", "zorder": 1}
    ax.imshow(np.sqrt(heat), cmap=colours, vmin=0, vmax=np.sqrt(hottest), **layout)
    all_rows = np.arange(len(lat))
    marked = ((all_rows, ".", "#808080", 2.2, 0.0), (rows, "o", _DEEP, 2.8, 0.3), (rows[:3], "*", _STAR, 8, 0.5))
    for coast in _coasts():
        ax.plot(*coast.T, color="#9A9A9A", linewidth=0.35, zorder=1.5)
    for order, (marked_rows, marker, colour, size, edge) in enumerate(marked, start=2):
        rim = style.INK if marker == "*" else "white"
        look: Any = {"color": colour, "markersize": size, "markeredgecolor": rim, "markeredgewidth": edge}
        ax.plot(lon[marked_rows], lat[marked_rows], linestyle="none", marker=marker, zorder=order, **look)
    world = extent[1] - extent[0] >= 300
    for axis, step in ((ax.xaxis, 60), (ax.yaxis, 30)):
        axis.set_major_locator(MultipleLocator(step) if world else MaxNLocator(4))
        axis.set_major_formatter("{x:g}°")
    ax.grid(True, color="#BDBDBD", linewidth=0.35, alpha=0.7)
    ax.set_axisbelow(False)
    ax.tick_params(length=0, labelsize=5.5)
    ax.set_xlim(extent[0], extent[1])
    ax.set_ylim(extent[2], extent[3])
    for spine in ax.spines.values():
        spine.set_visible(True)


def _clock(ax: Any, counts: Ints, first: Floats, fullest: int) -> None:
    """Draw results by hour, midnight on top; bars with one of the first three results are red."""
    angles = (np.arange(24) + 0.5) * 2 * np.pi / 24
    red = np.isin(np.arange(24), np.floor(first % 24).astype(int))
    ax.bar(angles, counts, width=2 * np.pi / 24 * 0.92, color=np.where(red, _ACCENT, "#2F9C8A"), linewidth=0, zorder=3)
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    ax.set_xticks(np.arange(0, 24, 6) * 2 * np.pi / 24, ["0", "6", "12", "18"])
    ax.tick_params(pad=-3, labelsize=6)
    ax.set_ylim(0, fullest)
    ax.set_yticks([fullest / 2, fullest], ["", ""])
    ax.spines["polar"].set_linewidth(0.5)
