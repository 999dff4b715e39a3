"""YuNet as onnxruntime runs it best: the packaged weights dequantised, the heads of a level as one, bytes in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRIDES = (8, 16, 32)  # pixels of a cell in the three levels
MULTIPLE = 32  # both sides of the input are a multiple of this
# A cell has 16 numbers: of a face, of an object, center and logarithm of the size of its box, and five points.
HEADS = ("cls", "obj", "bbox", "kps")
_CHANNELS = 16

Arrays = dict[str, NDArray[Any]]


def build_network(file: Path) -> bytes:
    """The network as an ONNX file: RGB bytes (1, height, width, 3) in, 16 numbers for each cell of all levels out.

    onnxruntime refuses the weights as they are packaged, in blocks of bytes with a scale each. The four heads of a
    level see the same input, so their convolutions are one.

    Parameters
    ----------
    file : the network of the OpenCV Zoo, quantised by blocks.
    """
    import onnx
    from onnx import TensorProto, checker, helper, numpy_helper

    packaged = onnx.load(file)
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in packaged.graph.initializer}
    nodes = _dequantized(packaged.graph.node, arrays)
    body = [node for node in nodes if node.op_type in ("Conv", "Relu", "MaxPool", "Resize", "Add")]
    trunk = [node for node in body if not _head_of(node)]
    arrays["first"] = np.ascontiguousarray(arrays[trunk[0].input[1]][:, ::-1])  # it was trained on BGR
    trunk[0].input[1] = "first"
    steps = [
        helper.make_node("Cast", ["pixels"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["numbers"], [packaged.graph.input[0].name], perm=[0, 3, 1, 2]),
        *trunk,
    ]
    arrays["cells"] = np.array([_CHANNELS, -1], np.int64)
    for level in range(len(STRIDES)):
        steps += _merged_heads([node for node in body if _head_of(node)], level, arrays)
    steps.append(helper.make_node("Concat", [f"level {level}" for level in range(len(STRIDES))], ["found"], axis=1))
    used = {name for step in steps for name in step.input}
    graph = helper.make_graph(
        steps,
        "yunet",
        [helper.make_tensor_value_info("pixels", TensorProto.UINT8, [1, "height", "width", 3])],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, [_CHANNELS, "cells"])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items() if name in used],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="rankloom"
    )
    checker.check_model(model)
    return bytes(model.SerializeToString())


def _dequantized(nodes: Any, arrays: Arrays) -> list[Any]:
    """The nodes that are left when weights are numbers; these are added to the arrays."""
    from onnx import helper

    left = []
    for node in nodes:
        if node.op_type == "DequantizeLinear":
            given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
            levels, *blocks = (arrays[name].astype(np.float32) for name in node.input)
            size, axis = given["block_size"], given["axis"]
            scale, zero = (np.repeat(block, size, axis).take(range(levels.shape[axis]), axis) for block in blocks)
            arrays[node.output[0]] = (levels - zero) * scale
        elif node.op_type == "Reshape" and node.input[0] in arrays:
            arrays[node.output[0]] = arrays[node.input[0]].reshape(arrays[node.input[1]])
        else:
            left.append(node)
    return left


def _head_of(node: Any) -> str:
    """Head, level and number of a convolution of a head, as its weights are named; of other nodes nothing."""
    name = node.input[1] if node.op_type == "Conv" else ""
    return ".".join(name.split(".")[1:4]).removeprefix("multi_level_") if name.startswith("bbox_head.") else ""


def _merged_heads(heads: list[Any], level: int, arrays: Arrays) -> list[Any]:
    """The heads of a level: 1 x 1 from all channels to 16, then 3 x 3 on each of them by itself."""
    from onnx import helper

    by_name = {_head_of(node): node for node in heads}
    for part in ("conv1", "conv2"):
        nodes = [by_name[f"{head}.{level}.{part}"] for head in HEADS]
        for place, what in ((1, "weight"), (2, "bias")):
            arrays[f"{part} {level} {what}"] = np.concatenate([arrays[node.input[place]] for node in nodes])
    seen = by_name[f"{HEADS[0]}.{level}.conv1"].input[0]
    names = [f"{part} {level}" for part in ("conv1", "conv2")]
    one, each = ([f"{name} weight", f"{name} bias"] for name in names)
    return [
        helper.make_node("Conv", [seen, *one], [names[0]], kernel_shape=[1, 1]),
        helper.make_node(
            "Conv", [names[0], *each], [names[1]], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=_CHANNELS
        ),
        helper.make_node("Reshape", [names[1], "cells"], [f"level {level}"]),
    ]
