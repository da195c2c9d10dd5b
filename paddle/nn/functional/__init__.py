"""Layers as functions."""

from paddle import _late, tensor
from paddle.nn.functional import activation, common, conv, input, loss, loss_regression, norm, pooling

__getattr__, __dir__, __all__ = _late.contents(__name__)
