"""Devices that are no part of the framework, against our own CPU: the OpenCL device of ``plugins/opencl`` on PoCL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from decode import example
from measure import Settings, Side
from rows import Pair, add_section, within

import paddle
from umiak import backends

SECTION = add_section("devices", "Devices outside the tree")
BATCH, VOCABULARY = 16, 512


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
    from umiak_opencl import backend  # `pip install './plugins/opencl[pocl]'`; the other rows do without

    if backend.name not in backends.device_types():
        backends.register(backend)
    paddle.set_flags({"FLAGS_opencl_platform": "Portable Computing Language"})
    return Side("step()", {"step": training("opencl:0")}), Side("step()", {"step": training("cpu")})
