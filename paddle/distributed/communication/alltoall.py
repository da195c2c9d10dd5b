"""An item of every rank for every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import stream
from paddle.distributed.communication.group import Group
from umiak.core.tensor import Tensor


@public("paddle.distributed paddle.distributed.communication")
def alltoall(
    out_tensor_list: list[Tensor],
    in_tensor_list: Sequence[Tensor],
    group: Group | None = None,
    sync_op: bool = True,
) -> Any:
    """Item i of each rank's list goes to rank i of the group, which gets them in the order of ranks.

    Args:
        out_tensor_list: one tensor for each rank, or an empty list, which gets new tensors like ``in_tensor_list``.
        in_tensor_list: one tensor for each rank, of one dtype; shapes may differ where sender and receiver agree.
        group: None for all ranks.
        sync_op: False returns before the results have arrived.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError, ValueError: lists of another dtype or number.

    Example:
        >>> import paddle
        >>> found = []
        >>> _ = paddle.distributed.alltoall(found, [paddle.ones([2])])
        >>> [x.tolist() for x in found]
        [[1.0, 1.0]]
    """
    return stream.alltoall(out_tensor_list, in_tensor_list, group, sync_op)


@public("paddle.distributed paddle.distributed.communication")
def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    in_split_sizes: Sequence[int] | None = None,
    out_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
) -> Any:
    """The first axis of each rank's tensor is cut; part i goes to rank i of the group, which joins what it gets.

    Args:
        out_tensor: takes the result.
        in_tensor: of the same dtype, and the same sizes after the first.
        in_split_sizes: how many rows go to each rank; None for equal parts.
        out_split_sizes: how many rows come from each rank. Either all ranks give sizes or none does.
        group: None for all ranks.
        sync_op: False returns before the result is there.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError, ValueError: dtypes or shapes that do not fit, or sizes that do not add up.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> _ = paddle.distributed.alltoall_single(x, paddle.ones([2]))
        >>> x.tolist()
        [1.0, 1.0]
    """
    return stream.alltoall_single(out_tensor, in_tensor, out_split_sizes, in_split_sizes, group, sync_op)
