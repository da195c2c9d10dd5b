"""Newest operators, of when programs of version 2 were about to end: attention, narrow weights, fused layers."""

from paddle.static.formats.legacy.table import rows

rows("""
apply_per_channel_scale: apply_per_channel_scale(x, scales) -> out
batch_fc: batch_fc(Input, W, Bias) -> Out
class_center_sample: class_center_sample(Label; seed~0 fix_seed~False rank~0 nranks~1 ring_id~0 num_samples
    num_classes) -> RemappedLabel SampledLocalClassCenter
cvm: cvm(X, CVM; use_cvm~True) -> Y
fast_ln: fast_ln(x, scale, bias; epsilon) -> y mean invvar
fast_rms_norm: fast_rms_norm(x, scale; epsilon) -> y invvar
flash_attn: flash_attn(q, k, v, fixed_seed_offset?, attn_mask?; rng_name~"" is_test~False return_softmax~False
    causal~False dropout~0.0) -> out softmax softmax_lse seed_offset
flash_attn_qkvpacked: flash_attn_qkvpacked(qkv, fixed_seed_offset?, attn_mask?; rng_name~"" is_test~False
    return_softmax~False causal~False dropout~0.0) -> out softmax softmax_lse seed_offset
flash_attn_unpadded: flash_attn_unpadded(q, k, v, cu_seqlens_q, cu_seqlens_k, fixed_seed_offset?, attn_mask?,
    @max_seqlen_q, @max_seqlen_k; rng_name~"" is_test~False return_softmax~False causal~False dropout~0.0 scale)
    -> out softmax softmax_lse seed_offset
fused_bias_act: fused_bias_act(x, bias?, dequant_scales?, shift?, smooth?; quant_min_bound~-127.0
    quant_max_bound~127.0 quant_round_type~1 quant_scale~-1.0 compute_dtype~"default" act_method~"gelu") -> out
fused_bias_residual_layernorm: fused_bias_residual_layernorm(x, bias?, residual?, norm_weight?, norm_bias?;
    quant_min_bound quant_max_bound quant_round_type quant_scale begin_norm_axis residual_alpha epsilon) -> out
    residual_out mean variance
fused_rotary_position_embedding: fused_rotary_position_embedding(q, k?, v?, sin?, cos?, position_ids?;
    rotary_emb_base~10000.0 time_major~False use_neox_rotary_style~True) -> out_q out_k out_v
fused_softmax_mask: fused_softmax_mask(X, Mask) -> Out
fused_softmax_mask_upper_triangle: fused_softmax_mask_upper_triangle(X) -> Out
gemm_epilogue: gemm_epilogue(input, w, bias?; activation_type~"" padding_weights~False in_num_col_dims~1) -> out
gru_unit: gru_unit(Input, HiddenPrev, Weight, Bias?; origin_mode~False gate_activation~1 activation~2) -> Gate
    ResetHiddenPrev Hidden
index_select_strided: index_select_strided(x; axis~0 index) -> out
linear_v2: linear_v2(input, weight, bias; transpose_weight~False) -> out
llm_int8_linear: llm_int8_linear(x, weight, bias?, weight_scale; threshold~6.0) -> out
lu_solve: lu_solve(b, lu, pivots; trans) -> out
max_with_index: max_with_index(x; flatten~False keepdim~False dim) -> values indices
min_with_index: min_with_index(x; flatten~False keepdim~False dim) -> values indices
qkv_unpack_mha: qkv_unpack_mha(q, k, v, src_mask?) -> out
self_dp_attention: self_dp_attention(X; head_number~1 alpha~1.0) -> Out
shuffle_batch: shuffle_batch(X, Seed; startup_seed~0) -> Out ShuffleIdx SeedOut
slogdet_v2: slogdet_v2(x) -> sign logdet
top_p_sampling: top_p_sampling(x, ps, threshold?, topp_seed?; mode~"truncate" k~0 seed~-1) -> out ids
    topk_scores topk_ids
trunc_divide: trunc_divide(x, y) -> out
weight_dequantize: weight_dequantize(x, scale; group_size~-1 algo~"weight_only_int8") -> out
weight_only_linear: weight_only_linear(x, weight, bias?, weight_scale; group_size~-1 arch~80 weight_dtype) -> out
weight_quantize: weight_quantize(x; group_size~-1 arch~80 algo~"weight_only_int8") -> out scale
""")
