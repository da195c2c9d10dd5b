"""Made by ``tools/public_stubs.py``."""

from paddle.autograd.products import jvp as jvp
from paddle.autograd.products import vjp as vjp
from paddle.incubate.autograd.functional import Hessian as Hessian
from paddle.incubate.autograd.functional import Jacobian as Jacobian
from paddle.incubate.autograd.primitives import disable_prim as disable_prim
from paddle.incubate.autograd.primitives import enable_prim as enable_prim
from paddle.incubate.autograd.primitives import forward_grad as forward_grad
from paddle.incubate.autograd.primitives import grad as grad
from paddle.incubate.autograd.primitives import prim_enabled as prim_enabled

__all__ = [
    "Hessian",
    "Jacobian",
    "disable_prim",
    "enable_prim",
    "forward_grad",
    "grad",
    "jvp",
    "prim_enabled",
    "vjp",
]
