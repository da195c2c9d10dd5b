"""APIs of fleet that may still change."""

from paddle import _lazy
from paddle.distributed.fleet.recompute import recompute

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
