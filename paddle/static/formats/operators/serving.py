"""Attention over caches of keys and values, as servers of language models have it."""

from __future__ import annotations

from typing import Any

from paddle.incubate.nn import functional as IF
from paddle.static.formats.operators.table import Tensors, dropout_mode, operator
from umiak.core.tensor import Tensor


@operator("variable_length_memory_efficient_attention")
def variable_length_memory_efficient_attention(
    query: Tensor, key: Tensor, value: Tensor, seq_lens: Tensor, kv_seq_lens: Tensor, mask: Tensor | None = None, *,
    scale: float = 0.0, causal: bool = False, pre_cache_length: int = 0,
) -> Any:  # fmt: skip
    factor = None if scale <= 0 else scale
    return IF.variable_length_memory_efficient_attention(
        query, key, value, seq_lens, kv_seq_lens, mask, factor, causal, pre_cache_length
    )


@operator("blha_get_max_len")
def blha_get_max_len(seq_lens_encoder: Tensor, seq_lens_decoder: Tensor, batch_size: Tensor) -> Any:
    return IF.blha_get_max_len(seq_lens_encoder, seq_lens_decoder, batch_size)


@operator("masked_multihead_attention")
def masked_multihead_attention(
    x: Tensor, cache_kv: Tensor, bias: Tensor | None = None, src_mask: Tensor | None = None,
    cum_offsets: Tensor | None = None, sequence_lengths: Tensor | None = None, rotary_tensor: Tensor | None = None,
    beam_cache_offset: Tensor | None = None, qkv_out_scale: Tensor | None = None, out_shift: Tensor | None = None,
    out_smooth: Tensor | None = None, *, seq_len: int = 1, rotary_emb_dims: int = 0,
    use_neox_rotary_style: bool = False, compute_dtype: str = "default", out_scale: float = -1.0,
    quant_round_type: int = 1, quant_max_bound: float = 127.0, quant_min_bound: float = -127.0,
) -> Any:  # fmt: skip
    """The cache is another tensor behind it: values of a module are not written to."""
    cache_kv = cache_kv.clone()
    out, *rest = IF.masked_multihead_attention(
        x, cache_kv, bias, src_mask, cum_offsets, sequence_lengths, rotary_tensor, beam_cache_offset, qkv_out_scale,
        out_shift, out_smooth, seq_len, rotary_emb_dims, use_neox_rotary_style, compute_dtype, out_scale,
        quant_round_type, quant_max_bound, quant_min_bound,
    )  # fmt: skip
    return (out, *rest, *[None] * (2 - len(rest)))


@operator("block_multihead_attention")
def block_multihead_attention(
    qkv: Tensor, key_cache: Tensor, value_cache: Tensor, seq_lens_encoder: Tensor, seq_lens_decoder: Tensor,
    seq_lens_this_time: Tensor, padding_offsets: Tensor | None, cum_offsets: Tensor | None,
    cu_seqlens_q: Tensor | None, cu_seqlens_k: Tensor | None, block_tables: Tensor,
    pre_key_cache: Tensor | None = None, pre_value_cache: Tensor | None = None, rope_emb: Tensor | None = None,
    mask: Tensor | None = None, tgt_mask: Tensor | None = None, cache_k_quant_scales: Tensor | None = None,
    cache_v_quant_scales: Tensor | None = None, cache_k_dequant_scales: Tensor | None = None,
    cache_v_dequant_scales: Tensor | None = None, qkv_out_scale: Tensor | None = None,
    qkv_bias: Tensor | None = None, out_shift: Tensor | None = None, out_smooth: Tensor | None = None,
    max_enc_len_this_time: Tensor | None = None, max_dec_len_this_time: Tensor | None = None, *,
    max_seq_len: int = -1, block_size: int = 64, use_neox_style: bool = False, dynamic_cachekv_quant: bool = False,
    quant_round_type: int = 1, quant_max_bound: float = 127.0, quant_min_bound: float = -127.0,
    out_scale: float = -1.0, compute_dtype: str = "default", rope_theta: float = 10000.0,
) -> Any:  # fmt: skip
    """Caches are other tensors behind it."""
    return IF.block_multihead_attention(
        qkv, key_cache.clone(), value_cache.clone(), seq_lens_encoder, seq_lens_decoder, seq_lens_this_time,
        padding_offsets, cum_offsets, cu_seqlens_q, cu_seqlens_k, block_tables, pre_key_cache, pre_value_cache,
        cache_k_quant_scales, cache_v_quant_scales, cache_k_dequant_scales, cache_v_dequant_scales, qkv_out_scale,
        qkv_bias, out_shift, out_smooth, max_enc_len_this_time, max_dec_len_this_time, rope_emb, mask, tgt_mask,
        max_seq_len, block_size, use_neox_style, dynamic_cachekv_quant, quant_round_type, quant_max_bound,
        quant_min_bound, out_scale, compute_dtype, rope_theta,
    )  # fmt: skip


@operator("fused_multi_transformer")
def fused_multi_transformer(
    x: Tensor, ln_scales: Tensors, ln_biases: Tensors | None, qkv_weights: Tensors, qkv_biases: Tensors | None,
    cache_kvs: Tensors | None, pre_caches: Tensors | None, rotary_tensor: Tensor | None, beam_offset: Tensor | None,
    time_step: Tensor | None, seq_lengths: Tensor | None, src_mask: Tensor | None, out_linear_weights: Tensors,
    out_linear_biases: Tensors | None, ffn_ln_scales: Tensors, ffn_ln_biases: Tensors | None, ffn1_weights: Tensors,
    ffn1_biases: Tensors | None, ffn2_weights: Tensors, ffn2_biases: Tensors | None = None, *,
    pre_layer_norm: bool = True, epsilon: float = 1e-5, residual_alpha: float = 1.0, dropout_rate: float = 0.5,
    rotary_emb_dims: int = 0, is_test: bool = False, dropout_implementation: str = "downgrade_in_infer",
    act_method: str = "gelu", trans_qkvw: bool = True, ring_id: int = -1, norm_type: str = "layernorm",
    use_neox_rotary_style: bool = False, gqa_group_size: int = -1,
) -> Any:  # fmt: skip
    """Caches are other tensors behind it."""
    caches = None if cache_kvs is None else [c.clone() for c in cache_kvs]
    found = IF.fused_multi_transformer(
        x, ln_scales, ln_biases, qkv_weights, qkv_biases, out_linear_weights, out_linear_biases, ffn_ln_scales,
        ffn_ln_biases, ffn1_weights, ffn1_biases, ffn2_weights, ffn2_biases, pre_layer_norm, epsilon, residual_alpha,
        caches, beam_offset, pre_caches, seq_lengths, rotary_tensor, time_step, src_mask, dropout_rate,
        rotary_emb_dims, act_method, not is_test, dropout_mode(dropout_implementation), trans_qkvw, ring_id,
        norm_type, use_neox_rotary_style, gqa_group_size,
    )  # fmt: skip
    out, after = found if isinstance(found, tuple) else (found, [])
    return list(after), out
