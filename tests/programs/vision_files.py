"""Weights that the reference framework saved: what models give that load them.

Run with ``SAVE=1`` in the reference's environment, ``python record.py`` writes the files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from common import fill, integers, normal, steps

import paddle
from paddle.vision import models

_MODELS: dict[str, tuple[str, tuple[int, ...]]] = {
    "lenet": ("LeNet()", (4, 1, 28, 28)),
    "mobilenet_v1": ("MobileNetV1(scale=0.125, num_classes=4)", (4, 3, 64, 64)),
    "shufflenet_v2": ("ShuffleNetV2(scale=0.25, num_classes=4)", (4, 3, 64, 64)),
}
CASES = tuple(_MODELS)
FOLDER = Path(__file__).parents[1] / "data" / "models"


def run(case: str) -> dict[str, Any]:
    call, size = _MODELS[case]
    path = FOLDER / f"{case}.pdparams"
    model = eval(call, vars(models))
    if os.environ.get("SAVE"):
        fill(model)
        loss = paddle.nn.functional.cross_entropy
        steps(
            model,
            lambda x, y: loss(model(x), y),
            [(normal(i, *size), integers(i, 4, size[0])) for i in range(3)],
            rate=0.002,
        )
        path.parent.mkdir(exist_ok=True)
        paddle.save(model.state_dict(), str(path))
    missing, unexpected = model.set_state_dict(paddle.load(str(path)))
    model.eval()
    with paddle.no_grad():
        return {"missing": missing, "unexpected": unexpected, "scores": model(normal(7, *size))}
