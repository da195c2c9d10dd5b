"""The functions of :mod:`paddle.device` under the names that programs for CUDA use, and the CUDA runtime."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
