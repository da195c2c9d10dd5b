"""APIs of fleet that may still change."""

from paddle.distributed.fleet.recompute import recompute_sequential

__all__ = ["recompute_sequential"]
