"""The elements of a tensor under another shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle._public import inplace, public
from paddle.tensor._args import (
    InternedOps,
    axes_of,
    axis_of,
    integers,
    need_tensor,
    op_error,
    shape_of,
    tensor,
)
from paddle.tensor.from_data import of_numbers, to_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply, apply1
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.util.size import plain_ints

_RESHAPE = F.Reshape()
_FIRST = F.Slice((0,))
_REMOVE = InternedOps(lambda *axes: F.Squeeze(axes))
_INSERT = InternedOps(lambda axis: F.Unsqueeze((axis,)))


def _resolve(x: Tensor, shape: Any, op: str) -> tuple[int, ...]:
    """A target shape without -1 (what is left) and 0 (the size of x at that place; 0 itself where x has no elements and
    a batch of some would not keep those sizes, or beside a -1)."""
    wanted: tuple[Any, ...] = shape_of(shape, op)
    if any(type(n) is Sym for n in wanted):
        return _resolve_symbolic(x, wanted, op)
    if type(x._count) is int and not x._count and 0 in wanted:
        return _resolve_empty(x, wanted, op)
    sizes = list(wanted)
    free = -1
    known = 1
    kept: list[int] = []  # axes whose size is open, which may be 0
    for i, n in enumerate(sizes):
        if n == 0 and i < x.ndim:
            sizes[i] = n = x.shape[i]
            if type(n) is Sym:
                kept.append(i)
                continue
        if n == -1:
            if free >= 0:
                raise op_error(ValueError, op, "at most one size of -1", list(sizes))
            free = i
        elif n < -1:
            raise op_error(ValueError, op, "sizes of -1 or more", list(sizes))
        else:
            known *= n
    if free >= 0:
        count = _count_without(x, kept)
        if known == 0 or count % known:
            raise op_error(ValueError, op, f"a shape for {x._count} elements", list(sizes))
        sizes[free] = count // known
    return tuple(sizes)


def _count_without(x: Tensor, kept: list[int]) -> Any:
    """The number of elements, along the axes that do not keep their size."""
    return math.prod(n for i, n in enumerate(x.shape) if i not in kept) if kept else x._count


def _resolve_empty(x: Tensor, wanted: tuple[int, ...], op: str) -> tuple[int, ...]:
    """Of nothing, to a shape with a 0: -1 is what the other sizes leave, if there are as many zeros, or if those stay
    that have a 0."""
    if min(wanted) < -1 or wanted.count(-1) > 1:
        raise op_error(ValueError, op, "sizes of -1 or more, at most one of -1", list(wanted))
    if -1 not in wanted:
        # A batch of none keeps its other sizes, where a batch of some would; the reference gives sizes of 0.
        sizes = tuple(x.shape[i] if n == 0 and i < x.ndim else n for i, n in enumerate(wanted))
        return sizes if _of_each(sizes) == _of_each(x.shape) else wanted
    left = math.prod(n for n in x.shape if type(n) is not int or n)
    known = math.prod(n for n in wanted if n > 0)
    if wanted.count(0) == sum(1 for n in x.shape if type(n) is int and not n) and left % known == 0:
        return tuple(left // known if n == -1 else n for n in wanted)
    # As for a batch of some: what stays in its place says nothing of the others.
    kept = {i: x.shape[i] for i, n in enumerate(wanted) if n == 0 and i < x.ndim}
    left = math.prod(n for i, n in enumerate(x.shape) if i not in kept)
    if wanted.count(0) != len(kept) or 0 not in kept.values() or not left or left % known:
        raise op_error(
            ValueError, op, f"as many zeros as in {list(x.shape)}, and other sizes that leave one for -1", list(wanted)
        )
    return tuple(left // known if n == -1 else kept.get(i, n) for i, n in enumerate(wanted))


def _of_each(shape: Any) -> tuple[int, Any]:
    """The number of zeros, and of the elements where each were a 1."""
    return sum(1 for n in shape if type(n) is int and not n), math.prod(n for n in shape if type(n) is not int or n)


def _resolve_symbolic(x: Tensor, wanted: tuple, op: str) -> tuple:
    """The same where sizes differ between runs; that they go together is tested when the program runs."""
    wanted = tuple(_settled(n, x._count) for n in wanted)
    if not any(type(n) is Sym for n in wanted):
        return _resolve(x, wanted, op)
    kept = [i for i, n in enumerate(wanted) if type(n) is int and n == 0 and i < x.ndim]
    sizes = [x.shape[i] if i in kept else n for i, n in enumerate(wanted)]
    free = [i for i, n in enumerate(sizes) if type(n) is int and n == -1]
    if len(free) > 1:
        raise op_error(ValueError, op, "at most one size of -1", list(wanted))
    if free:
        those = math.prod(n for i, n in enumerate(sizes) if i != free[0] and i not in kept)
        sizes[free[0]] = _count_without(x, kept) // those
    elif type(x._count) is int and not x._count and not any(type(n) is int and n == 0 for n in sizes):
        return wanted  # nothing, of a shape with a 0
    return tuple(sizes)


def _settled(n: Any, count: Any) -> Any:
    """A size that code has computed may come to 0 or -1, which have a meaning of their own, but for a 0 of a tensor
    without elements: a guard tells, where there are sizes to look at."""
    if type(n) is Sym and n.hinted and n.lo < 1:
        if n == 0:
            return n if (type(count) is int or count.hinted) and count == 0 else 0
        if n.lo < 0 and n == -1:
            return -1
    return n


@public(aliases={"size": "shape"}, ints_from=1)
def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Elements of ``x``, in row-major order, under another shape; a view where the strides allow it, otherwise a copy.

    Args:
        x: tensor of any shape and dtype.
        shape: the new sizes, as a list, a tuple, an integer tensor or separate ints. One of them may be -1, which
            stands for as many as are left; 0 stands for the size of x at that place. Of an x without elements, 0 stands
            for 0 where a batch of some would not keep those sizes, and beside a -1, which then stands for what the
            other sizes of x leave: x has as many sizes of 0.

    Returns:
        Tensor of x's dtype and the new shape.

    Raises:
        TypeError: x is not a tensor, or a size is not an integer.
        ValueError: the new shape has another number of elements, more than one -1, or a size below -1.

    Example:
        >>> import paddle
        >>> paddle.arange(6).reshape([2, -1]).tolist()
        [[0, 1, 2], [3, 4, 5]]
        >>> paddle.ones([2, 3, 4]).reshape([0, -1]).shape
        paddle.Size([2, 12])
    """
    if not isinstance(x, Tensor):
        need_tensor(x, "reshape")
    sizes = plain_ints(shape, 1)
    return apply(_RESHAPE, (x,), (_resolve(x, shape, "reshape") if sizes is None else sizes,))


reshape_ = inplace(reshape, reshapes=True)


@public(aliases={"start_dim": "start_axis", "end_dim": "stop_axis"})
def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> Tensor:
    """Several neighbouring dims as one; a view where the strides allow it, otherwise a copy.

    Args:
        x: tensor of any shape and dtype.
        start_axis: the first dim to join; negative counts from the end.
        stop_axis: the last dim to join, itself included; by default the last of x.

    Returns:
        Tensor of x's dtype; for a 0-d tensor a copy of shape ``[1]``.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``start_axis`` stands behind ``stop_axis``.

    Example:
        >>> import paddle
        >>> paddle.flatten(paddle.ones([2, 3, 4]), 1).shape
        paddle.Size([2, 12])
    """
    n = need_tensor(x, "flatten").ndim
    a, b = (0, 0) if n == 0 else (axis_of(start_axis, n, "flatten"), axis_of(stop_axis, n, "flatten"))
    if a > b:
        raise op_error(ValueError, "flatten", "a start_axis not above stop_axis", (start_axis, stop_axis))
    if n == 0:
        return F.copy(F.reshape(x, (1,)))
    if a == 0 and b >= n - 1:
        return apply(_RESHAPE, (x,), ((x._count,),))
    s = x.shape
    return apply(_RESHAPE, (x,), ((*s[:a], math.prod(s[a : b + 1]), *s[b + 1 :]),))


flatten_ = inplace(flatten, reshapes=True)


@public(aliases={"x": "input"})
def ravel(input: Tensor) -> Tensor:
    """All elements of ``input`` in one dim, in row-major order; a view where the strides allow it, otherwise a copy.

    Args:
        input: tensor of any shape and dtype.

    Returns:
        1-d tensor of input's dtype.

    Raises:
        TypeError: input is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.ravel(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 2, 3, 4]
    """
    flat = F.reshape(need_tensor(input, "ravel", "input"), (input._count,))
    return flat if input.ndim else F.copy(flat)


@public(aliases={"sizes": "shape"})
def unflatten(x: Tensor, axis: Any, shape: Any, name: str | None = None) -> Tensor:
    """One dim as several; a view where the strides allow it, otherwise a copy.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        axis: the dim to divide; negative counts from the end.
        shape: sizes of the dims that stand in its place. One of them may be -1, which stands for what is left.

    Returns:
        Tensor of x's dtype.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: the product of the sizes is not the size of the dim.

    Example:
        >>> import paddle
        >>> paddle.unflatten(paddle.ones([2, 6]), 1, [3, -1]).shape
        paddle.Size([2, 3, 2])
    """
    k = axis_of(axis, need_tensor(x, "unflatten").ndim, "unflatten")
    part = list(shape_of(shape, "unflatten"))
    if -1 in part:
        rest = -math.prod(part)
        if not dim.le(1, rest) or not dim.eq(x.shape[k] % rest, 0):
            raise op_error(ValueError, "unflatten", f"sizes whose product is {x.shape[k]}", part)
        part[part.index(-1)] = x.shape[k] // rest
    if not dim.eq(math.prod(part), x.shape[k]):
        raise op_error(ValueError, "unflatten", f"sizes whose product is {x.shape[k]}", part)
    return F.reshape(x, (*x.shape[:k], *part, *x.shape[k + 1 :]))


@public
def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """Remove dims of size 1; a view, which shares the memory of ``x``.

    Args:
        x: tensor of any shape and dtype.
        axis: the dims to remove, an int or a sequence of ints; negative counts from the end. Those of another size
            stay. By default, and for an empty list, all dims of size 1.

    Returns:
        Tensor of x's dtype.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 2, 1])
        >>> x.squeeze().shape
        paddle.Size([2])
        >>> x.squeeze(0).shape
        paddle.Size([2, 1])
    """
    need_tensor(x, "squeeze")
    s = x.shape
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        axes = tuple([i for i, n in enumerate(s) if n == 1])
    elif type(axis) is int and s:
        a = axis_of(axis, len(s), "squeeze")
        axes = (a,) if s[a] == 1 else ()
    elif s:
        rank = len(s)
        named = {axis_of(a, rank, "squeeze") for a in integers(axis, "squeeze", "axis")}  # one of them may come twice
        axes = tuple([a for a in sorted(named) if s[a] == 1])
    else:
        axes_of(axis, 1, "squeeze")  # 0 and -1 name the dim that a 0-d tensor would have
        axes = ()
    if axes:
        return apply1(_REMOVE[axes], x)
    # Nothing to take away, but another tensor all the same.
    return apply(_FIRST, (x,), ((0,), (s[0],), (1,))) if s else x


squeeze_ = inplace(squeeze, reshapes=True)


@public
def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """Insert dims of size 1; a view where the strides allow it, otherwise a copy.

    Args:
        x: tensor of any shape and dtype.
        axis: places of the new dims: an int, a sequence of ints or an integer tensor. They are inserted one after
            another, each at its place among the dims that are there by then; negative counts from the end of the
            result.

    Returns:
        Tensor of x's dtype.

    Raises:
        TypeError: x is not a tensor.
        IndexError: there is no such place.

    Example:
        >>> import paddle
        >>> paddle.unsqueeze(paddle.ones([2]), [0, 2]).shape
        paddle.Size([1, 2, 1])
    """
    need_tensor(x, "unsqueeze")
    n = x.ndim
    if type(axis) is int and -n - 1 <= axis <= n:
        return apply1(_INSERT[axis + n + 1 if axis < 0 else axis], x)
    s = list(x.shape)
    for a in integers(axis, "unsqueeze", "axis"):
        s.insert(axis_of(a, len(s) + 1, "unsqueeze"), 1)
    return F.reshape(x, tuple(s))


unsqueeze_ = inplace(unsqueeze, reshapes=True)


def _at_least(n: int, inputs: tuple) -> Any:
    def raise_rank(x: Any) -> Tensor:
        x = to_tensor(x) if isinstance(x, (list, tuple)) else tensor(x)
        if x.ndim >= n:
            return x
        s = tuple(x.shape)
        if not s:
            return F.copy(F.reshape(x, (1,) * n))
        if n == 3:
            s = (1, *s, 1) if len(s) < 2 else (*s, 1)
        return F.reshape(x, (1,) * (n - len(s)) + s)

    several = len(inputs) == 1 and isinstance(inputs[0], (list, tuple))
    if several and not any(isinstance(x, (Tensor, np.ndarray)) for x in inputs[0]):
        return raise_rank(inputs[0])  # the numbers of one array
    given = inputs[0] if several else inputs
    out = [raise_rank(x) for x in given]
    return out[0] if len(out) == 1 else out


@public
def atleast_1d(*inputs: Any, name: str | None = None) -> Any:
    """Tensors with a rank of at least 1: 0-d ones get a dim of size 1.

    Args:
        *inputs: tensors, numbers or arrays of any dtype, separately or in one list.

    Returns:
        Tensor of the input's dtype; of several inputs, a list of tensors.

    Raises:
        TypeError: an input has elements that tensors lack, such as strings.

    Example:
        >>> import paddle
        >>> paddle.atleast_1d(paddle.to_tensor(3.0)).shape
        paddle.Size([1])
        >>> [x.shape for x in paddle.atleast_1d(paddle.to_tensor(3.0), paddle.ones([2, 2]))]
        [paddle.Size([1]), paddle.Size([2, 2])]
    """
    return _at_least(1, inputs)


@public
def atleast_2d(*inputs: Any, name: str | None = None) -> Any:
    """Tensors with a rank of at least 2: new dims of size 1 come first.

    Args:
        *inputs: tensors, numbers or arrays of any dtype, separately or in one list.

    Returns:
        Tensor of the input's dtype; of several inputs, a list of tensors.

    Raises:
        TypeError: an input has elements that tensors lack, such as strings.

    Example:
        >>> import paddle
        >>> paddle.atleast_2d(paddle.ones([3])).shape
        paddle.Size([1, 3])
    """
    return _at_least(2, inputs)


@public
def atleast_3d(*inputs: Any, name: str | None = None) -> Any:
    """Tensors with a rank of at least 3: a shape of ``[n]`` becomes ``[1, n, 1]``, one of ``[m, n]`` becomes ``[m, n,
    1]``.

    Args:
        *inputs: tensors, numbers or arrays of any dtype, separately or in one list.

    Returns:
        Tensor of the input's dtype; of several inputs, a list of tensors.

    Raises:
        TypeError: an input has elements that tensors lack, such as strings.

    Example:
        >>> import paddle
        >>> paddle.atleast_3d(paddle.ones([4])).shape
        paddle.Size([1, 4, 1])
    """
    return _at_least(3, inputs)


@public("paddle paddle.tensor", aliases={"x": "input"})
def shape(input: Tensor) -> Tensor:
    """Sizes of ``input`` as a tensor.

    Args:
        input: tensor of any shape and dtype.

    Returns:
        1-d int64 tensor with a size for each dim.

    Raises:
        TypeError: input is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.shape(paddle.ones([2, 3])).tolist()
        [2, 3]
    """
    sizes = need_tensor(input, "shape", "input").shape
    if any(type(n) is Sym for n in sizes):
        return F.concat([F.full(n, dtype=dt.int64, shape=(1,)) for n in sizes], axis=0)
    return of_numbers(np.array(sizes, np.int64))
