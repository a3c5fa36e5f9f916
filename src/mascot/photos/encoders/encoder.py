"""What every encoder is: photographs and texts to vectors of one space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Picture:
    """A photograph as an encoder takes it."""

    image: Image  # RGB, upright, longest side at most 512 pixels
    words: str = ""  # what is known without looking: made by `describe`


class Encoder(Protocol):
    """Turns texts and photographs into unit vectors; the score of a pair is the largest dot product over the tokens.

    Two attributes are optional. `uses_words = True`: it reads a picture's words, so a photograph is encoded again when
    it is moved to a path that says something else. `sees = False`: it does not look at pixels.
    """

    @property
    def name(self) -> str:
        """What to write after `--encoder` to get it again."""

    @property
    def fingerprint(self) -> str:
        """Short hash of the space the vectors live in: vectors compare only where it is equal."""

    @property
    def dim(self) -> int:
        """Numbers in a vector."""

    @property
    def tokens(self) -> int:
        """Vectors per photograph."""

    @property
    def notice(self) -> str | None:
        """One plain sentence the user should know, or None."""

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Unit rows [n, dim]."""

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Unit rows [n, tokens, dim]."""


def unit(rows: NDArray[np.floating]) -> Vectors:
    """Rows of length one, in float32."""
    wide = np.asarray(rows, np.float64)  # a float16 model's rows keep their length
    return (wide / np.linalg.norm(wide, axis=-1, keepdims=True)).astype(np.float32)
