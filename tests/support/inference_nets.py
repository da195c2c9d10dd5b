"""Small networks that are saved for inference, and what they give in eager mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import paddle
from paddle import nn
from paddle.nn import functional as F


@dataclass
class Net:
    """A network: ``inputs`` are name, shape with None for any size, and dtype; ``call`` takes and gives tensors."""

    inputs: Sequence[tuple[str, Sequence[int | None], str]]
    call: Callable[..., Any]

    def arrays(self, seed: int, size: int = 3) -> list[np.ndarray]:
        """Arrays that the network may be given, with ``size`` where any is allowed."""
        rng = np.random.default_rng(seed)
        found = []
        for _, shape, dtype in self.inputs:
            sizes = [size if n is None else n for n in shape]
            if dtype.startswith("int"):
                found.append(rng.integers(0, 5, sizes).astype(dtype))
            else:
                found.append(rng.standard_normal(sizes).astype(dtype))
        return found

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What eager mode gives."""
        with paddle.no_grad():
            results = self.call(*(paddle.to_tensor(x) for x in arrays))
        return [y.numpy() for y in (results if isinstance(results, (list, tuple)) else [results])]


def _convolutions() -> Net:
    net = nn.Sequential(
        nn.Conv2D(3, 16, 3, padding=1), nn.BatchNorm2D(16), nn.ReLU(), nn.Conv2D(16, 16, 3, 2, 1, groups=16),
        nn.BatchNorm2D(16), nn.Hardswish(), nn.Conv2D(16, 32, 1), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
        nn.Dropout(0.5), nn.Linear(32, 5), nn.Softmax(),
    )  # fmt: skip
    for layer in net.sublayers():
        if isinstance(layer, nn.BatchNorm2D):
            layer._mean.set_value(paddle.randn([16]) * 0.1)
            layer._variance.set_value(paddle.rand([16]) + 0.5)
    net.eval()
    return Net([("image", [None, 3, 8, 8], "float32")], net)


def _linear() -> Net:
    net = nn.Linear(8, 4)
    return Net([("x", [None, 8], "float32")], lambda x: F.softmax(net(x)))


def _attention() -> Net:
    embedding, layer = nn.Embedding(5, 16), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1)
    layer.eval()
    return Net([("words", [None, 6], "int64")], lambda words: layer(embedding(words)).mean(1))


def _recurrent() -> Net:
    layer = nn.LSTM(4, 8)
    layer.eval()
    return Net([("x", [None, 5, 4], "float32")], lambda x: layer(x)[0])


def _branches() -> Net:
    def call(x: Any) -> Any:
        y = paddle.static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)
        i, y = paddle.static.nn.while_loop(
            lambda i, y: i < 3, lambda i, y: [i + 1, y + x], [paddle.zeros([], "int64"), y]
        )
        return y, i

    return Net([("x", [None, 2], "float32")], call)


def _two_inputs() -> Net:
    net = nn.Linear(4, 4)
    return Net(
        [("a", [None, 4], "float32"), ("b", [None, 4], "float32")], lambda a, b: [net(a) + b, paddle.argmax(a * b, -1)]
    )


def _quantised() -> Net:
    """Weights and images as integers with a scale, as models that were quantised carry them."""
    weight = paddle.to_tensor(np.round(np.random.default_rng(0).uniform(-127, 127, [8, 4])).astype("int8"))
    scale = paddle.to_tensor(np.linspace(0.01, 0.02, 4).astype("float32"))

    def call(x: Any) -> Any:
        q = paddle.clip(paddle.round(x / 0.05), -128, 127).astype("int8")
        return paddle.matmul(q.astype("float32") * 0.05, weight.astype("float32") * scale)

    return Net([("x", [None, 8], "float32")], call)


NETS: dict[str, Callable[[], Net]] = {
    "linear": _linear, "convolutions": _convolutions, "attention": _attention, "recurrent": _recurrent,
    "branches": _branches, "two_inputs": _two_inputs, "quantised": _quantised,
}  # fmt: skip


def save(net: Net, prefix: Path) -> Path:
    """Write a network for inference; returns the prefix."""
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            fed = [paddle.static.data(name, shape, dtype) for name, shape, dtype in net.inputs]
            results = net.call(*fed)
            fetched = list(results) if isinstance(results, (list, tuple)) else [results]
            exe = paddle.static.Executor()
            paddle.static.save_inference_model(str(prefix), fed, fetched, exe, program=main)
    finally:
        paddle.disable_static()
    return prefix


def made(name: str, folder: Path) -> tuple[Net, Path]:
    """A network by its name, and where it was saved."""
    paddle.seed(len(name))
    net = NETS[name]()
    return net, save(net, folder / name)
