"""What may still change about training on many devices."""

from paddle.incubate.distributed import fleet

__all__ = ["fleet"]
