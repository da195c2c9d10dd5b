"""Training on many devices."""

from paddle.distributed import fleet, rpc
from paddle.distributed.launch.main import launch
from paddle.distributed.spawn import spawn

__all__ = ["fleet", "launch", "rpc", "spawn"]
