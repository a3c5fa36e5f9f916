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
        dims = b"".join(_varint_field(1, size) for size in array.shape)
        self._tensors[name] = dims + _varint_field(2, _FLOAT) + _bytes_field(8, name) + _bytes_field(9, array.tobytes())
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | str | Sequence[int]) -> str:
        """Add a node with one output."""
        output = f"{operator}_{len(self._nodes)}"
        node = b"".join(_bytes_field(1, name) for name in inputs) + _bytes_field(2, output)
        node += _bytes_field(4, operator)
        node += b"".join(_bytes_field(5, _attribute(name, value)) for name, value in attributes.items())
        self._nodes.append(node)
        return output

    def model(self, source: str, shape: Sequence[int | str], output: str, output_shape: Sequence[int | str]) -> bytes:
        """Return the content of the file. A size that is a text is a dynamic dimension."""
        graph = b"".join(
            [
                *(_bytes_field(1, node) for node in self._nodes),
                _bytes_field(2, "mascot"),
                *(_bytes_field(5, tensor) for tensor in self._tensors.values()),
                _bytes_field(11, _value(source, shape)),
                _bytes_field(12, _value(output, output_shape)),
            ]
        )
        opset = _bytes_field(1, "") + _varint_field(2, _OPSET)
        return _varint_field(1, _IR_VERSION) + _bytes_field(7, graph) + _bytes_field(8, opset)


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = [_varint_field(1, size) if isinstance(size, int) else _bytes_field(2, size) for size in shape]
    tensor = _varint_field(1, _FLOAT) + _bytes_field(2, b"".join(_bytes_field(1, size) for size in sizes))
    return _bytes_field(1, name) + _bytes_field(2, _bytes_field(1, tensor))


def _attribute(name: str, value: int | str | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _bytes_field(1, name) + _varint_field(3, value) + _varint_field(20, _INT_ATTRIBUTE)
    if isinstance(value, str):
        return _bytes_field(1, name) + _bytes_field(4, value) + _varint_field(20, _STRING_ATTRIBUTE)
    numbers = b"".join(_varint_field(8, number) for number in value)
    return _bytes_field(1, name) + numbers + _varint_field(20, _INTS_ATTRIBUTE)


def _bytes_field(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """Encode seven bits per byte, lowest first. Only values >= 0 occur here."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
