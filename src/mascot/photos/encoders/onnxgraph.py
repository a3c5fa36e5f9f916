"""Write an ONNX model: the few protobuf messages that a graph of layers needs, without the package `onnx`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_IR_VERSION, _OPSET = 8, 13
_FLOAT = 1  # TensorProto.DataType
_INT_ATTRIBUTE, _STRING_ATTRIBUTE, _INTS_ATTRIBUTE = 2, 3, 7  # AttributeProto.AttributeType


@dataclass(slots=True)
class OnnxGraph:
    """A graph that grows layer by layer. `add` returns the name of the layer's output."""

    _nodes: list[bytes] = field(default_factory=list)
    _tensors: dict[str, bytes] = field(default_factory=dict)

    def constant(self, name: str, values: NDArray[np.floating]) -> str:
        """Add a float32 tensor of this name."""
        array = np.ascontiguousarray(values, "<f4")
        tensor = _fields(1, *array.shape) + _fields(2, _FLOAT) + _fields(8, name) + _fields(9, array.tobytes())
        self._tensors[name] = tensor
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | str | Sequence[int]) -> str:
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


def _attribute(name: str, value: int | str | Sequence[int]) -> bytes:
    if isinstance(value, int):
        content = _fields(3, value) + _fields(20, _INT_ATTRIBUTE)
    elif isinstance(value, str):
        content = _fields(4, value) + _fields(20, _STRING_ATTRIBUTE)
    else:
        content = _fields(8, *value) + _fields(20, _INTS_ATTRIBUTE)
    return _fields(1, name) + content


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
