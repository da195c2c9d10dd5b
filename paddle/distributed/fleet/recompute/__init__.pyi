"""Made by ``tools/public_stubs.py``."""

from paddle.distributed.fleet.recompute.recompute import recompute as recompute
from paddle.distributed.fleet.recompute.recompute import recompute_sequential as recompute_sequential

__all__ = [
    "recompute",
    "recompute_sequential",
]
