"""Parameters and operations that ``summary`` and ``flops`` count in models of images."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import paddle
from paddle.vision import models

_SIZES = {"LeNet": (1, 1, 28, 28), "inception_v3": (1, 3, 299, 299)}
CASES = (
    "LeNet",
    "alexnet",
    "vgg11",
    "resnet18",
    "resnet50",
    "densenet121",
    "googlenet",
    "inception_v3",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "shufflenet_v2_x0_25",
    "squeezenet1_1",
)
SLOW = ("alexnet", "vgg11", "resnet50", "densenet121", "googlenet", "inception_v3")


def run(case: str) -> dict[str, Any]:
    model = getattr(models, case)()
    size = _SIZES.get(case, (1, 3, 224, 224))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        summary = paddle.summary(model, size)
        flops = paddle.flops(model, list(size))
    rows = [line for line in printed.getvalue().splitlines() if line.startswith(("Total", "Trainable", "Non-train"))]
    return {"summary": {k: int(v) for k, v in summary.items()}, "flops": int(flops), "printed": rows}
