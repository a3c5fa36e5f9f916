"""The weights and the input of EfficientNet-Lite0, which classifies photographs.

Its graph without weights is `efficientnet.onnx`, which `python -m docs.efficientnet_graph` writes. The weights are read
without torch. Their file is in torch's format from before version 1.6: five pickles, then the values of each storage.
Pickles can run code, so only the four globals that a state dict needs are allowed.
"""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

INPUT = "pixels"
SIDE = 224  # pixels
_BORDER = 32  # pixels of SIDE + _BORDER outside the central crop, as in training
_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001  # of the weights file
_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_state_dict(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a state dict by name.

    Raises `InputError` if the file is damaged, of another format, or contains anything but tensors.
    """
    try:
        with path.open("rb") as file:
            if (_StateUnpickler(file).load(), _StateUnpickler(file).load()) != (_MAGIC, _VERSION):
                raise ValueError("unknown format")
            _StateUnpickler(file).load()  # sizes of C types, not needed
            reader = _StateUnpickler(file)
            tensors: dict[str, NDArray[Any]] = reader.load()
            for key in _StateUnpickler(file).load():
                storage = reader.storages[key]
                count = int.from_bytes(file.read(8), "little")
                if count != len(storage) or file.readinto(storage.data) != storage.nbytes:
                    raise ValueError(f"storage {key} does not hold {len(storage)} values")
            return {str(name): tensor for name, tensor in tensors.items()}
    except Exception as error:  # whatever damaged data makes of the unpickler
        raise InputError(f"{path} is not a torch state dict that can be read: {error}") from None


class _StateUnpickler(pickle.Unpickler):
    """Builds tensors as views of storages, which are filled afterwards."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.storages: dict[str, NDArray[Any]] = {}
        self._size = os.fstat(file.fileno()).st_size

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return tensor_of
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        kind, dtype, key, _device, count, view = pid
        if kind != "storage" or view is not None or not isinstance(dtype, np.dtype) or count > self._size:
            raise pickle.UnpicklingError("only whole storages within the file are allowed")
        return self.storages.setdefault(key, np.empty(count, dtype))


def tensor_of(
    storage: NDArray[Any], offset: int, shape: Sequence[int], strides: Sequence[int], *_: object
) -> NDArray[Any]:
    """Return a view of a storage, with offset and strides in values; numpy refuses one that reaches outside."""
    size = storage.itemsize
    return np.ndarray(shape, storage.dtype, storage.data, offset * size, [step * size for step in strides])


def pixels_of(images: Sequence[Image]) -> NDArray[np.float32]:
    """Return the central crop of each photograph, [n, 3, SIDE, SIDE] in about -1..1."""
    from PIL.Image import Resampling

    pixels = np.empty((len(images), 3, SIDE, SIDE), np.float32)
    for row, image in zip(pixels, images, strict=True):
        side = min(image.size) * SIDE / (SIDE + _BORDER)
        x, y = (image.width - side) / 2, (image.height - side) / 2
        square = image.resize((SIDE, SIDE), Resampling.BICUBIC, box=(x, y, x + side, y + side))
        row[:] = (np.asarray(square, np.float32).transpose(2, 0, 1) - 127) / 128
    return pixels
