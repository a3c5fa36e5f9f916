"""A small encoder of the user's own kind: a text is the set of its words. Fast and exact, for tests of the library."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mascot.photos.encoders.encoder import Picture


class BagOfWords:
    notice = None

    def __init__(self, name: str = "bag", dim: int = 512, tokens: int = 1) -> None:
        self.name, self.fingerprint, self.dim, self.tokens = name, f"{name}-{dim}-{tokens}", dim, tokens
        self.encoded: list[str] = []

    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                row[zlib.crc32(word.encode()) % self.dim] += 1
            if not row.any():
                row[0] = 1
            row /= np.linalg.norm(row)
        return rows

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        self.encoded += [picture.words for picture in pictures]
        vectors = self.texts([picture.words for picture in pictures])
        return np.repeat(vectors[:, None], self.tokens, axis=1)


class PathReader(BagOfWords):
    """An encoder whose vectors contain the words of paths, as those of `lite` do."""

    uses_words = True


class Stopping(BagOfWords):
    """An encoder that is interrupted once it has encoded `limit` photographs."""

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(name)
        self._limit = limit

    def pictures(self, pictures: Sequence[Picture]) -> NDArray[np.float32]:
        if len(self.encoded) >= self._limit:
            raise KeyboardInterrupt
        return super().pictures(pictures)
