"""Made by ``tools/public_stubs.py``."""

from paddle.autograd.products import jvp as jvp
from paddle.autograd.products import vjp as vjp
from paddle.incubate.autograd.functional import Hessian as Hessian
from paddle.incubate.autograd.functional import Jacobian as Jacobian

__all__ = [
    "Hessian",
    "Jacobian",
    "jvp",
    "vjp",
]
