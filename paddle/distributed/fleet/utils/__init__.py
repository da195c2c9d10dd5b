"""What training at large uses."""

from paddle.distributed.fleet.recompute import recompute

__all__ = ["recompute"]
