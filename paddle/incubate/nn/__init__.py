"""Layers under the names of fused operators."""

from typing import TYPE_CHECKING

from paddle import _lazy

if TYPE_CHECKING:
    from paddle.incubate.nn import functional

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
