"""Sweeps of three kinds are told apart by features of their sound, which have gradients to the waveform."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
import paddle.nn.functional as F
from paddle import nn

CASES = ("mel", "log mel", "mfcc")
TOLERANCE = 1e-3
RATE = 8000


def run(case: str) -> dict[str, Any]:
    rng = np.random.RandomState(0)
    time = np.arange(1000) / RATE
    labels = rng.randint(0, 3, 64)
    sweep = np.array([-1500, 0, 1500])[labels][:, None] * time**2
    waves = np.sin(2 * np.pi * (rng.uniform(1600, 2000, (64, 1)) * time + sweep)) + 0.3 * rng.standard_normal(
        (64, 1000)
    )
    A = paddle.audio.features
    made = {
        "mel": lambda: A.MelSpectrogram(RATE, 128, 64, n_mels=16),
        "log mel": lambda: A.LogMelSpectrogram(RATE, 128, 64, n_mels=16, top_db=60.0),
        "mfcc": lambda: A.MFCC(RATE, 12, 128, 64, n_mels=16),
    }
    features = made[case]()
    x, y = paddle.to_tensor(waves.astype("float32")), paddle.to_tensor(labels.astype("int64"))
    shape = features(x).shape
    body = fill(nn.Sequential(nn.Conv1D(shape[1], 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * (shape[2] - 2), 3)))

    def loss(waves: Any, labels: Any) -> Any:
        seen = features(waves)
        return F.cross_entropy(body(seen if case == "mel" else seen / 20), labels)

    losses = steps(body, loss, [(x[i : i + 16], y[i : i + 16]) for i in range(0, 64, 16)] * 3, rate=0.01)
    x.stop_gradient = False
    loss(x, y).backward()
    return {"losses": losses, "gradient": x.grad.abs().mean(1), "shape": list(shape)}
