"""Jacobians, Hessians, and products with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.autograd.products import vectors, zeros_for
from paddle.autograd.run import grad
from paddle.framework.grad_mode import enable_grad
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _row(y: Tensor, x: Tensor) -> Tensor:
    """The gradient of a scalar, zeros where it does not depend on x."""
    if y.stop_gradient or x.stop_gradient:
        return zeros_for(None, x)
    (g,) = grad(y, x, create_graph=True, retain_graph=True, allow_unused=True)
    return zeros_for(g, x)


@public("paddle.autograd")
class Jacobian:
    """Matrix of derivatives of ``ys`` with respect to ``xs``, whose rows are computed when they are asked for.

    Index it like a tensor: ``[i]`` is a row, ``[:]`` all of it. Other attributes are those of the whole matrix.

    Args:
        ys: computed from xs; of rank 0 or 1, or 1 and 2 with a batch.
        xs: of rank 0 or 1, or 1 and 2 with a batch.
        is_batched: the first dim of both is a batch, whose entries do not depend on each other.

    Attributes:
        shape: ``[n, m]`` for ``ys`` with n and ``xs`` with m elements, ``[b, n, m]`` with a batch; without the dims
            that ys or xs lack.

    Raises:
        ValueError: tensors of other ranks, or different batches.
        IndexError: a row that is not there.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> J = paddle.autograd.Jacobian(x * x, x)
        >>> J.shape, J[1].tolist()
        ([2, 2], [0.0, 4.0])
    """

    def __init__(self, ys: Tensor, xs: Tensor, is_batched: bool = False) -> None:
        lead = 1 if is_batched else 0
        if not lead <= ys.ndim <= lead + 1 or not lead <= xs.ndim <= lead + 1:
            raise op_error(
                ValueError,
                "jacobian",
                f"tensors of rank {lead} or {lead + 1}",
                f"{list(ys.shape)} and {list(xs.shape)}",
                "Reshape them.",
            )
        if is_batched and ys.shape[0] != xs.shape[0]:
            raise op_error(ValueError, "jacobian", "one batch size", f"{list(ys.shape)} and {list(xs.shape)}")
        self._ys, self._xs, self._batched = ys, xs, is_batched
        with enable_grad():
            self._flat = F.reshape(ys, (ys.shape[0], ys.size // max(ys.shape[0], 1)) if is_batched else (ys.size,))
        self._rows: dict[int, Tensor] = {}

    @property
    def shape(self) -> list[int]:
        rows = [] if self._ys.ndim == (1 if self._batched else 0) else [self._flat.shape[-1]]
        columns = self._xs.shape[1:] if self._batched else self._xs.shape
        return ([self._ys.shape[0]] if self._batched else []) + rows + list(columns)

    def _get(self, i: int) -> Tensor:
        row = self._rows.get(i)
        if row is None:
            axis = 1 if self._batched else 0
            with enable_grad():
                y = F.squeeze(F.slice(self._flat, (axis,), (i,), (1,), (1,)), (axis,))
                # Elements of one batch entry depend on that entry alone, so that the sum separates.
                row = self._rows[i] = _row(F.sum(y, (0,)) if self._batched else y, self._xs)
        return row

    def _whole(self) -> Tensor:
        axis = 1 if self._batched else 0
        rows = [self._get(i) for i in range(self._flat.shape[-1])]
        if self._ys.ndim == axis:
            return rows[0]
        if not rows:
            return create_on(self._xs.place, F.full, 0, self._xs.dtype, tuple(self.shape))
        return F.stack(rows, axis)

    def __getitem__(self, index: Any) -> Tensor:
        items = index if isinstance(index, tuple) else (index,)
        if not self._batched and items and type(items[0]) is int and self._ys.ndim:
            n = self._flat.shape[0]
            if not -n <= items[0] < n:
                raise op_error(IndexError, "jacobian", f"a row from {-n} to {n - 1}", items[0])
            row = self._get(items[0] % n)
            return row[items[1:]] if len(items) > 1 else row
        return self._whole()[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._whole(), name)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"


@public("paddle.autograd")
class Hessian(Jacobian):
    """Matrix of second derivatives of a scalar: the Jacobian of its gradient.

    Args:
        ys: the gradient with respect to some tensors; of rank 0 or 1, or 1 and 2 with a batch.
        xs: of rank 0 or 1, or 1 and 2 with a batch.
        is_batched: the first dim of both is a batch, whose entries do not depend on each other.

    Raises:
        ValueError: tensors of other ranks, or different batches.
        IndexError: a row that is not there.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> H = paddle.autograd.hessian((x * x * x).sum(), x)
        >>> isinstance(H, paddle.autograd.Hessian), H[0].tolist()
        (True, [6.0, 0.0])
    """


def _check_axis(batch_axis: Any, op: str) -> bool:
    if batch_axis not in (None, 0):
        raise op_error(ValueError, op, "a batch_axis of None or 0", batch_axis)
    return batch_axis == 0


def _each(f: Callable, ys: Any, xs: Any) -> Any:
    if isinstance(ys, (list, tuple)):
        return tuple(_each(f, y, xs) for y in ys)
    return tuple(f(ys, x) for x in xs) if isinstance(xs, (list, tuple)) else f(ys, xs)


@public("paddle.autograd")
def jacobian(ys: Any, xs: Any, batch_axis: int | None = None) -> Any:
    """Derivatives of ``ys`` with respect to ``xs``, as matrices.

    Args:
        ys: a tensor computed from xs, or a sequence of them; of rank 0 or 1, or 1 and 2 with a batch.
        xs: a tensor, or a sequence of them; of rank 0 or 1, or 1 and 2 with a batch.
        batch_axis: None, or 0 where the first dims are a batch.

    Returns:
        A :class:`Jacobian`; for a sequence of xs a tuple of them, and for a sequence of ys a tuple of what each gives.

    Raises:
        ValueError: another ``batch_axis``, or tensors of other ranks.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.jacobian(x * x, x)[:].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    batched = _check_axis(batch_axis, "jacobian")
    return _each(lambda y, x: Jacobian(y, x, batched), ys, xs)


@public("paddle.autograd")
def hessian(ys: Tensor, xs: Any, batch_axis: int | None = None) -> Any:
    """Second derivatives of ``ys`` with respect to ``xs``, as matrices.

    Args:
        ys: a tensor of one element, or of one for each entry of the batch, computed from xs.
        xs: a tensor, or a sequence of them; of rank 0 or 1, or 1 and 2 with a batch.
        batch_axis: None, or 0 where the first dims are a batch.

    Returns:
        A :class:`Hessian`; for a sequence of xs a tuple of tuples of them, one for each pair.

    Raises:
        ValueError: another ``batch_axis``, several elements, or tensors of other ranks.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> paddle.autograd.hessian((x * x * x).sum(), x)[:].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    batched = _check_axis(batch_axis, "hessian")
    if not isinstance(ys, Tensor) or (ys.size != 1 if not batched else ys.size != ys.shape[0]):
        raise op_error(
            ValueError,
            "hessian",
            "one element" + (" for each entry of the batch" if batched else ""),
            getattr(ys, "shape", ys),
        )
    total = F.sum(ys, tuple(range(ys.ndim)))
    several = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    slopes = [_row(total, x) for x in several]
    rows = tuple(tuple(Hessian(g, x, batched) for x in several) for g in slopes)
    return rows if isinstance(xs, (list, tuple)) else rows[0][0]


def _call(func: Callable, xs: Any, op: str) -> tuple[Any, list[Tensor], bool]:
    """``func`` on copies of ``xs`` that need gradients; its result, the copies, whether xs was a sequence."""
    if not callable(func):
        raise op_error(TypeError, op, "a function", type(func).__name__)
    several = isinstance(xs, (list, tuple))
    given = list(xs) if several else [xs]
    for x in given:
        if not isinstance(x, Tensor) or not (x.dtype.is_floating or x.dtype.is_complex):
            got = x.dtype.name if isinstance(x, Tensor) else type(x).__name__
            raise op_error(TypeError, op, "floating or complex Tensors, one or a list of them, for xs", got)
    copies = [F.copy(x.detach()) for x in given]
    for c in copies:
        c.stop_gradient = False
    with enable_grad():
        return func(*copies), copies, several


def _list(x: Any) -> list:
    return list(x) if isinstance(x, (list, tuple)) else [x]


@public("paddle.autograd")
def vjp(func: Callable, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Product of a vector with the Jacobian of a function.

    Args:
        func: takes as many tensors as there are in xs; returns a tensor or several.
        xs: a tensor or a list of them. The function gets copies, so that gradients do not pass on from the result.
        v: a tensor of the shape of the result, or a list of them; None: ones.

    Returns:
        The result of func and, in the form of xs, one tensor of the shape of each: ``v`` times the Jacobian, without a
        history.

    Raises:
        ValueError: ``v`` does not fit the results.
        TypeError: ``func`` is no function, ``xs`` are no floating or complex tensors, or ``v`` holds something that is
            no tensor.

    Example:
        >>> import paddle
        >>> y, g = paddle.autograd.vjp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
        >>> g.tolist()
        [2.0, 4.0]
    """
    ys, copies, several = _call(func, xs, "vjp")
    outputs = _list(ys)
    grads = grad(outputs, copies, vectors(v, outputs, "vjp"), allow_unused=True)
    out = [zeros_for(g, x) for g, x in zip(grads, copies)]
    return ys, tuple(out) if several else out[0]


@public("paddle.autograd")
def jvp(func: Callable, xs: Any, v: Any = None) -> tuple[Any, Any]:
    """Product of the Jacobian of a function with a vector.

    Args:
        func: takes as many tensors as there are in xs; returns a tensor or several.
        xs: a tensor or a list of them. The function gets copies, so that gradients do not pass on from the result.
        v: a tensor of the shape of xs, or a list of them; None: ones.

    Returns:
        The result of func and, in its form, one tensor of the shape of each: the Jacobian times ``v``, without a
        history.

    Raises:
        ValueError: ``v`` does not fit xs.
        TypeError: ``func`` is no function, ``xs`` are no floating or complex tensors, or ``v`` holds something that is
            no tensor.

    Example:
        >>> import paddle
        >>> y, t = paddle.autograd.jvp(lambda x: x * x, paddle.to_tensor([1.0, 2.0]))
        >>> t.tolist()
        [2.0, 4.0]
    """
    ys, copies, _ = _call(func, xs, "jvp")
    outputs, tangents = _list(ys), vectors(v, copies, "jvp")
    # The product with v is the derivative of (u J) v with respect to u, whatever u is.
    us = [zeros_for(None, y) for y in outputs]
    for u in us:
        u.stop_gradient = False
    with enable_grad():
        pulled = grad(outputs, copies, us, create_graph=True, allow_unused=True)
        used: Sequence[Any] = [(g, t) for g, t in zip(pulled, tangents) if g is not None and not g.stop_gradient]
        grads = grad([g for g, _ in used], us, [t for _, t in used], allow_unused=True) if used else [None] * len(us)
    out = [zeros_for(t, y) for t, y in zip(grads, outputs)]
    return ys, tuple(out) if isinstance(ys, (list, tuple)) else out[0]
