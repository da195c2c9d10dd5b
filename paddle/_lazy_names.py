"""Names that are loaded when they are used, by module and by their home. Made by ``tools/lazy_names.py``."""

NAMES = {
    "paddle": {
        "paddle": (
            "amp audio autograd callbacks compat cuda dataset decomposition distributed distribution fft geometric "
            "hapi hub incubate inference io jit library linalg metric onnx ops optimizer pir profiler reader "
            "regularizer sparse special static sysconfig text utils version vision "
        ),
        "paddle.amp.auto_cast": (
            "autocast get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_enabled "
        ),
        "paddle.autograd.run": "grad",
        "paddle.compat.proxy": "disable_compat enable_compat use_compat_guard",
        "paddle.device.default": "get_default_device get_device_module set_default_device",
        "paddle.device.streams": "Event Stream",
        "paddle.distributed.data_parallel": "DataParallel",
        "paddle.framework.background_save": "async_save clear_async_save_task_queue",
        "paddle.framework.checks": "check_shape",
        "paddle.framework.loading": "load",
        "paddle.framework.saving": "save",
        "paddle.hapi.flops": "flops",
        "paddle.hapi.model": "Model",
        "paddle.hapi.summary": "summary",
        "paddle.nn.initializer.lazy_init": "LazyGuard",
        "paddle.static.program": "enable_static",
        "paddle.tensor.buffers": "MmapStorage",
        "paddle.tensor.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    },
    "paddle.amp": {
        "paddle.amp": "debugging",
        "paddle.amp.amp_lists": "black_list white_list",
    },
    "paddle.audio": {
        "paddle.audio.backends.files": "info load save",
    },
    "paddle.autograd": {
        "paddle.autograd.functional": "Hessian Jacobian hessian jacobian jvp vjp",
    },
    "paddle.compat": {
        "paddle.compat.triton_package": "paddle_triton_fun",
    },
    "paddle.cuda": {
        "paddle.cuda.runtime": "CudaError check_error cudart is_initialized mem_get_info set_device",
        "paddle.device.default": "current_device",
        "paddle.device.generators": "device_manual_seed_all get_rng_state manual_seed manual_seed_all set_rng_state",
        "paddle.device.memory": (
            "empty_cache ipc_collect max_memory_allocated max_memory_reserved memory_allocated memory_reserved "
            "reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats "
        ),
        "paddle.device.mixed_precision": "amp",
        "paddle.device.ranges": "nvtx",
        "paddle.device.streams": (
            "Event Stream StreamContext current_stream get_stream_from_external is_current_stream_capturing "
            "set_stream stream synchronize "
        ),
    },
    "paddle.device": {
        "paddle.device": "cuda xpu",
        "paddle.device.default": (
            "current_device device_to_place get_default_device get_device_module set_default_device "
        ),
        "paddle.device.generators": "get_rng_state manual_seed manual_seed_all set_rng_state",
        "paddle.device.memory": (
            "empty_cache ipc_collect max_memory_allocated max_memory_reserved memory_allocated memory_reserved "
            "memory_summary reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats "
        ),
        "paddle.device.mixed_precision": "amp",
        "paddle.device.ranges": "nvtx",
        "paddle.device.streams": (
            "Event Stream StreamContext current_stream get_stream_from_external is_current_stream_capturing "
            "set_stream stream stream_guard synchronize "
        ),
    },
    "paddle.device.cuda": {
        "paddle.device.cuda": "cuda_graphed_layer graphs",
    },
    "paddle.device.xpu": {
        "paddle.device.generators": "get_rng_state manual_seed set_rng_state",
    },
    "paddle.distributed": {
        "paddle.distributed.entry_attr": "CountFilterEntry ProbabilityEntry ShowClickEntry",
    },
    "paddle.framework": {
        "paddle.framework": "io",
        "paddle.framework.background_save": "async_save clear_async_save_task_queue",
        "paddle.framework.loading": "load",
        "paddle.framework.saving": "save",
    },
    "paddle.hapi": {
        "paddle.hapi.model": "Model",
    },
    "paddle.incubate": {
        "paddle.geometric.math": "segment_max segment_mean segment_min segment_sum",
        "paddle.incubate": "asp autotune jit layers multiprocessing nn operators",
        "paddle.incubate.jit.inference_decorator": "inference",
        "paddle.incubate.operators.graphs": "graph_khop_sampler graph_reindex graph_sample_neighbors graph_send_recv",
        "paddle.incubate.operators.losses": "identity_loss",
        "paddle.incubate.operators.softmax_mask": "softmax_mask_fuse softmax_mask_fuse_upper_triangle",
    },
    "paddle.incubate.jit": {
        "paddle.incubate.jit.inference_decorator": "inference is_inference_mode",
    },
    "paddle.incubate.nn": {
        "paddle.incubate.nn": "functional",
        "paddle.incubate.nn.dropouts": "FusedBiasDropoutResidualLayerNorm FusedDropoutAdd",
        "paddle.incubate.nn.linears": "FusedLinear",
        "paddle.incubate.nn.multi_transformer": "FusedMultiTransformer",
        "paddle.incubate.nn.transformers": "FusedFeedForward FusedMultiHeadAttention FusedTransformerEncoderLayer",
    },
    "paddle.incubate.nn.attn_bias": {
        "paddle.incubate.nn.attention_masks": (
            "AttentionBias BlockDiagonalCausalMask BlockDiagonalCausalWithOffsetPaddedKeysMask BlockDiagonalMask "
            "LowerTriangularMask LowerTriangularMaskWithTensorBias PaddedSeqLenInfo SeqLenInfo "
        ),
    },
    "paddle.incubate.nn.functional": {
        "paddle.incubate.nn.functional.activations": "fused_bias_act",
        "paddle.incubate.nn.functional.balance": "cal_aux_loss",
        "paddle.incubate.nn.functional.cache_attention": "block_multihead_attention",
        "paddle.incubate.nn.functional.decode_attention": "masked_multihead_attention",
        "paddle.incubate.nn.functional.dot_product": "fused_dot_product_attention",
        "paddle.incubate.nn.functional.dropouts": "fused_bias_dropout_residual_layer_norm fused_dropout_add",
        "paddle.incubate.nn.functional.expert_dispatch": (
            "moe_combine moe_combine_no_weight moe_gate_dispatch moe_gate_dispatch_partial_nosoftmaxtopk "
            "moe_gate_dispatch_permute "
        ),
        "paddle.incubate.nn.functional.expert_ids": (
            "build_src_rank_and_local_expert_id expand_modality_expert_id int_bincount "
        ),
        "paddle.incubate.nn.functional.fp8": "fp8_gemm_blockwise fp8_quant_blockwise fused_act_dequant",
        "paddle.incubate.nn.functional.fp8_experts": (
            "fused_stack_transpose_quant fused_transpose_split_quant fused_transpose_wlch_split_quant "
        ),
        "paddle.incubate.nn.functional.fp8_swiglu": "fused_swiglu_weighted_bwd fused_weighted_swiglu_act_quant",
        "paddle.incubate.nn.functional.fused_experts": "fused_moe",
        "paddle.incubate.nn.functional.gate_attention": "fused_gate_attention",
        "paddle.incubate.nn.functional.gradients": "cross_entropy_with_softmax_bwd_w_downcast embedding_grad_add_to_",
        "paddle.incubate.nn.functional.grouped": "batched_gemm",
        "paddle.incubate.nn.functional.linears": "fused_linear fused_linear_activation fused_matmul_bias",
        "paddle.incubate.nn.functional.moe_dispatch_fp8": "moe_gate_dispatch_and_quant",
        "paddle.incubate.nn.functional.multi_transformer": "fused_multi_transformer",
        "paddle.incubate.nn.functional.norms": (
            "fast_ln fast_rms_norm fused_layer_norm fused_rms_norm fused_rms_norm_ext "
        ),
        "paddle.incubate.nn.functional.partial_rotary": "fused_partial_rope",
        "paddle.incubate.nn.functional.rotary": "fused_rotary_position_embedding",
        "paddle.incubate.nn.functional.sequence_attention": (
            "blha_get_max_len variable_length_memory_efficient_attention "
        ),
        "paddle.incubate.nn.functional.transformers": "fused_feedforward fused_multi_head_attention",
    },
    "paddle.incubate.nn.memory_efficient_attention": {
        "paddle.incubate.nn.masked_attention": "memory_efficient_attention",
    },
    "paddle.inference": {
        "paddle.inference.config": "Config",
        "paddle.inference.handle": "Tensor",
        "paddle.inference.kinds": (
            "DataType PlaceType PrecisionType _get_phi_kernel_name get_num_bytes_of_data_type get_trt_compile_version "
            "get_trt_runtime_version get_version "
        ),
        "paddle.inference.mixed": "convert_to_mixed_precision",
        "paddle.inference.predictor": "Predictor PredictorPool create_predictor",
        "paddle.inference.xpu_config": "XpuConfig",
    },
    "paddle.jit": {
        "paddle.jit.ignored": "ignore_module",
        "paddle.jit.loading": "TranslatedLayer load",
        "paddle.jit.saving": "save",
        "paddle.jit.source.show": "set_code_level set_verbosity",
    },
    "paddle.linalg": {
        "paddle.tensor.fp8_products": "fp8_fp8_half_gemm_fused",
    },
    "paddle.nn": {
        "paddle.nn": "attention init quant utils",
        "paddle.nn.clip": "ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue",
        "paddle.nn.decode": "BeamSearchDecoder dynamic_decode",
        "paddle.nn.layer.rnn": "BiRNN GRU GRUCell LSTM LSTMCell RNN RNNCellBase SimpleRNN SimpleRNNCell",
        "paddle.nn.layer.transformer": (
            "MultiHeadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
            "TransformerEncoderLayer "
        ),
        "paddle.nn.layer.vision": "ChannelShuffle PixelShuffle PixelUnshuffle",
        "paddle.nn.utils.spectral_norm": "spectral_norm",
    },
    "paddle.nn.functional": {
        "paddle.nn.attention.sdpa": "sdp_kernel",
        "paddle.nn.functional.attention": "scaled_dot_product_attention",
        "paddle.nn.functional.distance": "pairwise_distance pdist",
        "paddle.nn.functional.experts": "moe_permute moe_unpermute",
        "paddle.nn.functional.flash_attention": (
            "flash_attention_v3_varlen flash_attn_qkvpacked flash_attn_varlen_qkvpacked "
        ),
        "paddle.nn.functional.flashmask": "flashmask_attention",
        "paddle.nn.functional.listed_attention": "sparse_attention",
        "paddle.nn.functional.loss_classes": (
            "adaptive_log_softmax_with_loss class_center_sample hsigmoid_loss margin_cross_entropy "
        ),
        "paddle.nn.functional.pooling_fractional": "fractional_max_pool2d fractional_max_pool3d",
        "paddle.nn.functional.rnn": "gather_tree",
        "paddle.nn.functional.vision": (
            "affine_grid channel_shuffle grid_sample pixel_shuffle pixel_unshuffle temporal_shift "
        ),
    },
    "paddle.nn.functional.flash_attention": {
        "paddle.nn.functional.attention": "scaled_dot_product_attention",
        "paddle.nn.functional.flashmask": "flashmask_attention",
    },
    "paddle.nn.initializer": {
        "paddle.nn.initializer.older_names": (
            "ConstantInitializer MSRAInitializer NormalInitializer NumpyArrayInitializer TruncatedNormalInitializer "
            "UniformInitializer XavierInitializer "
        ),
    },
    "paddle.onnx": {
        "paddle.onnx.exporting": "export",
    },
    "paddle.optimizer": {
        "paddle.optimizer.lbfgs": "LBFGS",
    },
    "paddle.pir": {
        "paddle.pir.operation": "Operation",
        "paddle.pir.pass_manager": "PassManager",
        "paddle.pir.patterns": "DrrPatternContext",
        "paddle.pir.picture": "program_svg",
    },
    "paddle.static": {
        "paddle.static.saved_variables": "load_vars save_vars",
    },
    "paddle.static.nn": {
        "paddle.static.python_function": "py_func",
    },
    "paddle.tensor": {
        "paddle.tensor": "creation linalg manipulation math",
        "paddle.tensor.buffers": "MmapStorage",
    },
    "paddle.text": {
        "paddle.text.datasets.conll05": "Conll05st",
        "paddle.text.datasets.imdb": "Imdb",
        "paddle.text.datasets.imikolov": "Imikolov",
        "paddle.text.datasets.movielens": "Movielens",
        "paddle.text.datasets.uci_housing": "UCIHousing",
        "paddle.text.datasets.wmt14": "WMT14",
        "paddle.text.datasets.wmt16": "WMT16",
    },
    "paddle.utils": {
        "paddle.utils": "cpp_extension download image_util",
        "paddle.utils.nested": (
            "assert_same_structure convert_shape_to_list flatten is_same_shape is_sequence map_structure "
            "pack_sequence_as to_sequence "
        ),
    },
    "paddle.utils.cpp_extension": {
        "paddle.utils.cpp_extension": "building compiling loading",
        "paddle.utils.cpp_extension.building": "BuildExtension CUDAExtension CppExtension setup",
        "paddle.utils.cpp_extension.compiling": "get_build_directory",
        "paddle.utils.cpp_extension.cuda_home": "CUDA_HOME",
        "paddle.utils.cpp_extension.loading": "load load_op_meta_info_and_register_op parse_op_info",
    },
    "paddle.vision": {
        "paddle.vision": "datasets image models ops transforms",
        "paddle.vision.datasets.cifar": "Cifar10 Cifar100",
        "paddle.vision.datasets.flowers": "Flowers",
        "paddle.vision.datasets.folder": "DatasetFolder ImageFolder",
        "paddle.vision.datasets.mnist": "FashionMNIST MNIST",
        "paddle.vision.datasets.voc2012": "VOC2012",
        "paddle.vision.image": "get_image_backend image_load set_image_backend",
        "paddle.vision.models.alexnet": "AlexNet alexnet",
        "paddle.vision.models.densenet": "DenseNet densenet121 densenet161 densenet169 densenet201 densenet264",
        "paddle.vision.models.googlenet": "GoogLeNet googlenet",
        "paddle.vision.models.inceptionv3": "InceptionV3 inception_v3",
        "paddle.vision.models.lenet": "LeNet",
        "paddle.vision.models.mobilenetv1": "MobileNetV1 mobilenet_v1",
        "paddle.vision.models.mobilenetv2": "MobileNetV2 mobilenet_v2",
        "paddle.vision.models.mobilenetv3": "MobileNetV3Large MobileNetV3Small mobilenet_v3_large mobilenet_v3_small",
        "paddle.vision.models.resnet": (
            "ResNet resnet101 resnet152 resnet18 resnet34 resnet50 resnext101_32x4d resnext101_64x4d resnext152_32x4d "
            "resnext152_64x4d resnext50_32x4d resnext50_64x4d wide_resnet101_2 wide_resnet50_2 "
        ),
        "paddle.vision.models.shufflenetv2": (
            "ShuffleNetV2 shufflenet_v2_swish shufflenet_v2_x0_25 shufflenet_v2_x0_33 shufflenet_v2_x0_5 "
            "shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0 "
        ),
        "paddle.vision.models.squeezenet": "SqueezeNet squeezenet1_0 squeezenet1_1",
        "paddle.vision.models.vgg": "VGG vgg11 vgg13 vgg16 vgg19",
        "paddle.vision.transforms.base": "BaseTransform Compose",
        "paddle.vision.transforms.fixed": "CenterCrop Grayscale Normalize Pad Resize ToTensor Transpose",
        "paddle.vision.transforms.functional.colors": "adjust_brightness adjust_contrast adjust_hue to_grayscale",
        "paddle.vision.transforms.functional.conversions": "erase normalize to_tensor",
        "paddle.vision.transforms.functional.geometry": "center_crop crop hflip pad resize vflip",
        "paddle.vision.transforms.functional.warps": "affine perspective rotate",
        "paddle.vision.transforms.jitter": (
            "BrightnessTransform ColorJitter ContrastTransform HueTransform SaturationTransform "
        ),
        "paddle.vision.transforms.randomized": (
            "RandomAffine RandomCrop RandomErasing RandomHorizontalFlip RandomPerspective RandomResizedCrop "
            "RandomRotation RandomVerticalFlip "
        ),
    },
    "paddle.vision.ops": {
        "paddle.vision._conv_norm_activation": "ConvNormActivation",
        "paddle.vision.ops.anchors": "box_coder prior_box",
        "paddle.vision.ops.deformable": "DeformConv2D deform_conv2d",
        "paddle.vision.ops.files": "decode_jpeg read_file",
        "paddle.vision.ops.proposals": "distribute_fpn_proposals generate_proposals",
        "paddle.vision.ops.regions": "PSRoIPool RoIAlign RoIPool psroi_pool roi_align roi_pool",
        "paddle.vision.ops.suppression": "matrix_nms nms",
        "paddle.vision.ops.yolo": "yolo_box yolo_loss",
    },
    "paddle.vision.transforms": {
        "paddle.vision.transforms.functional.colors": "adjust_brightness adjust_contrast adjust_hue to_grayscale",
        "paddle.vision.transforms.functional.conversions": "erase normalize to_tensor",
        "paddle.vision.transforms.functional.geometry": "center_crop crop hflip pad resize vflip",
        "paddle.vision.transforms.functional.warps": "affine perspective rotate",
    },
}
