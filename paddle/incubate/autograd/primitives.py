"""Derivatives of results that are there already, forward and backward."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.autograd.products import pulled, pushed, vectors
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_enabled = False


def _tensors(given: Any, op: str, arg_name: str) -> list[Tensor]:
    tensors = list(given) if isinstance(given, (list, tuple)) else [given]
    if not tensors or not all(isinstance(x, Tensor) for x in tensors):
        raise op_error(TypeError, op, f"a tensor or a list of them as {arg_name}", type(given).__name__)
    return tensors


@public("paddle.incubate.autograd", usual=False)
def grad(outputs: Any, inputs: Any, grad_outputs: Any = None) -> Any:
    """Gradients of outputs with respect to inputs, which can be differentiated again.

    Args:
        outputs: a tensor or a list of them, computed from inputs.
        inputs: a tensor or a list of them.
        grad_outputs: what comes to each output from beyond it, a tensor or a list of them; None: ones.

    Returns:
        A gradient for each input in the form of inputs: zeros where outputs do not depend on it.

    Raises:
        TypeError: a value that is not a tensor.
        ValueError: ``grad_outputs`` do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> g = paddle.incubate.autograd.grad(x * x * x, x)
        >>> g.tolist(), paddle.incubate.autograd.grad(g, x).tolist()
        ([3.0, 12.0], [6.0, 12.0])
    """
    op = "grad"
    ys, xs = _tensors(outputs, op, "outputs"), _tensors(inputs, op, "inputs")
    products = pulled(ys, xs, vectors(grad_outputs, ys, op, "grad_outputs"), create_graph=True)
    return products if isinstance(inputs, (list, tuple)) else products[0]


@public("paddle.incubate.autograd", usual=False)
def forward_grad(outputs: Any, inputs: Any, grad_inputs: Any = None) -> Any:
    """Product of the Jacobian of outputs with a vector: how they change when inputs move.

    Args:
        outputs: a tensor or a list of them, computed from inputs.
        inputs: a tensor or a list of them.
        grad_inputs: where each input moves, a tensor or a list of them; None: ones.

    Returns:
        A tangent for each output in the form of outputs, which can be differentiated again.

    Raises:
        TypeError: a value that is not a tensor.
        ValueError: ``grad_inputs`` do not fit.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.incubate.autograd.forward_grad(x * x, x, paddle.to_tensor([1.0, 10.0])).tolist()
        [2.0, 40.0]
    """
    op = "forward_grad"
    ys, xs = _tensors(outputs, op, "outputs"), _tensors(inputs, op, "inputs")
    products = pushed(ys, xs, vectors(grad_inputs, xs, op, "grad_inputs"), create_graph=True)
    return products if isinstance(outputs, (list, tuple)) else products[0]


@public("paddle.incubate.autograd", usual=False)
def enable_prim() -> None:
    """Say that derivatives may be made of primitive operations.

    They always are: :func:`forward_grad` works without it, and nothing but :func:`prim_enabled` reads the answer.

    Example:
        >>> import paddle
        >>> paddle.incubate.autograd.enable_prim()
        >>> paddle.incubate.autograd.prim_enabled()
        True
        >>> paddle.incubate.autograd.disable_prim()
    """
    global _enabled
    _enabled = True


@public("paddle.incubate.autograd", usual=False)
def disable_prim() -> None:
    """Take back :func:`enable_prim`.

    Example:
        >>> import paddle
        >>> paddle.incubate.autograd.disable_prim()
        >>> paddle.incubate.autograd.prim_enabled()
        False
    """
    global _enabled
    _enabled = False


@public("paddle.incubate.autograd", usual=False)
def prim_enabled() -> bool:
    """Tell whether :func:`enable_prim` was called last.

    Returns:
        The answer.

    Example:
        >>> import paddle
        >>> paddle.incubate.autograd.prim_enabled()
        False
    """
    return _enabled
