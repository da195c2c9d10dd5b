"""Functions and layers captured as programs."""

from paddle import _lazy
from paddle.jit import api

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
