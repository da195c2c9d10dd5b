"""Initializers of new parameters."""

from paddle import _lazy
from paddle.nn.initializer import initializers

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
