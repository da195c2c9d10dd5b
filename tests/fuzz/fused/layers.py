"""Norms, activations, linear maps and rotary embedding by their fused names, and the layers made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
import paddle.incubate.nn.functional as FF
from paddle.incubate import nn
from tests.fuzz.fused.attention import attend, transposed
from tests.fuzz.fused.record import Call, chosen, gelu, gelu_by_tanh, normal, sigmoid, swiglu

SMALL = (1, 2, 3, 7, 16, 33)


def shape_of(fixed: np.random.Generator, rng: np.random.Generator, rank: int = 0) -> list[int]:
    """Leading sizes, of which one may be 0; the last is that of the features."""
    rank = rank or int(fixed.integers(1, 4))
    return [int(rng.choice([0, 1, 2, 5, 17])) for _ in range(rank)] + [chosen(fixed, *SMALL)]


def rms(x: np.ndarray, epsilon: float) -> np.ndarray:
    return 1 / np.sqrt((x**2).mean(-1) + epsilon)


def normalised(x: np.ndarray, epsilon: float) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def rows_of(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """A norm of rows with its factors."""
    name = chosen(fixed, "fused_rms_norm_ext", "fast_rms_norm", "fast_ln")
    epsilon, function = chosen(fixed, 1e-5, 0.1), getattr(FF, name)
    shape = shape_of(fixed, rng)
    arrays = (normal(rng, *shape), normal(rng, shape[-1]), normal(rng, shape[-1]))[: 3 if name == "fast_ln" else 2]

    def ours(x: Any, *rest: Any) -> Any:
        return function(x, *rest, epsilon)

    def judge(x: Any, scale: Any, bias: Any = None) -> Any:
        if bias is None:
            factor = rms(x, epsilon)
            return x * factor[..., None] * scale, factor.reshape(-1)
        factor = 1 / np.sqrt(x.var(-1) + epsilon)
        return normalised(x, epsilon) * scale + bias, x.mean(-1).reshape(-1), factor.reshape(-1)

    # A row of one element has a variance of 0.
    return Call(f"{name} {epsilon}", ours, judge, arrays, tuple(range(len(arrays))), names=(name,), tolerance=1e-8)


def fused_norm(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    name = chosen(fixed, "fused_rms_norm", "fused_layer_norm")
    epsilon, rank = chosen(fixed, 1e-5, 0.1), int(fixed.integers(2, 4))
    begin = int(fixed.integers(1, rank))
    biased, added, shifted = (bool(v) for v in fixed.integers(0, 2, 3))
    alpha = chosen(fixed, 1.0, 0.5) if name == "fused_layer_norm" else 1.0
    shape = [int(rng.choice([0, 1, 3, 17])) for _ in range(begin)] + [
        chosen(fixed, 1, 2, 5, 16) for _ in range(rank - begin)
    ]
    wide = int(np.prod(shape[begin:]))
    arrays = [normal(rng, *shape), normal(rng, wide)]
    arrays += [normal(rng, wide)] * shifted + [normal(rng, wide)] * biased + [normal(rng, *shape)] * added

    def split(rest: tuple) -> tuple:
        rest = list(rest)
        return tuple(rest.pop(0) if there else None for there in (shifted, biased, added))

    def ours(x: Any, weight: Any, *rest: Any) -> Any:
        shift, bias, residual = split(rest)
        more = {} if name == "fused_rms_norm" else {"residual_alpha": alpha}
        found = getattr(FF, name)(
            x, weight, shift, epsilon, begin_norm_axis=begin, bias=bias, residual=residual, **more
        )
        return found[:2] if added else found[0]

    def judge(x: Any, weight: Any, *rest: Any) -> Any:
        shift, bias, residual = split(rest)
        z = x.reshape(*x.shape[:begin], wide)
        z = z if bias is None else z + bias
        z = z if residual is None else z + alpha * residual.reshape(z.shape)
        out = z * rms(z, epsilon)[..., None] if name == "fused_rms_norm" else normalised(z, epsilon)
        out = (out * weight + (0 if shift is None else shift)).reshape(x.shape)
        return (out, z.reshape(x.shape)) if added else out

    text = f"{name} {epsilon} from {begin} of {rank} bias={biased} residual={added} shift={shifted} {alpha}"
    return Call(text, ours, judge, tuple(arrays), tuple(range(len(arrays))), names=(name,), tolerance=1e-8)


def residual_norm(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Functions that add a residual behind a dropout of nothing, or in evaluation."""
    mode, p = chosen(fixed, "upscale_in_train", "downscale_in_infer"), chosen(fixed, 0.0, 0.25)
    name = chosen(fixed, "fused_dropout_add", "fused_bias_dropout_residual_layer_norm", "FusedDropoutAdd")
    shape = shape_of(fixed, rng, int(fixed.integers(1, 3)))
    factor = 1 - p if mode == "downscale_in_infer" else 1.0
    arrays = (normal(rng, *shape), normal(rng, *shape), *(normal(rng, shape[-1]) for _ in range(3)))
    arrays = arrays if name.startswith("fused_bias") else arrays[:2]
    added = nn.FusedDropoutAdd(p, mode).eval()

    def ours(x: Any, y: Any, *rest: Any) -> Any:
        if rest:
            return FF.fused_bias_dropout_residual_layer_norm(x, y, *rest, p, 1e-5, False, mode)
        return added(x, y) if name == "FusedDropoutAdd" else FF.fused_dropout_add(x, y, p, False, mode)

    def judge(x: Any, y: Any, *rest: Any) -> Any:
        if not rest:
            return x * factor + y
        bias, scale, shift = rest
        return normalised((x + bias) * factor + y, 1e-5) * scale + shift

    return Call(f"{name} {p} {mode}", ours, judge, arrays, tuple(range(len(arrays))), names=(name,), tolerance=1e-8)


def layer(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Layers of ``paddle.incubate.nn``, with parameters of their own; gradients reach the input."""
    kind = chosen(fixed, "FusedLinear", "FusedFeedForward", "FusedMultiHeadAttention", "FusedTransformerEncoderLayer",
                  "FusedBiasDropoutResidualLayerNorm", "FusedMultiTransformer")  # fmt: skip
    first, width, heads = bool(fixed.integers(2)), 6, chosen(fixed, 1, 2, 3)
    activation = chosen(fixed, "relu", "gelu")
    paddle.set_default_dtype("float64")
    paddle.seed(int(fixed.integers(1 << 30)))
    try:
        if kind == "FusedLinear":
            made = nn.FusedLinear(width, 5, transpose_weight=first)
        elif kind == "FusedFeedForward":
            made = nn.FusedFeedForward(width, 9, 0.0, activation=activation, normalize_before=first)
        elif kind == "FusedMultiHeadAttention":
            made = nn.FusedMultiHeadAttention(width, heads, 0.0, 0.0, normalize_before=first)
        elif kind == "FusedTransformerEncoderLayer":
            made = nn.FusedTransformerEncoderLayer(width, heads, 9, 0.0, activation=activation, normalize_before=first)
        elif kind == "FusedMultiTransformer":
            made = nn.FusedMultiTransformer(width, heads, 9, activation="gelu", num_layers=2, normalize_before=True)
        else:
            made = nn.FusedBiasDropoutResidualLayerNorm(width, 0.0)
    finally:
        paddle.set_default_dtype("float32")
    for parameter in made.parameters():
        parameter.set_value(paddle.to_tensor(normal(fixed, *parameter.shape) * 0.5).astype(parameter.dtype))
    made.eval()
    p = {name: x.numpy() for name, x in made.named_parameters()}
    shape = (int(rng.integers(1, 3)), int(rng.choice([1, 2, 5, 9])), width)
    arrays = (normal(rng, *shape),) * (2 if kind == "FusedBiasDropoutResidualLayerNorm" else 1)

    def act(x: np.ndarray, name: str) -> np.ndarray:
        return gelu(x) if name == "gelu" else np.maximum(x, 0)

    def norm(x: np.ndarray, scale: Any, shift: Any) -> np.ndarray:
        return normalised(x, 1e-5) * scale + shift

    def feed(x: np.ndarray, at: str = "") -> np.ndarray:
        w = {
            name: p[f"{at}{name}"] for name in ("_linear1_weight", "_linear1_bias", "_linear2_weight", "_linear2_bias")
        }
        ln = [p[f"{at}_ln{1 if first else 2}_{part}"] for part in ("scale", "bias")]
        y = norm(x, *ln) if first else x
        y = (
            act(y @ w["_linear1_weight"] + w["_linear1_bias"], activation) @ w["_linear2_weight"]
            + w["_linear2_bias"]
            + x
        )
        return y if first else norm(y, *ln)

    def heads_of(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, seen: Any = True) -> np.ndarray:
        q, k, v = np.moveaxis(np.einsum("bsw,thdw->bsthd", x, weight) + bias, 2, 0)
        return transposed(attend(*transposed(q, k, v), seen).out)[0].reshape(*x.shape[:2], -1)

    def attention(x: np.ndarray, at: str = "") -> np.ndarray:
        ln = [p[f"{at}{'pre_ln' if first else 'ln'}_{part}"] for part in ("scale", "bias")]
        y = heads_of(norm(x, *ln) if first else x, p[f"{at}qkv_weight"], p[f"{at}qkv_bias"])
        y = y @ p[f"{at}linear_weight"] + p[f"{at}linear_bias"] + x
        return y if first else norm(y, *ln)

    def judge(x: Any, y: Any = None) -> Any:
        if kind == "FusedLinear":
            return x @ (p["weight"].T if first else p["weight"]) + p["bias"]
        if kind == "FusedFeedForward":
            return feed(x)
        if kind == "FusedMultiHeadAttention":
            return attention(x)
        if kind == "FusedTransformerEncoderLayer":
            return feed(attention(x, "fused_attn."), "ffn.")
        if kind == "FusedBiasDropoutResidualLayerNorm":
            return norm(x + p["linear_bias"] + y, p["ln_scale"], p["ln_bias"])
        return stage(stage(x, 0), 1)

    def stage(x: np.ndarray, i: int) -> np.ndarray:
        def w(name: str) -> np.ndarray:
            there = getattr(made, name)[i] if getattr(made, name) else None
            return np.zeros(()) if there is None else there.numpy()

        y = norm(x, w("ln_scales"), w("ln_biases"))
        x = x + heads_of(y, w("qkv_weights"), w("qkv_biases")) @ w("linear_weights") + w("linear_biases")
        y = norm(x, w("ffn_ln_scales"), w("ffn_ln_biases"))
        return x + gelu(y @ w("ffn1_weights") + w("ffn1_biases")) @ w("ffn2_weights") + w("ffn2_biases")

    text = f"{kind} first={first} heads={heads} {activation}"
    return Call(
        text, made, judge, arrays, tuple(range(len(arrays))), dtypes=("float64",), names=(kind,), tolerance=1e-8
    )


def linear(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    name = chosen(fixed, "fused_linear", "fused_matmul_bias", "fused_linear_activation")
    flipped_y, flipped_x, biased = (bool(v) for v in fixed.integers(0, 2, 3))
    activation = chosen(fixed, None, "none", "relu", "gelu") if name == "fused_linear_activation" else None
    flipped_x = flipped_x and name != "fused_linear"
    biased = biased or name == "fused_linear_activation"
    k, n = chosen(fixed, *SMALL), chosen(fixed, *SMALL)
    # The transpose of x is that of a matrix, of which it has more dims.
    m, batch = (
        int(rng.choice([0, 1, 3, 17])),
        [int(v) for v in rng.integers(0, 3, 0 if flipped_x else int(fixed.integers(0, 2)))],
    )
    arrays = (normal(rng, *batch, *((k, m) if flipped_x else (m, k))), normal(rng, *((n, k) if flipped_y else (k, n))))
    arrays = (*arrays, *[normal(rng, n)] * biased)

    def ours(x: Any, y: Any, bias: Any = None) -> Any:
        if name == "fused_linear":
            return FF.fused_linear(x, y, bias, flipped_y)
        if name == "fused_matmul_bias":
            return FF.fused_matmul_bias(x, y, bias, flipped_x, flipped_y)
        return FF.fused_linear_activation(x, y, bias, flipped_x, flipped_y, activation)

    def judge(x: Any, y: Any, bias: Any = 0.0) -> Any:
        z = (np.swapaxes(x, -1, -2) if flipped_x else x) @ (y.T if flipped_y else y) + bias
        return {"relu": lambda z: np.maximum(z, 0), "gelu": gelu_by_tanh}.get(activation, lambda z: z)(z)

    text = f"{name} x={flipped_x} y={flipped_y} bias={biased} {activation}"
    return Call(text, ours, judge, arrays, tuple(range(len(arrays))), names=(name,), tolerance=1e-8)


def activation(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    name = chosen(fixed, "swiglu", "fused_bias_act", "swiglu")
    method = chosen(fixed, "gelu", "relu", "geglu", "swiglu")
    two, biased, smoothed = (bool(v) for v in fixed.integers(0, 2, 3))
    shape = shape_of(fixed, rng, int(fixed.integers(1, 3)))
    gated = (name == "fused_bias_act" and method in ("geglu", "swiglu")) or (name == "swiglu" and not two)
    shape[-1] *= 2 if gated else 1
    m = shape[-1] // 2 if gated else shape[-1]
    if name == "swiglu":
        arrays = (normal(rng, *shape),) * (1 + two)
    else:
        arrays = (normal(rng, *shape), *[normal(rng, shape[-1])] * biased, *[normal(rng, m), normal(rng, m)] * smoothed)

    def ours(x: Any, *rest: Any) -> Any:
        if name == "swiglu":
            return FF.swiglu(x, *rest)
        shift, smooth = rest[-2:] if smoothed else (None, None)
        return FF.fused_bias_act(x, rest[0] if biased else None, None, shift, smooth, method)

    def judge(x: Any, *rest: Any) -> Any:
        if name == "swiglu":
            return x * sigmoid(x) * rest[0] if two else swiglu(x)
        x = x + rest[0] if biased else x
        first, second = np.split(x, 2, -1) if gated else (x, 1.0)
        y = {"gelu": gelu, "geglu": gelu, "relu": lambda z: np.maximum(z, 0), "swiglu": lambda z: z * sigmoid(z)}[
            method
        ](first)
        y = y * second
        return (y + rest[-2]) * rest[-1] if smoothed else y

    text = f"{name} {method} two={two} bias={biased} smooth={smoothed}"
    return Call(text, ours, judge, arrays, tuple(range(len(arrays))), names=(name,), tolerance=1e-8)


def rotary(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    neighbours, tables, placed, major = (bool(v) for v in fixed.integers(0, 2, 4))
    given, base = int(fixed.integers(1, 4)), chosen(fixed, 10000.0, 50.0)
    dim, heads = 2 * chosen(fixed, 1, 2, 4, 9), [int(v) for v in fixed.integers(1, 4, 3)]
    batch, n = int(rng.integers(0, 3)), int(rng.choice([0, 1, 3, 8]))
    places = n + (4 if placed else 0)
    lead = (n, batch) if major else (batch, n)
    arrays = [normal(rng, *lead, h, dim) for h in heads[:given]]
    if tables:
        angle = rng.standard_normal((places, dim // 2))
        angle = np.repeat(angle, 2, 1) if neighbours else np.concatenate([angle, angle], 1)
        arrays += [np.sin(angle).astype("float32").astype("float64"), np.cos(angle).astype("float32").astype("float64")]
    if placed:
        arrays.append(rng.integers(0, max(places, 1), (batch, n)))

    def split(rest: tuple) -> tuple:
        qkv, rest = list(rest[:given]), list(rest[given:])
        sin, cos = (rest.pop(0), rest.pop(0)) if tables else (None, None)
        return [*qkv, None, None][:3], sin, cos, rest[0] if placed else None

    def ours(*rest: Any) -> Any:
        qkv, sin, cos, at = split(rest)
        found = FF.fused_rotary_position_embedding(*qkv, sin, cos, at, neighbours, major, base)
        return [x for x in found if x is not None]

    def judge(*rest: Any) -> Any:
        qkv, sin, cos, at = split(rest)
        results = []
        for x in qkv[:given]:
            x = np.swapaxes(x, 0, 1) if major else x
            rows = np.broadcast_to(np.arange(x.shape[1]), x.shape[:2]) if at is None else at
            if sin is None:
                angle = rows[..., None] * base ** (-np.arange(0, dim, 2) / dim)
                angle = np.repeat(angle, 2, -1) if neighbours else np.concatenate([angle, angle], -1)
                s, c = np.sin(angle), np.cos(angle)
            else:
                s, c = sin[rows], cos[rows]
            rotated = np.empty(x.shape)
            a, b = (slice(0, None, 2), slice(1, None, 2)) if neighbours else (slice(0, dim // 2), slice(dim // 2, None))
            s, c = s[:, :, None], c[:, :, None]
            rotated[..., a] = x[..., a] * c[..., a] - x[..., b] * s[..., a]
            rotated[..., b] = x[..., b] * c[..., b] + x[..., a] * s[..., b]
            results.append(np.swapaxes(rotated, 0, 1) if major else rotated)
        return results

    names = ("fused_rotary_position_embedding",)
    text = f"{names[0]} {given} neighbours={neighbours} tables={tables} placed={placed} major={major} {base}"
    return Call(text, ours, judge, tuple(arrays), tuple(range(given)), names=names, tolerance=1e-6)


def partial_rope(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    rotated, kept, heads = 2 * int(fixed.integers(1, 5)), int(fixed.integers(0, 5)), int(fixed.integers(1, 4))
    batch, n = int(rng.integers(0, 3)), int(rng.choice([0, 1, 3, 8]))

    def judge(x: Any, cos: Any, sin: Any) -> Any:
        a, b = x[..., kept::2], x[..., kept + 1 :: 2]
        half = rotated // 2
        first = a * cos[..., :half] - b * sin[..., :half]
        return np.concatenate([x[..., :kept], first, b * cos[..., half:] + a * sin[..., half:]], -1)

    arrays = (
        normal(rng, batch, n, heads, kept + rotated),
        normal(rng, 1, n, 1, rotated),
        normal(rng, 1, n, 1, rotated),
    )
    text = f"fused_partial_rope {rotated} behind {kept}"
    return Call(text, FF.fused_partial_rope, judge, arrays, (0, 1, 2), names=("fused_partial_rope",))


FAMILIES = (rows_of, fused_norm, residual_norm, layer, linear, activation, rotary, partial_rope)
