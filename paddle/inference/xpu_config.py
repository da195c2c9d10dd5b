"""``XpuConfig``: settings of XPUs."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from umiak.util.errors import op_error

# By name: the default, whose type is that of the values; None takes anything.
_DEFAULTS: dict[str, Any] = {
    "context": None, "context_gm_size": -1, "conv_autotune_file": "", "conv_autotune_file_writeback": False,
    "conv_autotune_level": 0, "device_id": 0, "fc_autotune_file": "", "fc_autotune_file_writeback": False,
    "fc_autotune_level": 0, "gemm_compute_precision": 1, "l3_autotune_size": 0, "l3_ptr": None, "l3_size": 0,
    "quant_post_dynamic_activation_method": 0, "quant_post_dynamic_op_types": [],
    "quant_post_dynamic_weight_precision": 1, "quant_post_static_gelu_out_threshold": 10.0, "stream": None,
    "transformer_encoder_adaptive_seqlen": True, "transformer_softmax_optimize_level": 0,
}  # fmt: skip


@public("paddle.inference")
class XpuConfig:
    """Settings of an XPU, which take values of their type. A model that runs on the host reads none of them.

    Raises:
        AttributeError: a setting that is not known is set.
        TypeError: one is set to a value of another type.

    Example:
        >>> import paddle
        >>> config = paddle.inference.XpuConfig()
        >>> config.l3_size = 1 << 20
        >>> config.device_id, config.l3_size
        (0, 1048576)
    """

    def __init__(self) -> None:
        for name, value in _DEFAULTS.items():
            object.__setattr__(self, name, list(value) if isinstance(value, list) else value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _DEFAULTS:
            raise op_error(AttributeError, "XpuConfig", f"a setting of {sorted(_DEFAULTS)}", repr(name))
        kind = type(_DEFAULTS[name])
        number = kind is float and isinstance(value, int)
        wrong = (isinstance(value, bool) and kind is not bool) or not (isinstance(value, kind) or number)
        if _DEFAULTS[name] is not None and wrong:
            raise op_error(TypeError, "XpuConfig", f"a value of type {kind.__name__} for {name}", repr(value))
        object.__setattr__(self, name, value)


for _name, _value in _DEFAULTS.items():
    setattr(XpuConfig, _name, _value)
