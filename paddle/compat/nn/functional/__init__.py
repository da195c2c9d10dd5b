"""Functions of layers with PyTorch's parameters and meaning."""

from paddle import _lazy
from paddle.compat.nn.functional import common

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
