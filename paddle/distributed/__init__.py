"""Training on many devices."""

from paddle.distributed import fleet

__all__ = ["fleet"]
