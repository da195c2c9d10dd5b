"""Devices under the names that programs for CUDA use; without a number they mean the current device."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.device import generators, memory, places, streams
from paddle.device.cuda import functions

if TYPE_CHECKING:
    from paddle.device.cuda import cuda_graphed_layer, graphs

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
