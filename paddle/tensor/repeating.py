"""Elements repeated: broadcasting, tiling, interleaving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axis_of,
    integer,
    integers,
    need_tensor,
    number_in,
    op_error,
    shape_of,
    tensor,
)
from paddle.tensor._args import cast as _cast_to
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import KIND_SYMBOLIC, Tensor


def _expansion(x: Tensor, shape: Any, op: str) -> tuple[int, ...]:
    """A target shape in which -1 means the size of x; no sizes at all stand for x's shape."""
    sizes = list(shape_of(shape, op)) or list(x.shape)
    lead = len(sizes) - x.ndim
    for i, n in enumerate(sizes):
        if n == -1:
            if i < lead:
                raise op_error(ValueError, op, "sizes of 0 or more for new dims", sizes)
            sizes[i] = x.shape[i - lead]
    return tuple(sizes)


def _repeated(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``x`` in a shape that it broadcasts to, in memory of its own: a write to it, or to ``x``, is not seen in the
    other.
    """
    seen = F.broadcast_to(x, shape)
    if seen is x or not seen._kind & KIND_SYMBOLIC:
        return F.copy(seen)
    seen._tracer.set_apart(seen)
    return seen


@public(aliases={"size": "shape"}, ints_from=1)
def expand(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Repeat ``x`` along dims of size 1 and along new leading dims.

    Args:
        x: tensor of any shape and dtype.
        shape: the new sizes, as a list, a tuple, an integer tensor or separate ints; -1 keeps the size of x.

    Returns:
        Tensor of x's dtype and the new shape, in memory of its own. Captured functions and programs copy nothing.

    Raises:
        TypeError: x is not a tensor.
        ValueError: a size differs from that of x where that is not 1, there are fewer sizes than dims, or a new leading
            dim has size -1.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([[1], [2]]).expand([-1, 3]).tolist()
        [[1, 1, 1], [2, 2, 2]]
    """
    return _repeated(need_tensor(x, "expand"), _expansion(x, shape, "expand"))


@public(aliases={"size": "shape"})
def broadcast_to(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Repeat ``x`` along dims of size 1 and along new leading dims, as :func:`expand` does.

    Args:
        x: tensor of any shape and dtype.
        shape: the new sizes, as a list, a tuple or an integer tensor; -1 keeps the size of x.

    Returns:
        Tensor of x's dtype and the new shape, as from :func:`expand`.

    Raises:
        TypeError: x is not a tensor.
        ValueError: a size differs from that of x where that is not 1, there are fewer sizes than dims, or a new leading
            dim has size -1.

    Example:
        >>> import paddle
        >>> paddle.broadcast_to(paddle.to_tensor([1, 2]), [2, 2]).tolist()
        [[1, 2], [1, 2]]
    """
    return _repeated(need_tensor(x, "broadcast_to"), _expansion(x, shape, "broadcast_to"))


@public(takes_out=True)
def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Repeat ``x`` to the shape of ``y``, as :func:`expand` does.

    Args:
        x: tensor of any shape and dtype.
        y: tensor whose shape is taken; its dtype and elements are not read.

    Returns:
        Tensor of x's dtype and y's shape, as from :func:`expand`.

    Raises:
        TypeError: x or y is not a tensor.
        ValueError: x does not broadcast to the shape of y.

    Example:
        >>> import paddle
        >>> paddle.expand_as(paddle.to_tensor([1, 2]), paddle.ones([2, 2])).tolist()
        [[1, 2], [1, 2]]
    """
    return _repeated(need_tensor(x, "expand_as"), tuple(need_tensor(y, "expand_as", "y").shape))


@public(aliases={"x": "input"})
def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """Repeat tensors to the shape that all of them broadcast to.

    Args:
        input: a list or tuple of tensors; dtypes may differ.

    Returns:
        List of tensors of one shape, each of the dtype it had, as from :func:`expand`.

    Raises:
        TypeError: an item is not a tensor.
        ValueError: the shapes do not broadcast, or there is no tensor.

    Example:
        >>> import paddle
        >>> [x.shape for x in paddle.broadcast_tensors([paddle.ones([3]), paddle.ones([2, 1])])]
        [paddle.Size([2, 3]), paddle.Size([2, 3])]
    """
    from paddle.tensor.sequences import broadcast_shapes

    if not input:
        raise op_error(ValueError, "broadcast_tensors", "at least one tensor", "none")
    shape = tuple(broadcast_shapes(*(need_tensor(x, "broadcast_tensors", "input").shape for x in input)))
    return [_repeated(x, shape) for x in input]


@public(aliases={"dims": "repeat_times"})
def tile(x: Tensor, repeat_times: Any, name: str | None = None) -> Tensor:
    """Repeat ``x`` as a whole along each dim.

    Args:
        x: tensor of any shape and dtype.
        repeat_times: how often along each dim: a list, a tuple, an integer tensor, or one int for the last dim. With
            fewer numbers than dims they stand for the last dims; with more, x gets leading dims of size 1 first.

    Returns:
        Tensor of x's dtype, in memory of its own.

    Raises:
        TypeError: x is not a tensor, or a number is not an integer.
        ValueError: a number is negative.

    Example:
        >>> import paddle
        >>> paddle.tile(paddle.to_tensor([1, 2]), [2, 2]).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    counts = integers(repeat_times, "tile", "repeat_times")
    if any(c < 0 for c in counts):
        raise op_error(ValueError, "tile", "repeats of 0 or more", list(counts))
    counts = (1,) * (need_tensor(x, "tile").ndim - len(counts)) + counts
    return F.tile(x, counts)


@public
def repeat_interleave(
    x: Tensor, repeats: Any, axis: Any = None, name: str | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element along ``axis`` in its place.

    Args:
        x: tensor of any shape and dtype.
        repeats: how often: an int for all, or a 1-d integer tensor or list with a number for each element along the
            axis.
        axis: the dim; negative counts from the end. By default x counts as one row of all its elements.
        output_size: the sum of ``repeats``, where it is known: it need not be read from a tensor on a device.

    Returns:
        Tensor of x's dtype.

    Raises:
        TypeError: x is not a tensor.
        IndexError: x has no such axis.
        ValueError: ``repeats`` are not integers, one is negative, there are not as many as elements, or they do not add
            up to ``output_size``.

    Example:
        >>> import paddle
        >>> paddle.repeat_interleave(paddle.to_tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
        >>> paddle.repeat_interleave(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 1])).tolist()
        [1, 1, 1, 2]
    """
    need_tensor(x, "repeat_interleave")
    if axis is None:
        x, k = F.reshape(x, (x._count,)), 0
    else:
        k = axis_of(axis, x.ndim, "repeat_interleave")
    if isinstance(repeats, (list, tuple)):
        repeats = tensor(list(repeats))
    if not isinstance(repeats, Tensor):
        count = integer(repeats, "repeat_interleave", "repeats")
        if count < 0:
            raise op_error(ValueError, "repeat_interleave", "repeats of 0 or more", count)
        return _each_repeated(x, k, count)
    if repeats.ndim == 0 or (repeats._count == 1 and x.shape[k] != 1):
        return _each_repeated(x, k, number_in(F.reshape(repeats, ())))
    total = output_size if output_size is not None else number_in(F.sum(_cast_to(repeats, dt.int64), (0,)))
    return F.repeat_interleave_sized(x, repeats, k, total)


def _each_repeated(x: Tensor, k: int, count: Any) -> Tensor:
    if type(count) is int:
        return F.repeat_interleave(x, k, count)
    before, after = tuple(x.shape[: k + 1]), tuple(x.shape[k + 1 :])
    copies = F.broadcast_to(F.reshape(x, (*before, 1, *after)), (*before, count, *after))
    return F.copy(F.reshape(copies, (*before[:-1], before[-1] * count, *after)))


@public("paddle.tensor Tensor", ints_from=1)
def repeat(input: Tensor, repeats: Any) -> Tensor:
    """Repeat ``input`` as a whole along each dim, as :func:`tile` does.

    Args:
        input: tensor of any shape and dtype.
        repeats: how often along each dim, as a list, a tuple or separate ints; more numbers than dims add leading dims.

    Returns:
        Tensor of input's dtype, in memory of its own.

    Raises:
        TypeError: input is not a tensor.
        ValueError: a number is negative.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return tile(input, repeats)
