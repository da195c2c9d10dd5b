"""What the names of language models mean, in plain PyTorch; arguments have the names that they have there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F

Tensor = torch.Tensor

ACTIVATIONS = {
    None: lambda x: x,
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "swiglu": lambda x: _halves(x, F.silu),
    "geglu": lambda x: _halves(x, F.gelu),
}


def _halves(x: Tensor, activation: Any) -> Tensor:
    a, b = x.chunk(2, -1)
    return activation(a) * b


# --- attention -------------------------------------------------------------------------------------------------------


def seen_in_columns(columns: Tensor, causal: bool, queries: int) -> Tensor:
    """Which scores count: bools ``[batch, heads, queries, keys]`` of ``[batch, heads, keys, columns]``."""
    i = torch.arange(queries)[:, None]
    at = [c[:, :, None] for c in columns.unbind(-1)]
    if causal:
        return ~((i >= at[0]) & (i < at[1])) if len(at) == 2 else ~(i >= at[0])
    if len(at) == 2:
        return ~((i >= at[0]) | (i < at[1]))
    return ~(((i >= at[0]) & (i < at[1])) | ((i >= at[2]) & (i < at[3])))


def attend(
    q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None, added: Tensor | None = None, causal: bool = False,
    softcap: float = 0.0, scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Of ``[batch, rows, heads, dim]``: the result, 0 where nothing is seen, and the log-sum-exp, there -inf."""
    heads, queries, keys = q.shape[2], q.shape[1], k.shape[1]
    if not keys or not heads:
        raise ValueError("a key and a head at least")
    k, v = (x.repeat_interleave(heads // x.shape[2], 2) for x in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if added is not None:
        scores = scores + added
    allowed = torch.ones(scores.shape, dtype=torch.bool)
    if causal:
        allowed = allowed.tril(keys - queries)
    if seen is not None:
        allowed = allowed & seen.repeat_interleave(heads // seen.shape[1] if seen.dim() == 4 else 1, -3)
    some = allowed.any(-1, keepdim=True)
    # What nobody sees has neither a value nor a slope.
    scores = scores.masked_fill(~allowed & some, -math.inf).masked_fill(~some, 0.0)
    weights = torch.softmax(scores, -1) * some
    lse = torch.logsumexp(scores, -1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v), torch.where(some[..., 0], lse, -math.inf)


def with_sums(out: Tensor, lse: Tensor) -> Tensor:
    """The result and a part of the log-sum-exp of its row."""
    return out + 0.25 * lse.clamp(-20, 20).transpose(1, 2)[..., None]


def columns_attention(
    q: Tensor, k: Tensor, v: Tensor, columns: Tensor, causal: bool = False, softmax_scale: float | None = None,
    block_mask: Tensor | None = None, softcap: float = 0.0,
) -> Tensor:  # fmt: skip
    seen = seen_in_columns(columns, causal, q.shape[1])
    if block_mask is not None:
        blocks = block_mask[:, :, torch.arange(q.shape[1]) // 128][..., torch.arange(k.shape[1]) // 128] != 0
        seen = seen & blocks
    return with_sums(*attend(q, k, v, seen, None, causal, softcap, softmax_scale))


def capped_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **words: Any) -> Tensor:
    return with_sums(*attend(q, k, v, mask, None, **words))


def packed_attention(
    q: Tensor, k: Tensor, v: Tensor, ends: Sequence[int], key_ends: Sequence[int], used: Sequence[int] | None = None,
    key_used: Sequence[int] | None = None, causal: bool = False, window: tuple[int, int] = (-1, -1), **words: Any,
) -> Tensor:  # fmt: skip
    """Sequences behind one another, each by itself; rows that do not count are 0."""
    parts = []
    for i in range(len(ends) - 1):
        n, m = ends[i + 1] - ends[i], key_ends[i + 1] - key_ends[i]
        a, b = (n if used is None else used[i]), (m if key_used is None else key_used[i])
        if not b:
            parts.append(torch.zeros(n, *q.shape[1:], dtype=q.dtype) - 5.0)
            continue
        x, y, z = q[ends[i] :][:a][None], k[key_ends[i] :][:b][None], v[key_ends[i] :][:b][None]
        offset = torch.arange(a)[:, None] + (b - a) - torch.arange(b)
        left, right = window
        seen = torch.ones(a, b, dtype=torch.bool)
        seen = seen & (offset <= left) if left >= 0 else seen
        seen = seen & (offset >= -right) if right >= 0 else seen
        out, lse = attend(x, y, z, seen[None, None], None, causal, **words)
        parts += [with_sums(out, lse)[0], torch.zeros(n - a, *q.shape[1:], dtype=q.dtype) - 5.0]
    return torch.cat(parts)


def padded_attention(
    query: Tensor, key: Tensor, value: Tensor, seq_lens: Sequence[int], kv_seq_lens: Sequence[int],
    mask: Tensor | None = None, scale: float | None = None, causal: bool = False, pre_cache_length: int = 0,
) -> Tensor:  # fmt: skip
    """Of ``[batch, heads, rows, dim]``: the first queries and keys of each sequence."""
    (_, _, n, _), m = query.shape, key.shape[2]
    i, j = torch.arange(n)[:, None], torch.arange(m)
    seen = torch.stack(
        [((i < a) & (j < b + pre_cache_length))[None] for a, b in zip(seq_lens, kv_seq_lens, strict=True)]
    )
    seen = seen & (j <= i + pre_cache_length) if causal else seen
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    return attend(q, k, v, seen, mask, scale=scale)[0].transpose(1, 2)


def reduced_scores(q: Tensor, k: Tensor) -> Tensor:
    if not k.shape[1]:
        raise ValueError("a key at least")
    k = k.repeat_interleave(q.shape[2] // k.shape[2], 2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    return torch.softmax(scores, -1).sum(-2, keepdim=True).detach()


# --- rotations and norms ---------------------------------------------------------------------------------------------


def rotated(x: Tensor, sin: Tensor, cos: Tensor, neighbours: bool) -> Tensor:
    """Pairs of the last dim by the angles of each of its features."""
    if neighbours:
        other = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    else:
        a, b = x.chunk(2, -1)
        other = torch.cat([-b, a], -1)
    return x * cos + other * sin


def rotary(
    x: Tensor, sin: Tensor | None = None, cos: Tensor | None = None, position_ids: Tensor | None = None,
    use_neox_rotary_style: bool = True, time_major: bool = False, rotary_emb_base: float = 10000.0,
) -> Tensor:  # fmt: skip
    x = x.transpose(0, 1) if time_major else x
    n, size = x.shape[1], x.shape[3]
    if sin is None or cos is None:
        pairs = rotary_emb_base ** (-2 * torch.arange(size // 2, dtype=torch.float64) / size)
        most = n if position_ids is None or not position_ids.numel() else int(position_ids.max()) + 1
        angles = torch.arange(most)[:, None] * pairs
        angles = angles.repeat_interleave(2, 1) if use_neox_rotary_style else angles.repeat(1, 2)
        sin, cos = angles.sin(), angles.cos()
    sin, cos = (t.reshape(-1, size) for t in (sin, cos))
    if position_ids is None:
        sin, cos = (t[:n][None, :, None] for t in (sin, cos))
    else:
        sin, cos = (t[position_ids.long()][:, :, None] for t in (sin, cos))
    y = rotated(x, sin, cos, use_neox_rotary_style)
    return y.transpose(0, 1) if time_major else y


def partial_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    size = cos.shape[-1]
    kept, part = x[..., : x.shape[-1] - size], x[..., x.shape[-1] - size :]
    a, b = part[..., ::2], part[..., 1::2]
    low, high = slice(0, size // 2), slice(size // 2, size)
    first = a * cos[..., low] - b * sin[..., low]
    return torch.cat([kept, first, b * cos[..., high] + a * sin[..., high]], -1)


def _normed(x: Tensor, epsilon: float, centred: bool, axes: tuple[int, ...] = (-1,)) -> Tensor:
    x = x - x.mean(axes, keepdim=True) if centred else x
    return x / torch.sqrt((x * x).mean(axes, keepdim=True) + epsilon)


def norm(
    x: Tensor, norm_weight: Tensor | None = None, norm_bias: Tensor | None = None, epsilon: float = 1e-5,
    begin_norm_axis: int = 1, bias: Tensor | None = None, residual: Tensor | None = None, residual_alpha: float = 1.0,
    centred: bool = False, always: bool = False,
) -> Tensor:  # fmt: skip
    """The norm of ``x + bias + residual_alpha * residual``; with a residual, and that sum. Centred without a weight and
    a bias it is the sum itself, unless it is ``always`` normalised."""
    z = x
    begin = begin_norm_axis % x.dim()
    sizes = x.shape[begin:]
    z = z if bias is None else z + bias.reshape(sizes)
    z = z if residual is None else z + residual_alpha * residual
    y = _normed(z, epsilon, centred, tuple(range(begin, x.dim())))
    if centred and norm_weight is None and norm_bias is None and not always:
        y = z
    y = y if norm_weight is None else y * norm_weight.reshape(sizes)
    y = y if norm_bias is None else y + norm_bias.reshape(sizes)
    return y if residual is None else y + z


def _layer_norm(x: Tensor, scale: Tensor | None, bias: Tensor | None, epsilon: float) -> Tensor:
    return norm(x, scale, bias, epsilon, -1, centred=True, always=True)


# --- layers ----------------------------------------------------------------------------------------------------------


def _kept(x: Tensor, rate: float, mode: str) -> Tensor:
    """What dropout does outside of training."""
    return x * (1 - rate) if mode == "downscale_in_infer" else x


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    y = x @ weight
    return y if bias is None else y + bias


def bias_act(
    x: Tensor, bias: Tensor | None = None, dequant_scales: Tensor | None = None, shift: Tensor | None = None,
    smooth: Tensor | None = None, act_method: str = "gelu", compute_dtype: str = "default",
) -> Tensor:  # fmt: skip
    x = x if dequant_scales is None else x * dequant_scales
    y = ACTIVATIONS[act_method](x if bias is None else x + bias)
    return y if smooth is None else (y + shift) * smooth


def residual_norm(
    x: Tensor, residual: Tensor, bias: Tensor | None = None, ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None, dropout_rate: float = 0.5, ln_epsilon: float = 1e-5,
    mode: str = "upscale_in_train", training: bool = False,
) -> Tensor:  # fmt: skip
    x = x if bias is None else x + bias
    return _layer_norm(residual + _kept(x, dropout_rate, mode), ln_scale, ln_bias, ln_epsilon)


def feedforward(
    x: Tensor, linear1_weight: Tensor, linear2_weight: Tensor, linear1_bias: Tensor | None = None,
    linear2_bias: Tensor | None = None, ln1_scale: Tensor | None = None, ln1_bias: Tensor | None = None,
    ln2_scale: Tensor | None = None, ln2_bias: Tensor | None = None, dropout1_rate: float = 0.5,
    dropout2_rate: float = 0.5, activation: str = "relu", ln1_epsilon: float = 1e-5, ln2_epsilon: float = 1e-5,
    pre_layer_norm: bool = False, training: bool = False, mode: str = "upscale_in_train", add_residual: bool = True,
) -> Tensor:  # fmt: skip
    y = _layer_norm(x, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    y = _kept(ACTIVATIONS[activation](_linear(y, linear1_weight, linear1_bias)), dropout1_rate, mode)
    y = _kept(_linear(y, linear2_weight, linear2_bias), dropout2_rate, mode)
    y = x + y if add_residual else y
    return y if pre_layer_norm else _layer_norm(y, ln2_scale, ln2_bias, ln2_epsilon)


def multi_head(
    x: Tensor, qkv_weight: Tensor, linear_weight: Tensor, pre_layer_norm: bool = False,
    pre_ln_scale: Tensor | None = None, pre_ln_bias: Tensor | None = None, ln_scale: Tensor | None = None,
    ln_bias: Tensor | None = None, pre_ln_epsilon: float = 1e-5, qkv_bias: Tensor | None = None,
    linear_bias: Tensor | None = None, cache_kv: Tensor | None = None, attn_mask: Tensor | None = None,
    dropout_rate: float = 0.5, attn_dropout_rate: float = 0.5, ln_epsilon: float = 1e-5, training: bool = False,
    mode: str = "upscale_in_train", add_residual: bool = True, num_heads: int = -1, transpose_qkv_wb: bool = False,
) -> Any:  # fmt: skip
    width = x.shape[-1]
    y = _layer_norm(x, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x
    heads = num_heads if transpose_qkv_wb else qkv_weight.shape[1]
    matrix = qkv_weight if transpose_qkv_wb else qkv_weight.reshape(-1, width).T
    y = _linear(y, matrix, None if qkv_bias is None else qkv_bias.flatten())
    q, k, v = y.reshape(*x.shape[:2], 3, heads, -1).unbind(2)
    if cache_kv is not None:
        k, v = (torch.cat([old.transpose(1, 2), new], 1) for old, new in zip(cache_kv, (k, v), strict=True))
    seen, added = None, None
    if attn_mask is not None:
        seen, added = (None, attn_mask) if attn_mask.is_floating_point() else (attn_mask != 0, None)
    out = _kept(attend(q, k, v, seen, added)[0], attn_dropout_rate, mode).flatten(2)
    out = _kept(_linear(out, linear_weight, linear_bias), dropout_rate, mode)
    out = x + out if add_residual else out
    out = out if pre_layer_norm else _layer_norm(out, ln_scale, ln_bias, ln_epsilon)
    if cache_kv is None:
        return out
    return out, torch.stack([k.transpose(1, 2), v.transpose(1, 2)])


def gate_attention(
    query: Tensor, key: Tensor | None = None, query_weight: Tensor | None = None, key_weight: Tensor | None = None,
    value_weight: Tensor | None = None, qkv_weight: Tensor | None = None, gate_linear_weight: Tensor | None = None,
    gate_linear_bias: Tensor | None = None, out_linear_weight: Tensor | None = None,
    out_linear_bias: Tensor | None = None, nonbatched_bias: Tensor | None = None, attn_mask: Tensor | None = None,
    has_gating: bool = True, merge_qkv: bool = True,
) -> Tensor:  # fmt: skip
    source = query if merge_qkv else key
    if not source.shape[2]:
        raise ValueError("a key at least")
    weights = qkv_weight.permute(0, 3, 1, 2).unbind(0) if merge_qkv else (query_weight, key_weight, value_weight)
    q, k, v = (torch.einsum("nbqa,ahc->nbqhc", x, w) for x, w in zip((query, source, source), weights, strict=True))
    scores = torch.einsum("nbqhc,nbkhc->nbhqk", q, k) * q.shape[-1] ** -0.5
    for more in (nonbatched_bias, attn_mask):
        scores = scores if more is None else scores + more
    y = torch.einsum("nbhqk,nbkhc->nbqhc", torch.softmax(scores, -1), v)
    if has_gating:
        gate = torch.einsum("nbqa,ahc->nbqhc", query, gate_linear_weight)
        y = y * torch.sigmoid(gate if gate_linear_bias is None else gate + gate_linear_bias)
    y = torch.einsum("nbqhc,hco->nbqo", y, out_linear_weight)
    return y if out_linear_bias is None else y + out_linear_bias


def multi_transformer(
    x: Tensor, ln_scales: Any, ln_biases: Any, qkv_weights: Any, qkv_biases: Any, linear_weights: Any,
    linear_biases: Any, ffn_ln_scales: Any, ffn_ln_biases: Any, ffn1_weights: Any, ffn1_biases: Any, ffn2_weights: Any,
    ffn2_biases: Any, heads: int, pre_layer_norm: bool = True, epsilon: float = 1e-5, residual_alpha: float = 1.0,
    rotary_embs: Tensor | None = None, attn_mask: Tensor | None = None, activation: str = "gelu",
    trans_qkvw: bool = True, norm_type: str = "layernorm", use_neox_rotary_style: bool = False,
    gqa_group_size: int = -1, rotary_emb_dims: int = 0, causal: bool = False,
) -> Tensor:  # fmt: skip
    width, key_heads = x.shape[-1], heads if gqa_group_size <= 0 else gqa_group_size

    def normal(z: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
        return norm(z, scale, bias, epsilon, -1, centred=norm_type == "layernorm", always=True)

    def at(given: Any, i: int) -> Any:
        return None if given is None else given[i]

    for i in range(len(ln_scales)):
        y = normal(x, ln_scales[i], at(ln_biases, i)) if pre_layer_norm else x
        weight = qkv_weights[i]
        matrix = weight.reshape(-1, width).T if trans_qkvw else weight.reshape(width, -1)
        bias = at(qkv_biases, i)
        y = _linear(y, matrix, None if bias is None else bias.flatten())
        y = y.reshape(*x.shape[:2], heads + 2 * key_heads, -1)
        q, k, v = y[:, :, :heads], y[:, :, heads : heads + key_heads], y[:, :, heads + key_heads :]
        if rotary_embs is not None and rotary_emb_dims:
            cos, sin = (t.transpose(1, 2) for t in rotary_embs)
            q, k = (rotated(t, sin, cos, not use_neox_rotary_style) for t in (q, k))
        out = attend(q, k, v, None, attn_mask, causal)[0].flatten(2)
        x = x * residual_alpha + _linear(out, linear_weights[i], at(linear_biases, i))
        x = x if pre_layer_norm else normal(x, ln_scales[i], at(ln_biases, i))
        y = normal(x, ffn_ln_scales[i], at(ffn_ln_biases, i)) if pre_layer_norm else x
        y = ACTIVATIONS[activation](_linear(y, ffn1_weights[i], at(ffn1_biases, i)))
        x = x * residual_alpha + _linear(y, ffn2_weights[i], at(ffn2_biases, i))
        x = x if pre_layer_norm else normal(x, ffn_ln_scales[i], at(ffn_ln_biases, i))
    return x


def auxiliary_loss(
    gate_prob: Tensor, dispatch_mask: Tensor, num_experts: int, use_group: bool, moe_k: int, clip_min: float,
    tokens_mask: Tensor | None = None, dispatch_tokens_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    sent = (dispatch_mask if dispatch_mask.dim() == 1 else dispatch_mask.sum(0)).double()
    counted = next((m for m in (dispatch_tokens_mask, tokens_mask) if m is not None), torch.ones(gate_prob.shape[0]))
    tokens = counted.sum().double().clamp(min=clip_min)
    loss = num_experts * (gate_prob.sum(0) / tokens * (sent / tokens).detach()).sum()
    return loss / moe_k if use_group else loss


# --- experts ---------------------------------------------------------------------------------------------------------


def requests(scores: Tensor, k: int, experts: int) -> Tensor:
    """Of the experts of the largest scores, 1 for each that a token asks for: ``[k, tokens, experts]``."""
    return F.one_hot(torch.topk(scores, k, 1)[1].T, experts).double()


def taken(asked: Tensor, capacity: int, last: bool = False) -> Tensor:
    """The requests ``[k, tokens, experts]`` that experts take, in their order or from the end."""
    k, n, experts = asked.shape
    order = asked.reshape(-1, experts)
    place = order.flip(0).cumsum(0).flip(0) if last else order.cumsum(0)
    return asked * (place <= capacity).reshape(k, n, experts)


def by_routes(routes: Sequence[Sequence[int]], first: int, stop: int, capacity: int, last: bool) -> Tensor:
    """Which of the experts of each token take it, ``[tokens, k]``, of those from ``first`` to before ``stop``."""
    chosen = torch.tensor(routes)
    experts = int(chosen.max()) + 1
    asked = F.one_hot(chosen.T, experts).double()
    here = torch.tensor([first <= e < stop for e in range(experts)])
    return (taken(asked, capacity, last) * here).sum(2).T


# --- pages -----------------------------------------------------------------------------------------------------------


def cached_attention(
    qkv: Tensor, heads: int, key_heads: int, bias: Tensor | None = None, rope: Tensor | None = None,
    neox: bool = False, prefix: Tensor | None = None, mask: Tensor | None = None, scales: Tensor | None = None,
    prompt: int = 0,
) -> Tensor:  # fmt: skip
    """Of ``[batch, tokens, features]``, each token over those up to its own and over a prefix
    ``[2, batch, key heads, positions, dim]``. ``scales``, or the largest numbers of a ``prompt``: keys and values are
    levels of 8 bits."""
    b, n, _ = qkv.shape
    x = (qkv if bias is None else qkv + bias.flatten()).reshape(b, n, heads + 2 * key_heads, -1)
    q, k, v = x[:, :, :heads], x[:, :, heads : heads + key_heads], x[:, :, heads + key_heads :]
    if rope is not None:
        cos, sin = (t[:, :n] for t in rope)  # [batch or 1, positions, 1, dim / 2]
        cos, sin = ((t.repeat(1, 1, 1, 2) if neox else t.repeat_interleave(2, -1)) for t in (cos, sin))
        q, k = (rotated(t, sin, cos, not neox) for t in (q, k))
    if scales is not None:
        factors = [_single(20.0 * s[:, None]) for s in scales]
        k, v = (_levels(x, f, _single(1 / f)) for x, f in zip((k, v), factors, strict=True))
    if prompt:
        k, v = (_levels(x, *_factors(x[:, :prompt])) for x in (k, v))
    if prefix is not None:
        k, v = (torch.cat([old.transpose(1, 2), new], 1) for old, new in zip(prefix, (k, v), strict=True))
    return attend(q, k, v, None, mask, mask is None)[0].flatten(2).detach()


def _single(x: Tensor) -> Tensor:
    """Scales as they are kept, in float32."""
    return x.float().double()


def _factors(x: Tensor) -> tuple[Tensor, Tensor]:
    most = _single(x.detach().abs().amax((1, 3), keepdim=True))
    some = torch.where(most > 0, most, 1.0)
    return _single(torch.where(most > 0, 127 / some, 1.0)), _single(torch.where(most > 0, most / 127, 1.0))


def _levels(x: Tensor, factors: Tensor, back: Tensor) -> Tensor:
    """What is left of numbers that are stored as whole numbers of ``back``; ties go away from 0."""
    y = x.detach() * factors
    return torch.sign(y) * torch.floor(y.abs() + 0.5).clamp(max=127) * back


# --- 8 bits ----------------------------------------------------------------------------------------------------------

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
_LIMITS = {E4M3: 448.0, E5M2: 57344.0}
FORMATS = {"e4m3": E4M3, "e5m2": E5M2}


def _spread(factors: Tensor, rows: int, columns: int, shape: Any) -> Tensor:
    return factors.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[: shape[0], : shape[1]]


def quantised(
    x: Tensor, block: tuple[int | None, int | None], form: torch.dtype = E4M3, power_of_two: bool = False,
    margin: int = 0, factor: float | None = None,
) -> Tensor:  # fmt: skip
    """The numbers that a matrix in blocks of 8 bits stands for; without a gradient."""
    single = x.detach().float()
    m, n = single.shape
    rows, columns = (max(size if given is None else given, 1) for size, given in zip((m, n), block, strict=True))
    if factor is None:
        padded = F.pad(single, (0, -n % columns, 0, -m % rows))
        blocks = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // columns, columns)
        largest = blocks.abs().amax((1, 3)) if blocks.numel() else torch.zeros(1, 1)
    else:
        largest = torch.tensor([[factor]])
    factors = (torch.tensor(_LIMITS[form]) / largest).clamp(max=2.0**127 if power_of_two else 2.0**128 - 2.0**120)
    if power_of_two:
        factors = torch.ldexp(torch.tensor(0.5), torch.frexp(factors)[1])
    factors = torch.where(largest == 0, 1.0, factors) * 2.0**-margin
    spread = factors if factor is not None else _spread(factors, rows, columns, single.shape)
    codes = (single * spread).clamp(-_LIMITS[form], _LIMITS[form]).to(form).double()
    return codes * (1 / spread).double()


class _Rounded(torch.autograd.Function):
    """A cast to bfloat16 or float16 and back; its gradient is cast likewise."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dtype: torch.dtype) -> Tensor:
        ctx.dtype = dtype
        return x.to(dtype).double()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.to(ctx.dtype).double(), None


def rounded(x: Tensor, name: str) -> Tensor:
    return x if name in ("float32", "float64") else _Rounded.apply(x, getattr(torch, name))


BLOCKS: dict[str, Any] = {"block": (1, 128), "row": (1, None), "tensor": (None, None), "none": (None, None)}


class _Linear8(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, words: dict[str, Any], before: Any) -> Tensor:
        ctx.words = words
        ctx.before = before
        ctx.save_for_backward(x, w)
        return _of(x, words, "left", before and before[0]) @ _of(w, words, "weight", before and before[1])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x, w), words, before = ctx.saved_tensors, ctx.words, ctx.before
        of_w = before and before[1]
        right_w = _of(w, words, "left" if words["scaling"] == "row" else "weight", of_w)
        to_x = _of(g, words, "left", None, "backward") @ right_w.T
        to_w = _of(x, words, "right", before and before[0]).T @ _of(g, words, "right", None, "backward")
        return to_x, to_w, None, None


def _of(x: Tensor, words: dict[str, Any], side: str, largest: Any, which: str = "forward") -> Tensor:
    """An operand of a matmul, quantised along what it contracts: the columns of a left one."""
    scaling, form = words["scaling"], FORMATS[words[which]]
    left = BLOCKS[scaling]
    block = (128, 128) if side == "weight" and scaling == "block" else left if side == "left" else left[::-1]
    if scaling == "none":
        single = x.detach().float()
        return single.clamp(-_LIMITS[form], _LIMITS[form]).to(form).double()
    return quantised(x, block, form, words["power_of_two"], words["margin"], largest)


def linear8(
    x: Tensor, weight: Tensor, bias: Tensor | None, dtype: str, scaling: str, history: int, margin: int,
    power_of_two: bool, forward: str, backward: str,
) -> Tensor:  # fmt: skip
    words = {"scaling": scaling, "margin": margin, "power_of_two": power_of_two, "forward": forward,
             "backward": backward}  # fmt: skip
    rows = rounded(x, dtype).reshape(-1, x.shape[-1])
    # Of the step before, which had twice the numbers.
    before = (_largest(rounded(x * 2, dtype)), _largest(weight)) if history else None
    y = _Linear8.apply(rows, weight, words, before)
    y = y if bias is None else y + bias
    return rounded(y, dtype).reshape(*x.shape[:-1], -1)


def _largest(x: Tensor) -> float:
    return float(x.detach().float().abs().max()) if x.numel() else 0.0


def product8(x: Tensor, y: Tensor, x_rows: int, y_rows: int, power_of_two: bool) -> Tensor:
    """``x @ y.T`` of matrices in blocks of so many rows by 128."""
    return quantised(x, (x_rows, 128), E4M3, power_of_two) @ quantised(y, (y_rows, 128), E4M3, power_of_two).T


def weighted_swiglu(x: Tensor, prob: Tensor | None) -> Tensor:
    y = _halves(x, F.silu)
    return y if prob is None else y * prob.reshape(-1, 1)


def int8_linear(x: Tensor, weight: Tensor, bias: Tensor | None, weight_scale: Tensor, threshold: float) -> Tensor:
    rows = x.detach().reshape(-1, x.shape[-1])
    outlying = rows.abs().amax(0, keepdim=True) >= threshold if rows.numel() else torch.zeros(rows.shape[-1]).bool()
    inner = torch.where(outlying, 0.0, rows)
    step = inner.abs().amax(1, keepdim=True) / 127
    numbers = torch.round(inner / torch.where(step == 0, 1.0, step))
    y = (numbers @ weight.double().T * step + torch.where(outlying, rows, 0.0) @ weight.double().T) * weight_scale
    y = y.reshape(*x.shape[:-1], -1)
    return (y if bias is None else y + bias).detach()


def stored(weight: Tensor, bits: int, group: int) -> Tensor:
    """A weight of few bits in floating numbers again, ``[inputs, outputs]``."""
    single = weight.detach().float()
    inputs, outputs = single.shape
    size = inputs if group == -1 else group
    groups = single.reshape(inputs // size, size, outputs)
    scale = groups.abs().amax(1, keepdim=True) / (127 if bits == 8 else 7)
    numbers = torch.round(groups / torch.where(scale == 0, 1.0, scale))
    return (numbers.double() * scale.double()).reshape(inputs, outputs)


def restored(weight: Tensor, scale: Tensor, bits: int, group: int) -> Tensor:
    """The same of numbers that are stored, ``[outputs, inputs]`` or two outputs in a byte, and their scales."""
    q = weight.to(torch.int32)
    if bits == 4:
        q = torch.stack([(q & 15 ^ 8) - 8, q >> 4], 1).reshape(-1, q.shape[1])
    spread = scale if group == -1 else scale.repeat_interleave(group, 0)
    return q.T.double() * spread


def swiglu_weighted_back(x: Tensor, g: Tensor, prob: Tensor) -> Tensor:
    """Sums of what the backward pass gives for each row."""
    with torch.enable_grad():
        x, prob = (t.detach().requires_grad_() for t in (x, prob))
        y = weighted_swiglu(x, prob)
        to_x, to_prob = torch.autograd.grad(y, (x, prob), g.detach())
    return to_x.sum(1) + to_prob[:, 0] + y.detach().sum(1)


# --- gradients that are written to


def written_gradient(g: Tensor | None, scale: float, how: str) -> Tensor | None:
    """A gradient that is scaled, or every second row of it."""
    if g is None:
        return None
    factor = torch.full_like(g, scale)
    if how in ("rows", "view") and g.dim():
        factor[1::2] = 1.0
    return g * factor


def with_written_gradient(x: Tensor, scale: float, how: str) -> Tensor:
    y = x * 1.0
    if y.requires_grad:
        y.register_hook(lambda g: written_gradient(g, scale, how))
    return y
