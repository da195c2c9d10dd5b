"""The order of axes: transposes, permutations, swaps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from paddle._public import INTS, OtherOrder, also, inplace, public
from paddle.tensor._args import (
    axis_of,
    integers,
    need_tensor,
    op_error,
)
from umiak import ops as F
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor

_SWAP = F.Permute((1, 0))
_PERMUTE: dict[Any, Any] = {}


def _swapped_dims(
    x: Tensor,
    first: Any = None,
    second: Any = None,
    *more: Any,
    dim0: Any = None,
    dim1: Any = None,
    axis0: Any = None,
    axis1: Any = None,
    name: Any = None,
) -> Tensor:
    """Two dims to swap, by position or by keywords at their places; a longer order in separate ints."""
    need_tensor(x, "transpose")
    dims = [dim for dim in (first, second, *more) if dim is not None]
    for place, dim in enumerate((dim0 if axis0 is None else axis0, dim1 if axis1 is None else axis1)):
        if dim is not None:
            dims.insert(place, dim)
    if len(dims) < 2:
        raise op_error(TypeError, "transpose", "a permutation or two dims", "one dim")
    if len(dims) > 2:
        return transpose(x, dims)
    return apply1(swap_op(x, dims, "transpose"), x)


_SWAPPED = OtherOrder(_swapped_dims, frozenset({"dim0", "dim1", "axis0", "axis1"}), 2, INTS)


@public(ints=_PERMUTE, other_order=_SWAPPED)
def transpose(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """Dims of ``x`` in another order; a view, which shares the memory of ``x``.

    Args:
        x: tensor of any shape and dtype.
        perm: the new order: dim ``i`` of the result is dim ``perm[i]`` of x. A list or tuple that names every dim once;
            a negative number counts from the end.

    Returns:
        Tensor of x's dtype, with the sizes of x in the new order.

    Raises:
        TypeError: x is not a tensor, or no order is given.
        ValueError: ``perm`` does not name every dim once.
        IndexError: x has no such dim to swap.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3, 4])
        >>> x.transpose([2, 0, 1]).shape
        paddle.Size([4, 2, 3])
        >>> x.transpose(0, 1).shape
        paddle.Size([3, 2, 4])
    """
    if not isinstance(x, Tensor):
        need_tensor(x, "transpose")
    if isinstance(perm, list):
        perm = tuple(perm)
    try:
        op = _PERMUTE[perm]
    except (KeyError, TypeError):
        op = _permutation(x, perm)
    return apply1(op, x)


transpose_ = inplace(transpose, reshapes=True)


def _permutation(x: Tensor, perm: Any) -> Any:
    order = integers(perm, "transpose", "perm")
    if sorted(p + x.ndim if p < 0 else p for p in order) != list(range(x.ndim)):
        raise op_error(ValueError, "transpose", f"a permutation of {x.ndim} dims", list(order))
    op = F.Permute(tuple(p + x.ndim if p < 0 else p for p in order))
    if all(p >= 0 for p in order):
        _PERMUTE[order] = op
    return op


@public(aliases={"x": "input"}, ints_from=1)
def permute(input: Tensor, dims: Any) -> Tensor:
    """Dims of ``input`` in another order; a view, which shares the memory of ``input``.

    Args:
        input: tensor of any shape and dtype.
        dims: the new order: dim ``i`` of the result is dim ``dims[i]`` of input. A list, a tuple or separate ints that
            name every dim once; a negative number counts from the end.

    Returns:
        Tensor of input's dtype, with the sizes of input in the new order.

    Raises:
        TypeError: input is not a tensor.
        ValueError: ``dims`` does not name every dim once.

    Example:
        >>> import paddle
        >>> paddle.permute(paddle.ones([2, 3, 4]), 2, 0, 1).shape
        paddle.Size([4, 2, 3])
    """
    return transpose(need_tensor(input, "permute", "input"), dims)


def swap_op(x: Tensor, dims: Sequence[Any], op: str) -> Any:
    """The permutation that swaps two dims."""
    return swap(x.ndim, axis_of(dims[0], x.ndim, op), axis_of(dims[1], x.ndim, op))


@cache
def swap(rank: int, a: int, b: int) -> Any:
    """The permutation of so many dims that swaps two of them."""
    order = list(range(rank))
    order[a], order[b] = b, a
    return F.Permute(tuple(order))


def _swapped_axes(x: Tensor, first: Any = None, second: Any = None, **dims: Any) -> Tensor:
    return _swapped_dims(x, first, second, **dims) if need_tensor(x, "swapaxes").ndim else x


@public(other_order=_SWAPPED._replace(function=_swapped_axes))
def swapaxes(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """Swap two dims of ``x``, ``swapaxes(x, 0, 1)``; a view, which shares the memory of ``x``.

    Args:
        x: tensor of any shape and dtype.
        perm: an order of all dims, as for :func:`transpose`. In the usual call, the two dims stand in its place, or are
            given as ``axis0`` and ``axis1``, or ``dim0`` and ``dim1``; negative ones count from the end.

    Returns:
        Tensor of x's dtype, with two sizes of x swapped; a 0-d tensor as it is.

    Raises:
        TypeError: x is not a tensor, or fewer than two dims are given.
        IndexError: x has no such dim.

    Example:
        >>> import paddle
        >>> paddle.swapaxes(paddle.ones([2, 3, 4]), 0, 2).shape
        paddle.Size([4, 3, 2])
    """
    return transpose(need_tensor(x, "swapaxes"), perm)


swapaxes_ = inplace(swapaxes, "Tensor", reshapes=True)
swapdims = also(swapaxes, "swapdims")


@public
def moveaxis(x: Tensor, source: Any, destination: Any, name: str | None = None) -> Tensor:
    """Move dims of ``x`` to other places; the others keep their order. A view, which shares the memory of ``x``.

    Args:
        x: tensor of any shape and dtype.
        source: the dims to move: an int or a sequence of ints; negative counts from the end.
        destination: the place of each of them in the result, in the same form.

    Returns:
        Tensor of x's dtype, with the sizes of x in the new order.

    Raises:
        TypeError: x is not a tensor.
        ValueError: ``source`` and ``destination`` differ in length, or name a dim twice.
        IndexError: x has no such dim.

    Example:
        >>> import paddle
        >>> paddle.moveaxis(paddle.ones([2, 3, 4]), 0, 2).shape
        paddle.Size([3, 4, 2])
    """
    ndim = need_tensor(x, "moveaxis").ndim
    src = [axis_of(a, ndim, "moveaxis") for a in integers(source, "moveaxis", "source")]
    dst = [axis_of(a, ndim, "moveaxis") for a in integers(destination, "moveaxis", "destination")]
    if len(src) != len(dst) or len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise op_error(
            ValueError, "moveaxis", "as many distinct sources as destinations", f"{source} and {destination}"
        )
    order = [a for a in range(ndim) if a not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return apply1(F.Permute(tuple(order)), x)


@public(aliases={"x": "input"})
def t(input: Tensor, name: str | None = None) -> Tensor:
    """Transpose of a matrix; a view, which shares the memory of ``input``.

    Args:
        input: tensor of rank 2 or less, of any dtype.

    Returns:
        Tensor of input's dtype, with the two sizes swapped; a tensor of rank 0 or 1 as it is.

    Raises:
        TypeError: input is not a tensor.
        ValueError: input has a rank above 2.

    Example:
        >>> import paddle
        >>> paddle.t(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[1, 3], [2, 4]]
    """
    if need_tensor(input, "t", "input").ndim > 2:
        raise op_error(ValueError, "t", "a tensor of rank 2 or less", f"rank {input.ndim}", "Use transpose.")
    return input if input.ndim < 2 else apply1(_SWAP, input)


t_ = inplace(t, reshapes=True)


@public("paddle paddle.tensor paddle.linalg Tensor")
def matrix_transpose(x: Tensor, name: str | None = None) -> Tensor:
    """Transpose of each matrix in the last two dims; a view, which shares the memory of ``x``.

    Args:
        x: tensor of shape ``[..., m, n]``, of any dtype.

    Returns:
        Tensor of shape ``[..., n, m]`` and x's dtype.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 2.

    Example:
        >>> import paddle
        >>> paddle.matrix_transpose(paddle.ones([2, 3, 4])).shape
        paddle.Size([2, 4, 3])
    """
    if need_tensor(x, "matrix_transpose").ndim < 2:
        raise op_error(ValueError, "matrix_transpose", "a tensor of rank 2 or more", f"rank {x.ndim}")
    return apply1(swap_op(x, (-2, -1), "matrix_transpose"), x)
