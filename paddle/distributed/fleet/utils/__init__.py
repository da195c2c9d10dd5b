"""What training at large uses."""

from paddle import _late
from paddle.distributed.fleet.recompute import recompute

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["recompute"]
