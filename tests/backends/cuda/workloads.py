"""Kernels that networks and ops launch on a CUDA device, as text, with the number of launches.

Those of networks are not run: memory holds what it holds, and no result is read.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import paddle
from umiak.core import stream

TESTS = Path(__file__).parents[2]
FOLDERS = (Path(__file__).parent, TESTS / "compiler", TESTS / "support", TESTS.parent / "examples" / "gpt")
sys.path[:0] = [str(f) for f in FOLDERS if str(f) not in sys.path]

from recorded_backend import entered  # noqa: E402

Texts = Counter[tuple[str, str]]  # launches, by name and LLVM text of the kernel


@contextmanager
def counted(execute: Callable[..., None] | None = None) -> Iterator[Texts]:
    """Count the launches inside, which ``execute`` runs. The default place is the device."""
    launches: Texts = Counter()

    def note(driver: Any, image: str, name: str, *rest: Any) -> None:
        launches[name, image] += 1
        if execute is not None:
            execute(driver, image, name, *rest)

    former = paddle.get_device()
    with entered() as backend:
        driver = backend.driver
        before = driver.execute, driver.lazy
        driver.execute, driver.lazy = note, False
        try:
            paddle.set_device("gpu:0")
            yield launches
            for device in backend.devices.values():
                stream.synchronize(device.place.index)
        finally:
            paddle.set_device(former)
            driver.execute, driver.lazy = before


def gpt() -> None:
    """Two eager steps of a small GPT, and two captured ones."""
    import model

    network = model.GPT(model.Config(64, 16, 2, 2, 32))
    optimizer = paddle.optimizer.AdamW(
        3e-3, parameters=network.parameters(), weight_decay=0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    tokens = paddle.to_tensor(np.zeros((4, 16), np.int64))
    for loss_of in (network.loss, paddle.jit.to_static(network.loss)):
        for _ in range(2):
            loss_of(tokens, tokens).backward()
            optimizer.step()
            optimizer.clear_grad()


def resnet() -> None:
    """Two eager steps of ResNet-18 on small images."""
    network = paddle.vision.models.resnet18(num_classes=10)
    optimizer = paddle.optimizer.Momentum(0.1, parameters=network.parameters(), weight_decay=1e-4)
    x, y = paddle.to_tensor(np.zeros((2, 3, 32, 32), np.float32)), paddle.to_tensor(np.zeros(2, np.int64))
    for _ in range(2):
        paddle.nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()


NETWORKS: tuple[Callable[[], None], ...] = (gpt, resnet)


def for_architecture(text: str, arch: str) -> str:
    """The text of a kernel for another architecture: kernels are the same for all."""
    return re.sub(r'"target-cpu"="\w+"', f'"target-cpu"="{arch}"', text)
