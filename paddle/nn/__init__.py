"""Layers, containers, losses, initializers and gradient clipping."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.framework import parameter
from paddle.nn.layer import activation, common, container, conv, layers, loss, loss_classes, norm, pooling

if TYPE_CHECKING:
    from paddle.nn import attention, init, quant, utils

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "functional initializer")
