"""Minimisers of functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paddle import _lazy
from paddle._public import public
from paddle.framework.grad_mode import enable_grad
from paddle.optimizer.lbfgs import _dot, _size, descent
from paddle.optimizer.line_search import Point, strong_wolfe
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core import tape
from umiak.core.context import no_grad_guard
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor


class _Function:
    """The objective along directions, with a count of its evaluations."""

    def __init__(
        self, op_name: str, objective: Callable[[Tensor], Tensor], start: Any, dtype: Any, search: str
    ) -> None:
        wide = convert(dtype)
        if wide not in (dt.float32, dt.float64):
            raise ValueError(f"[{op_name}] requires dtype 'float32' or 'float64', got {dtype!r}")
        if search != "strong_wolfe":
            raise NotImplementedError(f"[{op_name}] requires line_search_fn 'strong_wolfe', got {search!r}")
        if not isinstance(start, Tensor) or start.ndim != 1:
            raise ValueError(f"[{op_name}] requires initial_position of one dim, got {start!r}")
        self.dtype = wide
        self.objective = objective
        self.start = F.cast(start.detach(), dtype=wide)
        self.calls = 0

    def __call__(self, x: Any) -> tuple[float, Tensor]:
        self.calls += 1
        with enable_grad():
            at = x.detach()
            at.stop_gradient = False
            value = self.objective(at)
            (grad,) = tape.grad([value], [at])
        assert grad is not None  # else tape.grad has refused
        return float(value.item()), grad

    def search(self, x: Any, loss: float, grad: Any, direction: Any, first: float, most: int) -> Point:
        def probe(at: float) -> Point:
            loss, grad = self(F.add(x, F.mul(direction, at)))
            return Point(at, loss, grad, _dot(grad, direction))

        start = Point(0.0, loss, grad, _dot(grad, direction))
        return strong_wolfe(probe, start, first, _size(direction), most=most)[0]

    def results(self, done: bool, x: Any, loss: float, grad: Any) -> tuple[Tensor, ...]:
        return (
            create_on(x.place, F.full, done, dt.bool, (1,)),
            create_on(x.place, F.full, self.calls, dt.int64, (1,)),
            x,
            create_on(x.place, F.full, loss, self.dtype, ()),
            grad,
        )


@public("paddle.incubate.optimizer.functional")
def minimize_bfgs(
    objective_func: Callable[[Tensor], Tensor],
    initial_position: Tensor,
    max_iters: int = 50,
    tolerance_grad: float = 1e-7,
    tolerance_change: float = 1e-9,
    initial_inverse_hessian_estimate: Tensor | None = None,
    line_search_fn: str = "strong_wolfe",
    max_line_search_iters: int = 50,
    initial_step_length: float = 1.0,
    dtype: str = "float32",
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Minimise a function with the BFGS method.

    Args:
        objective_func: a function from a tensor ``[n]`` to a tensor without dims, which gradients pass through.
        initial_position: where to begin, a tensor ``[n]``.
        max_iters: most iterations.
        tolerance_grad: done where no element of the gradient is larger.
        tolerance_change: done where no element of the position changes more.
        initial_inverse_hessian_estimate: a symmetric positive definite matrix ``[n, n]``; None: the identity.
        line_search_fn: ``"strong_wolfe"``.
        max_line_search_iters: most probes of one line search.
        initial_step_length: what a line search tries first.
        dtype: ``"float32"`` or ``"float64"``: what is computed in.

    Returns:
        Whether it is done (bool ``[1]``), how often the function was called (int64 ``[1]``), position ``[n]``, value
        and gradient ``[n]`` there, and the estimate of the inverse Hessian ``[n, n]``.

    Raises:
        ValueError: a position or an estimate of another kind, or another dtype.
        NotImplementedError: another line search.

    References:
        Nocedal and Wright, 2006: Numerical Optimization, algorithm 6.1.

    Example:
        >>> import paddle
        >>> from paddle.incubate.optimizer.functional import minimize_bfgs
        >>> done, calls, x, *_ = minimize_bfgs(lambda x: ((x - 1.0) ** 2).sum(), paddle.zeros([2]))
        >>> done.item(), x.tolist()
        (True, [1.0, 1.0])
    """
    f = _Function("minimize_bfgs", objective_func, initial_position, dtype, line_search_fn)
    with no_grad_guard():
        x: Any = f.start
        n = x.shape[0]
        counts = create_on(x.place, F.iota, 0, 1, dt.int64, n)
        identity = F.cast(F.eq(F.unsqueeze(counts, axes=(1,)), counts), dtype=f.dtype)
        inverse: Any = identity
        if initial_inverse_hessian_estimate is not None:
            inverse = _checked("minimize_bfgs", F.cast(initial_inverse_hessian_estimate.detach(), dtype=f.dtype), n)
        loss, grad = f(x)
        done = _size(grad) <= tolerance_grad
        for _ in range(0 if done else max_iters):
            direction = F.neg(F.reshape(F.matmul(inverse, F.unsqueeze(grad, axes=(1,))), shape=(n,)))
            point = f.search(x, loss, grad, direction, initial_step_length, max_line_search_iters)
            moved, grad_change = F.mul(direction, point.step), F.sub(point.grad, grad)
            x, loss, grad = F.add(x, moved), point.loss, point.grad
            product = _dot(moved, grad_change)
            if product > 0.0:  # else the estimate would not stay positive definite
                s, y = F.unsqueeze(moved, axes=(1,)), F.unsqueeze(grad_change, axes=(0,))
                left = F.sub(identity, F.mul(F.matmul(s, y), 1.0 / product))
                right = F.permute(left, (1, 0))
                inverse = F.add(
                    F.matmul(F.matmul(left, inverse), right), F.mul(F.mul(s, F.permute(s, (1, 0))), 1.0 / product)
                )
            done = _size(grad) <= tolerance_grad or _size(moved) <= tolerance_change
            if done or point.step == 0.0:
                break
        return *f.results(done, x, loss, grad), inverse


@public("paddle.incubate.optimizer.functional")
def minimize_lbfgs(
    objective_func: Callable[[Tensor], Tensor],
    initial_position: Tensor,
    history_size: int = 100,
    max_iters: int = 50,
    tolerance_grad: float = 1e-8,
    tolerance_change: float = 1e-8,
    initial_inverse_hessian_estimate: Tensor | None = None,
    line_search_fn: str = "strong_wolfe",
    max_line_search_iters: int = 50,
    initial_step_length: float = 1.0,
    dtype: str = "float32",
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Minimise a function with the L-BFGS method.

    Args:
        objective_func: a function from a tensor ``[n]`` to a tensor without dims, which gradients pass through.
        initial_position: where to begin, a tensor ``[n]``.
        history_size: how many steps the estimate of the curvature is made of.
        max_iters: most iterations.
        tolerance_grad: done where no element of the gradient is larger.
        tolerance_change: done where no element of the position changes more.
        initial_inverse_hessian_estimate: a symmetric positive definite matrix ``[n, n]`` that stands for the
            curvature before the steps that are known; None: a multiple of the identity.
        line_search_fn: ``"strong_wolfe"``.
        max_line_search_iters: most probes of one line search.
        initial_step_length: what a line search tries first.
        dtype: ``"float32"`` or ``"float64"``: what is computed in.

    Returns:
        Whether it is done (bool ``[1]``), how often the function was called (int64 ``[1]``), position ``[n]``, value
        and gradient ``[n]`` there.

    Raises:
        ValueError: a position or an estimate of another kind, or another dtype.
        NotImplementedError: another line search.

    References:
        Nocedal and Wright, 2006: Numerical Optimization, algorithm 7.5.

    Example:
        >>> import paddle
        >>> from paddle.incubate.optimizer.functional import minimize_lbfgs
        >>> done, calls, x, *_ = minimize_lbfgs(lambda x: ((x - 1.0) ** 2).sum(), paddle.zeros([2]))
        >>> done.item(), x.tolist()
        (True, [1.0, 1.0])
    """
    f = _Function("minimize_lbfgs", objective_func, initial_position, dtype, line_search_fn)
    with no_grad_guard():
        x: Any = f.start
        n = x.shape[0]
        first: Any = None
        if initial_inverse_hessian_estimate is not None:
            first = _checked("minimize_lbfgs", F.cast(initial_inverse_hessian_estimate.detach(), dtype=f.dtype), n)
        steps: list[Any] = []
        grad_changes: list[Any] = []
        inverse: list[float] = []
        scale = 1.0
        loss, grad = f(x)
        done = _size(grad) <= tolerance_grad
        for _ in range(0 if done else max_iters):
            direction, _ = descent(grad, steps, grad_changes, inverse, scale if first is None else first)
            point = f.search(x, loss, grad, direction, initial_step_length, max_line_search_iters)
            moved, grad_change = F.mul(direction, point.step), F.sub(point.grad, grad)
            x, loss, grad = F.add(x, moved), point.loss, point.grad
            product = _dot(moved, grad_change)
            if product > 0.0:
                if len(steps) == history_size:
                    for memory in (steps, grad_changes, inverse):
                        memory.pop(0)
                steps.append(moved)
                grad_changes.append(grad_change)
                inverse.append(1.0 / product)
                scale = product / _dot(grad_change, grad_change)
            done = _size(grad) <= tolerance_grad or _size(moved) <= tolerance_change
            if done or point.step == 0.0:
                break
        return f.results(done, x, loss, grad)


def _checked(op_name: str, matrix: Any, n: int) -> Any:
    array = matrix.numpy()
    if array.shape != (n, n) or not np.allclose(array, array.T) or not (np.linalg.eigvalsh(array) > 0).all():
        raise ValueError(
            f"[{op_name}] requires initial_inverse_hessian_estimate symmetric and positive definite, {[n, n]}, "
            f"got {matrix!r}"
        )
    return matrix


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
