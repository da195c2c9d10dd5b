"""Optimizers, and schedules of their learning rate in ``lr``."""

from paddle import _lazy
from paddle.optimizer import adam, gradient, optimizer

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "lr")
