"""Operators of older programs that no program for inference has, and why: named in errors."""

from __future__ import annotations

from collections.abc import Iterable

_TRAINS = """
adadelta adagrad adam adamax adamw average_accumulates check_finite_and_unscale decayed_adagrad dgc_clip_by_norm
dgc_momentum distributed_fused_lamb distributed_fused_lamb_init dpsgd ftrl fused_adam lamb lars_momentum merged_adam
merged_momentum momentum pow2_decay_with_linear_warmup proximal_adagrad proximal_gd rmsprop sgd sparse_momentum
update_loss_scaling generate_mask_labels generate_proposal_labels retinanet_target_assign rpn_target_assign
mine_hard_examples nce linear_chain_crf run_program coalesce_tensor fake_init tdm_sampler merge_selected_rows
check_memory_continue check_numerics get_tensor_from_selected_rows graph_khop_sampler graph_reindex
graph_sample_neighbors weighted_sample_neighbors
"""
_EVALUATES = "chunk_eval detection_map positive_negative_pair precision_recall"
_OF_DEVICES = """
alloc_float_status clear_float_status get_float_status fused_conv3d fused_dconv_drelu_dbn fused_scale_bias_add_relu
fused_scale_bias_relu_conv_bn fused_seqpool_cvm fused_transpose multi_gru requantize squeeze_excitation_block
transfer_layout
"""
_COMMUNICATES = """
all_gather all_reduce all_to_all alltoall barrier broadcast dist_concat distributed_lookup_table distributed_push_sparse
fetch_barrier global_gather global_scatter heter_listen_and_serv listen_and_serv mp_allreduce_sum partial_allgather
partial_recv partial_send p_recv p_recv_array p_send p_send_array pull_box_extended_sparse pull_box_sparse
pull_gpups_sparse pull_sparse pull_sparse_v2 push_dense recv_v2 reduce reduce_scatter send send_and_recv send_barrier
send_v2 copy_cross_scope assign_pos limit_by_capacity number_count prune_gate_by_capacity random_routing get_places
push_box_extended_sparse push_box_sparse push_gpups_sparse push_sparse push_sparse_v2
"""
_READS = """
create_custom_reader create_double_buffer_reader create_py_reader dequeue enqueue queue_generator read read_file load
load_combine save save_combine
"""
_OF_PYTHON = "py_func pylayer"
_REASONS = {
    **dict.fromkeys(_TRAINS.split(), "of training"),
    **dict.fromkeys(_EVALUATES.split(), "of metrics"),
    **dict.fromkeys(_OF_DEVICES.split(), "of passes for a device or a library"),
    **dict.fromkeys(_COMMUNICATES.split(), "of several processes"),
    **dict.fromkeys(_READS.split(), "of files and readers"),
    **dict.fromkeys(_OF_PYTHON.split(), "calls Python functions that no file has"),
}


def described(types: Iterable[str]) -> str:
    """Names of operators, with the reason for those that are of no use when a model is served."""
    return ", ".join(f"{t} ({reason})" if (reason := _reason(t)) else t for t in types)


def _reason(type: str) -> str | None:
    if type.endswith(("_grad", "_grad_grad", "_p")):  # the last are of gradients that are composed of other operators
        return "of training"
    if type.endswith("_xpu"):
        return _REASONS["requantize"]
    if type.startswith("c_") and type not in _REASONS:
        return "of several processes"
    return _REASONS.get(type)
