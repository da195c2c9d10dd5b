"""Layers over sparse tensors as functions."""

from paddle import _lazy
from paddle.sparse.nn.functional import activation, conv, pooling, transformer

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
