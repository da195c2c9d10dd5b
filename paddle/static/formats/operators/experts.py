"""Mixtures of experts: tokens sent to experts and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.incubate.nn import functional as IF
from paddle.nn import functional as F
from paddle.static.formats.operators.table import operator
from umiak.core.tensor import Tensor


@operator("batched_gemm")
def batched_gemm(lhs: Tensor, rhs: Tensor, *, batch_sizes: Sequence[int], trans_lhs: bool, trans_rhs: bool) -> Any:
    return IF.batched_gemm(lhs, rhs, batch_sizes, trans_lhs, trans_rhs)


@operator("moe_gate_dispatch")
def moe_gate_dispatch(
    x: Tensor, gate_logits: Tensor, corr_bias: Tensor | None = None, *, k: int, capacity: int, use_pad: bool
) -> Any:
    return IF.moe_gate_dispatch(x, gate_logits, corr_bias, k, capacity, use_pad)


@operator("moe_gate_dispatch_permute")
def moe_gate_dispatch_permute(
    x: Tensor, gate_logits: Tensor, corr_bias: Tensor | None = None, *, k: int, capacity: int, world_size: int
) -> Any:
    return IF.moe_gate_dispatch_permute(x, gate_logits, corr_bias, k, capacity, world_size)


@operator("moe_gate_dispatch_partial_nosoftmaxtopk")
def moe_gate_dispatch_partial_nosoftmaxtopk(
    x: Tensor, combine_weights: Tensor, expert_id: Tensor, *, k: int, capacity: int, num_experts: int, use_pad: bool,
    expert_start_index: int, expert_end_index: int, reverse_token_drop: bool,
) -> Any:  # fmt: skip
    return IF.moe_gate_dispatch_partial_nosoftmaxtopk(
        x, combine_weights, expert_id, k, capacity, num_experts, use_pad, expert_start_index, expert_end_index,
        reverse_token_drop,
    )  # fmt: skip


@operator("moe_combine")
def moe_combine(x: Tensor, combine_weights: Tensor, scatter_index: Tensor) -> Any:
    return IF.moe_combine(x, combine_weights, scatter_index)


@operator("moe_combine_no_weight")
def moe_combine_no_weight(x: Tensor, combine_weight: Tensor, scatter_index: Tensor, *, epsilon: float = 1e-15) -> Any:
    return IF.moe_combine_no_weight(x, combine_weight, scatter_index, epsilon)


@operator("moe_permute")
def moe_permute(
    hidden_states: Tensor, scale: Tensor | None, expert_routemap_topk: Tensor, expert_prob_topk: Tensor, *,
    num_experts: int, tokens_per_expert: Sequence[int], padding_alignment: int, do_gather: bool = True,
    using_ue8m0_scale: bool = False, return_expert_indices: bool = False, override_buffer_size: int = -1,
) -> Any:  # fmt: skip
    found = F.moe_permute(
        hidden_states, scale, expert_routemap_topk, expert_prob_topk, num_experts, tokens_per_expert,
        padding_alignment, do_gather, using_ue8m0_scale, return_expert_indices, override_buffer_size,
    )  # fmt: skip
    return (*found, *[None] * (5 - len(found)))


@operator("moe_unpermute")
def moe_unpermute(
    hidden_states_unzipped: Tensor, zipped_expertwise_rowmap: Tensor, expert_routemap_topk: Tensor,
    token_prob_unzipped: Tensor, *, total_zipped_tokens_num: int, num_experts: int, use_mix_precision: bool,
    using_weighted_combine: bool = False,
) -> Any:  # fmt: skip
    return F.moe_unpermute(
        hidden_states_unzipped, zipped_expertwise_rowmap, expert_routemap_topk, token_prob_unzipped,
        total_zipped_tokens_num, num_experts, use_mix_precision, using_weighted_combine,
    )  # fmt: skip


@operator("cal_aux_loss")
def cal_aux_loss(
    gate_prob: Tensor, dispatch_mask: Tensor, tokens_mask: Tensor | None = None,
    dispatch_tokens_mask: Tensor | None = None, *, num_experts: int, use_group: bool, moe_k: int, clip_min: float,
) -> Any:  # fmt: skip
    return IF.cal_aux_loss(
        gate_prob, dispatch_mask, tokens_mask, dispatch_tokens_mask, num_experts, use_group, moe_k, clip_min
    )


@operator("expand_modality_expert_id")
def expand_modality_expert_id(
    expert_id: Tensor, *, num_expert_per_modality: int, group_size: int, modality_offset: int, is_group_expert: bool
) -> Any:
    return IF.expand_modality_expert_id(
        expert_id, num_expert_per_modality, group_size, modality_offset, is_group_expert
    )  # fmt: skip


@operator("build_src_rank_and_local_expert_id")
def build_src_rank_and_local_expert_id(
    expert_num_global_tensor: Tensor, *, expert_num_global: Sequence[int], num_local_experts: int
) -> Any:
    return IF.build_src_rank_and_local_expert_id(expert_num_global_tensor, expert_num_global, num_local_experts)


# --- of experts in 8 bits --------------------------------------------------------------------------------------------


@operator("fp8_quant_blockwise")
def fp8_quant_blockwise(
    x: Tensor, *, epsilon: float, using_1x128_vec_quant: bool, input_transpose: bool, output_scale_transpose: bool,
    return_transpose_only: bool, using_e5m2: bool, using_pow2_scale: bool, using_ue8m0_scale: bool = False,
) -> Any:  # fmt: skip
    """Codes and scales of x, then those of its transpose."""
    method, kind = "1x128" if using_1x128_vec_quant else "128x128", "e5m2" if using_e5m2 else "e4m3"
    alone = input_transpose and return_transpose_only
    found = IF.fp8_quant_blockwise(
        x, epsilon, input_transpose, output_scale_transpose, alone, using_pow2_scale, using_ue8m0_scale, method, kind
    )
    if alone:
        return None, None, *found
    return (*found, *[None] * (4 - len(found)))


@operator("fused_act_dequant")
def fused_act_dequant(x: Tensor, x_scale: Tensor) -> Any:
    return IF.fused_act_dequant(x, x_scale)


@operator("fused_weighted_swiglu_act_quant")
def fused_weighted_swiglu_act_quant(x: Tensor, prob: Tensor | None = None, *, using_pow2_scaling: bool) -> Any:
    return IF.fused_weighted_swiglu_act_quant(x, prob, using_pow2_scaling)
