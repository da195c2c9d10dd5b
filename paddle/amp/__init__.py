"""Mixed precision and loss scaling."""

from paddle.amp import debugging
from paddle.amp.auto_cast import (
    auto_cast,
    autocast,
    decorate,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_enabled,
    is_bfloat16_supported,
    is_float16_supported,
)
from paddle.amp.grad_scaler import GradScaler

amp_guard = auto_cast
amp_decorate = decorate
AmpScaler = GradScaler

__all__ = [
    "GradScaler",
    "auto_cast",
    "debugging",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
    "is_bfloat16_supported",
    "is_float16_supported",
]
