"""Tensors of which elements at given indices are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    axis_of,
    made_on,
    need_tensor,
    op_error,
    shape_of,
    tensor,
    write_part,
)
from paddle.tensor._args import cast as _cast_to
from paddle.tensor.gathering import broadcast_but, cut_to, need_rank
from umiak import ops as F
from umiak.core.tensor import Tensor

_REDUCE = {
    "assign": "set",
    "add": "add",
    "sum": "add",
    "mul": "mul",
    "multiply": "mul",
    "prod": "mul",
    "amin": "min",
    "amax": "max",
    "mean": "mean",
}


@public(aliases={"x": "arr", "input": "arr", "index": "indices", "src": "values"})
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """``arr`` with ``values`` combined into the places that ``indices`` name along ``axis``.

    Args:
        arr: a tensor.
        indices: integers, of the rank of ``arr``.
        values: a tensor or a number.
        axis: along which.
        reduce: ``"assign"``, ``"add"``, ``"mul"`` (``"multiply"``), ``"mean"``, ``"amin"`` or ``"amax"``.
        include_self: whether the element already there takes part.
        broadcast: whether indices and values repeat along dims of size 1.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2, 2])
        >>> paddle.put_along_axis(x, paddle.to_tensor([[1], [0]]), 5.0, 1).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    op = "put_along_axis"
    k = axis_of(axis, need_tensor(arr, op, "arr").ndim, op)
    if reduce not in _REDUCE:
        raise op_error(ValueError, op, f"a reduce of {sorted(_REDUCE)}", repr(reduce))
    need_tensor(indices, op, "indices")
    need_rank(arr, indices, op)
    if not isinstance(values, Tensor):
        values = made_on(arr.place, F.full, values, arr.dtype, ())
    values = _cast_to(values, arr.dtype)
    if broadcast:
        indices = F.broadcast_to(indices, broadcast_but(arr.shape, indices, k))
        values = F.broadcast_to(values, tuple(indices.shape)) if values.shape != indices.shape else values
    elif values.ndim == 0:
        values = F.broadcast_to(values, tuple(indices.shape))
    elif values.shape != indices.shape:
        values = _cut_all(values, indices, op)
    return _scatter_along(arr, indices, values, k, _REDUCE[reduce], bool(include_self), op)


put_along_axis_ = inplace(put_along_axis, "paddle.tensor Tensor")


def _cut_all(values: Tensor, indices: Tensor, op: str) -> Tensor:
    """The leading part of ``values`` that the indices need."""
    if values.ndim != indices.ndim or any(v < i for v, i in zip(values.shape, indices.shape, strict=True)):
        raise op_error(ValueError, op, f"values of at least {indices.shape}", values.shape)
    n = values.ndim
    return F.slice(values, tuple(range(n)), (0,) * n, tuple(indices.shape), (1,) * n)


def _scatter_along(
    x: Tensor, index: Tensor, values: Tensor, axis: int, mode: str, include_self: bool, op: str
) -> Tensor:
    """Scatter along an axis; where the other dims of index are smaller, only that corner of x changes."""
    corner = cut_to(x, index, axis, op)
    if mode == "mean":
        total = F.scatter_along(corner, index, values, axis, mode="add", include_self=include_self)
        ones = made_on(x.place, F.full, 1, x.dtype, tuple(index.shape))
        base = made_on(x.place, F.full, 1 if include_self else 0, x.dtype, tuple(corner.shape))
        count = F.scatter_along(base, index, ones, axis, mode="add")
        touched = F.gt(count, 1 if include_self else 0)
        share = F.floor_div(total, F.maximum(count, 1)) if x.dtype.is_integer else F.div(total, F.maximum(count, 1))
        made = F.where(touched, share, corner)
    else:
        made = F.scatter_along(corner, index, values, axis, mode=mode, include_self=include_self)
    if corner is x:
        return made
    return write_part(F.copy(x), lambda x: cut_to(x, index, axis, op), made)


@public(aliases={"x": "input"})
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with ``src`` added to the places that ``index`` names along ``dim``.

    Example:
        >>> import paddle
        >>> paddle.scatter_add(paddle.zeros([3]), 0, paddle.to_tensor([0, 0]), paddle.ones([2])).tolist()
        [2.0, 0.0, 0.0]
    """
    return put_along_axis(input, index, src, dim, "add", True, False)


scatter_add_ = inplace(scatter_add)


@public(aliases={"x": "input"})
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``input`` with ``src`` combined into the places that ``index`` names along ``dim``.

    ``reduce``: ``"sum"``, ``"prod"``, ``"mean"``, ``"amin"`` or ``"amax"``.

    Example:
        >>> import paddle
        >>> paddle.scatter_reduce(paddle.ones([2]), 0, paddle.to_tensor([0, 0]), paddle.full([2], 3.0), "prod").tolist()
        [9.0, 1.0]
    """
    if reduce not in ("sum", "prod", "mean", "amin", "amax"):
        raise op_error(
            ValueError, "scatter_reduce", "a reduce of 'sum', 'prod', 'mean', 'amin' or 'amax'", repr(reduce)
        )
    return put_along_axis(input, index, src, dim, reduce, include_self, False)


@public(usual=False)
def scatter(
    x: Tensor, index: Tensor, updates: Any, overwrite: Any = True, name: str | None = None, out: Any = None
) -> Tensor:
    """``x`` with the slices at ``index`` along the first dim replaced by ``updates``.

    Args:
        x: a tensor of rank 1 or more.
        index: integers, 0-d or 1-d.
        updates: one slice for each index.
        overwrite: False clears the named slices and adds all updates; True lets the last one win.

    Example:
        >>> import paddle
        >>> paddle.scatter(paddle.zeros([3]), paddle.to_tensor([1]), paddle.ones([1])).tolist()
        [0.0, 1.0, 0.0]
    """
    need_tensor(x, "scatter")
    if isinstance(index, int) or (
        isinstance(updates, Tensor) and isinstance(overwrite, (Tensor, int, float)) and not isinstance(overwrite, bool)
    ):
        # scatter(input, dim, index, src)
        return put_along_axis(x, updates, overwrite, index, "assign", True, False)
    need_tensor(index, "scatter", "index")
    need_tensor(updates, "scatter", "updates")
    if index.ndim == 0:
        index = F.reshape(index, (1,))
        updates = F.unsqueeze(updates, (0,)) if updates.ndim == x.ndim - 1 else updates
    index = F.reshape(index, (index.size,))
    updates = _cast_to(updates, x.dtype)
    if overwrite:
        return F.put(x, index, updates, 0, mode="set")
    nothing = made_on(x.place, F.full, 0, x.dtype, tuple(updates.shape))
    cleared = F.put(x, index, nothing, 0, mode="set")
    return F.put(cleared, index, updates, 0, mode="add")


scatter_ = inplace(scatter)


@public
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """``x`` with ``updates`` added at the coordinates in the last dim of ``index``.

    Example:
        >>> import paddle
        >>> paddle.scatter_nd_add(paddle.zeros([3]), paddle.to_tensor([[1], [1]]), paddle.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    need_tensor(x, "scatter_nd_add")
    need_tensor(updates, "scatter_nd_add", "updates")
    if need_tensor(index, "scatter_nd_add", "index").ndim == 0:
        raise op_error(ValueError, "scatter_nd_add", "an index of rank 1 or more", "a 0-d tensor")
    return F.scatter_nd(x, index, updates, index.shape[-1], mode="add")


@public
def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of ``shape`` with ``updates`` added at the coordinates in the last dim of ``index``.

    Example:
        >>> import paddle
        >>> paddle.scatter_nd(paddle.to_tensor([[1]]), paddle.ones([1]), [3]).tolist()
        [0.0, 1.0, 0.0]
    """
    need_tensor(updates, "scatter_nd", "updates")
    nothing = made_on(updates.place, F.full, 0, updates.dtype, shape_of(shape, "scatter_nd"))
    return scatter_nd_add(nothing, index, updates)


@public(aliases={"source": "value"})
def index_add(
    x: Tensor, index: Tensor, axis: Any, value: Tensor, alpha: Any = 1, name: str | None = None, *, out: Any = None
) -> Tensor:
    """``x`` with ``alpha*value`` added to the slices at ``index`` along ``axis``.

    Example:
        >>> import paddle
        >>> paddle.index_add(paddle.zeros([3]), paddle.to_tensor([0, 0]), 0, paddle.ones([2])).tolist()
        [2.0, 0.0, 0.0]
    """
    if isinstance(index, int) and isinstance(axis, Tensor):
        index, axis = axis, index
    k = axis_of(axis, need_tensor(x, "index_add").ndim, "index_add")
    need_tensor(index, "index_add", "index")
    value = _cast_to(need_tensor(value, "index_add", "value"), x.dtype)
    if alpha != 1:
        value = value * alpha
    return F.put(x, F.reshape(index, (index.size,)), value, k, mode="add")


index_add_ = inplace(index_add)


@public
def index_fill(x: Tensor, index: Tensor, axis: Any, value: Any, name: str | None = None) -> Tensor:
    """``x`` with the slices at ``index`` along ``axis`` filled with a number.

    Example:
        >>> import paddle
        >>> paddle.index_fill(paddle.zeros([3]), paddle.to_tensor([0, 2]), 0, 5).tolist()
        [5.0, 0.0, 5.0]
    """
    if isinstance(index, int) and isinstance(axis, Tensor):
        index, axis = axis, index
    k = axis_of(axis, need_tensor(x, "index_fill").ndim, "index_fill")
    index = F.reshape(need_tensor(index, "index_fill", "index"), (index.size,))
    shape = tuple(index.size if i == k else n for i, n in enumerate(x.shape))
    if isinstance(value, Tensor):
        if value.size != 1:
            raise op_error(ValueError, "index_fill", "a value of one element", value.shape)
        value = _cast_to(F.reshape(value, ()), x.dtype)
    if isinstance(value, Tensor):
        return F.put(x, index, F.broadcast_to(value, shape), k)
    return F.put(x, index, made_on(x.place, F.full, value, x.dtype, shape), k)


index_fill_ = inplace(index_fill)


@public
def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Any, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """``x`` with ``value`` put (or added) where tensors of integers, or one of bools, address its first dims.

    Example:
        >>> import paddle
        >>> i = paddle.to_tensor([0, 1])
        >>> paddle.index_put(paddle.zeros([2, 2]), (i, i), paddle.ones([2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    from paddle.tensor.indexing import coordinates

    need_tensor(x, "index_put")
    places = [p for i in indices for p in coordinates(need_tensor(i, "index_put", "each of indices"))]
    return _index_put(x, places, value, "add" if accumulate else "set", "index_put")


index_put_ = inplace(index_put)


def _index_put(x: Tensor, places: list[Tensor], value: Any, mode: str, op: str) -> Tensor:
    from paddle.tensor.sequences import broadcast_shapes

    if not 0 < len(places) <= x.ndim:
        raise op_error(ValueError, op, f"one to {x.ndim} indices", len(places))
    shape = (*broadcast_shapes(*(p.shape for p in places)), *x.shape[len(places) :])
    value = tensor(value, like=x) if not isinstance(value, Tensor) else _cast_to(value, x.dtype)
    if tuple(value.shape) != shape:
        value = F.broadcast_to(value, shape)
    return F.index_put(x, value, places, mode=mode)
