"""A small visual descriptor of a photograph, for every encoder: where its colours and its edges lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

_CELLS = 4  # a side: the picture is described in 4 x 4 cells
_SIDE = 64  # pixels a side that are looked at
_DIRECTIONS = 8  # of edges, over half a turn
_COLOUR, _EDGES = 1.0, 0.6  # how much each part counts
_PLACE = np.arange(_SIDE) // (_SIDE // _CELLS)
_CELL_OF = (_PLACE[:, None] * _CELLS + _PLACE).ravel()  # of each pixel
DIM = _CELLS * _CELLS * (3 + _DIRECTIONS)


def look(image: Image) -> NDArray[np.float32]:
    """A unit vector of `DIM` numbers: mean colour (light, and two contrasts) and edge directions of each cell."""
    from PIL.Image import Resampling

    pixels = np.asarray(image.convert("RGB").resize((_SIDE, _SIDE), Resampling.BOX), np.float32) / 255.0
    light = pixels @ np.array([0.299, 0.587, 0.114], np.float32)
    red, blue = pixels[:, :, 0] - light, pixels[:, :, 2] - light
    colours = np.stack([_cells(light - 0.5), _cells(red), _cells(blue)])
    down, right = np.gradient(light)
    size = np.hypot(down, right).ravel()
    turn = np.arctan2(down, right).ravel() % np.pi / np.pi * _DIRECTIONS
    lower = np.floor(turn).astype(np.int64)
    share = turn - lower
    edges = np.zeros(_CELLS * _CELLS * _DIRECTIONS)
    for direction, part in ((lower, 1 - share), (lower + 1, share)):
        bins = _CELL_OF * _DIRECTIONS + direction % _DIRECTIONS
        edges += np.bincount(bins, weights=size * part, minlength=len(edges))
    parts = [_COLOUR * _unit(colours.ravel()), _EDGES * _unit(np.sqrt(edges).astype(np.float32))]
    return _unit(np.concatenate(parts)).astype(np.float32)


def _cells(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    step = _SIDE // _CELLS
    return plane.reshape(_CELLS, step, _CELLS, step).mean(axis=(1, 3))


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-9 else np.full_like(vector, 1.0 / np.sqrt(vector.size))
