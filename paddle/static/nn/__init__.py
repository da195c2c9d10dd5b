"""Branches and loops over tensors; layers as functions."""

from paddle import _lazy
from paddle.static.nn import control_flow, layers, norms, pylayer, sampled, sequences

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
