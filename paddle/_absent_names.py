"""Public names of the reference that are not here yet, by module. Made by ``tools/absent_names.py``."""

NAMES = {
    "Tensor": (
        "coalesce cols create_parameter create_tensor crows dense_dim get_map_tensor get_selected_rows get_tensor "
        "indices is_coalesced nnz reconstruct_from_ rows set_string_list set_tensor set_vocab sparse_dim "
        "to_sparse_coo to_sparse_csr type values "
    ),
    "paddle": (
        "Event IPUPlace IrGuard LazyGuard MmapStorage Model Stream acosh_ asin_ asinh_ async_save atanh_ audio "
        "bartlett_window blackman_window callbacks check_shape cholesky clear_async_save_task_queue compat cosh_ "
        "cost_model cuda decomposition device_guard disable_compat eigvalsh enable_compat enable_static geometric "
        "get_cudnn_version get_default_device get_device_module hamming_window hann_window hub inference inverse "
        "kaiser_window library log1p_ logical_xor_ new_init norm not_equal_ onnx original_init pstring "
        "quantization raw set_default_device sigmoid sparse sysconfig text uint32 uint64 use_compat_guard vision "
    ),
    "paddle.amp": "OptimizerState black_list white_list",
    "paddle.amp.debugging": "set_checked_op_list set_skipped_op_list",
    "paddle.device": (
        "IPUPlace amp current_device device_to_place get_default_device get_device_module "
        "get_stream_from_external ipc_collect is_current_stream_capturing manual_seed_all nvtx set_default_device "
        "stream xpu "
    ),
    "paddle.device.cuda": (
        "MemoryAnalysisTool allocate_record_guard allocate_record_plot allocate_record_table create_event "
        "create_stream get_rng_state manual_seed set_rng_state vmm_compact "
    ),
    "paddle.distributed": (
        "BoxPSDataset ColWiseParallel ContextParallel ConvParallel CountFilterEntry DataParallel DistAttr "
        "DistModel InMemoryDataset LocalLayer Partial Placement PrepareContextParallel PrepareLayerInput "
        "PrepareLayerOutput ProbabilityEntry ProcessMesh QueueDataset ReduceType Replicate RowWiseParallel "
        "SequenceParallelBegin SequenceParallelDisable SequenceParallelEnable SequenceParallelEnd Shard "
        "ShardingStage1 ShardingStage2 ShardingStage3 ShowClickEntry SplitPoint Strategy auto_parallel "
        "dtensor_from_fn enable_auto_dp get_mesh group_sharded_parallel in_auto_parallel_align_mode io local_map "
        "parallelize passes reshard save_group_sharded_model set_mesh shard_dataloader shard_layer shard_op "
        "shard_optimizer shard_scaler shard_tensor sharding split to_distributed to_static unshard_dtensor utils "
    ),
    "paddle.distributed.fleet": (
        "BoxPSDataset DatasetBase FileInstantDataset InMemoryDataset MultiSlotDataGenerator "
        "MultiSlotStringDataGenerator QueueDataset check_memory_usage collective_perf distributed_scaler "
        "get_fl_client get_log_level_code get_log_level_name init_coordinator init_server init_worker "
        "load_inference_model load_model load_one_table local_device_ids make_fl_strategy minimize nranks "
        "print_table_stat rank rank_in_node run_server save_cache_model save_cache_table save_dense_params "
        "save_inference_model save_one_table save_persistables server_endpoints server_index server_num set_date "
        "set_log_level shrink stop_worker world_device_ids world_size "
    ),
    "paddle.distributed.fleet.utils": "DistributedInfer HDFSClient LocalFS",
    "paddle.incubate": (
        "DistributedFusedLamb asp autotune cc get_rng_state graph_khop_sampler graph_reindex "
        "graph_sample_neighbors graph_send_recv identity_loss inference layers nn register_rng_state_as_index "
        "segment_max segment_mean segment_min segment_sum set_rng_state softmax_mask_fuse "
        "softmax_mask_fuse_upper_triangle "
    ),
    "paddle.incubate.autograd": "disable_prim enable_prim forward_grad grad prim2orig prim_enabled",
    "paddle.incubate.optimizer": ("DistributedFusedLamb GradientMergeOptimizer PipelineOptimizer RecomputeOptimizer "),
    "paddle.jit": "TranslatedLayer json_to_pdmodel load save set_code_level set_verbosity sot",
    "paddle.linalg": "fp8_fp8_half_gemm_fused",
    "paddle.nn": "quant spectral_norm",
    "paddle.nn.functional": ("diag_embed flashmask_attention moe_permute moe_unpermute sdp_kernel sparse_attention "),
    "paddle.nn.initializer": (
        "ConstantInitializer MSRAInitializer NormalInitializer NumpyArrayInitializer TruncatedNormalInitializer "
        "UniformInitializer XavierInitializer "
    ),
    "paddle.optimizer.lr": (
        "cosine_decay exponential_decay inverse_time_decay linear_lr_warmup natural_exp_decay noam_decay "
        "piecewise_decay polynomial_decay "
    ),
    "paddle.profiler": "TracerEventType",
    "paddle.signal": "frame overlap_add",
    "paddle.static": (
        "BuildStrategy CompiledProgram Executor ExponentialMovingAverage IpuCompiledProgram IpuStrategy "
        "MetaTensor Operator Parameter Print Program Scope Variable WeightNormParamAttr accuracy amp "
        "append_backward auc cpu_places create_global_var create_parameter ctr_metric_bundle cuda_places data "
        "default_main_program default_startup_program deserialize_persistables deserialize_program device_guard "
        "global_scope gradients ipu_shard_guard is_persistable load load_from_file load_inference_model "
        "load_program_state load_vars name_scope normalize_program program_guard py_func quantization register_op "
        "save save_inference_model save_to_file save_vars scope_guard serialize_persistables serialize_program "
        "set_ipu_shard set_program_state xpu_places "
    ),
    "paddle.static.nn": (
        "batch_norm bilinear_tensor_product continuous_value_model conv2d conv2d_transpose conv3d "
        "conv3d_transpose create_parameter deform_conv2d embedding fc group_norm instance_norm layer_norm nce "
        "prelu py_func row_conv sequence_conv sequence_expand sequence_first_step sequence_last_step "
        "sequence_pool sequence_softmax sparse_embedding spectral_norm static_pylayer "
    ),
    "paddle.tensor": "MmapStorage",
    "paddle.utils": (
        "assert_same_structure capture_backward_subgraph_guard capture_forward_subgraph_guard "
        "convert_shape_to_list cpp_extension download flatten image_util is_same_shape is_sequence map_structure "
        "pack_sequence_as strtobool to_sequence "
    ),
    "paddle.utils.dlpack": "DLDeviceType SupportDLPack",
    "paddle.version": "CudaVersion hml",
}
