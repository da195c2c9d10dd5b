"""Search: positions of extrema, sorting, indices of nonzero elements, unique elements."""

from __future__ import annotations

import builtins
from collections import namedtuple
from typing import Any

import numpy as np

from paddle._public import public, rebind
from paddle.tensor._args import (
    InternedOps,
    axis_of,
    cast,
    create_on,
    dtype_of,
    integer,
    need_tensor,
    number,
    number_in,
    op_error,
    same_dtype,
)

# Of the module that has this name in the reference framework.
from paddle.tensor.gathering import index_sample, index_select  # noqa: F401
from paddle.tensor.masking import masked_select  # noqa: F401
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.eager import apply
from umiak.core.inplace import call_before_overwrite
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ops.promotion import LATTICE, default_float, operand
from umiak.util.errors import OperandError

TopKResult = namedtuple("TopKRetType", ["values", "indices"])  # type: ignore[name-match]


_SEARCH = InternedOps(F.SearchSorted)


# --- extrema -------------------------------------------------------------------------------------------------------


@public(aliases={"keepdims": "keepdim"}, takes_out=True)
def argmax(x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """Index of the largest element along ``axis``, of equal ones the first.

    Args:
        x: tensor of any real dtype.
        axis: the dim to search; negative counts from the end. By default x counts as one row of all its elements.
        keepdim: whether the dim stays, with size 1; without an axis all dims stay.
        dtype: the dtype of the result, int32 or int64.

    Returns:
        Integer tensor of x's shape without the dim; 0-d without an axis.

    Raises:
        TypeError: x is not a tensor or is complex, or ``dtype`` is another one.
        IndexError: x has no such dim.
        ValueError: there is no element to choose, or ``dtype`` is None.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 3.0], [5.0, 2.0]])
        >>> paddle.argmax(x, axis=1).tolist(), int(paddle.argmax(x))
        ([1, 0], 2)
    """
    return _extreme(F.argmax, x, axis, keepdim, dtype, "argmax")


@public(aliases={"keepdims": "keepdim"}, takes_out=True)
def argmin(x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """Index of the smallest element along ``axis``, of equal ones the first.

    Args:
        x: tensor of any real dtype.
        axis: the dim to search; negative counts from the end. By default x counts as one row of all its elements.
        keepdim: whether the dim stays, with size 1; without an axis all dims stay.
        dtype: the dtype of the result, int32 or int64.

    Returns:
        Integer tensor of x's shape without the dim; 0-d without an axis.

    Raises:
        TypeError: x is not a tensor or is complex, or ``dtype`` is another one.
        IndexError: x has no such dim.
        ValueError: there is no element to choose, or ``dtype`` is None.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 3.0], [5.0, 2.0]])
        >>> paddle.argmin(x, axis=1).tolist(), int(paddle.argmin(x))
        ([0, 1], 0)
    """
    return _extreme(F.argmin, x, axis, keepdim, dtype, "argmin")


def _extreme(find: Any, x: Tensor, axis: Any, keepdim: bool, dtype: Any, op: str) -> Tensor:
    need_tensor(x, op)
    if dtype is None:
        raise op_error(ValueError, op, "a dtype of int32 or int64", "None")
    d = dtype_of(dtype)
    if d not in (dt.int32, dt.int64):
        raise op_error(OperandError, op, "a dtype of int32 or int64", d.name)
    if axis is None:
        out = find(F.reshape(x, (x._count,)), 0, False, d)
        return F.reshape(out, (1,) * x.ndim) if keepdim else out
    if x.ndim == 0:
        axis_of(number(axis), 1, op)
        return create_on(x.place, F.full, 0, d, ())
    return find(x, axis_of(axis, x.ndim, op), builtins.bool(keepdim), d)


# --- order ---------------------------------------------------------------------------------------------------------


def _sorted(x: Tensor, axis: Any, descending: bool, stable: bool, op: str) -> tuple[Tensor, Tensor]:
    if need_tensor(x, op).ndim == 0:
        axis_of(axis, 1, op)
        return F.copy(x), create_on(x.place, F.full, 0, dt.int64, ())
    return F.sort(x, axis_of(axis, x.ndim, op), builtins.bool(descending), builtins.bool(stable))


# `input` and `dim` belong to another framework's sort, which also returns indices: paddle.compat.sort.
@public(usual=False)
def sort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None) -> Tensor:
    """Elements in ascending order along ``axis``; NaN comes last.

    Args:
        x: tensor of any real dtype.
        axis: the dim to sort; negative counts from the end.
        descending: whether the order is descending; NaN comes first then.
        stable: whether equal elements keep their order, which only :func:`argsort` shows.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.

    Example:
        >>> import paddle
        >>> paddle.sort(paddle.to_tensor([3, 1, 2]), descending=True).tolist()
        [3, 2, 1]
    """
    return _sorted(x, axis, descending, stable, "sort")[0]


@public
def argsort(
    x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None
) -> Tensor:
    """Indices that put the elements along ``axis`` in order.

    Args:
        x: tensor of any real dtype.
        axis: the dim to sort; negative counts from the end.
        descending: whether the order is descending.
        stable: whether the indices of equal elements ascend.

    Returns:
        int64 tensor of x's shape.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.

    Example:
        >>> import paddle
        >>> paddle.argsort(paddle.to_tensor([3, 1, 2])).tolist()
        [1, 2, 0]
    """
    return _sorted(x, axis, descending, stable, "argsort")[1]


@public(aliases={"x": "input"})
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """Elements in ascending order along the first dim.

    Args:
        input: tensor of any real dtype.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of input's shape and dtype.

    Raises:
        TypeError: input is not a tensor, or is complex.

    Example:
        >>> import paddle
        >>> paddle.msort(paddle.to_tensor([[3, 1], [2, 4]])).tolist()
        [[2, 1], [3, 4]]
    """
    return _sorted(input, 0, False, False, "msort")[0]


@public
def topk(
    x: Tensor,
    k: Any,
    axis: Any = None,
    largest: bool = True,
    sorted: bool = True,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Largest (or smallest) ``k`` elements along ``axis`` and their indices.

    Args:
        x: tensor of any real dtype.
        k: how many; an int or an integer tensor of one element.
        axis: the dim to search, by default the last; negative counts from the end.
        largest: False for the smallest.
        sorted: whether the result is in order, which may otherwise be any.
        out: a pair of tensors that are written with the result and returned.

    Returns:
        Named tuple ``(values, indices)``: tensors of x's dtype and of int64, with size ``k`` along the dim.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: ``k`` is below 1 or above the size of the dim.

    Example:
        >>> import paddle
        >>> values, indices = paddle.topk(paddle.to_tensor([3, 1, 2]), 2)
        >>> values.tolist(), indices.tolist()
        ([3, 2], [0, 2])
    """
    count = integer(k, "topk", "k")
    if need_tensor(x, "topk").ndim == 0:
        return TopKResult(F.copy(x), create_on(x.place, F.full, 0, dt.int64, ()))
    a = axis_of(-1 if axis is None else axis, x.ndim, "topk")
    if not (dim.le(1, count) and dim.le(count, x.shape[a])):
        raise op_error(ValueError, "topk", f"a k from 1 to {x.shape[a]}", count)
    return TopKResult(*F.top_k(x, a, builtins.bool(largest), builtins.bool(sorted), count))


@public
def kthvalue(
    x: Tensor, k: int, axis: Any = None, keepdim: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Element number ``k`` in ascending order along ``axis``, and its index.

    Args:
        x: tensor of any real dtype.
        k: the number, counted from 1.
        axis: the dim to search, by default the last; negative counts from the end.
        keepdim: whether the dim stays, with size 1.

    Returns:
        Pair of tensors of x's shape without the dim: values of x's dtype, indices of int64.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: ``k`` is below 1 or above the size of the dim.

    Example:
        >>> import paddle
        >>> value, index = paddle.kthvalue(paddle.to_tensor([30, 10, 20]), 2)
        >>> int(value), int(index)
        (20, 2)
    """
    if need_tensor(x, "kthvalue").ndim == 0:
        return F.copy(x), create_on(x.place, F.full, 0, dt.int64, ())
    a = axis_of(-1 if axis is None else axis, x.ndim, "kthvalue")
    if not 1 <= k <= x.shape[a]:
        raise op_error(ValueError, "kthvalue", f"a k from 1 to {x.shape[a]}", k)
    return F.kthvalue(x, a, builtins.bool(keepdim), k)


@public
def mode(x: Tensor, axis: int = -1, keepdim: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Most frequent element along ``axis``, of several the smallest, and its last index.

    Args:
        x: tensor of any real dtype.
        axis: the dim to search; negative counts from the end.
        keepdim: whether the dim stays, with size 1.

    Returns:
        Pair of tensors of x's shape without the dim: values of x's dtype, indices of int64.

    Raises:
        TypeError: x is not a tensor, or is complex.
        IndexError: x has no such dim.
        ValueError: the dim has no elements.

    Example:
        >>> import paddle
        >>> value, index = paddle.mode(paddle.to_tensor([1, 2, 2]))
        >>> int(value), int(index)
        (2, 2)
    """
    if need_tensor(x, "mode").ndim == 0:
        return F.copy(x), create_on(x.place, F.full, 0, dt.int64, ())
    return F.mode(x, axis_of(axis, x.ndim, "mode"), builtins.bool(keepdim))


# --- places --------------------------------------------------------------------------------------------------------


@public
def where(
    condition: Tensor, x: Any = None, y: Any = None, name: str | None = None, *, out: Tensor | None = None
) -> Any:
    """Elements of ``x`` where ``condition`` holds and of ``y`` elsewhere; without x and y the indices where it holds.

    Args:
        condition: bool tensor, or a bool.
        x: tensor or number; without x and y the result is that of ``nonzero(condition, as_tuple=True)``.
        y: tensor or number; all three broadcast. Two floating dtypes are promoted to one, other dtypes must agree. A
            float counts as a tensor of the default dtype, so that it widens float16; other numbers take the dtype of
            the tensor beside them.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of the promoted dtype; without x and y, a tuple of int64 tensors, one for each dim.

    Raises:
        TypeError: an operand is neither a tensor nor a number, or dtypes do not mix.
        ValueError: the condition is not bool, only one of x and y is given, or shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, -1.0])
        >>> paddle.where(x > 0, x, 0.0).tolist()
        [1.0, 0.0]
    """
    if not isinstance(condition, Tensor):
        if not isinstance(condition, builtins.bool):
            need_tensor(condition, "where", "condition")
        condition = F.full(condition, dt.bool, ())
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise op_error(ValueError, "where", "both x and y, or neither", "one of them")
    if condition.dtype is not dt.bool:
        raise op_error(ValueError, "where", "a condition of dtype bool", condition.dtype.name)
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        if x.dtype is not y.dtype:
            x, y = same_dtype("where", x, y)
    elif isinstance(x, Tensor):
        if type(y) is not float or x.dtype is not default_float():
            x, y = same_dtype("where", _beside(x, y), y)
    elif isinstance(y, Tensor):
        if type(x) is not float or y.dtype is not default_float():
            x, y = same_dtype("where", x, _beside(y, x))
    else:
        d = LATTICE[_dtype_of(x), _dtype_of(y)]
        x, y = create_on(condition.place, F.full, operand(x), d, ()), operand(y)
    return F.where(condition, x, y)


_DTYPES = {builtins.bool: dt.bool, int: dt.int64, complex: dt.complex64}


def _dtype_of(v: Any) -> DType:
    """The dtype of a number as an operand of :func:`where`, where it has a width, unlike in operators."""
    if type(v) is float:
        return default_float()
    if type(v) in _DTYPES:
        return _DTYPES[type(v)]
    if isinstance(v, np.generic):
        return dtype_of(v.dtype)
    if type(v) is Sym:
        return {"bool": dt.bool, "int": dt.int64, "float": default_float()}[v.kind]
    if not isinstance(v, (int, float, complex)):
        raise op_error(OperandError, "where", "tensors or numbers as operands", type(v).__name__)
    return _dtype_of(operand(v))


def _beside(x: Tensor, v: Any) -> Tensor:
    """An operand of :func:`where` beside a number: a float widens it."""
    if type(v) is int or not (isinstance(v, (float, np.floating)) or (type(v) is Sym and v.kind == "float")):
        return x
    other = _dtype_of(v)
    own = x.dtype
    if own is other or own.is_packed or not (own.is_floating or own.is_complex):
        return x
    return cast(x, LATTICE[own, other])


@public(usual=False)
def where_(condition: Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Keep the elements of x where the condition holds, and write those of y elsewhere.

    Args:
        condition: bool tensor whose shape broadcasts to x's.
        x: tensor, which is written; it takes the promoted dtype.
        y: tensor whose shape broadcasts to x's, or number. Floating dtypes that differ are promoted, others must be
            equal.

    Returns:
        The tensor x.

    Raises:
        TypeError: the dtypes cannot be promoted.
        ValueError: the condition is not bool, x is no tensor, y is missing, or the broadcast shape is not x's.
        RuntimeError: x is a leaf with ``stop_gradient=False``, outside ``no_grad``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, -1.0])
        >>> paddle.where_(x > 0, x, paddle.zeros([2])).tolist()
        [1.0, 0.0]
    """

    def kept(x: Tensor) -> Tensor:
        return where(condition, x, y)

    if not isinstance(x, Tensor) or y is None:
        raise op_error(ValueError, "where_", "a tensor x, and y", f"{type(x).__name__} and {type(y).__name__}")
    value = call_before_overwrite(kept, x, (), {})
    if value.shape != x.shape:
        raise op_error(ValueError, "where_", f"a result of the tensor's shape {list(x.shape)}", value.shape)
    return rebind(x, value)


@public
def nonzero(x: Tensor, as_tuple: bool = False, *, out: Any = None) -> Any:
    """Coordinates of the elements that are not zero, in row-major order.

    Args:
        x: tensor of any shape and dtype.
        as_tuple: whether coordinates come in a tensor for each dim.
        out: tensor that is written with the result and returned.

    Returns:
        int64 tensor of shape ``[count, rank]``, or a tuple of as many tensors of shape ``[count]`` as x has dims.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has no dims, so that nothing has coordinates.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[0, 5], [6, 0]])
        >>> paddle.nonzero(x).tolist()
        [[0, 1], [1, 0]]
        >>> [i.tolist() for i in paddle.nonzero(x, as_tuple=True)]
        [[0, 1], [1, 0]]
    """
    if need_tensor(x, "nonzero").ndim == 0:
        raise op_error(ValueError, "nonzero", "a tensor of at least one dim", "a 0-d tensor", "Reshape it to [1].")
    if x.dtype.is_complex:
        x = F.ne(x, 0)
    coordinates = F.nonzero_sized(x, number_in(F.count_true(x)))
    return tuple(F.unbind(coordinates, 1, x.ndim)) if as_tuple else coordinates


def _restrict_nonzero(condition: Tensor, total_true_num: int) -> Tensor:
    """Coordinates of the elements that are not zero, ``total_true_num`` of them: nothing waits for a count."""
    return F.nonzero_sized(need_tensor(condition, "_restrict_nonzero", "condition"), int(total_true_num))


@public(aliases={"x": "input"})
def argwhere(input: Tensor) -> Tensor:
    """Coordinates of the elements that are not zero, as :func:`nonzero` gives them.

    Args:
        input: tensor of any shape and dtype.

    Returns:
        int64 tensor of shape ``[count, rank]``.

    Raises:
        TypeError: input is not a tensor.
        ValueError: input has no dims.

    Example:
        >>> import paddle
        >>> paddle.argwhere(paddle.to_tensor([0, 5, 6])).tolist()
        [[1], [2]]
    """
    return nonzero(need_tensor(input, "argwhere", "input"))


def _bucket_dtype(out_int32: bool) -> Any:
    return dt.int32 if out_int32 else dt.int64


@public("paddle paddle.tensor", aliases={"input": "values"})
def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    side: str | None = None,
    out: Any = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Places in an ascending sequence at which ``values`` would keep it in order.

    Args:
        sorted_sequence: integer or floating tensor of rank 1, or with rows along the last dim, one for each row of
            ``values``.
        values: integer or floating tensor; or, for a sequence of rank 1, a number.
        out_int32: whether the result is int32 instead of int64.
        right: whether a value goes behind elements that equal it; otherwise it goes before them.
        side: ``"right"`` or ``"left"``, the same in another form.
        out: tensor that is written with the result and returned.
        sorter: indices that sort the sequence, as :func:`argsort` gives them, if it is not in order.

    Returns:
        Integer tensor of the shape of ``values``, with places from 0 to the size of the sequence.

    Raises:
        TypeError: the sequence is not a tensor, or an operand is bool or complex.
        ValueError: rows do not fit, ``side`` is another word, or contradicts ``right``.

    Example:
        >>> import paddle
        >>> paddle.searchsorted(paddle.to_tensor([1, 3, 5]), paddle.to_tensor([3, 4])).tolist()
        [1, 2]
    """
    op = "searchsorted"
    need_tensor(sorted_sequence, op, "sorted_sequence")
    if side not in (None, "left", "right"):
        raise op_error(ValueError, op, "a side of 'left' or 'right'", repr(side))
    if side is not None:
        if side == "left" and right:
            raise op_error(ValueError, op, "side and right that agree", "side='left' and right=True")
        right = side == "right"
    if sorter is not None:
        sorted_sequence = F.take_along(sorted_sequence, need_tensor(sorter, op, "sorter"), sorted_sequence.ndim - 1)
    if not isinstance(values, Tensor):
        values = create_on(sorted_sequence.place, F.full, values, sorted_sequence.dtype, ())
    rows, v = sorted_sequence, values
    if rows.dtype is not v.dtype:
        if rows.dtype.is_integer or v.dtype.is_integer:  # in a dtype that has the numbers of both
            wide = dt.int64 if rows.dtype.is_integer and v.dtype.is_integer else dt.float64
            rows, v = (cast(t, wide) if t.dtype.is_integer or t.dtype.is_floating else t for t in (rows, v))
        rows, v = same_dtype("eq", rows, v)
    if rows.ndim != 1 and rows.shape[:-1] != v.shape[:-1]:
        raise op_error(ValueError, op, f"values with leading dims {rows.shape[:-1]}", v.shape)
    return apply(_SEARCH[builtins.bool(right), _bucket_dtype(out_int32)], (rows, v))


@public(aliases={"boundaries": "sorted_sequence"})
def bucketize(
    x: Any,
    sorted_sequence: Tensor,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Interval of an ascending sequence of bounds into which each element of ``x`` falls.

    Args:
        x: integer or floating tensor; or a number.
        sorted_sequence: 1-d integer or floating tensor: the bounds.
        out_int32: whether the result is int32 instead of int64.
        right: whether an element that equals a bound falls into the interval behind it; otherwise into that before it.
        out: tensor that is written with the result and returned.

    Returns:
        Integer tensor of x's shape: 0 before the first bound, up to the number of bounds.

    Raises:
        TypeError: the bounds are not a tensor, or an operand is bool or complex.
        ValueError: the bounds are not 1-d.

    Example:
        >>> import paddle
        >>> bounds = paddle.to_tensor([1.0, 2.0])
        >>> paddle.bucketize(paddle.to_tensor([0.5, 2.0, 9.0]), bounds).tolist()
        [0, 1, 2]
    """
    if need_tensor(sorted_sequence, "bucketize", "sorted_sequence").ndim != 1:
        raise op_error(ValueError, "bucketize", "a 1-d sorted_sequence", sorted_sequence.shape)
    return searchsorted(sorted_sequence, x, out_int32, right)


# --- what differs --------------------------------------------------------------------------------------------------


def _unique(x: Tensor, axis: Any, consecutive: bool, wanted: tuple[bool, bool, bool], dtype: Any, op: str) -> Any:
    d = dtype_of(dtype, dt.int64)
    if d not in (dt.int32, dt.int64):
        raise op_error(ValueError, op, "a dtype of int32 or int64", d.name)
    need_tensor(x, op)
    a = None if axis is None else axis_of(axis, x.ndim, op)
    count = number_in(F.unique_count(x, a, consecutive))
    values, index, inverse, counts = F.unique_sized(x, a, consecutive, count)
    if a is None and not consecutive and 0 in x.shape:
        values = F.reshape(values, tuple(x.shape))  # nothing is distinct in the shape that it has
    extras = [cast(v, d) for v, on in zip((index, inverse, counts), wanted, strict=True) if on]
    return (values, *extras) if extras else values


@public
def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    dtype: Any = "int64",
    sorted: bool = True,
    name: str | None = None,
) -> Any:
    """Distinct elements of ``x``, or distinct slices along ``axis``, in ascending order.

    Args:
        x: tensor of any dtype.
        return_index: whether to return where each occurs first.
        return_inverse: whether to return where each element of x stands in the result.
        return_counts: whether to return how often each occurs.
        axis: the dim whose slices are compared; negative counts from the end. By default single elements are.
        dtype: the dtype of the indices and counts, int32 or int64.
        sorted: without effect: the result is always sorted.

    Returns:
        Tensor of x's dtype, 1-d without an axis; with one of the flags, a tuple of it and the tensors asked for.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``dtype`` is another one.

    Example:
        >>> import paddle
        >>> values, counts = paddle.unique(paddle.to_tensor([3, 1, 3]), return_counts=True)
        >>> values.tolist(), counts.tolist()
        ([1, 3], [1, 2])
    """
    return _unique(x, axis, False, (return_index, return_inverse, return_counts), dtype, "unique")


@public
def unique_consecutive(
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """Elements of ``x``, or slices along ``axis``, without those that equal the one before.

    Args:
        x: tensor of any dtype.
        return_inverse: whether to return where each element of x stands in the result.
        return_counts: whether to return how long each run is.
        axis: the dim whose slices are compared; negative counts from the end. By default x counts as one row of all its
            elements.
        dtype: the dtype of the indices and counts, int32 or int64.

    Returns:
        Tensor of x's dtype, 1-d without an axis; with one of the flags, a tuple of it and the tensors asked for.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``dtype`` is another one.

    Example:
        >>> import paddle
        >>> paddle.unique_consecutive(paddle.to_tensor([1, 1, 2, 1])).tolist()
        [1, 2, 1]
    """
    return _unique(x, axis, True, (False, return_inverse, return_counts), dtype, "unique_consecutive")


@public("paddle.tensor Tensor", usual=False)
def top_p_sampling(
    x: Tensor,
    ps: Tensor,
    threshold: Tensor | None = None,
    topp_seed: Tensor | None = None,
    seed: int = -1,
    k: int = 0,
    mode: str = "truncated",
    return_top: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Sample one index from each row of probabilities, among the most probable ones that together exceed ``ps``.

    Args:
        x: float tensor of shape ``[batch, n]``: probabilities.
        ps: tensor with a bound for each row: an index takes part if those more probable than it sum to less.
        threshold: tensor with a number for each row: less probable indices take no part.
        topp_seed: integer tensor with a seed for each row.
        seed: a seed for all rows; -1, the default, takes numbers from the generator.
        k: how many of the most probable indices ``return_top`` returns.
        mode: ``"truncated"`` samples among the indices that take part, ``"non-truncated"`` among all.
        return_top: whether to return the most probable elements, too.

    Returns:
        Pair of tensors of shape ``[batch, 1]``: probabilities of x's dtype and int64 indices. With ``return_top``
        followed by those of the ``k`` most probable.

    Raises:
        TypeError: x, ps, threshold or topp_seed is not a tensor.
        ValueError: x is not of rank 2, ps, threshold or topp_seed do not fit it, or there is no such mode.

    Example:
        >>> import paddle
        >>> value, index = paddle.tensor.top_p_sampling(paddle.to_tensor([[0.0, 1.0]]), paddle.to_tensor([0.5]))
        >>> index.tolist()
        [[1]]
    """
    from paddle.tensor.random import sampled

    if need_tensor(x, "top_p_sampling").ndim != 2:
        raise op_error(ValueError, "top_p_sampling", "x of rank 2", x.shape)
    values, indices = F.sort(x, 1, True, True)
    below = F.sub(F.cumsum(values, 1), values)
    keep = F.lt(below, F.reshape(cast(need_tensor(ps, "top_p_sampling", "ps"), x.dtype), (ps._count, 1)))
    if threshold is not None:
        least = cast(need_tensor(threshold, "top_p_sampling", "threshold"), x.dtype)
        keep = F.logical_and(keep, F.ge(values, F.reshape(least, (least._count, 1))))
    if mode == "truncated":
        values_kept = F.where(keep, values, 0)
    elif mode == "non-truncated":
        values_kept = values
    else:
        raise op_error(ValueError, "top_p_sampling", "a mode of 'truncated' or 'non-truncated'", repr(mode))
    if topp_seed is not None:
        seeds = need_tensor(topp_seed, "top_p_sampling", "topp_seed").flatten().tolist()
        if len(seeds) != x.shape[0]:
            raise op_error(ValueError, "top_p_sampling", f"a seed for each of {x.shape[0]} rows", len(seeds))
        rows = F.split(values_kept, 0, (1,) * len(seeds))
        place = F.concat([sampled(row, 1, False, s) for row, s in zip(rows, seeds, strict=True)], 0)
    else:
        place = sampled(values_kept, 1, False, None if seed == -1 else seed)
    drawn = F.take_along(values, place, 1), F.take_along(indices, place, 1)
    return (*drawn, *F.top_k(x, 1, True, True, k)) if return_top else drawn
