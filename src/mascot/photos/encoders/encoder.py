"""The interface of encoders: photographs and texts to vectors of one space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

Vectors = NDArray[np.float32]
Report = Callable[[str, int, int], None]  # current step, items done, total (0: unknown)


@dataclass(frozen=True, slots=True)
class Picture:
    """A photograph as input of an encoder."""

    image: Image  # RGB, upright, longest side at most 512 pixels
    words: str = ""  # the description, made by `describe`


class Encoder(Protocol):
    """Turns texts and photographs into unit vectors; the score of a pair is the largest dot product over the tokens.

    Two attributes are optional. `uses_words = True`: it uses the words of a picture, so a photograph is encoded again
    when it is moved to a path with other words. `sees = False`: it does not use pixels.
    """

    @property
    def name(self) -> str:
        """The value of `--encoder` that opens it again."""

    @property
    def fingerprint(self) -> str:
        """Short hash of the vector space: only vectors of equal fingerprints can be compared."""

    @property
    def dim(self) -> int:
        """The dimension of a vector."""

    @property
    def tokens(self) -> int:
        """Vectors per photograph."""

    @property
    def notice(self) -> str | None:
        """A message to the user, or None."""

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows [n, dim]."""

    def pictures(self, pictures: Sequence[Picture]) -> Vectors:
        """Return unit rows [n, tokens, dim]."""


def unit(rows: NDArray[np.floating]) -> Vectors:
    """Return the rows scaled to length one, in float32."""
    wide = np.asarray(rows, np.float64)  # so that rows of a float16 model get length one exactly
    return (wide / np.linalg.norm(wide, axis=-1, keepdims=True)).astype(np.float32)
