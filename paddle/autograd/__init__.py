"""Gradients: backward runs, gradients of given tensors, operations with gradients of one's own, Jacobians."""

from paddle import _lazy
from paddle.autograd import py_layer, run, saved_tensors
from paddle.framework import grad_mode

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
