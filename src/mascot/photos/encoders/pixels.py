"""Preprocessing of photographs for a model, as its preprocessor_config.json specifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError
from mascot.photos.encoders.hub import read_json

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Pixels:
    """Resize, crop to the centre, rescale and normalise: the configured steps, in this order."""

    shortest: int | None  # pixels of the shorter side after resizing; None if `size` is exact
    size: tuple[int, int] | None  # height, width after resizing
    crop: tuple[int, int] | None  # height, width of the central crop
    resample: int
    factor: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, folder: Path) -> Pixels:
        path = folder / "preprocessor_config.json"
        settings = read_json(path) if path.is_file() else read_json(folder / "processor_config.json")
        settings = settings.get("image_processor", settings)
        try:
            crop = _pair(settings["crop_size"]) if settings.get("do_center_crop", "crop_size" in settings) else None
            size = settings["size"] if settings.get("do_resize", True) else None
            shortest = None
            if isinstance(size, dict) and "shortest_edge" in size:
                shortest, size = int(size["shortest_edge"]), None
            elif isinstance(size, int) and crop is not None:  # the shorter side, in the first CLIP models
                shortest, size = size, None
            factor = float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale", True) else 1.0
            mean: tuple[float, ...] = (0.0,) * 3
            std: tuple[float, ...] = (1.0,) * 3
            if settings.get("do_normalize", True):
                mean, std = (tuple(map(float, settings[name])) for name in ("image_mean", "image_std"))
            size = None if size is None else _pair(size)
            return cls(shortest, size, crop, int(settings.get("resample", 3)), factor, mean, std)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} must specify how photographs are resized; {error!r} is wrong") from None

    def __call__(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Return an array [n, 3, height, width]."""
        rows = [np.asarray(self._cropped(self._resized(image)), np.uint8).transpose(2, 0, 1) for image in images]
        pixels = np.empty((len(rows), *rows[0].shape), np.float32)
        # Channel by channel: interleaved channels are slow.
        for channel, (mean, std) in enumerate(zip(self.mean, self.std, strict=True)):
            for row, image in zip(pixels, rows, strict=True):
                np.multiply(image[channel], np.float32(self.factor / std), out=row[channel], dtype=np.float32)
            pixels[:, channel] -= np.float32(mean / std)
        return pixels

    def _resized(self, image: Image) -> Image:
        height, width = self.size or (image.height, image.width)
        if self.shortest is not None:
            short, long = sorted(image.size)
            other = int(self.shortest * long / short)
            height, width = (other, self.shortest) if image.width <= image.height else (self.shortest, other)
        return image.resize((width, height), self.resample)

    def _cropped(self, image: Image) -> Image:
        """Return the centre; an image that is too small gets a black border."""
        if self.crop is None:
            return image
        height, width = self.crop
        left, top = (image.width - width) // 2, (image.height - height) // 2
        return image.crop((left, top, left + width, top + height))


def _pair(size: Any) -> tuple[int, int]:
    return (int(size["height"]), int(size["width"])) if isinstance(size, dict) else (int(size), int(size))
