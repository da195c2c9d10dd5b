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
    op_error,
    shape_of,
    tensor,
)
from paddle.tensor._args import cast as _cast_to
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


def _expansion(x: Tensor, shape: Any, op: str) -> tuple[int, ...]:
    """A target shape in which -1 means the size of x."""
    sizes = list(shape_of(shape, op))
    lead = len(sizes) - x.ndim
    for i, n in enumerate(sizes):
        if n == -1:
            if i < lead:
                raise op_error(ValueError, op, "sizes of 0 or more for new dims", sizes)
            sizes[i] = x.shape[i - lead]
    return tuple(sizes)


@public(aliases={"size": "shape"}, ints_from=1)
def expand(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """``x`` repeated along dims of size 1 and new leading dims; -1 keeps a size. A view that must not be written to.

    Example:
        >>> import paddle
        >>> paddle.ones([3, 1]).expand([2, -1, 4]).shape
        [2, 3, 4]
    """
    return F.broadcast_to(need_tensor(x, "expand"), _expansion(x, shape, "expand"))


@public(aliases={"size": "shape"})
def broadcast_to(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The same as :func:`expand`.

    Example:
        >>> import paddle
        >>> paddle.broadcast_to(paddle.ones([3]), [2, 3]).shape
        [2, 3]
    """
    return F.broadcast_to(need_tensor(x, "broadcast_to"), _expansion(x, shape, "broadcast_to"))


@public
def expand_as(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """``x`` repeated to the shape of ``y``.

    Example:
        >>> import paddle
        >>> paddle.expand_as(paddle.ones([3]), paddle.ones([2, 3])).shape
        [2, 3]
    """
    return F.broadcast_to(need_tensor(x, "expand_as"), tuple(need_tensor(y, "expand_as", "y").shape))


@public(aliases={"x": "input"})
def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """Tensors repeated to the shape that all of them broadcast to.

    Example:
        >>> import paddle
        >>> [x.shape for x in paddle.broadcast_tensors([paddle.ones([3]), paddle.ones([2, 1])])]
        [[2, 3], [2, 3]]
    """
    from paddle.tensor.sequences import broadcast_shapes

    if not input:
        raise op_error(ValueError, "broadcast_tensors", "at least one tensor", "none")
    shape = tuple(broadcast_shapes(*(need_tensor(x, "broadcast_tensors", "input").shape for x in input)))
    return [F.broadcast_to(x, shape) for x in input]


@public(aliases={"dims": "repeat_times"})
def tile(x: Tensor, repeat_times: Any, name: str | None = None) -> Tensor:
    """``x`` repeated as a whole along each dim; missing leading counts are 1, more counts than dims add dims.

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
    """Each element along ``axis`` repeated in a row; all elements in a row for None.

    Args:
        x: a tensor.
        repeats: how often: a number for all, or a 1-d integer tensor or list with one for each.
        axis: along which.
        output_size: the sum of the repeats, where it is known.

    Example:
        >>> import paddle
        >>> paddle.repeat_interleave(paddle.to_tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
    """
    need_tensor(x, "repeat_interleave")
    if axis is None:
        x, k = F.reshape(x, (x.size,)), 0
    else:
        k = axis_of(axis, x.ndim, "repeat_interleave")
    if isinstance(repeats, (list, tuple)):
        repeats = tensor(list(repeats))
    if not isinstance(repeats, Tensor):
        count = integer(repeats, "repeat_interleave", "repeats")
        if count < 0:
            raise op_error(ValueError, "repeat_interleave", "repeats of 0 or more", count)
        return F.repeat_interleave(x, k, count)
    if repeats.ndim == 0 or (repeats.size == 1 and x.shape[k] != 1):
        return F.repeat_interleave(x, k, int(repeats.item()))
    total = output_size if output_size is not None else int(F.sum(_cast_to(repeats, dt.int64), (0,)).item())
    return F.repeat_interleave_sized(x, repeats, k, total)
