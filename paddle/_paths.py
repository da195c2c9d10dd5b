"""Old and private module paths of the reference that packages import, and where what they name is here.

A path stands either for another module, or for names from their homes, by home; ``old=new`` is a name that is called
``new`` there. No file stands behind a path: an import makes the module (``_path_finder.py``), and a module that is
there gets the names as if they were its own (``_lazy.py``). Every other name of a made module is refused: it is asked
for only because the reference has it.
"""

from __future__ import annotations

import sys

_BUILD = (
    "is_compiled_with_cinn is_compiled_with_cuda is_compiled_with_custom_device is_compiled_with_distribute "
    "is_compiled_with_ipu is_compiled_with_rocm is_compiled_with_xpu"
)
_DYNAMIC = (
    "disable_dygraph=enable_static disable_imperative=enable_static enable_dygraph=disable_static "
    "enable_imperative=disable_static"
)
_PLACES = "CPUPlace CUDAPinnedPlace CUDAPlace CustomPlace XPUPinnedPlace XPUPlace"
_CHECKS = "check_dtype check_shape check_type check_variable_and_dtype convert_dtype"
_MODES = "dygraph_only in_declarative_mode in_dynamic_or_pir_mode in_pir_mode non_static_only use_pir_api"
_PROGRAMS = "Executor Program Scope default_main_program default_startup_program global_scope program_guard scope_guard"
_TRACING = "_dygraph_tracer=tracer"
_PLACED = "_current_expected_place=current_place _current_expected_place_=current_place _get_paddle_place=given_place"

PATHS: dict[str, str | dict[str, str]] = {
    # --- paddle ------------------------------------------------------------------------------------------------------
    "paddle._C_ops": "paddle.static.formats.calls",
    "paddle._legacy_C_ops": "paddle.static.formats.legacy.calls",
    "paddle.paddle": "paddle",
    "paddle": {"paddle.version": "__git_commit__=commit", "umiak.core.dtype": "int=int32 long=int64 short=int16"},
    "paddle.functional": {
        "paddle": ("atleast_1d atleast_2d atleast_3d broadcast_shapes einsum meshgrid norm unique_consecutive"),
        "paddle.compat": "split",
    },
    # --- paddle.base -------------------------------------------------------------------------------------------------
    "paddle.base": {
        "paddle.static.data_feeder": "DataFeeder",
        "paddle": f"Tensor disable_signal_handler no_grad {_BUILD} {_DYNAMIC}",
        "paddle.framework": f"{_PLACES} ParamAttr get_flags set_flags in_dygraph_mode=in_dynamic_mode",
        "paddle.framework.mode": "in_dynamic_or_pir_mode in_pir_mode",
        "paddle.framework.tensor_type": "Variable",
        "paddle.nn.initializer": "set_global_initializer",
        "paddle.static": f"{_PROGRAMS} BuildStrategy CompiledProgram WeightNormParamAttr append_backward gradients "
        "cpu_places cuda_places xpu_places device_guard name_scope",
        "paddle.utils": "require_version",
    },
    "paddle.base.backward": {"paddle.static": "append_backward gradients"},
    "paddle.base.compiler": {"paddle.static": "BuildStrategy CompiledProgram"},
    "paddle.base.core": "paddle.framework.core",
    "paddle.base.data_feeder": {
        "paddle.framework.checks": _CHECKS,
        "paddle.framework.tensor_type": "Variable",
        "paddle.static.data_feeder": "DataFeeder",
    },
    "paddle.base.dygraph": {
        "paddle": "no_grad grad disable_dygraph=enable_static enable_dygraph=disable_static",
        "paddle.framework.mode": "enabled=in_dynamic_mode guard",
        "paddle.framework.tracer": "Tracer",
    },
    "paddle.base.dygraph.base": {
        "contextlib": "param_guard=nullcontext",
        "paddle": (
            "disable_dygraph=enable_static enable_dygraph=disable_static enable_grad grad is_grad_enabled no_grad "
            "no_grad_=no_grad set_grad_enabled"
        ),
        "paddle.framework.mode": "enabled=in_dynamic_mode guard in_declarative_mode",
    },
    "paddle.base.dygraph.parallel_helper": {"paddle.distributed": "_is_parallel_ctx_initialized=is_initialized"},
    "paddle.base.dygraph.tracer": {"paddle.framework.tracer": "Tracer"},
    "paddle.base.executor": {"paddle.static": "Executor global_scope scope_guard"},
    "paddle.base.framework": {
        "paddle": f"{_BUILD} Tensor",
        "paddle.framework": f"{_PLACES} EagerParamBase Parameter get_flags in_dygraph_mode=in_dynamic_mode set_flags",
        "paddle.framework.dtype": "convert_np_dtype_to_dtype_",
        "paddle.framework.flags": "_global_flags=variables",
        "paddle.framework.mode": _MODES,
        "paddle.framework.place": f"{_PLACED} _set_expected_place=set_current_place",
        "paddle.framework.tensor_type": "Variable",
        "paddle.framework.tracer": _TRACING,
        "paddle.static": (
            "Program default_main_program default_startup_program program_guard cpu_places cuda_places xpu_places "
            "device_guard name_scope"
        ),
        "paddle.static.program": "Block",
        "paddle.utils": "require_version unique_name",
    },
    "paddle.base.initializer": {"paddle.nn.initializer": "set_global_initializer"},
    "paddle.base.io": {"paddle.io": "DataLoader"},
    "paddle.base.layer_helper": {"paddle.framework.layer_helper": "LayerHelper"},
    "paddle.base.layers": {},
    "paddle.base.libpaddle": {"paddle": "DataType=dtype"},
    "paddle.base.libpaddle.pir": "paddle.pir",
    "paddle.base.log_helper": {"paddle.utils.logs": "get_logger"},
    "paddle.base.param_attr": {"paddle": "ParamAttr"},
    "paddle.base.unique_name": "paddle.framework.unique_name",
    "paddle.base.wrapped_decorator": {"contextlib": "signature_safe_contextmanager=contextmanager"},
    # --- paddle.framework --------------------------------------------------------------------------------------------
    "paddle.core": "paddle.framework.core",
    "paddle.amp.core": "paddle.framework.core",
    "paddle.device": {"paddle.framework.place": "_convert_to_place=place_of"},
    "paddle.device.framework": "paddle.base.framework",
    "paddle.framework": {
        "contextlib": "_no_check_dy2st_diff=nullcontext",
        "paddle": "grad",
        "paddle.framework.flags": "_global_flags=variables",
        "paddle.framework.layer_helper": "LayerHelper",
        "paddle.framework.parameter": "is_parameter",
        "paddle.framework.place": f"{_PLACED} _set_expected_place=set_current_place",
        "paddle.framework.tracer": _TRACING,
    },
    "paddle.framework.base": "paddle.base",
    "paddle.framework.core": {
        "paddle": f"{_BUILD} dtype DataType=dtype",
        "paddle.amp": "is_bfloat16_supported is_float16_supported",
        "paddle.device": "get_all_custom_device_type get_all_device_type",
        "paddle.device.memory": (
            "device_memory_stat_current_value device_memory_stat_peak_value device_memory_stat_reset_peak_value "
            "host_memory_stat_current_value host_memory_stat_peak_value host_memory_stat_reset_peak_value"
        ),
        "paddle.device.places": "get_custom_device_count",
        "paddle.framework": f"{_PLACES} Generator",
        "paddle.framework.decomposition": (
            "_is_all_prim_enabled=all_enabled _is_bwd_prim_enabled=backward_enabled "
            "_is_eager_prim_enabled=eager_enabled _is_fwd_prim_enabled=forward_enabled "
            "_set_prim_all_enabled=set_all _set_prim_backward_enabled=set_backward "
            "_set_prim_forward_enabled=set_forward set_prim_eager_enabled=set_eager"
        ),
        "paddle.framework.dense_tensor": "DenseTensor LoDTensor=DenseTensor Tensor=DenseTensor",
        "paddle.framework.flags": "globals=variables",
        "paddle.framework.random": (
            "default_cpu_generator=cpu_generator default_cuda_generator=cuda_generator "
            "default_custom_device_generator=generator_of default_xpu_generator=xpu_generator"
        ),
        "paddle.framework.tensor_type": "VarDesc size_of_dtype",
        "paddle.framework.tracer": "AmpLevel Tracer _has_grad=has_grad _set_has_grad=set_has_grad",
        "paddle.incubate.async_load": "AsyncLoad XpuAsyncLoad=AsyncLoad",
        "paddle.tensor.buffers": "MmapStorage frombuffer",
        "umiak.core.place": "Place",
    },
    "paddle.framework.core.eager": {
        "paddle": "Tensor",
        "paddle.autograd": "PyLayer",
        "paddle.autograd.saved_tensors": "register_saved_tensors_hooks reset_saved_tensors_hooks",
        "paddle.incubate.async_rows": "async_read async_write",
        "paddle.utils.cpp_extension.loading": "_run_custom_op=run_custom_op",
    },
    "paddle.framework.framework": {
        "paddle": "get_default_dtype set_default_dtype",
    },
    "paddle.framework.io": {
        "paddle.framework": "EagerParamBase",
        "paddle.framework.dense_tensor": "_to_LodTensor=dense_tensor_of _transformed_from_lodtensor=tensor_of",
        "paddle.framework.loading": "load",
        "paddle.framework.saving": "save",
    },
    "paddle.framework.random": {"paddle.static.program": "_manual_program_seed=seed_default_programs"},
    # --- paddle.hapi -------------------------------------------------------------------------------------------------
    "paddle.hapi.callbacks": {
        "paddle.callbacks": (
            "Callback EarlyStopping LRScheduler ModelCheckpoint ProgBarLogger ReduceLROnPlateau VisualDL WandbCallback"
        ),
        "paddle.callbacks.callback_list": "CallbackList config_callbacks",
        "paddle.hapi.progressbar": "ProgressBar",
    },
    "paddle.hapi.dynamic_flops": {"paddle": "flops"},
    "paddle.hapi.model": {"paddle.hapi.model": "_all_gather=_gathered"},
    "paddle.hapi.model_summary": {"paddle": "summary"},
    # --- the rest ----------------------------------------------------------------------------------------------------
    "paddle.common_ops_import": {
        "paddle": "ParamAttr",
        "paddle.framework": "in_dygraph_mode=in_dynamic_mode",
        "paddle.framework.checks": "check_dtype check_type check_variable_and_dtype convert_dtype",
        "paddle.framework.dtype": "convert_np_dtype_to_dtype_",
        "paddle.framework.layer_helper": "LayerHelper",
        "paddle.framework.mode": "dygraph_only",
        "paddle.framework.tensor_type": "VarDesc Variable",
        "paddle.framework.tracer": _TRACING,
    },
    "paddle.distributed.collective": {
        "paddle.distributed": (
            "barrier destroy_process_group get_backend get_group is_available is_initialized new_group "
            "restart_process_group shutdown_process_group wait"
        ),
        "paddle.distributed.communication.group": "Group _get_global_group",
    },
    "paddle.distributed.parallel": {
        "paddle.base.dygraph": "parallel_helper",
        "paddle.distributed.data_parallel": "sync_params_buffers",
    },
    "paddle.distributed.communication.all_to_all": {"paddle.distributed": "alltoall alltoall_single"},
    "paddle.distributed.fleet.base": {},
    "paddle.distributed.fleet.base.distributed_strategy": {"paddle.distributed.fleet": "DistributedStrategy"},
    "paddle.distributed.fleet.base.role_maker": {
        "paddle.distributed.fleet": "PaddleCloudRoleMaker Role UserDefinedRoleMaker"
    },
    "paddle.distributed.fleet.base.topology": {
        "paddle.distributed": "ParallelMode create_nccl_config",
        "paddle.distributed.fleet": "CommunicateTopology HybridCommunicateGroup",
    },
    "paddle.distributed.fleet.base.util_factory": {"paddle.distributed.fleet": "UtilBase"},
    "paddle.distributed.fleet.utils.log_util": {"paddle.utils.logs": "logger=fleet"},
    "paddle.incubate.framework": {"paddle.incubate": "get_rng_state register_rng_state_as_index set_rng_state"},
    "paddle.incubate.optimizer.modelaverage": {"paddle.incubate": "ModelAverage"},
    "paddle.io.reader": {"paddle.io": "DataLoader", "paddle.io.pinned": "use_pinned_memory"},
    "paddle.io.dataloader": {
        "paddle.io": (
            "BatchSampler ChainDataset ComposeDataset ConcatDataset Dataset DistributedBatchSampler IterableDataset "
            "RandomSampler Sampler SequenceSampler Subset SubsetRandomSampler TensorDataset WeightedRandomSampler "
            "get_worker_info random_split"
        )
    },
    "paddle.io.dataloader.batch_sampler": {"paddle.io": "BatchSampler DistributedBatchSampler"},
    "paddle.io.dataloader.collate": "paddle.io.collate",
    "paddle.io.dataloader.dataloader_iter": {"paddle.io.loader": "_DataLoaderIterBase=_BatchIterator"},
    "paddle.io.dataloader.dataset": {
        "paddle.io": (
            "ChainDataset ComposeDataset ConcatDataset Dataset IterableDataset Subset TensorDataset random_split"
        )
    },
    "paddle.io.dataloader.sampler": {
        "paddle.io": "RandomSampler Sampler SequenceSampler SubsetRandomSampler WeightedRandomSampler"
    },
    "paddle.io.dataloader.worker": {"paddle.io": "get_worker_info"},
    "paddle.vision.transforms.functional": {
        "paddle.vision.transforms._kinds": "_is_pil_image=is_pil _is_tensor_image=is_tensor"
    },
    "paddle.vision.transforms.transforms": {
        "paddle.vision.transforms.jitter": "_check_input=check_input",
        "paddle.vision.transforms": (
            "BaseTransform BrightnessTransform CenterCrop ColorJitter Compose ContrastTransform Grayscale HueTransform "
            "Normalize Pad RandomAffine RandomCrop RandomErasing RandomHorizontalFlip RandomPerspective "
            "RandomResizedCrop RandomRotation RandomVerticalFlip Resize SaturationTransform ToTensor Transpose"
        ),
    },
    "paddle.nn.functional.flash_attention": {"paddle.nn.functional": "sdp_kernel"},
    "paddle.nn.quant.quantized_linear": {
        "paddle.nn.quant": (
            "apply_per_channel_scale llm_int8_linear weight_dequantize weight_only_linear weight_quantize"
        )
    },
    "paddle.compat.nn.functional.sdpa": {"paddle.compat.nn.functional": "scaled_dot_product_attention"},
    "paddle.compat.nn.transformer": {"paddle.compat.nn": "MultiheadAttention"},
    "paddle.incubate.nn.functional.fp8": {
        "paddle.incubate.nn.functional": (
            "fused_stack_transpose_quant fused_swiglu_weighted_bwd fused_transpose_split_quant "
            "fused_transpose_wlch_split_quant fused_weighted_swiglu_act_quant"
        )
    },
    "paddle.incubate.nn.functional.fused_transformer": {
        "paddle.incubate.nn.functional": (
            "fused_bias_dropout_residual_layer_norm fused_feedforward fused_multi_head_attention "
            "fused_multi_transformer"
        )
    },
    "paddle.incubate.nn.layer": {},
    "paddle.incubate.nn.memory_efficient_attention": {
        "paddle.incubate.nn.attn_bias": (
            "BlockDiagonalCausalMask BlockDiagonalCausalWithOffsetPaddedKeysMask BlockDiagonalMask LowerTriangularMask "
            "LowerTriangularMaskWithTensorBias"
        )
    },
    "paddle.incubate.nn.layer.fused_dropout_add": {"paddle.incubate.nn": "FusedDropoutAdd"},
    "paddle.incubate.nn.layer.fused_linear": {"paddle.incubate.nn": "FusedLinear"},
    "paddle.incubate.nn.layer.fused_transformer": {
        "paddle.incubate.nn": (
            "FusedBiasDropoutResidualLayerNorm FusedFeedForward FusedMultiHeadAttention FusedMultiTransformer "
            "FusedTransformerEncoderLayer"
        )
    },
    "paddle.incubate.tensor": {"paddle.incubate": "segment_max segment_mean segment_min segment_sum"},
    "paddle.incubate.tensor.manipulation": {
        "paddle.incubate.async_load": (
            "async_offload async_offload_with_offset async_reload create_async_load create_xpu_async_load"
        ),
        "paddle.incubate.offload": "enable_activation_offload",
    },
    "paddle.incubate.tensor.math": {"paddle.incubate": "segment_max segment_mean segment_min segment_sum"},
    "paddle.pir": {
        "paddle.static": "Program",
        "paddle.static.program": "Block",
        "umiak.ir.tracer": "Value=SymTensor",
    },
    "paddle.pir.core": {
        "paddle": "create_parameter",
        "paddle.static": "Program data default_main_program default_startup_program program_guard",
    },
    "paddle.nn.functional.sdpa": {"paddle.nn.functional": "scaled_dot_product_attention"},
    "paddle.nn.layer.distance": {"paddle.nn": "PairwiseDistance"},
    "paddle.nn.modules": {"paddle.nn": "Module"},
    "paddle.nn.modules.container": {"paddle.nn": "LayerDict LayerList"},
    "paddle.nn.modules.module": {"paddle.nn": "Layer Module"},
    "paddle.nn.utils.spectral_norm_hook": {"paddle.nn": "spectral_norm"},
    "paddle.static.io": {
        "paddle.static": (
            "deserialize_persistables deserialize_program is_persistable load load_from_file load_inference_model "
            "load_program_state load_vars normalize_program save save_inference_model save_to_file save_vars "
            "serialize_persistables serialize_program set_program_state"
        )
    },
    "paddle.utils.cpp_extension.cpp_extension": {
        "paddle.utils.cpp_extension": "BuildExtension CUDAExtension CUDA_HOME CppExtension load setup"
    },
    "paddle.utils.cpp_extension.extension_utils": {
        "paddle.utils.cpp_extension": "get_build_directory load_op_meta_info_and_register_op parse_op_info",
        "paddle.utils.cpp_extension.commands": (
            "IS_WINDOWS _import_module_from_library=import_module_from_library _jit_compile=jit_compile run_cmd"
        ),
    },
    "paddle.utils.unique_name": "paddle.framework.unique_name",
}


# Modules of a package each of which has some of the package's names: `sgd=SGD` is `paddle.optimizer.sgd.SGD`.
_PARTS = {
    "paddle.autograd": "autograd=hessian,jacobian backward_mode=backward",
    "paddle.distributed": "parallel_with_gloo=gloo_barrier,gloo_init_parallel_env,gloo_release",
    "paddle.distributed.communication.stream": "all_to_all=alltoall,alltoall_single",
    "paddle.distributed.fleet": "model=distributed_model optimizer=distributed_optimizer",
    "paddle.distribution": (
        "bernoulli=Bernoulli beta=Beta binomial=Binomial categorical=Categorical cauchy=Cauchy chi2=Chi2 "
        "continuous_bernoulli=ContinuousBernoulli dirichlet=Dirichlet exponential=Exponential "
        "exponential_family=ExponentialFamily gamma=Gamma geometric=Geometric gumbel=Gumbel independent=Independent "
        "kl=kl_divergence,register_kl laplace=Laplace lkj_cholesky=LKJCholesky lognormal=LogNormal "
        "multinomial=Multinomial multivariate_normal=MultivariateNormal normal=Normal poisson=Poisson "
        "student_t=StudentT transformed_distribution=TransformedDistribution uniform=Uniform"
    ),
    "paddle.incubate.optimizer": "lbfgs=LBFGS",
    "paddle.jit": "marker=not_to_static translated_layer=TranslatedLayer",
    "paddle.nn.functional": "extension=diag_embed,gather_tree,sequence_mask,temporal_shift",
    "paddle.nn.initializer": (
        "assign=Assign bilinear=Bilinear constant=Constant dirac=Dirac initializer=Initializer,calculate_gain "
        "kaiming=KaimingNormal,KaimingUniform normal=Normal,TruncatedNormal orthogonal=Orthogonal uniform=Uniform "
        "xavier=XavierNormal,XavierUniform"
    ),
    "paddle.nn.utils": (
        "transform_parameters=parameters_to_vector,vector_to_parameters weight_norm_hook=remove_weight_norm,weight_norm"
    ),
    "paddle.optimizer": (
        "adadelta=Adadelta adagrad=Adagrad adamax=Adamax adamw=AdamW asgd=ASGD lamb=Lamb momentum=Momentum nadam=NAdam "
        "radam=RAdam rmsprop=RMSProp rprop=Rprop sgd=SGD"
    ),
    "paddle.profiler": "profiler_statistic=SortedKeys utils=RecordEvent,load_profiler_result",
    "paddle.utils": (
        "environments=strtobool install_check=run_check "
        "layers_utils=assert_same_structure,convert_shape_to_list,flatten,is_same_shape,is_sequence,map_structure,"
        "pack_sequence_as,to_sequence lazy_import=try_import"
    ),
}
for _package, _parts in _PARTS.items():
    for _part in _parts.split():
        _leaf, _, _names = _part.partition("=")
        PATHS[f"{_package}.{_leaf}"] = {_package: _names.replace(",", " ")}

# The modules of the table right below a module.
BELOW: dict[str, list[str]] = {}
for _path in PATHS:
    _parent, _, _leaf = _path.rpartition(".")
    BELOW.setdefault(_parent, []).append(_leaf)


def homes_of(module: str) -> dict[str, tuple[str, str]]:
    """The names that a module gets from the table: home and name there."""
    row = PATHS.get(module, {})
    homes = {}
    if isinstance(row, dict):
        for home, names in row.items():
            for entry in names.split():
                old, _, new = entry.partition("=")
                homes[old] = (home, new or old)
    homes.update((leaf, (f"{module}.{leaf}", "")) for leaf in BELOW.get(module, ()))
    return homes


MADE = "made from paddle/_paths.py"  # the origin of such modules


def is_made(module: str) -> bool:
    """Return whether a module was made from the table, and has nothing of its own."""
    return getattr(getattr(sys.modules.get(module), "__spec__", None), "origin", None) == MADE
