"""Backward runs over several tensors, and gradients that leave ``.grad`` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from umiak.core import tape
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _tensors(x: Any, op: str, what: str) -> list[Tensor]:
    found = [x] if isinstance(x, Tensor) else list(x) if isinstance(x, (list, tuple)) else None
    if found is None or not all(isinstance(t, Tensor) for t in found):
        raise op_error(TypeError, op, f"a Tensor or a list of them for {what}", type(x).__name__)
    return found


def _weights(x: Any, tensors: list[Tensor], op: str, what: str) -> list[Tensor | None] | None:
    if x is None:
        return None
    found = [x] if isinstance(x, Tensor) else list(x)
    if len(found) != len(tensors):
        raise op_error(ValueError, op, f"{len(tensors)} {what}, one for each tensor", len(found))
    for g, t in zip(found, tensors):
        if g is None:
            continue
        if not isinstance(g, Tensor):
            raise op_error(TypeError, op, f"a Tensor or None in {what}", type(g).__name__)
        if g.shape != t.shape:
            raise op_error(ValueError, op, f"{what} of shape {t.shape}", g.shape)
    return found


@public("paddle.autograd")
def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool = False, *, dump_backward_graph_path: str | None = None
) -> None:
    """Run gradients back from several tensors into ``.grad`` of the leaves they came from.

    Args:
        tensors: a tensor or a list of different ones.
        grad_tensors: the gradient of each, of its shape; None, for one or for all, means ones.
        retain_graph: whether the history may be used again.
        dump_backward_graph_path: accepted; nothing is written.

    Raises:
        TypeError: a value that is not a tensor.
        ValueError: gradients of another number or shape, or a tensor twice.
        RuntimeError: a history that has been used and not retained.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.backward([x * 2, x * 3])
        >>> x.grad.tolist()
        [5.0, 5.0]
    """
    roots = _tensors(tensors, "backward", "tensors")
    if len({id(t) for t in roots}) != len(roots):
        raise op_error(ValueError, "backward", "different tensors", "one of them twice")
    tape.backward(roots, _weights(grad_tensors, roots, "backward", "grad_tensors"), retain_graph)


@public("paddle paddle.autograd")
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Sequence[Tensor] | Tensor | None = None,
    *,
    dump_backward_graph_path: str | None = None,
) -> list[Tensor | None]:
    """Gradients of ``outputs`` with respect to ``inputs``; ``.grad`` of leaves does not change.

    Args:
        outputs: a tensor or a list of them.
        inputs: a tensor or a list of them.
        grad_outputs: the gradient of each output, of its shape; None, for one or for all, means ones.
        retain_graph: whether the history may be used again; None: as ``create_graph``.
        create_graph: whether the results have a history of their own, for higher derivatives.
        only_inputs: only True is meaningful.
        allow_unused: whether inputs that the outputs do not depend on give None; otherwise they are refused.
        no_grad_vars: tensors through which no gradient passes; None: none.
        dump_backward_graph_path: accepted; nothing is written.

    Returns:
        A list of one tensor for each input, of its shape and dtype, or None.

    Raises:
        TypeError: a value that is not a tensor.
        ValueError: gradients of another number or shape, an input that is not used, or ``only_inputs=False``.
        RuntimeError: a history that has been used and not retained.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor(2.0, stop_gradient=False)
        >>> (dx,) = paddle.grad(x * x * x, x, create_graph=True)
        >>> (ddx,) = paddle.grad(dx, x)
        >>> float(dx), float(ddx)
        (12.0, 12.0)
    """
    if not only_inputs:
        raise op_error(ValueError, "grad", "only_inputs=True", "only_inputs=False")
    roots, wanted = _tensors(outputs, "grad", "outputs"), _tensors(inputs, "grad", "inputs")
    blocked = None if no_grad_vars is None else _tensors(no_grad_vars, "grad", "no_grad_vars")
    weights = _weights(grad_outputs, roots, "grad", "grad_outputs")
    return tape.grad(roots, wanted, weights, retain_graph, create_graph, allow_unused, blocked)
