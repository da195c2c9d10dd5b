"""Inference of a 6-layer transformer encoder, 384 wide, on 8 × 128 positions.

PyTorch has two ways: layers in evaluation run as one fused op each (its fast path), or part by part. Both are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from measure import Settings, Side
from rows import Pair, add_section, faster

import paddle
from paddle import nn

ENCODER = add_section("encoder", "Inference of an encoder")
WIDTH, HEADS, HIDDEN, LAYERS, SHAPE = 384, 6, 1536, 6, (8, 128)
FACTOR = 1.1


@contextmanager
def inference(fast: bool) -> Iterator[None]:
    """Evaluation without gradients on both sides, PyTorch with its fast path or without it."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(fast)
    try:
        with torch.inference_mode(), paddle.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def encoders(activation: str) -> tuple[Any, Any]:
    """Ours and PyTorch's, with the same weights."""
    words: dict[str, Any] = {"dropout": 0.1, "activation": activation}
    ours = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, **words), LAYERS)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True, **words)
    theirs = torch.nn.TransformerEncoder(layer, LAYERS)
    state = {}
    for i, mine in enumerate(ours.layers):
        part = {name: torch.from_numpy(p.numpy().copy()) for name, p in mine.state_dict().items()}
        part = {name: t.T if t.ndim == 2 else t for name, t in part.items()}
        for kind in ("weight", "bias"):
            three = [part.pop(f"self_attn.{p}_proj.{kind}") for p in "qkv"]
            part[f"self_attn.in_proj_{kind}"] = torch.cat(three)
        state |= {f"layers.{i}.{name}": t for name, t in part.items()}
    theirs.load_state_dict(state)
    ours.eval()
    return ours, theirs.eval()


def pair(activation: str, fast: bool, settings: Settings) -> Pair:
    ours, theirs = encoders(activation)
    x = np.random.default_rng(0).standard_normal((*SHAPE, WIDTH), dtype=np.float32)
    mine, peers = paddle.to_tensor(x), torch.from_numpy(x)
    with inference(fast):
        np.testing.assert_allclose(ours(mine).numpy(), theirs(peers).numpy(), rtol=1e-4, atol=1e-4)
    within = partial(inference, fast)
    return Side("f(x)", {"f": ours, "x": mine}, within=within), Side("f(x)", {"f": theirs, "x": peers}, within=within)


for _activation in ("relu", "gelu"):
    for _fast, _end in ((True, ""), (False, "-parts")):
        _what = f"6 layers, 384 wide, 6 heads, {_activation}, 8 × 128; PyTorch {'fused' if _fast else 'part by part'}"
        _name = f"encoder-{_activation}{_end}"
        faster(_name, _what, FACTOR, section=ENCODER)(partial(pair, _activation, _fast))
