"""Finetuning in mixed precision: scaled losses, checkpoints, and a continuation that is the same run.

The reference keeps float32 on a CPU, so curves of lower precision are near its curve, not equal to it.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from common import digits, fill

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision.models import mobilenet_v3_small

CASES = ("float32", "bfloat16", "float16")
STEPS, HALF = 10, 5
SLOW, TOLERANCE = CASES, 1e-2


class Training:
    """A model with a new head, and all that a checkpoint must hold."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.model = fill(mobilenet_v3_small(scale=0.35, num_classes=10))
        self.model.classifier = nn.Sequential(nn.Linear(192, 32), nn.Hardswish(), nn.Linear(32, 10))
        fill(self.model.classifier, "head")
        body = [p for name, p in self.model.named_parameters() if not name.startswith("classifier")]
        self.schedule = paddle.optimizer.lr.StepDecay(0.02, step_size=4, gamma=0.5)
        self.optimizer = paddle.optimizer.Momentum(
            self.schedule,
            parameters=[
                {"params": body, "learning_rate": 0.1, "weight_decay": 0.0},
                {"params": self.model.classifier.parameters()},
            ],
            weight_decay=1e-3,
        )
        self.scaler = paddle.amp.GradScaler(
            enable=dtype == "float16", init_loss_scaling=256.0, incr_every_n_steps=3, decr_every_n_nan_or_inf=1
        )

    def step(self, x: Any, y: Any) -> float:
        with paddle.amp.auto_cast(enable=self.dtype != "float32", dtype=self.casts_to, level="O1"):
            scores = self.model(x)
            loss = F.cross_entropy(scores, y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.clear_grad()
        self.schedule.step()
        return float(loss)

    @property
    def casts_to(self) -> str:
        return "bfloat16" if self.dtype == "float32" else self.dtype

    def save(self, path: str) -> None:
        paddle.save(self.model.state_dict(), path + ".pdparams")
        paddle.save(self.optimizer.state_dict(), path + ".pdopt")
        paddle.save({"scaler": self.scaler.state_dict(), "step": self.schedule.last_epoch}, path + ".pdmeta")

    def load(self, path: str) -> int:
        self.model.set_state_dict(paddle.load(path + ".pdparams"))
        self.optimizer.set_state_dict(paddle.load(path + ".pdopt"))
        rest = paddle.load(path + ".pdmeta")
        if rest["scaler"]:
            self.scaler.load_state_dict(rest["scaler"])
        return rest["step"]


def run(case: str) -> dict[str, Any]:
    images, labels = digits()
    large = F.interpolate(paddle.to_tensor(images[:64]), size=[32, 32], mode="bilinear").expand([64, 3, 32, 32])
    y = paddle.to_tensor(labels[:64])
    batches = [(large[i % 4 * 16 : i % 4 * 16 + 16], y[i % 4 * 16 : i % 4 * 16 + 16]) for i in range(STEPS)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "half")
        with paddle.utils.unique_name.guard():
            first = Training(case)
            losses = [first.step(*batch) for batch in batches[:HALF]]
            first.save(path)
            rest = [first.step(*batch) for batch in batches[HALF:]]
        with paddle.utils.unique_name.guard():  # as in a new process: states are found by the names of parameters
            second = Training(case)
            again = [second.step(*batch) for batch in batches[second.load(path) :]]
    equal = all(
        paddle.equal_all(a, b).item()
        for a, b in zip(first.model.state_dict().values(), second.model.state_dict().values(), strict=True)
    )
    return {
        "losses": losses + rest,
        "continued": rest == again and equal,
        "rates": [first.optimizer.get_lr(), second.optimizer.get_lr()],
    }
