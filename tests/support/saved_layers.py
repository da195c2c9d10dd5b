"""Networks that PaddlePaddle saved with ``paddle.jit.save``, and what they give.

    cd / && PYTHON_OF_THE_REFERENCE .../saved_layers.py .../tests/data/saved_layers

For each network, ``<name>.json`` and ``<name>.pdiparams``, as they were written, and ``results.npz`` with inputs
(``<name>:in:<k>``), results (``<name>:out:<k>``) and the gradients of the mean of the squares of the first result
(``<name>:grad:<parameter>``).
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec

nn = paddle.nn


class Convolutions(nn.Layer):
    """Convolutions with norms, two ways of pooling, a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2D(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2D(4)
        self.depthwise = nn.Conv2D(4, 4, 3, padding=1, groups=4, bias_attr=False)
        self.up = nn.Conv2DTranspose(4, 2, 2, stride=2)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        y = F.hardswish(self.norm(self.first(x)))
        y = y + self.depthwise(y)
        y = F.max_pool2d(y, 2)
        return self.head(F.adaptive_avg_pool2d(y, 1).flatten(1)), F.sigmoid(self.up(y))


class Recurrent(nn.Layer):
    """An LSTM in both directions over embedded numbers, as texts are read."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.lstm = nn.LSTM(4, 3, num_layers=2, direction="bidirect")
        self.gru = nn.GRU(6, 4)
        self.head = nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        y, _ = self.lstm(self.embedding(x))
        y, last = self.gru(y)
        return F.softmax(self.head(y)), last


class Transformer(nn.Layer):
    """A layer of a transformer, whose mask is made of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(13, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, activation="gelu")
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        places = paddle.arange(x.shape[1]).unsqueeze(0)
        mask = paddle.where(x == 0, paddle.full_like(x, -1e4, "float32"), paddle.zeros_like(x, "float32"))
        y = self.embedding(x) + self.embedding(places)
        return self.norm(self.layer(y, mask.unsqueeze([1, 2])))


class Control(nn.Layer):
    """A branch and a loop on data."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        y = self.linear(x)
        if y.mean() > 0:
            y = y * 2.0
        else:
            y = y - 1.0
        i = paddle.zeros([1], "int64")
        while i < 3:
            y = paddle.tanh(self.linear(y))
            i += 1
        return y


class Narrow(nn.Layer):
    """Weights in bfloat16, of which the reference has only casts on a CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return x @ self.linear.weight.astype("float32") + self.linear.bias.astype("float32")


class Methods(nn.Layer):
    """Two methods over the same parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("offset", paddle.to_tensor([1.0, -1.0]))
        self.offset.name = "offset"

    def forward(self, x: Any) -> Any:
        return self.linear(x) + self.offset

    def scaled(self, x: Any, by: Any) -> Any:
        return self.linear(x) * by


class Stopped(nn.Layer):
    """Gradients that stop: detached, without a record, by a flag, at a frozen weight; and those that do not, though
    what a loop carries and what a branch leaves begin as constants."""

    def __init__(self) -> None:
        super().__init__()
        self.detached, self.quiet, self.flagged, self.frozen = (nn.Linear(3, 3) for _ in range(4))
        for p in self.frozen.parameters():
            p.stop_gradient = True

    def forward(self, x: Any) -> Any:
        y = self.detached(x)
        with paddle.no_grad():
            z = self.quiet(x)
            if x.mean() > 0:
                z = z + self.quiet(z)
        flag = paddle.tanh(self.flagged(y))
        flag.stop_gradient = True
        y = self.frozen(y.detach() + self.detached(x)) + z * flag
        total, i = paddle.zeros([3]), paddle.zeros([1], "int64")
        while i < 2:
            total = total + self.detached(x).mean(0)
            i += 1
        if x.mean() > 10:
            rest = paddle.zeros([3])
        else:
            rest = self.detached(total)
        return y + rest


def _spec(shape: list[Any], dtype: str = "float32", name: str = "x") -> InputSpec:
    return InputSpec(shape, dtype, name=name)


NETWORKS: dict[str, tuple[type, list[InputSpec]]] = {
    "convolutions": (Convolutions, [_spec([None, 2, 8, 8])]),
    "recurrent": (Recurrent, [_spec([None, None], "int64")]),
    "transformer": (Transformer, [_spec([None, None], "int64")]),
    "control": (Control, [_spec([None, 3])]),
    "narrow": (Narrow, [_spec([None, 4])]),
    "methods": (Methods, [_spec([None, 3])]),
    "stopped": (Stopped, [_spec([None, 3])]),
}


def _inputs(specs: list[InputSpec]) -> list[np.ndarray]:
    rng = np.random.RandomState(7)
    sizes = [[3 if n in (None, -1) else n for n in s.shape] for s in specs]
    return [
        rng.randint(0, 11, n) if str(s.dtype).endswith("int64") else rng.standard_normal(n).astype("float32")
        for n, s in zip(sizes, specs)
    ]


def record(folder: str) -> None:
    """Write the files."""
    os.makedirs(folder, exist_ok=True)
    found: dict[str, np.ndarray] = {}
    for name, (network, specs) in NETWORKS.items():
        paddle.seed(3)
        paddle.utils.unique_name.switch()
        layer = network()
        if name == "narrow":
            layer.to(dtype="bfloat16")
        for x in layer.sublayers():
            if isinstance(x, nn.BatchNorm2D):
                x._mean.set_value(paddle.to_tensor([0.1, -0.2, 0.3, 0.0]))
                x._variance.set_value(paddle.to_tensor([1.5, 0.5, 1.0, 2.0]))
        layer.eval()
        if name == "recurrent":
            layer.train()  # which changes nothing here, and has gradients
        inputs = _inputs(specs)
        results = layer(*map(paddle.to_tensor, inputs))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        if name != "narrow":
            (results[0] ** 2).mean().backward()
        layer.eval()
        for k, x in enumerate(inputs):
            found[f"{name}:in:{k}"] = x
        for k, y in enumerate(results):
            found[f"{name}:out:{k}"] = y.numpy()
        for p in layer.parameters():
            if p.grad is not None:
                found[f"{name}:grad:{p.name}"] = p.grad.numpy()
        if name == "methods":
            layer.forward = paddle.jit.to_static(layer.forward, input_spec=specs, full_graph=True)
            layer.scaled = paddle.jit.to_static(
                layer.scaled, input_spec=[*specs, _spec([1], name="by")], full_graph=True
            )
            paddle.jit.save(layer, os.path.join(folder, name))
        else:
            static = paddle.jit.to_static(layer, input_spec=specs, full_graph=True)
            paddle.jit.save(static, os.path.join(folder, name))
    np.savez_compressed(os.path.join(folder, "results.npz"), **found)


if __name__ == "__main__":
    record(sys.argv[1])
