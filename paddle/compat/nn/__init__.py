"""Layers with PyTorch's parameters and meaning."""

from paddle import _lazy
from paddle.compat.nn import attention, linear, pooling

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "functional")
