"""Mixed precision and loss scaling."""

from typing import TYPE_CHECKING

from paddle import _late
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

if TYPE_CHECKING:
    from paddle.amp import debugging

__getattr__, __dir__ = _late.attributes_of(__name__)

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
