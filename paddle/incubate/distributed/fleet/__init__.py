"""What may still change about training at large."""

from paddle.distributed.fleet.recompute import recompute_sequential

__all__ = ["recompute_sequential"]
