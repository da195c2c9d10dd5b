"""Declared inputs of captured functions, and branches and loops in them."""

from paddle import _late
from paddle.static import nn
from paddle.static.input import InputSpec

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["InputSpec", "nn"]
