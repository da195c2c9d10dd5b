"""Operations as what they mean in smaller ones, and what gradients compute again instead of keeping it."""

from paddle import _lazy
from paddle.decomposition import decomp, recompute, register

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
