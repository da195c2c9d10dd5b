"""Reductions of segments: rows that follow each other and have one number."""

from __future__ import annotations

from paddle._public import need_tensor, public
from paddle.geometric._indices import numbers, reduced
from paddle.tensor._args import number_in, reads_numbers
from umiak import ops as F
from umiak.core.tensor import KIND_SYMBOLIC, Tensor
from umiak.ir import sym as dim
from umiak.ir.tracer import DataUnknown
from umiak.util.errors import op_error


def _segments(op: str, data: Tensor, segment_ids: Tensor, mode: str) -> Tensor:
    need_tensor(data, op, "data")
    ids = numbers(segment_ids, op, "segment_ids")
    if not data.ndim or not dim.eq(data.shape[0], ids.shape[0]):
        got = f"shapes {tuple(data.shape)} and {tuple(ids.shape)}"
        raise op_error(ValueError, op, "a segment id for each row of data", got)
    is_static = reads_numbers()
    if ids._kind & KIND_SYMBOLIC and not is_static:
        raise DataUnknown(
            f"[{op}] requires segment_ids with data, got a tensor of a captured function: how many segments there are "
            "is a size of the result. Use paddle.geometric.send_u_recv(x, src_index, dst_index, reduce_op, out_size), "
            "which is given the size."
        )
    rows = ids.shape[0]
    if not rows:
        return reduced(op, data, ids, None, mode, 0)
    if rows > 1 and not is_static:
        first, second = (F.slice(ids, (0,), (at,), (rows - 1,), (1,)) for at in (0, 1))
        if not bool(F.all(F.le(first, second), (0,)).item()):
            raise op_error(ValueError, op, "segment_ids in ascending order", "ids that fall")
    last = number_in(F.reshape(F.slice(ids, (0,), (rows - 1,), (1,), (1,)), ()))
    return reduced(op, data, ids, None, mode, last + 1)


@public("paddle.geometric paddle.incubate", usual=False)
def segment_sum(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Sum of the rows of each segment.

    Args:
        data: tensor of rank 1 or more, of numbers.
        segment_ids: integer tensor of shape ``[n]`` or ``[n, 1]`` in ascending order: the segment of each row.

    Returns:
        Tensor of data's dtype with a row for each number up to the last id; 0 where there is no such segment.

    Raises:
        TypeError: the ids are not integers, or data are no numbers.
        ValueError: ids are not in ascending order, or not one for each row.
        IndexError: an id is negative.

    Note:
        The result's size is data: a captured function calls this between two graphs, unlike ``send_u_recv`` with an
        ``out_size``. One graph (``full_graph=True``) and static programs have it, and test no order.

    Example:
        >>> import paddle
        >>> data = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> paddle.geometric.segment_sum(data, paddle.to_tensor([0, 0, 2])).tolist()
        [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]]
    """
    return _segments("segment_sum", data, segment_ids, "sum")


@public("paddle.geometric paddle.incubate", usual=False)
def segment_mean(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Mean of the rows of each segment; of integers it is rounded towards 0.

    Args:
        data: tensor of rank 1 or more, of numbers.
        segment_ids: integer tensor of shape ``[n]`` or ``[n, 1]`` in ascending order: the segment of each row.

    Returns:
        Tensor of data's dtype with a row for each number up to the last id; 0 where there is no such segment.

    Raises:
        TypeError: the ids are not integers, or data are no numbers.
        ValueError: ids are not in ascending order, or not one for each row.
        IndexError: an id is negative.

    Example:
        >>> import paddle
        >>> data = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> paddle.geometric.segment_mean(data, paddle.to_tensor([0, 0, 1])).tolist()
        [[2.0, 3.0], [5.0, 6.0]]
    """
    return _segments("segment_mean", data, segment_ids, "mean")


@public("paddle.geometric paddle.incubate", usual=False)
def segment_max(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Maximum of the rows of each segment, element by element.

    Every element that reaches it gets the whole gradient.

    Args:
        data: tensor of rank 1 or more, of real numbers.
        segment_ids: integer tensor of shape ``[n]`` or ``[n, 1]`` in ascending order: the segment of each row.

    Returns:
        Tensor of data's dtype with a row for each number up to the last id; 0 where there is no such segment.

    Raises:
        TypeError: the ids are not integers, or data have no order.
        ValueError: ids are not in ascending order, or not one for each row.
        IndexError: an id is negative.

    Example:
        >>> import paddle
        >>> data = paddle.to_tensor([[1.0, 4.0], [3.0, 2.0], [5.0, 6.0]])
        >>> paddle.geometric.segment_max(data, paddle.to_tensor([0, 0, 1])).tolist()
        [[3.0, 4.0], [5.0, 6.0]]
    """
    return _segments("segment_max", data, segment_ids, "max")


@public("paddle.geometric paddle.incubate", usual=False)
def segment_min(data: Tensor, segment_ids: Tensor, name: str | None = None) -> Tensor:
    """Minimum of the rows of each segment, element by element.

    Every element that reaches it gets the whole gradient.

    Args:
        data: tensor of rank 1 or more, of real numbers.
        segment_ids: integer tensor of shape ``[n]`` or ``[n, 1]`` in ascending order: the segment of each row.

    Returns:
        Tensor of data's dtype with a row for each number up to the last id; 0 where there is no such segment.

    Raises:
        TypeError: the ids are not integers, or data have no order.
        ValueError: ids are not in ascending order, or not one for each row.
        IndexError: an id is negative.

    Example:
        >>> import paddle
        >>> data = paddle.to_tensor([[1.0, 4.0], [3.0, 2.0], [5.0, 6.0]])
        >>> paddle.geometric.segment_min(data, paddle.to_tensor([0, 0, 1])).tolist()
        [[1.0, 2.0], [5.0, 6.0]]
    """
    return _segments("segment_min", data, segment_ids, "min")
