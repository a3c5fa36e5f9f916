"""EfficientNet-Lite0, which classifies photographs, as an ONNX graph of its published weights.

The weights are read without torch. Their file is in torch's format from before version 1.6: five pickles, then the
values of each storage. Pickles can run code, so only the four globals that a state dict needs are allowed. The few
protobuf messages that a graph of layers needs are written without the package `onnx`.
"""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
_EPSILON = 1e-3  # of the batch normalisation
_IR_VERSION, _OPSET = 8, 13
_FLOAT = 1  # TensorProto.DataType
_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001  # of the weights file
_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}
_ATTRIBUTES = {int: (3, 2), str: (4, 3), tuple: (8, 7)}  # field of AttributeProto, AttributeProto.AttributeType

# Per stage: blocks, stride of the first, whether they widen their input. The weights determine everything else.
_STAGES = ((1, 1, False), (2, 2, True), (2, 2, True), (3, 2, True), (3, 1, True), (4, 2, True), (1, 1, True))

State = Mapping[str, NDArray[Any]]


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


def onnx_model(state: State) -> bytes:
    """Return the network as the content of an ONNX file: pixels to probabilities of the 1000 ImageNet classes."""
    graph = _OnnxGraph()
    graph.constant("zero", np.zeros(()))
    graph.constant("six", np.full((), 6.0))
    x = _layer(graph, state, INPUT, "_conv_stem", "_bn0", stride=2)
    number, channels = 0, -1
    for count, first_stride, widens in _STAGES:
        for index in range(count):
            # Each block widens, filters every channel separately, and narrows; equal shapes are added.
            block, stride = f"_blocks.{number}.", first_stride if index == 0 else 1
            y = _layer(graph, state, x, f"{block}_expand_conv", f"{block}_bn0") if widens else x
            y = _layer(graph, state, y, f"{block}_depthwise_conv", f"{block}_bn1", stride=stride)
            y = _layer(graph, state, y, f"{block}_project_conv", f"{block}_bn2", clipped=False)
            outer = len(state[f"{block}_bn2.bias"])
            x = graph.add("Add", x, y) if stride == 1 and outer == channels else y
            number, channels = number + 1, outer
    x = _layer(graph, state, x, "_conv_head", "_bn1")
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    weight, bias = (graph.constant(f"_fc.{part}", state[f"_fc.{part}"]) for part in ("weight", "bias"))
    x = graph.add("Softmax", graph.add("Gemm", x, weight, bias, transB=1), axis=1)
    return graph.model(INPUT, ("photographs", 3, SIDE, SIDE), x, ("photographs", len(state["_fc.bias"])))


def _layer(graph: _OnnxGraph, state: State, x: str, conv: str, norm: str, stride: int = 1, clipped: bool = True) -> str:
    """Add a convolution with its batch normalisation folded in, clipped to 0..6."""
    scale = state[f"{norm}.weight"] / np.sqrt(state[f"{norm}.running_var"] + np.float32(_EPSILON))
    weight = state[f"{conv}.weight"] * scale[:, None, None, None]
    bias = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * scale
    outer, inner, kernel, _ = weight.shape
    y = graph.add(
        "Conv", x, graph.constant(f"{conv}.weight", weight), graph.constant(f"{conv}.bias", bias),
        kernel_shape=(kernel, kernel), strides=(stride, stride), group=outer if inner == 1 else 1,
        auto_pad="SAME_UPPER",  # an odd pixel of padding goes to the right and the bottom, as in training
    )  # fmt: skip
    return graph.add("Clip", y, "zero", "six") if clipped else y


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


@dataclass(slots=True)
class _OnnxGraph:
    """A graph that grows layer by layer. `add` returns the name of the layer's output."""

    _nodes: list[bytes] = field(default_factory=list)
    _tensors: dict[str, bytes] = field(default_factory=dict)

    def constant(self, name: str, values: NDArray[np.floating]) -> str:
        """Add a float32 tensor of this name."""
        array = np.ascontiguousarray(values, "<f4")
        tensor = _fields(1, *array.shape) + _fields(2, _FLOAT) + _fields(8, name) + _fields(9, array.tobytes())
        self._tensors[name] = tensor
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | str | tuple[int, ...]) -> str:
        """Add a node with one output."""
        output = f"{operator}_{len(self._nodes)}"
        encoded = (_attribute(name, value) for name, value in attributes.items())
        self._nodes.append(_fields(1, *inputs) + _fields(2, output) + _fields(4, operator) + _fields(5, *encoded))
        return output

    def model(self, source: str, shape: Sequence[int | str], output: str, output_shape: Sequence[int | str]) -> bytes:
        """Return the content of the file. A size that is a text is a dynamic dimension."""
        graph = _fields(1, *self._nodes) + _fields(2, "mascot") + _fields(5, *self._tensors.values())
        graph += _fields(11, _value(source, shape)) + _fields(12, _value(output, output_shape))
        opset = _fields(1, "") + _fields(2, _OPSET)
        return _fields(1, _IR_VERSION) + _fields(7, graph) + _fields(8, opset)


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = (_fields(1 if isinstance(size, int) else 2, size) for size in shape)
    tensor = _fields(1, _FLOAT) + _fields(2, _fields(1, *sizes))
    return _fields(1, name) + _fields(2, _fields(1, tensor))


def _attribute(name: str, value: int | str | tuple[int, ...]) -> bytes:
    field_number, kind = _ATTRIBUTES[type(value)]
    values = value if isinstance(value, tuple) else (value,)
    return _fields(1, name) + _fields(field_number, *values) + _fields(20, kind)


def _fields(number: int, *values: bytes | str | int) -> bytes:
    """Encode each value as a field of this number: an integer as a varint, others with their length in front."""
    parts = []
    for value in values:
        if isinstance(value, int):
            parts.append(_varint(number << 3) + _varint(value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts.append(_varint(number << 3 | 2) + _varint(len(data)) + data)
    return b"".join(parts)


def _varint(value: int) -> bytes:
    """Encode seven bits per byte, lowest first. Only values >= 0 occur here."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
