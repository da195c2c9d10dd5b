"""Derivatives of functions: Jacobians and Hessians of several variables at once, products with them."""

from paddle.autograd.products import jvp, vjp
from paddle.incubate.autograd.functional import Hessian, Jacobian

__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]
