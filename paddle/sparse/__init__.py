"""Sparse tensors, which store some elements and where they stand, and their mathematics."""

from paddle import _lazy
from paddle.sparse import binary, creation, multiary, unary

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "nn")
