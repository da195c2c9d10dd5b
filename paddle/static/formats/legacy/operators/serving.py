"""Operators of language models in programs of 2.6."""

from paddle.static.formats.legacy.table import rows

rows("""
rms_norm: fused_rms_norm_quant(x, bias?, residual?, norm_weight, norm_bias?; epsilon begin_norm_axis
    quant_scale~-1.0) -> out residual_out _
memory_efficient_attention: memory_efficient_attention(query, key, value, bias?; causal~False dropout_p~0.0 scale~-1.0
    is_test~True) -> output logsumexp seed_and_offset
variable_length_memory_efficient_attention: variable_length_memory_efficient_attention(query, key, value, seq_lens,
    kv_seq_lens, mask?; scale~0.0 causal~False pre_cache_length~0) -> out
masked_multihead_attention: masked_multihead_attention(x, cache_kv, bias?, src_mask?, cum_offsets?, sequence_lengths?,
    rotary_tensor?, beam_cache_offset?, qkv_out_scale?, out_shift?, out_smooth?; seq_len~1 rotary_emb_dims~0
    use_neox_rotary_style~False compute_dtype~"default" out_scale~-1.0 quant_round_type~1 quant_max_bound~127.0
    quant_min_bound~-127.0) -> out cache_kv_out beam_cache_offset_out
block_multihead_attention: block_multihead_attention(qkv, key_cache, value_cache, seq_lens_encoder, seq_lens_decoder,
    seq_lens_this_time, padding_offsets?, cum_offsets?, cu_seqlens_q?, cu_seqlens_k?, block_tables, pre_key_cache?,
    pre_value_cache?, rope_emb?, mask?, tgt_mask?, cache_k_quant_scales?, cache_v_quant_scales?,
    cache_k_dequant_scales?, cache_v_dequant_scales?, qkv_out_scale?, qkv_bias?, out_shift?, out_smooth?; max_seq_len
    block_size~64 use_neox_style~False dynamic_cachekv_quant~False quant_round_type~1 quant_max_bound~127.0
    quant_min_bound~-127.0 out_scale~-1.0 compute_dtype~"default") -> fmha_out qkv_out key_cache_out value_cache_out
fused_multi_transformer: fused_multi_transformer(X, LnScale*, LnBias*?, QKVW*, QKVBias*?, CacheKV*?, PreCaches*?,
    RotaryPosEmb?, BeamCacheOffset?, TimeStep?, SeqLengths?, SrcMask?, OutLinearW*, OutLinearBias*?, FFNLnScale*,
    FFNLnBias*?, FFN1Weight*, FFN1Bias*?, FFN2Weight*, FFN2Bias*?; pre_layer_norm~True epsilon~1e-05
    residual_alpha~1.0 dropout_rate~0.5 rotary_emb_dims~0 is_test~False dropout_implementation~"downgrade_in_infer"
    act_method~"gelu" trans_qkvw~True ring_id~-1 norm_type~"layernorm" use_neox_rotary_style~False gqa_group_size~-1)
    -> CacheKVOut* Out
view_dtype: view_dtype(input; dtype@dtype) -> out
view_shape: view_shape(input; dims) -> out
seed: seed(; seed~0) -> Out
""")
