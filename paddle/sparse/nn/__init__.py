"""Layers over sparse tensors."""

from paddle import _lazy
from paddle.sparse.nn.layer import activation, conv, norm, pooling

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "functional")
