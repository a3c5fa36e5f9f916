"""A world map and a histogram of hours as text, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mascot.photos.gazetteer import gazetteer

_NORTH, _SOUTH = 78.0, -58.0  # degrees of latitude; there are no cities beyond
_LEVELS = "▁▂▃▄▅▆▇█"
_DOTS = "○●"  # few photographs, many


def world(points: Sequence[tuple[float, float]], width: int = 72) -> str:
    """Return a world map: dots where the gazetteer has cities, circles where there are photographs."""
    height = max(round(width * (_NORTH - _SOUTH) / 360 / 2), 4)  # a character cell is twice as high as wide
    land = _cells(gazetteer().points, width, height) > 0
    photos = _cells(np.array(points, np.float64).reshape(-1, 2), width, height)
    many = max(photos.max() / 4, 2)
    lines = []
    for row in range(height):
        characters = [
            _DOTS[int(photos[row, column] >= many)] if photos[row, column] else "·" if land[row, column] else " "
            for column in range(width)
        ]
        lines.append("".join(characters).rstrip())
    return "\n".join(lines)


def _cells(points: ArrayLike, width: int, height: int) -> np.ndarray:
    """Return the number of points in each cell, shape (height, width), north at the top."""
    lat, lon = np.asarray(points, np.float64).reshape(-1, 2).T
    edges = [np.linspace(-_NORTH, -_SOUTH, height + 1), np.linspace(-180, 180, width + 1)]
    counts, _, _ = np.histogram2d(np.clip(-lat, -_NORTH, -_SOUTH), lon, bins=edges)
    return counts


def clock(hours: Sequence[int]) -> str:
    """Return a histogram of 24 counts: a bar for each hour, and the hours below."""
    most = max(max(hours), 1)
    bars = "".join(("  " if not count else 2 * _LEVELS[(count * len(_LEVELS) - 1) // most]) + " " for count in hours)
    return bars.rstrip() + "\n" + " ".join(f"{hour:02d}" for hour in range(24))
