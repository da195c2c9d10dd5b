"""Functions captured from their bytecode, and what helps to debug the capture."""

from paddle import _lazy
from paddle.jit.sot import breakpoints, translate

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
