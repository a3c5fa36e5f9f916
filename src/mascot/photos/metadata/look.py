"""A small visual descriptor of a photograph, independent of the encoder: colours and edges by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

_CELLS = 4  # per side
_SIDE = 64  # pixels per side after downscaling
_DIRECTIONS = 8  # of edges, over 180 degrees
_COLOUR_WEIGHT, _EDGE_WEIGHT = 1.0, 0.6
_BAND = np.arange(_SIDE) // (_SIDE // _CELLS)
_CELL_OF = (_BAND[:, None] * _CELLS + _BAND).ravel()  # the cell of each pixel
DIM = _CELLS * _CELLS * (3 + _DIRECTIONS)
EDGES = slice(_CELLS * _CELLS * 3, DIM)  # the part of a vector for edges; its values are equal if there are none


def look(image: Image) -> NDArray[np.float32]:
    """Return a unit vector, shape (`DIM`,): for each cell the mean luma, two colour differences and edge directions."""
    from PIL.Image import Resampling

    pixels = np.asarray(image.convert("RGB").resize((_SIDE, _SIDE), Resampling.BOX), np.float32) / 255.0
    luma = pixels @ np.array([0.299, 0.587, 0.114], np.float32)
    red, blue = pixels[:, :, 0] - luma, pixels[:, :, 2] - luma
    colours = np.stack([_cells(luma - 0.5), _cells(red), _cells(blue)])
    down, right = np.gradient(luma)
    magnitude = np.hypot(down, right).ravel()
    angle = np.arctan2(down, right).ravel() % np.pi / np.pi * _DIRECTIONS
    lower = np.floor(angle).astype(np.int64)
    share = angle - lower
    edges = np.zeros(_CELLS * _CELLS * _DIRECTIONS)
    for direction, weight in ((lower, 1 - share), (lower + 1, share)):
        bins = _CELL_OF * _DIRECTIONS + direction % _DIRECTIONS
        edges += np.bincount(bins, weights=magnitude * weight, minlength=len(edges))
    parts = [_COLOUR_WEIGHT * _unit(colours.ravel()), _EDGE_WEIGHT * _unit(np.sqrt(edges).astype(np.float32))]
    return _unit(np.concatenate(parts)).astype(np.float32)


def _cells(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of each cell, shape (`_CELLS`, `_CELLS`)."""
    step = _SIDE // _CELLS
    return plane.reshape(_CELLS, step, _CELLS, step).mean(axis=(1, 3))


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-9 else np.full_like(vector, 1.0 / np.sqrt(vector.size))
