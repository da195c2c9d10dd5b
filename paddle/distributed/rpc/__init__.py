"""Calls of functions in other processes."""

from paddle import _lazy
from paddle.distributed.rpc import rpc

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
