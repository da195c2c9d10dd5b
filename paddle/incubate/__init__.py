"""What may still change."""

from paddle.incubate import autograd, optimizer
from paddle.incubate.optimizer import LookAhead, ModelAverage

__all__ = ["LookAhead", "ModelAverage", "autograd", "optimizer"]
