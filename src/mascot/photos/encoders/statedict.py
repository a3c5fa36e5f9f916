"""Read the tensors of a torch weights file without torch.

The file is in torch's format from before version 1.6: five pickles, then the values of each storage. Pickles can run
code, so only the four globals that a state dict needs are allowed.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mascot.errors import InputError

_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_state_dict(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a state dict by name.

    Raises `InputError` if the file is damaged, of another format, or contains anything but tensors.
    """
    try:
        with path.open("rb") as file:
            return _read_tensors(file)
    except (OSError, pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{path} is not a torch state dict that can be read: {error}") from None


def _read_tensors(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    if (_Reader(file).load(), _Reader(file).load()) != (_MAGIC, _VERSION):
        raise ValueError("unknown format")
    _Reader(file).load()  # sizes of C types, not needed
    reader = _Reader(file)
    tensors = reader.load()
    for key in _Reader(file).load():
        storage = reader.storages[key]
        count = int.from_bytes(file.read(8), "little")
        if count != storage.count:
            raise ValueError(f"storage {key} holds {count} values, expected {storage.count}")
        storage.values = np.frombuffer(file.read(count * storage.dtype.itemsize), storage.dtype, count)
    return {str(name): tensor.array() for name, tensor in tensors.items()}


@dataclass(slots=True)
class _Storage:
    """An array of values, shared by tensors."""

    dtype: np.dtype[Any]
    count: int
    values: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage. Offset and strides are in values."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self) -> NDArray[Any]:
        values = self.storage.values
        last = self.offset + sum((size - 1) * step for size, step in zip(self.shape, self.strides, strict=True))
        lowest = min((self.offset, *self.shape, *self.strides))
        if values is None or lowest < 0 or (0 not in self.shape and last >= len(values)):
            raise ValueError("a tensor lies outside its storage")
        steps = [step * values.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(values[self.offset :], self.shape, steps, writeable=False)


class _Reader(pickle.Unpickler):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key, _device, count, view = pid
        if kind != "storage" or view is not None or not isinstance(dtype, np.dtype):
            raise pickle.UnpicklingError("only whole storages are allowed")
        return self.storages.setdefault(key, _Storage(dtype, int(count)))


def _tensor(storage: _Storage, offset: int, shape: Sequence[int], strides: Sequence[int], *_: object) -> _Tensor:
    if not isinstance(storage, _Storage):
        raise pickle.UnpicklingError("a tensor needs a storage")
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))
