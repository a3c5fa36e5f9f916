"""The interface of encoders, photographs and texts to vectors of one space, and what they share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mascot.errors import OptionError
from mascot.extras import install_command, package

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
_ERRORS_ONLY = 3
_BLOCKS, _BLOCK = 64, 65_536
_FINGERPRINT_DIGITS = 16

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


def open_session(
    model: Path, device: str = "auto", threads: int | None = None, weights: Mapping[str, Vectors] | None = None
) -> Any:
    """Return an onnxruntime session for a file; one call uses `threads` cores (default: all).

    `weights` are the values of tensors that the file only names.
    """
    runtime = package("onnxruntime", "photos", "an ONNX model")
    gpu = device != "cpu" and "CUDAExecutionProvider" in runtime.get_available_providers()
    if device.startswith("cuda") and not gpu:
        raise OptionError(
            f"device must be auto or cpu where onnxruntime has no GPU: {install_command('onnxruntime-gpu')}"
        )
    options = runtime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    if threads is not None:
        options.intra_op_num_threads = threads
    if weights is not None:
        values = [runtime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"] if gpu else ["CPUExecutionProvider"]
    return runtime.InferenceSession(str(model), options, providers=providers)


def encode_batches(
    items: Sequence[T], batch: int, encode: Callable[[Sequence[T]], Vectors], shape: tuple[int, ...]
) -> Vectors:
    """Return the unit rows of all items, encoded `batch` at a time; `shape` is that of the rows of one item."""
    rows = [encode(items[start : start + batch]) for start in range(0, len(items), batch)]
    return unit(np.concatenate(rows)) if rows else np.empty((0, *shape), np.float32)


def fingerprint_of(files: Iterable[Path], settings: Any) -> str:
    """Return the hash of the settings, and of the size and 64 evenly spaced blocks of each file (all, below 4 MB).

    Weights of gigabytes are not read completely: training changes every tensor, so the blocks distinguish models.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for path in files:
        size = path.stat().st_size
        starts: Iterable[int] = range(0, size, _BLOCK)
        if size > _BLOCKS * _BLOCK:
            starts = [index * (size - _BLOCK) // (_BLOCKS - 1) for index in range(_BLOCKS)]
        digest.update(size.to_bytes(8, "little"))
        with path.open("rb") as file:
            for start in starts:
                file.seek(start)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]
