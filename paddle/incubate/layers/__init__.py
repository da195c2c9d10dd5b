"""Layers as functions that may still change."""

from paddle import _lazy
from paddle.incubate.layers import batches

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
