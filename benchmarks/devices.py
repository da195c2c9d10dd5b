"""Devices that are no part of the framework, against our own CPU: the OpenCL device of ``plugins/opencl`` on PoCL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from decode import example
from measure import Settings, Side, compare
from rows import Outcome, Pair, add_row, add_section, times, within

import paddle
from umiak import backends

SECTION = add_section("devices", "Devices outside the tree")
BATCH, VOCABULARY = 16, 512
SIZE, LEAST_RATE = 1024, 25e9  # rows, columns and terms of the matmul; operations in a second


def open_device() -> None:
    """Have the plug-in's device on PoCL (`pip install './plugins/opencl[pocl]'`, as `make bench` does)."""
    from umiak_opencl import backend

    if backend.name not in backends.device_types():
        backends.register(backend)
    paddle.set_flags({"FLAGS_opencl_platform": "Portable Computing Language"})


def training(device: str) -> Callable[[], Any]:
    """A training step of ``examples/gpt`` with its defaults, all of it done when it returns."""
    gpt = example()
    paddle.set_device(device)
    try:
        paddle.seed(0)
        config = gpt.Config(vocab_size=VOCABULARY)
        model = gpt.GPT(config)
        clip = paddle.nn.ClipGradByGlobalNorm(1.0)
        optimizer = paddle.optimizer.AdamW(3e-4, parameters=model.parameters(), weight_decay=0.1, grad_clip=clip)
        tokens = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, config.context + 1))
        inputs, targets = paddle.to_tensor(tokens[:, :-1]), paddle.to_tensor(tokens[:, 1:])
    finally:
        paddle.set_device("cpu")

    def step() -> float:
        paddle.set_device(device)
        loss = model.loss(inputs, targets)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        paddle.set_device("cpu")
        return float(loss)

    return step


@within("opencl-gpt-step", "a training step of `examples/gpt`, 16 × 64 tokens, on PoCL", 20, section=SECTION)
def gpt_step(settings: Settings) -> Pair:
    open_device()
    return Side("step()", {"step": training("opencl:0")}), Side("step()", {"step": training("cpu")})


def product(device: str) -> Callable[[], Any]:
    """A matmul as users write it, done when it returns."""
    rng = np.random.default_rng(0)
    paddle.set_device(device)
    x, y = (paddle.to_tensor(rng.standard_normal((SIZE, SIZE)).astype("float32")) for _ in range(2))
    paddle.set_device("cpu")

    def call() -> Any:
        z = paddle.matmul(x, y)
        paddle.device.synchronize(device)
        return z

    return call


def rate(settings: Settings) -> Outcome:
    open_device()
    c = compare(Side("call()", {"call": product("opencl:0")}), Side("call()", {"call": product("cpu")}), settings)
    ours, other = (2 * SIZE**3 / side.median for side in (c.ours, c.other))
    return Outcome(
        f"{ours / 1e9:.3g} GF/s", f"{other / 1e9:.3g} GF/s", times(c.ratio), ours >= LEAST_RATE, c.ratio.median
    )


add_row(
    "opencl-gemm",
    f"`paddle.matmul(x, y)`, float32, {SIZE} × {SIZE}, on PoCL; the other: on our CPU backend",
    f"≥ {LEAST_RATE / 1e9:g} GF/s",
    rate,
    SECTION,
)
