"""What may still change."""

from paddle.incubate import autograd

__all__ = ["autograd"]
