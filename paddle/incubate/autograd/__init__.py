"""Derivatives of functions: Jacobians and Hessians of several variables at once, products with them."""

from paddle import _lazy
from paddle.autograd import products
from paddle.incubate.autograd import functional, primitives

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
