"""Devices under the names that programs for CUDA use; without a number they mean the current device."""

from paddle import _lazy
from paddle.device import generators, memory, places, streams
from paddle.device.cuda import functions

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
