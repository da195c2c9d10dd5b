"""Parts of language models as random programs call them: several calls of ``paddle`` that make one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle
import paddle.incubate.nn.functional as I
from paddle.amp import fp8
from paddle.nn import Layer
from umiak import ops

FORMATS = {"e4m3": paddle.float8_e4m3fn, "e5m2": paddle.float8_e5m2}


def with_sums(out: Any, lse: Any) -> Any:
    """The result ``[batch, rows, heads, dim]`` and a part of the log-sum-exp ``[batch, heads, rows]`` of its row."""
    part = 0.25 * paddle.clip(lse, -20, 20).transpose([0, 2, 1]).unsqueeze(3)
    return out + part.astype(out.dtype)


def columns_attention(q: Any, k: Any, v: Any, columns: Any, **words: Any) -> Any:
    out, lse = paddle.nn.functional.flashmask_attention(q, k, v, columns, return_softmax_lse=True, **words)
    return with_sums(out, lse[:, :, : q.shape[1]])


def capped_attention(
    q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, softcap: float = 0.0, scale: float | None = None
) -> Any:
    scale = q.shape[3] ** -0.5 if scale is None else scale
    return with_sums(*ops.attention_train(q, k, v, mask, None, causal=causal, softcap=softcap, scale=scale))


def packed_attention(
    q: Any, k: Any, v: Any, ends: Sequence[Any], key_ends: Sequence[Any], used: Any = None, key_used: Any = None,
    causal: bool = False, window: tuple[int, int] = (-1, -1), softcap: float = 0.0, scale: float | None = None,
) -> Any:  # fmt: skip
    def ints(x: Any) -> Any:
        return None if x is None else paddle.to_tensor(x, dtype="int32")

    rows = ints(ends)
    out, lse = paddle.nn.functional.flash_attention_v3_varlen(
        q, k, v, rows, rows if key_ends is ends else ints(key_ends), 64, 64, ints(used), ints(key_used), scale, causal,
        window_size=window, softcap=softcap,
    )  # fmt: skip
    return with_sums(out.unsqueeze(0), lse.unsqueeze(0)).squeeze(0)


def reduced_scores(q: Any, k: Any) -> Any:
    q, k = q.detach(), k.detach()
    _, lse = paddle.nn.functional.flashmask_attention(q, k, k, return_softmax_lse=True)
    return paddle.nn.functional.flash_attention.calc_reduced_attention_scores(q, k, lse)


class Linear8(fp8.FP8Linear):
    """A linear layer in 8 bits of a weight and a bias that are given."""

    def __init__(self, weight: Any, bias: Any, recipe: Any) -> None:
        Layer.__init__(self)
        self.weight, self.bias = weight, bias
        self.in_features, self.out_features = weight.shape
        self._use(recipe)


def linear8(x: Any, weight: Any, bias: Any, dtype: str, forward: str, backward: str, **words: Any) -> Any:
    """The second step of a layer, whose first one had twice the input, in a dtype of 16 bits or x's."""
    recipe = fp8.Recipe(forward=FORMATS[forward], backward=FORMATS[backward], **words)
    layer = Linear8(weight, bias, recipe)
    x = x.astype(dtype)
    if recipe.is_delayed:
        with paddle.no_grad():
            layer(x * 2)
        fp8.advance(layer)
    return layer(x).astype("float32")


def product8(x: Any, y: Any, x_rows: int, y_rows: int, power_of_two: bool) -> Any:
    """Matmul of operands that are quantised in blocks of so many rows by 128, ``x @ y.T``."""

    def given(z: Any, rows: int) -> Any:
        return I.fp8_quant_blockwise(
            z, output_scale_transpose=rows == 1, using_pow2_scale=power_of_two, quant_method=f"{rows}x128"
        )

    return I.fp8_gemm_blockwise(
        *given(x, x_rows), *given(y, y_rows), "float32", is_a_1d_scaled=x_rows == 1, is_b_1d_scaled=y_rows == 1
    )


def weighted_swiglu8(x: Any, prob: Any, power_of_two: bool) -> Any:
    """What the quantised result stands for."""
    return I.fused_act_dequant(*I.fused_weighted_swiglu_act_quant(x, prob, power_of_two)).astype("float32")


def stored_linear(x: Any, weight: Any, bias: Any, bits: int, group: int, plain: bool) -> Any:
    """A linear map by a weight that is stored in few bits; ``plain``: by what it stands for."""
    with paddle.no_grad():
        numbers, scale = paddle.nn.quant.weight_quantize(weight, f"weight_only_int{bits}", None, group)
        if plain:
            weight = paddle.nn.quant.weight_dequantize(numbers, scale, f"weight_only_int{bits}", group_size=group)
    if plain:
        return paddle.nn.functional.linear(x, weight, bias)
    return paddle.nn.quant.weight_only_linear(x, numbers, bias, scale, f"int{bits}", None, group)


def packed_qkv(q: Any, k: Any, v: Any, **words: Any) -> Any:
    """As ``flash_attn_qkvpacked`` takes them: heads in rows of as many as there are key heads, then keys and values."""
    parts = q.reshape([q.shape[0], q.shape[1], q.shape[2] // k.shape[2], k.shape[2], q.shape[3]])
    qkv = paddle.concat([parts, k.unsqueeze(2), v.unsqueeze(2)], 2)
    return paddle.nn.functional.flash_attention.flash_attn_qkvpacked(qkv, **words)[0]


def paged_attention(
    qkv: Any, heads: int, key_heads: int, chunks: Sequence[int], block_size: int, bias: Any = None, rope: Any = None,
    neox: bool = False, prefix: Any = None, mask: Any = None, scales: Any = None, dynamic: bool = False,
) -> Any:  # fmt: skip
    """Attention over a cache in blocks: a prompt and what follows, in chunks. ``scales``: of keys and of values that
    are stored as bytes, ``[2, key_heads]``; ``dynamic``: those of each sequence's prompt."""
    b, n = qkv.shape[0], sum(chunks)
    dim = qkv.shape[2] // (heads + 2 * key_heads)
    before = 0 if prefix is None else prefix.shape[3]
    columns = -(-(n + before) // block_size)
    kept = "uint8" if dynamic or scales is not None else qkv.dtype
    caches = [paddle.zeros([b * columns + 1, key_heads, block_size, dim], kept) for _ in range(2)]
    table = paddle.arange(b * columns, 0, -1, dtype="int32").reshape([b, columns])
    more = {} if prefix is None else {"pre_key_cache": prefix[0], "pre_value_cache": prefix[1]}
    if kept == "uint8":
        to = list((20.0 * scales).unbind(0)) if scales is not None else [paddle.zeros([b, key_heads]) for _ in "kv"]
        back = [1.0 / x for x in to] if scales is not None else [paddle.zeros([b, key_heads]) for _ in "kv"]
        names = [f"cache_{x}_{kind}_scales" for kind in ("quant", "dequant") for x in "kv"]
        more |= {**dict(zip(names, to + back)), "use_dynamic_cachekv_quant": dynamic}
    outs, old = [], 0
    for new in chunks:
        counts = [paddle.full([b], c, "int32") for c in (0 if old else new, old, new)]
        part = qkv[:, old : old + new].clone().reshape([b * new, -1])
        given = None if mask is None else mask[:, :, old : old + new, : old + new + before]
        given = {} if given is None else {"tgt_mask" if old else "mask": given}
        out = I.block_multihead_attention(
            part, *caches, *counts, None, None, None, None, table, block_size=block_size, use_neox_style=neox,
            rope_emb=rope, qkv_bias=bias, **given, **more,
        )[0]  # fmt: skip
        outs.append(out.reshape([b, new, -1]))
        old += new
    return paddle.concat(outs, 1)


def attention_steps(
    qkv: Any, heads: int, key_heads: int, steps: int, bias: Any = None, rope: Any = None, neox: bool = False,
    mask: Any = None,
) -> Any:  # fmt: skip
    """Attention over a cache, token by token. ``rope``: cosines and sines ``[2, 1, tokens, 1, dim / 2]``."""
    b, dim = qkv.shape[0], qkv.shape[2] // (heads + 2 * key_heads)
    cache = paddle.zeros([2, b, key_heads, steps, dim], qkv.dtype)
    outs = []
    for t in range(steps):
        more: dict[str, Any] = {"bias": bias}
        if rope is not None:
            angles = rope[:, :, t : t + 1]
            angles = paddle.tile(angles, [1, 1, 1, 1, 2]) if neox else paddle.repeat_interleave(angles, 2, -1)
            more |= {"rotary_emb_dims": 1, "use_neox_rotary_style": neox}
            more["rotary_tensor"] = angles.expand([2, b, 1, 1, dim])
        if mask is not None:
            more["src_mask"] = mask[:, :, t : t + 1, : t + 1].expand([b, -1, -1, -1])
        counts = paddle.full([b], t, "int32")
        outs.append(I.masked_multihead_attention(qkv[:, t].clone(), cache, sequence_lengths=counts, **more)[0])
    return paddle.stack(outs, 1)


def transformer(x: Any, prompt: int, tokens: int, heads: int, **words: Any) -> Any:
    """Layers in one call; with ``prompt`` above 0, that many tokens first and the others one by one, over caches."""
    if not prompt:
        return I.fused_multi_transformer(x, **words)
    key_heads = heads if words.get("gqa_group_size", -1) <= 0 else words["gqa_group_size"]
    rotary, mask = words.pop("rotary_embs", None), words.pop("attn_mask", None)
    weight = words["qkv_weights"][0]
    dim = weight.shape[-2] if words.get("trans_qkvw", True) else weight.shape[-1]
    caches = [paddle.zeros([2, x.shape[0], key_heads, tokens, dim], x.dtype) for _ in words["qkv_weights"]]
    outs = []
    for a, b in [(0, prompt), *((t, t + 1) for t in range(prompt, tokens))]:
        more: dict[str, Any] = {} if rotary is None else {"rotary_embs": rotary[:, :, :, a:b]}
        more |= {"time_step": paddle.to_tensor([a], dtype="int32")} if a else {"attn_mask": mask[:, :, :b, :b]}
        out, _ = I.fused_multi_transformer(x[:, a:b], cache_kvs=caches, **words, **more)
        outs.append(out)
    return paddle.concat(outs, 1).detach()
