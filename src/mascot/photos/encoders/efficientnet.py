"""EfficientNet-Lite0: the network that names what is in a photograph, run from its published weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

SIDE = 224  # pixels

# Per stage: blocks, stride of the first, whether they widen their input. The weights say the rest.
_STAGES = (
    (1, 1, False),
    (2, 2, True),
    (2, 2, True),
    (3, 2, True),
    (3, 1, True),
    (4, 2, True),
    (1, 1, True),
)
_BORDER = 32  # pixels that the central crop leaves out of SIDE + _BORDER, as when the weights were trained
_EPSILON = 1e-3  # of the normalisation


@dataclass(frozen=True, slots=True)
class _Layer:
    """A convolution with its normalisation folded in."""

    weight: Tensor
    bias: Tensor
    stride: int
    clipped: bool  # to 0..6 afterwards

    def __call__(self, x: Tensor) -> Tensor:
        from torch.nn import functional as F

        outer, inner, kernel, _ = self.weight.shape
        # What cannot be halved of the padding goes to the right and the bottom, as when the weights were trained.
        pads = [max((-(-size // self.stride) - 1) * self.stride + kernel - size, 0) for size in x.shape[2:]]
        across, down = pads[1], pads[0]
        if any(pads):
            x = F.pad(x, (across // 2, across - across // 2, down // 2, down - down // 2))
        groups = outer if inner == 1 else 1
        y = F.conv2d(x, self.weight, self.bias, stride=self.stride, groups=groups)
        return F.relu6(y) if self.clipped else y


class EfficientNetLite0:
    """Photographs to probabilities of the 1000 ImageNet classes."""

    def __init__(self, weights: Path, device: str = "cpu") -> None:
        import torch

        state: dict[str, Tensor] = torch.load(weights, map_location=device, weights_only=True)
        self._device = device
        self._stem = _layer(state, "_conv_stem", "_bn0", stride=2)
        self._blocks = list(_blocks(state))
        self._head = _layer(state, "_conv_head", "_bn1")
        self._out = state["_fc.weight"], state["_fc.bias"]

    def __call__(self, images: list[Image]) -> NDArray[np.float32]:
        """Probabilities [n, 1000]."""
        import torch
        from torch.nn import functional as F

        with torch.inference_mode():
            x = torch.from_numpy(_pixels(images)).to(self._device)
            x = self._stem(x)
            for layers, residual in self._blocks:
                y = x
                for layer in layers:
                    y = layer(y)
                x = x + y if residual else y
            x = self._head(x).mean((2, 3))
            found: NDArray[np.float32] = F.linear(x, *self._out).softmax(1).cpu().numpy()
        return found


def _blocks(state: dict[str, Tensor]) -> Iterator[tuple[list[_Layer], bool]]:
    """Each block widens, filters every channel by itself, and narrows; its input is added where the shapes allow."""
    number, channels = 0, -1
    for count, first_stride, wider in _STAGES:
        for index in range(count):
            name, stride = f"_blocks.{number}.", first_stride if index == 0 else 1
            layers = [_layer(state, f"{name}_expand_conv", f"{name}_bn0")] if wider else []
            layers.append(_layer(state, f"{name}_depthwise_conv", f"{name}_bn1", stride=stride))
            layers.append(_layer(state, f"{name}_project_conv", f"{name}_bn2", clipped=False))
            outer = len(layers[-1].bias)
            yield layers, stride == 1 and outer == channels
            number, channels = number + 1, outer


def _layer(state: dict[str, Tensor], conv: str, norm: str, stride: int = 1, clipped: bool = True) -> _Layer:
    scale = state[f"{norm}.weight"] / (state[f"{norm}.running_var"] + _EPSILON).sqrt()
    bias = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * scale
    return _Layer(state[f"{conv}.weight"] * scale[:, None, None, None], bias, stride, clipped)


def _pixels(images: list[Image]) -> NDArray[np.float32]:
    """The middle of each photograph, [n, 3, SIDE, SIDE] in about -1..1."""
    from PIL.Image import Resampling

    pixels = np.empty((len(images), 3, SIDE, SIDE), np.float32)
    for row, image in zip(pixels, images, strict=True):
        side = min(image.size) * SIDE / (SIDE + _BORDER)
        left, top = (image.width - side) / 2, (image.height - side) / 2
        square = image.resize((SIDE, SIDE), Resampling.BICUBIC, box=(left, top, left + side, top + side))
        row[:] = (np.asarray(square, np.float32).transpose(2, 0, 1) - 127) / 128
    return pixels
