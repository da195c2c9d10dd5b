"""Derivatives of functions: Jacobians and Hessians of several variables at once, products with them."""

from paddle import _late
from paddle.autograd.products import jvp, vjp
from paddle.incubate.autograd.functional import Hessian, Jacobian

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]
