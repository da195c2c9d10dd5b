"""Made by ``tools/public_stubs.py``."""

from paddle.autograd.functional import Hessian as Hessian
from paddle.autograd.functional import Jacobian as Jacobian
from paddle.autograd.functional import hessian as hessian
from paddle.autograd.functional import jacobian as jacobian
from paddle.autograd.functional import jvp as jvp
from paddle.autograd.functional import vjp as vjp
from paddle.autograd.py_layer import Function as Function
from paddle.autograd.py_layer import PyLayer as PyLayer
from paddle.autograd.py_layer import PyLayerContext as PyLayerContext
from paddle.autograd.run import backward as backward
from paddle.autograd.run import grad as grad
from paddle.autograd.saved_tensors import saved_tensors_hooks as saved_tensors_hooks
from paddle.framework.grad_mode import enable_grad as enable_grad
from paddle.framework.grad_mode import is_grad_enabled as is_grad_enabled
from paddle.framework.grad_mode import no_grad as no_grad
from paddle.framework.grad_mode import set_grad_enabled as set_grad_enabled

__all__ = [
    "Function",
    "Hessian",
    "Jacobian",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "hessian",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "no_grad",
    "saved_tensors_hooks",
    "set_grad_enabled",
    "vjp",
]
