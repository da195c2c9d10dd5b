"""The next values of a series by a GRU and by convolutions that look back only; intervals by quantile losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, steps

import paddle
from paddle import nn

CASES = ("gru", "convolution")
QUANTILES = (0.1, 0.5, 0.9)


def run(case: str) -> dict[str, Any]:
    rng = np.random.RandomState(0)
    t = np.arange(240)
    series = (np.sin(t / 6) + 0.3 * np.sin(t / 2.5) + 0.1 * rng.standard_normal(240)).astype("float32")
    windows = np.stack([series[i : i + 24] for i in range(200)])
    x, y = paddle.to_tensor(windows[:, :20, None]), paddle.to_tensor(windows[:, 20:])
    head = nn.Linear(12, 4 * len(QUANTILES))
    if case == "gru":
        model = fill(nn.LayerList([nn.GRU(1, 12), head]))
    else:
        model = fill(nn.LayerList([nn.Conv1D(1, 12, 3, dilation=1), nn.Conv1D(12, 12, 3, dilation=2), head]))

    def forecast(x: Any) -> Any:
        if case == "gru":
            seen = model[0](x)[1][-1]
        else:
            seen = x.transpose([0, 2, 1])
            for layer, back in zip(model[:-1], (2, 4)):
                seen = paddle.nn.functional.relu(layer(paddle.nn.functional.pad(seen, [back, 0], data_format="NCL")))
            seen = seen[:, :, -1]
        return model[-1](seen).reshape([-1, 4, len(QUANTILES)])

    def loss(x: Any, y: Any) -> Any:
        apart = y.unsqueeze(2) - forecast(x)
        q = paddle.to_tensor(QUANTILES)
        return paddle.maximum(q * apart, (q - 1) * apart).mean()

    batches = [(x[i : i + 40], y[i : i + 40]) for i in range(0, 200, 40)] * 3
    losses = steps(model, loss, batches, rate=0.1)
    with paddle.no_grad():
        return {"losses": losses, "forecast": forecast(x[-2:])}
