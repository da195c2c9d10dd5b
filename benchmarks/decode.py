"""The example GPT continues a text by a thousand tokens, keeping keys and values; so does the same model in PyTorch."""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from measure import Settings, Spread
from rows import Outcome, add_row, add_section, times

import paddle
from umiak.compiler import statistics

DECODE = add_section("decode", "Decoding")
TOKENS, TURN, WARM_UP = 1000, 50, 40
FACTOR = 2.0
PROMPT = list(range(1, 17))


def example() -> Any:
    """``examples/gpt/model.py`` as a module."""
    path = Path(__file__).parent.parent / "examples" / "gpt" / "model.py"
    spec = importlib.util.spec_from_file_location("gpt_model", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["gpt_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PeerBlock(torch.nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.heads = config.heads
        self.norm1, self.norm2 = (torch.nn.RMSNorm(config.width, eps=1e-5) for _ in range(2))
        linear = torch.nn.Linear
        self.qkv = linear(config.width, 3 * config.width, bias=False)
        self.out = linear(config.width, config.width, bias=False)
        self.gate_up = linear(config.width, 2 * config.hidden, bias=False)
        self.down = linear(config.hidden, config.width, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, cache: list[Any]) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3 * self.heads, width // self.heads)
        qk, v = qkv.split([2 * self.heads, self.heads], 2)
        a, b = qk.chunk(2, -1)
        q, k = torch.cat([a * cos - b * sin, b * cos + a * sin], -1).chunk(2, 2)
        if cache:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        cache[:] = [k, v]
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=length > 1
        )
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Peer(torch.nn.Module):
    """The example's model, layer by layer, in PyTorch."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.embedding = torch.nn.Embedding(config.vocab_size, config.width)
        self.blocks = torch.nn.ModuleList([PeerBlock(config) for _ in range(config.layers)])
        self.norm = torch.nn.RMSNorm(config.width, eps=1e-5)
        half = config.head_dim // 2
        angles = torch.arange(config.context).view(-1, 1, 1) * torch.exp(torch.arange(half) * (-math.log(1e4) / half))
        self.cos, self.sin = angles.cos(), angles.sin()

    def load(self, model: Any) -> Peer:
        """Take over the weights; a Linear of ours keeps them transposed."""
        state = {}
        for name, value in model.state_dict().items():
            array = torch.tensor(value.numpy())
            name = name.replace("attention.", "").replace("mlp.", "")
            state[name] = array.T if array.ndim == 2 and not name.startswith("embedding") else array
        self.load_state_dict(state)
        return self

    def forward(self, ids: torch.Tensor, caches: list[list[Any]]) -> torch.Tensor:
        start = caches[0][0].shape[1] if caches[0] else 0
        cos, sin = (t[start : start + ids.shape[1]] for t in (self.cos, self.sin))
        x = self.embedding(ids)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cos, sin, cache)
        return self.norm(x) @ self.embedding.weight.T

    @torch.no_grad()
    def generate(self, ids: list[int], count: int, temperature: float = 0.8, top_k: int = 40) -> Iterator[int]:
        caches: list[list[Any]] = [[] for _ in self.blocks]
        fresh = list(ids)
        for _ in range(count):
            logits = self(torch.tensor([fresh]), caches)[0, -1]
            values, indices = torch.topk(logits, top_k)
            choice = torch.multinomial(torch.softmax(values / temperature, -1), 1)
            fresh = [int(indices[int(choice)])]
            yield fresh[0]


def compiles() -> int:
    """Kernels that were asked for so far, wherever their code came from."""
    return sum(map(statistics.total, statistics.COUNTS))


def spend(tokens: Iterator[int], count: int) -> float:
    begin = time.process_time()
    for _ in range(count):
        next(tokens)
    return time.process_time() - begin


def measure(settings: Settings) -> Outcome:
    gpt = example()
    tokens = 2 * TURN if settings.check else TOKENS
    config = gpt.Config(vocab_size=512, context=len(PROMPT) + TOKENS)
    paddle.seed(0)
    model = gpt.GPT(config)
    model.eval()
    peer = Peer(config).load(model)
    ours, theirs = (list(m.generate(PROMPT, WARM_UP, top_k=1)) for m in (model, peer))
    if ours != theirs:
        raise RuntimeError(f"[decode] requires the tokens {theirs}, got {ours}")
    for m in (model, peer):
        list(m.generate(PROMPT, WARM_UP))
    before = compiles()
    took: list[list[float]] = [[], []]
    repeats = 1 if settings.check else 3
    for _ in range(repeats):
        runs = [m.generate(PROMPT, tokens) for m in (model, peer)]
        for i in range(tokens // TURN):
            for which in (0, 1) if i % 2 == 0 else (1, 0):
                took[which].append(spend(runs[which], TURN))
    compiled = compiles() - before
    if settings.fastest:
        took = [[min(side[i :: tokens // TURN]) for i in range(tokens // TURN)] for side in took]
        repeats = 1
    rates = [repeats * tokens / sum(side) for side in took]
    ratio = Spread.of([b / a for a, b in zip(*took, strict=True)])
    whole = rates[0] / rates[1]
    return Outcome(
        f"{rates[0]:,.0f} tokens/s, {compiled} compiles after warm-up",
        f"{rates[1]:,.0f} tokens/s",
        times(Spread(whole, ratio.low, ratio.high)),
        whole >= FACTOR and compiled == 0,
    )


add_row(
    "decode", f"{TOKENS:,} tokens of the example GPT, one by one, keys and values kept",
    f"0 compiles after warm-up, PyTorch takes ≥ {FACTOR:g}×", measure, DECODE,
)  # fmt: skip
