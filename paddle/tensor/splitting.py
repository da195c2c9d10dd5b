"""A tensor cut into parts along a dim."""

from __future__ import annotations

import itertools
from operator import index
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    InternedOps,
    axis_of,
    create_on,
    integer,
    integers,
    need_tensor,
    op_error,
)
from umiak import ops as F
from umiak.core.context import current, no_grad_guard
from umiak.core.eager import apply, apply1
from umiak.core.python_nodes import python_node
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.sym import Sym
from umiak.ir.tracer import alias

_SLICE = InternedOps(F.Slice)
_SQUEEZE = InternedOps(F.Squeeze)


def _sections(n: int, parts: Any, op: str) -> tuple[int, ...]:
    """Sizes of the parts of a dim of size ``n``, from their number or from sizes of which one may be -1."""
    if isinstance(parts, (list, tuple)) or (isinstance(parts, Tensor) and parts.ndim):
        sizes: list[Any] = list(integers(parts, op, "sizes"))
        rest = [i for i, s in enumerate(sizes) if type(s) is int and s == -1]
        if len(rest) > 1:
            raise op_error(ValueError, op, "at most one size of -1", sizes)
        if rest:
            sizes[rest[0]] = n - sum(sizes) - 1
        if any(type(s) is Sym for s in (n, *sizes)):
            for condition in (sum(sizes) == n, *(s >= 0 for s in sizes)):
                dim.require(condition, f"[{op}] requires sizes that add up to {n}, got {sizes}")
        elif sum(sizes) != n or any(s < 0 for s in sizes):
            raise op_error(
                ValueError, op, f"sizes that add up to {n}", parts if isinstance(parts, (list, tuple)) else sizes
            )
        return tuple(sizes)
    count = integer(parts, op, "the number of parts")
    if count < 1 or n % count:
        raise op_error(ValueError, op, f"a number of parts that divides {n}", count)
    return (n // count,) * count


@public(usual=False)
def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Divide ``x`` into consecutive parts along ``axis``.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        num_or_sections: the number of equal parts, or a list of their sizes, of which one may be -1 for what is left.
        axis: the dim to divide; negative counts from the end.

    Returns:
        List of tensors of x's dtype, in memory of their own.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: the number does not divide the size of the dim, or the sizes do not add up to it.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.split(paddle.arange(5), [2, -1])]
        [[0, 1], [2, 3, 4]]
    """
    k = axis_of(axis, need_tensor(x, "split").ndim, "split")
    return _parts(x, k, _sections(x.shape[k], num_or_sections, "split"))


@public
def chunk(x: Tensor, chunks: int, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Divide ``x`` into equal parts along ``axis``.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        chunks: the number of parts, which divides the size of the dim.
        axis: the dim to divide; negative counts from the end.

    Returns:
        List of tensors of x's dtype, in memory of their own.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: the number does not divide the size of the dim.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.chunk(paddle.arange(4), 2)]
        [[0, 1], [2, 3]]
    """
    k = axis_of(axis, need_tensor(x, "chunk").ndim, "chunk")
    return _parts(x, k, _sections(x.shape[k], integer(chunks, "chunk", "chunks"), "chunk"))


@public(
    aliases={
        "indices_or_sections": "num_or_indices",
        "sections": "num_or_indices",
        "indices": "num_or_indices",
        "tensor_indices_or_sections": "num_or_indices",
    }
)
def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Divide ``x`` along ``axis`` into parts that may differ in size.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        num_or_indices: the number of parts, of which the first ones are one element longer where it does not divide the
            size; or a list of the indices to split at, negative ones counting from the end.
        axis: the dim to divide; negative counts from the end.

    Returns:
        List of tensors of x's dtype; those of a list of indices are views, others are copies.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: the number of parts is below 1.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.tensor_split(paddle.arange(5), 2)]
        [[0, 1, 2], [3, 4]]
        >>> [p.tolist() for p in paddle.tensor_split(paddle.arange(5), [1, 3])]
        [[0], [1, 2], [3, 4]]
    """
    return _cut(x, num_or_indices, axis, "tensor_split")


# Outputs that one call may have; more parts than that are taken one by one.
MOST_OUTPUTS = 64


def _parts(x: Tensor, axis: int, sections: tuple[int, ...]) -> list[Tensor]:
    """``x`` cut along ``axis`` into parts of these sizes; each has memory of its own."""
    if len(sections) <= MOST_OUTPUTS:
        return list(F.split(x, axis, sections))
    return [F.copy(part) for part in _views(x, axis, sections)]


def _views(x: Tensor, axis: int, sections: tuple[int, ...]) -> list[Tensor]:
    """``x`` cut along ``axis`` into parts of these sizes, which share its memory."""
    ends = itertools.accumulate(sections)
    return [F.slice(x, (axis,), (end - n,), (n,), (1,)) for n, end in zip(sections, ends, strict=True)]


def _cut(x: Tensor, num_or_indices: Any, axis: Any, op: str) -> list[Tensor]:
    k = axis_of(axis, need_tensor(x, op).ndim, op)
    n = x.shape[k]
    if isinstance(num_or_indices, (list, tuple)):
        indices = integers(num_or_indices, op, "indices")
        cuts = [dim.minimum(dim.maximum(dim.where(i < 0, i + n, i), 0), n) for i in indices]
        starts, ends = [0, *cuts], [*cuts, n]
    else:
        count = integer(num_or_indices, op, "the number of parts")
        if count < 1:
            raise op_error(ValueError, op, "at least one part", count)
        size, longer = n // count, n % count
        ends = [size * (i + 1) + dim.minimum(i + 1, longer) for i in range(count)]
        starts = [0, *ends[:-1]]
        return _parts(x, k, tuple(b - a for a, b in zip(starts, ends, strict=True)))
    sizes = [dim.maximum(b - a, 0) for a, b in zip(starts, ends, strict=True)]
    return [F.slice(x, (k,), (dim.minimum(a, n),), (s,), (1,)) for a, s in zip(starts, sizes, strict=True)]


@public
def hsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """Divide ``x`` along the second dim, a tensor of rank 1 along the first.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        num_or_indices: the number of parts, as of :func:`tensor_split`, or a list of the indices to split at, negative
            ones counting from the end.

    Returns:
        List of tensors of x's dtype; those of a list of indices are views, others are copies.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x is 0-d, or the number of parts is below 1.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.hsplit(paddle.to_tensor([[1, 2], [3, 4]]), 2)]
        [[[1], [3]], [[2], [4]]]
    """
    return _split_along(1, 1, x, num_or_indices, "hsplit")


@public
def vsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """Divide ``x`` along the first dim.

    Args:
        x: tensor of rank 2 or more, of any dtype.
        num_or_indices: the number of parts, as of :func:`tensor_split`, or a list of the indices to split at, negative
            ones counting from the end.

    Returns:
        List of tensors of x's dtype; those of a list of indices are views, others are copies.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 2, or the number of parts is below 1.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.vsplit(paddle.to_tensor([[1, 2], [3, 4]]), 2)]
        [[[1, 2]], [[3, 4]]]
    """
    return _split_along(0, 2, x, num_or_indices, "vsplit")


@public
def dsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """Divide ``x`` along the third dim.

    Args:
        x: tensor of rank 3 or more, of any dtype.
        num_or_indices: the number of parts, as of :func:`tensor_split`, or a list of the indices to split at, negative
            ones counting from the end.

    Returns:
        List of tensors of x's dtype; those of a list of indices are views, others are copies.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 3, or the number of parts is below 1.

    Example:
        >>> import paddle
        >>> [p.shape for p in paddle.dsplit(paddle.ones([2, 2, 4]), 2)]
        [paddle.Size([2, 2, 2]), paddle.Size([2, 2, 2])]
    """
    return _split_along(2, 3, x, num_or_indices, "dsplit")


def _split_along(axis: int, rank: int, x: Tensor, num_or_indices: Any, op: str) -> list[Tensor]:
    if need_tensor(x, op).ndim < rank:
        raise op_error(ValueError, op, f"a tensor of rank {rank} or more", f"rank {x.ndim}")
    return _cut(x, num_or_indices, min(axis, x.ndim - 1), op)


@public(aliases={"x": "input"})
def unbind(input: Tensor, axis: Any = 0) -> list[Tensor]:
    """Slices of ``input`` along ``axis``, without that dim; views, which share the memory of ``input``.

    Args:
        input: tensor of rank 1 or more, of any dtype.
        axis: the dim to take apart; negative counts from the end.

    Returns:
        List of tensors of input's dtype, one for each element of the dim.

    Raises:
        TypeError: input is not a tensor.
        IndexError: input has no such dim.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.unbind(paddle.to_tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]
    """
    x = need_tensor(input, "unbind", "input")
    k = axis_of(axis, x.ndim, "unbind")
    n = index(x.shape[k])

    cut, drop = _SLICE[((k,),)], _SQUEEZE[((k,),)]
    parts = [apply(cut, (x,), ((i,), (1,), (1,))) for i in range(n)]
    if not 0 < n <= MOST_OUTPUTS or x.stop_gradient or not current().grad_enabled:
        return [apply1(drop, part) for part in parts]
    if current().trace:
        return [alias(F.squeeze(part, (k,)), value) for part, value in zip(parts, F.unbind(x, k, n), strict=True)]

    def gradient(*grads: Any) -> Tensor:
        zero = create_on(place, F.full, 0.0, dtype, shape) if None in grads else None
        return F.stack([zero if g is None else g for g in grads], k)

    # One node for all: as many of slices would each add a gradient of the size of the whole.
    with no_grad_guard():
        views = [F.squeeze(part, (k,)) for part in parts]
    shape, dtype, place = (
        tuple(views[0].shape),
        x.dtype,
        x.place,
    )  # not x itself, which may get a history that ends in this node
    python_node("unbind", [x], views, gradient)
    return views


@public
def unstack(x: Tensor, axis: Any = 0, num: int | None = None) -> list[Tensor]:
    """Slices of ``x`` along ``axis``, without that dim, in memory of their own.

    Args:
        x: tensor of rank 1 or more, of any dtype.
        axis: the dim to take apart; negative counts from the end.
        num: the size of that dim, which is checked if it is given.

    Returns:
        List of tensors of x's dtype, one for each element of the dim.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such dim.
        ValueError: ``num`` is not the size of the dim.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.unstack(paddle.to_tensor([[1, 2], [3, 4]]), axis=1)]
        [[1, 3], [2, 4]]
    """
    k = axis_of(axis, need_tensor(x, "unstack").ndim, "unstack")
    n = x.shape[k]
    if num is not None and num != n:
        raise op_error(ValueError, "unstack", f"a num of {n}", num)
    if n > MOST_OUTPUTS:
        return [F.squeeze(part, (k,)) for part in _parts(x, k, (1,) * n)]
    return list(F.unbind(x, k, n)) if n else []


@public("paddle.tensor Tensor")
def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> list[Tensor]:
    """Divide the tensor into consecutive parts of given sizes.

    Args:
        split_sizes: sizes along the dim, a sequence of ints that add up to its size.
        dim: the dim to divide; negative counts from the end.

    Returns:
        List of views.

    Raises:
        IndexError: there is no such dim.
        ValueError: a size is negative, or the sizes do not add up.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.arange(5).split_with_sizes([2, 3])]
        [[0, 1], [2, 3, 4]]
    """
    sizes = list(split_sizes)
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise op_error(ValueError, "split_with_sizes", "sizes of 0 or more", sizes)
    axis = axis_of(dim, need_tensor(self, "split_with_sizes").ndim, "split_with_sizes")
    return _views(self, axis, _sections(self.shape[axis], sizes, "split_with_sizes"))
