"""The technical quality of a picture, from its thumbnail: it finds clear failures, and is not taste."""

from __future__ import annotations

import io
from dataclasses import dataclass
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

_TILE, _CELL = 32, 16  # pixels per side of the squares for sharpness, and for text
_LEAST = 0.02  # of each part: one bad part does not hide the others
_HALF_SHARP = 8.0  # mean absolute Laplacian of the sharpest tiles of a picture that is half as sharp as possible
_DETAILED = 2.0  # mean absolute Laplacian of a tile that shows something
_DARK, _BRIGHT = 8, 248  # grey levels below and from which pixels are clipped
_DARK_SHARE, _BRIGHT_SHARE = 0.2, 0.15  # shares of clipped pixels that night and sky may have
_PAPER_GREY, _PAPER_COLOUR, _PAPER_RANGE, _INK_DEPTH = 130, 70, 16, 40  # of cells of paper and of text on it
_LEVELS = [int(share * _CELL * _CELL) for share in (0.08, 0.6, 0.92)]  # percentiles of a cell: ink, paper, white
_PAPER_NEIGHBOURS, _NEIGHBOUR_RANGE = 7, 24  # cells of the same paper around text


@dataclass(frozen=True, slots=True)
class Quality:
    """The parts of the quality of a picture, each from 0 to 1."""

    sharpness: float  # of the sharpest tenth of the picture: a blurred background does not count
    detail: float  # the part of the picture that shows something
    contrast: float
    tones: float  # how many of the grey levels are used
    exposure: float  # 0 if most of it is black or white
    colour: float
    document: float  # 1 if it shows printed text, or is drawn like a screen or a test card

    @property
    def score(self) -> float:
        """The quality from 0 to 1."""
        parts = (self.sharpness, self.detail, self.contrast, self.tones, self.exposure)
        whole = prod(max(part, _LEAST) for part in parts) ** (1 / len(parts))
        return round(whole * (0.75 + 0.25 * self.colour) * (1 - 0.8 * self.document), 4)


def quality(thumbnail: bytes) -> Quality:
    """Return the quality of a picture from its thumbnail, a JPEG of at most 512 pixels a side."""
    from PIL import Image

    with Image.open(io.BytesIO(thumbnail)) as image:
        planes = np.array([np.asarray(plane) for plane in image.convert("RGB").split()], np.int16)
        grey = np.asarray(image.convert("L")).astype(np.int16)
    tiles = _tile_means(_laplacian(grey), _TILE)
    sharpest = float(np.sort(tiles)[-max(len(tiles) // 10, 1) :].mean())
    shares = np.bincount(grey.ravel(), minlength=256) / grey.size
    clipped = max(shares[:_DARK].sum() - _DARK_SHARE, shares[_BRIGHT:].sum() - _BRIGHT_SHARE, 0.0)
    entropy = -sum(share * log2(share) for share in shares[shares > 0].tolist())
    return Quality(
        sharpness=round(sharpest / (sharpest + _HALF_SHARP), 3),
        detail=_ramp(float((tiles > _DETAILED).mean()), 0.0, 0.6),
        contrast=_ramp(float(grey.std()) + float(_tile_means(grey, _TILE).std()), 15, 110),
        tones=_ramp(entropy, 4.0, 7.8),
        exposure=_ramp(1 - float(clipped), 0.3, 1.0),
        colour=_ramp(_colourfulness(planes), 10, 60),
        document=max(_ramp(_printed(planes, grey), 0.05, 0.1), _ramp(_drawn(planes), 0.5, 0.8)),
    )


def _ramp(value: float, least: float, most: float) -> float:
    return round(min(max((value - least) / (most - least), 0.0), 1.0), 3)


def _laplacian(grey: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the absolute Laplacian of a picture; a picture of one row or column has no detail."""
    if min(grey.shape) < 3:
        return np.zeros_like(grey)
    inner = grey[1:-1, 1:-1]
    return np.abs(4 * inner - grey[:-2, 1:-1] - grey[2:, 1:-1] - grey[1:-1, :-2] - grey[1:-1, 2:])


def _tile_means(plane: NDArray[np.int16], side: int) -> NDArray[np.float64]:
    """Return the mean of each whole tile, or of a picture that is smaller than one."""
    rows, columns = plane.shape[0] // side, plane.shape[1] // side
    if not rows or not columns:
        return np.array([plane.mean()])
    whole = plane[: rows * side, : columns * side]
    return whole.reshape(rows, side, columns, side).mean(axis=(1, 3)).ravel()


def _colourfulness(planes: NDArray[np.int16]) -> float:
    """Return the colourfulness of Hasler and Suesstrunk (2003)."""
    red, green, blue = planes
    first, second = red - green, (red + green) / 2 - blue
    return float(np.hypot(first.std(), second.std()) + 0.3 * np.hypot(first.mean(), second.mean()))


def _printed(planes: NDArray[np.int16], grey: NDArray[np.int16]) -> float:
    """Return the share of cells with dark strokes on bright, even paper that continues around them."""
    rows, columns = grey.shape[0] // _CELL, grey.shape[1] // _CELL
    if not rows or not columns:
        return 0.0

    whole = grey[: rows * _CELL, : columns * _CELL].reshape(rows, _CELL, columns, _CELL).swapaxes(1, 2)
    levels = np.partition(whole.reshape(rows, columns, -1), _LEVELS, axis=2)
    ink, paper, white = (levels[:, :, level] for level in _LEVELS)
    colour = _tile_means(planes.max(axis=0) - planes.min(axis=0), _CELL).reshape(rows, columns)
    is_paper = (white - paper < _PAPER_RANGE) & (white > _PAPER_GREY) & (colour < _PAPER_COLOUR)
    around = np.pad(np.where(is_paper, white, -999), 1, constant_values=-999)
    shifted = [around[y : y + rows, x : x + columns] for y in range(3) for x in range(3) if (y, x) != (1, 1)]
    neighbours = sum((np.abs(other - white) < _NEIGHBOUR_RANGE).astype(int) for other in shifted)
    return float((is_paper & (paper - ink > _INK_DEPTH) & (neighbours >= _PAPER_NEIGHBOURS)).mean())


def _drawn(planes: NDArray[np.int16]) -> float:
    """Return the share of pixels that equal their neighbours: large on screens, small where light falls."""
    right = (planes[:, :-1, :-1] == planes[:, :-1, 1:]).all(axis=0)
    below = (planes[:, :-1, :-1] == planes[:, 1:, :-1]).all(axis=0)
    return float((right & below).mean()) if right.size else 1.0
