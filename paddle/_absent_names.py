"""Public names of the reference that are not here yet, by module. Made by ``tools/absent_names.py``."""

NAMES = {
    "Tensor": (
        "coalesce cols create_parameter create_tensor crows dense_dim get_map_tensor get_selected_rows get_tensor "
        "indices is_coalesced nnz reconstruct_from_ rows set_string_list set_tensor set_vocab sparse_dim "
        "to_sparse_coo to_sparse_csr type values "
    ),
    "paddle": (
        "LazyGuard MmapStorage Model audio callbacks check_shape compat cost_model cuda decomposition disable_compat "
        "enable_compat enable_static geometric hub inference library onnx pstring quantization raw sparse sysconfig "
        "text uint32 uint64 vision "
    ),
    "paddle.device": "IPUPlace get_stream_from_external ipc_collect is_current_stream_capturing xpu",
    "paddle.device.cuda": "vmm_compact",
    "paddle.distributed": (
        "ColWiseParallel ContextParallel ConvParallel CountFilterEntry DistAttr DistModel InMemoryDataset LocalLayer "
        "Partial Placement PrepareContextParallel PrepareLayerInput PrepareLayerOutput ProbabilityEntry ProcessMesh "
        "QueueDataset ReduceType Replicate RowWiseParallel SequenceParallelBegin SequenceParallelDisable "
        "SequenceParallelEnable SequenceParallelEnd Shard ShardingStage1 ShardingStage2 ShardingStage3 ShowClickEntry "
        "SplitPoint Strategy auto_parallel dtensor_from_fn get_mesh io local_map parallelize passes reshard set_mesh "
        "shard_dataloader shard_layer shard_optimizer shard_scaler shard_tensor sharding split to_distributed "
        "to_static unshard_dtensor utils "
    ),
    "paddle.distributed.fleet": "MultiSlotDataGenerator MultiSlotStringDataGenerator",
    "paddle.distributed.fleet.utils": "DistributedInfer HDFSClient LocalFS",
    "paddle.incubate": (
        "asp autotune cc graph_khop_sampler graph_reindex graph_sample_neighbors graph_send_recv identity_loss "
        "inference layers nn segment_max segment_mean segment_min segment_sum softmax_mask_fuse "
        "softmax_mask_fuse_upper_triangle "
    ),
    "paddle.incubate.autograd": "disable_prim enable_prim forward_grad grad",
    "paddle.jit": "TranslatedLayer load save set_code_level set_verbosity sot",
    "paddle.linalg": "fp8_fp8_half_gemm_fused",
    "paddle.nn": "quant",
    "paddle.nn.functional": "flashmask_attention moe_permute moe_unpermute sparse_attention",
    "paddle.static": (
        "BuildStrategy CompiledProgram Executor ExponentialMovingAverage IpuCompiledProgram IpuStrategy Print Program "
        "Variable WeightNormParamAttr accuracy amp append_backward auc cpu_places create_global_var create_parameter "
        "ctr_metric_bundle cuda_places data default_main_program default_startup_program deserialize_persistables "
        "deserialize_program device_guard global_scope gradients ipu_shard_guard load load_from_file "
        "load_inference_model load_program_state name_scope nn normalize_program program_guard py_func quantization "
        "save save_inference_model save_to_file scope_guard serialize_persistables serialize_program set_ipu_shard "
        "set_program_state xpu_places "
    ),
    "paddle.tensor": "MmapStorage",
    "paddle.utils": "cpp_extension download image_util",
}
