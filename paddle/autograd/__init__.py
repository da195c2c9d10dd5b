"""Gradients: backward runs, gradients of given tensors, operations with gradients of one's own, Jacobians."""

from typing import TYPE_CHECKING

from paddle import _late
from paddle.autograd.py_layer import PyLayer, PyLayerContext
from paddle.autograd.run import backward, grad
from paddle.autograd.saved_tensors import saved_tensors_hooks
from paddle.framework.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

if TYPE_CHECKING:
    from paddle.autograd.functional import (
        Hessian,
        Jacobian,
        hessian,
        jacobian,
        jvp,
        vjp,
    )

Function = PyLayer

__getattr__, __dir__ = _late.attributes_of(__name__)

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
