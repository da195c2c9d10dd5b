"""The GPT of the examples: eager, captured and in PyTorch, from the same weights and data."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle import nn

torch = pytest.importorskip("torch")
T = torch.nn.functional
STEPS = 8


@pytest.fixture(scope="module")
def example():
    folder = str(Path(__file__).parents[2] / "examples" / "gpt")
    sys.path.insert(0, folder)
    try:
        import model

        yield model
    finally:
        sys.path.remove(folder)
        sys.modules.pop("model", None)


def batches():
    rng = np.random.default_rng(1)
    return [rng.integers(0, 64, (2, 3, 16)) for _ in range(STEPS)]


def losses(model, wrap):
    optimizer = paddle.optimizer.AdamW(
        3e-3, parameters=model.parameters(), weight_decay=0.1, grad_clip=nn.ClipGradByGlobalNorm(1.0)
    )

    def step(ids, targets):
        loss = model.loss(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    run = wrap(step)
    return [float(run(*map(paddle.to_tensor, b))) for b in batches()]


def peer_losses(model, config):
    """The same model, written with PyTorch's functions over weights by name."""
    weights = {n: torch.tensor(p.numpy(), requires_grad=True) for n, p in model.named_parameters()}
    optimizer = torch.optim.AdamW(weights.values(), lr=3e-3, weight_decay=0.1)
    cos, sin = (torch.tensor(getattr(model.rotary, n).numpy()) for n in ("cos", "sin"))
    norm_eps = model.norm._epsilon if hasattr(model.norm, "_epsilon") else 1e-5

    def norm(x, name):
        return T.rms_norm(x, (config.width,), weights[name], norm_eps)

    def forward(ids):
        x = weights["embedding.weight"][ids]
        for i in range(config.layers):
            w = {n.removeprefix(f"blocks.{i}."): v for n, v in weights.items() if n.startswith(f"blocks.{i}.")}
            qkv = norm(x, f"blocks.{i}.norm1.weight") @ w["attention.qkv.weight"]
            qk, v = qkv.view(*ids.shape, 3 * config.heads, config.head_dim).split([2 * config.heads, config.heads], 2)
            a, b = qk.chunk(2, -1)
            q, k = torch.cat([a * cos - b * sin, b * cos + a * sin], -1).chunk(2, 2)
            y = T.scaled_dot_product_attention(*(z.transpose(1, 2) for z in (q, k, v)), is_causal=True)
            x = x + y.transpose(1, 2).reshape(*ids.shape, config.width) @ w["attention.out.weight"]
            gate, up = (norm(x, f"blocks.{i}.norm2.weight") @ w["mlp.gate_up.weight"]).chunk(2, -1)
            x = x + (T.silu(gate) * up) @ w["mlp.down.weight"]
        return norm(x, "norm.weight") @ weights["embedding.weight"].T

    found = []
    for ids, targets in batches():
        loss = T.cross_entropy(forward(torch.from_numpy(ids)).flatten(0, 1), torch.from_numpy(targets).flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


def test_curves_agree(example):
    paddle.seed(0)
    config = example.Config(64, 16, 2, 2, 32)
    model = example.GPT(config)
    expected = peer_losses(model, config)
    assert expected[-1] < expected[0]
    for wrap in (lambda f: f, paddle.jit.to_static):
        for recompute in (False, True):
            again = copy.deepcopy(model)
            again.recompute = recompute
            np.testing.assert_allclose(losses(again, wrap), expected, rtol=2e-4)
