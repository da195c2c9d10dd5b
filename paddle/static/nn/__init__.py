"""Branches and loops over tensors."""

from paddle import _lazy
from paddle.static.nn import control_flow

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
