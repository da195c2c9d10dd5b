"""Utilities of distributed training."""

from paddle import _lazy
from paddle.distributed.fleet.recompute import recompute

__getattr__, __dir__ = _lazy.attributes_of(__name__)

__all__ = ["recompute"]
