"""One rank's list of tensors, an item for every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import stream
from paddle.distributed.communication.group import Group
from umiak.core.tensor import Tensor


@public("paddle.distributed paddle.distributed.communication")
def scatter(
    tensor: Tensor,
    tensor_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
) -> Any:
    """Item i of the list of rank ``src``, on rank i of the group.

    No gradient passes: the other ranks have nothing that one could come from. :func:`alltoall` has one.

    Args:
        tensor: takes the result.
        tensor_list: on rank ``src``, one tensor of that shape and dtype for each rank.
        src: a global rank.
        group: None for all ranks.
        sync_op: False returns before the result is there.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError, ValueError: items of another dtype, shape or number; a ``src`` outside of the group.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> _ = paddle.distributed.scatter(x, [paddle.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    return stream.scatter(tensor, tensor_list, src, group, sync_op)
