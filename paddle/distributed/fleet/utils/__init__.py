"""Utilities of distributed training."""

from paddle import _lazy
from paddle.distributed.fleet import recompute

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
