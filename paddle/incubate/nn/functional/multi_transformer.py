"""Several layers of a transformer as one call, with caches of keys and values."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._transformer_layers import Layer, layers_of, need_weights
from paddle.incubate.nn.functional.decode_attention import (
    append,
    attend_cached,
    checked_mask,
    need_rotation,
    rotate,
)
from paddle.incubate.nn.functional.dropouts import need_mode
from paddle.incubate.nn.functional.norms import fused_layer_norm, fused_rms_norm
from paddle.incubate.nn.functional.sequence_attention import lengths, variable_length_memory_efficient_attention
from paddle.incubate.nn.functional.transformers import need_one_process
from paddle.nn.functional.attention import scaled_dot_product_attention
from paddle.nn.functional.common import dropout
from paddle.nn.layer.transformer import _convert_attention_mask
from paddle.tensor._args import create_on, fraction, real_number
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_OP = "fused_multi_transformer"


def _gelu(x: Tensor) -> Tensor:
    return F.gelu(x, approximate=False)


_ACTIVATIONS = {"relu": F.relu, "gelu": _gelu}
_GATES = {"geglu": _gelu, "swiglu": F.silu}


@public("paddle.incubate.nn.functional", usual=False)
def fused_multi_transformer(
    x: Tensor,
    ln_scales: Sequence[Tensor],
    ln_biases: Sequence[Tensor] | None,
    qkv_weights: Sequence[Tensor],
    qkv_biases: Sequence[Tensor] | None,
    linear_weights: Sequence[Tensor],
    linear_biases: Sequence[Tensor] | None,
    ffn_ln_scales: Sequence[Tensor],
    ffn_ln_biases: Sequence[Tensor] | None,
    ffn1_weights: Sequence[Tensor],
    ffn1_biases: Sequence[Tensor] | None,
    ffn2_weights: Sequence[Tensor],
    ffn2_biases: Sequence[Tensor] | None,
    pre_layer_norm: bool = True,
    epsilon: float = 1e-05,
    residual_alpha: float = 1.0,
    cache_kvs: Sequence[Tensor] | None = None,
    beam_offset: Tensor | None = None,
    pre_caches: Sequence[Tensor] | None = None,
    seq_lens: Tensor | None = None,
    rotary_embs: Tensor | None = None,
    time_step: Tensor | None = None,
    attn_mask: Tensor | None = None,
    dropout_rate: float = 0.0,
    rotary_emb_dims: int = 0,
    activation: str = "gelu",
    training: bool = False,
    mode: str = "upscale_in_train",
    trans_qkvw: bool = True,
    ring_id: int = -1,
    norm_type: str = "layernorm",
    use_neox_rotary_style: bool = False,
    gqa_group_size: int = -1,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Sequence[Tensor]]:
    """Layers of a transformer, each self-attention and a feed-forward part with residual connections and norms.

    With caches a prompt's keys and values are written to their first positions; with ``time_step`` one token of each
    sequence joins them and attends to what is there. Caches are written in place and read where they lie, and nothing
    is recorded for a gradient then. Each list has an element for every layer; lists of biases may be None.

    Args:
        x: floating tensor ``[batch, sequence, embed_dim]``.
        ln_scales, ln_biases: tensors ``[embed_dim]`` of the norms around attention, of x's dtype or float32.
        qkv_weights: tensors ``[3, heads, head_dim, embed_dim]`` of x's dtype; with a positive ``gqa_group_size``
            ``[heads + 2 * key_heads, head_dim, embed_dim]``. Without ``trans_qkvw`` embed_dim comes first.
        qkv_biases: tensors of those sizes without embed_dim.
        linear_weights, linear_biases: tensors ``[heads * head_dim, embed_dim]`` and ``[embed_dim]`` behind attention.
        ffn_ln_scales, ffn_ln_biases: tensors ``[embed_dim]`` of the norms around the feed-forward part.
        ffn1_weights, ffn1_biases: tensors ``[embed_dim, n]`` and ``[n]``; n is twice dim_feedforward with a gate.
        ffn2_weights, ffn2_biases: tensors ``[dim_feedforward, embed_dim]`` and ``[embed_dim]``.
        pre_layer_norm: True normalises what goes into a part, False what comes out.
        epsilon: added to the variance.
        residual_alpha: factor of what is added to a part's result.
        cache_kvs: tensors ``[2, batch, key_heads, positions, head_dim]`` of x's dtype, written in place.
        beam_offset: see ``beam_cache_offset`` of :func:`masked_multihead_attention`.
        pre_caches: tensors ``[2, batch, key_heads, prefix, head_dim]``: keys and values in front of a prompt's, which
            are written to caches before them.
        seq_lens: int32 or int64 tensor ``[batch]``: the length of each sequence in x; with ``time_step`` how many
            positions its cache has.
        rotary_embs: cosines and sines ``[2, batch, 1, sequence, head_dim]``, a number for each feature.
        time_step: an integer tensor ``[1]``: how many positions each cache has, unless ``seq_lens`` says so.
        attn_mask: ``[batch, 1 or heads, sequence, keys]``, added to the scores, or of bools or ints (0: hidden); with
            ``time_step`` ``[batch, 1 or heads, 1, positions]``.
        dropout_rate: the probability of dropout of weights and behind linear maps, in training.
        rotary_emb_dims: the parts of a head that are rotated by themselves; 0 for no rotation.
        activation: "gelu" or "relu", or with a gate "geglu" or "swiglu".
        training: False drops nothing.
        mode: ``"upscale_in_train"`` or ``"downscale_in_infer"``; see :func:`fused_dropout_add`.
        trans_qkvw: whether embed_dim is the last dim of qkv_weights.
        ring_id: -1; other processes take no part.
        norm_type: "layernorm" or "rmsnorm".
        use_neox_rotary_style: whether a rotation pairs features of both halves; else neighbours.
        gqa_group_size: the number of key heads where they are fewer; -1 for as many as there are heads.

    Returns:
        Tensor of x's shape and dtype; with caches a pair of it and cache_kvs.

    Raises:
        TypeError: dtypes that do not belong together.
        ValueError: lists of different lengths, shapes that do not fit, unknown words, dropout in training with caches
            or seq_lens, lengths that are negative or more than there are, or a cache that is full. Nothing has been
            written then.

    References:
        Vaswani et al., Attention Is All You Need, 2017.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_multi_transformer
        >>> one, zero, cache = paddle.ones([8]), paddle.zeros([8]), paddle.zeros([2, 1, 2, 6, 4])
        >>> weights = [[one], [zero], [paddle.randn([3, 2, 4, 8])], None, [paddle.randn([8, 8])], None]
        >>> weights += [[one], [zero], [paddle.randn([8, 16])], None, [paddle.randn([16, 8])], None]
        >>> y, _ = fused_multi_transformer(paddle.randn([1, 3, 8]), *weights, cache_kvs=[cache])
        >>> step = paddle.to_tensor([3])
        >>> fused_multi_transformer(y[:, -1:], *weights, cache_kvs=[cache], time_step=step)[0].shape
        paddle.Size([1, 1, 8])
    """
    need_mode(_OP, mode)
    need_one_process(_OP, ring_id)
    residual_alpha = real_number(residual_alpha, _OP, "residual_alpha")
    drop = _Dropout(fraction(dropout_rate, _OP, "dropout_rate"), training, mode)
    if activation not in (*_ACTIVATIONS, *_GATES):
        raise op_error(ValueError, _OP, f"an activation of {(*_ACTIVATIONS, *_GATES)}", repr(activation))
    if norm_type not in ("layernorm", "rmsnorm"):
        raise op_error(ValueError, _OP, "a norm_type of 'layernorm' or 'rmsnorm'", repr(norm_type))
    if need_tensor(x, _OP, "x").ndim != 3 or not x.dtype.is_floating:
        raise op_error(ValueError, _OP, "a floating x of shape [batch, sequence, embed_dim]", list(x.shape))
    if drop.active and (cache_kvs is not None or seq_lens is not None or pre_caches is not None):
        raise op_error(ValueError, _OP, "no dropout in training with caches or seq_lens", f"dropout_rate {drop.p}")
    if time_step is not None and cache_kvs is None:
        raise op_error(ValueError, _OP, "cache_kvs with a time_step", None)
    layers = layers_of(
        _OP,
        {
            "ln_scales": ln_scales,
            "ln_biases": ln_biases,
            "qkv_weights": qkv_weights,
            "qkv_biases": qkv_biases,
            "linear_weights": linear_weights,
            "linear_biases": linear_biases,
            "ffn_ln_scales": ffn_ln_scales,
            "ffn_ln_biases": ffn_ln_biases,
            "ffn1_weights": ffn1_weights,
            "ffn1_biases": ffn1_biases,
            "ffn2_weights": ffn2_weights,
            "ffn2_biases": ffn2_biases,
            "cache_kvs": cache_kvs,
            "pre_caches": pre_caches,
        },
    )
    sizes = [w.cache_kvs.shape[3] for w in layers if w.cache_kvs is not None and w.cache_kvs.ndim == 5]
    if not all(dim.eq(n, sizes[0]) for n in sizes):
        raise op_error(ValueError, _OP, "cache_kvs of one number of positions in all layers", sizes)
    with no_grad_guard() if cache_kvs is not None else contextlib.nullcontext():
        rotary = None if not rotary_emb_dims else need_tensor(rotary_embs, _OP, "rotary_embs")
        before = None if time_step is None else _positions(time_step, seq_lens, x)
        rotation = rotary, rotary_emb_dims, use_neox_rotary_style
        counted = None
        if seq_lens is not None and before is None:
            counted = lengths(_OP, "seq_lens", seq_lens, x.shape[0], x.shape[1])
        # All layers are looked at before a cache is written; nothing is refused after that.
        attentions = [_Attention(w, x, trans_qkvw, gqa_group_size, rotation, attn_mask, drop, before) for w in layers]
        for w, attention in zip(layers, attentions, strict=True):
            need_weights(_OP, w, x, attention.heads * attention.size, activation in _GATES)

        def norm(y: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
            if norm_type == "rmsnorm":
                return fused_rms_norm(y, scale, bias, epsilon, 2)[0]
            return fused_layer_norm(y, scale, bias, epsilon, begin_norm_axis=2)[0]

        def join(residual: Tensor, y: Tensor) -> Tensor:
            return F.add(residual if residual_alpha == 1.0 else F.mul(residual, residual_alpha), drop(y))

        for w, attention in zip(layers, attentions, strict=True):
            y = norm(x, w.ln_scales, w.ln_biases) if pre_layer_norm else x
            y = attention(y, counted, before, beam_offset)
            x = join(x, F.linear(y, w.linear_weights, w.linear_biases))
            if not pre_layer_norm:
                x = norm(x, w.ln_scales, w.ln_biases)
            y = norm(x, w.ffn_ln_scales, w.ffn_ln_biases) if pre_layer_norm else x
            y = drop(_activated(F.linear(y, w.ffn1_weights, w.ffn1_biases), activation))
            x = join(x, F.linear(y, w.ffn2_weights, w.ffn2_biases))
            if not pre_layer_norm:
                x = norm(x, w.ffn_ln_scales, w.ffn_ln_biases)
    return x if cache_kvs is None else (x, cache_kvs)


class _Dropout:
    """Dropout of activations with one rate and mode."""

    def __init__(self, p: float, training: bool, mode: str) -> None:
        self.p, self.training, self.mode = p, training, mode
        self.active = p > 0 and training
        # What is left of weights of attention when nothing is dropped.
        self.kept = 1 - p if mode == "downscale_in_infer" and not training else 1.0

    def __call__(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, training=self.training, mode=self.mode) if self.p else x


def _positions(step: Tensor, lengths: Tensor | None, x: Tensor) -> Tensor:
    """``[batch]``: positions that the caches have."""
    if not dim.eq(x.shape[1], 1):
        raise op_error(ValueError, _OP, "one token of each sequence with a time_step", x.shape[1])
    given = need_tensor(step, _OP, "time_step") if lengths is None else need_tensor(lengths, _OP, "seq_lens")
    if not given.dtype.is_integer:
        raise op_error(TypeError, _OP, "integers for time_step and seq_lens", given.dtype.name)
    count = math.prod(given.shape)
    if not dim.eq(count, 1 if lengths is None else x.shape[0]):
        required = "time_step of shape [1]" if lengths is None else f"seq_lens of shape [{x.shape[0]}]"
        raise op_error(ValueError, _OP, required, list(given.shape))
    return F.broadcast_to(cast(F.reshape(given, shape=(count,)), dt.int64), shape=(x.shape[0],))


def _activated(x: Tensor, activation: str) -> Tensor:
    if activation in _ACTIVATIONS:
        return _ACTIVATIONS[activation](x)
    n = x.shape[-1] // 2
    gate, linear = (F.slice(x, axes=(x.ndim - 1,), starts=(i * n,), sizes=(n,), steps=(1,)) for i in (0, 1))
    return F.mul(_GATES[activation](gate), linear)


class _Attention:
    """Self-attention of one layer, without its last linear map."""

    def __init__(
        self,
        w: Layer,
        x: Tensor,
        embed_last: bool,
        key_heads: int,
        rotation: tuple,
        mask: Tensor | None,
        drop: _Dropout,
        before: Tensor | None,
    ) -> None:
        self.w, self.drop = w, drop
        self.rotary, self.parts, self.neox = rotation
        self.embed_last, self.embed = embed_last, x.shape[2]
        shape = list(w.qkv_weights.shape)
        sizes, embed = (shape[:-1], shape[-1]) if embed_last else (shape[1:], shape[0])
        wanted = 3 if key_heads <= 0 else 2
        fits = len(sizes) == wanted and dim.eq(embed, self.embed) and (key_heads > 0 or dim.eq(sizes[0], 3))
        if not fits or (key_heads > 0 and not sizes[0] > 2 * key_heads):
            heads = "3, heads" if key_heads <= 0 else f"heads + {2 * key_heads}"
            required = f"qkv_weights of sizes [{heads}, head_dim] and {self.embed}, trans_qkvw={embed_last}"
            raise op_error(ValueError, _OP, required, shape)
        self.size = sizes[-1]
        self.heads = sizes[1] if key_heads <= 0 else sizes[0] - 2 * key_heads
        self.key_heads = self.heads if key_heads <= 0 else key_heads
        for name, cache in (("cache_kvs", w.cache_kvs), ("pre_caches", w.pre_caches)):
            if cache is not None:
                self.check_cache(name, cache, x)
        keys = x.shape[1] + (0 if w.pre_caches is None else w.pre_caches.shape[3])
        if before is None and w.cache_kvs is not None and not w.cache_kvs.shape[3] >= keys:
            raise op_error(ValueError, _OP, f"cache_kvs with {keys} positions for a prompt", w.cache_kvs.shape[3])
        if self.rotary is not None:
            need_rotation(_OP, x.shape[0] * x.shape[1], self.size, self.rotary, self.parts)
        self.mask = None if mask is None else self.checked_mask(mask, x, keys, before)

    def __call__(self, x: Tensor, counted: Tensor | None, before: Tensor | None, beams: Tensor | None) -> Tensor:
        batch, sequence = x.shape[0], x.shape[1]
        all_heads = self.heads + 2 * self.key_heads
        n = all_heads * self.size
        weight = F.reshape(self.w.qkv_weights, shape=(n, self.embed) if self.embed_last else (self.embed, n))
        y = F.matmul(x, weight, transpose_y=self.embed_last)
        if self.w.qkv_biases is not None:
            y = F.add(y, F.reshape(self.w.qkv_biases, shape=(n,)))
        y = F.reshape(y, shape=(batch * sequence, all_heads, self.size))
        if self.rotary is not None:
            y = rotate(_OP, y, self.heads + self.key_heads, self.rotary, self.parts, self.neox)
        parts = ((0, self.heads), (self.heads, self.key_heads), (self.heads + self.key_heads, self.key_heads))
        q, k, v = (F.slice(y, axes=(1,), starts=(a,), sizes=(m,), steps=(1,)) for a, m in parts)
        cache, scale = self.w.cache_kvs, 1.0 / math.sqrt(self.size)
        if before is not None and cache is not None:
            out = attend_cached(_OP, q, k, v, cache, before, self.mask, scale, beams)
        else:
            out = self.prompt(q, k, v, x, counted, scale)
        out = F.reshape(out, shape=(batch, sequence, self.heads * self.size))
        return out if self.drop.kept == 1.0 else F.mul(out, self.drop.kept)

    def prompt(self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, counted: Tensor | None, scale: float) -> Tensor:
        """Attention among the tokens of x and a prefix, which a cache gets."""
        batch, sequence = x.shape[0], x.shape[1]
        prefix, cache = 0, self.w.cache_kvs
        q, k, v = (F.reshape(t, shape=(batch, sequence, t.shape[1], self.size)) for t in (q, k, v))
        if self.w.pre_caches is not None:
            pre = self.w.pre_caches
            prefix = pre.shape[3]
            pre_k, pre_v = (
                F.squeeze(F.slice(pre, axes=(0,), starts=(i,), sizes=(1,), steps=(1,)), axes=(0,)) for i in (0, 1)
            )
            k, v = (F.concat([F.permute(p, perm=(0, 2, 1, 3)), t], axis=1) for p, t in ((pre_k, k), (pre_v, v)))
        if cache is not None:
            rows, values = (F.reshape(t, shape=(batch * t.shape[1], self.key_heads, self.size)) for t in (k, v))
            append(rows, values, cache, create_on(x.place, F.full, 0, dt.int64, (batch,)))
        if counted is None:
            return scaled_dot_product_attention(q, k, v, self.mask, self.drop.p, False, self.drop.training, scale=scale)
        q, k, v = (F.permute(t, perm=(0, 2, 1, 3)) for t in (q, k, v))
        out = variable_length_memory_efficient_attention(q, k, v, counted, counted, self.mask, scale, False, prefix)
        return F.permute(out, perm=(0, 2, 1, 3))

    def checked_mask(self, mask: Tensor, x: Tensor, keys: Any, before: Tensor | None) -> Tensor:
        """A mask that is added to the scores."""
        added: Any = _convert_attention_mask(need_tensor(mask, _OP, "attn_mask"), x.dtype)
        if before is not None:
            return checked_mask(_OP, "attn_mask", added, before, x.shape[0], self.heads, x)
        wanted = (x.shape[0], self.heads, x.shape[1], keys)
        if mask.ndim != 4 or not all(dim.one_of(m, 1, n) for m, n in zip(mask.shape, wanted, strict=True)):
            required = f"attn_mask of shape [{wanted[0]}, 1 or {wanted[1]}, {wanted[2]}, {keys}]"
            raise op_error(ValueError, _OP, required, list(mask.shape))
        return added

    def check_cache(self, name: str, cache: Tensor, x: Tensor) -> None:
        shape = cache.shape
        wanted = (2, x.shape[0], self.key_heads, shape[3] if len(shape) == 5 else -1, self.size)
        if len(shape) != 5 or not all(map(dim.eq, shape, wanted)):
            required = f"{name} of shape [2, {x.shape[0]}, {self.key_heads}, positions, {self.size}]"
            raise op_error(ValueError, _OP, required, list(shape))
        if cache.dtype is not x.dtype:
            raise op_error(TypeError, _OP, f"{name} of {x.dtype.name}", cache.dtype.name)
