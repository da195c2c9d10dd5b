"""Collecting the tensors of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import stream
from paddle.distributed.communication.group import Group
from umiak.core.tensor import Tensor


@public("paddle.distributed paddle.distributed.communication")
def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Group | None = None, sync_op: bool = True) -> Any:
    """The tensors of all ranks of the group, on every rank.

    Args:
        tensor_list: a list of one tensor for each rank, or an empty one, which gets new tensors; or a tensor that
            joins them along the first axis.
        tensor: equal in shape and dtype on all ranks.
        group: None for all ranks.
        sync_op: False returns before the results have arrived.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError, ValueError: results of another dtype, shape or number.

    Example:
        >>> import paddle
        >>> found = []
        >>> _ = paddle.distributed.all_gather(found, paddle.ones([2]))
        >>> [x.tolist() for x in found]
        [[1.0, 1.0]]
    """
    return stream.all_gather(tensor_list, tensor, group, sync_op)


@public("paddle.distributed paddle.distributed.communication")
def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Any:
    """Collect the tensors of all ranks of the group on rank ``dst``.

    No gradient passes: the other ranks have no result that one could begin at. :func:`all_gather` has one.

    Args:
        tensor: equal in shape and dtype on all ranks.
        gather_list: on rank ``dst``, a list of one tensor for each rank, or an empty one, which gets new tensors; None
            on the other ranks.
        dst: a global rank.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the results have arrived.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError: results of another dtype.
        ValueError: results of another shape or number, or a ``dst`` outside of the group.

    Example:
        >>> import paddle
        >>> found = []
        >>> _ = paddle.distributed.gather(paddle.ones([2]), found)
        >>> [x.tolist() for x in found]
        [[1.0, 1.0]]
    """
    return stream.gather(tensor, gather_list, dst, group, sync_op)
