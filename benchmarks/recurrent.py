"""Training steps of recurrent networks: forward, mean square error, gradients, SGD."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from measure import Settings, Side
from rows import Pair, add_section, faster

import paddle

RNN = add_section("rnn", "Recurrent networks, a training step")
LAYERS, WIDTH, STEPS, BATCH = 2, 256, 64, 16
OURS = "loss(net(x)[0], y).backward(); optimizer.step(); optimizer.clear_grad()"
PEER = "loss(net(x)[0], y).backward(); optimizer.step(); optimizer.zero_grad()"


def pair(name: str, peer: Any) -> Pair:
    """The same network, weights and data on both sides; the losses of the first steps agree."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((BATCH, STEPS, WIDTH)).astype("float32") for _ in range(2))
    net, theirs = getattr(paddle.nn, name)(WIDTH, WIDTH, LAYERS), peer(WIDTH, WIDTH, LAYERS, batch_first=True)
    for key, p in theirs.named_parameters():
        getattr(net, key).set_value(p.detach().numpy())
    ours: dict[str, Any] = {
        "net": net,
        "loss": paddle.nn.functional.mse_loss,
        "optimizer": paddle.optimizer.SGD(0.01, parameters=net.parameters()),
        "x": paddle.to_tensor(x),
        "y": paddle.to_tensor(y),
    }
    other: dict[str, Any] = {
        "net": theirs,
        "loss": torch.nn.functional.mse_loss,
        "optimizer": torch.optim.SGD(theirs.parameters(), lr=0.01),
        "x": torch.from_numpy(x),
        "y": torch.from_numpy(y),
    }
    for _ in range(2):
        losses = []
        for code, names in ((OURS, ours), (PEER, other)):
            exec(code, names)
            losses.append(float(names["loss"](names["net"](names["x"])[0].detach(), names["y"])))
        if abs(losses[0] - losses[1]) > 1e-5:
            raise RuntimeError(f"[rnn] requires equal losses, got {losses[0]} and {losses[1]}")
    return Side(OURS, ours), Side(PEER, other)


for _name, _peer, _factor in (
    ("LSTM", torch.nn.LSTM, 1.2),
    ("GRU", torch.nn.GRU, 1.2),
    ("SimpleRNN", torch.nn.RNN, 1.2),
):

    @faster(f"{_name.lower()}-step", f"`nn.{_name}`, {LAYERS} × {WIDTH}, {STEPS} steps, batch {BATCH}", _factor, 1, RNN)
    def _step(settings: Settings, name: str = _name, peer: Any = _peer) -> Pair:
        return pair(name, peer)
