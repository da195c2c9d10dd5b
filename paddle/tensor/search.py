"""Finding: extrema and their places, order, what is not zero, what differs."""

from __future__ import annotations

import builtins
from collections import namedtuple
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axis_of,
    cast,
    dtype_of,
    integer,
    made_on,
    need_tensor,
    number,
    op_error,
    same_dtype,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor

TopKResult = namedtuple("TopKRetType", ["values", "indices"])  # type: ignore[name-match]


# --- extrema -------------------------------------------------------------------------------------------------------


@public
def argmax(x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """The index of the largest element along ``axis`` (of all elements for None): the first of equals.

    Args:
        x: a tensor.
        axis: along which.
        keepdim: whether the dim stays, as size 1.
        dtype: int32 or int64.

    Example:
        >>> import paddle
        >>> int(paddle.argmax(paddle.to_tensor([1.0, 3.0, 2.0])))
        1
    """
    return _extreme(F.argmax, x, axis, keepdim, dtype, "argmax")


@public
def argmin(x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """The index of the smallest element along ``axis`` (of all elements for None): the first of equals.

    Args:
        x: a tensor.
        axis: along which.
        keepdim: whether the dim stays, as size 1.
        dtype: int32 or int64.

    Example:
        >>> import paddle
        >>> int(paddle.argmin(paddle.to_tensor([1.0, 3.0, 2.0])))
        0
    """
    return _extreme(F.argmin, x, axis, keepdim, dtype, "argmin")


def _extreme(find: Any, x: Tensor, axis: Any, keepdim: bool, dtype: Any, op: str) -> Tensor:
    need_tensor(x, op)
    if dtype is None:
        raise op_error(ValueError, op, "a dtype of int32 or int64", "None")
    d = dtype_of(dtype)
    if d not in (dt.int32, dt.int64):
        raise op_error(TypeError, op, "a dtype of int32 or int64", d.name)
    if axis is None:
        out = find(F.reshape(x, (x.size,)), 0, False, d)
        return F.reshape(out, (1,) * x.ndim) if keepdim else out
    if x.ndim == 0:
        axis_of(number(axis), 1, op)
        return made_on(x.place, F.full, 0, d, ())
    return find(x, axis_of(axis, x.ndim, op), builtins.bool(keepdim), d)


# --- order ---------------------------------------------------------------------------------------------------------


def _sorted(x: Tensor, axis: Any, descending: bool, stable: bool, op: str) -> tuple[Tensor, Tensor]:
    if need_tensor(x, op).ndim == 0:
        axis_of(axis, 1, op)
        return F.copy(x), made_on(x.place, F.full, 0, dt.int64, ())
    return F.sort(x, axis_of(axis, x.ndim, op), builtins.bool(descending), builtins.bool(stable))


# `input` and `dim` belong to another framework's sort, which also returns indices: paddle.compat.sort.
@public(usual=False)
def sort(x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None) -> Tensor:
    """``x`` in rising order along ``axis``; ``descending`` turns it round, ``stable`` keeps the order of equals.

    Example:
        >>> import paddle
        >>> paddle.sort(paddle.to_tensor([3, 1, 2])).tolist()
        [1, 2, 3]
    """
    return _sorted(x, axis, descending, stable, "sort")[0]


@public
def argsort(
    x: Tensor, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None
) -> Tensor:
    """The indices that would sort ``x`` along ``axis``.

    Example:
        >>> import paddle
        >>> paddle.argsort(paddle.to_tensor([3, 1, 2])).tolist()
        [1, 2, 0]
    """
    return _sorted(x, axis, descending, stable, "argsort")[1]


@public(aliases={"x": "input"})
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """``input`` in rising order along the first dim.

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
    """The ``k`` largest elements along ``axis``, by default the last, and their indices.

    Args:
        x: a tensor.
        k: how many.
        axis: along which.
        largest: False for the smallest.
        sorted: whether they come in order.

    Returns a named tuple ``(values, indices)``.

    Example:
        >>> import paddle
        >>> values, indices = paddle.topk(paddle.to_tensor([3, 1, 2]), 2)
        >>> values.tolist(), indices.tolist()
        ([3, 2], [0, 2])
    """
    count = integer(k, "topk", "k")
    if need_tensor(x, "topk").ndim == 0:
        return TopKResult(F.copy(x), made_on(x.place, F.full, 0, dt.int64, ()))
    a = axis_of(-1 if axis is None else axis, x.ndim, "topk")
    if not 1 <= count <= x.shape[a]:
        raise op_error(ValueError, "topk", f"a k from 1 to {x.shape[a]}", count)
    return TopKResult(*F.top_k(x, a, builtins.bool(largest), builtins.bool(sorted), count))


@public
def kthvalue(
    x: Tensor, k: int, axis: Any = None, keepdim: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The ``k``-th smallest element (counted from 1) along ``axis``, by default the last, and its index.

    Example:
        >>> import paddle
        >>> values, indices = paddle.kthvalue(paddle.to_tensor([3, 1, 2]), 2)
        >>> int(values), int(indices)
        (2, 2)
    """
    if need_tensor(x, "kthvalue").ndim == 0:
        return F.copy(x), made_on(x.place, F.full, 0, dt.int64, ())
    a = axis_of(-1 if axis is None else axis, x.ndim, "kthvalue")
    if not 1 <= k <= x.shape[a]:
        raise op_error(ValueError, "kthvalue", f"a k from 1 to {x.shape[a]}", k)
    return F.kthvalue(x, a, builtins.bool(keepdim), k)


@public
def mode(x: Tensor, axis: int = -1, keepdim: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The most frequent element along ``axis`` (the smallest of several) and its last index.

    Example:
        >>> import paddle
        >>> values, indices = paddle.mode(paddle.to_tensor([1, 2, 2]))
        >>> int(values), int(indices)
        (2, 2)
    """
    if need_tensor(x, "mode").ndim == 0:
        return F.copy(x), made_on(x.place, F.full, 0, dt.int64, ())
    return F.mode(x, axis_of(axis, x.ndim, "mode"), builtins.bool(keepdim))


# --- places --------------------------------------------------------------------------------------------------------


@public
def where(
    condition: Tensor, x: Any = None, y: Any = None, name: str | None = None, *, out: Tensor | None = None
) -> Any:
    """``x`` where ``condition`` holds, elsewhere ``y``; the condition alone gives its places, as :func:`nonzero`.

    Args:
        condition: a bool tensor.
        x: a tensor or a number.
        y: a tensor or a number; all three broadcast.

    Raises ValueError unless the condition is bool, TypeError where dtypes do not mix.

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
    elif isinstance(x, Tensor) or isinstance(y, Tensor):
        x, y = same_dtype("where", x, y)
    else:
        d = dt.bool if isinstance(x, builtins.bool) and isinstance(y, builtins.bool) else None
        if d is None:
            kinds = (x, y)
            d = (
                dt.complex64
                if builtins.any(isinstance(v, complex) for v in kinds)
                else dtype_of(None)
                if builtins.any(isinstance(v, float) for v in kinds)
                else dt.int64
            )
        x = made_on(condition.place, F.full, x, d, ())
    return F.where(condition, x, y)


@public
def nonzero(x: Tensor, as_tuple: bool = False, *, out: Any = None) -> Any:
    """Coordinates of the elements that are not zero: ``[count, rank]`` int64, or a tensor for each dim.

    Example:
        >>> import paddle
        >>> paddle.nonzero(paddle.to_tensor([0, 5, 6])).tolist()
        [[1], [2]]
    """
    need_tensor(x, "nonzero")
    if x.dtype.is_complex:
        x = F.ne(x, 0)
    places = F.nonzero_sized(x, int(F.count_true(x).item()))
    if not as_tuple:
        return places
    return (
        tuple(F.unbind(places, 1, x.ndim)) if x.ndim else (made_on(x.place, F.full, 0, dt.int64, (places.shape[0],)),)
    )


@public(aliases={"x": "input"})
def argwhere(input: Tensor) -> Tensor:
    """The same as :func:`nonzero`."""
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
    """Where ``values`` would go in a rising sequence: before equal elements, or after them with ``right``.

    Args:
        sorted_sequence: 1-d, or rows along the last dim for values of the same leading dims.
        values: a tensor or a number.
        out_int32: int32 indices instead of int64.
        right: after equal elements.
        side: ``"left"`` or ``"right"``, another way to say so.
        sorter: indices that sort the sequence, if it is not sorted.

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
        values = made_on(sorted_sequence.place, F.full, values, sorted_sequence.dtype, ())
    rows, v = same_dtype("eq", sorted_sequence, values)
    d = _bucket_dtype(out_int32)
    if rows.ndim == 1:
        found = F.search_sorted(rows, F.reshape(v, (v.size,)), builtins.bool(right), d)
        return F.reshape(found, tuple(v.shape))
    if rows.shape[:-1] != v.shape[:-1]:
        raise op_error(ValueError, op, f"values with leading dims {rows.shape[:-1]}", v.shape)
    return F.search_sorted(rows, v, builtins.bool(right), d)


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
    """The interval of the 1-d, rising ``sorted_sequence`` that each element of ``x`` falls into.

    Example:
        >>> import paddle
        >>> paddle.bucketize(paddle.to_tensor([0.5, 2.0]), paddle.to_tensor([1.0, 2.0])).tolist()
        [0, 1]
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
    count = int(F.unique_count(x, a, consecutive).item())
    values, index, inverse, counts = F.unique_sized(x, a, consecutive, count)
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
    """The distinct elements of ``x``, or slices along ``axis``, in rising order.

    Args:
        x: a tensor.
        return_index: also the first place of each.
        return_inverse: also where each element of x is in the result.
        return_counts: also how often each occurs.
        axis: whole slices along it; None for single elements.
        dtype: of the indices, int32 or int64.
        sorted: the result is sorted in any case.

    Example:
        >>> import paddle
        >>> paddle.unique(paddle.to_tensor([3, 1, 3])).tolist()
        [1, 3]
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
    """``x`` with runs of equal elements (or slices along ``axis``) cut to one each.

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
    """One index a row, drawn among the most probable ones whose probabilities add up to ``ps``.

    Args:
        x: probabilities ``[batch, n]``.
        ps: ``[batch]`` or ``[batch, 1]``.
        threshold: probabilities below it are left out.
        topp_seed: a seed for each row; not used where None.
        seed: of the draw; -1 takes it from the generator.
        k: how many of the most probable indices to return with ``return_top``.
        mode: ``"truncated"`` keeps only the chosen set.
        return_top: also the values and indices of the ``k`` most probable.

    Returns the probabilities and the indices drawn, ``[batch, 1]`` each.

    Example:
        >>> import paddle
        >>> value, index = paddle.tensor.top_p_sampling(paddle.to_tensor([[0.0, 1.0]]), paddle.to_tensor([0.5]))
        >>> index.tolist()
        [[1]]
    """
    from paddle.tensor.random import multinomial

    if need_tensor(x, "top_p_sampling").ndim != 2:
        raise op_error(ValueError, "top_p_sampling", "x of rank 2", x.shape)
    values, indices = F.sort(x, 1, True, True)
    below = F.sub(F.cumsum(values, 1), values)
    keep = F.lt(below, F.reshape(cast(need_tensor(ps, "top_p_sampling", "ps"), x.dtype), (ps.size, 1)))
    if threshold is not None:
        keep = F.logical_and(keep, F.ge(values, F.reshape(cast(threshold, x.dtype), (threshold.size, 1))))
    if mode == "truncated":
        values_kept = F.where(keep, values, 0)
    elif mode == "non-truncated":
        values_kept = values
    else:
        raise op_error(ValueError, "top_p_sampling", "a mode of 'truncated' or 'non-truncated'", repr(mode))
    place = multinomial(values_kept, 1)
    drawn = F.take_along(values, place, 1), F.take_along(indices, place, 1)
    return (*drawn, *F.top_k(x, 1, True, True, k)) if return_top else drawn
