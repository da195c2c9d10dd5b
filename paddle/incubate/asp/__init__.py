"""Structured sparsity: weights of which n in every m are zero, and optimizers that keep them so."""

from paddle import _lazy
from paddle.incubate.asp import masks, pruning

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
