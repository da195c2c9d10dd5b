"""Computing activations again instead of keeping them."""

from paddle.distributed.fleet.recompute.recompute import recompute, recompute_sequential

__all__ = ["recompute", "recompute_sequential"]
