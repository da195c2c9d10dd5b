"""Combining the elements of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import stream
from paddle.distributed.communication._paths import REDUCTIONS, ReduceOp
from paddle.distributed.communication.group import Group
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _get_reduce_op(reduce_op: int, func_name: str) -> int:
    """The reduction that a function of packages is given, which must be one of ``ReduceOp``."""
    if reduce_op not in REDUCTIONS:
        raise op_error(ValueError, func_name, "an op of paddle.distributed.ReduceOp", repr(reduce_op))
    return reduce_op


@public("paddle.distributed paddle.distributed.communication")
def all_reduce(tensor: Tensor, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True) -> Any:
    """Combine the tensors of all ranks of the group; every rank gets the result, in place.

    Args:
        tensor: equal in shape and dtype on all ranks.
        op: SUM and PROD take numbers, MAX and MIN real numbers and bool, AVG floating and complex numbers.
        group: None for all ranks.
        sync_op: False returns before the result is there.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError: a dtype that ``op`` has no meaning for.

    The gradient of a sum passes unchanged: the result is equal on all ranks, and so is its gradient.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> _ = paddle.distributed.all_reduce(x)
        >>> x.tolist()
        [1.0, 2.0]
    """
    return stream.all_reduce(tensor, op, group, sync_op)


@public("paddle.distributed paddle.distributed.communication")
def reduce(tensor: Tensor, dst: int, op: int = ReduceOp.SUM, group: Group | None = None, sync_op: bool = True) -> Any:
    """Combine the tensors of all ranks of the group into that of rank ``dst``; the others keep theirs.

    Args:
        tensor: equal in shape and dtype on all ranks.
        dst: a global rank.
        op: SUM and PROD take numbers, MAX and MIN real numbers and bool, AVG floating and complex numbers.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the result is there.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError: a dtype that ``op`` has no meaning for.
        ValueError: a ``dst`` outside of the group.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> _ = paddle.distributed.reduce(x, dst=0)
        >>> x.tolist()
        [1.0, 2.0]
    """
    return stream.reduce(tensor, dst, op, group, sync_op)


@public("paddle.distributed paddle.distributed.communication")
def reduce_scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor],
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
) -> Any:
    """Combine item i of the ranks' lists; rank i of the group gets that in ``tensor``.

    Args:
        tensor: takes the result.
        tensor_list: one tensor of that shape and dtype for each rank of the group, or one tensor that joins them
            along the first axis.
        op: SUM and PROD take numbers, MAX and MIN real numbers and bool, AVG floating and complex numbers.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the result is there.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError: dtypes that differ, or that ``op`` has no meaning for.
        ValueError: shapes that differ, or another number of tensors.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> _ = paddle.distributed.reduce_scatter(x, [paddle.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    return stream.reduce_scatter(tensor, tensor_list, op, group, sync_op)
