"""One query, its results plain, spread and focused: the first results, their places and their hours.

Records hold no positions, so this figure is drawn from a dataset (`of_query`) or from candidates and lists of selected
positions (`qualitative`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import mascot as mc
from mascot import metrics
from mascot.bench.datasets.dataset import Dataset
from mascot.bench.datasets.folder import read_folder
from mascot.bench.figures import style
from mascot.bench.points import Method
from mascot.bench.tasks import hours_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Picture = Callable[[int], NDArray[Any]]

NEEDED = ("lat", "lon", "taken")  # default columns
_ACCENT, _FILL, _DEEP = "#C8102E", "#8CC7BC", "#00695C"
_HEAT = ("#FFFFFF", "#D3EBE6", "#8CC7BC", "#2F9C8A", "#00594D")
_OVER = 12  # points between a panel and its title
_CELLS = (160, 80)  # of the heat map, east and north


@dataclass(frozen=True, slots=True)
class Compared:
    """A row of the figure: a method and its wishes."""

    name: str
    method: Method
    wishes: tuple[mc.Wish, ...]


def of_query(
    dataset: Dataset,
    query: int | None = None,
    *,
    split: str = "test",
    n: int = 200,
    k: int = 20,
    method: Method | None = None,
    place: tuple[str, str] = NEEDED[:2],
    time: str = NEEDED[2],
    caption: str | None = None,
    picture: Picture | None = None,
    compared: Sequence[Compared] | None = None,
) -> Figure:
    """Draw one query of a dataset, steered by `method` on place and hour together.

    Candidates without a place or a time cannot be drawn, and are left out before anything is chosen.

    Parameters
    ----------
    dataset
        With columns of latitudes, longitudes and times.
    query
        Number of a query of the split (default: the first whose best candidate is right).
    split, n, k
        Which images can be found, how many are candidates, and how many are shown.
    method
        The method (default: `Mascot()`, the guarded one).
    place, time
        Names of the columns.
    caption
        A column that names an image, such as a city (default: its coordinates).
    picture
        Returns the image of a row of the dataset as an array; drawn in place of the captions.
    compared
        Methods to compare, a row each, in place of `method` spread and focused.
    """
    query_number = _first_right(dataset, split) if query is None else query
    hits = dataset.candidates(query_number, n, split)
    present = hours_of(dataset.columns, time)[hits.images]
    for name in place:
        present = present + dataset.columns[name].astype(float)[hits.images]
    drawable = np.isfinite(present)
    if drawable.sum() < 2:
        raise mc.InputError(
            f"qualitative figure: query {query_number} must have 2 candidates with a place and a time, "
            f"got {drawable.sum()}"
        )
    images, relevant = hits.images[drawable], hits.relevant[drawable]
    columns = {name: column[images] for name, column in dataset.columns.items()}
    vectors = None if dataset.vectors is None else dataset.vectors[images]
    candidates = mc.Candidates(scores=hits.scores[drawable], columns=columns, vectors=vectors)
    attributes = (mc.Place(*place), mc.HourOfDay(time))
    lists: dict[str, Sequence[int]] = {} if compared else {"Plain": list(range(min(k, len(candidates))))}
    if compared is None:
        directions = {"Spread": mc.spread, "Focus": mc.focus}
        compared = [
            Compared(name, method or mc.Mascot(), tuple(wish(attribute) for attribute in attributes))
            for name, wish in directions.items()
        ]
    for row in compared:
        lists[row.name] = mc.rerank(candidates, list(row.wishes), k=k, method=row.method).positions.tolist()
    return qualitative(
        candidates,
        lists,
        place=place,
        time=time,
        caption=caption,
        right=set(np.flatnonzero(relevant).tolist()),
        picture=None if picture is None else lambda position: picture(int(images[position])),
    )


def _first_right(dataset: Dataset, split: str) -> int:
    if split not in dataset.splits or not len(dataset.splits[split].queries):
        raise mc.InputError(f"qualitative figure: the dataset has no queries in the split {split!r}")
    for block in dataset.blocks(1, split):
        right = np.flatnonzero(block.relevant[:, 0])
        if len(right):
            return int(block.queries[right[0]])
    return int(dataset.splits[split].queries[0])


def qualitative(
    candidates: mc.Candidates,
    lists: Mapping[str, Sequence[int]],
    *,
    place: tuple[str, str] = ("lat", "lon"),
    time: str = "taken",
    caption: str | None = None,
    right: Collection[int] = (),
    picture: Picture | None = None,
    top: int = 5,
) -> Figure:
    """Draw a row for each list: its first results, a heat map of their places, a clock of their hours.

    A listed result's bar is as long as its score, from 0, the worst candidate, to 1, the best. On the map grey dots are
    all candidates, the heat is the density of the results, stars are the first three; on the clock a bar is as long as
    there are results in that hour, and red bars hold the first three.

    Parameters
    ----------
    candidates
        With columns of latitudes and longitudes in degrees, and of times.
    lists
        Named lists of positions among the candidates, best first.
    place, time, caption
        Names of the columns; see `of_query`.
    right
        Positions of the right answers, marked in the lists.
    picture
        Returns the image of a position as an array.
    top
        How many results are listed.
    """
    lat, lon = (candidates.columns[name].astype(float) for name in place)
    clock = hours_of(candidates.columns, time)
    low, high = float(candidates.scores.min()), float(candidates.scores.max())
    relevance = (candidates.scores - low) / (high - low) if high > low else np.ones(len(candidates))
    names = _captions(candidates, caption, lat, lon)
    extent = _extent(lat, lon)
    selections = {name: np.asarray(positions, dtype=np.int64) for name, positions in lists.items()}
    heats = {name: _heat(lat[rows], lon[rows], extent) for name, rows in selections.items()}
    counts = {name: np.histogram(clock[rows] % 24, bins=24, range=(0, 24))[0] for name, rows in selections.items()}
    hottest = max(float(heat.max()) for heat in heats.values())
    fullest = max(int(count.max()) for count in counts.values())
    with style.drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(style.FULL, 0.35 + 1.55 * len(selections)), layout="constrained")
        grid = figure.add_gridspec(len(selections), 3, width_ratios=[1.55, 2.35, 0.95])
        for place_in, (name, rows) in enumerate(selections.items()):
            results_axes = figure.add_subplot(grid[place_in, 0])
            if picture is None:
                _captioned(results_axes, rows[:top], names, clock, relevance, right)
            else:
                _pictured(results_axes, rows[:3], picture, right)
            results_axes.set_title(name, fontsize=8.5, pad=_OVER)
            world = figure.add_subplot(grid[place_in, 1])
            _map(world, heats[name], hottest, extent, (lat, lon), rows)
            world.set_title(
                f"place: V = {_diversity(metrics.place_features(lat[rows][None], lon[rows][None])):.2f}", pad=_OVER
            )
            dial = figure.add_subplot(grid[place_in, 2], projection="polar")
            _clock(dial, counts[name], clock[rows[:3]], fullest)
            minutes = np.floor(clock[rows] * 60)[None]
            heading = f"hour: V = {_diversity(metrics.time_of_day_features(minutes)):.2f}"
            dial.set_title(heading, y=1.0, pad=_OVER)  # without y it would be above the dial's labels
        looks = (style.Look("#808080", ".", size=4), style.Look(_DEEP, "o"), style.Look(_ACCENT, "*", size=7))
        words = ("candidates", "results", "first three results")
        floor = _floor(selections.values())
        notes = [
            f"V: normalised Vendi score of the results, {floor} if all are alike, 1 if all differ.",
            f"Clock: results in each hour; the outer ring is {fullest}.",
        ]
        if picture is None:
            notes.append("Bars on the left: the score, from the worst candidate (0) to the best (1).")
        style.legend(figure, [style.key(look, line=False) for look in looks], words, notes)
    return figure


def pictures(folder: Path, side: int = 256) -> Picture:
    """Return a function from a row of a prepared folder's dataset to its picture, for `of_query`.

    Parameters
    ----------
    folder
        A folder that `mascot bench prepare` wrote.
    side
        The longest side, in pixels.
    """
    from mascot.photos.images import Unreadable, open_image, upright

    files = read_folder(folder).columns["file"]

    def picture(row: int) -> NDArray[Any]:
        path = folder / str(files[row])
        try:
            with open_image(path) as image:
                return np.asarray(upright(image, side))
        except (Unreadable, OSError) as error:
            raise mc.InputError(
                f"{path} gives no picture ({error}); make the folder again with: mascot bench prepare"
            ) from None

    return picture


def _diversity(features: Floats) -> float:
    return float(metrics.normalised_vendi(metrics.similarity_kernel(features))[0])


def _floor(lists: Iterable[NDArray[np.int64]]) -> str:
    """Return V of results that are all alike, which depends on how many there are."""
    floors = {f"{metrics.normalised_vendi(np.ones((1, len(rows), len(rows))))[0]:.2f}" for rows in lists}
    return " or ".join(sorted(floors))


def _captions(candidates: mc.Candidates, caption: str | None, lat: Floats, lon: Floats) -> list[str]:
    if caption is not None:
        if caption not in candidates.columns:
            names = ", ".join(candidates.columns)
            raise mc.InputError(f"qualitative caption must be a column ({names}), got {caption!r}")
        return [str(value) for value in candidates.columns[caption]]
    return [
        f"{abs(y):.1f}°{'N' if y >= 0 else 'S'} {abs(x):.1f}°{'E' if x >= 0 else 'W'}"
        for y, x in zip(lat, lon, strict=True)
    ]


def _captioned(
    ax: Axes, rows: NDArray[np.int64], names: Sequence[str], clock: Floats, relevance: Floats, right: Collection[int]
) -> None:
    """Draw the first results as bars as long as their relevance, the right ones dark."""
    for place, row in enumerate(rows.tolist()):
        is_right = row in right
        ax.barh(place, 1.0, height=0.82, color="#F4F4F4", zorder=1)
        ax.barh(
            place,
            relevance[row],
            height=0.82,
            color=_DEEP if is_right else _FILL,
            alpha=1 if is_right else 0.55,
            zorder=2,
        )
        hour, minute = divmod(int(clock[row] * 60 + 1e-6), 60)
        colour = "white" if is_right else style.INK
        ax.text(0.02, place, f"{place + 1}  {names[row]}", va="center", color=colour, fontsize=6.5, zorder=3)
        text = f"{hour % 24:02d}:{minute:02d}{'  right' if is_right else ''}"
        inside = relevance[row] > 0.9
        ax.text(
            0.98, place, text, va="center", ha="right", color=colour if inside else style.INK, fontsize=6.5, zorder=3
        )
    ax.set_xlim(0, 1)
    ax.invert_yaxis()
    ax.set_axis_off()


def _pictured(ax: Axes, rows: NDArray[np.int64], picture: Picture, right: Collection[int]) -> None:
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


def _extent(lat: Floats, lon: Floats) -> tuple[float, float, float, float]:
    """Return west, east, south and north of the candidates with a margin; the world where they cover much of it."""
    if np.ptp(lon) > 120 or np.ptp(lat) > 70:
        return -180.0, 180.0, min(-60.0, float(lat.min()) - 3), max(78.0, float(lat.max()) + 3)
    middle_lat, middle_lon = (float(values.min() + values.max()) / 2 for values in (lat, lon))
    # Twice as wide as high, like the world.
    half = max(float(np.ptp(lat)) * 0.6, float(np.ptp(lon)) * 0.3, 0.005)
    return middle_lon - 2 * half, middle_lon + 2 * half, middle_lat - half, middle_lat + half


def _heat(lat: Floats, lon: Floats, extent: tuple[float, float, float, float]) -> Floats:
    """Return the density of the places on the map, by a Gaussian a thirtieth of its width."""
    west, east, south, north = extent
    width = (east - west) / 32
    x, y = np.linspace(west, east, _CELLS[0]), np.linspace(south, north, _CELLS[1])
    east_weights = np.exp(-np.square(x[None] - lon[:, None]) / (2 * width**2))
    north_weights = np.exp(-np.square(y[None] - lat[:, None]) / (2 * width**2))
    heat: Floats = north_weights.T @ east_weights
    return heat


def _map(
    ax: Axes,
    heat: Floats,
    hottest: float,
    extent: tuple[float, float, float, float],
    places: tuple[Floats, Floats],
    rows: NDArray[np.int64],
) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    lat, lon = places
    colours = LinearSegmentedColormap.from_list("heat", _HEAT)
    # The square root keeps single results visible beside many.
    ax.imshow(
        np.sqrt(heat),
        origin="lower",
        extent=extent,
        cmap=colours,
        vmin=0,
        vmax=np.sqrt(hottest),
        aspect="auto",
        interpolation="bilinear",
        zorder=1,
    )
    all_rows = np.arange(len(lat))
    for order, (marked_rows, marker, colour, size, edge) in enumerate(
        ((all_rows, ".", "#808080", 2.2, 0.0), (rows, "o", _DEEP, 2.8, 0.3), (rows[:3], "*", _ACCENT, 7, 0.5)), start=2
    ):
        look: Any = {"color": colour, "markersize": size, "markeredgecolor": "white", "markeredgewidth": edge}
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


def _clock(ax: Any, counts: NDArray[np.int64], first: Floats, fullest: int) -> None:
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
