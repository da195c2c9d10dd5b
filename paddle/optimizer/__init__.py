"""Optimizers, and schedules of their learning rate in ``lr``."""

from paddle import _late
from paddle.optimizer import adam, gradient, optimizer

__getattr__, __dir__, __all__ = _late.contents(__name__, "lr")
