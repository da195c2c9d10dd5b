"""Tensors of which elements at given indices are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import INTS, OtherOrder, inplace, public
from paddle.tensor._args import (
    NUMBERS,
    axis_of,
    create_on,
    equal_shapes,
    need_tensor,
    op_error,
    shape_of,
    tensor,
    write_part,
)
from paddle.tensor._args import cast as _cast_to
from paddle.tensor.gathering import alike_but, broadcast_but, cut_to, need_rank
from paddle.tensor.overwriting import INDEX_PUT, PUT, SCATTER_ALONG, some_elements, updated
from umiak import ops as F
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir.sym import le

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
    """Copy of ``arr`` with values combined into elements at indices along a dim.

    Args:
        arr: tensor of any dtype.
        indices: integer tensor of arr's rank; negative indices count from the end.
        values: tensor, which is cast to arr's dtype, or number.
        axis: the dim; negative counts from the end.
        reduce: how a value meets what is there: ``"assign"`` (of several values the last one stays), ``"add"`` or
            ``"sum"``, ``"mul"``, ``"multiply"`` or ``"prod"``, ``"mean"``, ``"amin"``, ``"amax"``.
        include_self: whether the element of arr takes part in the reduction.
        broadcast: whether indices and values are repeated along sizes of 1 to the shape of arr; False changes only the
            leading part of arr that indices cover.

    Returns:
        Tensor of arr's shape and dtype.

    Raises:
        TypeError: arr or indices is not a tensor, indices are not integers, or the dtype has no such reduction: bools
            no mean, complex numbers neither mean nor minimum nor maximum.
        ValueError: ranks differ, sizes do not fit, or there is no such reduction.
        IndexError: arr has no such dim, or an index lies outside it.

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
        values = create_on(arr.place, F.full, values, arr.dtype, ())
    values = _cast_to(values, arr.dtype)
    if equal_shapes(values.shape, indices.shape) and alike_but(arr, indices, k):
        pass
    elif broadcast:
        indices = F.broadcast_to(indices, broadcast_but(arr.shape, indices, k))
        values = values if equal_shapes(values.shape, indices.shape) else F.broadcast_to(values, tuple(indices.shape))
    elif values.ndim == 0:
        values = F.broadcast_to(values, tuple(indices.shape))
    elif not equal_shapes(values.shape, indices.shape):
        values = _cut_all(values, indices, op)
    return _scatter_along(arr, indices, values, k, _REDUCE[reduce], bool(include_self), op)


put_along_axis_ = inplace(put_along_axis, "paddle.tensor Tensor", write=some_elements)


def _cut_all(values: Tensor, indices: Tensor, op: str) -> Tensor:
    """The leading part of ``values`` that the indices need."""
    if values.ndim != indices.ndim or not all(map(le, indices.shape, values.shape)):
        raise op_error(ValueError, op, f"values of at least {list(indices.shape)}", values.shape)
    n = values.ndim
    return F.slice(values, tuple(range(n)), (0,) * n, tuple(indices.shape), (1,) * n)


def _scatter_along(
    x: Tensor, index: Tensor, values: Tensor, axis: int, mode: str, include_self: bool, op: str
) -> Tensor:
    """Scatter along an axis; where the other dims of index are smaller, only that corner of x changes."""
    corner = cut_to(x, index, axis, op)
    if mode == "mean":
        total = F.scatter_along(corner, index, values, axis, mode="add", include_self=include_self)
        ones = create_on(x.place, F.full, 1, x.dtype, tuple(index.shape))
        base = create_on(x.place, F.full, 1 if include_self else 0, x.dtype, tuple(corner.shape))
        count = F.scatter_along(base, index, ones, axis, mode="add")
        touched = F.gt(count, 1 if include_self else 0)
        share = F.floor_div(total, F.maximum(count, 1)) if x.dtype.is_integer else F.div(total, F.maximum(count, 1))
        shares = F.where(touched, share, corner)
    else:
        scatter, operands = SCATTER_ALONG[axis, mode, include_self], (corner, index, values)
        if corner is x:
            return updated(x, scatter, operands)
        shares = apply(scatter, operands)
    if corner is x:
        return shares
    return write_part(F.copy(x), lambda x: cut_to(x, index, axis, op), shares)


@public(aliases={"x": "input"})
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Copy of ``input`` with elements of ``src`` added at indices along ``dim``.

    Args:
        input: tensor of any dtype; bools are combined by "or".
        dim: the dim; negative counts from the end.
        index: integer tensor of input's rank, at most of its size in the other dims.
        src: tensor that has in each dim at least the size of index; it is cast to input's dtype.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        TypeError: input or index is not a tensor, or index is not of integers.
        ValueError: ranks differ, or sizes do not fit.
        IndexError: input has no such dim, or an index lies outside it.

    Example:
        >>> import paddle
        >>> paddle.scatter_add(paddle.zeros([3]), 0, paddle.to_tensor([0, 0]), paddle.to_tensor([1.0, 2.0])).tolist()
        [3.0, 0.0, 0.0]
    """
    return put_along_axis(input, index, src, dim, "add", True, False)


scatter_add_ = inplace(scatter_add, write=some_elements)


@public(aliases={"x": "input"})
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Copy of ``input`` with elements of ``src`` combined into it at indices along ``dim``.

    Args:
        input: tensor of any dtype.
        dim: the dim; negative counts from the end.
        index: integer tensor of input's rank, at most of its size in the other dims.
        src: tensor that has in each dim at least the size of index; it is cast to input's dtype.
        reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amin"`` or ``"amax"``.
        include_self: whether the element of input takes part in the reduction.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        TypeError: input or index is not a tensor, index is not of integers, or the dtype has no such reduction: bools
            no mean, complex numbers neither mean nor minimum nor maximum.
        ValueError: ranks differ, sizes do not fit, or there is no such reduction.
        IndexError: input has no such dim, or an index lies outside it.

    Example:
        >>> import paddle
        >>> x, i = paddle.to_tensor([10.0, 20.0]), paddle.to_tensor([0, 0])
        >>> paddle.scatter_reduce(x, 0, i, paddle.to_tensor([2.0, 4.0]), "mean", include_self=False).tolist()
        [3.0, 20.0]
    """
    if reduce not in ("sum", "prod", "mean", "amin", "amax"):
        raise op_error(
            ValueError, "scatter_reduce", "a reduce of 'sum', 'prod', 'mean', 'amin' or 'amax'", repr(reduce)
        )
    return put_along_axis(input, index, src, dim, reduce, include_self, False)


def _scatter_along_dim(
    x: Tensor, dim: int, index: Tensor, src: Any = None, reduce: Any = None, *, value: Any = None, out: Any = None
) -> Tensor:
    if (src is None) == (value is None):
        raise op_error(TypeError, "scatter", "one of src and value", "neither" if src is None else "both")
    kind = "assign" if reduce is None else reduce
    return put_along_axis(x, index, value if src is None else src, dim, kind, True, False)


_ALONG_DIM = frozenset({"dim", "src", "value", "reduce"})


@public(other_order=OtherOrder(_scatter_along_dim, _ALONG_DIM, 1, INTS))
def scatter(
    x: Tensor, index: Tensor, updates: Any, overwrite: Any = True, name: str | None = None, out: Any = None
) -> Tensor:
    """Copy of ``x`` with slices along the first dim replaced, or with updates added to them.

    ``scatter(x, dim, index, src)`` puts elements along a dim instead, as ``put_along_axis(x, index, src, dim)`` does.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        index: integer tensor of rank 0 or 1: the slices.
        updates: tensor with a slice for each index; it is cast to x's dtype.
        overwrite: True replaces a slice, of several updates by the last one; False sets the named slices to 0 and adds
            all updates of each.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x, index or updates is not a tensor, or index is not of integers.
        ValueError: updates do not fit x and index.
        IndexError: an index lies outside x.

    Example:
        >>> import paddle
        >>> x, i, u = paddle.ones([3]), paddle.to_tensor([1, 1]), paddle.to_tensor([2.0, 3.0])
        >>> paddle.scatter(x, i, u).tolist()
        [1.0, 3.0, 1.0]
        >>> paddle.scatter(x, i, u, overwrite=False).tolist()
        [1.0, 5.0, 1.0]
    """
    need_tensor(x, "scatter")
    need_tensor(index, "scatter", "index")
    need_tensor(updates, "scatter", "updates")
    if index.ndim == 0:
        index = F.reshape(index, (1,))
        updates = F.unsqueeze(updates, (0,)) if updates.ndim == x.ndim - 1 else updates
    index = F.reshape(index, (index._count,))
    updates = _cast_to(updates, x.dtype)
    if overwrite:
        return updated(x, PUT[0], (x, index, updates))
    nothing = create_on(x.place, F.full, 0, x.dtype, tuple(updates.shape))
    cleared = F.put(x, index, nothing, 0, mode="set")
    return updated(x, PUT[0, "add"], (cleared, index, updates))


scatter_ = inplace(scatter, write=some_elements)


@public
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """Copy of ``x`` with updates added at given coordinates.

    Args:
        x: tensor of rank 1 or more, of any dtype; bools are combined by "or".
        index: integer tensor of shape ``[..., n]``; its last dim holds coordinates in the first n dims of x.
        updates: tensor of x's dtype and of shape ``index.shape[:-1] + x.shape[n:]``.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x, index or updates is not a tensor, dtypes differ, or index is not of integers.
        ValueError: shapes do not fit.
        IndexError: a coordinate lies outside x.

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
    """Zeros with updates added at given coordinates.

    Args:
        index: integer tensor of shape ``[..., n]``; its last dim holds coordinates in the first n dims of the result.
        updates: tensor of shape ``index.shape[:-1] + shape[n:]``, of any dtype; bools are combined by "or".
        shape: sizes of the result.

    Returns:
        Tensor of the dtype of updates and of shape ``shape``.

    Raises:
        TypeError: index or updates is not a tensor, or index is not of integers.
        ValueError: shapes do not fit.
        IndexError: a coordinate lies outside the shape.

    Example:
        >>> import paddle
        >>> paddle.scatter_nd(paddle.to_tensor([[1], [1]]), paddle.to_tensor([2.0, 3.0]), [3]).tolist()
        [0.0, 5.0, 0.0]
    """
    need_tensor(updates, "scatter_nd", "updates")
    nothing = create_on(updates.place, F.full, 0, updates.dtype, shape_of(shape, "scatter_nd"))
    return scatter_nd_add(nothing, index, updates)


def _times(value: Tensor, alpha: Any, op: str) -> Tensor:
    """``alpha * value`` in the dtype of ``value``."""
    if isinstance(alpha, Tensor):
        if alpha.size != 1:
            raise op_error(ValueError, op, "an alpha of one element", f"shape {list(alpha.shape)}")
    elif not isinstance(alpha, (*NUMBERS, np.generic)):
        raise op_error(TypeError, op, "a number for alpha", type(alpha).__name__)
    elif alpha == 1:
        return value
    scaled = value * alpha
    if scaled.dtype is not value.dtype:
        raise op_error(
            ValueError, op, f"an alpha that {value.dtype.name} can hold", alpha, "Cast x to the dtype of the product."
        )
    return scaled


def _index_add(
    x: Tensor,
    axis: int,
    index: Tensor,
    value: Any = None,
    name: str | None = None,
    *,
    source: Any = None,
    alpha: Any = 1,
    out: Any = None,
) -> Tensor:
    if isinstance(axis, Tensor):  # the usual order, with the keyword of the other
        axis, index = index, axis
    return index_add(x, index, axis, source if value is None else value, alpha)


@public(other_order=OtherOrder(_index_add, frozenset({"source"}), 1, INTS))
def index_add(
    x: Tensor, index: Tensor, axis: Any, value: Tensor, alpha: Any = 1, name: str | None = None, *, out: Any = None
) -> Tensor:
    """Copy of ``x`` with ``alpha * value`` added to slices along ``axis``.

    Args:
        x: tensor of rank 1 or more, of any dtype; bools are combined by "or".
        index: integer tensor of rank 0 or 1: the slices, of which one may be named several times.
        axis: the dim; negative counts from the end.
        value: tensor with a slice for each index; it is cast to x's dtype.
        alpha: factor of value, a number; bools allow only 1.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x, index or value is not a tensor, index is not of integers, or alpha is no number.
        ValueError: value does not fit x and index, or the dtype cannot hold alpha's kind.
        IndexError: x has no such dim, or an index lies outside it.

    Example:
        >>> import paddle
        >>> paddle.index_add(paddle.zeros([3]), paddle.to_tensor([0, 0]), 0, paddle.to_tensor([1.0, 2.0])).tolist()
        [3.0, 0.0, 0.0]
    """
    k = axis_of(axis, need_tensor(x, "index_add").ndim, "index_add")
    need_tensor(index, "index_add", "index")
    value = _times(_cast_to(need_tensor(value, "index_add", "value"), x.dtype), alpha, "index_add")
    return updated(x, PUT[k, "add"], (x, F.reshape(index, (index._count,)), value))


index_add_ = inplace(index_add, write=some_elements)


@public
def index_fill(x: Tensor, index: Tensor, axis: Any, value: Any, name: str | None = None) -> Tensor:
    """Copy of ``x`` with slices along ``axis`` filled with a number.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        index: integer tensor of rank 0 or 1: the slices.
        axis: the dim; negative counts from the end. ``index`` and ``axis`` may be exchanged.
        value: number, or tensor of one element, which is cast to x's dtype.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x or index is not a tensor, or index is not of integers.
        ValueError: value has more than one element.
        IndexError: x has no such dim, or an index lies outside it.

    Example:
        >>> import paddle
        >>> paddle.index_fill(paddle.zeros([3]), paddle.to_tensor([0, 2]), 0, 5).tolist()
        [5.0, 0.0, 5.0]
    """
    if isinstance(index, int) and isinstance(axis, Tensor):
        index, axis = axis, index
    k = axis_of(axis, need_tensor(x, "index_fill").ndim, "index_fill")
    index = F.reshape(need_tensor(index, "index_fill", "index"), (index._count,))
    shape = tuple(index._count if i == k else n for i, n in enumerate(x.shape))
    if isinstance(value, Tensor):
        if value._count != 1:
            raise op_error(ValueError, "index_fill", "a value of one element", value.shape)
        value = _cast_to(F.reshape(value, ()), x.dtype)
    if isinstance(value, Tensor):
        value = F.broadcast_to(value, shape)
    else:
        value = create_on(x.place, F.full, value, x.dtype, shape)
    return updated(x, PUT[k], (x, index, value))


index_fill_ = inplace(index_fill, write=some_elements)


@public(aliases={"values": "value"}, takes_out=True)
def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Any, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """Copy of ``x`` with values put, or added, at given coordinates.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        indices: a sequence of integer tensors, one for each of the first dims of x, which broadcast together; a bool
            tensor stands for the coordinates of its true elements.
        value: tensor, which is cast to x's dtype, or number; it broadcasts to the elements that are named.
        accumulate: whether values are added; otherwise of several values for an element the last one stays.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x or one of the indices is not a tensor, or indices are neither integers nor bools.
        ValueError: there are no indices or more than dims, or shapes do not broadcast.
        IndexError: a coordinate lies outside x.

    Example:
        >>> import paddle
        >>> i = paddle.to_tensor([0, 1])
        >>> paddle.index_put(paddle.zeros([2, 2]), (i, i), paddle.to_tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    from paddle.tensor.indexing import coordinates, where_masked

    need_tensor(x, "index_put")
    if len(indices) == 1 and need_tensor(mask := indices[0], "index_put", "each of indices").dtype.is_bool:
        if 0 < mask.ndim <= x.ndim and mask.shape == x.shape[: mask.ndim]:
            call = where_masked(x, mask, _put_value(value, x), accumulate)
            if call is not None:
                return updated(x, *call)
    places = [p for i in indices for p in coordinates(need_tensor(i, "index_put", "each of indices"))]
    return _index_put(x, places, value, "add" if accumulate else "set", "index_put")


index_put_ = inplace(index_put, write=some_elements)


def _index_put(x: Tensor, indices: list[Tensor], value: Any, mode: str, op: str) -> Tensor:
    from paddle.tensor.sequences import broadcast_shapes

    if not 0 < len(indices) <= x.ndim:
        raise op_error(ValueError, op, f"one to {x.ndim} indices", len(indices))
    shape = (*broadcast_shapes(*(p.shape for p in indices)), *x.shape[len(indices) :])
    value = _put_value(value, x)
    if not equal_shapes(value.shape, shape):
        value = F.broadcast_to(value, shape)
    return updated(x, INDEX_PUT[None, mode], (x, value, *indices))


def _put_value(value: Any, x: Tensor) -> Tensor:
    return _cast_to(value, x.dtype) if isinstance(value, Tensor) else tensor(value, like=x)
