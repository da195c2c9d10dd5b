"""Backward runs over several tensors, and gradients that leave ``.grad`` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from umiak import ops as F
from umiak.core import tape
from umiak.core.tensor import KIND_SPARSE, Tensor
from umiak.util.errors import op_error


def _tensors(x: Any, op: str, arg_name: str) -> list[Tensor]:
    tensors = tape.tensors_of(x)
    if tensors is None:
        raise op_error(TypeError, op, f"a Tensor or a list of them for {arg_name}", type(x).__name__)
    return tensors


def _weights(x: Any, tensors: list[Tensor], op: str, arg_name: str) -> list[Tensor | None] | None:
    if x is None:
        return None
    weights = [x] if isinstance(x, Tensor) else list(x)
    if len(weights) != len(tensors):
        raise op_error(ValueError, op, f"{len(tensors)} {arg_name}, one for each tensor", len(weights))
    for g, t in zip(weights, tensors):
        if g is None:
            continue
        if not isinstance(g, Tensor):
            raise op_error(TypeError, op, f"a Tensor or None in {arg_name}", type(g).__name__)
        if g.shape != t.shape:
            raise op_error(ValueError, op, f"{arg_name} of shape {list(t.shape)}", g.shape)
    return weights


def _values(x: Tensor) -> Tensor:
    """Values of a sparse tensor, which gradients flow through; a dense tensor as it is."""
    return x.values() if x._kind & KIND_SPARSE else x


def _dense_run(roots: list[Any], weights: list[Any] | None, op: str) -> tuple[list, list | None]:
    """Sparse tensors to run from as their values, which get the gradients at their positions."""
    if not tape.any_of_kind(roots, KIND_SPARSE):
        return roots, weights
    given = []
    for t, g in zip(roots, weights or [None] * len(roots)):
        if not t._kind & KIND_SPARSE:
            given.append(g)
        elif g is None:
            given.append(F.full(1, dtype=t.dtype, shape=tuple(_values(t).shape)))
        else:
            given.append(t.aligned_values(g, op))
    return [_values(t) for t in roots], given


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
    weights = _weights(grad_tensors, roots, "backward", "grad_tensors")
    tape.backward(*_dense_run(roots, weights, "backward"), retain_graph)


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
    weights = None if grad_outputs is None else _weights(grad_outputs, roots, "grad", "grad_outputs")
    if not tape.any_of_kind(roots + wanted if blocked is None else roots + wanted + blocked, KIND_SPARSE):
        return tape.grad(roots, wanted, weights, retain_graph, create_graph, allow_unused, blocked)
    roots, weights = _dense_run(roots, weights, "grad")
    blocked = blocked and [_values(t) for t in blocked]
    grads = tape.grad(roots, [_values(t) for t in wanted], weights, retain_graph, create_graph, allow_unused, blocked)
    return [t.with_values(g) if g is not None and t._kind & KIND_SPARSE else g for t, g in zip(wanted, grads)]
