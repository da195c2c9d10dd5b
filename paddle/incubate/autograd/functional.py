"""Jacobians and Hessians of functions; their variables, and their results, are laid side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import public
from paddle.autograd import functional
from paddle.autograd.products import separate, zeros_for
from paddle.autograd.run import grad
from paddle.framework.grad_mode import enable_grad
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _flat(tensors: list[Tensor], lead: int, op: str) -> Tensor:
    """All elements in one axis, after a first axis that is the batch if ``lead`` is 1."""
    for t in tensors:
        if t.ndim < lead or t.shape[:lead] != tensors[0].shape[:lead]:
            raise op_error(
                ValueError, op, "a batch of one size as first axis of all tensors", [t.shape for t in tensors]
            )
    parts = []
    for t in tensors:
        count = 1
        for n in t.shape[lead:]:
            count *= n
        parts.append(F.reshape(t, (*t.shape[:lead], count)))
    return parts[0] if len(parts) == 1 else F.concat(parts, axis=lead)


def _call(func: Callable, xs: Any, lead: int, op: str) -> tuple[Any, Tensor]:
    """``func`` of parts of one flat tensor; its result and that tensor."""
    if not callable(func):
        raise op_error(TypeError, op, "a function", type(func).__name__)
    given = separate(xs, op)
    flat = _flat(given, lead, op)
    at, parts = 0, []
    for x in given:
        count = 1
        for n in x.shape[lead:]:
            count *= n
        part = F.slice(flat, (lead,), (at,), (count,), (1,)) if len(given) > 1 else flat
        parts.append(F.reshape(part, tuple(x.shape)))
        at += count
    return func(*parts), flat


@public("paddle.incubate.autograd")
class Jacobian(functional.Jacobian):
    """Matrix of derivatives of a function's results with respect to its arguments.

    All arguments, flattened and laid side by side, are the N columns, all results the M rows: the shape is ``(M, N)``.
    With ``is_batched`` the first axis of every argument and result is a batch of B entries that do not mix, and the
    shape is ``(B, M, N)``. Rows are computed when they are asked for. Index it like a tensor; ``[:]`` gives all of it.

    Args:
        func: takes as many tensors as there are in xs; returns a tensor or several.
        xs: a tensor or a list of them, of one dtype.
        is_batched: whether the first axes are a batch.

    Raises:
        TypeError: a value that is not a tensor, or not a function.
        ValueError: batches that differ in size.

    Example:
        >>> import paddle
        >>> import paddle.incubate.autograd
        >>> x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])
        >>> j = paddle.incubate.autograd.Jacobian(lambda x, y: x * y, [x, y])
        >>> j[:].tolist()
        [[3.0, 0.0, 1.0, 0.0], [0.0, 4.0, 0.0, 2.0]]
        >>> j.shape
        (2, 4)
    """

    def __init__(self, func: Callable, xs: Any, is_batched: bool = False) -> None:
        lead = 1 if is_batched else 0
        with enable_grad():
            ys, flat = _call(func, xs, lead, "Jacobian")
            super().__init__(
                _flat(list(ys) if isinstance(ys, (list, tuple)) else [ys], lead, "Jacobian"), flat, is_batched
            )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """``(M, N)``, or ``(B, M, N)`` with a batch."""
        return tuple(super().shape)


@public("paddle.incubate.autograd")
class Hessian(Jacobian):
    """Matrix of second derivatives of a function whose result is one number, or one for each entry of a batch.

    The N arguments, flattened and laid side by side, are rows and columns: the shape is ``(N, N)``, or ``(B, N, N)``
    with ``is_batched``. Rows are computed when they are asked for. Index it like a tensor; ``[:]`` gives all of it.

    Args:
        func: takes as many tensors as there are in xs; returns a tensor of one element, or one for each batch entry.
        xs: a tensor or a list of them, of one dtype.
        is_batched: whether the first axes are a batch.

    Raises:
        TypeError: a value that is not a tensor, or not a function.
        RuntimeError: the result has more than one element (for each entry of a batch).

    Example:
        >>> import paddle
        >>> import paddle.incubate.autograd
        >>> h = paddle.incubate.autograd.Hessian(lambda x: (x * x * x).sum(), paddle.to_tensor([1.0, 2.0]))
        >>> h[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """

    def __init__(self, func: Callable, xs: Any, is_batched: bool = False) -> None:
        lead = 1 if is_batched else 0
        with enable_grad():
            y, flat = _call(func, xs, lead, "Hessian")
            wanted = flat.shape[0] if is_batched else 1
            if not isinstance(y, Tensor) or y.size != wanted:
                required = "a function whose result has one element" + (" for each batch entry" if is_batched else "")
                raise op_error(RuntimeError, "Hessian", required, getattr(y, "shape", type(y).__name__))
            g = None
            if not y.stop_gradient:
                (g,) = grad(F.sum(y, tuple(range(y.ndim))), flat, create_graph=True, allow_unused=True)
            functional.Jacobian.__init__(self, zeros_for(g, flat), flat, is_batched)
