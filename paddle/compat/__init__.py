"""Functions with PyTorch's names and meaning, and importing this package as ``torch``."""

from paddle import _lazy
from paddle.compat import functions, proxy

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "nn")
