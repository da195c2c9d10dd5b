"""Made by ``tools/public_stubs.py``."""

from paddle.distributed.fleet.recompute.recompute import recompute as recompute

__all__ = [
    "recompute",
]
