"""ResNet-18 (He et al., 2015) on our API and on PyTorch's, with equal initial weights.

``stem``: "imagenet" is a 7×7 convolution of stride 2 and a maximum 3×3 of stride 2, as torchvision has it; "cifar" is a
3×3 convolution of stride 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import paddle
from umiak import ops as F
from umiak.autodiff import graph
from umiak.ir.tracer import Tracer, symbolic
from umiak.runtime.executor import Executor

WIDTHS, BLOCKS = (64, 128, 256, 512), 2
RATE = 0.01

Step = Callable[[], Any]


def _names(nn: Any) -> tuple[Any, Any, Any]:
    """Convolution without a bias, normalisation and maximum over windows of either library."""
    if nn is torch.nn:
        conv = lambda i, o, k, s, p: nn.Conv2d(i, o, k, s, p, bias=False)  # noqa: E731
        return conv, nn.BatchNorm2d, nn.MaxPool2d
    return lambda i, o, k, s, p: nn.Conv2D(i, o, k, s, p, bias_attr=False), nn.BatchNorm2D, nn.MaxPool2D


def _define(nn: Any, module: Any, relu: Callable[[Any], Any]) -> type:
    """The network's class over one library."""
    conv, norm, maximum = _names(nn)

    class Block(module):
        def __init__(self, i: int, o: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv(i, o, 3, stride, 1), norm(o)
            self.conv2, self.bn2 = conv(o, o, 3, 1, 1), norm(o)
            self.down = nn.Sequential(conv(i, o, 1, stride, 0), norm(o)) if stride != 1 or i != o else None

        def forward(self, x: Any) -> Any:
            y = relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            return relu(y + (x if self.down is None else self.down(x)))

    class ResNet18(module):
        def __init__(self, classes: int = 10, stem: str = "imagenet") -> None:
            super().__init__()
            large = stem == "imagenet"
            self.conv1 = conv(3, WIDTHS[0], 7, 2, 3) if large else conv(3, WIDTHS[0], 3, 1, 1)
            self.bn1 = norm(WIDTHS[0])
            self.pool = maximum(3, 2, 1) if large else None
            blocks, i = [], WIDTHS[0]
            for stage, o in enumerate(WIDTHS):
                for b in range(BLOCKS):
                    blocks.append(Block(i, o, 2 if stage and not b else 1))
                    i = o
            self.blocks = nn.Sequential(*blocks)
            self.head = nn.Linear(i, classes)

        def forward(self, x: Any) -> Any:
            y = relu(self.bn1(self.conv1(x)))
            y = y if self.pool is None else self.pool(y)
            y = self.blocks(y)
            return self.head(y.mean((2, 3)) if nn is torch.nn else y.mean([2, 3]))

    return ResNet18


def ours(classes: int = 10, stem: str = "imagenet") -> Any:
    return _define(paddle.nn, paddle.nn.Layer, paddle.nn.functional.relu)(classes, stem)


def theirs(classes: int = 10, stem: str = "imagenet") -> Any:
    return _define(torch.nn, torch.nn.Module, torch.nn.functional.relu)(classes, stem)


def share(net: Any, peer: Any) -> None:
    """Give ``net`` (ours) the weights of ``peer``: convolutions lie alike, weights of ``Linear`` are transposed."""
    with torch.no_grad(), paddle.no_grad():
        given = {name: p.detach().numpy() for name, p in peer.named_parameters()}
        for name, p in net.named_parameters():
            if p.stop_gradient:
                continue  # running statistics
            v = given[name]
            p.set_value(np.ascontiguousarray(v.T if v.ndim == 2 else v))


def data(batch: int = 16, size: int = 32, classes: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((batch, 3, size, size), np.float32), rng.integers(0, classes, batch)


def pair(stem: str = "imagenet") -> tuple[Any, Any]:
    """(ours, theirs) with equal weights."""
    torch.manual_seed(0)
    peer = theirs(stem=stem)
    net = ours(stem=stem)
    share(net, peer)
    return net, peer


def step_ours_eager(net: Any, x: np.ndarray, t: np.ndarray, rate: float = RATE) -> Step:
    """A function that does one step of SGD and gives the loss."""
    sgd = paddle.optimizer.SGD(rate, parameters=net.parameters())
    images, labels = paddle.to_tensor(x), paddle.to_tensor(t)

    def step() -> Any:
        loss = paddle.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        sgd.step()
        sgd.clear_grad(set_to_zero=False)
        return loss

    return step


def step_ours_compiled(net: Any, x: np.ndarray, t: np.ndarray, rate: float = RATE) -> Step:
    """The same as one program: forward, backward and the updates."""
    images, labels = paddle.to_tensor(x), paddle.to_tensor(t)
    parameters = [p for p in net.parameters() if not p.stop_gradient]
    with Tracer() as tracer:
        loss = paddle.nn.functional.cross_entropy(net(tracer.example(images, ())), tracer.example(labels, ()))
        inner = [tracer.tensor(p) for p in parameters]
        seed = F.full(1.0, dtype=loss.dtype, shape=())
        wrt = [p.value for p in inner]
        grads = graph.pullback(tracer, list(tracer.operations), [(loss.value, seed.value)], wrt)
        with paddle.no_grad():
            for p, g in zip(inner, grads, strict=True):
                tracer.assign(p, F.sub(p, F.mul(symbolic(g, tracer), rate)))
        executor = Executor(tracer.finish([loss]))

    def step() -> Any:
        with paddle.no_grad():
            return executor(images, labels)[0]

    return step


def step_torch(net: Any, x: np.ndarray, t: np.ndarray, rate: float = RATE, compiled: bool = False) -> Step:
    """The same with PyTorch; ``compiled``: forward and backward by ``torch.compile``."""
    sgd = torch.optim.SGD(net.parameters(), rate)
    images, labels = torch.from_numpy(x), torch.from_numpy(t)
    run = torch.compile(net) if compiled else net

    def step() -> Any:
        loss = torch.nn.functional.cross_entropy(run(images), labels)
        loss.backward()
        sgd.step()
        sgd.zero_grad(set_to_none=True)
        return loss

    return step


def steps(stem: str = "imagenet") -> tuple[Step, Step, Step]:
    """(ours eager, ours compiled, PyTorch eager), each with a network of its own, from equal weights."""
    x, t = data()
    (eager, peer), (compiled, _) = pair(stem), pair(stem)
    return step_ours_eager(eager, x, t), step_ours_compiled(compiled, x, t), step_torch(peer, x, t)
