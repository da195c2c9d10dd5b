"""Declared inputs of captured functions, and branches and loops in them."""

from paddle import _lazy
from paddle.static import input

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "nn")
