"""A language model of 1.1 thousand million numbers writes tokens one by one: as floats and in 8 and 4 bits, against
the rate of memory, against PyTorch and against llama.cpp.

Weights are random, and the same numbers on both sides: PyTorch gets its floats without a copy. Times are the fastest
of the rounds, in processor time, with the rate of reading taken between them: memory belongs to all who use it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from measure import Settings
from models.decoder import Decoder, decoder
from models.decoder_sizes import GROUP, HEAD, LAYERS, PROMPT, WIDTH
from reading import reader
from rows import Outcome, add_row, add_section, duration
from training import Process, by_turns

import paddle
from paddle import nn

LANGUAGE_MODEL = add_section("language_model", "A language model of 1.1B, a token at a time", figure="figure")
ROUNDS = 8
RUNS = {"token": 8, "prompt": 2}  # of a round against another process
SHARES = {"float32": 0.85, "bfloat16": 0.85, "int8": 0.8, "int4": 0.6}


def read_per_token(model: nn.Layer) -> int:
    """Bytes of all weights but the embedding, of which one row is read."""
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return sum(t.numel().item() * t.element_size() for name, t in tensors if name.split(".")[0] in ("blocks", "head"))


class Tokens:
    """A model that continues a prompt, one token at a call; ``step`` is the model, or its capture."""

    def __init__(self, model: Any, ids: Any, caches: list[list[Any]], step: Callable[..., Any] | None = None) -> None:
        self.model, self.ids, self.caches, self.step = model, ids, caches, step or model

    def __call__(self) -> float:
        begin = time.process_time()
        with paddle.no_grad(), torch.no_grad():
            self.ids = self.step(self.ids, self.caches).argmax(-1).reshape([1, 1])
        return time.process_time() - begin


def ours(kind: str, settings: Settings, captured: bool = False) -> Tokens:
    layers = 1 if settings.check else LAYERS
    model = decoder(kind, layers)
    step = paddle.jit.to_static(model.forward) if captured else model
    return Tokens(model, paddle.to_tensor([[1, 2, 3, 4]]), [[] for _ in range(layers)], step)


# --- PyTorch ----------------------------------------------------------------------------------------------------------


def same(t: paddle.Tensor) -> torch.Tensor:
    """The same memory."""
    return torch.from_dlpack(t.detach())


def torch_linear(layer: Any, peer: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """The map of a layer of floats, as PyTorch does it: as it is, in 8 bits, in 4."""
    weight = same(layer.weight)
    if peer == "float32":
        return lambda x: x @ weight
    if peer == "dynamic int8":
        scale = weight.abs().amax().item() / 127
        numbers = torch.quantize_per_tensor(weight.T.contiguous(), scale, 0, torch.qint8)
        packed = torch.ops.quantized.linear_prepack(numbers, None)
        return lambda x: torch.ops.quantized.linear_dynamic(x, packed, False)
    outputs, inputs = weight.shape[1], weight.shape[0]
    groups = weight.T.contiguous().reshape(outputs, inputs // GROUP, GROUP)
    scale = (groups.abs().amax(-1, keepdim=True) / 7).clamp(min=1e-8)
    numbers = (groups / scale).round().clamp(-8, 7).add(8).to(torch.int32).reshape(outputs, inputs)
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(numbers, 1)
    scales = scale.squeeze(-1).T.to(torch.bfloat16)
    scales_and_zeros = torch.stack([scales, torch.zeros_like(scales)], -1).contiguous()
    multiply = torch.ops.aten._weight_int4pack_mm_for_cpu
    return lambda x: multiply(x.flatten(0, -2), packed, GROUP, scales_and_zeros).unflatten(0, x.shape[:-1])


class TorchDecoder:
    """The same decoder in PyTorch, from the floats of ours."""

    def __init__(self, model: Decoder, peer: str) -> None:
        self.dtype = torch.bfloat16 if peer == "int4" else torch.float32
        self.embedding = same(model.embedding.weight).to(self.dtype)
        self.cos, self.sin = (same(t).to(self.dtype) for t in (model.cos, model.sin))
        names = ("q", "k", "v", "out", "gate", "up", "down")
        self.blocks = [{name: torch_linear(getattr(b, name), peer) for name in names} for b in model.blocks]
        self.head = torch_linear(model.head, peer)
        self.ones = torch.ones(WIDTH, dtype=self.dtype)

    def norm(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (WIDTH,), self.ones, 1e-5)

    def __call__(self, ids: torch.Tensor, caches: list[list[Any]]) -> torch.Tensor:
        start = caches[0][0].shape[2] if caches[0] else 0
        cos, sin = (t[start : start + ids.shape[1]].transpose(0, 1) for t in (self.cos, self.sin))
        x = self.embedding[ids]
        for f, cache in zip(self.blocks, caches, strict=True):
            y = self.norm(x)
            q, k, v = (f[n](y).unflatten(-1, (-1, HEAD)).transpose(1, 2) for n in ("q", "k", "v"))
            (a, b), (c, d) = q.chunk(2, -1), k.chunk(2, -1)
            q = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
            k = torch.cat([c * cos - d * sin, d * cos + c * sin], -1)
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=ids.shape[1] > 1, enable_gqa=True)
            x = x + f["out"](y.transpose(1, 2).flatten(2))
            y = self.norm(x)
            x = x + f["down"](torch.nn.functional.silu(f["gate"](y)) * f["up"](y))
        return self.head(self.norm(x)[:, -1:])[:, 0]


# --- rows -------------------------------------------------------------------------------------------------------------


def fastest(settings: Settings, *sides: Callable[[], float]) -> list[float]:
    """The least that each side returns, taken in turns."""
    for side in sides:
        side(), side(), side()
    rounds = 1 if settings.check else ROUNDS
    return list(map(min, zip(*([side() for side in sides] for _ in range(rounds)), strict=True)))


def against_memory(kind: str, settings: Settings) -> Outcome:
    tokens, read = ours(kind, settings, captured=True), reader()
    took, seconds_per_byte = fastest(settings, tokens, lambda: 1 / read())
    bytes = read_per_token(tokens.model)
    share = bytes * seconds_per_byte / took
    rates = f"{bytes / took / 1e9:.3g} GB/s", f"reading: {1e-9 / seconds_per_byte:.3g} GB/s"
    return Outcome(f"{duration(took)}, {rates[0]}", rates[1], f"{100 * share:.3g} %", share >= SHARES[kind], share)


def against_llama(kind: str, what: str, threads: int, settings: Settings) -> Outcome:
    """Ours, captured, against llama.cpp, each in a process of its own, by turns.

    ``PEER_LLAMA_PYTHON`` names the other's interpreter.
    """
    layers, python = str(1 if settings.check else LAYERS), os.environ.get("PEER_LLAMA_PYTHON", "")
    if not python:
        if settings.check:
            return Outcome("–", "–", "–", False)
        raise RuntimeError(
            "[language_model] requires PEER_LLAMA_PYTHON, an interpreter that has llama-cpp-python and gguf, got none"
        )
    arguments = [kind, what, str(threads), layers]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Process(p, ["models.decoder_worker", side, *arguments], settings, threads, {}))
            for p, side in ((sys.executable, "ours"), (python, "peer"))
        ]
        took, other = by_turns(workers, *((1, 1) if settings.check else (ROUNDS, RUNS[what])))
    return Outcome(duration(took), duration(other), f"{other / took:.3g}×", other / took >= 1.0, other / took)


def against_torch(kind: str, peer: str, factor: float, settings: Settings) -> Outcome:
    layers = 1 if settings.check else LAYERS
    theirs = Tokens(
        TorchDecoder(decoder("float32", layers), peer), torch.tensor([[1, 2, 3, 4]]), [[] for _ in range(layers)]
    )
    took, other = fastest(settings, ours(kind, settings), theirs)
    ratio = other / took
    return Outcome(duration(took), duration(other), f"{ratio:.3g}×", ratio >= factor, ratio)


def prefill(model: Any, ids: Any) -> float:
    layers = len(model.blocks)
    begin = time.process_time()
    with paddle.no_grad(), torch.no_grad():
        model(ids, [[] for _ in range(layers)])
    return time.process_time() - begin


def prompt(kind: str, against: str, factor: float, settings: Settings) -> Outcome:
    layers = 1 if settings.check else LAYERS
    ids = torch.arange(PROMPT).reshape(1, -1)
    model = decoder("float32", layers)
    side = TorchDecoder(model, "float32") if against == "PyTorch" else model
    mine = decoder(kind, layers) if kind != "float32" else model
    words = paddle.to_tensor(ids.numpy())
    took, other = fastest(
        settings, partial(prefill, mine, words), partial(prefill, side, ids if against == "PyTorch" else words)
    )
    ratio = other / took
    return Outcome(duration(took), duration(other), f"{ratio:.3g}×", ratio >= factor, ratio)


for _kind, _share in SHARES.items():
    add_row(
        f"llm_{_kind}_memory", f"a token, {_kind} weights, against reading",
        f"≥ {100 * _share:g} % of the rate of reading", partial(against_memory, _kind), LANGUAGE_MODEL,
    )  # fmt: skip
for _name, _kind, _peer, _factor in (
    ("llm_float32_torch", "float32", "float32", 1.0),
    ("llm_int8_torch", "int8", "dynamic int8", 1.0),
    ("llm_int4_float32", "int4", "float32", 5.0),
    ("llm_int4_torch", "int4", "int4", 1.3),
):
    add_row(
        _name, f"a token, {_kind} weights, against PyTorch with {_peer}", f"PyTorch takes ≥ {_factor:g}×",
        partial(against_torch, _kind, _peer, _factor), LANGUAGE_MODEL,
    )  # fmt: skip
for _name, _kind, _against, _factor in (
    ("llm_prompt_float32", "float32", "PyTorch", 1.15),
    ("llm_prompt_bfloat16", "bfloat16", "our float32", 1.6),
):
    add_row(
        _name, f"a prompt of {PROMPT} tokens, {_kind}, against {_against}", f"it takes ≥ {_factor:g}×",
        partial(prompt, _kind, _against, _factor), LANGUAGE_MODEL,
    )  # fmt: skip
for _kind, _theirs in (("int8", "Q8_0"), ("int4", "Q4_0")):
    for _what, _words in (("token", "a token"), ("prompt", f"a prompt of {PROMPT} tokens")):
        for _threads, _end, _word in ((1, "", "1 thread"), (2, "_two", "2 threads")):
            add_row(
                f"llm_{_kind}_llama_{_what}{_end}",
                f"{_words}, {_kind} weights, against llama.cpp with {_theirs}, {_word}",
                "it takes ≥ 1×", partial(against_llama, _kind, _what, _threads), LANGUAGE_MODEL,
            )  # fmt: skip
