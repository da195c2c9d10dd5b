"""Made by ``tools/public_stubs.py``."""

from paddle.amp import debugging as debugging
from paddle.amp.amp_lists import black_list as black_list
from paddle.amp.amp_lists import white_list as white_list
from paddle.amp.auto_cast import amp_decorate as amp_decorate
from paddle.amp.auto_cast import amp_guard as amp_guard
from paddle.amp.auto_cast import auto_cast as auto_cast
from paddle.amp.auto_cast import autocast as autocast
from paddle.amp.auto_cast import decorate as decorate
from paddle.amp.auto_cast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from paddle.amp.auto_cast import get_autocast_dtype as get_autocast_dtype
from paddle.amp.auto_cast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from paddle.amp.auto_cast import is_autocast_enabled as is_autocast_enabled
from paddle.amp.auto_cast import is_bfloat16_supported as is_bfloat16_supported
from paddle.amp.auto_cast import is_float16_supported as is_float16_supported
from paddle.amp.grad_scaler import AmpScaler as AmpScaler
from paddle.amp.grad_scaler import GradScaler as GradScaler
from paddle.amp.grad_scaler import OptimizerState as OptimizerState

__all__ = [
    "AmpScaler",
    "GradScaler",
    "OptimizerState",
    "amp_decorate",
    "amp_guard",
    "auto_cast",
    "autocast",
    "black_list",
    "debugging",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
    "is_bfloat16_supported",
    "is_float16_supported",
    "white_list",
]
