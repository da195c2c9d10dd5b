"""Declared inputs of captured functions, and branches and loops in them."""

from paddle.static import nn
from paddle.static.input import InputSpec

__all__ = ["InputSpec", "nn"]
