"""Layers as functions."""

from paddle import _lazy, tensor
from paddle.nn.functional import (
    activation,
    common,
    conv,
    input,
    loss,
    loss_margin,
    loss_regression,
    loss_sequence,
    norm,
    pooling,
)

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
