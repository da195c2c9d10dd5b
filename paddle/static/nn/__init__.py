"""Branches and loops over tensors."""

from paddle import _late
from paddle.static.nn import control_flow

__getattr__, __dir__, __all__ = _late.contents(__name__)
