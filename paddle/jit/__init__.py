"""Functions and layers captured as programs."""

from paddle import _late
from paddle.jit import api

__getattr__, __dir__, __all__ = _late.contents(__name__)
