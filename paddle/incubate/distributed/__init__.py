"""APIs of training on many devices that may still change."""

from paddle.incubate.distributed import fleet

__all__ = ["fleet"]
