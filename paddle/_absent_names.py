"""Public names of the reference that are not here yet, by module. Made by ``tools/absent_names.py``."""

NAMES = {
    "paddle": "IrGuard cost_model new_init original_init quantization",
    "paddle.device.cuda": (
        "MemoryAnalysisTool allocate_record_guard allocate_record_plot allocate_record_table vmm_compact "
    ),
    "paddle.distributed": (
        "BoxPSDataset ColWiseParallel ContextParallel ConvParallel DataParallel DistAttr DistModel "
        "InMemoryDataset LocalLayer Partial Placement PrepareContextParallel PrepareLayerInput PrepareLayerOutput "
        "ProcessMesh QueueDataset ReduceType Replicate RowWiseParallel SequenceParallelBegin "
        "SequenceParallelDisable SequenceParallelEnable SequenceParallelEnd Shard ShardingStage1 ShardingStage2 "
        "ShardingStage3 SplitPoint Strategy auto_parallel dtensor_from_fn enable_auto_dp get_mesh "
        "group_sharded_parallel in_auto_parallel_align_mode io local_map parallelize passes reshard "
        "save_group_sharded_model set_mesh shard_dataloader shard_layer shard_op shard_optimizer shard_scaler "
        "shard_tensor sharding split to_distributed to_static unshard_dtensor utils "
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
    "paddle.incubate": "DistributedFusedLamb cc",
    "paddle.incubate.autograd": "prim2orig",
    "paddle.incubate.layers": (
        "batch_fc correlation fused_bn_add_act fused_seqpool_cvm pow2_decay_with_linear_warmup rank_attention "
        "search_pyramid_hash tdm_child tdm_sampler "
    ),
    "paddle.incubate.nn": "FusedDropout",
    "paddle.incubate.nn.functional": "block_multihead_attention_xpu cudnn_flash_attention",
    "paddle.incubate.optimizer": "DistributedFusedLamb GradientMergeOptimizer PipelineOptimizer RecomputeOptimizer",
    "paddle.inference": "InternalUtils",
    "paddle.jit": "json_to_pdmodel",
    "paddle.library": "warn_about_unimplemented_torch_features",
    "paddle.nn.quant": "QuantStub",
    "paddle.static": "MetaTensor Operator Parameter quantization register_op",
    "paddle.static.nn": "continuous_value_model create_parameter",
    "paddle.utils": "capture_backward_subgraph_guard capture_forward_subgraph_guard",
}
