"""Training at large."""

from paddle.distributed.fleet import recompute, utils

__all__ = ["recompute", "utils"]
