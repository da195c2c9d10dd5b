"""Names that are loaded when they are used, by module and by their home. Made by ``tools/lazy_names.py``."""

NAMES = {
    "paddle": {
        "paddle": (
            "amp autograd distributed distribution fft hapi incubate io jit linalg metric optimizer profiler "
            "regularizer special static utils version "
        ),
        "paddle.amp.auto_cast": (
            "autocast get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_enabled "
        ),
        "paddle.autograd.run": "grad",
        "paddle.distributed.data_parallel": "DataParallel",
        "paddle.framework.io": "load save",
        "paddle.hapi.flops": "flops",
        "paddle.hapi.summary": "summary",
    },
    "paddle.amp": {
        "paddle.amp": "debugging",
    },
    "paddle.autograd": {
        "paddle.autograd.functional": "Hessian Jacobian hessian jacobian jvp vjp",
    },
    "paddle.device": {
        "paddle.device": "cuda",
        "paddle.device.memory": (
            "empty_cache max_memory_allocated max_memory_reserved memory_allocated memory_reserved memory_summary "
            "reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats "
        ),
        "paddle.device.streams": "Event Stream StreamContext current_stream set_stream stream_guard synchronize",
    },
    "paddle.framework": {
        "paddle.framework": "io",
        "paddle.framework.io": "load save",
    },
    "paddle.nn": {
        "paddle.nn": "init utils",
        "paddle.nn.clip": "ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue",
        "paddle.nn.decode": "BeamSearchDecoder dynamic_decode",
        "paddle.nn.layer.rnn": "BiRNN GRU GRUCell LSTM LSTMCell RNN RNNCellBase SimpleRNN SimpleRNNCell",
        "paddle.nn.layer.transformer": (
            "MultiHeadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
            "TransformerEncoderLayer "
        ),
        "paddle.nn.layer.vision": "ChannelShuffle PixelShuffle PixelUnshuffle",
    },
    "paddle.nn.functional": {
        "paddle.nn.functional.attention": "scaled_dot_product_attention",
        "paddle.nn.functional.distance": "pairwise_distance pdist",
        "paddle.nn.functional.flash_attention": (
            "flash_attention_v3_varlen flash_attn_qkvpacked flash_attn_varlen_qkvpacked "
        ),
        "paddle.nn.functional.loss_classes": (
            "adaptive_log_softmax_with_loss class_center_sample hsigmoid_loss margin_cross_entropy "
        ),
        "paddle.nn.functional.pooling_fractional": "fractional_max_pool2d fractional_max_pool3d",
        "paddle.nn.functional.rnn": "gather_tree",
        "paddle.nn.functional.vision": (
            "affine_grid channel_shuffle grid_sample pixel_shuffle pixel_unshuffle temporal_shift "
        ),
    },
    "paddle.nn.layer": {
        "paddle.nn.layer": "rnn transformer vision",
    },
    "paddle.optimizer": {
        "paddle.optimizer.lbfgs": "LBFGS",
    },
    "paddle.tensor": {
        "paddle.tensor": "linalg manipulation math",
    },
}
