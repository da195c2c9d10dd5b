"""Weights and data that are the same in every framework: they depend on names and seeds, not on a framework's draws."""

from __future__ import annotations

import math
import os
import zlib
from typing import Any

import numpy as np

import paddle


def values_for(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values of a parameter or buffer that keep signals of deep networks in range, drawn from its name."""
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    if name.endswith("_variance"):
        drawn = rng.uniform(0.5, 1.5, shape)
    elif len(shape) >= 2:
        fan_in = math.prod(shape[1:]) if len(shape) > 2 else shape[0]
        drawn = rng.uniform(-1, 1, shape) * math.sqrt(6 / max(fan_in, 1))
    elif name.endswith("weight"):
        drawn = rng.uniform(0.5, 1.0, shape)
    else:
        drawn = rng.uniform(-0.1, 0.1, shape)
    return drawn.astype("float32")


def fill(model: Any, prefix: str = "") -> Any:
    """``model``, whose parameters and buffers have the values of their names."""
    for name, tensor in model.state_dict().items():
        tensor.set_value(values_for(prefix + name, tuple(tensor.shape)))
    return model


def normal(seed: int, *shape: int) -> Any:
    """A tensor of normal numbers."""
    return paddle.to_tensor(np.random.RandomState(seed).standard_normal(shape).astype("float32"))


def integers(seed: int, high: int, *shape: int) -> Any:
    """A tensor of integers from 0 to ``high - 1``."""
    return paddle.to_tensor(np.random.RandomState(seed).randint(0, high, shape).astype("int64"))


def digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits: images ``[1797, 1, 8, 8]`` between 0 and 1, and labels.

    Where scikit-learn is not installed, ``DIGITS`` names an ``.npz`` file that has them.
    """
    if path := os.environ.get("DIGITS"):
        with np.load(path) as found:
            return found["images"], found["labels"]
    from sklearn.datasets import load_digits

    found = load_digits()
    images = (found.images / 16).astype("float32")[:, None]
    return images, found.target.astype("int64")


def steps(model: Any, loss_of: Any, batches: Any, rate: float = 0.1, momentum: float = 0.9) -> list[float]:
    """The losses of a step of momentum descent on each batch."""
    wanted = [p for p in model.parameters() if not p.stop_gradient]
    optimizer = paddle.optimizer.Momentum(rate, momentum, parameters=wanted)
    losses = []
    for batch in batches:
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses
