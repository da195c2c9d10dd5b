"""The networks of the examples train on the device with the host's losses, step after step."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import paddle

EXAMPLES = Path(__file__).parents[3] / "examples"


def module(folder: str, name: str) -> ModuleType:
    """A module of an example, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", EXAMPLES / folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def perceptron_losses(steps: int) -> list[float]:
    paddle.seed(0)
    rng = np.random.default_rng(0)
    network = paddle.nn.Sequential(paddle.nn.Linear(6, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 3))
    optimizer = paddle.optimizer.AdamW(3e-2, parameters=network.parameters())
    losses = []
    for _ in range(steps):
        x, y = rng.standard_normal((16, 6)).astype("float32"), rng.integers(0, 3, 16)
        loss = paddle.nn.functional.cross_entropy(network(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def gpt_losses(steps: int) -> list[float]:
    model_file = module("gpt", "model")
    paddle.seed(0)
    rng = np.random.default_rng(0)
    model = model_file.GPT(model_file.Config(64, 16, 2, 2, 32))
    optimizer = paddle.optimizer.AdamW(
        3e-3, parameters=model.parameters(), weight_decay=0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    losses = []
    for _ in range(steps):
        tokens = rng.integers(0, 64, (4, 17))
        loss = model.loss(paddle.to_tensor(tokens[:, :-1]), paddle.to_tensor(tokens[:, 1:]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def digits_losses(steps: int) -> list[float]:
    datasets = pytest.importorskip("sklearn.datasets", reason="requires scikit-learn")
    digits = datasets.load_digits()
    images = np.kron(digits.images / 16, np.ones((3, 3)))[:, None].astype("float32")
    images = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
    paddle.seed(1)
    network = module("digits", "fit").lenet()
    optimizer = paddle.optimizer.Adam(3e-3, parameters=network.parameters())
    losses = []
    for step in range(steps):
        part = slice(16 * step, 16 * step + 16)
        x, y = paddle.to_tensor(images[part]), paddle.to_tensor(digits.target[part].astype("int64"))
        loss = paddle.nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


@pytest.mark.parametrize(
    ("losses", "steps"),
    [
        pytest.param(perceptron_losses, 4, id="perceptron"),
        # The kernels of a step take PoCL 15 seconds of the processor for either.
        pytest.param(gpt_losses, 40, id="gpt", marks=pytest.mark.slow),
        pytest.param(digits_losses, 40, id="digits", marks=pytest.mark.slow),
    ],
)
def test_losses_are_those_of_the_host(device, opencl, losses, steps):
    paddle.set_device("cpu")
    expected = losses(steps)
    paddle.set_device(device.name)
    found = losses(steps)
    np.testing.assert_allclose(found, expected, rtol=2e-4 if steps < 10 else 2e-2)
    assert found[-1] != found[0]
    assert opencl.fallbacks() == {}
