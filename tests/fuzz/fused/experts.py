"""Experts, numbers of theirs, and weights of 8 and 4 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
import paddle.incubate.nn.functional as FF
from paddle.nn import quant
from tests.fuzz.fused.record import Call, chosen, normal, softmax, swiglu

BITS = {"int8": 127, "int4": 7}


def fused_moe(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Experts, all of whose scores differ enough for narrow dtypes to choose the same."""
    experts, k = chosen(fixed, (1, 1), (4, 1), (4, 2), (6, 3), (5, 5))
    grouped, shares, scored = (
        bool(fixed.integers(2)) and experts % k == 0,
        bool(fixed.integers(2)),
        bool(fixed.integers(2)),
    )
    method = chosen(fixed, "None", "None", "weight_only_int8", "weight_only_int4")
    biased = bool(fixed.integers(2))
    width, inner = (16, 16) if method != "None" else (chosen(fixed, 1, 5, 8), chosen(fixed, 1, 3, 8))
    batch, n = int(rng.integers(0, 3)), int(rng.choice([0, 1, 3, 9]))
    x = normal(rng, batch, n, width)
    scores = rng.permuted(np.broadcast_to(np.arange(experts) * 0.5, (batch, n, experts)), axis=-1)
    weights = [normal(rng, experts, width, 2 * inner) / 4, normal(rng, experts, inner, width) / 4]
    biases = [normal(rng, experts, 1, 2 * inner), normal(rng, experts, 1, width)] if biased else []
    scales: list[np.ndarray] = []
    if method != "None":
        kind = method.removeprefix("weight_only_")
        stored, scales = [], []
        for w in weights:
            made = [quant.weight_quantize(paddle.to_tensor(e.astype("float32")), method) for e in w]
            stored.append(np.stack([m[0].numpy() for m in made]))
            scales.append(np.stack([m[1].numpy().astype("float64") for m in made]))
        weights = stored
    # A matrix gives the scores of tokens that are given as scores, in one call the same.
    arrays = (x, scores if scored or grouped or width == 1 else normal(rng, width, experts), *weights, *biases, *scales)
    count = 2 + 2 * biased

    def ours(x: Any, gate: Any, *rest: Any) -> Any:
        (w1, w2), (b1, b2), (s1, s2) = rest[:2], rest[2:count] or (None, None), rest[count:] or (None, None)
        return FF.fused_moe(x, gate, w1, w2, b1, s1, b2, s2, method, k, shares, grouped)

    def judge(x: Any, gate: Any, *rest: Any) -> Any:
        (w1, w2), (b1, b2) = rest[:2], rest[2:count] or (np.zeros((experts, 1, 1)),) * 2
        if method != "None":
            w1, w2 = (
                np.stack([restored(e, s, kind) for e, s in zip(w, scale, strict=True)])
                for w, scale in zip((w1, w2), rest[count:], strict=True)
            )  # fmt: skip
        scores = (x @ gate if gate.ndim == 2 else gate).reshape(-1, experts)
        parts = scores.reshape(-1, k, experts // k) if grouped else scores[:, None]
        shares_of = softmax(parts)
        each = 1 if grouped else k
        best = np.argsort(-parts, -1, kind="stable")[..., :each]
        weight = np.take_along_axis(shares_of, best, -1).reshape(-1, k)
        which = (best + (np.arange(k) * (experts // k))[:, None] if grouped else best).reshape(-1, k)
        weight = weight / weight.sum(-1, keepdims=True) if shares else weight
        tokens, out = x.reshape(-1, width), np.zeros((x.shape[0] * x.shape[1], width))
        for t, e in np.ndindex(which.shape):
            expert = which[t, e]
            made = swiglu(tokens[t] @ w1[expert] + b1[expert, 0]) @ w2[expert] + b2[expert, 0]
            out[t] += weight[t, e] * made
        return out.reshape(x.shape)

    text = f"fused_moe {experts, k} {method} grouped={grouped} shares={shares} bias={biased} scores={arrays[1].ndim}"
    floats = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f" and i < 2 + count)
    dtypes = ("float64", "float32", "float16", "bfloat16") if method == "None" else ("float32",)
    # Scores are of float32.
    return Call(text, ours, judge, arrays, floats, dtypes=dtypes, names=("fused_moe",), tolerance=1e-5)


def restored(stored: np.ndarray, scale: np.ndarray, kind: str, group: int = -1) -> np.ndarray:
    """``[inputs, outputs]`` of stored numbers, of which a byte has the outputs 2 i and 2 i + 1 in 4 bits."""
    numbers = stored.astype("int64")
    if kind == "int4":
        low, high = (numbers & 15 ^ 8) - 8, numbers >> 4
        numbers = np.stack([low, high], 1).reshape(-1, stored.shape[1])
    each = np.repeat(scale, group, 0) if group > 0 else scale
    return numbers.T * each


def weight_only_linear(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    name = chosen(fixed, "weight_only_linear", "weight_only_linear", "weight_dequantize", "llm_int8_linear")
    kind, group = chosen(fixed, "int8", "int4"), chosen(fixed, -1, 64, 128)
    if name == "llm_int8_linear":
        kind, group = "int8", -1
    biased = bool(fixed.integers(2))
    inputs = chosen(fixed, 128, 256, 384) if group > 0 else chosen(fixed, 16, 48, 80)
    outputs = chosen(fixed, 16, 48, 144)
    lead = [int(rng.choice([0, 1, 2, 3, 17])) for _ in range(int(fixed.integers(1, 3)))]
    algorithm = "llm.int8" if name == "llm_int8_linear" else f"weight_only_{kind}"
    stored, scale = quant.weight_quantize(
        paddle.to_tensor(normal(rng, inputs, outputs).astype("float32")), algorithm, group_size=group
    )
    arrays = (normal(rng, *lead, inputs), stored.numpy(), np.round(scale.numpy().astype("float64") * 1024) / 1024)
    arrays = (*arrays, *[normal(rng, outputs)] * biased)
    if name == "weight_dequantize":
        arrays = arrays[1:3]

    def ours(x: Any, weight: Any, scale: Any = None, bias: Any = None) -> Any:
        if name == "weight_dequantize":
            return quant.weight_dequantize(x, weight, algorithm, group_size=group)
        if name == "llm_int8_linear":
            return quant.llm_int8_linear(x, weight, bias, scale.astype("float32"), 6.0)
        return quant.weight_only_linear(x, weight, bias, scale, kind, group_size=group)

    def judge(x: Any, weight: Any, scale: Any = None, bias: Any = 0.0) -> Any:
        if name == "weight_dequantize":
            return restored(x, weight, kind, group)
        if name == "llm_int8_linear":
            step = np.abs(x).max(-1, keepdims=True, initial=0) / 127
            x = np.rint(x / np.where(step == 0, 1, step)) * step
        return x @ restored(weight, scale, kind, group) + bias

    text = f"{name} {kind} groups of {group} {inputs, outputs} bias={biased}"
    differentiable = (0, 3)[: 1 + biased] if name == "weight_only_linear" else ()
    tolerance = 0.02 if name == "llm_int8_linear" else 1e-4  # rounding of x may go the other way
    return Call(text, ours, judge, arrays, differentiable, dtypes=("float32", "float16", "bfloat16"), names=(name,),
                tolerance=tolerance)  # fmt: skip


def per_channel(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    arrays = (normal(rng, int(rng.choice([0, 1, 5])), 7), normal(rng, 7))
    return Call("apply_per_channel_scale", quant.apply_per_channel_scale, lambda x, s: x * s, arrays, (0, 1),
                dtypes=("float32", "float16", "bfloat16"), names=("apply_per_channel_scale",))  # fmt: skip


def counts(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    low, span, other = int(fixed.integers(0, 4)), int(fixed.integers(0, 9)), chosen(fixed, None, "int32", "int64")
    dtype = chosen(fixed, "int32", "int64")
    arrays = (rng.integers(0, 12, (int(rng.choice([0, 1, 5, 40])), 2)).astype(dtype),)

    def ours(x: Any) -> Any:
        return FF.int_bincount(x, low, low + span, other)

    def judge(x: Any) -> Any:
        return np.array([(x == v).sum() for v in range(low, low + span)]).reshape(span).astype(other or dtype)

    return Call(f"int_bincount from {low}, {span} {other} {dtype}", ours, judge, arrays, names=("int_bincount",))


def expanded(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    n, group, offset = (int(fixed.integers(*ends)) for ends in ((-1, 4), (0, 5), (0, 2)))
    grouped, dtype = bool(fixed.integers(2)), chosen(fixed, "int32", "int64")
    arrays = (rng.integers(0, 12, (int(rng.choice([0, 1, 5])), 3)).astype(dtype),)

    def ours(x: Any) -> Any:
        return FF.expand_modality_expert_id(x, n, group, offset, grouped)

    def judge(x: Any) -> Any:
        x = (x + np.arange(3) * group).astype(dtype) if grouped else x
        return x if n <= 0 else (2 * n * (x // n) + x % n + offset * n).astype(dtype)

    text = f"expand_modality_expert_id {n, group, offset, grouped} {dtype}"
    return Call(text, ours, judge, arrays, names=("expand_modality_expert_id",))


def longest(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    dtype, rank, batch = chosen(fixed, "int32", "int64"), int(fixed.integers(1, 3)), int(rng.integers(1, 6))
    arrays = tuple(rng.integers(0, 99, (batch, 1)[:rank]).astype(dtype) for _ in range(2))

    def judge(a: Any, b: Any, c: Any) -> Any:
        return tuple(np.array([x.reshape(-1)[: len(c)].max()]).astype("int32") for x in (a, b))

    arrays = (*arrays, np.zeros((int(rng.integers(1, batch + 1)), 1)))
    names = ("blha_get_max_len",)
    return Call(f"blha_get_max_len {rank} {dtype}", FF.blha_get_max_len, judge, arrays, names=names)


def ranks(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    local, experts = chosen(fixed, (1, 3), (2, 4), (3, 3))
    counts = [int(v) for v in fixed.integers(0, 4, experts)]

    def ours(x: Any) -> Any:
        return FF.build_src_rank_and_local_expert_id(x, counts, local)

    def judge(x: Any) -> Any:
        expert = np.repeat(np.arange(experts), counts).astype("int32")
        return expert // local, expert % local

    text, names = f"build_src_rank_and_local_expert_id {counts} {local}", ("build_src_rank_and_local_expert_id",)
    return Call(text, ours, judge, (np.array(counts),), names=names)


def transposed_codes(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """``fused_transpose_wlch_split_quant``: what its codes and scales stand for."""
    ranks, experts, place, width = int(fixed.integers(1, 3)), int(fixed.integers(1, 3)), 64, chosen(fixed, 4, 16)
    pow2 = bool(fixed.integers(2))
    total = ranks * experts * place
    split = [total] if fixed.integers(2) or total < 256 else [128, total - 128]
    arrays = (rng.standard_normal((ranks, experts, place, width)),)

    def ours(x: Any) -> Any:
        codes, scales = FF.fused_transpose_wlch_split_quant(x, split, pow2)
        return [c.astype("float32") * s.repeat_interleave(128, 0)[: c.shape[1]].T for c, s in zip(codes, scales)]

    def judge(x: Any) -> Any:
        rows = x.transpose(1, 0, 2, 3).reshape(total, width)
        return [part.T for part in np.split(rows, np.cumsum(split)[:-1])]

    text = f"fused_transpose_wlch_split_quant {ranks, experts, width} {split} pow2={pow2}"
    names = ("fused_transpose_wlch_split_quant",)
    # Codes of three bits behind the first.
    return Call(text, ours, judge, arrays, dtypes=("float32", "float16", "bfloat16"), other_dtype=True, names=names,
                tolerance=0.07)  # fmt: skip


FAMILIES = (fused_moe, weight_only_linear, per_channel, counts, expanded, longest, ranks, transposed_codes)
