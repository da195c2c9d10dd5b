"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.nn.functional.activations import fused_bias_act as fused_bias_act
from paddle.incubate.nn.functional.balance import cal_aux_loss as cal_aux_loss
from paddle.incubate.nn.functional.cache_attention import block_multihead_attention as block_multihead_attention
from paddle.incubate.nn.functional.decode_attention import masked_multihead_attention as masked_multihead_attention
from paddle.incubate.nn.functional.dot_product import fused_dot_product_attention as fused_dot_product_attention
from paddle.incubate.nn.functional.dropouts import (
    fused_bias_dropout_residual_layer_norm as fused_bias_dropout_residual_layer_norm,
)
from paddle.incubate.nn.functional.dropouts import fused_dropout_add as fused_dropout_add
from paddle.incubate.nn.functional.expert_dispatch import moe_combine as moe_combine
from paddle.incubate.nn.functional.expert_dispatch import moe_combine_no_weight as moe_combine_no_weight
from paddle.incubate.nn.functional.expert_dispatch import moe_gate_dispatch as moe_gate_dispatch
from paddle.incubate.nn.functional.expert_dispatch import (
    moe_gate_dispatch_partial_nosoftmaxtopk as moe_gate_dispatch_partial_nosoftmaxtopk,
)
from paddle.incubate.nn.functional.expert_dispatch import moe_gate_dispatch_permute as moe_gate_dispatch_permute
from paddle.incubate.nn.functional.expert_ids import (
    build_src_rank_and_local_expert_id as build_src_rank_and_local_expert_id,
)
from paddle.incubate.nn.functional.expert_ids import expand_modality_expert_id as expand_modality_expert_id
from paddle.incubate.nn.functional.expert_ids import int_bincount as int_bincount
from paddle.incubate.nn.functional.fp8 import fp8_gemm_blockwise as fp8_gemm_blockwise
from paddle.incubate.nn.functional.fp8 import fp8_quant_blockwise as fp8_quant_blockwise
from paddle.incubate.nn.functional.fp8 import fused_act_dequant as fused_act_dequant
from paddle.incubate.nn.functional.fp8_experts import fused_stack_transpose_quant as fused_stack_transpose_quant
from paddle.incubate.nn.functional.fp8_experts import fused_transpose_split_quant as fused_transpose_split_quant
from paddle.incubate.nn.functional.fp8_experts import (
    fused_transpose_wlch_split_quant as fused_transpose_wlch_split_quant,
)
from paddle.incubate.nn.functional.fp8_swiglu import fused_swiglu_weighted_bwd as fused_swiglu_weighted_bwd
from paddle.incubate.nn.functional.fp8_swiglu import fused_weighted_swiglu_act_quant as fused_weighted_swiglu_act_quant
from paddle.incubate.nn.functional.fused_experts import fused_moe as fused_moe
from paddle.incubate.nn.functional.gate_attention import fused_gate_attention as fused_gate_attention
from paddle.incubate.nn.functional.gradients import (
    cross_entropy_with_softmax_bwd_w_downcast as cross_entropy_with_softmax_bwd_w_downcast,
)
from paddle.incubate.nn.functional.gradients import embedding_grad_add_to_ as embedding_grad_add_to_
from paddle.incubate.nn.functional.grouped import batched_gemm as batched_gemm
from paddle.incubate.nn.functional.linears import fused_linear as fused_linear
from paddle.incubate.nn.functional.linears import fused_linear_activation as fused_linear_activation
from paddle.incubate.nn.functional.linears import fused_matmul_bias as fused_matmul_bias
from paddle.incubate.nn.functional.moe_dispatch_fp8 import moe_gate_dispatch_and_quant as moe_gate_dispatch_and_quant
from paddle.incubate.nn.functional.multi_transformer import fused_multi_transformer as fused_multi_transformer
from paddle.incubate.nn.functional.norms import fast_ln as fast_ln
from paddle.incubate.nn.functional.norms import fast_rms_norm as fast_rms_norm
from paddle.incubate.nn.functional.norms import fused_layer_norm as fused_layer_norm
from paddle.incubate.nn.functional.norms import fused_rms_norm as fused_rms_norm
from paddle.incubate.nn.functional.norms import fused_rms_norm_ext as fused_rms_norm_ext
from paddle.incubate.nn.functional.partial_rotary import fused_partial_rope as fused_partial_rope
from paddle.incubate.nn.functional.rotary import fused_rotary_position_embedding as fused_rotary_position_embedding
from paddle.incubate.nn.functional.sequence_attention import blha_get_max_len as blha_get_max_len
from paddle.incubate.nn.functional.sequence_attention import (
    variable_length_memory_efficient_attention as variable_length_memory_efficient_attention,
)
from paddle.incubate.nn.functional.transformers import fused_feedforward as fused_feedforward
from paddle.incubate.nn.functional.transformers import fused_multi_head_attention as fused_multi_head_attention
from paddle.nn.functional.activation import swiglu as swiglu

__all__ = [
    "batched_gemm",
    "blha_get_max_len",
    "block_multihead_attention",
    "build_src_rank_and_local_expert_id",
    "cal_aux_loss",
    "cross_entropy_with_softmax_bwd_w_downcast",
    "embedding_grad_add_to_",
    "expand_modality_expert_id",
    "fast_ln",
    "fast_rms_norm",
    "fp8_gemm_blockwise",
    "fp8_quant_blockwise",
    "fused_act_dequant",
    "fused_bias_act",
    "fused_bias_dropout_residual_layer_norm",
    "fused_dot_product_attention",
    "fused_dropout_add",
    "fused_feedforward",
    "fused_gate_attention",
    "fused_layer_norm",
    "fused_linear",
    "fused_linear_activation",
    "fused_matmul_bias",
    "fused_moe",
    "fused_multi_head_attention",
    "fused_multi_transformer",
    "fused_partial_rope",
    "fused_rms_norm",
    "fused_rms_norm_ext",
    "fused_rotary_position_embedding",
    "fused_stack_transpose_quant",
    "fused_swiglu_weighted_bwd",
    "fused_transpose_split_quant",
    "fused_transpose_wlch_split_quant",
    "fused_weighted_swiglu_act_quant",
    "int_bincount",
    "masked_multihead_attention",
    "moe_combine",
    "moe_combine_no_weight",
    "moe_gate_dispatch",
    "moe_gate_dispatch_and_quant",
    "moe_gate_dispatch_partial_nosoftmaxtopk",
    "moe_gate_dispatch_permute",
    "swiglu",
    "variable_length_memory_efficient_attention",
]
